"""Programs for tests: files in Python that answer lines."""

import sys

ANSWERS = """
import json, os, sys, time
def say(**fields):
    print(json.dumps(fields), flush=True)
def lines():
    for text in sys.stdin:
        if '"decide"' in text:
            yield json.loads(text)
"""
GREETS = ANSWERS + 'input()\nsay(name="tried-1", interval=30)\n'


def program(folder, body, start=GREETS):
    """Return the path of a program that greets and goes on with ``body``, all in Python."""
    path = folder / "tried"
    path.write_text(f"#!{sys.executable} -S\n{start}{body}")
    path.chmod(0o755)
    return path

"""What environments did, written down as one digest for each mode.

A recording has labels such as ``info.place``, and a label has one value for each step. ``--show MODE``
prints a digest of each label and one character for each step. So a difference is found with its array and its
step by printing the mode in two revisions. A character is one of 64 and may hide a difference.
"""

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Mapping

import numpy as np


class Recording:
    """Digests by label and step; ``add`` any number of values under a label, then ``end`` the step."""

    def __init__(self):
        self.steps, self._now = [], {}

    def add(self, label, value):
        """Add a value, or all values in a dict, in the order of its keys' names."""
        if isinstance(value, Mapping):
            for key in sorted(value):
                self.add(f"{label}.{key}", value[key])
            return
        self._now.setdefault(label, hashlib.blake2b(digest_size=12)).update(as_bytes(value))

    def end(self, **values):
        """Close the step, with these values by their labels."""
        for label, value in values.items():
            self.add(label, value)
        self.steps.append({label: seen.digest() for label, seen in self._now.items()})
        self._now = {}

    def lines(self):
        """Return a line for each label: its digest, and a character for each step."""
        for label in sorted({label for step in self.steps for label in step}):
            digests = [step.get(label) for step in self.steps]
            whole = hashlib.blake2b(b"|".join(one or b"" for one in digests), digest_size=9).digest()
            steps = "".join(base64.b64encode(one).decode()[0] if one else "." for one in digests)
            yield f"{label} {base64.b64encode(whole).decode()} {steps}"

    def digest(self):
        """Return the digest of all labels."""
        text = "\n".join(line.rpartition(" ")[0] for line in self.lines())
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def as_bytes(value):
    """Return what tells a value from all others, the same on every machine."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.item()!r} ".encode()
    if isinstance(value, Mapping):
        return b"{%s}" % b",".join(as_bytes(key) + as_bytes(value[key]) for key in sorted(value))
    if isinstance(value, (list, tuple)):
        return b"(%s)" % b",".join(map(as_bytes, value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{type(value).__name__} {value!r} ".encode()
    raise TypeError(f"nothing is known of how to write down {value!r}")


def load(path):
    """Return the digests in a file, by mode."""
    return json.loads(path.read_text())


def main(path, cases):
    """Play ``cases``, functions by name, and write their digests to ``path``; or print one of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("beginnings", nargs="*", help="record modes whose names begin so; the others stay")
    parser.add_argument("--show", metavar="MODE", choices=cases, help="print a mode, label by label")
    parsed = parser.parse_args()
    if parsed.show:
        sys.stdout.writelines(f"{line}\n" for line in cases[parsed.show]().lines())
        return
    kept = {name: one for name, one in load(path).items() if name in cases} if parsed.beginnings else {}
    chosen = [name for name in cases if name.startswith(tuple(parsed.beginnings) or "")]
    found = kept | {name: cases[name]().digest() for name in chosen}
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")

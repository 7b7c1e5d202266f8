"""Makes ``python -m territorial`` the same as the command ``territorial``."""

import sys

from territorial.cli import command

if __name__ == "__main__":
    sys.exit(command())

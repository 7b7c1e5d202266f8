"""Makes ``python -m territorial`` the same as the command ``territorial``."""

import sys

from territorial.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""The logger of both packages, to which the command line gives a handler on stderr."""

import logging
import sys
from typing import TextIO

LOG = logging.getLogger("territorial")


def is_quiet() -> bool:
    """Return whether progress is hidden: by ``--quiet``, by another level above INFO, or without a stderr."""
    return LOG.level > logging.INFO or sys.stderr is None


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal; None is what a process without a console has instead of one."""
    return stream is not None and stream.isatty()

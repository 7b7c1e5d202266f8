"""The logger of both packages, to which the command line gives a handler on stderr."""

import logging

LOG = logging.getLogger("territorial")


def is_quiet() -> bool:
    """Return whether progress is hidden: by ``--quiet``, or by another level above INFO."""
    return LOG.level > logging.INFO

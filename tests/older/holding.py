"""A bot in Python that plays in contests of older revisions; its file must stay as it is, byte by byte."""

from territorial.bots import HOLD_ALL, PythonBot


class Holding(PythonBot):
    """Holds everything, for ever."""

    name = "holding-1"

    def decide(self, view):
        """Return no launch."""
        return HOLD_ALL, 1

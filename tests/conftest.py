"""What all tests share: hypothesis tries the same examples on every machine and in every run, and Ctrl-C
reaches the programs that tests start.

To look for new ones, as `make verify` may: `pytest --hypothesis-profile=explore`.
"""

import signal

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("repeatable")

# Shells make what they start in the background deaf to it, and deafness is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

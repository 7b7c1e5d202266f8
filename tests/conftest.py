"""What all tests share: hypothesis tries the same examples on every machine and in every run.

To look for new ones, as `make verify` may: `pytest --hypothesis-profile=explore`.
"""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("repeatable")

"""RLlib on top of :mod:`territorial`; it needs ``pip install 'territorial-env[rllib]'``.

Importing this package alone is quick: ray and torch are imported by the modules that use them. It is an
ImportError where they are not installed or Ray is too old.
"""

from rllib_adapters.requirements import check_requirements

check_requirements()

import rllib_adapters._moved  # noqa: E402, F401  # former names of modules are found from now on

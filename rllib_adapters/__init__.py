"""RLlib on top of :mod:`territorial`; its modules need ``pip install 'territorial-env[rllib]'``.

Importing this package alone is free: ray and torch are imported by the modules that use them.
"""

"""RLlib's old API stack: environment, model and policies that stay small; docs/old_api_stack.md is the guide.

It is for users who cannot leave the old stack yet: the new one shares frames and weights, which this cannot.
"""

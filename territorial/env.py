"""``territorial.env(...)``: the environment in PettingZoo's AEC form, in which agents take turns.

The arguments are those of ``territorial.parallel_env``; ``TurnByTurnEnv`` in ``territorial.envs.pettingzoo``
says what a turn is. PettingZoo's name for the AEC form is ``env``, so this module can be called. Imports and
pickles also find here what is now in ``territorial.envs.pettingzoo``.
"""

from territorial._callable import let_call
from territorial.envs.pettingzoo import TerritorialEnv, TurnByTurnEnv, env, parallel_env

__all__ = ["TerritorialEnv", "TurnByTurnEnv", "env", "parallel_env"]

let_call(__name__, env)

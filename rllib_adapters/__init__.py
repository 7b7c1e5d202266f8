"""RLlib adapters for :mod:`territorial`: environments, modules, runners and leagues.

Importing this package alone is quick: the public names import ray and torch when they are first asked for. It
is an ImportError where they are not installed or Ray is too old.
"""

from typing import TYPE_CHECKING

from rllib_adapters.requirements import check_requirements
from territorial._lazy import lazily

check_requirements()

if TYPE_CHECKING:  # editors and type checkers do not run __getattr__
    from rllib_adapters.configuration import configure, configure_league
    from rllib_adapters.envs.single import TerritorialTeamsEnv, team_groups
    from rllib_adapters.league.control import freeze, outcomes_of, policy_of, set_league
    from rllib_adapters.league.evaluate import evaluate
    from rllib_adapters.league.kit import add_league
    from rllib_adapters.league.line_up import Ended
    from rllib_adapters.league.memory import predict_memory
    from rllib_adapters.league.pool import Bot
    from rllib_adapters.league.shared_store import SharedStore
    from rllib_adapters.modules.board import BoardModule
    from rllib_adapters.modules.checkpoint import CheckpointPolicy
    from rllib_adapters.train.scaling import plan_for

__all__ = [
    "BoardModule",
    "Bot",
    "CheckpointPolicy",
    "Ended",
    "SharedStore",
    "TerritorialTeamsEnv",
    "add_league",
    "configure",
    "configure_league",
    "evaluate",
    "freeze",
    "outcomes_of",
    "plan_for",
    "policy_of",
    "predict_memory",
    "set_league",
    "team_groups",
]

# The modules of the public names.
_HOMES = {
    "BoardModule": "rllib_adapters.modules.board",
    "Bot": "rllib_adapters.league.pool",
    "CheckpointPolicy": "rllib_adapters.modules.checkpoint",
    "Ended": "rllib_adapters.league.line_up",
    "SharedStore": "rllib_adapters.league.shared_store",
    "TerritorialTeamsEnv": "rllib_adapters.envs.single",
    "add_league": "rllib_adapters.league.kit",
    "configure": "rllib_adapters.configuration",
    "configure_league": "rllib_adapters.configuration",
    "evaluate": "rllib_adapters.league.evaluate",
    "freeze": "rllib_adapters.league.control",
    "outcomes_of": "rllib_adapters.league.control",
    "plan_for": "rllib_adapters.train.scaling",
    "policy_of": "rllib_adapters.league.control",
    "predict_memory": "rllib_adapters.league.memory",
    "set_league": "rllib_adapters.league.control",
    "team_groups": "rllib_adapters.envs.single",
}

__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)

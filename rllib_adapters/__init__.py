"""RLlib adapters for :mod:`territorial`: environments, modules, runners and leagues.

Importing this package alone is quick: the public names import ray and torch when they are first asked for. It
is an ImportError where they are not installed or Ray is too old.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rllib_adapters.requirements import check_requirements

check_requirements()

if TYPE_CHECKING:  # editors and type checkers do not run __getattr__
    from rllib_adapters.configuration import configure, configure_league
    from rllib_adapters.envs.batch import outcomes_of
    from rllib_adapters.envs.single import TerritorialTeamsEnv, team_groups
    from rllib_adapters.league.control import freeze, policy_of, set_league
    from rllib_adapters.league.evaluation import SharedStore
    from rllib_adapters.modules.board import BoardModule

__all__ = [
    "BoardModule",
    "SharedStore",
    "TerritorialTeamsEnv",
    "configure",
    "configure_league",
    "freeze",
    "outcomes_of",
    "policy_of",
    "set_league",
    "team_groups",
]

_HOMES = {
    "BoardModule": "rllib_adapters.modules.board",
    "SharedStore": "rllib_adapters.league.evaluation",
    "TerritorialTeamsEnv": "rllib_adapters.envs.single",
    "configure": "rllib_adapters.configuration",
    "configure_league": "rllib_adapters.configuration",
    "freeze": "rllib_adapters.league.control",
    "outcomes_of": "rllib_adapters.envs.batch",
    "policy_of": "rllib_adapters.league.control",
    "set_league": "rllib_adapters.league.control",
    "team_groups": "rllib_adapters.envs.single",
}
"""The modules of the public names."""


def __getattr__(name: str) -> Any:
    """Return a public name; its module is imported when the name is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted(__all__)

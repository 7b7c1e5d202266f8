"""Who may learn from which seat, as an agent of what name, through which module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rllib_adapters.envs.agent_names import frozen_name, learner_name
from territorial.typing import Bools, Ints


class Roster:
    """The agents and modules of N who learn, in games of P seats. Arrays name those who learn by number.

    Args:
        players: the names of those who learn.
        num_players: P.
        module_of: RLlib's mapping function.
        form_of: the form of observations of who learns, by name.

    ValueError if a module would act for two who have different forms.

    """

    def __init__(
        self,
        players: Sequence[str],
        num_players: int,
        module_of: Callable[[str, Any], str],
        form_of: Callable[[str], str],
    ) -> None:
        self.players, self.num_players = tuple(players), num_players
        seats = range(num_players)
        self.agents = [[learner_name(name, i) for i in seats] for name in players]
        """(N, P) names of agents."""
        self.modules = [[module_of(agent, None) for agent in agents] for agents in self.agents]
        """(N, P) modules."""
        self.module_names = tuple(dict.fromkeys(name for names in self.modules for name in names))
        """Of all modules that learn."""
        self.forms = self._forms(form_of)
        """The form of observations of each module that learns."""
        self.pool = module_of(frozen_name(0), None)
        """The module that plays frozen seats."""
        numbers = {name: n for n, name in enumerate(self.module_names)}
        self._numbers = np.array([[numbers[name] for name in names] for names in self.modules])

    def _forms(self, form_of: Callable[[str], str]) -> dict[str, str]:
        forms: dict[str, str] = {}
        for player, modules in zip(self.players, self.modules, strict=True):
            for module in dict.fromkeys(modules):
                if forms.setdefault(module, form_of(player)) != form_of(player):
                    raise ValueError(
                        f"the module {module!r} acts for {player!r} with obs={form_of(player)!r} and for "
                        f"another learner with {forms[module]!r}; each form needs a separate module"
                    )
        return forms

    def module_numbers(self, who: Ints) -> Ints:
        """Return int64 (..., P): places in ``module_names``; ``who``: (..., P) who learns, -1 for none."""
        return np.where(who >= 0, self._numbers[who, np.arange(who.shape[-1])], -1)

    def seats_by_module(self, numbers: Ints, acts: Bools) -> dict[str, Bools]:
        """Return the seats, bool (E, P), that act through each module that has any.

        ``numbers``: (E, P), those of ``module_numbers``; ``acts``: (E, P) who acts.
        """
        by_module = {name: acts & (numbers == n) for n, name in enumerate(self.module_names)}
        return {name: seats for name, seats in by_module.items() if seats.any()}

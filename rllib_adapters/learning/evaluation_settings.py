"""RLlib's settings of evaluations that cannot be with these games, found before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from territorial.config.validation import hint, one_of

UNITS = ("episodes", "timesteps")


def check_evaluation(config: Any) -> None:
    """Raise ValueError or TypeError for a setting of evaluations that RLlib would pass over or misread."""
    if config.offline_evaluation_interval:
        raise ValueError(_of_records("offline_evaluation_interval", config.offline_evaluation_interval, None))
    if config.num_offline_eval_runners:
        raise ValueError(_of_records("num_offline_eval_runners", config.num_offline_eval_runners, 0))
    unit, function = config.evaluation_duration_unit, config.custom_evaluation_function
    one_of("evaluation_duration_unit", unit, UNITS)
    if function is not None and not callable(function):
        raise TypeError(f"custom_evaluation_function is {function!r}; it must be callable, or None")
    if isinstance(config.evaluation_config, Mapping):
        _check_entries(config, config.evaluation_config)


def _of_records(setting: str, value: Any, wanted: Any) -> str:
    return (
        f"{setting} is {value!r}; it must be {wanted}: offline evaluations read records, and these "
        "algorithms play games. Use config.evaluation(evaluation_interval=...)"
    )


def _check_entries(config: Any, own: Mapping[str, Any]) -> None:
    """Raise ValueError for entries that are no settings, and for another environment."""
    known = {**vars(config), **config.to_dict()}
    for name in own:
        if name not in known and not hasattr(config, name):
            raise ValueError(
                f"evaluation_config has the entry {name!r}{hint(name, known)}; its entries are settings of "
                "the algorithm's configuration"
            )
    env = own.get("env", config.env)
    if env is not config.env:
        raise ValueError(
            f"the env of evaluation_config is {env!r}; it must be that of the configuration, "
            f"{config.env!r}. Other games are entries of its env_config"
        )

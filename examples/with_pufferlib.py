"""PPO with PufferLib 3.0, without masks: illegal launches hold.

Its authors have left this line for 5.0, whose environments are written in C.

pip install pufferlib==3.0.0
python examples/with_pufferlib.py
"""

from ast import literal_eval
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pufferlib
import pufferlib.models
import pufferlib.vector
from pufferlib.emulation import PettingZooPufferEnv
from pufferlib.pufferl import PuffeRL

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "none", "agent_death": "keep"}  # what PufferLib wants


def make_env() -> Any:
    """Return a small game."""
    return territorial.parallel_env(**GAME, **OPTIONS)


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> int:
    """Train for so many steps of the environment that ``make`` returns; return the ends it was told of."""
    options = {"backend": pufferlib.vector.Serial, "num_envs": 1}
    games = pufferlib.vector.make(PettingZooPufferEnv, env_kwargs={"env_creator": make}, **options)
    policy = pufferlib.models.Default(games.driver_env, hidden_size=64)
    trainer = PuffeRL(settings(steps * games.num_agents), games, policy)
    episodes = 0
    while trainer.global_step < steps * games.num_agents:
        trainer.evaluate()
        episodes += int(trainer.terminals.sum())
        trainer.train()
    trainer.utilization.stop()  # a thread that would not end
    games.close()
    return episodes


def settings(turns: int) -> dict[str, Any]:
    """Return PufferLib's own settings, changed for a small run without a GPU."""
    parser = ConfigParser()  # pufferlib.pufferl.load_config would read our command line
    parser.read(Path(pufferlib.__file__).parent / "config" / "default.ini")
    own = {name: _value(text) for name, text in parser["train"].items()}
    small = {
        "device": "cpu",
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "use_rnn": False,
        "env": "territorial",
    }
    sizes = {"total_timesteps": turns, "bptt_horizon": 64, "batch_size": "auto", "minibatch_size": 128}
    return own | small | sizes


def _value(text: str) -> Any:
    """Return a number or a bool, if ``text`` is one, or else the text."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text


if __name__ == "__main__":
    train()

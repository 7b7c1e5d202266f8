"""A curriculum by ``territorial.evaluate``, with stages that a player must pass.

There is a ladder of scenarios. In every round the player has some children; all are evaluated on the present
step, and the best goes on. Whether to climb is not decided by the games that chose it, which flatter it, but
by fresh ones: when the interval of its score lies above the mark. Every step that was taken is tried again
at the end, in the same table, so that what was forgotten on the way shows.

    python examples/curriculum.py
    python examples/curriculum.py --mark 0.7 --generations 40
"""

import argparse

import numpy as np
from tuned_bot import TunedBot

from territorial import Evaluation, GameConfig, Scenario, evaluate

LADDER = (
    ("a few novices", 32, ("novice",)),
    ("random and novices", 40, ("novice", "random")),
    ("turtles", 48, ("turtle", "novice")),
    ("bankers", 48, ("banker", "novice")),
    ("everybody", 64, ("banker", "turtle", "metronome")),
)


def scenarios() -> dict[str, Scenario]:
    """Return the ladder, the easiest first: 2 of 8 seats are the player's."""
    made = {}
    for name, side, field in LADDER:
        config = GameConfig(height=side, width=side, num_players=8, num_maps=4, max_ticks=4000)
        others = [field[i % len(field)] for i in range(6)]
        made[name] = Scenario(config=config, seats=["agent", "agent", *others])
    return made


def main(argv: list[str] | None = None) -> Evaluation:
    """Climb, and return the player's evaluation on all steps that it has reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default, meaning in (
        ("generations", 12, "generations of the search"),
        ("offspring", 5, "children of each player in a generation"),
        ("episodes", 32, "episodes of each pair in an evaluation"),
        ("mark", 0.55, "score that the interval must lie above"),
        ("seed", 0, "random seed"),
    ):
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{meaning} (default %(default)s)"
        )
    parser.add_argument(
        "--processes", type=int, help="worker processes that play the games (default one per usable core)"
    )
    args = parser.parse_args(argv)
    ladder, rng, step, best = scenarios(), np.random.default_rng(args.seed), 0, TunedBot("first")
    names = list(ladder)

    def tried(players: list[TunedBot], steps: list[str], seed: int) -> Evaluation:
        return evaluate(
            {bot.name: bot for bot in players},
            {name: ladder[name] for name in steps},
            args.episodes,
            seed=seed,
            processes=args.processes,
            progress=False,
        )

    for round_ in range(1, args.generations + 1):
        family = [best, *(best.child(f"r{round_}-c{c}", rng) for c in range(args.offspring))]
        chosen = tried(family, [names[step]], seed=20_000 * round_).matrix().value[:, 0]
        best = family[int(chosen.argmax())]
        fresh = tried([best], [names[step]], seed=20_000 * round_ + 10_000).matrix()
        low, score = fresh.low[0, 0], fresh.value[0, 0]
        print(f"round {round_}, {names[step]!r}: {best.name} scores {score:.2f}, surely {low:.2f}")
        if low > args.mark:
            if step + 1 == len(names):
                break
            step += 1
    final = tried([best, TunedBot("first again")], names[: step + 1], seed=0)
    print(final.table())
    return final


if __name__ == "__main__":
    main()

"""A league in a plain PyTorch loop, with frozen copies and bots.

The ``territorial.league.League`` says who plays the next game, hears how games ended, and when a copy is due;
the copies' weights are in a ``SnapshotStore``. Everything that is needed to go on is in one folder: run it
again with the same ``--run`` and it goes on where it was. Needs PyTorch, and openskill for ratings.

    python examples/torch_league.py --run runs/small                   some minutes on two cores
    python examples/torch_league.py --run runs/small --iterations 40   resume
    territorial league show runs/small/league.npz                         the standings
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import ppo
import torch
from ppo import Args, OnBoards, Trunk, batch_of, choose, to_rows, update

import territorial
from territorial.files.atomic import check_unused
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents, SnapshotStore
from territorial.league.checkpoints import Checkpoints
from territorial.nets import BoardPolicy, FrozenSeats
from territorial.nets.frozen_seats import manifest_of

LEARN, FROZEN, BOTS = 2, 2, 2
"""Seats of a game: those that are learned from, frozen copies, bots."""
TRUNKS = {"pooled": Trunk}


def new_league(seed: int) -> League:
    """Return a league of one main agent, that meets hard copies more often, and three bots."""
    parts = (
        Opponents(seats=FROZEN, strategy="pfsp", weighting="hard"),
        Opponents(seats=BOTS, strategy="uniform", among=("bots",)),
    )
    gate = Gate(beats=0.6, min_games=20, max_steps=5)
    main = Learner(name="main", seats=LEARN, opponents=parts, gate=gate)
    bots = ("novice", "random", "banker")
    config = LeagueConfig(
        num_players=LEARN + FROZEN + BOTS, learners=(main,), bots=bots, capacity=20, seed=seed
    )
    return League(config, rated=find_spec("openskill") is not None)


class LeagueGames:
    """The games, with a line-up of the league in each."""

    def __init__(self, args: Args, league: League, store: SnapshotStore, seed: int) -> None:
        players = LEARN + FROZEN + BOTS
        self.env = territorial.make_vec(
            args.num_games,
            height=args.height,
            width=args.width,
            num_players=players,
            seats=["agent"] * (LEARN + FROZEN) + ["random"] * BOTS,
            frames=1,
            action_format="multi_discrete",
            decision_every=args.decision_every,
            max_ticks=4000,
            autoreset="disabled",
        )
        self.league = league
        self.frozen = FrozenSeats(store, self.env.game.layout, self.env.config, TRUNKS)
        self.players = [self._deal(k) for k in range(args.num_games)]
        self.env.reset(seed)

    def _deal(self, k: int) -> list[str]:
        players = self.league.draw()
        self.env.set_seats(k, [player.name if player.kind == "bot" else "agent" for player in players])
        return [str(player) for player in players]

    def seen(self, first: int, last: int) -> dict[str, np.ndarray]:
        """Return what the agents ``first`` to ``last`` of every game see."""
        found = self.env.observe()
        own = ("seat", "action_mask")
        return {key: array[:, first:last] if key in own else array.copy() for key, array in found.items()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Play the learners' actions (E, LEARN, 2); return their rewards and which games ended.

        The snapshots act for themselves; games that end are recorded in the league and reset.
        """
        names = [name.partition(":")[2] for row in self.players for name in row[LEARN : LEARN + FROZEN]]
        theirs = self.frozen.act(names, to_rows(self.seen(LEARN, LEARN + FROZEN))).numpy()
        both = np.concatenate([actions, theirs.reshape(len(actions), FROZEN, 2)], axis=1)
        _, rewards, _, _, info = self.env.step(both)
        alive = info["alive"][:, :LEARN].any(axis=1)
        ended = info["is_over"] | ~alive
        for k in np.flatnonzero(ended).tolist():
            places = self.env.game.state.doubled_place[k, 1:] / 2
            self.league.record(self.players[k], np.where(places > 0, places, np.nan))
            self.players[k] = self._deal(k)
            self.env.reset_game(k)
        return rewards[:, :LEARN], ended


def rollout(args: Args, network: OnBoards, table: LeagueGames) -> dict:
    """Play, and return what there is to learn from; as in ``ppo.train``."""
    steps, frames, shape = [], [], (args.num_games, LEARN)
    for _ in range(args.rollout):
        frames.append(table.seen(0, LEARN))
        step = choose(network, frames[-1], shape)
        step["alive"] = torch.from_numpy(table.env.game.state.alive[:, 1 : 1 + LEARN].astype(np.int64))
        rewards, ended = table.step(step["actions"].numpy())
        step["rewards"] = torch.from_numpy(rewards.copy())
        step["dones"] = torch.from_numpy(ended).float()[:, None].expand(shape)
        steps.append(step)
    return batch_of(args, frames, steps, choose(network, table.seen(0, LEARN), shape)["values"])


def freeze(league: League, store: SnapshotStore, policy: BoardPolicy) -> str:
    """Add a copy of the policy to the league and to the store, and return its name."""
    frozen = league.freeze("main")
    weights = {key: part.detach().numpy() for key, part in policy.state_dict().items()}
    # A run that was stopped after its last checkpoint may have left one of that name.
    store.add(frozen.name, weights, manifest_of(policy.layout, "pooled", {}), replace=True)
    return frozen.name


def main(argv: list[str] | None = None) -> League:
    """Train, and return the league."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    for option, default, meaning in (
        ("iterations", 20, "training iterations of the run; those before a stop count"),
        ("num-games", 16, "games that run side by side"),
        ("rollout", 64, "steps of each game in a rollout"),
        ("seed", 0, "random seed"),
    ):
        parser.add_argument(f"--{option}", type=int, default=default, help=f"{meaning} (default %(default)s)")
    given = parser.parse_args(argv)
    args = Args(
        network="mlp",
        num_players=LEARN + FROZEN + BOTS,
        seed=given.seed,
        num_games=given.num_games,
        rollout=given.rollout,
    )
    try:
        check_unused(given.run, ("snapshots", "league.npz"), "checkpoints")
    except OSError as error:
        parser.error(str(error))
    store, checkpoints = SnapshotStore(given.run / "snapshots"), Checkpoints(given.run / "checkpoints")
    latest = checkpoints.latest()
    league = League.load(latest / "league.npz") if latest else new_league(args.seed)
    torch.manual_seed(args.seed + league.steps["main"])
    game = ppo.make(args, 1).game
    policy = BoardPolicy(game.layout, game.config, Trunk(game.layout, game.config))
    network, optimizer = OnBoards(policy), torch.optim.Adam(policy.parameters(), lr=args.learning_rate)
    if latest:
        state = torch.load(latest / "learner.pt", weights_only=True)
        policy.load_state_dict(state["policy"])
        optimizer.load_state_dict(state["optimizer"])
    else:
        freeze(league, store, policy)
    table = LeagueGames(args, league, store, args.seed + 1000 * league.steps["main"])
    while league.steps["main"] < given.iterations:
        loss = update(args, network, optimizer, rollout(args, network, table))
        league.advance("main")
        name = freeze(league, store, policy) if league.gate("main").is_open else ""
        league.note(league.steps["main"])

        def fill(folder: Path) -> None:
            league.save(folder / "league.npz")
            state = {"policy": policy.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, folder / "learner.pt")

        checkpoints.write(league.steps["main"], fill)
        rating = league.rating("trainable:main").mu
        print(
            f"iteration {league.steps['main']}: {league.num_games} games, loss {loss:.3f}, rating "
            f"{rating:.1f}" + f", frozen {name}" * bool(name)
        )
    league.save(given.run / "league.npz")
    return league


if __name__ == "__main__":
    main()

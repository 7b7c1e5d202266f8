#!/usr/bin/env python3
"""A bot in Python: patient, plays twenty games against the library.

    python examples/python_bot.py

``decide`` is asked once a step for all seats of the bot in all games of a batch, so it is written with
arrays: a row a seat, a column an owner. What it may look at is in ``territorial.bots.View``.
"""

import numpy as np

import territorial
from territorial.bots import HOLD_ALL, PythonBot, View


class Patient(PythonBot):
    """Takes free land with a tenth; else waits for 110 troops a cell, and sends a quarter at the thinnest."""

    name = "patient-1"
    interval = 100

    def decide(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Return whom to attack, an owner code or HOLD_ALL, and 1024ths of the balance, for each seat."""
        troops, land = view.own(view.troops), view.own(view.land)
        thinnest = view.least(view.troops, view.land)
        targets = np.where(view.legal[:, 0], 0, np.where(troops >= 110 * land, thinnest, HOLD_ALL))
        return targets, view.fraction(np.where(targets == 0, troops // 10, troops // 4))


def main() -> None:
    """Play, and print the mean place of every bot."""
    patient = Patient()
    seats = [patient, patient, "turtle", "metronome", "banker", "vulture", "hard", "novice"]
    config = territorial.GameConfig(height=96, width=96, num_players=len(seats), max_ticks=5000)
    game = territorial.VecGame(config, num_games=20, seats=seats, autoreset="disabled", observe=False)
    game.reset(seed=0)
    while not game.state.over.all():
        game.step()
    places = game.state.doubled_place[:, 1:].mean(axis=0) / 2
    for name, place in sorted(zip(game.seats_of(0), places, strict=True), key=lambda row: row[1]):
        print(f"{name:14} {place:4.1f}")


if __name__ == "__main__":
    main()

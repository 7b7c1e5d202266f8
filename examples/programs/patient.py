#!/usr/bin/env python3
"""Patient of docs/custom_bots.md as a program: Python alone, without territorial-env.

territorial match --seats program:examples/programs/patient.py,turtle,banker --num-players 6
"""

import json
import sys


def decide(line):
    """Take free land with a tenth; else wait for 110 troops a cell, and send a quarter at the thinnest."""
    troops, land, seat = line["troops"], line["land"], line["seat"]
    if 0 in line["legal"]:
        return {"target": 0, "share": share_for(troops[seat] // 10, troops[seat])}
    if not line["legal"] or troops[seat] < 110 * land[seat]:
        return {}
    thinnest = line["legal"][0]
    for owner in line["legal"]:  # fractions are compared as whole numbers; of equals the first one stays
        if troops[owner] * land[thinnest] < troops[thinnest] * land[owner]:
            thinnest = owner
    return {"target": thinnest, "share": share_for(troops[seat] // 4, troops[seat])}


def share_for(amount, balance):
    """Return the 1024ths of the balance that are at least this amount."""
    return min(1024, max(1, -(-1024 * amount // max(1, balance))))


sys.stdin.readline()  # the greeting
print(json.dumps({"name": "patient-in-python", "interval": 100}), flush=True)
for text in sys.stdin:
    line = json.loads(text)
    if "decide" in line:
        print(json.dumps(decide(line)), flush=True)

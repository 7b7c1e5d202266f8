"""What environments did, written down as digests: one short one for each array of each step.

A recording holds cases by name, a case has labels such as ``info.place``, and a label has one digest of all
its steps and one character for each step. So a difference is found with its array and its step. As a
character is one of 64, the first step that is told is a later one once in so many times.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

WIDTH = 1
"""Characters a step."""
ABSENT = "." * WIDTH
MAY_GROW = ("state.",)
"""Labels of tables to which later versions may add columns."""


class Written(NamedTuple):
    """All steps of one label: the digest that must be equal, and the short ones that tell where it is not."""

    digest: str
    steps: str


class Recording:
    """Digests by label and step; ``add`` any number of values under a label, then ``end`` the step."""

    def __init__(self):
        self.steps, self._now = [], {}

    def add(self, label, value):
        """Add a value, or all values in a dict, in the order of its keys' names."""
        if isinstance(value, Mapping):
            for key in sorted(value):
                self.add(f"{label}.{key}", value[key])
            return
        self._now.setdefault(label, hashlib.blake2b(digest_size=12)).update(as_bytes(value))

    def end(self):
        """Close the step."""
        self.steps.append({label: seen.digest() for label, seen in self._now.items()})
        self._now = {}

    def written(self):
        """Return ``Written`` by label."""
        labels = sorted({label for step in self.steps for label in step})
        return {label: self._written(label) for label in labels}

    def _written(self, label):
        digests = [step.get(label) for step in self.steps]
        whole = hashlib.blake2b(b"|".join(one or b"" for one in digests), digest_size=9).digest()
        return Written(
            base64.b64encode(whole).decode(),
            "".join(base64.b64encode(one).decode()[:WIDTH] if one else ABSENT for one in digests),
        )


def as_bytes(value):
    """Return what tells a value from all others, the same on every machine."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.item()!r} ".encode()
    if isinstance(value, Mapping):
        return b"{%s}" % b",".join(as_bytes(key) + as_bytes(value[key]) for key in sorted(value))
    if isinstance(value, (list, tuple)):
        return b"(%s)" % b",".join(map(as_bytes, value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{type(value).__name__} {value!r} ".encode()
    raise TypeError(f"nothing is known of how to write down {value!r}")


def differences(case, expected, found):
    """Return a line for each label of a case that is not as it was, the earliest step first."""
    lines = [
        (len(one.steps), f"{case}: {name} is missing") for name, one in expected.items() if name not in found
    ]
    for name, one in found.items():
        before = expected.get(name)
        if before is None:
            if not name.startswith(MAY_GROW):
                lines.append((len(one.steps), f"{case}: {name} is new"))
        elif one != before:
            step = first_difference(before.steps, one.steps)
            lines.append((step, f"{case}: {name} differs from step {step} on"))
    return [line for _, line in sorted(lines)]


def first_difference(before, now):
    """Return the first step whose digest differs, or how many there are in both."""
    length = min(len(before), len(now)) // WIDTH
    places = (slice(i * WIDTH, (i + 1) * WIDTH) for i in range(length))
    return next((i for i, place in enumerate(places) if before[place] != now[place]), length)


def save(path, cases):
    """Write recordings, ``{case: {label: Written}}``, one line a label."""
    path.write_text(json.dumps(cases, indent=1, sort_keys=True).replace('",\n   "', '", "') + "\n")


def record(path, cases, beginnings):
    """Play ``cases``, functions by name, and write what they did; only names with ``beginnings``, if any."""
    kept = {name: one for name, one in load(path).items() if name in cases} if beginnings else {}
    played = {name: play for name, play in cases.items() if name.startswith(tuple(beginnings) or "")}
    save(path, kept | {name: play().written() for name, play in played.items()})


def load(path):
    """Return the recordings in a file."""
    cases = json.loads(path.read_text())
    return {case: {label: Written(*one) for label, one in labels.items()} for case, labels in cases.items()}

"""What is legal, and actions drawn of it, on the processor: one pass instead of a dozen operations."""

from __future__ import annotations

import math
from typing import Any

from territorial.jit.decorators import kernel, njit

LEAST_EXPONENT = -746.0
"""Where exp() is 0 even among the numbers that are too small to be exact."""


@kernel
def draw_choices(logits: Any, heads: Any, chances: Any, weights: Any, choices: Any, logps: Any) -> None:
    """Draw every part of every action, each from the softmax of its logits, by inverting their distribution.

    Args:
        logits: float32 (N, K), those of the parts one after the other.
        heads: int64 (H,), how many each part has; K together.
        chances: float64 (N, H), independent, uniform in [0, 1).
        weights: float64 (K,), scratch.
        choices: int64 (N, H), written.
        logps: float32 (N,), written: the logarithm of how likely the whole action was.

    """
    for n in range(len(logits)):
        total, first = 0.0, 0
        for h in range(len(heads)):
            choice, logp = draw_one(logits[n], weights, first, first + heads[h], chances[n, h])
            choices[n, h] = choice - first
            total += logp
            first += heads[h]
        logps[n] = total


@njit
def draw_one(logits: Any, weights: Any, first: int, end: int, chance: float) -> Any:
    """Return one of ``first`` up to ``end`` and the logarithm of how likely it was."""
    highest = logits[first]
    for i in range(first + 1, end):
        highest = max(highest, logits[i])
    total = 0.0
    for i in range(first, end):
        above = logits[i] - highest
        # Most of what could be done is not legal, and exp() takes more than all the rest.
        weights[i] = math.exp(above) if above > LEAST_EXPONENT else 0.0
        total += weights[i]
    # What is added up again is the same to the bit, so that the sum gets beyond the bound; that the bound is
    # rounded up to the total itself is why the last one with any weight is remembered.
    bound, reached, choice = chance * total, 0.0, first
    for i in range(first, end):
        if weights[i] > 0.0:
            choice = i
            reached += weights[i]
            if reached > bound:
                break
    return choice, logits[choice] - highest - math.log(total)


@kernel
def write_masked(raw: Any, legal: Any, raised: Any, num_targets: int, masked: float, out: Any) -> None:
    """Write masked logits; see ``Policy.masked``.

    Args:
        raw: float32 (N, K).
        legal: int8 (N, K).
        raised: float32 (num_targets,), by how many launches are legal what is added to holding.
        num_targets: how many of the K are targets, of which the first one holds.
        masked: the logit of what is not legal.
        out: float32 (N, K), written.

    """
    for n in range(len(raw)):
        launches = 0
        for i in range(raw.shape[1]):
            launches += int(i > 0 and i < num_targets and legal[n, i] > 0)
            out[n, i] = raw[n, i] if legal[n, i] > 0 else masked
        if legal[n, 0] > 0:
            out[n, 0] = raw[n, 0] + raised[launches]


@kernel
def weigh_choices(logits: Any, heads: Any, choices: Any, chances: Any, logps: Any, entropies: Any) -> None:
    """Write how likely actions are, and the entropies of what they were chosen from.

    Args:
        logits: float32 (N, K), those of the parts one after the other.
        heads: int64 (H,), how many each part has; K together.
        choices: int64 (N, H), the actions.
        chances: float32 (N, K), written: the softmax of the logits of each part.
        logps: float32 (N,), written: the logarithm of how likely the whole action is.
        entropies: float32 (N,), written: those of the parts, added up.

    """
    for n in range(len(logits)):
        logp, entropy, first = 0.0, 0.0, 0
        for h in range(len(heads)):
            end = first + heads[h]
            highest = logits[n, first]
            for i in range(first + 1, end):
                highest = max(highest, logits[n, i])
            total, mean = 0.0, 0.0
            for i in range(first, end):
                above = logits[n, i] - highest
                weight = math.exp(above) if above > LEAST_EXPONENT else 0.0
                chances[n, i] = weight
                total += weight
                mean += weight * above
            for i in range(first, end):
                chances[n, i] /= total
            logp += logits[n, first + choices[n, h]] - highest - math.log(total)
            entropy += math.log(total) - mean / total
            first = end
        logps[n], entropies[n] = logp, entropy


@kernel
def write_slopes(heads: Any, choices: Any, chances: Any, of_logps: Any, of_entropies: Any, out: Any) -> None:
    """Write the gradients of logits, by those of what ``weigh_choices`` wrote.

    Args:
        heads: of ``weigh_choices``.
        choices: of ``weigh_choices``.
        chances: of ``weigh_choices``.
        of_logps: float32 (N,), the gradients of the logarithms.
        of_entropies: float32 (N,), those of the entropies.
        out: float32 (N, K), written.

    """
    for n in range(len(chances)):
        first = 0
        for h in range(len(heads)):
            end, entropy = first + heads[h], 0.0
            for i in range(first, end):
                chance = chances[n, i]
                out[n, i] = math.log(chance) if chance > 0 else 0.0
                entropy -= chance * out[n, i]
            for i in range(first, end):
                out[n, i] = -chances[n, i] * (of_logps[n] + of_entropies[n] * (out[n, i] + entropy))
            out[n, first + choices[n, h]] += of_logps[n]
            first = end

"""The limit of a rule for many arms: the shares of arms in each state no longer fluctuate, and move by a fixed map.

A rule that gives every state of every type of arm a number plays the states in the order of these numbers until the
budget is spent; of the last of them it plays a part. If the shares settle where the relaxation would have them, the gap
to its bound vanishes. If they settle elsewhere, or keep oscillating, the gap stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from experiments.budgets import problems
from jaxbandit.environments import AllPayingArms

ROUNDS = 4000  # of the map; the second half counts
STILL = 1e-6  # what an arm's reward may change in the last rounds where the shares are at rest
EQUAL = 1e-6  # numbers of a rule that are closer are equal: its states share what is left of the budget


class Limit(NamedTuple):
    """The limit of a rule for many arms.

    Fields:
      gap: to the bound, per arm and round.
      swings: whether the shares keep oscillating.
      room: of the state that is played in part, the share of all arms that are in it and are played, or are not if
        these are fewer: how far the shares may fluctuate before the rule plays other states. 0 if no state is played
        in part.
      tied: whether several states have the number of that state. Finitely many arms share it by their order.
    """

    gap: float
    swings: bool
    room: float
    tied: bool


def limit_of(name: str, label: str) -> Limit:
    """Of one of the policies that know the chains, or of random play."""
    arms, share = problems.arms_of(name, problems.TYPES), problems.plays_of(name, problems.MANY) / problems.MANY
    policy: Any = problems.knowing(name, problems.MANY)[label]
    if label == problems.RANDOM:
        numbers = np.zeros(arms.reward.shape)
    elif label == problems.MYOPIC:
        laws = arms.known()
        numbers = laws.earned - laws.kept
    else:
        numbers = np.asarray(policy.indices)[: problems.TYPES]
    collected, shares = rewards(arms, numbers, share)
    in_part = (shares > STILL).all(-1)
    kinds = {rows.tobytes() for rows, some in zip(np.asarray(arms.passive), in_part) if some.any()}
    tied = label != problems.RANDOM and (len(kinds) > 1 or in_part.sum(1).max() > 1)
    late = collected[ROUNDS // 2 :]
    gap = problems.bound(name, problems.MANY) - float(late.mean())
    return Limit(gap, bool(np.ptp(late[-ROUNDS // 10 :]) > STILL), float(shares[in_part].sum(0).min()), bool(tied))


def rewards(
    arms: AllPayingArms, numbers: np.ndarray, share: float, rounds: int = ROUNDS
) -> tuple[np.ndarray, np.ndarray]:
    """What is collected per arm in every round of the map, and who is played at its end.

    Args:
      arms: each of them a type, all equally frequent.
      numbers: [K, S], by which states are played, the largest first.
      share: M / K.
      rounds: how many.

    Returns:
      [rounds], and [K, S, 2], shares of all arms in each state that are not played (0) or are (1).
    """
    active, passive, earned, kept = arms.known().moves
    levels = np.unique(np.round(numbers / EQUAL).astype(np.int64), return_inverse=True)[1].reshape(numbers.shape)
    here = np.asarray(arms.initial) / len(numbers)
    collected = np.empty(rounds)
    for t in range(rounds):
        of_level = np.bincount(levels.ravel(), here.ravel())[::-1]
        before = np.append(0, of_level.cumsum()[:-1])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            parts = np.where(of_level > 0, np.clip((share - before) / of_level, 0, 1), 0)[::-1]
        played = here * parts[levels]
        collected[t] = (played * earned).sum() + ((here - played) * kept).sum()
        shares = np.stack([here - played, played], axis=-1)
        here = np.einsum("ks,kst->kt", played, active) + np.einsum("ks,kst->kt", here - played, passive)
    return collected, shares

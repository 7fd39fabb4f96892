"""An exact test of independence: whether the next state of an arm depends on its present one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

LEAST = 10  # transitions from a state, without which nothing is concluded from its row
NEGLIGIBLE = 1e-25  # probability at the end of a law's range that changes no p-value
SMALLEST = 1e-20  # p-value that is told from 0


class Verdict(NamedTuple):
    """What the sequences of one arm say about it: "Markovian", "i.i.d." or "undecided", and then why."""

    word: str
    p_value: float  # NaN where there was nothing to test
    reason: str = ""


def judge(sequences: list[np.ndarray], level: float, reward: np.ndarray) -> Verdict:
    """Whether the successive states of one arm, in `sequences` [steps], depend on one another; states pay `reward` [S].

    If they are independent, all orders of the states after the first one of a sequence are equally likely. How many of
    the m states after the first one are t and follow a state of a set A that does not hold t has then a hypergeometric
    law: of m places, of which as many are marked as states of A were seen, draw as many as there are t after the first
    state. The p-value is exact for sequences of any length: twice the smaller tail, times the number of counts that
    are looked at, at least 1e-20 and at most 1. With two states that is one count; with S states it is S^2, every pair
    s, t and every t after any other state. Counts of several sequences add up, and so do their laws.

    A count is looked at only where both its states, or t and all others together, were left `LEAST` times. An arm is
    undecided if it is not Markovian and one of its states was left less often, or no order could reach the `level`.

    >>> pays = np.array([0.0, 5.0])
    >>> judge([np.array([0, 0, 1, 1] * 20)], 0.01, pays).word, judge([np.arange(80) % 2], 0.01, pays).word
    ('i.i.d.', 'Markovian')
    >>> judge([np.array([0] * 150 + [1, 1] + [0] * 150)], 0.01, pays).reason
    '2 transitions from state 1, which pays 5; 10 are needed'
    """
    seen, joined = np.unique(np.concatenate(sequences), return_inverse=True)
    states = len(seen)
    if states == 1:
        return Verdict("undecided", np.nan, f"only state {seen[0]} was seen, which pays {reward[seen[0]]:g}")
    parts = np.split(joined, np.cumsum([len(part) for part in sequences])[:-1])
    counts = np.sum([transitions(part, states) for part in parts], axis=0)
    visits = np.stack([np.bincount(part, minlength=states) for part in parts])
    following = np.stack([np.bincount(part[1:], minlength=states) for part in parts])
    p_value, attainable = np.nan, np.inf
    number = 1 if states == 2 else states**2
    for sources, target in _pairs(counts):
        lowest, law = law_of_sum(following.sum(1), visits[:, sources].sum(1), following[:, target])
        place = int(counts[sources, target].sum()) - lowest
        tail = min(law[: place + 1].sum(), law[place:].sum()) if 0 <= place < len(law) else 0.0
        p_value = np.fmin(p_value, np.clip(2 * number * tail, SMALLEST, 1))
        attainable = min(attainable, 2 * number * min(law[0], law[-1]))
    left = counts.sum(1)
    rarest = int(np.argmin(left))
    word, reason = "i.i.d.", ""
    if p_value <= level:
        word = "Markovian"
    elif left[rarest] < LEAST:
        seen_times = f"{left[rarest] or 'no'} {'transition' if left[rarest] == 1 else 'transitions'}"
        state = f"state {seen[rarest]}, which pays {reward[seen[rarest]]:g}"
        word, reason = "undecided", f"{seen_times} from {state}; {LEAST} are needed"
    elif attainable > level:
        word, reason = "undecided", f"in sequences so short no order of states reaches the level {level:g}"
    return Verdict(word, float(p_value), reason)


def transitions(sequence: np.ndarray, states: int) -> np.ndarray:
    """Counts [S, S] of the transitions in one sequence [steps].

    >>> transitions(np.array([0, 1, 1, 0]), 2).tolist()
    [[0, 1], [1, 1]]
    """
    pairs = sequence[:-1] * states + sequence[1:]
    return np.bincount(pairs, minlength=states * states).reshape(states, states)


def _pairs(counts: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """The counts that are looked at: sets of states [S] bool, and the state that follows them."""
    left = counts.sum(1)
    often = left >= LEAST
    states = np.arange(len(counts))
    # With two states each count tells the other, but for the last state.
    targets = states if len(counts) > 2 else states[1:]
    for target in targets[often[targets]]:
        others = states != target
        if left[others].sum() >= LEAST:
            yield others, int(target)
        if len(counts) > 2:
            yield from ((states == source, int(target)) for source in states[often & others])


def law_of_sum(totals: np.ndarray, marked: np.ndarray, drawn: np.ndarray) -> tuple[int, np.ndarray]:
    """The law of a sum of independent hypergeometric numbers, one for each entry: its lowest value, probabilities."""
    lowest, law = 0, np.ones(1)
    for row in zip(totals.tolist(), marked.tolist(), drawn.tolist()):
        low, other = hypergeometric(*row)
        lowest += low
        if len(other) > 1:
            law = np.convolve(law, other)
            kept = np.flatnonzero(law > NEGLIGIBLE)
            lowest += int(kept[0])
            law = law[kept[0] : kept[-1] + 1]
    return lowest, law


def hypergeometric(total: int, marked: int, drawn: int) -> tuple[int, np.ndarray]:
    """The lowest value, and the probabilities from there on, of the number of marked places among those drawn."""
    marked = min(marked, total)  # they are more where nothing is drawn: the first state is marked, too
    lowest = max(0, marked + drawn - total)
    number = np.arange(lowest, max(min(marked, drawn), lowest), dtype=float)
    grows = np.log((marked - number) * (drawn - number)) - np.log((number + 1) * (total - marked - drawn + number + 1))
    logarithms = np.concatenate([[0.0], np.cumsum(grows)])
    law = np.exp(logarithms - logarithms.max())
    return lowest, law / law.sum()

"""Checks of what the lemmas say of rounds and plays: sections 5 and 6 of docs/optimality.md."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from experiments.reports.tables import Row
from experiments.theory.arms import ARMS, MEAN, ROUNDING, at_most, row
from experiments.theory.play import Seen
from experiments.theory.two_states import (
    Chain,
    Counts,
    divergence,
    likeliest_mean,
    likelihood_ratio,
    log_probability,
    types,
)

CONSTANT = 2  # A of condition (2), for c = min(n01, n10)


def tour(chain: Chain) -> float:
    """theta: the mean length of a tour from the worse start.

    The first play stays or moves; after it the other state is to be reached.
    """
    (out, back) = chain
    return 1 + max((1 - out) / out + out / back, (1 - back) / back + back / out)


def tours(longest: int) -> list[Row]:
    """E V(x), the expected number of T with c + 1 <= x, over all types of T <= `longest` plays."""
    rows = []
    for chain in ARMS[1:]:
        chance = dict.fromkeys((1, 5, 20), 0.0)
        for plays in range(1, longest + 1):
            counts = types(plays)
            law = np.exp(log_probability(counts, chain))
            for x in chance:
                chance[x] += float(law[counts.cycles + 1 <= x].sum())
        for x, value in chance.items():
            most = tour(chain) * (1 + CONSTANT * x)
            rows.append(row("9", f"mean {chain.mean:.3g}: E V({x})", most, value, value <= most))
    return rows


def missed_bound(longest: int) -> float:
    """B(m) of (4) for the arms, over types of at most `longest` plays of the best one."""
    lengths = [tour(chain) for chain in ARMS[1:]]
    total = 0.0
    for plays in range(1, longest + 1):
        counts = types(plays)
        some = likeliest_mean(counts) < MEAN
        counts = Counts(*(n[some] for n in counts))
        most = (1 + counts.cycles) * np.exp(likelihood_ratio(counts, MEAN))
        rounds = 1 + sum(length * (1 + CONSTANT * most) for length in lengths)
        total += float(np.exp(log_probability(counts, ARMS[0])) @ rounds)
    return total


def missed(seen: Seen, horizons: Sequence[int], bound: float) -> list[Row]:
    """Rounds with best < m, by decades, and the step of the proof that holds in each of them."""
    excess = seen.excess_missed
    rows = [row("10", "log(1+c_j) - J_1 - log(1+c_1) in rounds with best < m", 0.0, excess, excess <= ROUNDING)]
    for number, horizon in enumerate(horizons):
        rows.append(at_most("10", f"rounds with best < m of {horizon:,}", bound, seen.missed[:, number]))
    return rows


def bad_arms(longest: int, gamma: float = 0.005) -> list[Row]:
    """J of bad arms against information: where counts are near their limits, and how rare counts with a small J are."""
    rows = []
    for chain in ARMS[1:]:
        information = float(likelihood_ratio(chain.flow, MEAN))
        entropy = -sum(float(w) * np.log(p) for w, p in zip(chain.flow, chain.moves, strict=True))
        corners = np.array(list(product((1 - gamma, 1, 1 + gamma), repeat=4))).T
        near = Counts(*(w * factor for w, factor in zip(chain.flow, corners, strict=True)))
        least, bound = float(likelihood_ratio(near, MEAN).min()), (1 - gamma) * information - 2 * gamma * entropy
        what = f"mean {chain.mean:.3g}: "
        rows.append(row("11", what + f"least J/T where counts are within {gamma:.1%}", bound, least, least >= bound))
        rates = []
        for number in (longest // 4, longest):
            counts = types(number)
            few = likelihood_ratio(counts, MEAN) < information / 2 * number
            rates.append(float(divergence(counts, chain)[few].min() / number))
        what += f"least D/T where J < T I/2, T = {longest}, against half of that of T = {longest // 4}"
        rows.append(row("11", what, rates[0] / 2, rates[1], rates[1] >= rates[0] / 2))
    return rows


def plays_of_bad_arms(seen: Seen, horizons: Sequence[int], bound: float, longest: int) -> list[Row]:
    """Plays of the bad arms, against the bound of theorem 1, and the step of the proof that holds in each of them."""
    excess = seen.excess_bad
    rows = [row("theorem 1", "J_k(m) - log t in rounds with best >= m", 0.0, excess, excess <= ROUNDING)]
    for k, chain in enumerate(ARMS[1:], start=1):
        expected = np.zeros(len(horizons))
        for number in range(1, longest + 1):
            counts = types(number)
            law, j = np.exp(log_probability(counts, chain)), likelihood_ratio(counts, MEAN)
            expected += [law[j <= np.log(horizon)].sum() for horizon in horizons]
        arm = f"the arm with mean {chain.mean:.3g}"
        for number, horizon in enumerate(horizons):
            most = 1 + bound + float(expected[number])
            rows.append(at_most("theorem 1", f"plays of {arm} of {horizon:,}", most, seen.plays[:, number, k]))
        growth = (seen.plays[:, -1, k] - seen.plays[:, -2, k]) / np.log(10)
        constant = 1 / float(likelihood_ratio(chain.flow, ARMS[0].mean))
        rows.append(at_most("theorem 2", f"plays of {arm} per log n, the last decade", constant, growth))
    return rows

"""Checks of the lemmas of docs/optimality.md with numbers, on chains and on all types of so many plays of three arms.

A check cannot prove a lemma, but it can refute one. Where a sum over T, the number of plays, is infinite, it is cut off
at `longest`: what is left out would make it larger.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from experiments.theory.chains import ROUNDING, cycles, edge, means, perturbed, row
from experiments.theory.two_states import (
    Chain,
    Counts,
    divergence,
    likeliest_mean,
    likelihood_ratio,
    log_probability,
    types,
)
from jaxbandit.reports.tables import Row

ARMS = (Chain(0.7, 0.3), Chain(0.3, 0.5), Chain(0.4, 0.6))  # means 0.7, 0.375, 0.4
# m of the lemmas, between the best arm's mean and the others'. A type can have the mean 0.55 exactly; the little less
# keeps rounding from calling it worse than m.
MEAN = 0.55 - 1e-12
CONSTANT = 2  # A of condition (2), for c = min(n01, n10)


def check(seed: int = 0, longest: int = 400) -> list[Row]:
    """Rows of all checks: lemma, what, bound, measured, holds ("yes" or "no").

    Args:
      seed: of random chains.
      longest: the number of plays at which sums over T are cut off, at least 4.
    """
    of_chains = [*means(seed), *perturbed(seed), *edge(seed), *cycles(seed)]
    return [*of_chains, *likelihoods(longest), *tours(longest), *bad_arms(longest)]


def likelihoods(longest: int) -> list[Row]:
    """J against D over all types of the best arm, and D of those that make it look bad."""
    rows = []
    best = ARMS[0]
    for m in (0.35, MEAN, 0.65):
        share = (best.mean - m) * sum(best)
        least, worst = np.inf, -np.inf
        for plays in range(1, 81):
            counts = types(plays)
            d, j = divergence(counts, best), likelihood_ratio(counts, m)
            worst = max(worst, float((j - (1 - share) * d).max()))
            some = d > 1e-6
            least = min(least, float((1 - j[some] / d[some]).min()))
        what = f"all types of 1..80 plays, m = {m:g}: "
        rows.append(row("7", what + "least 1 - J/D, at least lambda", share, least, worst <= ROUNDING))
    rates = []
    for plays in (longest // 4, longest):
        counts = types(plays)
        rates.append(float(divergence(counts, best)[likeliest_mean(counts) < MEAN].min() / plays))
    what = f"least D/T where mean_1 < {MEAN:g}, T = {longest}, against half of that of T = {longest // 4}"
    return [*rows, row("8", what, rates[0] / 2, rates[1], rates[1] >= rates[0] / 2)]


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

"""Checks of the lemmas of docs/optimality.md with numbers, on chains and on all types of so many plays of three arms.

A check cannot prove a lemma, but it can refute one. Where a sum over T, the number of plays, is infinite, it is cut off
at `longest`: what is left out would make it larger. Arms have two states, which pay 0 and 1. Their counts are an array
whose rows are n00, n01, n10 and n11, how often each move was made, or the shares that these tend to; likelihoods are
computed from the definition, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from jaxbandit import chains
from jaxbandit.reports.tables import Row

ROUNDING = 1e-9


class Chain(NamedTuple):
    """p01 and p10, the probabilities of leaving each state."""

    p01: float
    p10: float

    @property
    def mean(self) -> float:
        """The stationary probability of state 1."""
        return self.p01 / (self.p01 + self.p10)

    @property
    def flow(self) -> np.ndarray:
        """The share of plays that make each move in the long run."""
        return np.repeat([1 - self.mean, self.mean], 2) * [1 - self.p01, self.p01, self.p10, 1 - self.p10]


ARMS = (Chain(0.7, 0.3), Chain(0.3, 0.5), Chain(0.4, 0.6))  # means 0.7, 0.375, 0.4
# m of the lemmas, between the best arm's mean and the others'. A type can have the mean 0.55 exactly; the little less
# keeps rounding from calling it worse than m.
MEAN = 0.55 - 1e-12
CONSTANT = 2  # A of condition (2), for c = min(n01, n10)


def log_likelihood(counts: np.ndarray, p01: float | np.ndarray, p10: float | np.ndarray) -> np.ndarray:
    """L(Q) = sum over s, j of n_sj log Q_sj, where 0 log 0 = 0."""
    return np.asarray(sum(xlogy(count, p) for count, p in zip(counts, (1 - p01, p01, p10, 1 - p10), strict=True)))


def likeliest(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p01 and p10 of the likeliest chain; of several, of the one with the largest mean."""
    left0, left1 = counts[:2].sum(0), counts[2:].sum(0)
    p01 = np.divide(counts[1], left0, out=np.ones_like(left0, float), where=left0 > 0)
    return p01, np.divide(counts[2], left1, out=np.zeros_like(left1, float), where=left1 > 0)


def likeliest_mean(counts: np.ndarray) -> np.ndarray:
    """The largest mean of a likeliest chain; 1 where the better state was never left."""
    p01, p10 = likeliest(counts)
    return np.where(counts[2] > 0, p01 / np.where(p01 + p10 > 0, p01 + p10, 1), 1.0)


def likelihood_ratio(counts: np.ndarray, mean: float) -> np.ndarray:
    """J(mean) = max of L - max of L over the chains whose mean is at least `mean`, in (0, 1]; all chains are admitted.

    L is concave and the chains that are good enough are p01 (1 - mean) >= p10 mean. So where the likeliest chain is not
    one of them, the maximum is on the line p10 = rho p01, rho = (1 - mean)/mean, where the slope of L is 0: this is a
    quadratic equation, rho T p01^2 - B p01 + n01 + n10 = 0 with B = (n01 + n10)(1 + rho) + n00 + rho n11.

    >>> float(likelihood_ratio(np.array([60, 40, 40, 20]), 0.5).round(6))
    5.411532
    """
    rho, moves = (1 - mean) / mean, counts[1] + counts[2]
    b = moves * (1 + rho) + counts[0] + rho * counts[3]
    root = np.sqrt(np.maximum(b * b - 4 * rho * counts.sum(0) * moves, 0))
    p01 = 2 * moves / np.where(b + root > 0, b + root, 1)
    best = log_likelihood(counts, *likeliest(counts))
    good = log_likelihood(counts, np.minimum(p01, 1), np.minimum(rho * p01, 1))
    return np.where(likeliest_mean(counts) >= mean, 0.0, np.maximum(best - good, 0))


def divergence(counts: np.ndarray, chain: Chain) -> np.ndarray:
    """D = max of L - L(chain)."""
    return log_likelihood(counts, *likeliest(counts)) - log_likelihood(counts, *chain)


def types(plays: int) -> np.ndarray:
    """Every type of this many plays from state 0."""
    n01, back, n00 = np.meshgrid(np.arange((plays + 1) // 2 + 1), (0, 1), np.arange(plays + 1), indexing="ij")
    n10 = n01 - back  # the arm stands in state 1 where it has left 0 once more than it has come back
    n11 = plays - n00 - n01 - n10
    return np.stack([n00, n01, n10, n11])[:, (n10 >= 0) & (n11 >= 0) & ((n01 > 0) | (n11 == 0))]


def log_probability(counts: np.ndarray, chain: Chain) -> np.ndarray:
    """log of the probability that an arm which starts in state 0 has these counts (a type of `types`).

    Trajectories with the same counts have the same probability. There are as many as ways to share out the n00 and n11
    plays that stay among the stretches in state 0 (n10 + 1) and in state 1 (n01).
    """
    stays, stretches = counts[[0, 3]], np.maximum([counts[2] + 1, counts[1]], 1)  # no stretch has no plays
    ways = gammaln(stays + stretches) - gammaln(stays + 1.0) - gammaln(stretches)
    return np.asarray(ways.sum(0) + log_likelihood(counts, *chain))


def check(seed: int = 0, longest: int = 400) -> list[Row]:
    """Rows of all checks, with random chains of a seed; sums over T are cut off at `longest` plays, at least 4."""
    of_types = [*best_arm(longest), *(row for chain in ARMS[1:] for row in bad_arm(chain, longest))]
    return [*perturbed(seed), *edge(seed), *cycles(seed), *of_types]


def row(lemma: str, what: str, bound: float, measured: float, holds: bool) -> Row:
    """A row of the table of checks; numbers to four digits."""
    numbers: Row = {"bound": f"{bound:.4g}", "measured": f"{measured:.4g}"}
    return {"lemma": lemma, "what": what, **numbers, "holds": "yes" if holds else "no"}


def rate(lemma: str, what: str, longest: int, chain: Chain, rare: Callable[[np.ndarray], np.ndarray]) -> Row:
    """The least D/T of rare types: that of the longest T is more than half of that of a quarter of these plays."""
    of_plays = {plays: types(plays) for plays in (longest // 4, longest)}
    first, last = (float(divergence(each, chain)[rare(each)].min()) / plays for plays, each in of_plays.items())
    what += f", T = {longest}, against half of that of T = {longest // 4}"
    return row(lemma, what, first / 2, last, last >= first / 2)


def best_arm(longest: int) -> list[Row]:
    """J against D over all types of the best arm, and D of those that make it look bad."""
    rows, best = [], ARMS[0]
    for m in (0.35, MEAN, 0.65):
        share, least = best.mean - m, np.inf
        for counts in map(types, range(1, 81)):
            ratio = likelihood_ratio(counts, m) / np.maximum(divergence(counts, best), 1e-6)
            least = min(least, 1 - float(ratio.max()))
        what = f"all types of 1..80 plays, m = {m:g}: least 1 - J/D, at least lambda"
        rows.append(row("7", what, share, least, least >= share - ROUNDING))
    what = f"least D/T where mean_1 < {MEAN:g}"
    return [*rows, rate("8", what, longest, best, lambda counts: likeliest_mean(counts) < MEAN)]


def bad_arm(chain: Chain, longest: int, gamma: float = 0.005) -> list[Row]:
    """E V(x), the expected number of T with c + 1 <= x, and J against information.

    V is counted over all types of T <= `longest` plays; J is that of counts near their limits, and how rare counts with
    a small J are.
    """
    rows, name, (out, back) = [], f"mean {chain.mean:.3g}: ", chain
    chance = dict.fromkeys((1, 5, 20), 0.0)
    for counts in map(types, range(1, longest + 1)):
        law = np.exp(log_probability(counts, chain))
        for x in chance:
            chance[x] += float(law[counts[1:3].min(0) + 1 <= x].sum())
    # theta, the mean length of a tour from the worse start: after one play the other state is to be reached
    theta = 1 + max((1 - out) / out + out / back, (1 - back) / back + back / out)
    for x, value in chance.items():
        most = theta * (1 + CONSTANT * x)
        rows.append(row("9", f"{name}E V({x})", most, value, value <= most))
    information = float(likelihood_ratio(chain.flow, MEAN))
    corners = np.array(list(product((1 - gamma, 1, 1 + gamma), repeat=4))).T
    near = float(likelihood_ratio(chain.flow[:, None] * corners, MEAN).min())
    bound = (1 - gamma) * information + 2 * gamma * float(log_likelihood(chain.flow, *chain))
    rows.append(row("11", f"{name}least J/T where counts are within {gamma:.1%}", bound, near, near >= bound))

    def rare(counts: np.ndarray) -> np.ndarray:
        return likelihood_ratio(counts, MEAN) < information / 2 * counts.sum(0)

    return [*rows, rate("11", f"{name}least D/T where J < T I/2", longest, chain, rare)]


def better(chain: np.ndarray, reward: np.ndarray, eta: float) -> np.ndarray:
    """The chain of lemma 3's proof: its rows are 1 - eta of those of `chain` and eta of others.

    The share of the rewards in the new relative values is halved until every row can be balanced.
    """
    mean, values = chains.stationary(chain) @ reward, chains.relative_values(chain, reward)
    top = np.isclose(values, values.max(), rtol=0, atol=1e-12)
    aim = mean + eta * (reward[top].max() - mean)
    for halvings in range(1, 61):
        share = 0.5**halvings
        new = (1 - share) * values + share * reward
        target = ((1 - share) * (chain @ values) + share * aim - (1 - eta) * chain @ new) / eta
        if new.min() <= target.min() and target.max() <= new.max():
            up = (target - new.min()) / np.ptp(new)
            added = np.outer(up, np.eye(len(new))[new.argmax()]) + np.outer(1 - up, np.eye(len(new))[new.argmin()])
            return np.asarray((1 - eta) * chain + eta * added)
    raise ArithmeticError("lemma 3: no share of the rewards can be balanced")


def perturbed(seed: int, chains_seen: int = 300, eta: float = 0.01) -> list[Row]:
    """Lemma 1 on random chains with three states, some of whose moves are impossible, and others; Lemma 3 on them."""
    generator, others = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    error, share, gain, gap = 0.0, 0.0, np.inf, np.inf
    for _ in range(chains_seen):
        around = np.roll(np.eye(3), 1, axis=1)  # makes the chain irreducible, whatever else is impossible
        chain = generator.dirichlet(np.full(3, 0.5), 3) * (generator.random((3, 3)) < 0.5) + around
        chain /= chain.sum(1, keepdims=True)
        reward = generator.choice(4, 3, replace=False).astype(float)
        mean, values = chains.stationary(chain) @ reward, chains.relative_values(chain, reward)
        other = others.dirichlet(np.full(3, 0.5), 3)
        law = chains.stationary(other)
        apart = law @ reward - mean
        error = max(error, abs(apart - law @ (other - chain) @ values))
        share = max(share, abs(apart) / (np.ptp(values) * np.abs(other - chain).sum(1).max() / 2))
        new = better(chain, reward, eta)
        gain = min(gain, float(chains.stationary(new) @ reward - mean))
        gap = min(gap, chains.reward_gap(new, reward) / min(1, chains.reward_gap(chain, reward)))
    what = f"{chains_seen} chains"
    return [
        row("1a", f"{what}: how two means differ, largest error", ROUNDING, error, error <= ROUNDING),
        row("1b", f"{what}: difference of means / its bound, largest", 1.0, share, share <= 1 + ROUNDING),
        row("3", f"{what}, eta = {eta:g}: least gain of the mean, above 0", 0.0, gain, gain > 0),
        row("3", f"{what}, eta = {eta:g}: least new reward gap / min(1, old one)", 1.0, gap, gap >= 1 - ROUNDING),
    ]


def cycles(seed: int, paths: int = 60, plays: int = 300) -> list[Row]:
    """Tours of random paths over three states, of which each pays more than the one before, against 2 (c + 1)."""
    generator = np.random.default_rng(seed)
    worst = dict.fromkeys(("least number of departures", "half the changes of state", "passages"), -np.inf)
    for _ in range(paths):
        stay, state, counts, visited, completed = generator.random(), 0, np.zeros((3, 3)), set[int](), 0
        for _ in range(plays):
            following = state if generator.random() < stay else int(generator.integers(3))
            counts[state, following] += 1
            state = following
            visited.add(state)
            if len(visited) == 3:
                visited, completed = set(), completed + 1
            departures = counts.sum(1) - np.diag(counts)
            # states that pay less than the mean are the first one or two; passages lead up or down
            passed = min(way[:low, low:].sum() for way in (counts, counts.T) for low in (1, 2))
            for name, c in zip(worst, (departures.min(), departures.sum() // 2, passed), strict=True):
                worst[name] = max(worst[name], completed - 2 * (c + 1))
    return [row("(2)", f"tours - 2 (c + 1), c = {name}, {paths} paths", 0.0, x, x <= 0) for name, x in worst.items()]


def line_of_types(chain: np.ndarray, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The flows of types to which a positive chain is a stationary point of the likelihood in the class of its own gap.

    They are a line: it begins at the own flow [S, S] and ends, one direction [S, S] farther, where a flow is 0.
    """
    law, values = chains.stationary(chain), chains.relative_values(chain, reward)
    deviation = np.linalg.inv(np.eye(len(law)) - chain + law) - law
    force = deviation[values.argmax()] - deviation[values.argmin()]  # how the range of values follows each row's
    tilted = force[:, None] * chain * (values - (chain @ values)[:, None])
    begin, along = law[:, None] * chain, (tilted.sum(0) @ deviation)[:, None] * chain + tilted
    return begin, along * (begin[along < 0] / -along[along < 0]).min()


def edge(seed: int, chains_seen: int = 2000) -> list[Row]:
    """Of random chains with three and four states, those on whose line the mean falls: is a type of it in the class?

    Where it is, 1 - gap / the chain's own gap is 0 or less; the least is taken, over the share of the line.
    """
    generator = np.random.default_rng(seed)
    falls, least, share = 0, np.inf, np.arange(1, 101) / 101
    for _ in range(chains_seen):
        states, weight = int(generator.integers(3, 5)), generator.choice([0.3, 1.0, 3.0])
        chain = generator.dirichlet(np.full(states, weight), states) + 1e-9
        chain, reward = chain / chain.sum(1, keepdims=True), generator.random(states)
        begin, along = line_of_types(chain, reward)
        if along.sum(1) @ reward < 0:
            flows = begin + share[:, None, None] * along
            law = flows.sum(2)
            fundamental = np.eye(states) - flows / law[:, :, None] + law[:, None, :]
            values = np.linalg.solve(fundamental, (reward - (law @ reward)[:, None])[:, :, None])[:, :, 0]
            short = 1 - np.ptp(chains.relative_values(chain, reward)) / np.ptp(values, axis=1)
            falls, least = falls + 1, min(least, float((short / share).min()))
    what = f"{chains_seen:,} chains with the gap of their class, the mean falls for {falls:,}: least shortfall of a gap"
    return [row("7", what + ", above 0", 0.0, least, least > 0)]

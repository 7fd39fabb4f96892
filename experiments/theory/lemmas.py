"""Checks of the lemmas of docs/optimality.md with numbers, on chains and on all types of so many plays of three arms.

A check cannot prove a lemma, but it can refute one. Where a sum over T, the number of plays, is infinite, it is cut off
at `longest`: what is left out would make it larger. Likelihoods of two-state chains that pay 0 and 1 are computed from
the definition, in float64.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from jaxbandit import chains
from jaxbandit.reports.tables import Row

ROUNDING = 1e-9
POINTS = 100  # of a line of types


class Counts(NamedTuple):
    """How often each move was made: whole numbers, or the shares that they tend to."""

    n00: np.ndarray
    n01: np.ndarray
    n10: np.ndarray
    n11: np.ndarray


class Chain(NamedTuple):
    """p01 and p10, the probabilities of leaving each state."""

    p01: float
    p10: float

    @property
    def mean(self) -> float:
        """The stationary probability of state 1."""
        return self.p01 / (self.p01 + self.p10)

    @property
    def moves(self) -> tuple[float, float, float, float]:
        """The probabilities of the moves 00, 01, 10 and 11."""
        return 1 - self.p01, self.p01, self.p10, 1 - self.p10

    @property
    def flow(self) -> Counts:
        """The share of plays that make each move in the long run."""
        law = (1 - self.mean, 1 - self.mean, self.mean, self.mean)
        return Counts(*(np.asarray(share * p) for share, p in zip(law, self.moves, strict=True)))


def log_likelihood(counts: Counts, p01: np.ndarray, p10: np.ndarray) -> np.ndarray:
    """L(Q) = sum over s, j of n_sj log Q_sj, where 0 log 0 = 0."""
    moves = (1 - p01, p01, p10, 1 - p10)
    return np.asarray(sum(xlogy(count, p) for count, p in zip(counts, moves, strict=True)))


def likeliest(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """p01 and p10 of the likeliest chain; of several, of the one with the largest mean."""
    left0, left1 = counts.n00 + counts.n01, counts.n10 + counts.n11
    p01 = np.divide(counts.n01, left0, out=np.ones_like(left0, float), where=left0 > 0)
    p10 = np.divide(counts.n10, left1, out=np.zeros_like(left1, float), where=left1 > 0)
    return p01, p10


def likeliest_mean(counts: Counts) -> np.ndarray:
    """The largest mean of a likeliest chain; 1 where the better state was never left."""
    p01, p10 = likeliest(counts)
    return np.where(counts.n10 > 0, p01 / np.where(p01 + p10 > 0, p01 + p10, 1), 1.0)


def likelihood_ratio(counts: Counts, mean: float | np.ndarray) -> np.ndarray:
    """J(mean) = max of L - max of L over the chains whose mean is at least `mean`, in (0, 1]; all chains are admitted.

    L is concave and the chains that are good enough are p01 (1 - mean) >= p10 mean. So where the likeliest chain is not
    one of them, the maximum is on the line p10 = rho p01, rho = (1 - mean)/mean, where the slope of L is 0: this is a
    quadratic equation, rho T p01^2 - B p01 + n01 + n10 = 0 with B = (n01 + n10)(1 + rho) + n00 + rho n11.

    >>> float(likelihood_ratio(Counts(*np.array([60, 40, 40, 20])), 0.5).round(6))
    5.411532
    """
    rho = (1 - mean) / np.asarray(mean)
    moves = counts.n01 + counts.n10
    b = moves * (1 + rho) + counts.n00 + rho * counts.n11
    root = np.sqrt(np.maximum(b * b - 4 * rho * sum(counts) * moves, 0))
    p01 = 2 * moves / np.where(b + root > 0, b + root, 1)
    best = log_likelihood(counts, *likeliest(counts))
    good = log_likelihood(counts, np.minimum(p01, 1), np.minimum(rho * p01, 1))
    return np.where(likeliest_mean(counts) >= mean, 0.0, np.maximum(best - good, 0))


def divergence(counts: Counts, chain: Chain) -> np.ndarray:
    """D = max of L - L(chain)."""
    return np.asarray(log_likelihood(counts, *likeliest(counts)) - log_likelihood(counts, *map(np.asarray, chain)))


def types(plays: int) -> Counts:
    """Every type of this many plays from state 0."""
    n01, back, n00 = np.meshgrid(np.arange((plays + 1) // 2 + 1), (0, 1), np.arange(plays + 1), indexing="ij")
    n10 = n01 - back  # the arm stands in state 1 where it has left 0 once more than it has come back
    n11 = plays - n00 - n01 - n10
    possible = (n10 >= 0) & (n11 >= 0) & ((n01 > 0) | (n11 == 0))
    return Counts(n00[possible], n01[possible], n10[possible], n11[possible])


def log_probability(counts: Counts, chain: Chain) -> np.ndarray:
    """log of the probability that an arm which starts in state 0 has these counts (a type of `types`).

    Trajectories with the same counts have the same probability. There are as many as ways to share out the n00 and n11
    plays that stay among the stretches in state 0 (n10 + 1) and in state 1 (n01).
    """
    ways = np.zeros(len(counts.n00))
    for stays, stretches in ((counts.n00, counts.n10 + 1), (counts.n11, counts.n01)):
        few = np.maximum(stretches, 1)  # no stretch has no plays
        ways += gammaln(stays + few) - gammaln(stays + 1.0) - gammaln(few)
    return ways + log_likelihood(counts, *map(np.asarray, chain))


ARMS = (Chain(0.7, 0.3), Chain(0.3, 0.5), Chain(0.4, 0.6))  # means 0.7, 0.375, 0.4
# m of the lemmas, between the best arm's mean and the others'. A type can have the mean 0.55 exactly; the little less
# keeps rounding from calling it worse than m.
MEAN = 0.55 - 1e-12
CONSTANT = 2  # A of condition (2), for c = min(n01, n10)


def check(seed: int = 0, longest: int = 400) -> list[Row]:
    """Rows of all checks, with random chains of a seed; sums over T are cut off at `longest` plays, at least 4."""
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
    """theta: the mean length of a tour from the worse start; after one play the other state is to be reached."""
    out, back = chain
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
                chance[x] += float(law[np.minimum(counts.n01, counts.n10) + 1 <= x].sum())
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


def row(lemma: str, what: str, bound: float | str, measured: float, holds: bool) -> Row:
    """A row of the table of checks; numbers to four digits."""
    bound_text = bound if isinstance(bound, str) else f"{bound:.4g}"
    verdict = "yes" if holds else "no"
    return {"lemma": lemma, "what": what, "bound": bound_text, "measured": f"{measured:.4g}", "holds": verdict}


def means(seed: int, pairs: int = 300) -> list[Row]:
    """How far means of random chains with three states are apart, and what relative values say of it."""
    generator = np.random.default_rng(seed)
    error, share = 0.0, 0.0
    for _ in range(pairs):
        first, second = generator.dirichlet(np.full(3, 0.5), (2, 3)) + 1e-6
        first, second = (x / x.sum(1, keepdims=True) for x in (first, second))
        reward = generator.random(3)
        values = chains.relative_values(first, reward)
        law = chains.stationary(second)
        apart = law @ reward - chains.stationary(first) @ reward
        error = max(error, abs(apart - law @ (second - first) @ values) / max(1, np.ptp(values)))
        share = max(share, abs(apart) / (np.ptp(values) * np.abs(second - first).sum(1).max() / 2))
    return [
        row("1a", f"how two means differ, largest error of {pairs}", ROUNDING, error, error <= ROUNDING),
        row("1b", f"difference of means / its bound, largest of {pairs}", 1.0, share, share <= 1 + ROUNDING),
    ]


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
    """Lemma 3 on random chains with three states, some of whose moves are impossible."""
    generator = np.random.default_rng(seed)
    gain, gap, kept = np.inf, np.inf, np.inf
    for _ in range(chains_seen):
        around = np.roll(np.eye(3), 1, axis=1)  # makes the chain irreducible, whatever else is impossible
        chain = generator.dirichlet(np.full(3, 0.5), 3) * (generator.random((3, 3)) < 0.5) + around
        chain /= chain.sum(1, keepdims=True)
        reward = generator.choice(4, 3, replace=False).astype(float)
        new = better(chain, reward, eta)
        gain = min(gain, float((chains.stationary(new) - chains.stationary(chain)) @ reward))
        before, after = (chains.reward_gap(x, reward) for x in (chain, new))
        gap = min(gap, float(after / min(1, before)))
        kept = min(kept, float((new - (1 - eta) * chain).min()))
    what = f"{chains_seen} chains, eta = {eta:g}: least "
    return [
        row("3", what + "gain of the mean", "> 0", gain, gain > 0),
        row("3", what + "new reward gap / min(1, old one)", 1.0, gap, gap >= 1 - ROUNDING),
        row("3", what + "Q' - (1 - eta) Q", 0.0, kept, kept >= -ROUNDING),
    ]


def passages(counts: np.ndarray, reward: np.ndarray, mean: float) -> int:
    """The smaller number of passages, up or down, between states that pay less than the mean and the others.

    What pays least is among those that pay less, what pays most among the others, wherever the mean lies.
    """
    low = (reward < min(mean, reward.max())) | (reward == reward.min())
    return int(min(counts[low][:, ~low].sum(), counts[~low][:, low].sum()))


def cycles(seed: int, paths: int = 60, plays: int = 300) -> list[Row]:
    """Tours of random paths over three states, which pay 0, 1 and 2, against 2 (c + 1)."""
    generator = np.random.default_rng(seed)
    worst = dict.fromkeys(("least number of departures", "half the changes of state", "passages"), -np.inf)
    for _ in range(paths):
        stay = generator.random()
        state, counts, visited, completed = 0, np.zeros((3, 3)), set(), 0
        for _ in range(plays):
            following = state if generator.random() < stay else int(generator.integers(3))
            counts[state, following] += 1
            state = following
            visited.add(state)
            if len(visited) == 3:
                visited, completed = set(), completed + 1
            departures = counts.sum(1) - np.diag(counts)
            passed = min(passages(counts, np.arange(3.0), mean) for mean in (0.0, 0.5, 1.5, 2.0))
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


def on_line(chain: np.ndarray, reward: np.ndarray) -> tuple[float, float]:
    """How much the mean rises along `line_of_types`, and the least of 1 - gap / own gap there, over the share of it."""
    begin, along = line_of_types(chain, reward)
    share = np.arange(1, POINTS + 1) / (POINTS + 1)
    flows = begin + share[:, None, None] * along
    law = flows.sum(2)
    rows = flows / law[:, :, None]
    fundamental = np.eye(len(chain)) - rows + law[:, None, :]
    values = np.linalg.solve(fundamental, (reward - (law @ reward)[:, None])[:, :, None])[:, :, 0]
    short = 1 - np.ptp(chains.relative_values(chain, reward)) / np.ptp(values, axis=1)
    return float(along.sum(1) @ reward), float((short / share).min())


def edge(seed: int, chains_seen: int = 2000) -> list[Row]:
    """Of random chains with three and four states, those on whose line the mean falls: is a type of it in the class?"""
    generator = np.random.default_rng(seed)
    falls, least = 0, np.inf
    for _ in range(chains_seen):
        states, weight = int(generator.integers(3, 5)), generator.choice([0.3, 1.0, 3.0])
        chain = generator.dirichlet(np.full(states, weight), states) + 1e-9
        rise, short = on_line(chain / chain.sum(1, keepdims=True), generator.random(states))
        if rise < 0:
            falls, least = falls + 1, min(least, short)
    what = f"{chains_seen:,} chains with the gap of their class, the mean falls for {falls:,}: least shortfall of a gap"
    return [row("7", what, "> 0", least, least > 0)]

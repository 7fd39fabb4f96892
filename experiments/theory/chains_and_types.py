"""Checks of the lemmas on chains and types: sections 3 to 5 of docs/optimality.md, before the policy plays."""

from __future__ import annotations

from itertools import product

import numpy as np

from experiments.reports.tables import Row
from experiments.theory.arms import ARMS, MEAN, ROUNDING, row
from experiments.theory.two_states import divergence, likeliest_mean, likelihood_ratio, types
from jaxbandit import chains


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

    Raises:
      ArithmeticError: it was halved 60 times, which lemma 3 excludes.
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


def exact_types(plays: int = 8) -> list[Row]:
    """Every trajectory of a chain of three states that cannot make every move: the law of its types."""
    chain = np.array([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [0.6, 0.2, 0.2]])
    rows = []
    for start in range(3):
        probability: dict[bytes, float] = {}
        for path in product(range(3), repeat=plays):
            moves = np.zeros((3, 3), int)
            np.add.at(moves, ([start, *path[:-1]], path), 1)
            name = moves.tobytes()
            probability[name] = probability.get(name, 0.0) + float(np.prod(chain**moves))
        largest = 0.0
        for name, chance in probability.items():
            moves = np.frombuffer(name, int).reshape(3, 3)
            left = moves.sum(1, keepdims=True)
            estimate = moves / np.maximum(left, 1)
            d = float(left[:, 0] @ chains.relative_entropy(np.where(left > 0, estimate, chain), chain))
            largest = max(largest, chance * np.exp(d) if chance > 0 else 0.0)
        what = f"three states from {start}, {plays} plays: "
        rows.append(row("5", what + "P(type) e^D, the largest", 1.0, largest, largest <= 1 + ROUNDING))
        most = (plays + 1) ** 9
        rows.append(row("5", what + "number of types", most, len(probability), len(probability) <= most))
    return rows


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

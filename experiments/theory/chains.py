"""Checks of what docs/optimality.md says of any chains: lemmas 1 and 3, condition (2), and the edge of a class."""

from __future__ import annotations

import numpy as np

from jaxbandit import chains
from jaxbandit.reports.tables import Row

ROUNDING = 1e-9
POINTS = 100  # of a line of types


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
    """The flows of types to which the chain is a stationary point of the likelihood in the class of its own gap.

    Args:
      chain: [S, S], positive.
      reward: [S], not all equal.

    Returns:
      the chain's own flow [S, S], which is the line's beginning, and its direction [S, S], as long as the line is: at
      its end a flow is 0.
    """
    law, values = chains.stationary(chain), chains.relative_values(chain, reward)
    deviation = np.linalg.inv(np.eye(len(law)) - chain + law) - law
    force = deviation[values.argmax()] - deviation[values.argmin()]  # how the range of values follows each row's
    tilted = force[:, None] * chain * (values - (chain @ values)[:, None])
    begin, along = law[:, None] * chain, (tilted.sum(0) @ deviation)[:, None] * chain + tilted
    return begin, along * (begin[along < 0] / -along[along < 0]).min()


def on_line(chain: np.ndarray, reward: np.ndarray) -> tuple[float, float]:
    """How much the mean rises along `line_of_types`, and by what the reward gap falls short of the chain's own there.

    The latter is the least of 1 - gap / own gap on a grid, over the share of the line that leads to the point.
    """
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

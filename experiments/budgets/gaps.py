"""How far policies stay behind the relaxation's bound, per arm and round, and how that falls with more arms."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from experiments.budgets import problems
from experiments.budgets.problems import Limit, limit_of
from jaxbandit import Result, metrics
from jaxbandit.reports.tables import Row, in_short

RESAMPLES = 2000
NOTHING = 1e-3  # of the bound: a gap that counts as none in the limit
Played = Mapping[tuple[str, int], Result]  # by problem and number of arms


def gaps(result: Result, label: str, name: str, number: int) -> np.ndarray:
    """[runs, times - 1], the bound less what is collected per arm and round between two recorded rounds."""
    assert result.comparator is not None
    beside = float(np.ravel(result.comparator)[0]) / number
    lost = np.diff(metrics.regret(result, label)[0, 0], axis=-1) / np.diff(result.times) / number
    return np.asarray(lost + problems.bound(name, number) - beside)


def late(result: Result, label: str, name: str, number: int) -> np.ndarray:
    """[runs], in the second half of the rounds, so that the start does not count."""
    return gaps(result, label, name, number)[:, -1]


def rows(played: Played, observed: bool = True) -> list[Row]:
    """The gap of every policy on every problem by the number of arms, and the best policy's where it is known.

    Players see all arms (`observed`), or only those that they play; the bound is for those who see all.
    """
    table: list[Row] = []
    for (name, number), result in played.items():
        arms, plays = problems.arms_of(name, number, observed), problems.plays_of(name, number)
        most = problems.bound(name, number)
        known = arms.comparator_name(plays) == "the best policy"
        best = f"{most - arms.comparator(plays) / number:.4f}" if known else "-"
        for label in result.labels:
            s = metrics.summary(late(result, label, name, number))
            row: Row = {
                "problem": name if observed else f"{name}, unseen",
                "arms": f"{number:,}",
                "plays": f"{plays:,}",
            }
            row |= {"policy": label, "gap": f"{s.mean:.5f}", "95% low": f"{s.low:.5f}", "95% high": f"{s.high:.5f}"}
            row |= {"of the bound": f"{s.mean / most:.2%}", "bound": f"{most:.4f}", "best policy's gap": best}
            table.append(row)
    return table


def falls(known: Played, steered: Played) -> list[Row]:
    """Of every problem and policy how the gap falls with the number of arms, beside what theory says."""
    table: list[Row] = []
    for name in dict.fromkeys(name for name, _ in known):
        numbers = [number for each, number in known if each == name]
        most = problems.bound(name, numbers[-1])
        by_label = {label: played for played in (known, steered) if played for label in played[name, numbers[0]].labels}
        for label, played in by_label.items():
            values = {number: late(played[name, number], label, name, number) for number in numbers}
            limit = limit_of(name, label) if label in problems.KNOWING else None
            row: Row = {"problem": name, "policy": label}
            row["gap of the fewest arms"] = f"{values[numbers[0]].mean():.4f} ({numbers[0]:,})"
            row["gap of the most arms"] = f"{in_short(values[numbers[-1]], '.5f')} ({numbers[-1]:,})"
            row |= {"exponent": exponent(values), "limit": "-", "room": "-"}
            if limit and not limit.tied:
                room = "-" if _stays(limit, most) else f"{limit.room:.4f}"
                row |= {"limit": f"{max(limit.gap, 0.0):.4f}", "room": room}
            table.append(row | {"theory": theory(limit, most) if limit else theory_of_steering(name, label)})
    return table


def theory(limit: Limit, most: float) -> str:
    """What the limit of many arms says of the gap to a bound `most`.

    >>> theory(Limit(0.03, True, 0.1, False), 0.5), theory(Limit(0.0, False, 0.1, False), 0.5)
    ('stays, as shares swing', 'falls exponentially')
    """
    if limit.tied:
        return "open, as states tie"
    if _stays(limit, most):
        return f"stays, as shares {'swing' if limit.swings else 'rest elsewhere'}"
    return "falls exponentially" if limit.room > 0 else "falls as 1 / sqrt(K)"


def theory_of_steering(name: str, label: str) -> str:
    """What is proved of a policy that steers, where its authors' other assumptions hold (ergodic arms, for one)."""
    if not problems.of_one_kind(name):
        return "falls as log(K) / sqrt(K)" if label == problems.UPDATE else "open, as kinds differ"
    fast = label != problems.ADVICE and problems.locally_stable(name)
    return "falls exponentially" if fast else "falls as 1 / sqrt(K)"


def _stays(limit: Limit, most: float) -> bool:
    return limit.gap > NOTHING * abs(most)


def exponent(values: Mapping[int, np.ndarray], seed: int = 0) -> str:
    """The power of the number of arms by which the mean gap changes, between the fewest and the most with a clear gap.

    A gap is clear that is four times half of its 95 % interval; "-" where fewer than two are. The 95 % interval is
    that of runs drawn anew; run j has the same random numbers whatever the number of arms.

    >>> flat = np.array([1.0, 1.001])
    >>> exponent({10: flat, 100: flat / 10})
    '-1.00 (-1.00 to -1.00)'
    """
    clear = []
    for number, each in values.items():
        s = metrics.summary(each)
        if s.mean > 4 * (s.high - s.mean):
            clear.append(number)
    if len(clear) < 2:
        return "-"
    few, many = clear[0], clear[-1]
    runs = np.array([len(values[few]), len(values[many])])
    mean = [values[few].mean(), values[many].mean()]
    between = np.cov(*(values[number][: runs.min()] for number in (few, many)))[0, 1] / runs.max()
    first, last = (values[number].var(ddof=1) / len(values[number]) for number in (few, many))
    # the means of runs drawn anew are nearly normal; thousands of runs need not be drawn one by one
    drawn = np.random.default_rng(seed).multivariate_normal(mean, [[first, between], [between, last]], RESAMPLES)
    means = np.maximum(np.vstack([mean, drawn]), 1e-12)
    exponents = np.log(means[:, 1] / means[:, 0]) / math.log(many / few)
    low, high = np.quantile(exponents[1:], [0.025, 0.975])
    return f"{exponents[0]:.2f} ({low:.2f} to {high:.2f})"


def learned_rows(played: Played) -> list[Row]:
    """The gap of those that learn in the first and the last stretch of rounds, and what they lose in all."""
    table: list[Row] = []
    for (name, number), result in played.items():
        most = problems.bound(name, number)
        for label in result.labels:
            each = gaps(result, label, name, number)
            (a, b), (c, d) = result.times[:2], result.times[-2:]
            row: Row = {"problem": name, "policy": label, f"gap, rounds {a + 1:,} to {b:,}": f"{each[:, 0].mean():.4f}"}
            row[f"gap, rounds {c + 1:,} to {d:,}"] = in_short(each[:, -1], ".5f")
            row["of the bound"] = f"{each[:, -1].mean() / most:.2%}"
            table.append(row | {"regret": in_short(metrics.regret(result, label)[0, 0, :, -1], ",.0f")})
    return table

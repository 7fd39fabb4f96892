"""Two samples of regret side by side: the interval of their difference, what it says, and both in a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from experiments.reports.pictures import frameless
from experiments.reports.tables import Row, in_short
from experiments.reports.verdicts import interval
from jaxbandit import metrics
from jaxbandit.plotting import COLOURS

ROUNDING = 1e-9  # rewards that were added in different orders


def compare(ours: np.ndarray, theirs: np.ndarray, rows: int) -> tuple[float, float]:
    """Difference of two means, and half of its interval: Welch's, of 95 % for so many rows together (Bonferroni)."""
    from scipy.special import stdtrit

    errors = np.array([each.var(ddof=1) / len(each) for each in (ours, theirs)])
    if not errors.any():
        return float(ours.mean() - theirs.mean()), 0.0
    freedom = errors.sum() ** 2 / (errors**2 / [len(ours) - 1, len(theirs) - 1]).sum()
    return float(ours.mean() - theirs.mean()), float(stdtrit(freedom, 1 - 0.025 / rows) * np.sqrt(errors.sum()))


def verdict(difference: float, half: float, why: str) -> str:
    """What the interval says.

    >>> verdict(0.5, 1.0, "x"), verdict(1.5, 1.0, "of x"), verdict(-1.5, 1.0, "")
    ('agree', 'differ, because of x', 'differ, and we do not know why')
    """
    if abs(difference) <= half + ROUNDING:
        return "agree"
    return f"differ, because {why}" if why else "differ, and we do not know why"


def compared(ours: np.ndarray, name: str, theirs: np.ndarray, rows: int, why: str) -> Row:
    """The columns that say what another one found, how far apart both are, and the verdict."""
    difference, half = compare(ours, theirs, rows)
    ends = (round(each, 6) + 0.0 for each in (difference, difference - half, difference + half))  # no -0.0
    return {
        name: in_short(theirs),
        "difference": interval(*ends),
        "verdict": verdict(difference, half, why),
    }


def in_words(rows: list[Row], what: str) -> str:
    """How many rows agree, and which do not, each by its policy and the column `what`.

    >>> rows = [{"policy": "A", "arms": "x", "verdict": "agree"}, {"policy": "B", "arms": "x", "verdict": "differ"}]
    >>> in_words(rows, "arms")
    '1 of 2 rows agree; not: B (x).'
    """
    if not rows or "verdict" not in rows[0]:
        return "nobody else has played, and there is nothing to compare."
    apart = [f"{row['policy']} ({row[what]})" for row in rows if row["verdict"] != "agree"]
    return f"{len(rows) - len(apart)} of {len(rows)} rows agree; not: {', '.join(apart) or 'none'}."


def dots(ax: Axes, regrets: Mapping[str, Mapping[str, np.ndarray]], rows: list[str], horizon: int) -> None:
    """Mean final regret with its 95 % interval, a row for each policy, a mark for each who played it.

    Args:
      ax: drawn on.
      regrets: by policy and by who played it, [R].
      rows: all policies, from above.
      horizon: rounds of a run.
    """
    players = list(dict.fromkeys(who for of_policy in regrets.values() for who in of_policy))
    for label, of_policy in regrets.items():
        for who, values in of_policy.items():
            place, s = players.index(who), metrics.summary(values)
            style: dict[str, Any] = {"color": COLOURS[place], "marker": "os^"[place], "markersize": 4, "capsize": 3}
            up = 0.28 * (place / max(1, len(players) - 1) - 0.5)
            ax.errorbar(s.mean, rows.index(label) + up, xerr=[[s.mean - s.low], [s.high - s.mean]], fmt="", **style)
    for place, who in enumerate(players):
        ax.plot([], [], color=COLOURS[place], marker="os^"[place], markersize=4, linestyle="none", label=who)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 6) if high < 100 * low else (1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_xlabel(f"regret after {horizon:,} rounds")
    ax.set_yticks(range(len(rows)), rows)
    frameless(ax)

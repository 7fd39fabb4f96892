"""Who wins at how many changes: mean regret over random arms that change one, three, ten or more times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.change.policies import forgetful
from jaxbandit import stress
from jaxbandit.plotting import curve_style
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row

CHANGES = (1, 3, 10, 30, 100)
ARMS, ROUNDS = 3, 10_000


def play(problems: int, runs: int, key: Any, folder: Path, rounds: int = ROUNDS) -> dict[int, stress.Survey]:
    """A survey for each number of changes, of random levels and breaks; the policies are told the number."""
    surveys = {}
    for changes in CHANGES:
        if changes < rounds // 2:
            space = stress.PiecewiseSpace(arms=ARMS, breaks=changes, horizon=rounds)
            policies = forgetful(rounds, changes)
            surveys[changes] = stress.over(
                space,
                {label: policy for label, policy in policies.items() if label not in ("KL-UCB", "Thompson")},
                panel={label: policies[label] for label in ("KL-UCB", "Thompson")},
                **{"problems": problems, "runs": runs, "horizon": rounds, "key": key},
                folder=folder / f"{changes} changes",
            )
    return surveys


def table(surveys: dict[int, stress.Survey]) -> list[Row]:
    """Mean regret of each policy at each number of changes, with half of its interval, and which may be the least."""
    labels = list(next(iter(surveys.values())).regrets)
    rows: list[Row] = []
    for label in labels:
        row: Row = {"policy": label}
        for changes, survey in surveys.items():
            mean, best = survey.mean(label), min(labels, key=lambda each: survey.mean(each).mean)
            unclear = label != best and survey.difference(label, best).low <= 0
            note = " (least)" if label == best else " (not told apart from the least)" if unclear else ""
            row[f"{changes} change{'s' * (changes > 1)}"] = f"{mean.mean:,.0f} ± {mean.high - mean.mean:,.0f}{note}"
        rows.append(row)
    return rows


def draw(surveys: dict[int, stress.Survey]) -> Pictures:
    """Mean regret against the number of changes."""
    figure, ax = panels(1, 1, (9, 5))
    changes = np.array(list(surveys))
    for number, label in enumerate(next(iter(surveys.values())).regrets):
        means = [survey.mean(label) for survey in surveys.values()]
        ax.plot(changes, [each.mean for each in means], **curve_style(number), label=label)
    ax.set(xscale="log", yscale="log", xlabel="changes in the game", ylabel="mean dynamic regret over random arms")
    ax.set_xticks(changes, [str(each) for each in changes])
    ax.minorticks_off()
    frameless(ax)
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    yield "changes", figure

"""The paper's figures, as data and as pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.published.phases import draw_phases
from experiments.published.scenarios import OURS, all_arms, environment
from experiments.published.slow_arms import draw_constants
from jaxbandit import Result, bounds, plotting
from jaxbandit.reports.pictures import panels


class RegretFigure(NamedTuple):
    """A figure that compares policies in one scenario."""

    name: str
    scenario: str
    policies: tuple[str, ...]
    logarithmic: bool
    caption: str


CLOSE = ("KL-UCB-SM", "KL-UCB-SM2")


def _figures(number: int, own: str, scenarios: tuple[str, str]) -> Iterator[RegretFigure]:
    """The paper's own policy against UCB-SM, and against those that come close to it."""
    for part, name in zip("ab", scenarios):
        yield RegretFigure(f"Figure {number}{part}", name, ("UCB-SM", own), True, f"{own} against UCB-SM, {name}.")
    for part, name in zip("cd", scenarios):
        ours = name == "scenario 4"
        caption = f"The policies close to each other, {name}{', and ours' * ours}."
        yield RegretFigure(f"Figure {number}{part}", name, (*CLOSE, own), ours, caption)


SAME = "Not in the paper: i.i.d. arms with scenario 1's means, what the test is for."
FIGURES = [
    *_figures(1, "TV-KL-UCB", ("scenario 1", "scenario 2")),
    "Figure 1e",  # of bounds
    *_figures(2, "m-TV-KL-UCB", ("scenario 3", "scenario 4")),
    RegretFigure("I.i.d. arms", "i.i.d. arms", ("KL-UCB-SM", "KL-UCB-MC", "TV-KL-UCB"), False, SAME),
]
HOW_TO_READ = (
    "Left: mean pseudo-regret with its 95 % interval; dashed: the median. Right: the share of runs whose final regret "
    "is at least x; a long flat tail to the right is made of runs that lock on a wrong arm."
)
FAMILY = (
    "Upper bounds on regret of TV-KL-UCB and UCB-SM. Scenario 1's arms, all probabilities of moving multiplied by a "
    "factor, so that the least eigenvalue gap crosses the 1/1440 that theorem 2 assumes (left); both bounds over time "
    "where it is half of that (right). The paper does not give its parameters."
)
PHASES = (
    "Not in the paper: the share of arms that TV-KL-UCB judges to be Markovian, whose index is that of transitions "
    "(STP_PHASE), over runs and with its 95 % interval."
)
NORMALISED = (
    "Regret divided by log t in scenario 1: mean with its 95 % interval, coloured dashes the median. The lower bounds "
    "are for the limit of policies that are good for all chains; theorem 1 puts TV-KL-UCB's below its upper bound."
)


def draw(figure: RegretFigure, result: Result) -> Figure:
    """Regret over time, and the distribution of final regret; where KL policies are compared, our own among them."""
    labels = figure.policies
    if CLOSE[0] in labels:
        labels += tuple(OURS.get(figure.scenario, {}))
    sheet, (left, right) = panels(1, 2, (12, 4.4))
    options = {"labels": labels, "quantiles": (0.5,), "logarithmic": figure.logarithmic}
    plotting.plot_regret(result, **options, ax=left)
    left.set_title(f"{figure.scenario}: regret over time", fontsize="medium")
    plotting.plot_distribution(result, labels, ax=right)
    right.set_title(f"{figure.scenario}: final regret, run by run", fontsize="medium")
    return sheet


def normalised(result: Result) -> Figure:
    """Regret / log t with the constants of the bounds, scenario 1."""
    sheet, ax = panels(size=(9, 5))
    arms = environment("scenario 1")
    lines = [bounds.lower(arms), bounds.lower_paper(arms), bounds.upper_asymptotic(arms)]
    labels = ("KL-UCB-SM", "KL-UCB-SM2", "KL-UCB-MC", "TV-KL-UCB", *OURS["scenario 1"])
    plotting.plot_regret(result, labels, quantiles=(0.5,), bounds=lines, normalised=True, logarithmic=True, ax=ax)
    return sheet


def all_figures(results: dict[str, Result], size: str) -> Iterator[tuple[str, str, Figure]]:
    """Name, caption and picture of each, in the paper's order."""
    for each in FIGURES:
        if isinstance(each, RegretFigure):
            yield each.name, f"{each.caption} {size}.", draw(each, results[each.scenario])
        else:
            yield each, FAMILY, draw_constants()
    yield "Phases", f"{PHASES} {size}.", draw_phases(results, all_arms())
    yield "Bounds", f"{NORMALISED} {size}.", normalised(results["scenario 1"])

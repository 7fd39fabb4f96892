"""The family of arms in the paper's figure 1e: scenario 1's, slowed down until the eigenvalue theorem says nothing.

The paper does not give its parameters. Here all probabilities of moving are multiplied by s, from 1 to 1e-6: the means
stay, and min sigma = 0.8 s crosses the theorem's 1/1440.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from jaxbandit import MarkovArms, atlas, bounds, two_state
from jaxbandit.bounds import sample_mean
from jaxbandit.plotting import COLOURS
from jaxbandit.reports.pictures import frameless, panels
from jaxbandit.reports.tables import Row

CONDITION = sample_mean.LEAST_SIGMA


def member(scale: float) -> MarkovArms:
    """Scenario 1's arms, all probabilities of moving times `scale`."""
    moves = scale * atlas["scenario 1"].arms.transition
    return two_state(moves[:, 0, 1], moves[:, 1, 0])


def constants(scales: np.ndarray) -> list[Row]:
    """The bounds' constants of every member of the family."""
    rows: list[Row] = []
    for scale in scales:
        arms = member(float(scale))
        condition = bounds.eigenvalue_condition(arms)
        upper = bounds.upper_asymptotic(arms)
        published = bounds.ucb_sm_upper(arms, bounds.ucb_sm_constant(arms, "paper", "eigenvalue"))
        sharper = bounds.ucb_sm_upper(arms, bounds.ucb_sm_constant(arms, "2012", "multiplicative"))
        rows.append(
            {
                "min sigma": f"{condition.least:.3g}",
                "condition": "holds" if condition.holds else "fails",
                "TV-KL-UCB": float(upper.total),
                "UCB-SM, L = 360 / min sigma": float(published.total),
                "UCB-SM, L of 2012": float(sharper.total),
                "ratio": float(published.total / upper.total),
                "tight lower bound": float(bounds.lower(arms).total),
            }
        )
    return rows


def draw_constants() -> Figure:
    """Constants over the family, and bounds over time for one member."""
    figure, (left, right) = panels(1, 2, (12, 4.8))
    scales = np.geomspace(1, 1e-6, 61)
    rows, sigma = constants(scales), 0.8 * scales
    names = ("UCB-SM, L = 360 / min sigma", "UCB-SM, L of 2012", "TV-KL-UCB", "tight lower bound")
    styles = zip((COLOURS[0], COLOURS[5], COLOURS[4], "black"), ("-", "--", "-", ":"))
    for name, (colour, line) in zip(names, styles):
        left.plot(sigma, [float(row[name]) for row in rows], line, color=colour, label=name)
    left.axvline(CONDITION, color="grey", linewidth=1)
    left.annotate(
        "theorem 2 assumes\nmin sigma ≥ 1/1440", (CONDITION, 0.02), xycoords=("data", "axes fraction"),
        xytext=(6, 6), textcoords="offset points", fontsize="small", color="dimgrey",
    )  # fmt: skip
    left.set(xlabel="min sigma, the least eigenvalue gap", ylabel="constant of log n in the bound")
    left.set_title("Scenario 1 slowed down: asymptotic constants", fontsize="medium")
    arms = member(CONDITION / 2 / 0.8)
    t = np.geomspace(2, 1e5, 200)
    upper = bounds.upper_asymptotic(arms)
    published = bounds.ucb_sm_upper(arms, bounds.ucb_sm_constant(arms, "paper", "eigenvalue"))
    right.plot(t, published.total * np.log(t), color=COLOURS[0], label="UCB-SM, L = 360 / min sigma")
    right.plot(t, upper.total * np.log(t), color=COLOURS[4], label="TV-KL-UCB")
    right.set(xlabel="round n", ylabel="asymptotic upper bound on regret")
    right.set_title("The member with min sigma = 1/2880: constant times log n", fontsize="medium")
    for ax in (left, right):
        frameless(ax, xscale="log", yscale="log")
        ax.legend(frameon=False, fontsize="small")
    return figure

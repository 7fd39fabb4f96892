"""The paper's figure 1e: upper bounds of TV-KL-UCB and UCB-SM on arms that move too rarely for the eigenvalue theorem.

The paper does not give its parameters. Here the family is scenario 1's arms with all probabilities of moving multiplied
by s, from 1 to 1e-6: the means stay, and min sigma = 0.8 s crosses the theorem's 1/1440. Prints and writes (CSV) the
constants, and draws them, and both bounds against time for the member with half of that.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from experiments.published.slow_arms import CONDITION, constants, draw_constants
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.command_line.options import main, option
from jaxbandit.reports.tables import Row


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of the bounds."""

    out: str = option("results/asymptotic_bounds", "folder for figure and table")


def run(settings: Settings) -> list[Row]:
    """Print the constants and write the folder."""
    folder = begin("asymptotic_bounds", settings, {}, default=Settings.out)
    rows = constants(np.array([1, 0.1, 0.01, 1e-3, CONDITION / 1.6, 1e-4, 1e-5, 1e-6]))
    tables = {"constants": ("Constants of log n, scenario 1 slowed down", rows)}
    finish(folder, tables, [("asymptotic_bounds", draw_constants())])
    return rows


if __name__ == "__main__":
    main(run, Settings, "asymptotic_bounds", __doc__)

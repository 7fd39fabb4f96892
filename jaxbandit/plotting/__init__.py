"""Plots of a result: each function draws on an axes and returns it; no global setting is changed.

Pictures of reports take `ticks.plain_numbers`.
"""

from jaxbandit.plotting.common import COLOURS, MARKERS, curve_style
from jaxbandit.plotting.curves import plot_batches, plot_best_arm_share, plot_distribution, plot_pulls, plot_regret
from jaxbandit.plotting.live_plays import plot_evaluation, plot_history
from jaxbandit.plotting.settings import plot_heatmap, plot_parameter
from jaxbandit.plotting.stopping_curves import plot_stopping

__all__ = [
    "COLOURS",
    "MARKERS",
    "curve_style",
    "plot_batches",
    "plot_best_arm_share",
    "plot_distribution",
    "plot_evaluation",
    "plot_heatmap",
    "plot_history",
    "plot_parameter",
    "plot_pulls",
    "plot_regret",
    "plot_stopping",
]


def __dir__() -> list[str]:
    return __all__

"""Policies beside environments as one table of colours: who pays how much more than the best policy, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from jaxbandit.reports.pictures import panels
from jaxbandit.reports.tables import Row

MOST = 100  # times the least regret, where colours end
LONGEST = 11  # letters of a word above a column; names with longer ones stand at an angle


class Matrix(NamedTuple):
    """Final regret of every policy in every environment; nan where a policy does not play."""

    policies: list[str]  # [P]
    environments: list[tuple[str, str]]  # [E], name and start
    mean: np.ndarray  # [P, E]
    linear: np.ndarray  # [P, E], share of runs with linear regret

    @classmethod
    def of(cls, rows: Mapping[tuple[str, tuple[str, str]], Row]) -> Matrix:
        """From rows of final regret by policy and environment, in their order."""
        policies, environments = (list(dict.fromkeys(names)) for names in zip(*rows, strict=True))

        def values(column: str) -> np.ndarray:
            none = {column: np.nan}
            return np.array([[rows.get((policy, each), none)[column] for each in environments] for policy in policies])

        return cls(policies, environments, np.maximum(values("mean"), 1e-9), values("linear share"))

    def only(self, names: list[str]) -> Matrix:
        """Some of the environments."""
        chosen = [number for number, (name, _) in enumerate(self.environments) if name in names]
        return Matrix(
            self.policies, [self.environments[n] for n in chosen], self.mean[:, chosen], self.linear[:, chosen]
        )

    def worst(self, policy: int) -> tuple[float, int]:
        """The largest ratio of a policy, and of which environment it is."""
        at = int(np.nanargmax(self.ratio[policy]))
        return float(self.ratio[policy, at]), at

    @property
    def best(self) -> int:
        """The policy whose largest ratio is the least."""
        return int(np.nanmax(self.ratio, 1).argmin())

    @property
    def ratio(self) -> np.ndarray:
        """Each mean over the least one in its environment, [P, E]."""
        return np.asarray(self.mean / np.nanmin(self.mean, 0))


def draw(parts: dict[str, Matrix], groups: dict[str, int]) -> Figure:
    """A panel for each part, all with the same policies, and the worst ratio of each policy beside them.

    Args:
      parts: by title.
      groups: how many of the policies, in their order, belong to each kind.
    """
    widths = [len(part.environments) + 1.6 for part in parts.values()]
    rows = len(next(iter(parts.values())).policies)
    size = (3.2 + 0.62 * max(widths), len(parts) * (1.5 + 0.36 * rows))
    figure, axes = panels(len(parts), 1, size, squeeze=False)
    image = None
    for ax, (title, part) in zip(axes[:, 0], parts.items(), strict=True):
        image = _panel(ax, part, groups, max(widths))
        ax.set_title(title, loc="left", pad=105 if _steep(part) else 58, fontweight="bold", fontsize="medium")
    bar = figure.colorbar(image, ax=axes[:, 0], shrink=0.5, pad=0.01, ticks=[1, 2, 5, 10, 20, 50, 100])
    bar.ax.set_yticklabels(["1", "2", "5", "10", "20", "50", "100 and more"])
    bar.set_label("mean regret, times that of the best policy in this column")
    return figure


def _panel(ax: Axes, part: Matrix, groups: dict[str, int], width: float) -> object:
    """Cells with the mean, and below it the linear share where there is one."""
    worst = np.nanmax(part.ratio, 1)
    norm = LogNorm(1, MOST)
    count = len(part.environments)
    image = ax.imshow(part.ratio, cmap="YlOrRd", norm=norm, aspect="auto")
    for (row, column), ratio in np.ndenumerate(part.ratio):
        if np.isnan(ratio):
            continue
        colour = "white" if norm(min(ratio, MOST)) > 0.6 else "black"
        linear = part.linear[row, column]
        text = f"{part.mean[row, column]:,.0f}" + (f"\n{linear:.0%} linear" if linear >= 0.005 else "")
        weight = "bold" if ratio == 1 else "normal"
        ax.text(column, row, text, ha="center", va="center", fontsize=6.5, color=colour, fontweight=weight)
    for row, ratio in enumerate(worst):
        ax.text(count - 0.3, row, f"×{ratio:,.{1 if ratio < 10 else 0}f}", va="center", fontsize=9,
                fontweight="bold" if ratio == worst.min() else "normal")  # fmt: skip
    ax.text(count - 0.3, -0.75, "at worst", fontsize=8)
    ax.set_xlim(-0.5, width - 0.5)
    ticks = [start.removeprefix("from ").removeprefix("state ") for _, start in part.environments]
    ax.set_xticks(range(count), ["law" if tick == "the stationary law" else tick for tick in ticks])
    ax.set_yticks(range(len(part.policies)), part.policies)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    names = [name for name, _ in part.environments]
    steep = _steep(part)
    for name in dict.fromkeys(names):
        first, many = names.index(name), names.count(name)
        text = name.replace(" ", "\n") if many == 1 else name
        ax.annotate(text, (first + (many - 1) / 2, -0.5), xytext=(0, 17), textcoords="offset points",
                    fontsize=9, **({"rotation": 35} if steep else {"ha": "center"}))  # fmt: skip
        ax.plot([first - 0.5] * 2, [-0.5, len(part.policies) - 0.5], color="white", linewidth=3)
    for end in np.cumsum(list(groups.values()))[:-1]:
        ax.plot([-0.5, count - 0.5], [end - 0.5] * 2, color="white", linewidth=3)
    return image


def _steep(part: Matrix) -> bool:
    """Whether names above columns stand at an angle: each has one column only, and a word that is wider than it."""
    names = [name for name, _ in part.environments]
    return len(set(names)) == len(names) and max(len(word) for name in names for word in name.split()) > LONGEST

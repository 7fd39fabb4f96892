"""Studies of policies on arms: cases, final regret, and a table of colours with the worst of each policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import jaxbandit
from jaxbandit import Environment, Policy, Result, atlas
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.judging.judged_spaces import refused
from jaxbandit.reports.pictures import Pictures, panels
from jaxbandit.reports.tables import Row, Tables, final_table

MOST = 100  # times the least regret, where colours end
LONGEST = 11  # letters of a word above a column; names with longer ones stand at an angle

Results = Mapping[str, Result]  # by the name of the arms


def middle_and_end(horizon: int) -> list[int]:
    """The rounds that final regret and the share of linear runs need."""
    return sorted({max(1, horizon // 2), horizon})


def playing_two_states() -> dict[str, Policy]:
    """Every policy that needs no argument and plays rested arms with two states, and IMED-MC with an exponent."""
    arms, policies = atlas["scenario 1"].arms, {name: make() for name, make in jaxbandit.ALL.items()}
    played = {name: policy for name, policy in policies.items() if not refused(name, policy, arms)}
    return played | {"IMEDMC(exponent=0.5)": jaxbandit.IMEDMC(exponent=0.5)}


@dataclasses.dataclass(frozen=True)
class Study:
    """What one command plays and shows. The same command continues what was stopped, and runs may grow.

    Args:
      name: of the command.
      arms: environments by name, and those with several starts by the name of the start.
      policies: those that play, of the name of the arms, the arms from their first start, and the horizon.
      tabulate: the tables, of the results and the settings.
      draw: the pictures, of the same.
      times: the rounds that are recorded, of the horizon.
      options: what else `simulate` is told, of the name of the arms.
    """

    name: str
    arms: Callable[[], Mapping[str, Environment | Mapping[str, Environment]]]
    policies: Callable[[str, Any, int], Mapping[str, Policy]]
    tabulate: Callable[[Results, Any], Tables]
    draw: Callable[[Results, Any], Pictures]
    times: Callable[[int], list[int]] = middle_and_end
    options: Callable[[str], Mapping[str, Any]] = lambda name: {}

    def cases(self, settings: Any) -> dict[str, Any]:
        """A case for each name, with all its starts."""
        planned = {}
        for name, arms in self.arms().items():
            starts = dict(arms) if isinstance(arms, Mapping) else {name: arms}
            policies = self.policies(name, next(iter(starts.values())), settings.horizon)
            case = {"scenarios": starts, "policies": policies, "times": self.times(settings.horizon)}
            planned[name] = case | settings.size() | self.options(name)
        return planned

    def run(self, settings: Any) -> Results:
        """Play, print the tables and write the folder."""
        folder, results = begin_and_play(self.name, settings, self.cases(settings), grows=True)
        finish(folder, self.tabulate(results, settings), self.draw(results, settings))
        return results


def final_rows(results: Results) -> list[Row]:
    """Final regret of every policy, name and start; a name with one start has none."""
    return [
        {"environment": name, "start": "" if start == name else start, **row}
        for name, result in results.items()
        for number, start in enumerate(result.scenarios)
        for row in final_table(result, number)
    ]


class Matrix(NamedTuple):
    """Final regret of every policy in every environment; nan where a policy does not play."""

    policies: list[str]  # [P]
    environments: list[tuple[str, str]]  # [E], name and start
    mean: np.ndarray  # [P, E]
    linear: np.ndarray  # [P, E], share of runs with linear regret

    @classmethod
    def of(cls, results: Results) -> Matrix:
        """Policies and environments in the order of the results."""
        rows = final_rows(results)
        seen = {(str(row["policy"]), (str(row["environment"]), str(row["start"]))): row for row in rows}
        policies, environments = (list(dict.fromkeys(names)) for names in zip(*seen, strict=True))

        def values(column: str) -> np.ndarray:
            none = {column: np.nan}
            return np.array([[seen.get((policy, each), none)[column] for each in environments] for policy in policies])

        return cls(policies, environments, np.maximum(values("mean"), 1e-9), values("linear share"))

    def only(self, names: list[str]) -> Matrix:
        """Some of the environments."""
        chosen = [number for number, (name, _) in enumerate(self.environments) if name in names]
        environments = [self.environments[number] for number in chosen]
        return Matrix(self.policies, environments, self.mean[:, chosen], self.linear[:, chosen])

    def place(self, environment: int) -> str:
        """An environment in words: its name, and its start where it has one."""
        return ", ".join(filter(None, self.environments[environment]))

    def worst(self, policy: int) -> tuple[float, int]:
        """The largest ratio of a policy, and of which environment it is."""
        at = int(np.nanargmax(self.ratio[policy]))
        return float(self.ratio[policy, at]), at

    @property
    def ratio(self) -> np.ndarray:
        """Each mean over the least one in its environment, [P, E]."""
        return np.asarray(self.mean / np.nanmin(self.mean, 0))


def worst_table(parts: Mapping[str, Matrix]) -> list[Row]:
    """Of each policy, by part: where it pays most, times the least regret there, and its largest linear share."""
    rows: list[Row] = []
    for number, policy in enumerate(next(iter(parts.values())).policies):
        row: Row = {"policy": policy}
        for title, part in parts.items():
            ratio, at = part.worst(number)
            row[f"{title}: times the least"] = f"{ratio:,.1f} ({part.place(at)})"
            risk = int(np.nanargmax(part.linear[number]))
            where = f" ({part.place(risk)})" * bool(part.linear[number, risk] > 0)
            row[f"linear share {title}"] = f"{part.linear[number, risk]:.1%}{where}"
        rows.append(row)
    return rows


def draw_matrix(parts: dict[str, Matrix], groups: dict[str, int]) -> Figure:
    """A panel for each part, all with the same policies, and the worst ratio of each policy beside them.

    Args:
      parts: by title.
      groups: how many of the policies, in their order, belong to each kind.
    """
    widths = [len(part.environments) + 1.6 for part in parts.values()]
    rows = len(next(iter(parts.values())).policies)
    size = (3.2 + 0.62 * max(widths), len(parts) * (1.5 + 0.36 * rows))
    figure, axes = panels(len(parts), 1, size, squeeze=False)
    image: Any = None
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

"""Hidden states that are learned: does it help to model them, and how much data tells their number?

Plays the atlas's hidden arms by `HiddenThompson`, which learns chains and errors, by policies that take symbols for
states, and by the myopic rule that knows chains and errors. Then fits hidden arms of four kinds, with one to three
states, to more and more symbols: how often is their number right, by BIC and by the symbols held out, and how often do
the 95 % intervals of the means hold the truth? Prints and writes (CSV) both, draws both, and puts everything on one
page (report.html). About ten minutes on two cores. Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure

import jaxbandit
from jaxbandit import HiddenMyopic, Policy, Result, atlas, environments, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, numbers_in, option
from jaxbandit.environments import HiddenArms
from jaxbandit.plotting import curve_style
from jaxbandit.reports.page import Report
from jaxbandit.reports.pictures import frameless, panels
from jaxbandit.reports.tables import Row, Tables, final_table, in_short, of_all, put, write

KNOWING = "Myopic, chains and errors known"
LEARNING = "HiddenThompson"
LEARNERS: dict[str, Policy] = {
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "IMED-MC": jaxbandit.IMEDMC(),
    "Thompson-MC": jaxbandit.ThompsonMC(),
    LEARNING: jaxbandit.HiddenThompson(),
}
PROBLEMS = tuple(name for name in atlas if name.startswith("hidden "))
TRIED = (1, 2, 3)
LEAST = 20  # symbols, more than a model with three states has free numbers


class Kind(NamedTuple):
    """Arms with two hidden states, or one: the chances to leave each state, and to show 1 in it."""

    states: int
    leave: tuple[float, float]
    show: tuple[float, float]

    def arms(self) -> HiddenArms:
        """Two such arms."""
        (p01, p10), show = self.leave, list(self.show)
        return environments.hidden([[[1 - p01, p01], [p10, 1 - p10]]] * 2, [show] * 2, initial_state="stationary")


KINDS = {
    "two slow states": Kind(2, (0.05, 0.1), (0.1, 0.8)),
    "two states that alternate": Kind(2, (0.6, 0.7), (0.05, 0.9)),
    "two states much alike": Kind(2, (0.2, 0.3), (0.3, 0.7)),
    "one state": Kind(1, (0.5, 0.5), (0.3, 0.3)),
}

INTRODUCTION = (
    "The paper remarks that rewards may come from a chain that is not seen, with an unknown number of states. Here "
    "such chains are learned: while playing, by the exact posterior law over a grid of chains, and from data, by "
    "maximum likelihood. Of a rested arm only the mean counts, and a policy that takes symbols for states estimates it "
    "as well."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"runs": 4, "horizon": 100, "fitted": 4, "lengths": "50"}
    runs: int = option(1000, "independent runs of every policy")
    horizon: int = option(10_000, "rounds of a run")
    fitted: int = option(100, "arms of each kind that are fitted")
    lengths: str = option("100, 300, 1000", "symbols of an arm that is fitted, with commas between them")


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each hidden problem of the atlas."""
    size = settings.size() | {"times": [settings.horizon]}
    return {
        name: {"scenarios": {name: arms}, "policies": LEARNERS | {KNOWING: HiddenMyopic.of(arms)}, **size}
        for name, arms in ((name, atlas[name].arms) for name in PROBLEMS)
    }


def symbols_of(kind: Kind, arms: int, length: int, seed: int) -> np.ndarray:
    """What independent arms of this kind show in `length` plays each, from their stationary laws, [arms, length]."""
    random = np.random.default_rng([seed, length, list(KINDS.values()).index(kind)])
    leave, show = np.array(kind.leave), np.array(kind.show)
    state = (random.random(arms) < leave[0] / leave.sum()).astype(int)
    symbols = np.empty((arms, length), int)
    for n in range(length):
        state = np.where(random.random(arms) < leave[state], 1 - state, state)
        symbols[:, n] = random.random(arms) < show[state]
    return symbols


def fits(settings: Settings, folder: Path) -> list[Row]:
    """A row for each kind and number of symbols; what the folder has is read from there."""
    rows: list[Row] = []
    for length in numbers_in(settings.lengths, "--lengths", LEAST):
        for name, kind in KINDS.items():
            place = folder / "fits" / f"{name}, {length}.json"
            if not place.exists():
                place.parent.mkdir(exist_ok=True)
                put(place, json.dumps(fitted(kind, length, settings)))
                print(f"fitted: {name}, {length:,} symbols", flush=True)
            rows.append({"kind": name, "symbols": f"{length:,}"} | json.loads(place.read_text()))
    return rows


def fitted(kind: Kind, length: int, settings: Settings) -> Row:
    """How often the number of states is right, and the interval of the mean, of arms of one kind."""
    symbols = list(symbols_of(kind, settings.fitted, length, settings.seed))
    fit = environments.fit_hidden(symbols, (0, 1), states=TRIED, starts=5, key=jax.random.key(settings.seed))
    tried, truth = np.array(fit.tried), float(kind.arms().means()[0])
    by_bic, by_prediction = tried[fit.bic.argmin(axis=1)], tried[fit.predictive.argmax(axis=1)]
    return {
        "right by BIC": float(np.mean(by_bic == kind.states)),
        "too many": float(np.mean(by_bic > kind.states)),
        "right by what is held out": float(np.mean(by_prediction == kind.states)),
        "states of all together": str(fit.states),
        "intervals that hold the mean": float(np.mean(np.abs(fit.means - truth) < 1.96 * fit.means_standard_errors)),
    }


def compared(result: Result) -> tuple[str, np.ndarray]:
    """The best policy that takes symbols for states, and how much more regret each run of `HiddenThompson` has."""
    ends = {label: metrics.pseudo_regret(result, label)[0, 0, :, -1] for label in LEARNERS}
    best = min((label for label in LEARNERS if label != LEARNING), key=lambda label: float(ends[label].mean()))
    return best, ends[LEARNING] - ends[best]


def in_percent(rows: list[Row]) -> list[Row]:
    """The rows with shares as they are printed."""
    return [{name: f"{cell:.0%}" if isinstance(cell, float) else cell for name, cell in row.items()} for row in rows]


def regret_rows(results: dict[str, Result]) -> list[Row]:
    """Mean regret of every policy with half of its interval, and what learning hidden chains costs, run by run."""
    rows: list[Row] = []
    for name, result in results.items():
        row: Row = {"problem": name}
        for label in result.labels:
            row[label] = in_short(metrics.pseudo_regret(result, label)[0, 0, :, -1])
        best, more = compared(result)
        rows.append(row | {"best that takes symbols for states": best, f"{LEARNING} has more": in_short(more)})
    return rows


def in_words(results: dict[str, Result], rows: list[Row]) -> str:
    """Where learning hidden chains helps beyond chance, and how often the number of states is right."""
    more = {name: metrics.summary(compared(result)[1]) for name, result in results.items()}
    helps = [name for name, each in more.items() if each.high < 0]
    harms = [name for name, each in more.items() if each.low > 0]
    longest = rows[-1]["symbols"]
    numbers = "; ".join(f"{row['kind']} {row['right by BIC']:.0%}" for row in rows if row["symbols"] == longest)
    return (
        f"{LEARNING} has less regret than the best policy that takes symbols for states, beyond chance, on "
        f"{', '.join(helps) or 'no problem'}; more on {', '.join(harms) or 'none'}.\n"
        f"BIC has the right number of states after {longest} symbols: {numbers}."
    )


def draw(results: dict[str, Result], rows: list[Row], settings: Settings) -> Figure:
    """Regret of each problem, and the shares of arms whose number of states is right over the symbols."""
    figure, (left, right) = panels(1, 2, (13, 5.2), width_ratios=(3, 2))
    for number, label in enumerate((*LEARNERS, KNOWING)):
        s = [metrics.summary(metrics.pseudo_regret(result, label)[0, 0, :, -1]) for result in results.values()]
        mean, high = np.array([each.mean for each in s]), np.array([each.high for each in s])
        at = np.arange(len(s)) + 0.12 * (number - len(LEARNERS) / 2)
        style = curve_style(number) | {"linestyle": "none", "label": label, "capsize": 3}
        left.errorbar(at, mean, yerr=high - mean, **style)
    words = [name.removeprefix("hidden ").replace(" error", "\nerror") for name in results]
    left.set_xticks(range(len(words)), words, fontsize="small")
    left.set_yscale("symlog", linthresh=10, linscale=0.3)
    left.set_yticks([0, 10, 30, 100, 300, 1000])
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.minorticks_off()
    left.set_ylim(bottom=-1)
    frameless(left, f"{settings.runs:,} runs of {settings.horizon:,} rounds, 95 % intervals", ylabel="pseudo-regret")
    left.legend(fontsize="small")
    symbols = numbers_in(settings.lengths, "--lengths", LEAST)
    for number, name in enumerate(KINDS):
        mine, style = [row for row in rows if row["kind"] == name], curve_style(number)
        right.plot(symbols, [row["right by BIC"] for row in mine], **style | {"linestyle": "-", "label": name})
        right.plot(symbols, [row["right by what is held out"] for row in mine], **style | {"linestyle": ":"})
    right.set_xscale("log")
    right.set_xticks(symbols, [f"{each:,}" for each in symbols])
    right.minorticks_off()
    right.yaxis.set_major_formatter("{x:.0%}")
    right.set_ylim(-0.03, 1.03)
    frameless(right, "right number of states: by BIC, and dotted by what is held out", xlabel="symbols of an arm")
    right.set_ylabel(f"share of {settings.fitted} arms")
    right.legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    return figure


def run(settings: Settings) -> dict[str, Result]:
    """Play, fit, print the tables and write the folder."""
    numbers_in(settings.lengths, "--lengths", LEAST)
    if settings.fitted < 2:
        raise ValueError(f"--fitted: {settings.fitted}; give at least 2 arms")
    folder, results = begin_and_play("hidden_learned", settings, cases(settings))
    rows = fits(settings, folder)
    write(of_all("case", {name: final_table(result) for name, result in results.items()}), folder / "final.csv")
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds, seed {settings.seed}"
    tables: Tables = {
        "regret": (f"Final pseudo-regret ({size}), mean ± half of its 95 % interval", regret_rows(results)),
        "states": (f"{settings.fitted} arms of each kind, fitted with one to three states", in_percent(rows)),
    }
    captions = {"hidden_learned": ("Regret, and the number of states", "Left, regret; right, how often it is right.")}
    report = Report("Hidden states that are learned", f"{INTRODUCTION} Here: {size}.", captions)
    pictures = [("hidden_learned", draw(results, rows, settings))]
    finish(folder, tables, pictures, in_words(results, rows), report=report)
    return results


if __name__ == "__main__":
    main(run, Settings, "hidden_learned", __doc__)

"""Is the regret of KL-UCB-MC and TV-KL-UCB of the order log n, or of a power of n?

Plays both to a million rounds, with the paper's confidence level (divided by all plays of the arm) and with that of its
lemma (by the plays in the present state), beside KL-UCB-SM and IMED-MC, on independent and Markov arms. Prints and
writes (CSV) mean regret by decades, its exponent in the last two of them (the slope of log mean regret against log n,
with bootstrap intervals: a tenfold horizon multiplies regret by 10^slope), the share of linear runs, and the exponent
that docs/uniformly_good.md proves for n to infinity. Beside it stands how often that exponent is positive, and how
often the paper's constant is below a lower bound, among random pairs of arms. Draws regret against time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import jaxbandit
from experiments.comparisons.growth import decades, slope, times
from experiments.comparisons.study import Results, Study
from experiments.published.scenarios import INDEPENDENT
from jaxbandit import MarkovArms, atlas, bounds, metrics, plotting
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.reports.pictures import Pictures, legend_below, panels
from jaxbandit.reports.tables import Row, Tables, in_short

LAST = 2  # decades over which the slope is taken
POLICIES = {
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "KL-UCB-MC": jaxbandit.KLUCBMC(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "KL-UCB-MC, by state": jaxbandit.KLUCBMC(samples="state"),
    "TV-KL-UCB, by state": jaxbandit.TVKLUCB(samples="state"),
    "IMED-MC": jaxbandit.IMEDMC(),
}
# of the policies that the proof is about: by whose plays they divide the level
PROVED = {"KL-UCB-MC": "arm", "TV-KL-UCB": "arm", "KL-UCB-MC, by state": "state", "TV-KL-UCB, by state": "state"}


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"pairs": 50}

    horizon: int = option(1_000_000, "rounds of a run")
    pairs: int = option(2000, "random pairs of arms of each kind")


def environments() -> dict[str, MarkovArms]:
    """Independent arms whose means are above and below 1/2, and scenario 1."""
    return {
        "i.i.d., means 0.6 and 0.55": jaxbandit.two_state([0.6, 0.55], [0.4, 0.45]),
        INDEPENDENT: atlas["i.i.d. scenario 1"].arms,
        "scenario 1": atlas["scenario 1"].arms,
    }


def growth_table(results: Results) -> list[Row]:
    """Mean regret at the ends of decades, its exponent in the last of them, and the proved one."""
    rows: list[Row] = []
    for name, result in results.items():
        arms = environments()[name]
        powers = {samples: f"{bounds.regret_exponent(arms, samples):.2f}" for samples in ("arm", "state")}
        ends = [end for end in decades(int(result.times[-1])) if end >= 1000] or [int(result.times[-1])]
        at = np.searchsorted(result.times, ends)
        for label in result.labels:
            regret = metrics.pseudo_regret(result, label)[0, 0][:, at].T
            cells = {f"at {end:,}": in_short(values, ",.1f") for end, values in zip(ends, regret, strict=True)}
            last = slice(-LAST - 1, None)
            grown = slope(np.log(ends[last]), list(regret[last])) if len(ends) > 1 else "-"
            linear = f"{float(metrics.linear_share(result, label)[0, 0]):.1%}"
            row: Row = {"arms": name, "policy": label, **cells, "exponent": grown, "linear runs": linear}
            rows.append(row | {"proved exponent": powers.get(PROVED.get(label, ""), "")})
    return rows


def pairs_table(seed: int, pairs: int) -> list[Row]:
    """Random pairs of arms: how often the exponent is positive, and the paper's constant below a lower bound."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for kind in ("independent", "Markov"):
        below, whole, powers = 0, 0, []
        for _ in range(pairs):
            p01 = random.random(2)
            arms = jaxbandit.two_state(p01, 1 - p01 if kind == "independent" else random.random(2))
            lower = bounds.lai_robbins(arms) if kind == "independent" else bounds.lower(arms)
            below += bool(bounds.upper_asymptotic(arms, "KL-UCB-MC").total < lower.total)
            whole += bounds.regret_exponent(arms) == 1
            powers.append(bounds.regret_exponent(arms, "state"))
        row: Row = {"pairs": f"{pairs:,} {kind}, uniform"}
        row |= {"KL-UCB-MC's constant below the lower bound": f"{below / pairs:.1%}"}
        row |= {"by arm: exponent 1": f"{whole / pairs:.1%}"}
        row |= {"by state: exponent positive": f"{np.mean(np.array(powers) > 0):.1%}"}
        rows.append(row | {"by state: median exponent": f"{np.median(powers):.2f}"})
    return rows


def tabulate(results: Results, settings: Settings) -> Tables:
    """Growth of regret, and random pairs of arms."""
    runs = next(iter(results.values())).runs
    return {
        "growth": (f"Mean pseudo-regret ± half of its 95 % interval, {runs:,} runs", growth_table(results)),
        "pairs": ("Random pairs of arms", pairs_table(settings.seed, settings.pairs)),
    }


def draw(results: Results, settings: Settings) -> Pictures:
    """Mean regret against time, both logarithmic, a panel for each environment."""
    figure, axes = panels(1, len(results), (4.6 * len(results), 4.8))
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        plotting.plot_regret(result, logarithmic=True, ax=ax)
        ax.set(title=name, xscale="log", yscale="log", ylim=(1, None))
    legend_below(figure)
    yield "uniformly_good", figure


STUDY = Study("uniformly_good", environments, lambda *_: POLICIES, tabulate, draw, times=times)


def run(settings: Settings) -> Results:
    """Play every environment, print the tables and write the folder."""
    if settings.pairs < 1:
        raise ValueError(f"pairs: {settings.pairs}; at least 1 is needed")
    return STUDY.run(settings)


if __name__ == "__main__":
    main(run, Settings, "uniformly_good", __doc__)

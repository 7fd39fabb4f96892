"""The paper's propositions on mixing, estimates and the test, beside what chains do.

For seven chains, i.i.d. and Markovian: in how many rounds, on average, a state's share of visits is farther than eps
from its stationary probability (proposition 2), an estimated probability farther than eps from the true one (3), or the
test of independence wrong (4), beside the bounds on these sums. How often five tests are wrong on arms with two and
three states, played in every round or seldom. Exact sums beside the bounds of propositions 5 and 6. Prints and writes
all (CSV), and draws the first two.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from experiments.published import confidence_sums, independence_tests
from experiments.published.propositions import CHAINS, EPS, EVENTS, TwoState, bound, count_events, first_rounds
from jaxbandit import metrics
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.plotting import COLOURS
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row
from jaxbandit.reports.verdicts import interval


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the concentration experiment."""

    runs: int = option(10_000, "independent runs of every chain")
    horizon: int = option(10_000, "steps of a chain")


def count_all(settings: Settings, times: np.ndarray) -> dict[str, np.ndarray]:
    """Of every chain the rounds with each event by each of the times, [T, R, 4, E]."""
    sums = {}
    for number, (name, arm) in enumerate(CHAINS.items()):
        key = jax.random.fold_in(settings.key(), number)
        start = jnp.asarray(np.minimum(first_rounds(arm), 2**31 - 1), jnp.int32)
        arm = TwoState(*map(jnp.float32, arm))
        sums[name] = np.asarray(count_events(key, arm, jnp.asarray(EPS), start, times, runs=settings.runs), float)
    return sums


def table(sums: dict[str, np.ndarray], horizon: int) -> list[Row]:
    """Simulated sums at the last round beside the bounds; one above the number of rounds says nothing."""

    def said(low: float, most: float) -> str:
        return "nothing" if most >= horizon else "holds" if low <= most else "does not hold"

    rows: list[Row] = []
    for name, arm in CHAINS.items():
        for e, event in enumerate(EVENTS):
            for number in range(1 if event == "test" and arm.independent else len(EPS)):
                eps, most, part = bound(arm, event, number)
                start = int(first_rounds(arm)[number]) if event == "test" else 1
                s = metrics.summary(sums[name][-1, :, e, number])
                rows.append(
                    {
                        "chain": name,
                        "p01, p10": f"{arm.p01:g}, {arm.p10:g}",
                        "event": event,
                        "eps": "" if np.isnan(eps) else f"{eps:.3g}",
                        "from round": f"{start:,}",
                        "simulated (95%)": interval(s.mean, s.low, s.high) if start <= horizon else "not counted",
                        "bound": f"{most:.4g}",
                        "without mixing": f"{part:.4g}" if part else "",
                        "it": said(s.low, most) if start <= horizon else "",
                        "without mixing it": said(s.low, part) if part and start <= horizon else "",
                    }
                )
    return rows


def draw(sums: dict[str, np.ndarray], times: np.ndarray) -> Pictures:
    """Sums over time at the middle eps, a panel for each event; bounds in the legend, and dashed where in sight."""
    figure, axes = panels(2, 2, (13, 9), sharex=True, sharey=True)
    titles = (
        f"share of visits farther than {EPS[1]} from its limit (proposition 2)",
        f"estimate of p01 farther than {EPS[1]} from it (proposition 3)",
        f"estimate of p10 farther than {EPS[1]} from it (proposition 3)",
        "test of independence wrong (proposition 4)",
    )
    top = 30 * times[-1]
    for e, (ax, title) in enumerate(zip(axes.flat, titles, strict=True)):
        ax.plot(times, times, color="black", linestyle=":", linewidth=1, label="every round")
        for (name, arm), colour in zip(CHAINS.items(), COLOURS):
            most = bound(arm, EVENTS[e], 1)[1]
            mean = sums[name][:, :, e, 1].mean(1)
            ax.plot(times, np.where(mean > 0, mean, np.nan), color=colour, label=f"{name}: bound {most:.2g}")
            if most < top:
                ax.axhline(most, color=colour, linestyle="--", linewidth=1)
        frameless(ax, title, xscale="log", yscale="log", ylim=(0.03, top), xlim=(1, times[-1]))
        ax.legend(framealpha=1, edgecolor="none", fontsize="small", loc="upper left")
    for ax in axes[1]:
        ax.set_xlabel("round n")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean number of rounds up to n")
    yield "concentration", figure


def run(settings: Settings) -> dict[str, np.ndarray]:
    """Play every chain, print the table and write the folder."""
    for name, value in (("runs", settings.runs), ("horizon", settings.horizon)):
        if not 2 <= value < 2**31 - 1:
            raise ValueError(f"{name}: {value}; give 2 to 2^31 - 2")
    settings.key()  # raises ValueError for a seed out of range
    folder = begin("concentration", settings, {})
    times = np.unique(np.rint(np.geomspace(1, settings.horizon, 60)).astype(np.int32))
    sums = count_all(settings, times)
    title = f"Mean number of the first {settings.horizon:,} rounds with the event, {settings.runs:,} chains"
    tests = independence_tests.wrong_shares(settings.key(), settings.runs, settings.horizon)
    wrong = f"Share of {settings.runs:,} runs in which a test is wrong: false alarms of i.i.d. arms, misses of others"
    tables = {
        "concentration": (title, table(sums, settings.horizon)),
        "tests": (wrong, independence_tests.table(tests, settings.horizon)),
        "confidence_sums": ("Propositions 5 and 6, exactly", confidence_sums.table()),
    }
    pictures = (*draw(sums, times), *independence_tests.draw(tests, settings.horizon))
    finish(folder, tables, iter(pictures))
    return sums


if __name__ == "__main__":
    main(run, Settings, "concentration", __doc__)

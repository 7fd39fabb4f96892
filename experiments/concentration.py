"""The paper's propositions on mixing, estimates and the test, beside what chains do.

For seven chains, i.i.d. and Markovian: in how many rounds, on average, a state's share of visits is farther than eps
from its stationary probability (proposition 2), an estimated probability farther than eps from the true one (3), or the
test of independence wrong (4), beside the bounds on these sums. Prints and writes them (CSV), and draws how they grow.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

from experiments.command_line.folder import folder_of
from experiments.command_line.options import Simulation, main, option
from experiments.published.comparison import save
from experiments.reports.tables import Row, publish
from experiments.reports.verdicts import interval
from jaxbandit import metrics
from jaxbandit.base import Array
from jaxbandit.bounds.arms import TwoState
from jaxbandit.bounds.upper import independent_sum, mixing_sum, visits_sum

CHAINS = {
    "i.i.d., even": TwoState(0.5, 0.5),
    "i.i.d., rare": TwoState(0.05, 0.95),
    "best of scenario 1": TwoState(0.5, 0.4),
    "sticky": TwoState(0.1, 0.1),
    "alternating": TwoState(0.9, 0.9),
    "rare state": TwoState(0.01, 0.6),
    "arm 2 of scenario 2": TwoState(0.0004, 0.00055),
}
EPS = (0.05, 0.1, 0.2)
EVENTS = ("share of visits", "estimate of p01", "estimate of p10", "test")


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the concentration experiment."""

    runs: int = option(10_000, "independent runs of every chain")
    horizon: int = option(10_000, "steps of a chain")


class Played(NamedTuple):
    """A chain in one run, and in how many rounds each event has happened."""

    state: Array  # []
    left: Array  # [2, 2], transitions seen
    events: Array  # [4, E]


@partial(jax.jit, static_argnames="runs")
def play(key: Array, arm: TwoState, eps: Array, start: Array, times: Array, runs: int) -> Array:
    """Rounds in which each event has happened by each of the times, [T, R, 4, E].

    The estimate of a probability never used is 1, as in the paper. The test is counted from round `start` [E].
    """
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(runs))
    return jax.vmap(partial(play_one, arm=arm, eps=eps, start=start, times=times), out_axes=1)(keys)


def play_one(key: Array, arm: TwoState, eps: Array, start: Array, times: Array) -> Array:
    """`play` for one run, [T, 4, E]."""
    independent = jnp.abs(arm.p01 + arm.p10 - 1) <= 1e-6
    leave = jnp.stack([arm.p01, arm.p10])
    law = arm.p10 / (arm.p01 + arm.p10)  # of state 0

    def step(t: Array, chain: Played) -> Played:
        """Count round t, in which t states have been seen and t - 1 left; then move."""
        departures = chain.left.sum(1)
        moves = jnp.stack([chain.left[0, 1], chain.left[1, 0]])
        estimate = jnp.where(departures > 0, moves / jnp.maximum(departures, 1), 1)
        share = jnp.where(t > 1, jnp.abs(departures[0] / jnp.maximum(t - 1, 1) - law), 1)
        far = jnp.concatenate([share[None], jnp.abs(estimate - leave)])
        distance, threshold = jnp.abs(estimate.sum() - 1), t.astype(float) ** -0.25
        # ratios of counts meet eps and the threshold exactly, and rounding must not decide
        wrong = jnp.where(independent, distance >= threshold * (1 - 1e-5), distance < threshold * (1 - 1e-5))
        events = jnp.concatenate([far[:, None] > eps[None] * (1 + 1e-5), (wrong & (t >= start))[None]])
        moved = jax.random.uniform(jax.random.fold_in(key, t)) < leave[chain.state]
        following = jnp.where(moved, 1 - chain.state, chain.state)
        return Played(following, chain.left.at[chain.state, following].add(1), chain.events + events)

    def until(chain: Played, ends: tuple[Array, Array]) -> tuple[Played, Array]:
        chain = jax.lax.fori_loop(ends[0], ends[1], step, chain)
        return chain, chain.events

    first = Played(jnp.zeros((), jnp.int32), jnp.zeros((2, 2), jnp.int32), jnp.zeros((4, len(eps)), jnp.int32))
    starts = jnp.concatenate([jnp.ones(1, times.dtype), times[:-1] + 1])
    sums: Array = jax.lax.scan(until, first, (starts, times + 1))[1]
    return sums


def eps_of_test(arm: TwoState) -> np.ndarray:
    """The eps of proposition 4, [E]: an eighth, a quarter and 3/8 of |sigma - 1|; no part of it for i.i.d. arms."""
    return np.abs(arm.sigma - 1) * np.array([0.125, 0.25, 0.375])


def first_rounds(arm: TwoState) -> np.ndarray:
    """From which round proposition 4 counts, [E]: 1 / (|sigma - 1| - 2 eps)^4, or 1 for i.i.d. arms."""
    if arm.independent:
        return np.ones(len(EPS))
    return np.ceil((abs(arm.sigma - 1) - 2 * eps_of_test(arm)) ** -4.0)


def bound(arm: TwoState, event: str, number: int) -> tuple[float, float, float]:
    """eps, the proposition's bound on the sum, and its part that is not the sum over mixing times."""
    eps = EPS[number]
    if event == "test":
        if arm.independent:
            return np.nan, 4 * independent_sum() + visits_sum(), 4 * independent_sum()
        eps = float(eps_of_test(arm)[number])
    times = {"share of visits": (0, 1), "test": (2, 2)}.get(event, (1, 1))
    mixing = float(mixing_sum(np.asarray(eps * arm.sigma)))
    return eps, times[0] / eps**2 + times[1] * mixing, times[0] / eps**2


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


def draw(sums: dict[str, np.ndarray], times: np.ndarray, folder: Path) -> None:
    """Sums over time at the middle eps, a panel for each event; bounds in the legend, and dashed where in sight."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from jaxbandit.plotting import COLOURS

    figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained", sharex=True, sharey=True)
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
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(0.03, top)
        ax.set_xlim(1, times[-1])
        ax.set_title(title, fontsize="medium")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(framealpha=1, edgecolor="none", fontsize="small", loc="upper left")
    for ax in axes[1]:
        ax.set_xlabel("round n")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean number of rounds up to n")
    save(figure, folder / "concentration")


def run(settings: Settings) -> dict[str, np.ndarray]:
    """Play every chain, print the table and write the folder."""
    for name, value in (("runs", settings.runs), ("horizon", settings.horizon)):
        if not 2 <= value < 2**31 - 1:
            raise ValueError(f"{name}: {value}; give 2 to 2^31 - 2")
    seed = settings.key()
    folder = folder_of("concentration", settings)
    times = np.unique(np.rint(np.geomspace(1, settings.horizon, 60)).astype(np.int32))
    sums = {}
    for number, (name, arm) in enumerate(CHAINS.items()):
        key = jax.random.fold_in(seed, number)
        start = jnp.asarray(np.minimum(first_rounds(arm), 2**31 - 1), jnp.int32)
        played = play(key, TwoState(*map(jnp.float32, arm)), jnp.asarray(EPS), start, times, runs=settings.runs)
        sums[name] = np.asarray(played, float)
    title = f"Mean number of the first {settings.horizon:,} rounds with the event, {settings.runs:,} chains"
    publish({"concentration": (title, table(sums, settings.horizon))}, folder)
    draw(sums, times, folder)
    print(f"\nwritten to {folder}/")
    return sums


if __name__ == "__main__":
    main(run, Settings, "concentration", __doc__)

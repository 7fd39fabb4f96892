"""Hidden arms: what becomes of TV-KL-UCB's test, and of regret, when noise hides the states of the chains.

A play shows the arm's state with an error: state 0 shows symbol 1, and state 1 symbol 0, with a probability from 0 (the
states themselves) to 1/2 (nothing of them). The arms' chains are scenario 1's, as they are and a tenth as fast; symbol
1 pays 1 and symbol 0 nothing, so that noise draws all means to 1/2, and symbols are no Markov chain any more. Then five
arms that go round four states in order and show 1 only in the first two, the best of them always: their symbols are far
from independent, but not those of two plays in a row, and the test cannot see it. Prints and writes (CSV) how often the
test takes arms for Markovian at the end (of arms that were given up, after few plays), and the regret of policies that
take symbols for states and of the myopic rule that knows chains and errors, which plays the best arm of scenario 1 in
every round, as no other promises more after a start in state 0. Ctrl-C keeps what is done, and the same command
continues; runs may grow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from experiments.published.phases import RECORD, recorders
from experiments.published.scenarios import SLOWER
from jaxbandit import HiddenMyopic, Policy, Result, atlas, divergences, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.environments import HiddenArms
from jaxbandit.reports.tables import Row, Tables, final_table, in_short, of_all, write

ERRORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
ADAPTIVE = "TV-KL-UCB"
KNOWING = "Myopic, chains and errors known"
LEARNERS: dict[str, Policy] = {
    ADAPTIVE: jaxbandit.TVKLUCB(),
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "KL-UCB-MC": jaxbandit.KLUCBMC(),
    "IMED-MC": jaxbandit.IMEDMC(),
}
CYCLES = "cycles of four states"


class Problem(NamedTuple):
    """What a case plays."""

    chains: str
    error: float
    arms: HiddenArms


def problems() -> dict[str, Problem]:
    """By the name of their case."""
    by_name = {}
    for chains, rested in (("scenario 1", "scenario 1"), (SLOWER, "tenth")):
        for error in ERRORS:
            moves = atlas[rested].arms.transition
            arms = jaxbandit.hidden(moves, np.broadcast_to([error, 1 - error], moves.shape[:2]))
            by_name[f"{chains}, error {error:g}"] = Problem(chains, error, arms)
    return by_name | {CYCLES: Problem(CYCLES, 0.0, atlas["hidden cycles"].arms)}


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each problem; what is asked for is known at the end and in the middle."""
    times = sorted({max(1, settings.horizon // 2), settings.horizon})
    asked = settings.size() | recorders({ADAPTIVE: LEARNERS[ADAPTIVE]}) | {"times": times}
    return {
        name: {"scenarios": {name: arms}, "policies": LEARNERS | {KNOWING: HiddenMyopic.of(arms)}, **asked}
        for name, (_, _, arms) in problems().items()
    }


def dependence(arms: HiddenArms) -> np.ndarray:
    """|p01 + p10 - 1| of each arm's symbols in the long run, which the test compares with its threshold; [K]."""
    symbols = arms.symbol_transition()
    return np.asarray(np.abs(symbols[:, 0, 1] + symbols[:, 1, 0] - 1))


def verdict_rows(results: dict[str, Result]) -> list[Row]:
    """What the test says of each problem, beside what it would have to see."""
    rows: list[Row] = []
    for name, (chains, error, arms) in problems().items():
        said = results[name].recorded[RECORD][ADAPTIVE][0, 0, :, -1]  # whether arms are taken for Markovian at the end
        plays = results[name].visits[ADAPTIVE][0, 0, :, -1].sum(-1)  # [R, K]
        far, shares, means = dependence(arms), said.mean(axis=0), np.sort(arms.means())[::-1]
        best = int(arms.means().argmax())
        others = np.delete(far, best)
        row: Row = {"chains": chains, "error": f"{error:g}", "best mean": f"{means[0]:.3f}"}
        row |= {"gap": float(means[0] - means[1]), "best arm's distance": f"{far[best]:.3f}"}
        row |= {"the others'": f"{others.min():.3f} to {others.max():.3f}"}
        row |= {"best arm Markovian": float(shares[best]), "others Markovian": float(np.delete(shares, best).mean())}
        weighed = float((plays * said).sum() / plays.sum())  # the share of plays of these arms
        rows.append(row | {"all arms Markovian": float(shares.mean()), "weighed by plays": weighed})
    return rows


def regret_rows(results: dict[str, Result]) -> list[Row]:
    """Mean regret of every policy with half of its interval, and the linear share where there is one."""
    rows: list[Row] = []
    for name, (chains, error, _) in problems().items():
        row: Row = {"chains": chains, "error": f"{error:g}"}
        for label in results[name].labels:
            linear = float(metrics.linear_share(results[name], label)[0, 0])
            cell = in_short(metrics.pseudo_regret(results[name], label)[0, 0, :, -1])
            row[label] = cell + f"  {linear:.1%}" * (linear > 0)
        rows.append(row)
    return rows


def tabulate(results: dict[str, Result]) -> Tables:
    """Verdicts and regret, a row for each problem."""
    horizon = int(next(iter(results.values())).times[-1])
    least = float(divergences.threshold(np.float64(horizon)))
    return {
        "verdicts": (
            f"Share of runs in which {ADAPTIVE} takes arms for Markovian after {horizon:,} rounds\n(where "
            f"|p01 + p10 - 1| of its estimates exceeds {least:.3f}; distances are those of symbols in the long run)",
            verdict_rows(results),
        ),
        "regret": ("Final pseudo-regret, mean ± half of its 95 % interval, linear share", regret_rows(results)),
    }


def run(settings: Simulation) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    folder, results = begin_and_play("hidden", settings, cases(settings), grows=True)
    write(of_all("case", {name: final_table(result) for name, result in results.items()}), folder / "final.csv")
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    finish(folder, tabulate(results))
    return results


if __name__ == "__main__":
    main(run, Simulation, "hidden", __doc__)

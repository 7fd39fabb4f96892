"""Learners of decision processes on RiverSwim: ours, scalar loops of our own, and those of statisticalrl-learners.

The loops are no other package: they stand beside ours where the package cannot be had, too, and are what a compiler
makes of a plain loop over rounds. The package asks for a NumPy that has no wheels for Python 3.12 and newer, but its
learners work with a later one; of what it asks for they need NumPy and scipy alone. So it is installed with these two.
Its successor, statrl, needs Python 3.14.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.other_packages import blocks
from experiments.other_packages.blocks import Job, Package
from experiments.other_packages.side_by_side import compared, dots
from experiments.reports.pictures import Pictures, panels
from experiments.reports.tables import Row, Tables, in_short
from experiments.timing import scalar_process_loop
from experiments.timing.scalar_process_loop import Played
from experiments.timing.stopwatch import processor_rate
from jaxbandit import IMEDRL, PSRL, UCRL2, Policy, Result, metrics
from jaxbandit.environments import riverswim

PROCESS = "RiverSwim"
LOOP = "scalar loop in numba, our own"
PACKAGE = Package(
    "statisticalrl-learners 2.2507",
    ["--no-deps", "statisticalrl-learners==2.2507", "numpy==2.2.*", "scipy==1.15.*"],
    Path(__file__).with_name("play_statisticalrl.py"),
)
BLOCK = 10  # runs of a job; what Ctrl-C loses
TIES = "ties go to the actions tried least there, and to the first one here"
ENDS = "an episode ends there before a pair would be played too often, and here after it was played often enough"


class Learner(NamedTuple):
    """One policy, ours and theirs."""

    label: str
    ours: Policy
    loop: tuple[str, Any] | None  # name and setting
    theirs: str = ""  # file and class in the package, if it has it, or a class of the script
    arguments: dict[str, Any] = {}  # noqa: RUF012
    why: str = ""  # in what the package's definition differs
    most_runs: int = 1_000_000


LEARNERS = (
    Learner("UCRL2", UCRL2(), ("UCRL2", 0.05), "UCRL2.UCRL2", {"delta": 0.05}, TIES, most_runs=100),
    Learner("UCRL2, ties by order", UCRL2(), None, "OrderedUCRL2", {"delta": 0.05}, most_runs=100),
    Learner("PSRL", PSRL(), ("PSRL", False)),
    Learner(
        "PSRL, rewards learned",
        PSRL(rewards="learned"),
        ("PSRL", True),
        "PSRL.PSRL",
        {"delta": 0.05},  # without effect
        ENDS,
        most_runs=100,
    ),
    Learner("IMED-RL", IMEDRL(), ("IMED-RL", True)),
    # a round takes it half a millisecond
    Learner("IMED-RL, not normalised", IMEDRL(normalised=False), ("IMED-RL", False), "IMED_RL.IMEDRL", most_runs=20),
)

Beside = dict[str, dict[str, Played]]  # by who played and by policy


def case(size: dict[str, Any]) -> dict[str, Any]:
    """What ours play, as `simulate` takes it."""
    policies = {learner.label: learner.ours for learner in LEARNERS}
    return {"scenarios": {PROCESS: riverswim()}, "policies": policies, **size, "times": [size["horizon"]]}


def play(runs: int, horizon: int, seed: int, environments: str, python: str, folder: Path) -> Beside:
    """What the loops and the package play; whoever cannot be had is left out, and said why."""
    found: Beside = {LOOP: play_loops(runs, horizon, seed)}
    if chosen := blocks.python_of(PACKAGE, environments, python):
        found[PACKAGE.name] = play_package(chosen, runs, horizon, seed, folder)
    return {who: played for who, played in found.items() if played}


def play_loops(runs: int, horizon: int, seed: int) -> dict[str, Played]:
    """What the scalar loops play, by policy; nothing without numba."""
    found: dict[str, Played] = {}
    for label, loop in ((learner.label, learner.loop) for learner in LEARNERS if learner.loop):
        try:
            found[label] = scalar_process_loop.play(*loop, riverswim(), runs, horizon, seed)
        except ImportError:
            print('the scalar loop cannot play: numba is not installed; pip install -e ".[bench]"')
            return {}
    return found


def play_package(python: Path, runs: int, horizon: int, seed: int, folder: Path) -> dict[str, Played]:
    """What the package plays, by policy."""
    asked: dict[str, list[Job]] = {}
    for learner in LEARNERS:
        if learner.theirs:
            job = {"policy": learner.theirs, "arguments": learner.arguments}
            asked[learner.label] = blocks.jobs(learner.label, min(runs, learner.most_runs), BLOCK, job)
    process = riverswim()
    request = {
        "moves": np.asarray(process.transition).tolist(),
        "reward": np.asarray(process.reward).tolist(),
        "horizon": horizon,
        "seed": seed,
        "jobs": [job for of_policy in asked.values() for job in of_policy],
    }
    blocks.play(PACKAGE, python, request, folder)
    return {label: Played(*blocks.read(folder, of_policy, "collected")) for label, of_policy in asked.items()}


def regrets(result: Result, beside: Beside) -> dict[str, dict[str, np.ndarray]]:
    """Final regret by policy and by who played it, ours first, [R]."""
    best, found = float(riverswim().comparator(1)) * int(result.times[-1]), {}
    for label in result.labels:
        found[label] = {"jaxbandit": metrics.regret(result, label)[0, 0, :, -1]}
        found[label] |= {who: best - of_who[label].collected for who, of_who in beside.items() if label in of_who}
    return found


def regret_rows(result: Result, beside: Beside) -> list[Row]:
    """Final regret of ours and of each who played the same, their difference and the verdict."""
    found, rows = regrets(result, beside), []
    number = sum(len(of_policy) - 1 for of_policy in found.values())
    why = {learner.label: learner.why for learner in LEARNERS}
    for label, of_policy in found.items():
        ours = {"policy": label, "jaxbandit": in_short(of_policy["jaxbandit"])}
        others = [who for who in of_policy if who != "jaxbandit"]
        for who in others:
            reason = why[label] if who == PACKAGE.name else ""
            apart = compared(of_policy["jaxbandit"], "regret there", of_policy[who], number, reason)
            rows.append({**ours, "beside": who, **apart})
        if not beside:
            rows.append(ours)
    return rows


def speed_rows(beside: Beside, horizon: int) -> list[Row]:
    """Rounds a second of processor time."""
    rows: list[Row] = []
    for learner in LEARNERS:
        ours = processor_rate(riverswim(), learner.ours)
        row: Row = {"policy": learner.label, "jaxbandit": f"{ours:,.0f}"}
        for who, of_who in beside.items():
            row[who], row[f"ratio to {'the loop' if who == LOOP else 'it'}"] = "-", "-"
            if played := of_who.get(learner.label):
                rate = len(played.collected) * horizon / max(played.seconds, 1e-9)
                row |= {who: f"{rate:,.0f}", list(row)[-1]: f"{ours / rate:,.1f}"}
        rows.append(row)
    return rows


def tabulate(result: Result, beside: Beside) -> Tables:
    """Regret of everyone who played, and speed."""
    horizon, regret = int(result.times[-1]), regret_rows(result, beside)
    title = f"{PROCESS}, regret after {horizon:,} rounds; mean ± half of its 95 % interval"
    title += f"; difference: 95 % for all {len(regret)} rows together" if beside else ""
    return {
        "processes": (title, regret),
        "process_speed": (f"{PROCESS}, rounds a second of one processor", speed_rows(beside, horizon)),
    }


def draw(result: Result, beside: Beside) -> Pictures:
    """Mean final regret of everyone who played."""
    figure, ax = panels(1, 1, (9, 4.5))
    dots(ax, regrets(result, beside), list(result.labels), int(result.times[-1]))
    ax.invert_yaxis()
    ax.legend(frameon=False)
    ax.set_title(f"{PROCESS}: mean with its 95 % interval")
    yield "processes", figure

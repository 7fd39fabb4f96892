"""What is worth measuring on a GPU, in one run of some minutes: whether it is right, how fast, and where time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxbandit
from experiments.published.scenarios import environment
from experiments.reports.tables import Row, publish
from experiments.timing.machine import describe
from experiments.timing.stopwatch import arms_of, time_case
from jaxbandit import metrics
from jaxbandit.fast.gpu import play_chunk_in_kernel
from jaxbandit.simulation.request import Backend
from jaxbandit.simulation.rounds import luck, play_chunk, play_round, start
from jaxbandit.testing import check_backend

BACKENDS: tuple[Backend, ...] = ("kernel", "scan")
SIZES = ({"runs": 0.001}, {"runs": 0.01}, {"runs": 1.0}, {"arms": 2}, {"arms": 10}, {"arms": 20}, {"states": 3})
COSTS = {  # policies of growing cost
    "UCBSM: draws, counts, a square root": jaxbandit.UCBSM,
    "KLUCB: and a KL bound": jaxbandit.KLUCB,
    "KLUCBMC: and transitions": jaxbandit.KLUCBMC,
    "TVKLUCB: and the test": jaxbandit.TVKLUCB,
}
LATEST = 420.0  # seconds after which nothing more is begun


def measure(folder: Path, largest: int = 1_000_000, seconds: float = 1.0) -> dict[str, list[Row]]:
    """Check, time and take apart; print the tables and write each as CSV into the folder.

    Args:
      folder: made if it is not there.
      largest: runs of the largest measurement; the others have a tenth of it, or less.
      seconds: about how long each is timed.

    Raises:
      ValueError: there is no GPU, and the sizes are a GPU's.
    """
    if jax.devices()[0].platform == "cpu" and largest > 1000:
        raise ValueError('--gpu: JAX sees no GPU; pip install -e ".[cuda13]" on a machine that has one')
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    print(describe(), flush=True)
    tables = {}
    for name, title, rows in (
        ("gpu_agreement", "The same runs as by the scan on the CPU", agreement(largest)),
        ("gpu_speed", "Speed, scenario 1 unless it says otherwise", speed(largest, seconds)),
        ("gpu_call", "Time of a call that plays one chunk, and of a round of one run in it", calls(largest // 10)),
    ):
        tables[name] = []
        while time.monotonic() - began < LATEST and (row := next(rows, None)):
            tables[name].append(row)
            print("  ".join(map(str, row.values())), flush=True)  # in case the rest never comes
        if tables[name]:
            publish({name: (title, tables[name])}, folder)
    return tables


def agreement(largest: int) -> Iterator[Row]:
    """How many runs part where two scores were within 16 ULP (others fail), and whether the law is the same after."""
    arms = environment("scenario 1")
    for name, policy in jaxbandit.ALL.items():
        for backend in BACKENDS:
            runs, rounds = max(2, largest // 2000), max(10, largest // 2000)
            try:
                parted = str(check_backend(policy(), arms, backend=backend, runs=runs, rounds=rounds))
            except (AssertionError, ValueError) as error:
                parted = f"WRONG: {error}"
            yield {
                "policy": name,
                "backend": backend,
                "runs": str(runs),
                "rounds": str(rounds),
                "runs that part": parted,
            }
    for backend in BACKENDS:
        runs, rounds = max(2, largest // 50), max(10, largest // 500)
        final = []
        for asked in ({"devices": jax.devices("cpu"), "backend": "scan"}, {"backend": backend}):
            options: dict[str, Any] = {"runs": runs, "horizon": rounds, "times": [rounds], "progress": False}
            result = jaxbandit.simulate(arms, {"": jaxbandit.TVKLUCB()}, **options, **asked)
            final.append(metrics.pseudo_regret(result, "")[0, 0, :, -1])
        mean, low, high, *_ = metrics.summary(final[1] - final[0])
        words = f"regret differs by {mean:.3f} ({low:.3f} to {high:.3f})"
        yield {
            "policy": "TVKLUCB",
            "backend": backend,
            "runs": str(runs),
            "rounds": str(rounds),
            "runs that part": words,
        }


def speed(largest: int, seconds: float) -> Iterator[Row]:
    """Rounds per second of every policy, then of TV-KL-UCB by runs, arms and states."""
    usual: dict[str, Any] = {"runs": 0.1, "arms": 5, "states": 2, "policy": "TVKLUCB"}
    for case in [*({"policy": name} for name in jaxbandit.ALL), *SIZES]:
        size = usual | case
        size["runs"] = max(1, int(size["runs"] * largest))
        for backend in BACKENDS if size["states"] == 2 else ("scan",):
            asked = {
                "scenarios": {"": arms_of(size["arms"], size["states"])},
                "policies": {"": [jaxbandit.ALL[size["policy"]]()]},
                "runs": size["runs"],
                "backend": backend,
            }
            row: Row = {name: str(value) for name, value in size.items()} | {"backend": backend}
            try:
                timed = time_case("", "", asked, seconds, float("nan"))
            except Exception as error:  # one that does not compile must not cost the others
                yield row | {"million rounds/s": str(error)[:80], "compile s": "", "peak MB": ""}
                continue
            numbers = {
                "million rounds/s": timed.rate,
                "compile s": timed.compile_seconds,
                "peak MB": timed.peak_megabytes,
            }
            yield row | {name: f"{value:,.1f}" for name, value in numbers.items()}


def calls(runs: int) -> Iterator[Row]:
    """A line through the times of chunks of two lengths: what a call costs, and what a round, part by part."""
    arms = environment("scenario 1")
    for name, policy in COSTS.items():
        interpret = jax.devices()[0].platform == "cpu"
        kernel = partial(play_chunk_in_kernel, play_round, interpret=interpret)
        for backend, play in zip(BACKENDS, (kernel, play_chunk)):
            short, long = (time_call(play, arms, policy(), runs, length) for length in (10, 1010))
            a_round = (long - short) / 1000
            yield {
                "policy": name,
                "backend": backend,
                "call, ms": f"{1e3 * (short - 10 * a_round):.3f}",
                "round, us": f"{1e6 * a_round:.3f}",
                "round of one run, ns": f"{1e9 * a_round / runs:.5f}",
            }


def time_call(play: Callable[..., Any], arms: Any, policy: Any, runs: int, length: int) -> float:
    """Seconds of a call that plays `length` rounds, the least of five."""
    chance = luck(jax.random.key(0), jnp.arange(runs))
    program = jax.jit(lambda luck, carry, first: play(arms, policy, luck, carry, first, jnp.zeros(1, int), length))
    carry = start(arms, policy, chance)
    taken = []
    for n in range(6):
        began = time.perf_counter()
        carry, *_ = jax.block_until_ready(program(chance, carry, jnp.int32(1 + n * length)))
        taken.append(time.perf_counter() - began)
    return min(taken[1:])

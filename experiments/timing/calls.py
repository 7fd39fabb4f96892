"""What calls cost beside playing: `simulate` again, and a sweep of 200 tiny cases, first played and then all done."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
from typing import Any

import jaxbandit
from experiments.published.scenarios import environment, policies
from jaxbandit.timing.stopwatch import seconds_of

CASES, REPEATS = 200, 20
RUNS, HORIZON = 10, 1000


@jaxbandit.pytree
class Own(jaxbandit.UCB1):
    """UCB1 as a class from elsewhere, whose code is traced at every call."""


@dataclasses.dataclass(frozen=True)
class Call:
    """Seconds of one kind of call."""

    name: str
    seconds: float


def measure(cases: int = CASES, repeats: int = REPEATS) -> list[Call]:
    """Time every kind of call, all programs compiled before, and print it."""
    arms = environment("scenario 1")

    def again(playing: dict[str, Any]) -> float:
        """The median of repeated calls."""

        def call() -> None:
            jaxbandit.simulate(arms, playing, runs=RUNS, horizon=HORIZON, progress=False)

        call()
        return statistics.median(seconds_of(call) for _ in range(repeats))

    def case(exponent: float) -> dict[str, Any]:
        playing = {"TV-KL-UCB": jaxbandit.TVKLUCB(exponent=exponent)}
        return {"scenarios": arms, "policies": playing, "runs": RUNS, "horizon": HORIZON}

    rows = [
        Call("simulate again, one policy of the library", again({"": jaxbandit.TVKLUCB()})),
        Call("simulate again, scenario 1's policies", again(policies("scenario 1"))),
        Call("simulate again, a policy of one's own", again({"": Own()})),
    ]
    swept = jaxbandit.grid(case, exponent=[n / cases for n in range(cases)])
    with tempfile.TemporaryDirectory() as folder:

        def sweep() -> None:
            jaxbandit.sweep(swept, folder, progress=False)

        rows += [Call(f"a sweep of {cases} cases", seconds_of(sweep)), Call("the same, all done", seconds_of(sweep))]
    print(f"seconds of a call with {RUNS} runs of {HORIZON} rounds a case, nothing to compile")
    for row in rows:
        print(f"{row.name:44s} {row.seconds:8.3f}")
    return rows

"""Time to the first answer: what a fresh process without a cache spends from a call of `simulate` to its result.

Each case is a process of its own. JAX itself reports how long it traced, lowered and compiled; where several programs
are compiled side by side, their seconds are added up, so that they may exceed those of the call.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

import jaxbandit
from experiments.published.scenarios import policies
from jaxbandit.timing.stopwatch import arms_of, seconds_of

RUNS, HORIZON = 100, 1000
PLAIN = ("UCB1", 2), ("TVKLUCB", 2), ("TVKLUCB", 8), ("TVKLUCB", 32), ("IMEDMC", 3)  # also timed without `simulate`
EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
AGAIN: dict[str, dict[str, Any]] = {  # what differs from the first call
    "113 runs": {"runs": 113},
    "1,500 rounds": {"horizon": 1500},
    "other times": {"times": [10, 500, 1000]},
}


@dataclasses.dataclass(frozen=True)
class First:
    """Seconds of one case."""

    name: str
    trace: float
    lower: float
    compile: float
    call: float  # from the call to the result
    again: float  # the same call once more: what playing takes
    others: dict[str, float]  # the same call with other arguments, beyond what playing takes


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names, and what a child process is asked for."""
    for name, states in PLAIN:  # the first one is the yardstick
        yield f"jit {name}, {states} states", {"policy": name, "arms": 5, "states": states, "plain": True}
    for name in jaxbandit.ALL:
        yield name, {"policy": name, "arms": 5, "states": 2}
    for states in (2, 3, 4, 8, 16, 32, 64):
        yield f"TVKLUCB, {states} states", {"policy": "TVKLUCB", "arms": 5, "states": states}
    yield "IMEDMC, 3 states", {"policy": "IMEDMC", "arms": 5, "states": 3}
    for arms in (2, 20, 100):
        yield f"TVKLUCB, {arms} arms", {"policy": "TVKLUCB", "arms": arms, "states": 2}
    yield "scenario 1's policies", {"policy": "", "arms": 5, "states": 2}


def measure() -> list[First]:
    """Time every case, and print it."""
    print(f"seconds of a fresh process without a cache: {RUNS} runs of {HORIZON} rounds")
    names = ("trace", "lower", "compile", "call", "again")
    print(f"{'':24s}" + "".join(f"{name:>9s}" for name in names) + f"{'call / yardstick':>17s}")
    rows: list[First] = []
    for name, case in cases():
        row = in_fresh_process(name, case)
        rows.append(row)
        numbers = "".join(f"{getattr(row, column):9.2f}" for column in names)
        print(f"{name:24s}{numbers}{row.call / rows[0].call:17.2f}", flush=True)
        for other, seconds in row.others.items():
            print(f"  with {other:17s}{'':36s}{seconds:+9.2f}", flush=True)
    return rows


def in_fresh_process(name: str, case: dict[str, Any]) -> First:
    """The case, timed by a process of its own."""
    without = {key: value for key, value in os.environ.items() if "CACHE" not in key}
    command = [sys.executable, "-m", "experiments.timing.first", json.dumps(case)]
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{name}: the process that was timed failed: {done.stderr[-1000:]}")
    return First(name, **json.loads(done.stdout.splitlines()[-1]))


class Clock:
    """Seconds that JAX spends tracing, lowering and compiling, as it reports them."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, float, float]] = []
        jax.monitoring.register_event_duration_secs_listener(self._add)

    def _add(self, event: str, seconds: float, **about: Any) -> None:
        if kind := EVENTS.get(event):
            end = time.perf_counter()
            inner = [span for span in self.spans if span[0] == kind == "trace" and span[1] >= end - seconds]
            for span in inner:  # a trace within this one
                self.spans.remove(span)
            self.spans.append((kind, end - seconds, seconds))

    def seconds(self) -> dict[str, float]:
        """By kind, all seconds until now."""
        return {kind: sum(span[2] for span in self.spans if span[0] == kind) for kind in EVENTS.values()}


def time_calls(case: dict[str, Any]) -> dict[str, Any]:
    """Time the case in this process, which has compiled nothing yet."""
    clock, name = Clock(), case.get("policy", "")
    play: Callable[..., Any]
    if case.get("plain"):
        play = plain_jit(name, case["arms"], case["states"])
    else:
        played = {name: jaxbandit.ALL[name]()} if name else policies("scenario 1")
        size = {"runs": RUNS, "horizon": HORIZON, "progress": False}
        play = partial(jaxbandit.simulate, arms_of(case["arms"], case["states"]), policies=played, **size)
    before = clock.seconds()
    call = seconds_of(play)
    spent = {kind: seconds - before[kind] for kind, seconds in clock.seconds().items()}
    again = seconds_of(play)
    others = {}
    if not name:
        smaller = {label: jax.tree.map(lambda leaf: leaf * 0.99, policy) for label, policy in played.items()}
        for what, changed in (AGAIN | {"other numbers": {"policies": smaller}}).items():
            others[what] = seconds_of(partial(play, **changed)) - seconds_of(partial(play, **changed))
    return spent | {"call": call, "again": again, "others": others}


def plain_jit(name: str, arms: int, states: int) -> Callable[[], Any]:
    """What anyone would write: one run's rounds in a scan, over runs by `vmap`, in one `jit`."""
    environment, policy = arms_of(arms, states), jaxbandit.ALL[name]()

    def run(key: Any) -> Any:
        def one_round(carry: Any, t: Any) -> tuple[Any, None]:
            here, state = carry
            scores, state = policy.scores(key, state, t)
            here, feedback = environment.step(key, here, jnp.argmax(scores)[None], t)
            return (here, policy.update(state, feedback)), None

        initial = environment.init(key), policy.init(jnp.asarray(environment.reward, float))
        return jax.lax.scan(one_round, initial, jnp.arange(1, HORIZON + 1))[0]

    keys, runs = jax.random.split(jax.random.key(0), RUNS), jax.jit(jax.vmap(run))
    return lambda: jax.block_until_ready(runs(keys))


if __name__ == "__main__":
    print(json.dumps(time_calls(json.loads(sys.argv[1]))))

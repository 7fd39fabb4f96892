"""What calls cost: first ones in fresh processes, later ones beside playing, and fits to choices.

Each first call has a process of its own, without a cache. JAX itself reports how long it traced, lowered and compiled;
where several programs are compiled side by side, their seconds are added up, so that they may exceed those of the call.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

import jaxbandit
from experiments.published.scenarios import environment, policies
from jaxbandit import choices
from jaxbandit.choices.choice_data import Choices
from jaxbandit.timing.stopwatch import arms_of, seconds_of

RUNS, HORIZON = 100, 1000  # of a first call
PLAIN = ("UCB1", 2), ("TVKLUCB", 2), ("TVKLUCB", 8), ("TVKLUCB", 32), ("IMEDMC", 3)  # also timed without `simulate`
# policy ("" for the five of scenario 1), arms, states, whether it is a plain program; the first one is the yardstick
FIRST: dict[str, tuple[str, int, int, bool]] = {
    **{f"jit {name}, {states} states": (name, 5, states, True) for name, states in PLAIN},
    **{name: (name, 5, 2, False) for name in jaxbandit.ALL},
    **{f"TVKLUCB, {states} states": ("TVKLUCB", 5, states, False) for states in (2, 3, 4, 8, 16, 32, 64)},
    "IMEDMC, 3 states": ("IMEDMC", 5, 3, False),
    **{f"TVKLUCB, {arms} arms": ("TVKLUCB", arms, 2, False) for arms in (2, 20, 100)},
    "scenario 1's policies": ("", 5, 2, False),
}
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
CASES, REPEATS, FEW_RUNS = 200, 20, 10  # cases of a sweep, calls of which the median counts, and runs of each
SUBJECTS, BY_LOOP, CHOICES = 1000, 40, 200  # subjects that are fitted at once and in a loop, and choices of each
STARTS = 4
RANGES = {"learning_rate": (0.0, 1.0), "inverse_temperature": (0.0, 10.0)}

Row = dict[str, Any]  # the numbers of what was timed
Rows = Iterator[tuple[str, Row]]  # each with its name, timed when it is asked for


def first_calls() -> Rows:
    """Of every case its seconds, and in units of the first one how long the call takes."""
    yardstick = 0.0
    for name, case in FIRST.items():
        row = in_fresh_process(name, case)
        yardstick = yardstick or row["call"]
        yield name, row | {"ratio": row["call"] / yardstick}


def in_fresh_process(name: str, case: tuple[str, int, int, bool]) -> Row:
    """The seconds of a case, timed by a process of its own."""
    without = {key: value for key, value in os.environ.items() if "CACHE" not in key}
    command = [sys.executable, "-m", "experiments.timing.calls", json.dumps(case)]
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{name}: the process that was timed failed: {done.stderr[-1000:]}")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def seconds_by_kind() -> dict[str, float]:
    """Seconds that JAX spends tracing, lowering and compiling from now on, by its own reports."""
    seconds: dict[str, float] = dict.fromkeys(EVENTS.values(), 0.0)
    traces: dict[float, float] = {}  # seconds by when they began

    def add(event: str, spent: float, **about: Any) -> None:
        if kind := EVENTS.get(event):
            seconds[kind] += spent
            if kind == "trace":  # whose seconds have those of the traces within it
                began = time.perf_counter() - spent
                seconds[kind] -= sum(traces.pop(inner) for inner in list(traces) if inner >= began)
                traces[began] = spent

    jax.monitoring.register_event_duration_secs_listener(add)
    return seconds


def time_first(name: str, arms: int, states: int, plain: bool) -> Row:
    """Seconds of a case in this process, which has compiled nothing yet.

    By kind those of tracing, lowering and compiling; from the call to its result; of the same call once more, which
    plays and no more; and, beyond what playing takes, of the call with other arguments.
    """
    play: Callable[..., Any]
    if plain:
        play = plain_jit(name, arms, states)
    else:
        played = {name: jaxbandit.ALL[name]()} if name else policies("scenario 1")
        size = {"runs": RUNS, "horizon": HORIZON, "progress": False}
        play = partial(jaxbandit.simulate, arms_of(arms, states), policies=played, **size)
    seconds = seconds_by_kind()
    call = seconds_of(play)
    row: Row = {**seconds, "call": call, "again": seconds_of(play), "others": {}}
    if not name:
        smaller = {label: jax.tree.map(lambda leaf: leaf * 0.99, policy) for label, policy in played.items()}
        for what, changed in (AGAIN | {"other numbers": {"policies": smaller}}).items():
            row["others"][what] = seconds_of(partial(play, **changed)) - seconds_of(partial(play, **changed))
    return row


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


@jaxbandit.pytree
class Own(jaxbandit.UCB1):
    """UCB1 as a class from elsewhere, whose code is traced at every call."""


def calls(cases: int = CASES, repeats: int = REPEATS) -> Rows:
    """`simulate` again, and a sweep of tiny cases, first played and then all done; all is compiled before."""
    arms, size = environment("scenario 1"), {"runs": FEW_RUNS, "horizon": HORIZON}
    played: dict[str, dict[str, Any]] = {
        "one policy of the library": {"": jaxbandit.TVKLUCB()},
        "scenario 1's policies": policies("scenario 1"),
        "a policy of one's own": {"": Own()},
    }
    for name, playing in played.items():
        call = partial(jaxbandit.simulate, arms, playing, progress=False, **size)
        call()
        yield f"simulate again, {name}", {"seconds": statistics.median(seconds_of(call) for _ in range(repeats))}
    swept = {
        f"{number}": {"scenarios": arms, "policies": {"TV-KL-UCB": jaxbandit.TVKLUCB(exponent=number / cases)}, **size}
        for number in range(cases)
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in (f"a sweep of {cases} cases", "the same, all done"):
            yield name, {"seconds": seconds_of(partial(jaxbandit.sweep, swept, folder, progress=False))}


def fits(subjects: int = SUBJECTS, by_loop: int = BY_LOOP, rounds: int = CHOICES) -> Rows:
    """Rescorla-Wagner learners with two arms, compiling included; seconds for each 1,000 subjects."""
    random = np.random.default_rng(0)
    players = [_play(random, random.uniform(0.1, 0.9), random.uniform(1, 8), rounds) for _ in range(subjects)]
    seen = Choices.of(("0", "1"), {str(number): player for number, player in enumerate(players)})
    at_once = partial(choices.fit, jaxbandit.RescorlaWagner(), seen, RANGES, starts=STARTS)
    yield "choices.fit, with standard errors", {"seconds": seconds_of(at_once) * 1000 / subjects}

    def one_by_one() -> None:
        for arms, rewards in players[:by_loop]:
            for start in random.uniform(*zip(*RANGES.values(), strict=True), (STARTS, 2)):
                optimize.minimize(loss, start, (arms, rewards), "L-BFGS-B", bounds=RANGES.values())

    yield "a loop with SciPy's L-BFGS-B, one core", {"seconds": seconds_of(one_by_one) * 1000 / by_loop}


def _play(random: np.random.Generator, rate: float, sharpness: float, rounds: int) -> tuple[list[int], list[float]]:
    """The choices and rewards of a player with two Bernoulli arms."""
    values, arms, rewards = [0.5, 0.5], [], []
    for _ in range(rounds):
        arm = int(random.random() < 1 / (1 + np.exp(sharpness * (values[0] - values[1]))))
        reward = float(random.random() < (0.7, 0.3)[arm])
        values[arm] += rate * (reward - values[arm])
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


def loss(fields: np.ndarray, arms: list[int], rewards: list[float]) -> float:
    """Minus the log-likelihood of a player's choices."""
    rate, sharpness = fields.tolist()
    values, total = [0.5, 0.5], 0.0
    for arm, reward in zip(arms, rewards, strict=True):
        total += float(np.logaddexp(0.0, sharpness * (values[1 - arm] - values[arm])))
        values[arm] += rate * (reward - values[arm])
    return total


if __name__ == "__main__":
    print(json.dumps(time_first(*json.loads(sys.argv[1]))))

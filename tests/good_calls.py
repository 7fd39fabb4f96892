"""The calls of `good_calls.txt`, whose arguments `test_bad_input` replaces by wrong ones."""

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp  # noqa: F401 (names of this file that the text uses)
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import KLUCB, UCB1, UCBSM, WithDetector, bounds, environments, families, markov, stress  # noqa: F401
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import programs

FOLDER = Path(tempfile.mkdtemp(prefix="jaxbandit-bad-input-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
TEXT = Path(__file__).with_suffix(".txt").read_text()
GROUPS = dict.fromkeys(re.findall(r"^== (\w+)", TEXT, re.M))
ROWS = np.array([[[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.55, 0.45]]])
PAID = np.array([[0.0, 1.0], [0.0, 1.0]])
STARTS = np.array([[1.0, 0.0], [0.5, 0.5]])
THREE = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
COUNTS = np.array([[60, 40], [40, 20]])
KEY = jax.random.wrap_key_data(np.zeros(2, np.uint32), impl="threefry2x32")
ARMS = markov(ROWS, PAID)
IID = jaxbandit.bernoulli([0.5, 0.4])
RESTLESS = environments.restless([[[0.8, 0.2], [0.2, 0.8]]] * 2, (0, 1))
ALL_PAY = environments.restless(RESTLESS.transition, (0, 1), [[[0.9, 0.1], [0.3, 0.7]]] * 2, observed=True, paid="all")
LEFT = environments.restless(
    RESTLESS.transition, (0, 1), [[[0.9, 0.1], [0.3, 0.7]]] * 2, observed=True, paid="present", passive_reward=(0.5, 0)
)
HIDDEN = environments.hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]])
ALIKE = environments.restless(
    RESTLESS.transition[[0, 0]], (0, 1), [[[0.9, 0.1], [0.3, 0.7]]] * 2, observed=True, paid="all"
)
PROCESS = environments.decision_process(ROWS, PAID, reward_axes="action, state")
COSTLY = environments.costly(ARMS, [1, 2], purse=5, horizon=3)
COLLIDING = environments.colliding(RESTLESS, 2)
BUTTONS = jaxbandit.live.gymnasium_env(IID, horizon=2)
BEST = jaxbandit.BayesOptimal.of(np.ones((2, 2)), 3)
CHOSEN = jaxbandit.choices.read_choices({"subject": [1, 1, 2], "arm": ["a", "b", "b"], "reward": [0, 1, 1]})
LEARNER = jaxbandit.RescorlaWagner()
NET = jaxbandit.Learned.of(jaxbandit.Exchangeable(2), horizon=3)
jaxbandit.learning.save(NET, FOLDER / "net.npz")
LOGGED = {"arm": ["a", "b"] * 300, "reward": [0, 1] * 300, "probability": [0.5] * 600}
RUN = {"key": KEY, "runs": 2, "horizon": 3, "plays": 1, "times": [1, 2, 3], "progress": False}
CASE = {"scenarios": ARMS, "policies": {"U": UCB1()}, "key": KEY, "runs": 2, "horizon": 3, "times": [1, 2, 3]}
CHANCE = jaxbandit.run_keys(KEY, np.arange(2))


class Call(NamedTuple):
    """What is called, with which arguments."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    errors: tuple[type[Exception], ...]  # documented beside ValueError and TypeError
    compiled: bool  # whether arrays with more axes would be another program, which takes seconds to compile


@cache
def calls(group: str) -> dict[str, Call]:
    """The good calls of a group, by name."""
    answer = {}
    for use, table in re.findall(rf"^== {group}: (.*)\n((?:.+\n)+)", TEXT, re.M):
        for line in re.split(r"\n(?! )", table.strip()):
            name, _, text = line.partition(":")
            room, _, method = name.split(" ")[0].partition(".")
            function = getattr(result(), method) if room == "Result" else attrgetter(name.split(" ")[0])(jaxbandit)
            arguments = eval(f"dict({text})", globals())
            errors = (OSError,) if arguments.keys() & {"path", "folder", "data", "store"} else ()
            errors += (AssertionError,) * (room == "testing")
            called = partial(eval(use, globals()), function)
            answer[name] = Call(called, arguments, errors, room in ("divergences", "confidence"))
    return answer


@cache
def played() -> Any:
    """The history of a player."""
    player = jaxbandit.live.Player(UCB1(), ["a", "b"], states={"no": 0.0, "yes": 1.0})
    player.learn(player.choose().id, "yes")
    return player.history()


@cache
def logged() -> Any:
    """A log of uniform choices."""
    return jaxbandit.live.read_log(LOGGED)


@cache
def judged() -> Any:
    """What the log says of one of its arms."""
    return jaxbandit.live.evaluate(logged(), {"b": "b"}, resamples=10)


def plain(function: Any, **given: Any) -> Any:
    return function(**given)


def traced(scenarios: Any, policies: Any, **given: Any) -> Any:
    """What `simulate` does before it compiles anything: it checks its arguments, then traces every program."""
    return programs(check(scenarios, policies, key=KEY, runs=2, horizon=3, **given))


def made(function: Any, **given: Any) -> Any:
    """An environment that is made and then traced."""
    return traced(function(**given), {"p": jaxbandit.Uniform()})


def on(arms: Any, holder: Callable[[Any], Any] = lambda policy: policy, **given: Any) -> Callable[..., Any]:
    """Policies, or what a policy holds, which are traced on these arms."""

    def use(function: Any, **inputs: Any) -> Any:
        return traced(arms, {"p": holder(function(**inputs))}, **given)

    return use


def of_players(function: Any, **inputs: Any) -> Any:
    """A policy or an environment for two players, which is traced."""
    made = function(**inputs)
    arms, policy = (COLLIDING, made) if hasattr(made, "scores") else (made, jaxbandit.DecentralisedDSEE.of(made))
    return programs(check(arms, {"p": policy}, key=KEY, runs=2, horizon=3, plays=2))


def swept(function: Any, **given: Any) -> Any:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        given["folder"] = f"{folder}/sweep" if given["folder"] is FOLDER else given["folder"]
        return function(**given)


def advanced(function: Any, **given: Any) -> Any:
    """Play a few rounds from a carry made anew, as a carry is used up."""
    fresh = given["carry"] is None
    return function(**given | ({"carry": jaxbandit.initial_carry(ARMS, UCB1(), CHANCE)} if fresh else {}))


def drawn(function: Any, **given: Any) -> None:
    try:
        function(**given)
    finally:
        plt.close("all")


def recorded(environment: Any, policy: Any, t: Any) -> Any:
    return t


@cache
def result() -> jaxbandit.Result:
    return jaxbandit.simulate(ARMS, {"KL": KLUCB(), "U": [UCBSM(1.0), UCBSM(2.0)]}, **RUN | {"runs": 20})


@cache
def of_two() -> jaxbandit.Result:
    arms, numbers = {"one": ARMS, "other": IID}, RUN | {"random_numbers": "independent"}
    return jaxbandit.simulate(arms, {"KL": KLUCB()}, **numbers)


@cache
def identified() -> jaxbandit.Result:
    ends = {label: np.full((1, n, 20, 1), 3) for label, n in (("KL", 1), ("U", 2))}
    answers = {label: np.zeros_like(array) for label, array in ends.items()}
    return replace(result(), recorded={"stopped": ends, "answers": answers})


@cache
def changing() -> jaxbandit.Result:
    return jaxbandit.simulate(environments.piecewise([2], [[0.5, 0.4], [0.4, 0.5]]), {"KL": KLUCB()}, **RUN)


@cache
def of_process() -> jaxbandit.Result:
    return jaxbandit.simulate(PROCESS, {"right": jaxbandit.KnownProcess([1, 1])}, **RUN)


@cache
def full() -> jaxbandit.Result:
    return jaxbandit.simulate(environments.full_information(IID), {"KL": KLUCB()}, **RUN)


@cache
def saved() -> Path:
    result().save(FOLDER / "result.npz")
    return FOLDER / "result.npz"


@cache
def swept_once() -> Path:
    jaxbandit.sweep({"a": CASE}, FOLDER / "swept", progress=False)
    return FOLDER / "swept"

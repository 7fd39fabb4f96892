"""Wrong arguments by machine: the answer is a value, or an error that names the argument, in three seconds.

Good calls of all public functions are text, `good_calls.txt`, evaluated with the names of this file.
"""

import atexit
import contextlib
import dataclasses
import fractions  # noqa: F401 (names that the expressions use)
import io
import math  # noqa: F401
import re
import shutil
import signal
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, UCB1, UCBSM, WithDetector, bounds, environments, families, markov, stress  # noqa: F401
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import programs

FOLDER = Path(tempfile.mkdtemp(prefix="jaxbandit-bad-input-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
TEXT = Path(__file__).with_name("good_calls.txt").read_text()
GROUPS = dict.fromkeys(re.findall(r"^== (\w+)", TEXT, re.M))
ROWS = np.array([[[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.55, 0.45]]])
PAID = np.array([[0.0, 1.0], [0.0, 1.0]])
STARTS = np.array([[1.0, 0.0], [0.5, 0.5]])
THREE = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
COUNTS = np.array([[60, 40], [40, 20]])
KEY = jax.random.wrap_key_data(np.zeros(2, np.uint32), impl="threefry2x32")
ARMS = markov(ROWS, PAID)
IID = jaxbandit.bernoulli([0.5, 0.4])
CALLED, ALONE = [[[0.8, 0.2], [0.2, 0.8]]] * 2, [[[0.9, 0.1], [0.3, 0.7]]] * 2
RESTLESS = environments.restless(CALLED, (0, 1))
ALL_PAY = environments.restless(CALLED, (0, 1), ALONE, observed=True, paid="all")
LEFT = environments.restless(CALLED, (0, 1), ALONE, observed=True, paid="present", passive_reward=(0.5, 0))
HIDDEN = environments.hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]])
PROCESS = environments.decision_process(ROWS, PAID, reward_axes="action, state")
COSTLY = environments.costly(ARMS, [1, 2], purse=5, horizon=3)
COLLIDING = environments.colliding(RESTLESS, 2)
BUTTONS = jaxbandit.live.gymnasium_env(IID, horizon=2)
BEST = jaxbandit.BayesOptimal.of(np.ones((2, 2)), 3)
CHOSEN = jaxbandit.choices.read_choices({"subject": [1, 1, 1, 2, 2, 2], "arm": list("abbaab"), "reward": [0, 1, 1] * 2})
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


logged = cache(lambda: jaxbandit.live.read_log(LOGGED))  # of uniform choices
judged = cache(lambda: jaxbandit.live.evaluate(logged(), {"b": "b"}, resamples=10))


@cache
def played() -> Any:
    """The history of a player."""
    player = jaxbandit.live.Player(UCB1(), ["a", "b"], states={"no": 0.0, "yes": 1.0})
    player.learn(player.choose().id, "yes")
    return player.history()


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
    made, kind = function(**inputs), jaxbandit.DecentralisedDSEE
    arms, policy = (COLLIDING, made) if isinstance(made, kind) else (made, kind.of(made))
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
    plt.close("all")
    function(**given)


def recorded(environment: Any, policy: Any, t: Any) -> Any:
    return t


PLAYERS = {"KL": KLUCB(), "U": [UCBSM(1.0), UCBSM(2.0)]}
CHANGING = environments.piecewise([2], [[0.5, 0.4], [0.4, 0.5]])
TWO = {"one": ARMS, "other": IID}
result = cache(lambda: jaxbandit.simulate(ARMS, PLAYERS, **RUN | {"runs": 20}))
of_two = cache(lambda: jaxbandit.simulate(TWO, {"KL": KLUCB()}, **RUN, random_numbers="independent"))
changing = cache(lambda: jaxbandit.simulate(CHANGING, {"KL": KLUCB()}, **RUN))
of_process = cache(lambda: jaxbandit.simulate(PROCESS, {"right": jaxbandit.KnownProcess([1, 1])}, **RUN))
full = cache(lambda: jaxbandit.simulate(environments.full_information(IID), {"KL": KLUCB()}, **RUN))


@cache
def identified() -> jaxbandit.Result:
    ends = {label: np.full((1, n, 20, 1), 3) for label, n in (("KL", 1), ("U", 2))}
    answers = {label: np.zeros_like(array) for label, array in ends.items()}
    return dataclasses.replace(result(), recorded={"stopped": ends, "answers": answers})


@cache
def saved() -> Path:
    result().save(FOLDER / "result.npz")
    return FOLDER / "result.npz"


@cache
def swept_once() -> Path:
    jaxbandit.sweep({"a": CASE}, FOLDER / "swept", progress=False)
    return FOLDER / "swept"


PACKAGE = str(Path(jaxbandit.__file__).parent)
LONG = 3.0  # seconds of this process's own time, which an answer may take once its programs are compiled
LONGEST = 30  # seconds of it after which a call counts as one that hangs
# what messages of JAX, NumPy, SciPy and of Python itself say
FOREIGN = re.compile(
    r"jnp\.|jaxlib|[Tt]racer|Traceback|vmap|dtype object|lax\.|ShapedArray|abstract array|not a valid JAX type|"
    r"inhomogeneous|could not convert|float\(\) argument|int\(\) argument|ambiguous|broadcast|operand|has no attribute|"
    r"unhashable|subscriptable|not iterable|not callable|unexpected keyword|positional argument|concatenat|"
    r"not supported between|object is not|out of bounds|invalid literal|codec can't|null byte|too large to convert"
)


def fails() -> None:
    raise ArithmeticError("a function of the user's own that fails")


ROW = [[0.6, 0.5], [0.6, 0.5]]
# What stands in the place of an argument: expressions, evaluated anew for every call, as some things can be used up.
THINGS = re.split(
    "; |\n",
    r"""
None; "x"; "0.5"; ""; "0"; "\0"; "\ud800"; "KL"; b"0.5"; b""; "x" * 5000; True; False; 1j; math.nan; math.inf; -math.inf
0; -1; -0.5; 1.5; 2**31; 2**32; 2**63; 2**64; -(2**63) - 1; 10**400; 1e31; 1e300; 5e-324; fractions.Fraction(1, 2)
[]; (); {}; [[]]; [None]; ["x"]; (0.5,); range(3); ...; {"a": 1, 2: None}; {0.5}; (0.5 for _ in range(3)); iter([1, 2])
np.bool_(True); np.int8(3); np.uint8(3); np.int64(-3); np.uint64(2**64 - 1); np.float16(0.5); np.float32(0.5)
np.float64(0.5); np.longdouble(0.5); np.complex64(1j); np.str_("x"); np.datetime64("2020"); np.void(b"x")
fails; dict; object(); ValueError("x"); math; Path(__file__).parent; Path("/proc/nowhere/at/all"); "/dev/null/x"
np.array([None, "x"]); np.array([0.5, 0.25], object); np.zeros(0); np.zeros((0, 2)); np.zeros((2, 0)); np.array(0.5)
np.array(1); np.full((2, 2), 0.5); np.full((2, 2, 2), 0.5); np.ones((1, 1, 1, 1)); np.array([0.5, 0.25], np.float16)
[[1], [1, 2]]; [[0.5, 0.5], [[0.5], 0.5]]; [ROW, ROW]; np.zeros((2, 2, 2)); [[[1.5, -0.5]] * 2] * 2
np.array([0, 1], np.int8); np.array([0.5, 1j]); np.array(["0.5", "x"]); np.array(["2020", "2021"], "datetime64[Y]")
np.zeros(2, [("a", float)]); [math.nan, 0.5]; [math.inf, -math.inf]; jnp.asarray(np.array([0.5, 0.25], np.float16))
jnp.asarray(np.array([0.5, 0.25], jnp.bfloat16)); jnp.asarray(np.float32(0.5)); jnp.asarray(np.int32(1))
key("threefry2x32", 2); key("threefry2x32", 2, 2); np.zeros(2, np.uint32); key("rbg", 4); jax.devices
jaxbandit.KLUCB(); jaxbandit.KLUCB; jaxbandit.Oracle([0.1, 0.2, 0.3]); jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
jaxbandit.bernoulli([0.5, 0.4, 0.3]); jaxbandit.environments.gaussian([0.5, 0.4]); jaxbandit.environments.riverswim()
jaxbandit.environments.restless([[[0.5, 0.5]] * 2] * 2, [[0.0, 1.0], [0.0, 0.5]]); jaxbandit.families.Gaussian()
jaxbandit.families.Gaussian("x")
""".strip(),
)
# What is made of a good array of numbers.
SPOILT = re.split(
    "; |\n",
    """
with_one(good, math.nan); with_one(good, math.inf); with_one(good, -1.0); with_one(good, 2.0); with_one(good, 1e31)
with_one(good, 1e-12); with_one(good, 5e-324); good[None]; good[0]; good[1:]; good[..., 1:]; good[:0]
np.concatenate([good, good[:1]]); good[..., :0]; good.ravel(); good.T; -good; np.full_like(good, good.flat[0])
good.astype(str).tolist(); good + 0j; good.astype(object); good.tolist(); good.astype(np.float16)
good * 1.1; good.astype(np.float32); good.astype(np.int8); good.astype(np.int64); good.astype(bool)
good.astype(float).astype(">f8"); np.ma.masked_array(good, np.arange(good.size).reshape(good.shape) == 0)
[*good.tolist()[:-1], [0.5]]; (number for number in good); np.broadcast_to(good, good.shape); jnp.asarray(good)
""".strip(),
)


def key(kind: str, *shape: int) -> Any:
    return jax.random.wrap_key_data(np.zeros(shape, np.uint32), impl=kind)


def with_one(good: np.ndarray, value: float) -> Any:
    """The same numbers but for the first one."""
    array = np.array(good, float)
    array[(0,) * array.ndim] = value
    return array


def make_wrong(expression: str, good: Any) -> Any:
    """What the expression makes, in the place of a good argument."""
    return eval(expression, globals(), {"good": np.asarray(good) if "good" in expression else None})


def wrong_things(name: str, argument: str, call: Call) -> list[str]:
    """Two expressions that take the place of an argument; the names choose them, so that each is met about as often.

    Of numbers that have an axis one is the numbers spoilt, but for functions whose programs take many seconds: these
    would often play or fit what is spoilt.
    """
    good, luck = call.arguments[argument], zlib.crc32(f"{name} {argument}".encode())
    places = luck % len(THINGS), luck // len(THINGS)
    chosen: list[str] = []
    spoilt = is_array(good) and name not in ("choices.recover", "environments.fit_hidden")
    for kinds, place in zip((THINGS, SPOILT if spoilt else THINGS), places):
        turned = kinds[place % len(kinds) :] + kinds[: place % len(kinds)]
        chosen.append(next(thing for thing in turned if thing not in chosen and _fits(thing, good, call)))
    return chosen


def is_array(good: Any) -> bool:
    """Whether a good argument is numbers that have an axis, so that it can be spoilt."""
    if isinstance(good, list | tuple) and good:
        return all(isinstance(item, int | float) or is_array(item) for item in good)
    return isinstance(good, np.ndarray) and good.ndim > 0 and good.dtype.kind in "iuf"


def _fits(thing: str, good: Any, call: Call) -> bool:
    """Whether it can be made (truths have no negative, some numbers are too large for half floats), and is no array
    with more axes or a type of its own in JAX where that would be another program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wrong = make_wrong(thing, good)
    except (TypeError, RuntimeWarning):
        return False
    try:
        other = np.ndim(wrong) > np.ndim(good) or (isinstance(wrong, jax.Array) and wrong.dtype.itemsize < 4)
    except (TypeError, ValueError):  # the value is not an array
        other = False
    return not (call.compiled and other)


def answer(call: Call, change: dict[str, Any]) -> tuple[Any, Exception | None, float]:
    """What the function returns or raises, and its seconds, of this process's own: others may keep the machine busy."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {LONGEST} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    begin = time.process_time()
    value, error = None, None
    try:
        with jax.numpy_rank_promotion("allow"), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("error")
            value = call.function(**call.arguments | change)
    except Exception as raised:
        error = raised
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return value, error, time.process_time() - begin


def fault(call: Call, argument: str, thing: str) -> str | None:
    """What is wrong with the answer to a call in which an argument is replaced, or None."""
    good = call.arguments[argument]
    wrong = make_wrong(thing, good)
    value, error, seconds = answer(call, {argument: wrong})
    if seconds > LONG:  # the second call finds its programs compiled
        seconds = answer(call, {argument: make_wrong(thing, good)})[2]
    if seconds > LONG:
        return f"takes {seconds:.1f} s"
    if error is None:
        return "NaN" if has_nan(value) and not has_nan(answer(call, {})[0]) else None
    if isinstance(error, call.errors) or (isinstance(error, ArithmeticError) and wrong is fails):
        return None
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    fields = [field.name for field in dataclasses.fields(wrong)] if dataclasses.is_dataclass(wrong) else []
    fields += ["family"]  # is refused by the policy that has it
    names = "|".join(map(re.escape, [*call.arguments, *fields]))
    begins = re.match(rf"(\w+\[[^]]*\](\.|: ))?({names})\b", str(error))
    named = len(argument) > 2 and re.search(rf"\b{argument}\b", str(error))
    faults = {
        "another error": type(error) not in (ValueError, TypeError),
        f"an error from {place}": not place.startswith(PACKAGE),
        "a message of others": FOREIGN.search(str(error)),
        "names no argument": not (begins or named),
    }
    wrongs = [fault for fault, holds in faults.items() if holds]
    return f"{wrongs[0]}, {type(error).__name__}: {error}" if wrongs else None


def has_nan(value: Any) -> bool:
    """Whether there is NaN among what a function returned."""
    try:
        leaves = jax.tree.leaves(value, is_leaf=lambda part: isinstance(part, Iterator))
    except ValueError:  # of a policy that holds a dict, and is refused where it is played
        return False
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray | np.generic | jax.Array)]
    floats = [leaf for leaf in arrays if jnp.issubdtype(leaf.dtype, np.floating)]
    return any(np.isnan(np.asarray(leaf)).any() for leaf in floats + [leaf for leaf in leaves if type(leaf) is float])


# environments as they are built by functions that check, spaces (checked where they are used), names of types, and what
# has no arguments that could be wrong or is called when policies are traced
NO_CALLS = """
AllPayingArms ChangingAllPayingArms ChangingArms ChangingMarkovArms CollidingArms CostlyArms DecisionProcess
FullInformation HiddenArms IndependentArms LowerBoundArms MarkovArms RandomWalkArms RestartingArms RestlessArms
IndependentSpace PiecewiseSpace PriorSpace RestlessSpace Space ThreeStateSpace TwoStateSpace Delays
Distance Environment Family InitialState Kind Policy Result Solver StoppedWarning per_arm play_round use_all_cores
""".split()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Paths that a wrong argument is taken for are in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def test_every_public_function_has_a_good_call():
    """But for what is no function, and for tuples that functions return."""
    called = {name.split(" ")[0].split(".")[-1] for name in re.findall(r"^([\w. ]+):", TEXT, re.M)}
    rooms = [jaxbandit, *(getattr(jaxbandit, name) for name in ("plotting", "policies", *jaxbandit.__all__))]
    public = {
        name
        for room in rooms
        if isinstance(room, ModuleType)
        for name in room.__all__
        if callable(thing := getattr(room, name)) and not (isinstance(thing, type) and issubclass(thing, tuple))
    }
    assert public - called == set(NO_CALLS)


@pytest.mark.parametrize("group", ["simulate", "rounds"])
@pytest.mark.slow
def test_good_calls_are_good(group):
    """The calls of other groups are nearly those of the functions' doctests."""
    for name, call in calls(group).items():
        error = answer(call, {})[1]
        assert error is None, f"{name}: {error!r}"


@pytest.mark.parametrize(
    ("group", "kinds"),
    [
        *((group, 1) for group in GROUPS if group != "results"),
        *(pytest.param(group, 2, marks=pytest.mark.slow) for group in GROUPS),
    ],
)
def test_wrong_arguments(group, kinds):
    """Two kinds of things in the place of every argument of every function; quickly one, of one argument of each."""
    for name, call in calls(group).items():
        arguments = sorted(call.arguments)
        if kinds == 1 and arguments:
            arguments = [arguments[zlib.crc32(name.encode()) % len(arguments)]]
        for argument in arguments:
            for thing in wrong_things(name, argument, call)[:kinds]:
                wrong = fault(call, argument, thing)
                assert wrong is None, f"{name} with {argument}={thing}: {wrong}"


def test_integers_that_jax_would_cut_off_are_refused():
    """JAX's integers have 32 bits, and of 10^10 it kept the last ones: another horizon."""
    for horizon in (10**10, np.int64(10**10), 10**20):
        with pytest.raises(ValueError, match=r"^policies\['p'].horizon: .* is not a number of JAX"):
            traced(ARMS, {"p": jaxbandit.MOSS(horizon=horizon)})
    traced(ARMS, {"p": jaxbandit.MOSS(horizon=1e10)})


def test_a_number_is_no_path():
    """Python takes it for an open file: 0 for what is typed in, for which it waits."""
    for number in (0, 2, True):
        with pytest.raises(ValueError, match="^path: .* is not a path"):
            jaxbandit.Result.load(number)


def test_a_discount_near_one_takes_too_many_rounds():
    with pytest.raises(ValueError, match="^discount: .* takes more than 2,000,000 rounds"):
        jaxbandit.indices.rounds_to_record(np.nextafter(1.0, 0.0))


def test_numbers_beyond_float32_do_not_end_the_process():
    """JAX's own cast of them does, where warnings are errors as here."""
    assert jaxbandit.confidence.kl_upper(np.array([0.5, 0.2]), np.array([1e300, 1e31])).tolist() == [1.0, 1.0]

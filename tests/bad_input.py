"""Wrong arguments of every kind, and the judge of what a function answers to them."""

import contextlib
import dataclasses
import fractions  # noqa: F401 (names that the expressions use)
import io
import math  # noqa: F401
import re
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from good_calls import Call

import jaxbandit

PACKAGE = str(Path(jaxbandit.__file__).parent)
SECOND = 1.0  # of this process's own time, which an answer may take once its programs are compiled
LONGEST = 20  # seconds of it after which a call counts as one that hangs
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
THINGS = r"""
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
"""
# What is made of a good array of numbers.
SPOILT = """
with_one(good, math.nan); with_one(good, math.inf); with_one(good, -1.0); with_one(good, 2.0); with_one(good, 1e31)
with_one(good, 1e-12); with_one(good, 5e-324); good[None]; good[0]; good[1:]; good[..., 1:]; good[:0]
np.concatenate([good, good[:1]]); good[..., :0]; good.ravel(); good.T; -good; np.full_like(good, good.flat[0])
good.astype(str).tolist(); good + 0j; good.astype(object); good.tolist(); good.astype(np.float16)
good * 1.1; good.astype(np.float32); good.astype(np.int8); good.astype(np.int64); good.astype(bool)
good.astype(float).astype(">f8"); np.ma.masked_array(good, np.arange(good.size).reshape(good.shape) == 0)
[*good.tolist()[:-1], [0.5]]; (number for number in good); np.broadcast_to(good, good.shape); jnp.asarray(good)
"""


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


def wrong_things(good: Any, compiled: bool = False) -> list[str]:
    """The expressions that can stand in the place of a good argument; without those that are another program."""
    names = re.split("; |\n", THINGS.strip())
    if is_array(good):
        names += [name for name in re.split("; |\n", SPOILT.strip()) if _can_be_made(name, good)]
    return [name for name in names if not (compiled and _is_another_program(make_wrong(name, good), good))]


def is_array(good: Any) -> bool:
    """Whether a good argument is numbers that have an axis, so that it can be spoilt."""
    if isinstance(good, list | tuple) and good:
        return all(isinstance(item, int | float) or is_array(item) for item in good)
    return isinstance(good, np.ndarray) and good.ndim > 0 and good.dtype.kind in "iuf"


def _can_be_made(name: str, good: Any) -> bool:
    """Whether numbers can be spoilt so: truths have no negative, and some are too large for half floats."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make_wrong(name, good)
    except (TypeError, RuntimeWarning):
        return False
    return True


def _is_another_program(wrong: Any, good: Any) -> bool:
    """Whether an array has more axes than the good one, or a type of its own in JAX."""
    try:
        return np.ndim(wrong) > np.ndim(good) or (isinstance(wrong, jax.Array) and wrong.dtype.itemsize < 4)
    except (TypeError, ValueError):  # the value is not an array
        return False


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


def fault(call: Call, change: Callable[[], dict[str, Any]]) -> str | None:
    """What is wrong with the answer to a call in which some arguments are replaced, or None.

    Args:
      change: makes the arguments that are replaced, anew for each of two calls: the second one finds programs compiled.
    """
    wrong = change()
    value, error, seconds = answer(call, wrong)
    if error is None and seconds > SECOND:
        seconds = answer(call, change())[2]
    if seconds > SECOND:
        return f"takes {seconds:.1f} s"
    if error is None:
        return "NaN" if has_nan(value) and not has_nan(answer(call, {})[0]) else None
    own = isinstance(error, ArithmeticError) and fails in wrong.values()
    return None if own or isinstance(error, call.errors) else _wrong_error(call, wrong, error)


def _wrong_error(call: Call, wrong: dict[str, Any], error: Exception) -> str | None:
    """What is wrong with an error: its class, its place, its words, or that it names none of the arguments."""
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    holders = [value for value in wrong.values() if dataclasses.is_dataclass(value)]
    fields = [field.name for holder in holders for field in dataclasses.fields(holder)]
    fields += ["family"]  # is refused by the policy that has it
    names = "|".join(map(re.escape, [*call.arguments, *fields]))
    begins = re.match(rf"(\w+\[[^]]*\](\.|: ))?({names})\b", str(error))
    named = any(len(name) > 2 and re.search(rf"\b{name}\b", str(error)) for name in wrong)
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
    floats = [
        leaf for leaf in leaves if isinstance(leaf, float) or jnp.issubdtype(getattr(leaf, "dtype", int), np.floating)
    ]
    return any(np.isnan(np.asarray(leaf)).any() for leaf in floats)

"""Wrong arguments of every kind, and the judge of what a function answers to them."""

import contextlib
import dataclasses
import fractions
import io
import math
import re
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

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
documented = (ValueError, TypeError)


class Call(NamedTuple):
    """A good call of a public function: what is called, and with which arguments."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    errors: tuple[type[Exception], ...] = ()  # documented beside ValueError and TypeError
    also: str = ""  # the name of another argument that an error may begin with
    compiled: bool = False  # whether arrays with more axes would be another program, which takes seconds to compile


def fails() -> None:
    raise ArithmeticError("a function of the user's own that fails")


def _rows(*numbers: float) -> list[list[float]]:
    return [list(numbers), list(numbers)]


# name to a function that makes the wrong thing anew, as some of them can be used up
THINGS: dict[str, Callable[[], Any]] = {
    **{repr(each): (lambda each=each: each) for each in (None, "x", "0.5", "", "0", "\0", "\ud800", "KL", b"0.5", b"")},
    **{repr(each): (lambda each=each: each) for each in (True, False, 1j, math.nan, math.inf, -math.inf, 0, -1, -0.5)},
    **{repr(each): (lambda each=each: each) for each in (1.5, 2**31, 2**32, 2**63, 2**64, -(2**63) - 1, 1e31, 1e300)},
    **{
        repr(each): (lambda each=each: each)
        for each in ([], (), {}, [[]], [None], ["x"], (0.5,), range(3), ..., 5e-324)
    },
    **{
        f"np.{kind}({value})": (lambda kind=kind, value=value: getattr(np, kind)(value))
        for kind, value in {
            **{"bool_": True, "int8": 3, "uint8": 3, "int64": -3, "uint64": 2**64 - 1, "float16": 0.5, "float32": 0.5},
            **{"float64": 0.5, "longdouble": 0.5, "complex64": 1j, "str_": "x", "datetime64": "2020", "void": b"x"},
        }.items()
    },
    "a huge integer": lambda: 10**400,
    "a long text": lambda: "x" * 5000,
    "a fraction": lambda: fractions.Fraction(1, 2),
    "a dict": lambda: {"a": 1, 2: None},
    "a set": lambda: {0.5},
    "a generator": lambda: (0.5 for _ in range(3)),
    "an iterator": lambda: iter([1, 2]),
    "a function that fails": lambda: fails,
    "a class": lambda: dict,
    "an object": object,
    "an exception": lambda: ValueError("x"),
    "a module": lambda: math,
    "a folder": lambda: Path(__file__).parent,
    "a path without a folder": lambda: Path("/proc/nowhere/at/all"),
    "a path behind a device": lambda: "/dev/null/x",
    "objects": lambda: np.array([None, "x"]),
    "numbers as objects": lambda: np.array([0.5, 0.25], object),
    "no numbers": lambda: np.zeros(0),
    "no rows": lambda: np.zeros((0, 2)),
    "no columns": lambda: np.zeros((2, 0)),
    "an array of rank 0": lambda: np.array(0.5),
    "an integer of rank 0": lambda: np.array(1),
    "a matrix": lambda: np.full((2, 2), 0.5),
    "a cube": lambda: np.full((2, 2, 2), 0.5),
    "rank 4": lambda: np.ones((1, 1, 1, 1)),
    "ragged": lambda: [[1], [1, 2]],
    "ragged deeper": lambda: [[0.5, 0.5], [[0.5], 0.5]],
    "a sum of 1.1": lambda: [_rows(0.6, 0.5)] * 2,
    "a sum of 0": lambda: np.zeros((2, 2, 2)),
    "a negative probability": lambda: [_rows(1.5, -0.5)] * 2,
    "half floats": lambda: np.array([0.5, 0.25], np.float16),
    "small integers": lambda: np.array([0, 1], np.int8),
    "complex numbers": lambda: np.array([0.5, 1j]),
    "texts": lambda: np.array(["0.5", "x"]),
    "dates": lambda: np.array(["2020", "2021"], "datetime64[Y]"),
    "a record": lambda: np.zeros(2, [("a", float)]),
    "NaN among numbers": lambda: [math.nan, 0.5],
    "infinities": lambda: [math.inf, -math.inf],
    "JAX half": lambda: jnp.asarray(np.array([0.5, 0.25], np.float16)),
    "JAX bfloat16": lambda: jnp.asarray(np.array([0.5, 0.25], jnp.bfloat16)),
    "JAX number": lambda: jnp.asarray(np.float32(0.5)),
    "JAX integer": lambda: jnp.asarray(np.int32(1)),
    "a key": lambda: _key(0),
    "keys": lambda: jax.random.wrap_key_data(np.zeros((2, 2), np.uint32), impl="threefry2x32"),
    "an old key": lambda: np.zeros(2, np.uint32),
    "a key of another kind": lambda: jax.random.wrap_key_data(np.zeros(4, np.uint32), impl="rbg"),
    "a policy": jaxbandit.KLUCB,
    "a class of policies": lambda: jaxbandit.KLUCB,
    "a policy of many numbers": lambda: jaxbandit.Oracle([0.1, 0.2, 0.3]),
    "two arms": lambda: jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]),
    "three arms": lambda: jaxbandit.bernoulli([0.5, 0.4, 0.3]),
    "Gaussian arms": lambda: jaxbandit.environments.gaussian([0.5, 0.4]),
    "restless arms": lambda: jaxbandit.environments.restless([_rows(0.5, 0.5)] * 2, [[0.0, 1.0], [0.0, 0.5]]),
    "a decision process": jaxbandit.environments.riverswim,
    "a family": jaxbandit.families.Gaussian,
    "a wrong family": lambda: jaxbandit.families.Gaussian("x"),
    "devices": jax.devices,
}


def _key(seed: int) -> Any:
    return jax.random.wrap_key_data(np.array([0, seed], np.uint32), impl="threefry2x32")


def _with_one(value: float) -> Callable[[np.ndarray], Any]:
    """The same numbers but for the first one."""

    def changed(good: np.ndarray) -> Any:
        array = np.array(good, float)
        array[(0,) * array.ndim] = value
        return array

    return changed


# name to what is made of a good array of numbers
SPOILT: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"the first is {each}": _with_one(each) for each in (math.nan, math.inf, -1.0, 2.0, 1e31, 1.5, 1e-12, 5e-324)},
    "one axis more": lambda good: good[None],
    "one axis less": lambda good: good[0],
    "one less": lambda good: good[1:],
    "one more": lambda good: np.concatenate([good, good[:1]]),
    "one less at the end": lambda good: good[..., 1:],
    "none": lambda good: good[:0],
    "none at the end": lambda good: good[..., :0],
    "flat": lambda good: good.ravel(),
    "transposed": lambda good: good.T,
    "times 1.1": lambda good: good * 1.1,
    "negative": lambda good: -good,
    "equal": lambda good: np.full_like(good, good.ravel()[0]),
    "as texts": lambda good: good.astype(str).tolist(),
    "as complex": lambda good: good + 0j,
    "as objects": lambda good: good.astype(object),
    "as lists": lambda good: good.tolist(),
    "as half floats": lambda good: good.astype(np.float16),
    "as floats of 32 bits": lambda good: good.astype(np.float32),
    "as small integers": lambda good: good.astype(np.int8),
    "as large integers": lambda good: good.astype(np.int64),
    "as truths": lambda good: good.astype(bool),
    "from another machine": lambda good: good.astype(float).astype(">f8"),
    "masked": lambda good: np.ma.masked_array(good, np.arange(good.size).reshape(good.shape) == 0),
    "one list too short": lambda good: [*good.tolist()[:-1], [0.5]],
    "a generator of them": lambda good: (each for each in good),
    "read-only": lambda good: np.broadcast_to(good, good.shape),
    "JAX's": lambda good: jnp.asarray(good),
}


def is_array(good: Any) -> bool:
    """Whether a good argument is numbers that have an axis, so that it can be spoilt."""
    if isinstance(good, list | tuple) and good:
        return all(isinstance(each, int | float) or is_array(each) for each in good)
    return isinstance(good, np.ndarray) and good.ndim > 0 and good.dtype.kind in "iuf"


def wrong_things(good: Any, compiled: bool = False) -> list[str]:
    """Names of all that can stand in the place of a good argument; without those that are another program."""
    names = [*THINGS, *(name for name in (SPOILT if is_array(good) else ()) if _can_be_made(name, good))]
    return [name for name in names if not (compiled and is_another_program(make_wrong(name, good), good))]


def _can_be_made(name: str, good: Any) -> bool:
    """Whether numbers can be spoilt so: truths have no negative, and some are too large for half floats."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make_wrong(name, good)
    except (TypeError, RuntimeWarning):
        return False
    return True


def make_wrong(name: str, good: Any) -> Any:
    """The thing of this name, in the place of a good argument."""
    return THINGS[name]() if name in THINGS else SPOILT[name](np.asarray(good))


def is_another_program(wrong: Any, good: Any) -> bool:
    """Whether an array has more axes than the good one, or a type of its own in JAX."""
    try:
        return np.ndim(wrong) > np.ndim(good) or (isinstance(wrong, jax.Array) and wrong.dtype.itemsize < 4)
    except (TypeError, ValueError):  # the value is not an array
        return False


@contextlib.contextmanager
def _no_hang() -> Iterator[None]:
    """Raise TimeoutError in a call that takes very long; Python's own time counts, so that a busy machine does not."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {LONGEST} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _answer(call: Call, change: dict[str, Any]) -> tuple[Any, Exception | None, float]:
    """What the function returns or raises, and how many seconds it took."""
    with (
        _no_hang(),
        jax.numpy_rank_promotion("allow"),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        begun = time.process_time()
        try:
            found, error = call.function(**call.arguments | change), None
        except Exception as raised:
            found, error = None, raised
        return found, error, time.process_time() - begun


def fault(call: Call, change: Callable[[], dict[str, Any]]) -> str | None:
    """What is wrong with the answer to a call in which some arguments are replaced, or None.

    Args:
      change: makes the arguments that are replaced, anew for each of two calls: the second one finds programs compiled.
    """
    wrong = change()
    found, error, seconds = _answer(call, wrong)
    if isinstance(error, TimeoutError):
        return str(error)
    if error is None and seconds > SECOND:
        seconds = _answer(call, change())[2]
    if seconds > SECOND:
        return f"takes {seconds:.1f} s"
    if error is None:
        return "NaN" if has_nan(found) and not has_nan(_answer(call, {})[0]) else None
    return _wrong_error(call, wrong, error)


def _wrong_error(call: Call, wrong: dict[str, Any], error: Exception) -> str | None:
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, ArithmeticError) and any(each is fails for each in wrong.values()):
        return None  # the user's own
    if isinstance(error, call.errors):
        return None
    if type(error) not in documented:
        return f"another error, {said}"
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    if not place.startswith(PACKAGE):
        return f"an error from {place}, {said}"
    if FOREIGN.search(str(error)):
        return f"a message of others, {said}"
    fields = [
        field.name for each in wrong.values() if dataclasses.is_dataclass(each) for field in dataclasses.fields(each)
    ]
    names = [*call.arguments, *fields, *filter(None, [call.also])]
    begins = any(re.match(rf"(\w+\[[^]]*\](\.|: ))?{re.escape(name)}\b", str(error)) for name in names)
    named = any(len(name) > 2 and re.search(rf"\b{re.escape(name)}\b", str(error)) for name in wrong)
    return None if begins or named else f"names no argument, {said}"


def has_nan(found: Any) -> bool:
    """Whether there is NaN among what a function returned."""
    try:
        leaves = jax.tree.leaves(found)
    except ValueError:  # of a policy that holds a dict, and is refused where it is played
        return False
    arrays = [np.asarray(leaf) for leaf in leaves if isinstance(leaf, float | np.ndarray | np.generic | jax.Array)
              and not jnp.issubdtype(leaf.dtype if hasattr(leaf, "dtype") else float, jax.dtypes.prng_key)]  # fmt: skip
    return any(np.isnan(array).any() for array in arrays if array.dtype.kind == "f")

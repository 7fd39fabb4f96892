"""Wrong arguments by machine: the answer is a value, or an error that names the argument, in three seconds.

What takes the place of arguments stands in `bad_input`, with the judge.
"""

import re
import zlib
from types import ModuleType

import bad_input
import numpy as np
import pytest
from bad_input import ARMS, GROUPS, TEXT, calls, traced

import jaxbandit
from jaxbandit import plotting, policies

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
    rooms = [jaxbandit, plotting, policies, *(getattr(jaxbandit, name) for name in jaxbandit.__all__)]
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
        _, error, _ = bad_input.answer(call, {})
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
            for thing in bad_input.wrong_things(name, argument, call)[:kinds]:
                fault = bad_input.fault(call, argument, thing)
                assert fault is None, f"{name} with {argument}={thing}: {fault}"


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
    for discount in (1 - 1e-9, np.nextafter(1.0, 0.0)):
        with pytest.raises(ValueError, match="^discount: .* takes more than 2,000,000 rounds"):
            jaxbandit.indices.rounds_to_record(discount)


def test_numbers_beyond_float32_do_not_end_the_process():
    """JAX's own cast of them does, where warnings are errors as here."""
    assert jaxbandit.confidence.kl_upper(np.array([0.5, 0.2]), np.array([1e300, 1e31])).tolist() == [1.0, 1.0]

"""Wrong arguments of every kind, by machine: the answer is a value, or an error that names the argument, in a second.

What is thrown stands in `bad_input`, with the judge; a good call of every public function in `good_calls` and
`good_functions`.
"""

from collections.abc import Callable
from typing import Any

import bad_input
import good_calls
import good_functions
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_architecture import DOORS, PUBLIC

GROUPS: dict[str, Callable[[], dict[str, bad_input.Call]]] = {
    "simulate": lambda: good_calls.SIMULATE,
    "environments": lambda: good_calls.ENVIRONMENTS,
    "policies": lambda: good_calls.POLICIES,
    "numbers": lambda: good_functions.NUMBERS,
    "rounds": lambda: good_functions.ROUNDS,
    "results": good_functions.of_results,
    "testing": lambda: good_functions.TESTING,
}
FEW = {"simulate": 40, "environments": 60, "policies": 60, "numbers": 80, "rounds": 30, "results": 50, "testing": 5}
MANY = {"simulate": 500, "environments": 900, "policies": 1200, "numbers": 1800, "rounds": 400, "results": 900}
MANY |= {"testing": 60}
# what nobody calls with arguments of their own: types of what is returned, protocols, names of things, constants
NO_CALLS = """
ALL Environment Feedback Policy Family Result bounds chains confidence divergences environments families indices metrics
testing use_all_cores Bound Condition Solver DISTANCES Distance EXAMPLE FamilyFit Fit InitialState
WhittleIndices Summary COLOURS
""".split()
# environments as they are built by functions that check, and the parts of policies, called when these are traced
BUILT = "MarkovArms HiddenArms IndependentArms Restarting Restless play_round".split()
PARTS = "policies.estimates"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Paths that a wrong argument is taken for are in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def test_every_public_name_is_known():
    known = {name.split(" ")[0].split(".")[-1] for calls in GROUPS.values() for name in calls()}
    public = {name for room, names in DOORS.items() if room != PARTS for name in names.split()} | set(PUBLIC)
    assert sorted(public - known - set(NO_CALLS) - set(BUILT)) == []
    assert sorted({*NO_CALLS, *BUILT} - public) == []


@pytest.mark.parametrize("group", GROUPS)
def test_good_calls_are_good(group):
    for name, call in GROUPS[group]().items():
        _, error, _ = bad_input._answer(call, {})
        assert error is None, f"{name}: {error!r}"


def throw(group: str, examples: int) -> None:
    """Throw so many wrong arguments, one or two at a time, at the functions of a group."""
    calls = {name: call for name, call in GROUPS[group]().items() if call.arguments}

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(data=st.data())
    def run(data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(calls)), label="function")
        call = calls[name]
        several = st.lists(st.sampled_from(sorted(call.arguments)), min_size=1, max_size=2, unique=True)
        replaced = data.draw(several, label="arguments")
        things = {each: data.draw(st.sampled_from(names[name][each]), label=each) for each in replaced}

        def change() -> dict[str, Any]:
            return {each: bad_input.make_wrong(thing, call.arguments[each]) for each, thing in things.items()}

        found = bad_input.fault(call, change)
        assert found is None, f"{name} with {things}: {found}"

    run()


@pytest.mark.parametrize("group", GROUPS)
def test_few_wrong_arguments(group):
    throw(group, FEW[group])


@pytest.mark.parametrize("group", GROUPS)
def test_many_wrong_arguments(group):
    throw(group, MANY[group])

"""Wrong arguments of every kind, by machine: the answer is a value, or an error that names the argument, in a second.

What is thrown stands in `bad_input`, with the judge; a good call of every public function in `good_calls.txt`.
"""

import re
from typing import Any

import bad_input
import numpy as np
import pytest
from good_calls import ARMS, GROUPS, TEXT, calls, traced
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_architecture import PUBLIC

import jaxbandit

FEW = {"simulate": 40, "environments": 60, "policies": 60, "numbers": 80, "rounds": 30, "results": 50}
FEW |= {"testing": 5, "stress": 5, "choices": 5, "learning": 10}
MANY = {"simulate": 500, "environments": 900, "policies": 1200, "numbers": 1800, "rounds": 400, "results": 900}
MANY |= {"testing": 60, "stress": 60, "choices": 30, "learning": 40}
SLOW = list(HealthCheck)  # a program is compiled now and then
# what nobody calls with arguments of their own: types of what is returned, protocols, names of things, constants
NO_CALLS = """
ALL Declares Environment Episodes Feedback Kind LongRun Policy Structure Task Family Result per_arm Delays KnownArms
RestlessFit use_all_cores Bound Condition Solver DISTANCES Distance EXAMPLE FamilyFit Fit InitialState HiddenFit
Relaxation StoppedWarning WhittleIndices Summary COLOURS Atlas NamedProblem atlas Found Interval Problem Space
Survey DiscountedValues Mixture Choice Decision Evaluation History Log Replay Report Identification Pair ChainOrder
IdentificationSummary MOST_STATES WrongAnswers BayesOptimum RegretGradient Trained Tuned ChoiceFit Choices
ModelRecovery PopulationFit Recovery MARKERS
""".split()
# environments as they are built by functions that check, spaces (checked where they are used), and the parts
# of policies, called when these are traced
BUILT = "MarkovArms HiddenArms IndependentArms RestartingArms RestlessArms AllPayingArms LowerBoundArms".split()
BUILT += "CollidingArms CostlyArms DecisionProcess ChangingArms ChangingMarkovArms FullInformation play_round".split()
BUILT += "RandomWalkArms IndependentSpace PiecewiseSpace PriorSpace RestlessSpace ThreeStateSpace TwoStateSpace".split()
BUILT += ["ChangingAllPayingArms"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Paths that a wrong argument is taken for are in a folder of their own."""
    monkeypatch.chdir(tmp_path)


def test_every_public_name_is_known():
    known = {name.split(" ")[0].split(".")[-1] for name in re.findall(r"^([\w. ]+):", TEXT, re.M)}
    public = {name.rpartition(".")[2] for name in PUBLIC if not name.startswith("policies.memory.")}
    assert sorted(public - known - set(NO_CALLS) - set(BUILT)) == []
    assert sorted({*NO_CALLS, *BUILT} - public) == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.slow
def test_good_calls_are_good(group):
    for name, call in calls(group).items():
        _, error, _ = bad_input.answer(call, {})
        assert error is None, f"{name}: {error!r}"


def throw(group: str, examples: int) -> None:
    """Throw so many wrong arguments, one or two at a time, at the functions of a group."""
    known = {name: call for name, call in calls(group).items() if call.arguments}

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW)
    @given(data=st.data())
    def run(data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(known)), label="function")
        call = known[name]
        replaced = data.draw(st.lists(st.sampled_from(sorted(call.arguments)), min_size=1, max_size=2, unique=True))
        things = {
            argument: data.draw(st.sampled_from(bad_input.wrong_things(call.arguments[argument], call.compiled)))
            for argument in replaced
        }

        def change() -> dict[str, Any]:
            return {
                argument: bad_input.make_wrong(thing, call.arguments[argument]) for argument, thing in things.items()
            }

        fault = bad_input.fault(call, change)
        assert fault is None, f"{name} with {things}: {fault}"

    run()


@pytest.mark.parametrize("group", GROUPS)
def test_few_wrong_arguments(group):
    throw(group, FEW[group])


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.slow
def test_many_wrong_arguments(group):
    throw(group, MANY[group])


def test_integers_that_jax_would_cut_off_are_refused():
    """JAX's integers have 32 bits, and of 10^10 it kept the last ones: another horizon."""
    for horizon in (10**10, np.int64(10**10), 10**20):
        with pytest.raises(ValueError, match=r"^policies\['p'\].horizon: .* is not a number of JAX"):
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

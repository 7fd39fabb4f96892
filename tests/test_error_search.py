"""The opponent of rules that stop: it finds where an inexact one errs, and its numbers are those of `simulate`."""

import jax
import numpy as np
import pytest
from scipy.stats import binom, binomtest

import jaxbandit
from jaxbandit import UCB1, StoppedWarning, stress
from jaxbandit.policies import BernoulliGLR, ChainGLR, Identify, RoundRobin, TopTwo
from jaxbandit.stress import Problem, TwoStateSpace

SPACE = TwoStateSpace(slowest=0.02)
SIZE = {"objective": "wrong answers", "budget": 64, "number": 2, "runs": 200, "horizon": 1500, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def one_program():
    """Both parts of a search play as many runs, which is one program less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stress.point_search, "RUNS_AGAIN", stress.point_search.RUNS)
        yield


@pytest.fixture(scope="module")
def failures(one_program):
    return stress.worst(Identify(TopTwo(), BernoulliGLR(), 0.1), SPACE, **SIZE)


@pytest.mark.slow
def test_a_rule_for_independent_rewards_is_disproved(failures):
    """Wrong in a third of runs or more; if the rule were right this would happen once in 10^20 searches."""
    assert failures[0].certain and failures[0].share.mean > 1 / 3
    for found in failures:
        assert found.judged and not found.stopped and found.delta == 0.1 and found.runs == 200
        test = binomtest(found.wrong, found.runs)
        assert found.share[1:] == pytest.approx(tuple(test.proportion_ci(0.95, "exact")))
        assert found.p_value == pytest.approx(binom.sf(found.wrong - 1, found.runs, 0.1))
        assert f"wrong in {found.wrong} of 200 new runs" in str(found)
        assert jaxbandit.environments.two_state.__name__ in found.problem.code


@pytest.mark.slow
def test_the_numbers_are_those_of_simulate(failures):
    """On random numbers of the test's own, wrong answers agree within five standard errors (p 1e-6 for each)."""
    policy = Identify(TopTwo(), BernoulliGLR(), 0.1)
    arms = failures[0].arms
    result = jaxbandit.simulate(
        arms, {"p": policy}, until="stopped", runs=400, horizon=1500, key=jax.random.key(9), progress=False
    )
    wrong = (result.stopped["p"] > 0) & (result.answers["p"] != np.argmax(arms.means()))
    share, error = wrong.mean(), np.sqrt(0.25 / 200 + 0.25 / 400)
    assert abs(failures[0].share.mean - share) < 5 * error


@pytest.mark.slow
def test_the_exact_rule_survives():
    """Two claims at most, tested one after the other: false in one of 20 searches of a rule that errs exactly delta."""
    for found in stress.worst(Identify(TopTwo(), ChainGLR(), 0.1), SPACE, **SIZE | {"horizon": 400, "budget": 32}):
        assert not found.certain and found.p_value > 0.5
        assert "not shown to be more often than accepted" in str(found)


@pytest.mark.slow
def test_ctrl_c_keeps_what_the_search_believed(monkeypatch):
    calls = iter(range(9))

    def simulate(**asked):
        if next(calls):
            raise KeyboardInterrupt
        return jaxbandit.simulate(**asked)

    monkeypatch.setattr("jaxbandit.interruption.CtrlC.take", lambda self: True)
    monkeypatch.setattr(stress.trials, "simulate", simulate)
    with pytest.warns(StoppedWarning, match="nothing is judged"):
        found = stress.worst(Identify(TopTwo(), BernoulliGLR(), 0.1), SPACE, **SIZE)
    assert len(found) == 2 and not any(item.judged or item.certain for item in found)
    assert "which was stopped, believed" in str(found[0])


class Tied:
    """A space of problems whose arms are all the same."""

    dimension = 2

    def problem(self, point):
        move = float(0.1 + 0.8 * point[0].round(3))
        return Problem(f"two_state([{move}] * 2, [0.5] * 2)", jaxbandit.two_state([move] * 2, [0.5] * 2))

    def panel(self):
        return {}


@pytest.mark.parametrize(
    ("policy", "changed", "message"),
    [
        (UCB1(), {}, r"policy: .*UCB1.* does not stop with an error rate; objective="),
        (Identify(), {"panel": {"u": UCB1()}}, "panel: leave it out"),
        (Identify(), {"plays": 2}, "plays: 2; with objective="),
        (Identify(), {"objective": "errors"}, "objective: 'errors'"),
        (Identify(), {"space": Tied()}, "space: all problems of .* have several best arms"),
        (Identify(RoundRobin(), delta=2.0), {}, "policy.delta: 2.0"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(policy, changed, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        stress.worst(policy, **{"space": SPACE} | SIZE | changed)

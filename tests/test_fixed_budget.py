"""The best arm after a budget of rounds, against loops and the exact probability of an error."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import jaxbandit
from jaxbandit import bernoulli, metrics, simulate, two_state
from jaxbandit.policies import BernoulliGLR, Budget, Identify, RoundRobin, SequentialHalving, TopTwo


def halving(rewards, budget):
    """The arms that sequential halving plays and its answer; `rewards[k][n]` is paid by the n-th play of arm k."""
    left, played, phases = list(range(len(rewards))), [], math.ceil(math.log2(len(rewards)))

    def mean(arm):
        return np.mean(rewards[arm][: played.count(arm)])

    for phase in range(phases):
        for _ in range(budget // (len(left) * phases)):
            played += left
        if phase < phases - 1:
            ordered = sorted(left, key=lambda arm: (-mean(arm), arm))
            left = sorted(ordered[: math.ceil(len(left) / 2)])
    for arm in itertools.islice(itertools.cycle(sorted(left, key=played.count)), budget - len(played)):
        played.append(arm)
    return played, min(left, key=lambda arm: (-mean(arm), arm))


@pytest.mark.parametrize(("arms", "budgets"), [(5, (15, 47)), (3, (6, 20))])
def test_sequential_halving_is_a_loop(arms, budgets):
    """Arms and answers of every run; rewards are .1, .2, .. by the states of a chain, so that means rarely tie."""
    chains = two_state(np.linspace(0.3, 0.6, arms), np.linspace(0.6, 0.3, arms))
    times = range(1, max(budgets) + 1)
    result = simulate(
        chains,
        {"S": [SequentialHalving(budget) for budget in budgets]},
        until="stopped",
        runs=6,
        horizon=max(budgets),
        times=times,
    )
    for (v, budget), run in itertools.product(enumerate(budgets), range(6)):
        visits = result.visits["S"][0, v, run].astype(int)
        steps = np.diff(visits, axis=0, prepend=0)[:budget]
        rewards = [[step[k, 1] for step in steps if step[k].sum()] for k in range(arms)]
        played, answer = halving(rewards, budget)
        assert [int(step.sum(1).argmax()) for step in steps] == played
        assert result.answers["S"][0, v, run] == answer and result.stopped["S"][0, v, run] == budget


def test_uniform_allocation_errs_as_often_as_is_exact():
    """10 plays of each of two arms: the exact probability of an error; fails by chance once in 10,000 times."""
    best, other, n = 0.7, 0.5, 10
    counts = np.arange(n + 1)
    law = binom.pmf(counts, n, best)[:, None] * binom.pmf(counts, n, other)
    exact = law[counts[:, None] < counts].sum()  # on ties the first arm is answered
    policies = {"U": Identify(RoundRobin(), Budget(2 * n, BernoulliGLR())), "S": SequentialHalving(2 * n)}
    result = simulate(bernoulli([best, other]), policies, until="stopped", runs=4000, horizon=100, times=[100])
    for label in policies:
        found = metrics.identification(result, label)
        wrong = int(found.wrong[0, 0])
        assert binomtest(wrong, 4000, exact).pvalue > 5e-5
        assert found.regret[0, 0] == pytest.approx((best - other) * wrong / 4000, rel=1e-6)
        assert found.censored[0, 0] == 0 and found.mean[0, 0] == 2 * n


def test_late_feedback_and_numbers():
    """Halves by what has come; arms whose rewards are any real numbers, some of them negative."""
    gaussian = jaxbandit.gaussian([-1.0, -3.0, -2.0, -4.0], 0.01)
    result = simulate(gaussian, {"S": SequentialHalving(40)}, until="stopped", runs=4, horizon=40, delay=3)
    assert (result.answers["S"] == 0).all() and (result.stopped["S"] == 40).all()
    np.testing.assert_array_equal(result.visits["S"][0, 0, :, -1].sum(-1), [[15, 5, 15, 5]] * 4)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (SequentialHalving(5), "budget: 5 is not"),
        (SequentialHalving(60), "budget: 60 is beyond the horizon of 50"),
        (Identify(TopTwo(), Budget(0)), "rounds: 0 is not"),
        (Identify(TopTwo(), Budget(51)), "rounds: 51 is beyond the horizon"),
        (Identify(TopTwo(), Budget(5, RoundRobin())), "rule: RoundRobin.* is not a rule"),
    ],
)
def test_wrong_budgets_are_named(policy, message):
    with pytest.raises(ValueError, match=message):
        simulate(bernoulli([0.5, 0.4, 0.3]), {"p": policy}, until="stopped", runs=1, horizon=50)

"""Arms whose means fall with their own plays: declared, checked, and compared with the greedy oracle."""

import jax.numpy as jnp
import numpy as np
import pytest
from environments import Rotting

import jaxbandit
from jaxbandit import UCB1, Oracle, Window, metrics, simulate
from jaxbandit.testing import check_environment

ARMS = Rotting(start=np.array([0.9, 0.8, 0.5]), floor=np.array([0.2, 0.4, 0.3]), keep=0.98)


def mean_of(arm, plays):
    """The mean of the play that comes after so many plays, in float64."""
    return ARMS.floor[arm] + (ARMS.start[arm] - ARMS.floor[arm]) * 0.98**plays


def collected_by_oracle(horizon, plays=1):
    """What the greedy oracle's plays pay on average by each round: a loop over rounds."""
    played, paid = np.zeros(3, int), []
    for _ in range(horizon):
        means = np.array([mean_of(k, played[k]) for k in range(3)])
        best = np.argsort(-means, kind="stable")[:plays]
        paid.append(means[best].sum())
        played[best] += 1
    return np.cumsum(paid)


@pytest.mark.parametrize(("plays", "policy"), [(1, UCB1()), (2, UCB1(memory=Window(50)))])
def test_regret_is_against_the_greedy_oracle(plays, policy):
    """In every round, from the plays of each arm: the oracle's means in its own state minus those of the plays."""
    horizon = 300
    policies = {"UCB1": policy, "first": Oracle([3.0, 2.0, 1.0])}
    result = simulate(ARMS, policies, runs=4, horizon=horizon, plays=plays, times=range(1, horizon + 1), shuffle=True)
    assert metrics.regret_name(result) == "regret against the greedy oracle"
    best = collected_by_oracle(horizon, plays)
    by_plays = np.array([np.cumsum([0, *mean_of(k, np.arange(horizon))]) for k in range(3)])
    for label in policies:
        played = result.visits[label][0, 0].sum(-1)  # [run, round, arm]
        paid = sum(by_plays[k][played[..., k]] for k in range(3))
        np.testing.assert_allclose(metrics.regret(result, label)[0, 0], best - paid, atol=1e-4)
    assert metrics.regret(result, "first")[0, 0, :, -1].min() > 3
    with pytest.raises(ValueError, match="this result is of arms that rot"):
        metrics.pseudo_regret(result, "UCB1")


def test_the_oracle_is_the_best_that_there_is():
    """Of means that never rise the best choice of n plays pays the n largest means of all plays of all arms."""
    every = np.concatenate([mean_of(k, np.arange(300)) for k in range(3)])
    assert collected_by_oracle(300)[-1] == pytest.approx(np.sort(every)[-300:].sum())


@pytest.mark.slow
def test_an_arm_that_rots_is_declared_or_said():
    """Undeclared, with the limit as its means, it would have no regret at all: the check finds it, simulate warns."""

    @jaxbandit.pytree
    class Undeclared(Rotting):
        declares = jaxbandit.Declares()
        means_now = None

    arms = Undeclared(np.array([0.9, 0.9]), np.array([0.2, 0.2]), 0.999)
    with pytest.raises(AssertionError, match=r"step: arm 0 moves from state 0 to .* Declares.problem=.rotting."):
        check_environment(arms, settle=2048)
    with pytest.warns(UserWarning, match=r"arm 0 paid 0.\d+ a play to 'UCB1', and means\(\) says 0.2"):
        simulate(arms, {"UCB1": UCB1()}, runs=20, horizon=1000, times=[1000])
    simulate(arms, {"UCB1": UCB1()}, runs=19, horizon=1000, times=[1000])  # too few to say so

    @jaxbandit.pytree
    class Silent(Rotting):
        means_now = None

    with pytest.raises(ValueError, match=r'declares the problem "rotting" and has no means_now; write means_now'):
        simulate(Silent(np.array([0.9, 0.9]), np.array([0.2, 0.2])), {"UCB1": UCB1()}, runs=2, horizon=9)


@pytest.mark.slow
def test_declared_arms_keep_their_contract():
    check_environment(ARMS, settle=1024)


def test_what_means_now_may_not_return():
    @jaxbandit.pytree
    class Short(Rotting):
        def means_now(self, state, t):
            return jnp.zeros(2)

    with pytest.raises(ValueError, match=r"means_now: must return .* \[K\] = \(3,\)"):
        simulate(Short(ARMS.start, ARMS.floor), {"UCB1": UCB1()}, runs=2, horizon=9)

"""Epsilon-greedy, explore-then-commit, Boltzmann, UCB1-Tuned and UCB-V: laws, loops, and vectors by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_law, check_same_arms

import jaxbandit
from jaxbandit import UCBV, Boltzmann, EpsilonGreedy, ExploreThenCommit, Feedback, UCB1Tuned, simulate, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
TABLE = jnp.tile(jnp.array([0.0, 1.0]), (3, 1))
BY_CHANCE = [
    ("EpsilonGreedy", {"epsilon": 0.3}),
    ("EpsilonGreedy", {"c": 0.4, "d": 0.5}),  # epsilon = 3.2 / t
    ("Boltzmann", {"temperature": 0.4}),
]


@pytest.mark.parametrize(("name", "fields"), BY_CHANCE)
def test_exact_law_of_six_rounds(name, fields):
    """All 4,096 trajectories against 20,000 runs, chi-square at 1e-9 (3 cases: false fails below 4e-9)."""
    arms = two_state([0.5, 0.3], [0.4, 0.6])
    law = reference.exact_law(name, arms.transition.tolist(), arms.reward.tolist(), 0, 6, **fields)
    result = simulate(arms, {"p": getattr(jaxbandit, name)(**fields)}, runs=20_000, horizon=6, times=[6])
    check_law(result.visits["p"][0, 0, :, 0], law)


@pytest.mark.parametrize("m", [1, 7])
def test_explore_then_commit_plays_as_the_loop(m):
    check_same_arms(reference.play, "ExploreThenCommit", {"m": m}, ARMS, runs=5, rounds=100)


def test_explore_then_commit_keeps_its_arms():
    """With two plays a round, and with late feedback: at least m plays of each, and at last the same arms."""
    for more in ({"plays": 2}, {"delay": 4}):
        plays = more.get("plays", 1)
        result = simulate(ARMS, {"p": ExploreThenCommit(5)}, runs=20, horizon=90, times=[30, 90], **more)
        counts = result.visits["p"][0, 0].sum(-1)
        assert counts[:, 0].min() >= 5 and counts[:, 0].sum(-1).tolist() == [30 * plays] * 20
        later = np.sort(counts[:, 1] - counts[:, 0], axis=-1)
        np.testing.assert_array_equal(later, [[0] * (3 - plays) + [60] * plays] * 20)


def state_of(policy, *counts):
    """The state of a policy after plays that led to the states 0 and 1 so often."""
    state, counts = policy.init(TABLE), jnp.array(counts, jnp.int32)
    if hasattr(state, "memory"):
        return state._replace(memory=state.memory._replace(counts=counts))
    return state._replace(counts=counts)


def test_vectors():
    """By hand in 50 digits and from the raw rewards in float64."""
    seen, close = ((30, 10), (10, 990), (1, 0)), {"rtol": 2e-6}
    tuned, v = UCB1Tuned(), UCBV(zeta=1.2, c=0.7)
    np.testing.assert_allclose(
        tuned.scores(None, state_of(tuned, *seen), 1041)[0], [0.458371303, 1.01979317, 1.31785583], **close
    )
    np.testing.assert_allclose(
        v.scores(None, state_of(v, *seen), 1041)[0], [0.967298811, 1.02035726, 17.5088014], **close
    )
    boltzmann, greedy = Boltzmann(0.2), EpsilonGreedy(c=0.1, d=0.3)
    state = state_of(boltzmann, (3, 1), (1, 3), (2, 2))
    np.testing.assert_allclose(boltzmann.probabilities(state, 20), [0.0599777953, 0.730679129, 0.209343075], **close)
    # epsilon is 1/6 in round 20, and 1 until round 3
    np.testing.assert_allclose(greedy.probabilities(state, 20), np.array([1, 16, 1]) / 18, **close)
    np.testing.assert_allclose(greedy.probabilities(state, 3), np.ones(3) / 3, **close)
    new = state_of(boltzmann, (3, 1), (0, 0), (0, 0))
    assert boltzmann.probabilities(new, 5).tolist() == [0, 1, 0]
    np.testing.assert_allclose(EpsilonGreedy(0.3).probabilities(new, 5), [0.1, 0.8, 0.1], **close)


def test_probabilities_are_finite_at_the_ends():
    coldest, hottest = Boltzmann(1e-30), Boltzmann(1e30)
    state = state_of(coldest, (3, 1), (1, 3), (2, 2))
    assert coldest.probabilities(state).tolist() == [0, 1, 0]
    assert int(coldest.scores(jax.random.key(0), state, 9)[0].argmax()) == 1
    np.testing.assert_allclose(hottest.probabilities(state), np.ones(3) / 3, rtol=1e-6)


def test_variances_of_real_rewards_are_those_of_the_table():
    """The same rewards with and without a table, which are remembered as counts and as sums."""
    for policy in (UCB1Tuned(), UCBV()):
        scores = []
        for table in (TABLE, jnp.zeros((3, 0))):
            state = policy.init(table)
            for t in range(1, 31):
                state = policy.update(state, Feedback.of(t % 3, float(t % 4 == 0 or t % 7 == 0), t=t, table=table))
            scores.append(policy.scores(None, state, 31)[0])
        np.testing.assert_allclose(*scores, rtol=1e-5)


def test_rewards_outside_the_unit_interval_need_a_table():
    for policy in (UCB1Tuned(), UCBV()):
        with pytest.raises(ValueError, match=r"plays rewards from 0 to 1; those of scenario"):
            simulate(jaxbandit.gaussian([0.5, 0.2]), {"p": policy}, runs=1, horizon=5)


def test_an_epsilon_is_a_number_or_follows():
    for policy, message in (
        (EpsilonGreedy(c=1.0), "epsilon: missing; give it, or c and d"),
        (EpsilonGreedy(0.1, c=1.0, d=0.5), "c: 1.0 beside epsilon"),
    ):
        with pytest.raises(ValueError, match=rf"policies\['p'\]\.{message}"):
            simulate(ARMS, {"p": policy}, runs=1, horizon=5)

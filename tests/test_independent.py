"""Policies for independent rewards: empirical KL-UCB, DMED against its lists, and the information K_inf."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
import reference_dmed
from against import check_law, check_same_arms

import jaxbandit
from jaxbandit import ALL, DMED, EmpiricalKLUCB, Feedback, RoundRobinKLUCB, bounds, markov, top_arms, two_state
from jaxbandit.bounds.nearest import nearest_row
from jaxbandit.confidence import kl_ball_max
from jaxbandit.policies.parts.exploration import level
from jaxbandit.testing import check_policy


@pytest.mark.slow
def test_lai_and_robbins_s_rule():
    """All 1,024 trajectories of ten rounds at 1e-9, and 900 rounds; rewards of 0 and 1 would tie with a mean."""
    fields, reward = {"exploration": 0.0, "delta": 0.25}, (0.1, 0.83)
    arms = two_state([0.5, 0.3], [0.4, 0.6], reward)
    law = reference.exact_law("RoundRobinKLUCB", arms.transition.tolist(), arms.reward.tolist(), 0, 10, **fields)
    result = jaxbandit.simulate(arms, {"p": RoundRobinKLUCB(**fields)}, runs=20_000, horizon=10, times=[10])
    check_law(result.visits["p"][0, 0, :, 0], law)
    check_same_arms(reference.play, "RoundRobinKLUCB", fields, arms, runs=3, rounds=300)


# Empirical KL-UCB

VALUES = (0.0, 0.25, 0.5, 1.0)
BALL = [
    ((5, 3, 2, 0), 0.1, 0.2774249998, (0.3612875001, 0.2890300001, 0.2890300001, 0.06065249971)),
    ((5, 3, 2, 0), 0.6, 0.5617361084, (0.2191319458, 0.1753055566, 0.1753055566, 0.430256941)),
    ((1, 1, 1, 1), 0.05, 0.5585037973, None),
    ((0, 4, 0, 0), 0.3, 0.4443863345, (0, 0.7408182207, 0, 0.2591817793)),
    ((2, 0, 6, 2), 0.2, 0.7031166851, (0.08330711343, 0, 0.4271524029, 0.4895404836)),
]


@pytest.mark.parametrize(("counts", "radius", "index", "law"), BALL)
@pytest.mark.slow
def test_empirical_kl_ucb_vectors(counts, radius, index, law):
    """By the multiplier's form and by a general solver; the policy has this radius in round exp(radius T)."""
    p = np.array(counts) / sum(counts)
    maximum, row = kl_ball_max(p, jnp.array(VALUES), radius)
    assert float(maximum) == pytest.approx(index, abs=2e-6)
    if law is not None:
        assert row.tolist() == pytest.approx(law, abs=2e-6)
    policy, t = EmpiricalKLUCB(exploration=0.0), math.exp(radius * sum(counts))
    state = policy.init(jnp.array([VALUES] * 2))._replace(counts=jnp.array([counts, (0, 0, 0, 0)], jnp.int32))
    assert policy.scores(None, state, t)[0].tolist() == pytest.approx([index, math.inf], abs=2e-6)


def test_the_arms_clock_counts_in_float64_under_x64():
    """t / T of large integers against Python's floats; float32 would be off by 1e-8."""
    with jax.enable_x64(True):
        result = level(jnp.int32(2**31 - 1), 3.0, "arm", jnp.array([3, 1_000_003, 2**24 + 1], jnp.int32))
    logs = [math.log((2**31 - 1) / T) for T in (3, 1_000_003, 2**24 + 1)]
    np.testing.assert_allclose(result, [each + 3 * math.log(each) for each in logs], rtol=1e-14)


OF_ALL = [{}, {"clock": "arm"}, {"horizon": 300.0}, {"solver": "bisection"}]  # each for the policies that have it
WITH = [(name, each) for each in OF_ALL for name in ALL if each.keys() <= ALL[name].__annotations__.keys()]


@pytest.mark.parametrize(("name", "fields"), WITH)
def test_no_policy_computes_in_float32_under_x64(name, fields):
    """No number of its program has that type, for arms with two and three states."""

    def one_round(policy, key, t, reward, arm, paid):
        state = policy.init(reward)
        return policy.scores(key, state, t)[0], policy.update(state, Feedback(arm, arm, arm, paid, t))

    for values in ((0.0, 1.0), (0.0, 0.5, 1.0)):
        with jax.enable_x64(True):
            policy, reward = jax.tree.map(jnp.asarray, ALL[name](**fields)), jnp.tile(jnp.array(values), (3, 1))
            arm = jnp.array([1], jnp.int32)
            program = jax.make_jaxpr(one_round)(policy, jax.random.key(0), jnp.int32(5), reward, arm, jnp.ones(1))
        assert "f64[" in str(program) and "f32[" not in str(program)


# Three arms whose laws have close means; rewards without symmetry, so that no two arms tie
LAWS = np.array([[0.2, 0.5, 0.3], [0.35, 0.3, 0.35], [0.15, 0.2, 0.65]])
LOW, OUTSIDE = (0.1, 0.83, 0.37), (3.0, -2.0, 0.43)
OF_MORE = [({}, LOW), ({"top": True}, LOW), ({"exploration": None}, OUTSIDE), ({"exploration": 3.0}, LOW)]


def independent(reward, arms=3):
    return markov(np.repeat(LAWS[:arms, None], 3, axis=1), reward)


@pytest.mark.parametrize(("fields", "reward"), OF_MORE)
@pytest.mark.slow
def test_empirical_kl_ucb_of_three_states_in_every_round(fields, reward):
    """In float64, against a root of the divergence by its multiplier; the chain's rows do not matter to it."""
    check_same_arms(reference.play, "EmpiricalKLUCB", fields, independent(reward), runs=3, rounds=200)


@pytest.mark.parametrize("fields", [{}, {"top": True}])
@pytest.mark.slow
def test_exact_law_of_empirical_kl_ucb_with_three_states(fields):
    """All trajectories of six rounds against 20,000 runs, chi-square at 1e-9 (false fails below 2e-9)."""
    arms = independent(LOW, 2)
    law = reference.exact_law("EmpiricalKLUCB", arms.transition, arms.reward, 0, 6, **fields)
    result = jaxbandit.simulate(arms, {"p": EmpiricalKLUCB(**fields)}, runs=20_000, horizon=6, times=[6])
    check_law(result.visits["p"][0, 0, :, 0], law)


def test_empirical_kl_ucb_of_many_states_keeps_the_contract():
    check_policy(EmpiricalKLUCB(top=True), states=4, plays=2, rounds=8)


# DMED


@pytest.mark.parametrize("plus", [True, False])
@pytest.mark.parametrize("reward", [(0.0, 1.0), (0.1, 0.83)])
def test_dmed_in_every_round(plus, reward):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward)
    check_same_arms(reference_dmed.play, "DMED", {"plus": plus}, arms, runs=10, rounds=1500)


@pytest.mark.slow
def test_dmed_fills_up_a_list_with_the_best_means():
    """Two plays a round of four arms, by hand: the list holds arm 3 alone, arm 1 has the best mean of the others."""
    policy = DMED()
    state = policy.init(jnp.tile(jnp.array([0.0, 1.0]), (4, 1)))
    counts = jnp.array([[15, 15], [10, 30], [15, 5], [8, 2]], jnp.int32)
    state = state._replace(now=jnp.array([False, False, False, True]), counts=counts)
    arms = top_arms(policy.scores(None, state, 51)[0], 2)
    assert sorted(arms.tolist()) == [1, 3]
    state = policy.update(state, Feedback(arms, jnp.array([0, 0]), jnp.array([0, 0]), jnp.zeros(2), jnp.int32(51)))
    # means 1/2, 30/41, 1/4, 2/11, the second largest arm 0's: 20 d(1/4, 1/2) = 2.6 and 11 d(2/11, 1/2) = 2.3 are more
    # than log 51/20 and log 51/11
    assert state.now.tolist() == [True, True, False, False] and not bool(state.following.any())


# the lower bound for laws on finitely many values

K_INF = [
    ((5, 3, 2, 0), 0.5, 0.4682131227),
    ((5, 3, 2, 0), 0.9, 2.077651035),
    ((1, 1, 1, 1), 0.7, 0.2354846947),
    ((2, 6, 2, 0), 0.45, 0.2865983212),
]


@pytest.mark.parametrize(("counts", "mean", "information"), K_INF)
def test_information_of_laws_on_four_values(counts, mean, information):
    """Maximum of the dual and inverse of the ball; the best arm has any law with this mean."""
    law, values = np.array(counts) / sum(counts), np.array(VALUES)
    assert nearest_row(law[None], values[None] - mean).cost[0] == pytest.approx(information, rel=1e-9)
    assert float(kl_ball_max(law, values, information)[0]) == pytest.approx(mean, abs=2e-6)
    laws = np.array([[1 - mean, 0, 0, mean], law])
    bound = bounds.lai_robbins(markov(np.repeat(laws[:, None], 4, axis=1), VALUES))
    assert bound.per_arm.tolist() == pytest.approx([0, (mean - law @ values) / information], rel=1e-6)

"""UCB2 and UCB1-Normal against float64 loops written from other descriptions of their paper."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import check_same_arms

from jaxbandit import UCB2, Feedback, UCB1Normal, bernoulli, environments, simulate, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
NO_TABLE = jnp.zeros((2, 0))


def by_epochs(name, draws, reward, initial_state, horizon, /, alpha=0.001):
    """The arms that UCB2 plays: each once, then epochs of tau(r + 1) - tau(r) plays, some of which are of none."""
    arms = range(len(reward))
    states, paid, epochs, chosen = [initial_state] * len(reward), [[] for _ in arms], [0] * len(reward), []

    def tau(r):
        return math.ceil((1 + alpha) ** r)

    def play(arm):
        states[arm] = int(draws(arm, len(paid[arm]) + 1, states[arm]))
        paid[arm].append(reward[arm][states[arm]])
        chosen.append(arm)

    def score(arm):
        of_epoch = tau(epochs[arm])
        width = (1 + alpha) * math.log(math.e * len(chosen) / of_epoch) / (2 * of_epoch)
        return math.fsum(paid[arm]) / len(paid[arm]) + math.sqrt(width)

    for arm in arms:
        play(arm)
    while len(chosen) < horizon:
        arm = max(arms, key=score)
        for _ in range(tau(epochs[arm] + 1) - tau(epochs[arm])):
            play(arm)
        epochs[arm] += 1
    return chosen[:horizon]


@pytest.mark.parametrize("alpha", [0.001, 0.1, 0.5])
def test_ucb2_plays_the_epochs_of_the_paper(alpha):
    check_same_arms(by_epochs, "UCB2", {"alpha": alpha}, ARMS, runs=5, rounds=1500)


def test_plays_under_way_begin_no_epoch():
    """With delayed feedback the first arm, which is played at first, is left for the better one in all runs."""
    arms = bernoulli([0.2, 0.8])
    result = simulate(arms, {"p": UCB2(alpha=0.5)}, runs=20, horizon=1000, delay=20, times=[1000])
    assert result.visits["p"][0, 0, :, -1, 1].sum(-1).min() > 700


@pytest.mark.parametrize("alpha", [0.25, 0.0625, 2.0**-10])
def test_epochs_in_single_precision(alpha):
    """The plays at which epochs end against exact powers: equal to 10,000, and to one in a million above."""
    policy, exact, power, r = UCB2(alpha), [], Fraction(1), 0
    while power < 10**6:
        power, r = power * (1 + Fraction(alpha)), r + 1
        if (end := math.ceil(power)) > (exact[-1][1] if exact else 1):
            exact.append((r, end))
    ends, exponent = [], jnp.int32(0)
    step = jax.jit(policy.epoch)
    for _ in exact:
        exponent, end = step(exponent, jnp.int32(ends[-1] if ends else 1))
        ends.append(int(end))
    wanted = np.array([end for _, end in exact])
    near = wanted <= 10_000
    np.testing.assert_array_equal(np.array(ends)[near], wanted[near])
    assert (abs(np.array(ends) - wanted) <= 1 + wanted * 1e-6).all()


def test_vectors():
    """Scores by hand, in 50 digits: means 1/2 and 0 of 2 and 1 plays, and 2/3 and 6/7 of 30 and 35 plays."""
    table = jnp.tile(jnp.array([0.0, 1.0]), (2, 1))
    policy = UCB2(alpha=0.5)
    state = policy.init(table)
    for t, (arm, paid) in enumerate(((0, 1.0), (1, 0.0), (0, 0.0)), 1):
        state = policy.update(state, Feedback.of(arm, paid, t=t, table=table))
    np.testing.assert_allclose(policy.scores(None, state, 4)[0], [1.225981691, 1.254575313], rtol=1e-6)
    state = UCB1Normal().init(table)
    state = state._replace(memory=state.memory._replace(counts=jnp.array([[10, 20], [5, 30]])))
    np.testing.assert_allclose(UCB1Normal().scores(None, state, 40)[0], [1.336869852, 1.316605144], rtol=1e-6)


def test_ucb1_normal_keeps_the_digits_of_a_variance():
    """Rewards around 1,000 with deviation 1, whose squares lose it in single precision: 3,000 plays in float64."""
    rewards = np.random.default_rng(0).normal(1000, 1, 3000).astype(np.float32)
    policy = UCB1Normal()

    def following(state, now):
        t, paid = now
        here = jnp.zeros(1, jnp.int32)
        return policy.update(state, Feedback(here, here, here, paid[None], t)), None

    state, _ = jax.lax.scan(following, policy.init(NO_TABLE), (jnp.arange(1, 3001, dtype=jnp.int32), rewards))
    assert float(state.squared_differences()[0]) == pytest.approx(3000 * rewards.astype(float).var(), rel=1e-4)


def test_ucb1_normal_needs_no_scale():
    """Rewards 1,024 times as large, which floats scale exactly, are played alike, and ceil(8 log n) times or more."""
    result = [
        simulate(
            environments.gaussian(scale * np.array([0.5, 0.2, -0.1]), scale), {"p": UCB1Normal()}, runs=20, horizon=500
        )
        for scale in (1.0, 1024.0)
    ]
    np.testing.assert_array_equal(*(each.visits["p"] for each in result))
    assert result[0].visits["p"][0, 0, :, -1, :, 0].min() >= math.ceil(8 * math.log(500))

"""Markov arms: constructors, bad input, the law of what they draw, the stack of rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxbandit
from jaxbandit import bernoulli, markov, two_state

ARMS = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])


def test_means():
    np.testing.assert_allclose(ARMS.means(), [5 / 9, 8 / 19, 6 / 19, 4 / 17, 1 / 8], rtol=1e-14)
    np.testing.assert_allclose(bernoulli([0.3, 1.0, 0.0]).means(), [0.3, 1, 0], rtol=1e-14)
    np.testing.assert_allclose(two_state([0.5, 0.4], [0.4, 0.55], reward=(3, -1)).means()[0], 3 * 4 / 9 - 5 / 9)
    assert ARMS.means().dtype == np.float64


def test_transition_counts_follow_the_law():
    """Exact binomial tests of 6 rows, two-sided at 1e-9: finds a bias of 0.01 of p = 0.5 with certainty (1e6 draws)."""
    chain = markov([[[0.5, 0.5], [0.4, 0.6]], [[0.9996, 0.0004], [0.25, 0.75]], [[0.0, 1.0], [0.7, 0.3]]], (0, 1))

    def alone(key, arm):
        def body(state, t):
            state, feedback = chain.step(key, state, arm[None], t)
            return state, (feedback.before[0], feedback.states[0])

        return jax.lax.scan(body, chain.init(key), 1 + jnp.arange(2000))[1]

    of_runs = jax.jit(jax.vmap(alone, (0, None)))
    for arm in range(3):
        before, after = map(np.asarray, of_runs(jax.random.split(jax.random.key(0), 1000), jnp.int32(arm)))
        for s in range(2):
            left = before == s
            count, total = int((after[left] == 1).sum()), int(left.sum())
            assert total > 1000
            assert stats.binomtest(count, total, chain.transition[arm, s, 1]).pvalue > 1e-9


def test_stationary_start():
    """Exact binomial test at 1e-9 on 20,000 runs; a start in state 0 fails it."""
    environment = two_state([0.5, 0.0004], [0.4, 0.00055], initial_state="stationary")
    states = np.asarray(jax.jit(jax.vmap(environment.init))(jax.random.split(jax.random.key(0), 20_000)).states)
    for arm, p in enumerate(environment.means()):
        assert stats.binomtest(int(states[:, arm].sum()), 20_000, p).pvalue > 1e-9


def test_fixed_starts():
    key = jax.random.key(0)
    assert bernoulli([0.5, 0.4]).init(key).states.tolist() == [0, 0]
    assert two_state([0.5, 0.5], [0.5, 0.5], initial_state=1).init(key).states.tolist() == [1, 1]
    assert two_state([0.5, 0.5], [0.5, 0.5], initial_state=[1, 0]).init(key).states.tolist() == [1, 0]


def test_rewards_are_of_the_state_moved_to():
    environment = markov([[[0.0, 1.0], [1.0, 0.0]]] * 2, [[2.0, 3.0], [5.0, 7.0]])
    _, feedback = environment.step(jax.random.key(0), environment.init(jax.random.key(0)), jnp.array([1], jnp.int32), 1)
    assert feedback.before.tolist() == [0] and feedback.states.tolist() == [1] and feedback.rewards.tolist() == [7.0]


GOOD = [[[0.5, 0.5], [0.4, 0.6]]] * 2
BAD = [
    (lambda: markov([[[0.5, 0.4], [0.4, 0.6]]] * 2, (0, 1)), "transition: row 0 of arm 0 sums to 0.9"),
    (lambda: markov([[[1.5, -0.5], [0.4, 0.6]]] * 2, (0, 1)), "transition: negative"),
    (lambda: markov(np.eye(2)[None].repeat(2, 0), (0, 1)), "transition: arm 0 is reducible"),
    (lambda: markov(GOOD[:1], (0, 1)), "transition: one arm"),
    (lambda: markov(GOOD, (0, 1, 2)), "reward: shape"),
    (lambda: markov(GOOD, (0.5, 0.5)), "reward: every state of every arm pays 0.5"),
    (lambda: markov(np.ones((2, 65, 65)) / 65, np.arange(65)), "transition: 65 states"),
    (lambda: two_state([0.5, 0.4], [0.4]), "p01 and p10: shapes"),
    (lambda: two_state([0.5, 1.4], [0.4, 0.4]), "p01: a probability lies outside"),
    (lambda: two_state([0.5, 0.4], [0.4, 0.4], initial_state=2), "initial_state: 2 is out of range"),
    (lambda: jaxbandit.random_arms(jax.random.key(0), concentration=0.0), "concentration"),
    (lambda: markov(GOOD, (0, 1e39)), "reward: a value beyond 1e30"),
    (lambda: two_state([1.2 * 2**-32, 0.5], [0.5, 0.5]), "p01: a positive probability is below"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        build()

"""Gradient bandits: the textbook's rule in a plain loop, optimisers of all kinds, grids of learning rates."""

import math
from functools import partial
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from against import reference_draws
from scipy import stats

import jaxbandit
from jaxbandit import GradientBandit, run_keys, simulate, two_state
from jaxbandit.policies.means import gradient
from jaxbandit.testing import check_policy

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
INJECTED = optax.inject_hyperparams(optax.adam)


def textbook(draws, noise, reward, horizon, rate):
    """Sutton and Barto 2018, equation 2.12: the arms played, where draws(k, n, s) is where the n-th play of k moves."""
    arms = range(len(reward))
    preferences, states, plays = [0.0] * len(reward), [0] * len(reward), [0] * len(reward)
    baseline, played = 0.0, []
    for t in range(1, horizon + 1):
        total = sum(math.exp(h) for h in preferences)
        policy = [math.exp(h) / total for h in preferences]
        action = max(arms, key=lambda k: math.log(policy[k]) + noise[t - 1][k])
        plays[action] += 1
        states[action] = draws(action, plays[action], states[action])
        paid = reward[action][states[action]]
        baseline = paid if t == 1 else baseline
        for k in arms:
            if k == action:
                preferences[k] += rate * (paid - baseline) * (1 - policy[k])
            else:
                preferences[k] -= rate * (paid - baseline) * policy[k]
        baseline += (paid - baseline) / t
        played.append(action)
    return played


@pytest.mark.parametrize(
    ("policy", "rate"),
    [(GradientBandit(), 0.1), (GradientBandit(None, 0.3), 0.3), (GradientBandit(optax.sgd(0.4)), 0.4)],
)
@pytest.mark.slow
def test_plain_steps_are_the_textbooks_action_for_action(policy, rate):
    """Three runs of 3,000 rounds in float64, against plain loops fed with the same noise."""
    rounds, key = 3000, jax.random.key(11)
    environment = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward=(-0.5, 3.0))
    with jax.enable_x64(True):
        result = simulate(environment, {"g": policy}, key=key, runs=3, horizon=rounds, times=np.arange(1, rounds + 1))
        chance = run_keys(key, jnp.arange(3, dtype=jnp.int32)).policy
        keys = jax.vmap(lambda t: jax.vmap(jax.random.fold_in, (0, None))(chance, t))(jnp.arange(1, rounds + 1))
        noise = jax.vmap(jax.vmap(lambda key: jax.random.gumbel(key, (3,), mode="high")))(keys)  # [T, R, K]
    chosen = np.diff(result.visits["g"][0, 0].sum(-1), axis=1, prepend=0).argmax(-1)
    assert all(len(set(arms)) == 3 for arms in chosen.tolist())
    for run in range(3):
        draws = reference_draws(environment, key, run)
        expected = textbook(draws, noise[:, run].tolist(), environment.reward.tolist(), rounds, rate)
        np.testing.assert_array_equal(chosen[run], expected)


@pytest.mark.parametrize(
    "optimiser",
    [None, optax.adam, INJECTED, partial(optax.sgd, momentum=0.9)],
    ids=["sgd", "adam", "injected", "momentum"],
)
@pytest.mark.slow
def test_a_grid_of_learning_rates_is_one_program(optimiser):
    """Each variant has the bits of that learning rate alone; a second grid adds no trace."""
    rates = (0.01, 0.1, 1.0)
    options = {"runs": 20, "horizon": 300, "times": [10, 300]}
    grid = simulate(ARMS, {"g": [GradientBandit(optimiser, rate) for rate in rates]}, **options)
    for i, rate in enumerate(rates):
        alone = simulate(ARMS, {"g": GradientBandit(optimiser, rate)}, **options)
        np.testing.assert_array_equal(grid.visits["g"][0, i], alone.visits["g"][0, 0])
    assert len({grid.visits["g"][0, i].tobytes() for i in range(3)}) == 3


@pytest.mark.parametrize(
    "policy",
    [
        GradientBandit(optax.adam, 0.05),
        GradientBandit(INJECTED, 0.05),
        GradientBandit(optax.inject_hyperparams(optax.adam)(0.05)),
        GradientBandit(optax.chain(optax.clip(0.5), optax.sgd(optax.exponential_decay(0.5, 100, 0.9), momentum=0.5))),
    ],
    ids=["adam", "injected", "injected-ready", "chain"],
)
def test_optimisers_keep_the_contract(policy):
    """In float32, and in float64 with two plays a round."""
    check_policy(policy)
    with jax.enable_x64(True):
        check_policy(policy, arms=3, plays=2)
        simulate({"a": ARMS, "b": ARMS}, {"g": [policy, policy]}, runs=3, horizon=30, plays=2, shuffle=True)


@pytest.mark.slow
def test_injected_numbers_are_the_plain_ones():
    options = {"runs": 20, "horizon": 300, "times": [300]}
    policies = {"plain": GradientBandit(optax.adam, 0.05), "injected": GradientBandit(INJECTED, 0.05)}
    result = simulate(ARMS, policies, **options)
    np.testing.assert_array_equal(result.visits["plain"], result.visits["injected"])


@pytest.mark.slow
def test_plays_are_drawn_with_their_probabilities():
    """Pairs of three arms in order against the law of draws without replacement: chi-square at 1e-9."""
    policy = GradientBandit()
    state = policy.init(jnp.zeros((3, 2)))._replace(preferences=jnp.array([0.0, 1.0, -1.5]))
    keys = jax.random.split(jax.random.key(0), 100_000)
    pairs = np.asarray(jax.jit(jax.vmap(lambda key: jaxbandit.top_arms(policy.scores(key, state, 1)[0], 2)))(keys))
    weights = np.exp(np.array([0.0, 1.0, -1.5]))
    pi = weights / weights.sum()
    orders = list(permutations(range(3), 2))
    expected = [pi[a] * pi[b] / (1 - pi[a]) for a, b in orders]
    result = [int((pairs == order).all(1).sum()) for order in orders]
    assert stats.chisquare(result, np.array(expected) / sum(expected) * 100_000).pvalue > 1e-9


@pytest.mark.parametrize("arms", [[1], [2, 0], [0, 1, 2]])
def test_log_gradient(arms):
    """Against jax.grad of the log-probability written as a product of quotients."""
    preferences = jnp.array([0.3, -1.0, 0.8])

    def log_probability(preferences):
        weights, left = jnp.exp(preferences), [0, 1, 2]
        value = 0.0
        for arm in arms:
            value += jnp.log(weights[arm] / sum(weights[k] for k in left))
            left.remove(arm)
        return value

    result = gradient.log_gradient(preferences, jnp.array(arms))
    np.testing.assert_allclose(result, jax.grad(log_probability)(preferences), atol=1e-6)


BAD = [
    (GradientBandit(3), "optimiser: 3 is not an optax"),
    (GradientBandit(optax.lbfgs), "optimiser: .* from a gradient alone"),  # its line search wants the value too
    (GradientBandit(optax.adam, -0.1), "learning_rate: -0.1 lies outside"),
    (GradientBandit(optax.adam, jnp.array([0.1, 0.2])), "learning_rate: .* list of policies"),
    (GradientBandit(optax.adam(0.1), 0.1), "learning_rate: 0.1 beside a ready optimiser"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['g'\].{message}"):
        simulate(ARMS, {"g": policy}, runs=1, horizon=10)


class Steps:
    """A user's optimiser: steps of a tenth down the gradient."""

    def init(self, preferences):
        return ()

    def update(self, gradient, state, preferences):
        return -0.1 * gradient, state


def test_an_optimiser_of_ones_own_is_taken_by_what_it_can_do():
    own, plain = GradientBandit(Steps()), GradientBandit(learning_rate=0.1)
    visits = simulate(ARMS, {"own": own, "plain": plain}, runs=4, horizon=30, progress=False).visits
    np.testing.assert_array_equal(visits["own"], visits["plain"])
    with pytest.raises(ValueError, match="learning_rate: 0.2 beside a ready optimiser"):
        simulate(ARMS, {"own": GradientBandit(own.optimiser, 0.2)}, runs=1, horizon=5)


def test_ready_optimisers_made_apart_need_programs_of_their_own():
    with pytest.raises(ValueError, match="are not alike"):
        simulate(ARMS, {"g": [GradientBandit(optax.sgd(rate)) for rate in (0.1, 0.2)]}, runs=1, horizon=10)

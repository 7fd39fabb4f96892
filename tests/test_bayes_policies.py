"""Policies for arms with Beta priors: what they collect over all histories, and the indices that they play by."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import BayesGittins, BayesOptimal, Task, indices
from jaxbandit.base import Feedback
from jaxbandit.bounds import bayes_optimum
from jaxbandit.pytrees import in_order

TABLE = jnp.array([[0.0, 1.0], [0.0, 1.0]])
UNIFORM, CHAINS = np.ones((2, 2)), np.ones((2, 2, 2))


def expected(prior, seen, start, arm, reward, discount, worth, t):
    """What a play of an arm in round t is worth after the results `seen` of both, if `worth` is that of the rest."""
    before = seen[arm][-1] if seen[arm] else start[arm]
    if prior.ndim == 2:
        parameters = prior[arm] + np.bincount(seen[arm], minlength=2)
    else:
        pairs = zip([start[arm], *seen[arm]], seen[arm])
        parameters = prior[arm, before] + np.bincount([b for a, b in pairs if a == before], minlength=2)
    after = [[*seen[:arm], (*seen[arm], result), *seen[arm + 1 :]] for result in (0, 1)]
    paid = [reward[result] + discount * worth(after[result], t + 1) for result in (0, 1)]
    return float(parameters / parameters.sum() @ paid)


def value_of(policy, prior, rounds, reward, start, discount=1.0):
    """The expected reward of a policy over all histories; its states do not depend on the order of the plays."""
    table = jnp.broadcast_to(jnp.asarray(reward, float), (2, 2))
    choose = jax.jit(lambda state, t: jnp.argmax(policy.scores(None, state, t)[0]))
    learn = jax.jit(policy.update)

    @cache
    def state_after(*seen):
        if seen == ((), ()):
            return policy.init(table)
        arm = 0 if seen[0] else 1
        *earlier, result = seen[arm]
        before = earlier[-1] if earlier else start[arm]
        state = state_after(*(tuple(earlier) if k == arm else seen[k] for k in (0, 1)))
        numbers = [jnp.array([n], jnp.int32) for n in (arm, before, result)]
        return learn(state, Feedback(*numbers, table[arm, result].reshape(1), jnp.int32(1)))

    def worth(seen, t):
        if t > rounds:
            return 0.0
        arm = int(choose(state_after(*seen), jnp.int32(t)))
        return expected(prior, seen, start, arm, reward, discount, worth, t)

    return worth([(), ()], 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("kind", ["Bernoulli", "chains"])
def test_the_optimum_collects_what_is_possible(kind, order):
    """With any prior, rewards and first states, and with the arms in the other order, as `shuffle` makes it."""
    random = np.random.default_rng(kind == "chains")
    prior = random.uniform(0.3, 2, (2, 2) if kind == "Bernoulli" else (2, 2, 2))
    reward, start = (2.0, -1.0), np.array((1, 0))
    policy = in_order(BayesOptimal.of(prior, 7, reward, start), np.array(order))
    value = value_of(policy, prior[list(order)], 7, reward, start[list(order)])
    assert value == pytest.approx(bayes_optimum(prior, 7, reward, start).reward, abs=1e-12)


@pytest.mark.parametrize("kind", ["Bernoulli", "chains"])
def test_the_discounted_optimum_collects_what_is_possible(kind):
    """The discounted sum of eight rounds with a discount of .3; what comes later is less than .3^8 / .7 = 1e-4."""
    random = np.random.default_rng(3)
    prior = random.uniform(0.3, 2, (2, 2) if kind == "Bernoulli" else (2, 2, 2))
    policy = BayesGittins.of(prior, 0.3, 8, initial_state=(0, 1))
    best = best_discounted(prior, 0.3, 8, (0, 1))
    value = value_of(policy, prior, 8, (0.0, 1.0), (0, 1), 0.3)
    assert best - 2e-4 < value < best + 1e-9


def best_discounted(prior, discount, rounds, start):
    """The largest expected discounted reward, by recursion over all histories."""

    def worth(seen, t):
        if t > rounds:
            return 0.0
        return max(expected(prior, seen, start, arm, (0.0, 1.0), discount, worth, t) for arm in (0, 1))

    return worth([(), ()], 1)


@pytest.mark.parametrize("kind", ["Bernoulli", "chains"])
@pytest.mark.slow
def test_scores_are_the_indices(kind):
    """After games of 60 rounds with three arms that begin in both states, against indices computed for each count.

    One play more or less changes them by 1e-2.
    """
    random, depth, discount = np.random.default_rng(4), 30, 0.8
    prior = random.uniform(0.3, 2, (3, 2) if kind == "Bernoulli" else (3, 2, 2))
    policy = BayesGittins.of(prior, discount, depth, reward=(0.5, 3.0), initial_state=1)
    table = jnp.broadcast_to(jnp.array([0.5, 3.0]), (3, 2))
    state, counts, states = policy.init(table), np.zeros((3, 2, 2), int), np.array([0, 1, 1])
    learn = jax.jit(policy.update)
    for t, (arm, result) in enumerate(zip(random.integers(0, 3, 60), random.integers(0, 2, 60)), 1):
        numbers = [jnp.array([n], jnp.int32) for n in (arm, states[arm], result)]
        state = learn(state, Feedback(*numbers, table[arm, result].reshape(1), jnp.int32(t)))
        counts[arm, states[arm], result] += 1
        states[arm] = result
        if t % 15 == 0:
            exact = [index_of(prior[k], counts[k], states[k], discount) for k in range(3)]
            np.testing.assert_allclose((policy.scores(None, state, t)[0] - 0.5) / 2.5, exact, atol=5e-4)
    assert counts.sum((1, 2)).max() < depth


def index_of(prior, counts, state, discount):
    """The index for rewards 0 and 1, by bisection for these counts alone."""
    if prior.ndim == 1:
        b, a = prior + counts.sum(0)
        return float(indices.gittins_beta(a, b, discount))
    return indices.gittins_beta_rows(prior + counts, discount)[state]


@pytest.mark.slow
def test_beyond_the_table_the_excess_over_the_known_chain_vanishes():
    """An arm whose table has three plays, after five."""
    prior, discount = np.array([[1.0, 2.0], [2.0, 0.5]]), 0.7
    policy = BayesGittins.of(prior[None], discount, 3)
    state, before = policy.init(TABLE), 0
    counts = np.zeros((2, 2))
    for t, result in enumerate((1, 1, 0, 0, 1), 1):
        numbers = [jnp.array([n], jnp.int32) for n in (0, before, result)]
        state = policy.update(state, Feedback(*numbers, TABLE[0, result].reshape(1), jnp.int32(t)))
        counts[before, result] += 1
        before = result
        if t == 3:
            excess = indices.gittins_beta_rows(prior + counts, discount)[0] - of_mean_rows(prior + counts, discount)[0]
    expected_now = of_mean_rows(prior + counts, discount)[1] + excess * 3 / 5
    assert float(policy.scores(None, state, 6)[0][0]) == pytest.approx(expected_now, abs=1e-4)


def of_mean_rows(posterior, discount):
    rows = posterior / posterior.sum(1, keepdims=True)
    return indices.gittins(rows[None], np.array([[0.0, 1.0]]), discount)[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BayesGittins.of([1, 1], 0.9), r"prior: shape \(2,\) is neither"),
        (lambda: BayesGittins.of([[1, 0]], 0.9), "prior: 0.0 is not positive"),
        (lambda: BayesGittins.of([[1, 1]], 1.0), "discount: 1.0"),
        (lambda: BayesGittins.of([[1, 1]], 0.9, 1001), "depth: 1001"),
        (lambda: BayesGittins.of(CHAINS[:1], 0.9, 101), "depth: 101"),
        (lambda: BayesGittins.of([[1, 1]], 0.9, reward=(1, 1)), "reward: .* is not two different numbers"),
        (lambda: BayesGittins.of([[1, 1]], 0.9, ahead=0), "ahead: 0"),
        (lambda: BayesOptimal.of(UNIFORM, 201), "horizon: 201"),
        (lambda: BayesOptimal.of(CHAINS, 61), "horizon: 61"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


TWO, THREE = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]), jaxbandit.two_state([0.5] * 3, [0.4] * 3)
PAYING_MORE = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], (0, 2))
LATER = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], initial_state=1)


@pytest.mark.parametrize(
    ("policy", "arms", "message"),
    [
        (BayesGittins.of(UNIFORM[:1], 0.5, 5), PAYING_MORE, r"reward: .* pay \[0.0, 1.0\]; those of .* pay"),
        (BayesGittins.of(np.arange(1, 5).reshape(2, 2), 0.5, 5), THREE, "which: shape"),
        (BayesOptimal.of(UNIFORM, 5), THREE, "is for two arms, and environment has 3"),
        (BayesOptimal.of(UNIFORM, 5), PAYING_MORE, "reward: .* pay"),
        (BayesOptimal.of(CHAINS, 10), LATER, r"start: the table is for arms that begin in the states \[0, 0\]"),
        (BayesOptimal.of(UNIFORM, 9), TWO, "horizon: the table of BayesOptimal has 9 rounds, and 10 will be played"),
    ],
)
def test_arms_that_do_not_fit_are_named(policy, arms, message):
    with pytest.raises(ValueError, match=message):
        policy.validate(Task(arms, horizon=10))

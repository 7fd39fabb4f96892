"""The lower bound on the stationary mean of an estimated chain, against the mean itself, and where it does not hold."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit import KLUCBMC, Feedback
from jaxbandit.chains import relative_values, stationary
from jaxbandit.policies.chains import tv_kl_ucb_many_states as many_states
from jaxbandit.policies.chains.mean_lower_bound import after_a_departure, lower_bound

STATES = 6
cycles_of = jax.jit(many_states._cycles_of)
after = jax.jit(after_a_departure)
bound_of = jax.jit(lower_bound)


def path(rows, plays, seed):
    """The states of one arm, which begins in state 0."""
    random, states = np.random.default_rng(seed), [0]
    for _ in range(plays):
        states.append(int(random.choice(len(rows), p=rows[states[-1]])))
    return states


def chain(kind):
    rows = np.random.default_rng(1).dirichlet(np.ones(STATES), STATES)
    return {
        "mixing": rows,
        "slow": 0.97 * np.eye(STATES) + 0.03 * rows,
        "rare state": np.where(np.arange(STATES) == 3, 0.002, rows),
    }[kind]


@pytest.mark.parametrize("kind", ["mixing", "slow", "rare state"])
def test_the_identity(kind):
    """M = m + (h' - r)_b - (h' - r)_a over N, in float64, for every path after which each state seen has been left."""
    rows = chain(kind)
    states = path(rows / rows.sum(1, keepdims=True), 400, 0)
    reward = np.random.default_rng(2).random(STATES)
    checked = 0
    counts = np.zeros((STATES, STATES))
    for n, (before, state) in enumerate(pairwise(states), 1):
        counts[before, state] += 1
        seen = np.flatnonzero(counts.sum(1))
        if state not in seen or 0 not in states[n // 2 : n + 1] or n < 20:
            continue
        estimate = counts[np.ix_(seen, seen)] / counts[seen].sum(1, keepdims=True)
        paid = reward[seen]
        values = relative_values(estimate, paid) - paid
        place = {s: k for k, s in enumerate(seen)}
        mean = reward[states[1 : n + 1]].mean() + (values[place[state]] - values[place[0]]) / n
        assert mean == pytest.approx(stationary(estimate) @ paid, abs=1e-12)
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("kind", ["mixing", "slow", "rare state"])
def test_never_above_the_mean_and_soon_close_to_it(kind):
    """After every play of a path, with references from 1 to 150 plays before.

    Where the reference is new the bound is within .01 of the mean, of the slow chain within .1.
    """
    rows = chain(kind)
    states = path(rows / rows.sum(1, keepdims=True), 1200, 3)
    reward = jnp.asarray(np.random.default_rng(2).random(STATES), float)
    paid = np.asarray(reward, np.float64)
    counts, arrivals, reference = np.zeros((STATES, STATES), np.int32), np.zeros(STATES), None
    distances = []
    for n, (before, state) in enumerate(pairwise(states), 1):
        counts[before, state] += 1
        arrivals[state] += 1
        if reference is not None:
            left = counts.sum(1, keepdims=True, dtype=np.float64)
            exact = np.where(left > 0, counts / np.maximum(left, 1), (1 - np.eye(STATES)) / (STATES - 1))
            reference = after(reference, jnp.asarray(exact[before][None], float), jnp.array([before]), reward[None])
            mean = jnp.asarray([arrivals @ paid / n], float)
            bound = float(bound_of(reference, mean, jnp.array([n]), jnp.array([state]), reward[None])[0])
            true = stationary(exact) @ paid
            assert not bound > true
            values, times = (np.asarray(leaf[0], np.float64) for leaf in (reference.values, reference.times))
            gain = paid + exact @ values - values
            assert reference.least[0] <= gain.min() and gain.max() <= reference.largest[0]
            assert (exact @ times - times + 1)[times > 0].max() <= reference.slower[0]
            if 1 <= n % 150 <= 5 and n > 500:
                distances.append(true - bound)
        if n % 150 == 0 or n in (20, 60):
            every = cycles_of(jnp.asarray(counts), jnp.int32(state), reward, jnp.float32(1))[1]
            reference = jax.tree.map(lambda leaf: leaf[None], every)
    assert len(distances) == 20 and max(distances) < (0.1 if kind == "slow" else 0.01)


def test_a_broken_path_has_no_bound():
    """A play that does not begin where the one before ended, as when plays are reported out of order."""
    arms = jnp.tile(jnp.linspace(0, 1, many_states.BOUNDED_FROM), (2, 1))
    policy = KLUCBMC()
    update, scores = jax.jit(policy.update), jax.jit(policy.scores)

    def played(state, before, after, t):
        feedback = Feedback.of(0, float(arms[0, after]), t=t, table=arms, state=after, before=before)
        return scores(None, update(state, feedback), t + 1)[1]

    state = policy.init(arms)
    for t, (before, after) in enumerate(zip([3, 1, 0, 3, 1, 0, 3, 1], [1, 0, 3, 1, 0, 3, 1, 0]), 1):
        state = played(state, before, after, t)
    assert np.isfinite(state.known.bounds.lower[0])
    for t, (before, after) in enumerate([(2, 0), (0, 3), (3, 1)], 9):
        state = played(state, before, after, t)
        assert state.known.bounds.lower[0] == -np.inf

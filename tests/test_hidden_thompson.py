"""HiddenThompson: its posterior law against the enumeration of all hidden paths, its draws, and what it learns."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit import Feedback, HiddenThompson, chains, environments, simulate
from jaxbandit.policies.chains import hidden_thompson
from jaxbandit.policies.chains.hidden_thompson import grid

TABLE = jnp.array([[0.0, 1.0], [0.0, 1.0]])


def likelihood(p01, p10, e0, e1, symbols):
    """Of symbols from a state of the stationary law on, over all hidden paths; and the part that ends in state 1."""
    rows, shows = np.array([[1 - p01, p01], [p10, 1 - p10]]), np.array([[1 - e0, e0], [1 - e1, e1]])
    sums = np.zeros(2)
    for path in itertools.product((0, 1), repeat=len(symbols) + 1):
        chance = (p01 if path[0] else p10) / (p01 + p10)
        for before, after, symbol in zip(path, path[1:], symbols):
            chance *= rows[before, after] * shows[after, symbol]
        sums[path[-1]] += chance
    return sums.sum(), sums[1] / sums.sum()


def test_the_posterior_law_is_exact():
    """Of the 27 chains of a grid, after seven symbols; the second arm is never played."""
    policy, symbols = HiddenThompson(3), [0, 1, 1, 0, 1, 1, 1]
    state, learn = policy.init(TABLE), jax.jit(policy.update)
    for t, symbol in enumerate(symbols, start=1):
        state = learn(state, Feedback.of(0, float(symbol), t=t, table=TABLE))
    known = [each.ravel() for each in grid(3)]
    real = known[4] > 0
    assert real.sum() == 27 and (known[2][real] < known[3][real]).all()
    expected = [likelihood(*numbers, symbols) for numbers in zip(*(each[real] for each in known[:4]))]
    weights, beliefs = (np.array(each[0]).ravel()[real] for each in (state.weights, state.beliefs))
    np.testing.assert_allclose(
        weights / weights.sum(), [e[0] for e in expected] / sum(e[0] for e in expected), rtol=1e-4
    )
    np.testing.assert_allclose(beliefs, [e[1] for e in expected], rtol=1e-4)
    assert not np.array(state.weights[0]).ravel()[~real].any()
    np.testing.assert_array_equal(state.weights[1], policy.init(TABLE).weights[1])


def test_means_are_those_of_the_chains():
    p01, p10, e0, e1, mean = (each.ravel()[[0, 40, 333, 539]] for each in grid(6))
    for numbers in zip(p01, p10, e0, e1, mean):
        law = chains.stationary([[1 - numbers[0], numbers[0]], [numbers[1], 1 - numbers[1]]])
        assert numbers[4] == pytest.approx(law @ numbers[2:4])
    assert len(np.unique(grid(6).mean.round(12))) > 200


def test_chains_are_drawn_by_their_weights():
    """Exact over a fine grid of the uniform number, for weights in three groups."""
    random = np.random.default_rng(0)
    weights, means = random.random((1, 3, 32)) ** 4, np.arange(96.0).reshape(3, 32)
    uniform = (jnp.arange(20_000) + 0.5) / 20_000
    draw = jax.jit(
        jax.vmap(lambda u: hidden_thompson._drawn(jnp.asarray(weights, float), u[None], jnp.asarray(means))[0])
    )
    drawn = np.bincount(np.array(draw(uniform)).astype(int), minlength=96) / 20_000
    np.testing.assert_allclose(drawn, weights.ravel() / weights.sum(), atol=2e-4)


def test_it_comes_to_play_the_best_arm():
    """Means .62 and .35 in states that last; 60 runs: a share of .9 is ten standard errors below what was seen."""
    arms = environments.hidden([[[0.9, 0.1], [0.05, 0.95]], [[0.95, 0.05], [0.1, 0.9]]], [[0.1, 0.9], [0.1, 0.85]])
    result = simulate(arms, {"h": HiddenThompson(4)}, runs=60, horizon=1000, times=[500, 1000], progress=False)
    late = np.diff(result.visits["h"][0, 0].sum(-1), axis=1)[:, 0]
    assert (late[:, 0] / 500).mean() > 0.9


def test_errors():
    arms = environments.hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[[0.5, 0.3, 0.2]] * 2] * 2, reward=(0, 0.5, 1))
    for policy, environment, message in (
        (HiddenThompson(), arms, "HiddenThompson: is for two symbols, and scenarios.* has 3"),
        (HiddenThompson(17), environments.hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.5]] * 2), "levels: 17"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(environment, {"p": policy}, runs=1, horizon=2, progress=False)

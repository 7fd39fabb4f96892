"""Means that do random walks: rewards and means against a loop in float64, the same bits in any cut."""

import jax
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy.special import ndtri

import jaxbandit
from jaxbandit import metrics, simulate
from jaxbandit.environments import random_walk
from jaxbandit.testing import check_environment

KEY = jax.random.key(3)
ARMS = random_walk([1.0, 2.0, -1.0], [0.5, 0.0, 0.01], [1.0, 0.5, 2.0], decay=[1.0, 0.5, 0.99], centre=3.0, spread=0.1)
RUNS, ROUNDS = 3, 60
GAME = {"scenarios": ARMS, "policies": {"U": jaxbandit.Uniform()}, "key": KEY, "runs": RUNS, "horizon": ROUNDS}


def normal(key, arm, t):
    """Standard normal numbers from 64 bits of JAX's threefry on (arm, round), in float64."""
    first, second = (int(word) for word in threefry_2x32(key, np.array([arm, t], np.uint32)))
    beyond = (2 * ((first & 0x7FFFFFFF) << 31 | second >> 1) + 1) / 2**64  # probability of what lies further out
    return -ndtri(beyond) if first >> 31 else ndtri(beyond)


def by_loop(key):
    """The means of each round and what a play would pay, [round, arm] each."""
    start, diffusion, deviation, rate, centre, spread = (
        np.asarray(getattr(ARMS, name)) for name in ("start", "diffusion", "deviation", "rate", "centre", "spread")
    )
    key = np.asarray(jax.random.key_data(key))
    means = start + spread * [normal(key, 3 + k, 0) for k in range(3)]
    rows = []
    for t in range(1, ROUNDS + 1):
        rows.append((means, means + deviation * [normal(key, k, t) for k in range(3)]))
        means = (1 - rate) * means + rate * centre + diffusion * [normal(key, 3 + k, t) for k in range(3)]
    return np.moveaxis(np.array(rows), 1, 0)


@pytest.mark.parametrize("plays", [1, 2])
def test_regret_and_rewards_are_those_of_a_loop(plays):
    """Every round is recorded, so that plays tell what was paid and what was lost; cuts change nothing."""
    result = simulate(**GAME, plays=plays, times=range(1, ROUNDS + 1))
    keys = jaxbandit.run_keys(KEY, np.arange(RUNS)).environment
    for run in range(RUNS):
        means, pays = by_loop(keys[run])
        played = np.diff(result.visits["U"][0, 0, run].sum(-1), axis=0, prepend=0)
        assert (played.sum(1) == plays).all()
        sums = np.asarray(result.recorded["rewards"]["U"])[0, 0, run]
        np.testing.assert_allclose(sums, np.cumsum(played * pays, axis=0), rtol=1e-5, atol=1e-5)
        lost = np.sort(means, axis=1)[:, -plays:].sum(1) - (played * means).sum(1)
        np.testing.assert_allclose(
            metrics.dynamic_regret(result, "U")[0, 0, run], np.cumsum(lost), rtol=1e-5, atol=1e-5
        )
    if plays == 1:
        again = simulate(**GAME, times=[ROUNDS], chunk=7, tile=2)
        for name in ("dynamic_regret", "rewards"):  # [scenario, variant, run, time, ..]
            last = result.recorded[name]["U"][:, :, :, -1:]
            np.testing.assert_array_equal(again.recorded[name]["U"], last)


def test_small_steps_beside_a_large_mean_are_not_lost():
    """Steps of 1e-4 around 1e4, far below a float's last digit there: their variance after n rounds is n 1e-8.

    400 walks; a sample variance of so many is within 5 of its standard errors, which are sqrt(2 / 399) of it (a false
    fail below 1e-5).
    """
    arms, n = random_walk([1e4, 1e4], 1e-4), 200

    def walk(key):
        state = jax.lax.fori_loop(
            1, n + 1, lambda t, state: arms.step(key, state, jax.numpy.array([0]), t)[0], arms.init(key)
        )
        return state.means

    high, low = (np.asarray(part, float) for part in jax.jit(jax.vmap(walk))(jax.random.split(KEY, 200)))
    assert np.var(high - 1e4 + low) == pytest.approx(n * 1e-8, rel=5 * np.sqrt(2 / 399))


@pytest.mark.slow
def test_contract():
    check_environment(ARMS, settle=512, plays=32)


def test_bad_input():
    for given, message in (
        ({"start": [1.0]}, r"start: shape \(1,\) is not \[K\]"),
        ({"diffusion": [-1.0, 1.0]}, "diffusion: .* is not a number that is not negative, or .* = \\(2,\\) of them"),
        ({"diffusion": [1.0] * 3}, "diffusion: .* of them"),
        ({"deviation": 0.0}, "deviation: 0.0 is not positive"),
        ({"decay": 1.5}, "decay: 1.5 is not a number from 0 to 1"),
        ({"centre": [[1.0]]}, "centre: .* is not a number, or"),
    ):
        with pytest.raises(ValueError, match=message):
            random_walk(**{"start": [1.0, 2.0], "diffusion": 1.0} | given)
    with pytest.raises(ValueError, match="RandomWalkArms has changing arms; the bounds are for rested arms"):
        jaxbandit.bounds.lai_robbins(ARMS)
    with pytest.raises(ValueError, match="UCB1Tuned"):
        simulate(ARMS, {"T": jaxbandit.UCB1Tuned()}, runs=1, horizon=2)

"""Draws against JAX's own threefry, chains and divergences against float64 and mpmath, the test of independence."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import reference
from jax.extend.random import threefry_2x32
from scipy import special

from jaxbandit import chains, divergences, draws
from jaxbandit.divergences import log_p_value


def test_threefry_has_jax_bits():
    key = jnp.array([0x12345678, 0x9ABCDEF0], jnp.uint32)
    arms, plays = jnp.arange(1000, dtype=jnp.uint32) % 5, jnp.arange(1000, dtype=jnp.uint32) * 4_000_003
    ours = jnp.concatenate(draws.threefry(key, arms, plays))
    np.testing.assert_array_equal(ours, threefry_2x32(key, jnp.concatenate([arms, plays])))


def test_probabilities_0_and_1_are_exact():
    thresholds = jnp.asarray(chains.thresholds(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])))
    ends = jnp.minimum(jnp.array([0, 1, 2**31, 2**32 - 2, 2**32 - 1], jnp.uint32), jnp.uint32(2**32 - 2))
    for row, state in zip(thresholds, (1, 0, 2), strict=True):
        np.testing.assert_array_equal(draws.choose(ends, jnp.broadcast_to(row, (5, 2))), jnp.full(5, state))


def test_the_largest_bits_are_below_the_threshold_of_certainty():
    """Play 1,929,459,187 of arm 0 has 32 bits that are all 1, as one in four billion plays has; it was searched for."""
    arms, plays = jnp.zeros(1, jnp.int32), jnp.array([1_929_459_187], jnp.uint32)
    assert draws.play_bits_64(jax.random.key(0), arms, plays)[0].tolist() == [2**32 - 1]
    bits = draws.play_bits(jax.random.key(0), arms, plays)
    assert bits.tolist() == [2**32 - 2]
    certain = jnp.asarray(chains.thresholds(np.array([1.0, 0.0])))
    assert draws.choose(bits, certain[None]).tolist() == [0]


def test_thresholds_meet_probabilities():
    law = np.array([1e-7, 1e-4, 0.3, 1 - 0.3 - 1e-4 - 1e-7])
    steps = np.diff(np.concatenate([[0], chains.thresholds(law).astype(float), [2.0**32]])) / 2.0**32
    assert np.abs(steps - law).max() <= 2.0**-32
    with pytest.raises(ValueError, match=r"2\^-31"):
        chains.thresholds(np.array([1e-11, 1 - 1e-11]))


def test_stationary_solves_its_equations():
    """60 chains of 2 to 5 states, with moves as rare as 1e-5."""
    random = np.random.default_rng(0)
    for n in range(60):
        weights = 10 ** random.uniform(-5, 0, (2 + n % 4, 2 + n % 4))
        transition = weights / weights.sum(axis=1, keepdims=True)
        law = chains.stationary(transition)
        assert abs(law.sum() - 1) < 1e-12
        np.testing.assert_allclose(law @ transition, law, rtol=1e-11)


def test_stationary_keeps_rare_digits():
    p01, p10 = 1e-9, 1e-7
    law = chains.stationary(np.array([[1 - p01, p01], [p10, 1 - p10]]))
    np.testing.assert_allclose(law[1], p01 / (p01 + p10), rtol=1e-14)


def test_relative_values_are_the_sum_of_what_is_still_to_come():
    """By its series, sum over n of P^n (r - m); the last state of the second chain is transient."""
    chain = np.random.default_rng(2).dirichlet(np.ones(4), 4)
    for transition in (chain, np.array([[0.9, 0.1, 0], [0.3, 0.7, 0], [0.2, 0.4, 0.4]])):
        reward = np.linspace(-1, 3, len(transition)) ** 2
        law = np.linalg.matrix_power(transition, 1 << 12)[0]
        expected = sum(np.linalg.matrix_power(transition, n) @ (reward - law @ reward) for n in range(300))
        np.testing.assert_allclose(chains.relative_values(transition, reward), expected, rtol=1e-9, atol=1e-9)


def test_reward_gap_where_it_is_known():
    """Two states, independent rewards, an eigenvector, a walk by hand; it knows neither units nor names of states."""
    for p, q in ((0.5, 0.4), (0.9, 0.95), (1e-7, 3e-7)):
        assert chains.reward_gap(np.array([[1 - p, p], [q, 1 - q]]), np.array([2.0, -1.0])) == pytest.approx(p + q)
    random = np.random.default_rng(0)
    law, reward = random.dirichlet(np.ones(4)), random.random(4)
    assert chains.reward_gap(np.tile(law, (4, 1)), reward) == pytest.approx(1)
    weights = random.random((4, 4))
    weights += weights.T
    rows = weights / weights.sum(1, keepdims=True)
    values, vectors = np.linalg.eig(rows)
    for value, vector in zip(values.real, vectors.real.T, strict=True):
        if value < 1 - 1e-9:
            assert chains.reward_gap(rows, 0.3 + vector) == pytest.approx(1 - value)
    order = [2, 0, 3, 1]
    gap = chains.reward_gap(rows[np.ix_(order, order)], 7 - 5 * reward[order])
    assert gap == pytest.approx(chains.reward_gap(rows, reward))
    # 0 <-> 1 <-> 2 by halves, paying 0, 0, 1 with the mean 1/3: u climbs by 2/3 and by 4/3
    walk = np.array([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    assert chains.reward_gap(walk, np.array([0.0, 0.0, 1.0])) == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match="reward: every state pays 2"):
        chains.reward_gap(walk, np.full(3, 2.0))
    with pytest.raises(ValueError, match="transition: several"):
        chains.reward_gap(np.eye(2), np.array([0.0, 1.0]))


def test_recurrent_classes_by_hand():
    assert chains.recurrent_classes(np.array([[0.0, 1.0], [1.0, 0.0]])) == [[0, 1]]
    assert chains.recurrent_classes(np.eye(3)) == [[0], [1], [2]]
    transient = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0, 0.5, 0.5]])
    assert chains.recurrent_classes(transient) == [[1]]
    np.testing.assert_array_equal(chains.stationary(transient), [0, 1, 0])
    with pytest.raises(ValueError, match="recurrent classes"):
        chains.stationary(np.eye(2))


def test_bernoulli_kl_against_mpmath():
    p = np.array([0, 1e-7, 1e-3, 0.3, 0.5, 0.999, 1], np.float32)
    near = np.nextafter(p[2:-1], 1)
    pairs = [(a, b) for a in p for b in p] + list(zip(p[2:-1], near, strict=True)) + [(0.3, 0.3001), (0.5, 0.52)]
    got = np.asarray(divergences.bernoulli_kl(*np.array(pairs, np.float32).T), float)
    with mp.workdps(50):
        for (a, b), value in zip(pairs, got, strict=True):
            a, b = mp.mpf(float(np.float32(a))), mp.mpf(float(np.float32(b)))
            first = a * mp.log(a / b) if a > 0 and b > 0 else (0 if a == 0 else mp.inf)
            second = (1 - a) * mp.log((1 - a) / (1 - b)) if a < 1 and b < 1 else (0 if a == 1 else mp.inf)
            exact = first + second
            assert value >= 0
            if exact == mp.inf:
                assert value == np.inf
            else:
                assert abs(value - exact) <= 3e-6 * exact + mp.mpf(2) ** -140, (a, b, value, exact)


def test_distances_against_plain_forms():
    """Random rows, equal rows, rows with zeros, in float64 NumPy; and the order the docstrings state."""
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.dirichlet(np.ones(4) * 0.3, 200), [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4]])
    q = np.concatenate([rng.dirichlet(np.ones(4), 200), [[0, 1, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4]])
    m = (p + q) / 2
    plain = {
        "total_variation": np.abs(p - q).sum(-1) / 2,
        "squared_hellinger": 1 - np.sqrt(p * q).sum(-1),
        "jensen_shannon": (special.rel_entr(p, m).sum(-1) + special.rel_entr(q, m).sum(-1)) / 2,
        "kl": special.rel_entr(p, q).sum(-1),
    }
    for name, expected in plain.items():
        got = np.asarray(jax.jit(divergences.DISTANCES[name])(p, q))
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=3e-7)
        assert (got >= 0).all()
    assert (plain["squared_hellinger"] <= plain["total_variation"] + 1e-12).all()
    assert (plain["jensen_shannon"] <= np.log(2) * plain["total_variation"] + 1e-12).all()


def test_farthest_takes_every_pair_and_both_orders():
    rows = np.random.default_rng(1).dirichlet(np.ones(3), (5, 3)).astype(np.float32)
    for name, distance in divergences.DISTANCES.items():
        expected = jax.jit(distance)(rows[:, :, None], rows[:, None]).max((1, 2))
        np.testing.assert_allclose(divergences.farthest(jnp.asarray(rows), name), expected, rtol=1e-6)


# --- the likelihood-ratio test of independence ---


def test_p_value_against_the_loop():
    """Counts of 2 to 5 states, some never left, up to 3e6 transitions."""
    random = np.random.default_rng(4)
    for states in (2, 3, 5):
        law = random.dirichlet(np.ones(states))
        rows = 0.9 * law + 0.1 * random.dirichlet(np.ones(states), (90, states))
        sizes = np.repeat((1, 30, 3e6), 30)[:, None] * law
        counts = random.multinomial(sizes.round().astype(int), rows)
        counts[::10, 0] = 0
        expected = [reference.log_p_value(count) if sum(map(sum, count)) else 0 for count in counts.tolist()]
        np.testing.assert_allclose(jax.jit(log_p_value)(jnp.asarray(counts, jnp.int32)), expected, rtol=1e-3, atol=2e-3)

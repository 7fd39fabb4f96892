"""Thompson sampling on whole chains: laws of scores from NumPy's draws, of choices by quadrature, digits by mpmath."""

import itertools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from against import check_law
from scipy import stats

import jaxbandit
from jaxbandit import ThompsonMC, two_state
from jaxbandit.policies.parts.posteriors import log_gamma
from jaxbandit.policies.parts.stationary_law import NEVER, log_stationary

DRAWS = 100_000
KEY = jax.random.key(0)
DRAW = jax.jit(lambda policy, key, state: policy.scores(key, state, 1)[0])


def scores(policy, counts, reward, number, key=KEY):
    """Scores [number] of arms that all have these counts and rewards."""
    state = policy.init(jnp.tile(jnp.asarray(reward, float), (number, 1)))
    state = state._replace(counts=jnp.tile(jnp.asarray(counts, jnp.int32), (number, 1, 1)))
    return np.asarray(DRAW(policy, key, state), float)


def drawn_log_odds(counts, reward, leaving, staying):
    """log(m / (1 - m)) of chains drawn by NumPy, whose stationary laws solve linear systems in float64."""
    states = len(reward)
    parameters = np.where(np.eye(states, dtype=bool), staying, leaving) + counts
    rng = np.random.default_rng(0)
    rows = np.stack([rng.dirichlet(row, DRAWS) for row in parameters], axis=1)
    equations = np.eye(states) - np.swapaxes(rows, -1, -2)
    equations[:, -1] = 1
    law = np.linalg.solve(equations, np.eye(states)[:, -1:])[..., 0]
    return np.log(law @ reward) - np.log(law @ (1 - np.asarray(reward)))


TWO, THREE = [[3, 2], [1, 4]], [[5, 1, 0], [2, 3, 1], [0, 1, 9]]
LAWS = {
    "two": (TWO, (0.0, 1.0), 1.0, 1.0),
    "slow": ([[900, 1], [1, 50]], (1.0, 0.0), 1.0, 1.0),
    "prior": ([[0, 3], [2, 9]], (0.7, 0.2), 0.5, 4.0),
    "three": (THREE, (0.0, 0.5, 1.0), 1.0, 1.0),
    "slow three": ([[900, 1, 0], [0, 500, 2], [3, 0, 700]], (0.9, 0.0, 0.4), 0.5, 2.0),
    "four": (np.arange(16).reshape(4, 4) % 5, (0.3, 1.0, 0.0, 0.6), 2.0, 0.5),
}


@pytest.mark.parametrize("name", LAWS)
def test_scores_have_the_law_of_drawn_chains(name):
    """Kolmogorov-Smirnov of 100,000 scores and draws at 1e-9: finds a distance of 0.015."""
    counts, reward, leaving, staying = LAWS[name]
    result = scores(ThompsonMC(leaving, staying), counts, reward, DRAWS)
    assert stats.ks_2samp(result, drawn_log_odds(counts, reward, leaving, staying)).pvalue > 1e-9


# Choices


MEANS = np.linspace(0, 1, 1001)
NODES = (np.arange(400) + 0.5) / 400


def law_of_mean(counts):
    """P(m <= x) for every x of MEANS, rewards 0 and 1 and the prior 1: P01 <= P10 x / (1 - x), summed over P10."""
    (n00, n01), (n10, n11) = counts
    density = stats.beta(1 + n10, 1 + n11).pdf(NODES)
    ends = NODES * (MEANS / np.maximum(1 - MEANS, 1e-12))[:, None]
    return stats.beta(1 + n01, 1 + n00).cdf(ends) @ density / density.sum()


def chances_of_the_least(laws):
    """The probability that each arm's mean is the least of all."""
    rest = [np.prod([1 - law for law in laws[:k] + laws[k + 1 :]], axis=0) for k in range(len(laws))]
    return [float(np.diff(law) @ (left[1:] + left[:-1]) / 2) for law, left in zip(laws, rest, strict=True)]


def exact_law(transition, rounds):
    """The law of the visits after some rounds from state 0, in each of which all arms but the least one are played."""
    known, law, arms = {}, {}, range(len(transition))

    def walk(t, probability, counts, states):
        if t == rounds:
            key = tuple(count[0][s] + count[1][s] for count in counts for s in (0, 1))
            law[key] = law.get(key, 0.0) + probability
            return
        for k in arms:
            if counts[k] not in known:
                known[counts[k]] = law_of_mean(counts[k])
        chances = chances_of_the_least([known[count] for count in counts])
        assert abs(sum(chances) - 1) < 1e-3
        for least, moves in itertools.product(arms, itertools.product((0, 1), repeat=len(transition) - 1)):
            chance, seen, now = probability * chances[least] / sum(chances), list(counts), list(states)
            for k, after in zip((k for k in arms if k != least), moves, strict=True):
                chance *= transition[k][states[k]][after]
                row = tuple(n + (s == after) for s, n in enumerate(counts[k][states[k]]))
                seen[k] = (row, counts[k][1]) if states[k] == 0 else (counts[k][0], row)
                now[k] = after
            walk(t + 1, chance, tuple(seen), tuple(now))

    walk(0, 1.0, (((0, 0), (0, 0)),) * len(transition), (0,) * len(transition))
    return law


@pytest.mark.parametrize(("arms", "rounds"), [(2, 4), (3, 3)])
def test_exact_law_of_trajectories(arms, rounds):
    """All trajectories of two arms, and of three with two plays a round, against 100,000 runs, chi-square at 1e-9."""
    environment = two_state([0.5, 0.3, 0.7][:arms], [0.4, 0.6, 0.2][:arms], initial_state=0)
    asked = {"runs": DRAWS, "horizon": rounds, "times": [rounds], "plays": arms - 1, "progress": False}
    result = jaxbandit.simulate(environment, {"p": ThompsonMC()}, **asked)
    check_law(result.visits["p"][0, 0, :, 0], exact_law(environment.transition.tolist(), rounds), DRAWS)


# Digits


def exact_log_odds(logs, reward):
    """log(m / (1 - m)) of the chain with rows exp(logs) over their sums, from a linear system with 120 digits."""
    states = len(reward)
    with mp.workdps(120):
        rows = mp.matrix([[mp.exp(mp.mpf(float(x))) for x in row] for row in logs])
        rows = mp.matrix([[rows[s, j] / mp.fsum(rows[s, :]) for j in range(states)] for s in range(states)])
        system = mp.eye(states) - rows.T
        for s in range(states):
            system[states - 1, s] = 1
        law = mp.lu_solve(system, mp.matrix([0] * (states - 1) + [1]))
        gained = mp.fsum(law[s] * float(reward[s]) for s in range(states))
        return float(mp.log(gained) - mp.log(mp.fsum(law[s] * (1 - float(reward[s])) for s in range(states))))


@pytest.mark.parametrize("states", [2, 3, 5])
def test_slow_chains_keep_their_digits(states):
    """Against 120 digits from the same gamma draws: chains that leave a state once in ten million plays or far less."""
    key, counts, draw = jax.random.key(3), 10**7 * np.eye(states, dtype=int), jax.jit(log_gamma)
    reward = np.linspace(1, 0, states).astype(np.float32)
    for prior in (1.0, 0.02):
        result = scores(ThompsonMC(prior, prior), counts, reward, 8, key)
        drawn = draw(key, jnp.tile(jnp.asarray(counts + prior, float), (8, 1, 1)))
        exact = np.array([exact_log_odds(item, reward) for item in np.asarray(drawn)])
        np.testing.assert_allclose(result, exact, rtol=2e-6, atol=1e-5)
        assert len(np.unique(exact)) == 8 and np.abs(exact).max() > (1 if prior == 1 else 20)


@pytest.mark.parametrize("states", [6, 12])
def test_stationary_law_of_rates_of_all_sizes(states):
    """Rates from exp(-60) to exp(60), against 120 digits; the logarithm of a share q is -log(1 + (1 - q) / q)."""
    logs = np.random.default_rng(1).uniform(-60, 60, (1, states, states)).astype(np.float32)
    law = np.asarray(jax.jit(log_stationary)(jnp.asarray(logs)), float)[0]
    inside = np.where(np.eye(states, dtype=bool), -np.inf, logs[0].astype(float))
    fastest = np.logaddexp.reduce(inside, axis=1)  # a row's rates over their sum are a chain that never stays
    exact = [exact_log_odds(inside, np.eye(states)[s]) for s in range(states)]
    shares = -np.logaddexp(0, -np.array(exact)) - fastest
    np.testing.assert_allclose(law - law[0], shares - shares[0], rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("states", [1, 5])
def test_what_one_misses_another_gains(states):
    """With the same draws, rewards r and 1 - r have opposite scores, to the last bit."""
    counts = np.arange(states**2).reshape(states, states)
    reward = np.arange(states) / 64
    np.testing.assert_array_equal(scores(ThompsonMC(), counts, reward, 9), -scores(ThompsonMC(), counts, 1 - reward, 9))


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_no_prior_gives_nan(wide):
    """An arm that always pays r has the log odds of r whatever is drawn, and sure losses and gains are finite."""
    rewards = [(0.3, 0.3, 0.3), (0.0, 0.5, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)]
    with jax.enable_x64(wide):
        state = ThompsonMC().init(jnp.array(rewards))
        for leaving, staying in itertools.product((1e-30, 1e-3, 1.0, 1e30), repeat=2):
            for number, key in itertools.product((0, 10**9), range(2)):
                counts = state.counts + number * jnp.eye(3, dtype=jnp.int32)[None]
                drawn = DRAW(ThompsonMC(leaving, staying), jax.random.key(key), state._replace(counts=counts))
                result = np.asarray(drawn, float)
                assert np.isfinite(result).all()
                assert result[0] == pytest.approx(np.log(0.3 / 0.7), abs=1e-6)
                assert result[2] <= 0.9 * NEVER and result[3] >= -0.9 * NEVER

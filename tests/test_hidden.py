"""Hidden Markov arms as chains on pairs of a state and a symbol; their policies against sums over hidden paths."""

import functools
import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandit import Feedback, HiddenThompson, bounds, chains, simulate
from jaxbandit.environments import hidden, markov
from jaxbandit.policies import HiddenMyopic
from jaxbandit.policies.chains import hidden_thompson
from jaxbandit.policies.chains.hidden_thompson import grid

TWO = np.array([[0.9, 0.1], [0.2, 0.8]])
THREE = np.array([[0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])
CYCLE = np.roll(np.eye(4), 1, axis=1)
ARMS = hidden([TWO, TWO[::-1, ::-1], TWO], [[0.2, 0.7], [0.3, 0.9], [0.05, 0.4]])
SYMBOLS = hidden(
    np.stack([THREE, THREE.T / THREE.T.sum(1, keepdims=True)]),
    np.random.default_rng(2).dirichlet(np.ones(4), (2, 3)),
    [0.0, 0.2, 0.5, 1.0],
    initial_state="stationary",
)


def seen(environment, keys, order):
    """Feedback [runs, rounds] of playing `order` [rounds]."""

    def one(key):
        def body(state, arm):
            state, feedback = environment.step(key, state, arm[None], 1)
            return state, feedback._replace(t=feedback.arms)

        feedback = jax.lax.scan(body, environment.init(key), jnp.asarray(order, jnp.int32))[1]
        return jax.tree.map(lambda leaf: leaf[:, 0], feedback)

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys))


@pytest.mark.parametrize(
    ("arms", "states", "symbols"),
    [(SYMBOLS, 3, 4), (hidden([CYCLE] * 2, [[1, 1, 0, 0]] * 2), 4, 2)],
    ids=["dense", "cycle"],
)
def test_against_the_chain_on_pairs(arms, states, symbols):
    """Built here entry by entry, begun by the same law: the same bits play it, its law of symbols is the formula's."""
    number = len(arms.transition)
    size = states * symbols
    pairs = np.zeros((number, size, size))
    for k, s, o, s_, o_ in np.ndindex(number, states, symbols, states, symbols):
        pairs[k, s * symbols + o, s_ * symbols + o_] = arms.transition[k, s, s_] * arms.emission[k, s_, o_]
    pays = np.tile(arms.reward, (1, states))
    chain = replace(markov(pairs, pays), initial_thresholds=arms.pairs.initial_thresholds)
    np.testing.assert_allclose(arms.means(), chain.means(), rtol=1e-12)
    for k in range(number):
        law = chains.stationary(pairs[k]).reshape(states, symbols)
        flow = np.einsum("so,sotp->op", law, pairs[k].reshape(states, symbols, states, symbols))
        np.testing.assert_allclose(arms.symbol_transition()[k], flow / law.sum(0)[:, None], rtol=1e-10)
    order = np.random.default_rng(1).integers(number, size=300)
    keys = jax.random.split(jax.random.key(4), 20)
    ours, theirs = seen(arms, keys, order), seen(chain, keys, order)
    np.testing.assert_allclose(ours.rewards, arms.reward[order[None], ours.states], rtol=1e-6)
    np.testing.assert_array_equal(theirs.states % symbols, ours.states)
    np.testing.assert_array_equal(theirs.before % symbols, ours.before)


def test_the_first_symbol_before_is_drawn_with_the_first_state():
    """Exact binomial tests at 1e-9 with 20,000 runs."""
    keys = jax.random.split(jax.random.key(2), 20_000)
    before = seen(ARMS, keys, [1]).before[:, 0]
    assert stats.binomtest(int(before.sum()), 20_000, 0.3).pvalue > 1e-9
    law = chains.stationary(SYMBOLS.transition[0]) @ SYMBOLS.emission[0]
    counts = np.bincount(seen(SYMBOLS, keys, [0]).before[:, 0], minlength=4)
    assert stats.chisquare(counts, law * 20_000).pvalue > 1e-9


def play(symbols, policy):
    arms = hidden([TWO] * 2, np.full((2, 2, symbols), 1 / symbols), np.linspace(0, 1, symbols))
    simulate(arms, {"p": policy}, runs=1, horizon=2, progress=False)


FILTER = HiddenMyopic([TWO] * 2, [[[0.8, 0.2]] * 2] * 2, [[1, 0]] * 2)
BAD = [
    (lambda: hidden([np.eye(2)] * 2, [[0.2, 0.7]] * 2), "transition: arm 0 is reducible"),
    (lambda: hidden([TWO] * 2, np.full((2, 2, 40), 1 / 40)), "emission: 2 states with 40 symbols"),
    (lambda: hidden([TWO] * 2, [[1e-11, 0.5]] * 2), "emission: a state with a symbol is rarer"),
    (lambda: bounds.lower(ARMS), "environment: HiddenArms has hidden arms"),
    (lambda: play(3, FILTER), r"policies\['p'\].emission: shape"),
    (lambda: play(3, HiddenThompson()), ".*HiddenThompson: is for two symbols, and scenarios.* has 3"),
    (lambda: play(2, HiddenThompson(17)), ".*levels: 17"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        build()


# policies

TABLE = np.array([[0.0, 1.0], [0.0, 1.0]])


def test_hidden_beliefs():
    """Against the sum over all hidden paths for every word of up to four symbols."""
    emission = np.array([0.1, 0.5, 0.9])
    arms = hidden([THREE] * 2, [emission] * 2, initial_state="stationary")
    policy = HiddenMyopic.of(arms)
    law, shows = chains.stationary(THREE), [np.diag(1 - emission), np.diag(emission)]

    def probability(word):
        return functools.reduce(lambda row, symbol: row @ THREE @ shows[symbol], word, law).sum()

    scores, update = jax.jit(lambda state: policy.scores(None, state, 1)[0]), jax.jit(policy.update)
    with jax.enable_x64(True):
        start = policy.init(arms.reward)
        other = float(scores(start)[1])
        for length in range(5):
            for word in itertools.product((0, 1), repeat=length):
                state, log = start, 0.0
                for symbol in word:
                    chance = float(scores(state)[0])
                    log += np.log(chance if symbol else 1 - chance)
                    state = update(state, Feedback.of(0, float(symbol), t=1, table=TABLE))
                result = scores(state)
                np.testing.assert_allclose(result[0], probability((*word, 1)) / probability(word), rtol=1e-12)
                assert float(result[1]) == other  # rested: what is not played stays
                np.testing.assert_allclose(log, np.log(probability(word)), atol=1e-12)


def test_what_cannot_be_shown_leaves_the_belief_a_law():
    policy = HiddenMyopic([TWO] * 2, [[[1.0, 0.0], [1.0, 0.0]]] * 2, [[0.5, 0.5]] * 2)
    state = jax.jit(policy.update)(policy.init(TABLE), Feedback.of(0, 1.0, t=1, table=TABLE))
    np.testing.assert_allclose(state.beliefs.sum(-1), 1, rtol=1e-6)


def likelihood(p01, p10, e0, e1, symbols):
    """Of symbols from a state of the stationary law on; and the part that ends in state 1."""
    rows, law = np.array([[1 - p01, p01], [p10, 1 - p10]]), np.array([p10, p01]) / (p01 + p10)
    for symbol in symbols:
        law = law @ rows * np.abs([1 - symbol - e0, 1 - symbol - e1])
    return law.sum(), law[1] / law.sum()


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
    p01, p10, e0, e1, mean = (each[real] for each in known)
    np.testing.assert_allclose(mean, (p10 * e0 + p01 * e1) / (p01 + p10))
    likely, in_state_1 = np.array(expected).T
    np.testing.assert_allclose(weights / weights.sum(), likely / likely.sum(), rtol=1e-4)
    np.testing.assert_allclose(beliefs, in_state_1, rtol=1e-4)
    assert not np.array(state.weights[0]).ravel()[~real].any()
    np.testing.assert_array_equal(state.weights[1], policy.init(TABLE).weights[1])


def test_chains_are_drawn_by_their_weights():
    """Exact over a fine grid of the uniform number, for weights in three groups."""
    random = np.random.default_rng(0)
    weights, means = random.random((1, 3, 32)) ** 4, np.arange(96.0).reshape(3, 32)
    uniform = (jnp.arange(20_000) + 0.5) / 20_000
    tables = jnp.asarray(weights, float), jnp.asarray(means)
    drawn = jax.jit(jax.vmap(lambda u: hidden_thompson._drawn(tables[0], u[None], tables[1])[0]))(uniform)
    drawn = np.bincount(np.array(drawn).astype(int), minlength=96) / 20_000
    np.testing.assert_allclose(drawn, weights.ravel() / weights.sum(), atol=2e-4)


def test_it_comes_to_play_the_best_arm():
    """Means .62 and .35 in states that last; 30 runs: a share of .7 is six standard errors below what was seen."""
    arms = hidden([[[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.1], [0.05, 0.95]]], [[0.1, 0.85], [0.1, 0.9]])
    result = simulate(arms, {"h": HiddenThompson(4)}, runs=30, horizon=600, times=[300, 600], progress=False)
    late = np.diff(result.visits["h"][0, 0].sum(-1), axis=1)[:, 0]
    assert (late[:, 1] / 300).mean() > 0.7

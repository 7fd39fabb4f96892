"""Hidden Markov arms: the arms on pairs of a state and a symbol, who refuses them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxbandit
from jaxbandit import Uniform, bounds, chains, metrics, simulate, sweep
from jaxbandit.environments import hidden, markov
from jaxbandit.testing import check_environment

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
    ("arms", "states", "symbols"), [(ARMS, 2, 2), (SYMBOLS, 3, 4), (hidden([CYCLE] * 2, [[1, 1, 0, 0]] * 2), 4, 2)]
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


@pytest.mark.slow
def test_contract():
    check_environment(ARMS, settle=2**10)
    check_environment(SYMBOLS, settle=2**10)


def test_played_as_other_arms_are(tmp_path):
    """Stacked, cut, resumed, in a sweep, and in double precision; regret is that of rested arms."""
    other = hidden([TWO] * 3, [[0.1, 0.7], [0.2, 0.5], [0.3, 0.4]])
    asked = {"policies": {"ucb": jaxbandit.UCB1(), "u": Uniform()}, "runs": 19, "horizon": 60, "times": [30, 60]}
    whole = simulate({"a": ARMS, "b": other}, **asked)
    assert whole.problem == "hidden" and metrics.regret_name(whole) == "pseudo-regret"
    np.testing.assert_array_equal(whole.reward[0], [[0, 1]] * 3)
    alone = simulate(other, **asked, chunk=7, tile=4)
    np.testing.assert_array_equal(whole.visits["ucb"][1], alone.visits["ucb"][0])
    short = simulate(other, **asked | {"horizon": 30, "times": [30]})
    again = simulate(other, **asked, resume=short)
    np.testing.assert_array_equal(again.visits["ucb"], alone.visits["ucb"])
    case = {"m": {"scenarios": other, **asked}}
    np.testing.assert_array_equal(sweep(case, tmp_path)["m"].visits["u"], alone.visits["u"])
    case["m"]["scenarios"] = hidden([TWO] * 3, [[0.1, 0.7], [0.2, 0.5], [0.3, 0.41]])
    with pytest.raises(ValueError, match=r"scenarios\['scenario'\].emission"):
        sweep(case, tmp_path)
    with jax.enable_x64(True):
        path = {"record": {"path": lambda arms, policy, t: arms.states}, "policies": {"u": jaxbandit.RoundRobinKLUCB()}}
        assert simulate(other, **asked | path).complete


def test_bounds_refuse_them_by_name():
    with pytest.raises(ValueError, match="^environment: HiddenArms has hidden arms; the bounds are for rested arms"):
        bounds.lower(ARMS)


GOOD = [[0.2, 0.7]] * 2
BAD = [
    (lambda: hidden([np.eye(2)] * 2, GOOD), "transition: arm 0 is reducible"),
    (lambda: hidden([TWO] * 2, [[0.2, 1.7]] * 2), "emission: a probability lies outside"),
    (lambda: hidden([TWO] * 2, [[0.2, 0.7, 0.1]] * 2), r"emission: shape \(2, 3\) is neither"),
    (lambda: hidden([TWO] * 2, np.full((2, 2, 3), 0.3)), "emission: row 0 of arm 0 sums to 0.8"),
    (lambda: hidden([TWO] * 2, np.full((2, 2, 40), 1 / 40)), "emission: 2 states with 40 symbols"),
    (lambda: hidden([TWO] * 2, [[1e-11, 0.5]] * 2), "emission: a state with a symbol is rarer"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        build()

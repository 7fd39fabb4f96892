"""What is computed only where it is needed: any flags, bits that no neighbour changes, the arms of the full index."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import IMEDMC, KLUCBMC, TVKLUCB, atlas, metrics, simulate
from jaxbandit.base import total
from jaxbandit.confidence.chain import likeliest_chain, ratio_to, spread_of_values
from jaxbandit.fast import over_runs, where_needed
from jaxbandit.fast.jaxprs import primitives
from jaxbandit.fast.target import traced_for
from jaxbandit.policies.chains import tv_kl_ucb_many_states as many_states
from jaxbandit.policies.chains.imed_mc_on_demand import cycles
from jaxbandit.policies.chains.upper_on_demand import no_uppers
from jaxbandit.policies.parts.leaders import least_index
from jaxbandit.policies.parts.memory import no_transitions

ENTRIES = 5


def dear(values, scale):
    """A function of an entry that holds a loop of its own, and returns two arrays of different shapes."""
    grown = jax.lax.fori_loop(0, 3, lambda n, x: x * 1.5 + n, jnp.sum(values) * scale)
    return {"sum": grown, "each": jnp.sqrt(values)}


def given(runs, share, seed=0):
    random = np.random.default_rng(seed)
    needed = random.random((ENTRIES, runs)) < share
    values, scale = random.random((ENTRIES, 3, runs)), random.random((ENTRIES, runs))
    otherwise = {"sum": random.random((ENTRIES, runs)), "each": random.random((ENTRIES, 3, runs))}
    return jnp.asarray(needed), *jax.tree.map(lambda leaf: jnp.asarray(leaf, float), (values, scale, otherwise))


@partial(jax.jit, static_argnames=("together", "on_cpu"))
def of_runs(needed, values, scale, otherwise, together=16, on_cpu=True):
    def one(needed, values, scale, otherwise):
        return where_needed(needed, dear, (values, scale), otherwise, together)

    return traced_for(on_cpu, over_runs(one))(needed, values, scale, otherwise)


@pytest.mark.parametrize("runs", [1, 7, 16, 33])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("how", [{}, {"together": 1}, {"on_cpu": False}], ids=["some", "one", "other-device"])
def test_any_flags(how, runs, share):
    """Against NumPy where a flag is set, to the last bit as given elsewhere."""
    needed, values, scale, otherwise = given(runs, share)
    result = jax.tree.map(np.asarray, of_runs(needed, values, scale, otherwise, **how))
    grown = np.asarray(values, np.float64).sum(1) * np.asarray(scale)
    for n in range(3):
        grown = grown * 1.5 + n
    expected = {"sum": grown, "each": np.sqrt(np.asarray(values))}
    for name, flags in (("sum", np.asarray(needed)), ("each", np.asarray(needed)[:, None] & np.ones((1, 3, 1), bool))):
        np.testing.assert_allclose(result[name][flags], expected[name][flags], rtol=1e-6)
        np.testing.assert_array_equal(result[name][~flags], np.asarray(otherwise[name])[~flags])


def test_the_program_grows_with_the_logarithm_of_the_lanes():
    """Eight times as many lanes, three more halvings: a chain of all lanes made XLA compile a fifth longer."""

    def operations(lanes):
        program = jax.make_jaxpr(partial(of_runs, together=lanes))(*given(lanes, 0.5))
        return len(list(primitives(program.jaxpr)))

    assert operations(64) - operations(8) <= 16


def test_the_function_is_traced_once():
    """For one run and for many, as tracing it takes as long as all else in a round of many states."""
    traced = []

    def one(needed, values, scale, otherwise):
        return where_needed(needed, lambda *entry: traced.append(entry) or dear(*entry), (values, scale), otherwise)

    arguments = given(3, 0.5)
    of_many = jax.make_jaxpr(over_runs(one))(*arguments)
    assert len(traced) == 1 and of_many.out_avals[0].shape == (ENTRIES, 3, 3)


@pytest.mark.parametrize("of_a_batch", [False, True])
def test_another_structure_is_an_error(of_a_batch):
    """Not a program that computes everything: `over_runs` would take it for one in a form that it does not know."""

    def one(value):
        return where_needed(value > 0, lambda x: (x, x), (value,), [value, value])

    with pytest.raises(ValueError, match=r"otherwise: its structure is .*\[\*, \*\].* make them alike"):
        over_runs(one)(jnp.ones((2, 8))) if of_a_batch else one(jnp.ones(2))


def test_an_entry_does_not_depend_on_its_neighbours():
    """The bits that it has where all entries ask are those where it alone does."""
    _, values, scale, otherwise = given(40, 1.0)
    everywhere = of_runs(jnp.ones((ENTRIES, 40), bool), values, scale, otherwise)
    for entry, run in ((0, 0), (2, 17), (4, 39)):
        alone = of_runs(jnp.zeros((ENTRIES, 40), bool).at[entry, run].set(True), values, scale, otherwise)
        for name in ("sum", "each"):
            np.testing.assert_array_equal(alone[name][entry, ..., run], everywhere[name][entry, ..., run])


@jaxbandit.pytree
class FullIndex:
    """IMED-MC as it is defined: every index in every round."""

    def init(self, reward):
        return no_transitions(reward)

    def scores(self, key, state, t):
        chain = likeliest_chain(state.counts, state.reward)
        plays = total(total(state.counts))
        best = jnp.max(jnp.where(plays > 0, chain.mean, 0))
        ratio = ratio_to(chain, state.counts, state.reward, best, quick=True)
        index = ratio + jnp.log(1 + cycles(state.counts, state.reward, chain.mean).astype(float))
        return least_index(index, plays, jnp.zeros(len(plays), bool)), state

    def update(self, state, feedback):
        return state.counted(feedback)


@pytest.mark.parametrize("name", ["scenario 3", "scenario 4"])
@pytest.mark.slow
def test_the_arms_are_those_of_the_full_index(name):
    """All but at most one run in a hundred, in which the search is out of order by its own error."""
    policies = {"on demand": IMEDMC(), "full": FullIndex()}
    result = simulate(atlas[name].arms, policies, runs=100, horizon=300, times=[100, 300])
    same = (result.visits["on demand"] == result.visits["full"]).all((0, 1, 3, 4, 5))
    assert same.mean() >= 0.99
    difference = metrics.paired_difference(result, "on demand", "full")
    assert abs(difference.mean()) <= 5 * difference.std() / np.sqrt(difference.size) + 1e-9


@pytest.mark.parametrize("states", [3, 5])
def test_spread_of_relative_values(states):
    """Against the linear system in float64, for chains that were seen to leave every state."""
    random = np.random.default_rng(states)
    counts = random.integers(1, 60, (30, states, states))
    reward = random.random((30, states))
    spread_of = jax.jit(spread_of_values)
    result = spread_of(jnp.asarray(counts), jnp.asarray(reward, float))
    for n, paid, spread in zip(counts, reward, result):
        values = jaxbandit.chains.relative_values(n / n.sum(1, keepdims=True), paid)
        assert spread == pytest.approx(np.ptp(values), rel=1e-4)
    never_left = jnp.asarray(counts).at[0, 1].set(0)
    assert np.isinf(spread_of(never_left, jnp.asarray(reward, float))[0])


@jaxbandit.pytree
class Anew:
    """The policy, which forgets before every round what it knows of indices and distances, and computes all again."""

    policy: object

    def init(self, reward):
        return self.policy.init(reward)

    def scores(self, key, state, t):
        known, pair = state.known, state.known.pair
        if pair is not None:
            pair = pair._replace(distance=jnp.zeros_like(pair.most), most=jnp.full_like(pair.most, jnp.inf))
        known = known._replace(uppers=no_uppers(len(known.plays)), pair=pair)
        return self.policy.scores(key, state._replace(known=known), t)

    def update(self, state, feedback):
        return self.policy.update(state, feedback)


FEW_ROUNDS = {
    "TV-KL-UCB": TVKLUCB(),
    "slow-test": TVKLUCB(scale=0.4, distance="kl", clock="arm", samples="state"),
    "KL-UCB-MC": KLUCBMC(exploration=1.0, samples="state"),
}
LATE = {"at-once": {}, "two-plays": {"plays": 2}, "delay": {"delay": 3}, "batch": {"batch": 4}}


@pytest.mark.parametrize("name", FEW_ROUNDS)
@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
@pytest.mark.slow
def test_upper_bounds_play_the_arms_of_the_full_index(late, name):
    """To the last bit: with arms that tie, that hardly move, that pay most in all states but one, and i.i.d. ones."""
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(4), (6, 4))
    rows[1], rows[3] = rows[0], rows[2, 0]
    rows[4] = 0.999 * np.eye(4) + 0.001 / 4
    arms = jaxbandit.markov(rows, np.array([[0, 0.3, 0.7, 1.0]] * 5 + [[1, 1, 1, 0.9]]))
    policies = {"on demand": FEW_ROUNDS[name], "anew": Anew(FEW_ROUNDS[name])}
    result = simulate(arms, policies, runs=64, horizon=1500, times=[30, 300, 1500], shuffle=True, **late)
    np.testing.assert_array_equal(result.visits["on demand"], result.visits["anew"])


@pytest.mark.parametrize("late", [{}, {"delay": 3}], ids=["at-once", "delay"])
@pytest.mark.slow
def test_bounds_on_the_mean_play_the_arms_of_the_full_index(late):
    """The same with as many states as bounds on the mean are for, of arms that tie, are slow, or are i.i.d."""
    states = many_states.BOUNDED_FROM
    random = np.random.default_rng(1)
    rows = random.dirichlet(np.ones(states), (5, states))
    rows[1], rows[3] = rows[0], rows[2, 0]
    rows[4] = 0.98 * np.eye(states) + 0.02 / states
    arms = jaxbandit.markov(rows, np.linspace(0, 1, states))
    policies = {"on demand": TVKLUCB(), "anew": Anew(TVKLUCB())}
    result = simulate(arms, policies, runs=64, horizon=1000, times=[30, 300, 1000], shuffle=True, **late)
    np.testing.assert_array_equal(result.visits["on demand"], result.visits["anew"])

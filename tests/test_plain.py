"""The fast forms give what plain ones give: those that JAXBANDIT_PLAIN=1 chooses, NumPy, and the full index."""

import hashlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import ALL, TVKLUCB, simulate, top_arms, two_state
from jaxbandit.confidence.chain import spread_of_values
from jaxbandit.fast import PLAIN, add_one, look_up, look_up_each, over_runs, where_needed
from jaxbandit.fast.target import traced_for
from jaxbandit.policies.chains import tv_kl_ucb_many_states as many_states
from jaxbandit.policies.chains.upper_on_demand import no_uppers

CODE = """
import test_confidence, test_plain
from jaxbandit.fast import PLAIN
assert PLAIN
print(test_plain.digests())
test_confidence.check_sparse_rows(8)
test_plain.test_the_largest_first_and_the_lowest_arm_of_those_equal(40, 16)
"""


def digests():
    """A hash of the counts of every policy; some play two arms a round, or see them in another order."""
    two = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
    three = jaxbandit.random_arms(jax.random.key(3), 3, 3)
    moving = jaxbandit.environments.restless(three.transition, three.reward, three.transition[::-1])
    watched = jaxbandit.environments.restless(three.transition, three.reward, moving.passive, observed=True, paid="all")
    hidden = jaxbandit.environments.hidden(two.transition, [[0.2, 0.7]] * 3)
    twice, named = {"plays": 2, "shuffle": True}, lambda names: {name: ALL[name]() for name in names.split()}
    games = [
        (two, named("UCBSM TVKLUCB IMEDMC PosteriorGittins"), {}),
        (two, named("KLUCBMC Thompson GradientBandit"), twice),
        (three, named("TVKLUCB"), {}),
        (moving, {"window": ALL["UCB1"](memory=jaxbandit.Window(40)), "known": jaxbandit.Myopic.of(moving)}, twice),
        (watched, {"posterior": jaxbandit.PosteriorWhittle.of(watched)}, twice),
        (hidden, {"known": jaxbandit.HiddenMyopic.of(hidden)}, {}),
        (jaxbandit.environments.riverswim(3), {"imed": jaxbandit.IMEDRL()}, {}),
    ]
    asked = {"runs": 16, "horizon": 150, "times": [7, 150], "progress": False}
    results = [simulate(arms, policies, **asked, **options) for arms, policies, options in games]
    hashed = lambda visits: hashlib.sha256(visits.tobytes()).hexdigest()[:8]
    return json.dumps([{label: hashed(visits) for label, visits in result.visits.items()} for result in results])


@pytest.mark.skipif(PLAIN, reason="this run is plain itself")
@pytest.mark.slow
def test_policies_play_the_same_both_ways():
    tests = Path(__file__).parent
    environment = os.environ | {"JAXBANDIT_PLAIN": "1", "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"}
    with subprocess.Popen([sys.executable, "-c", CODE], env=environment, stdout=subprocess.PIPE, text=True) as child:
        here, there = digests(), child.communicate()[0]
    assert child.returncode == 0 and json.loads(there) == json.loads(here)


@pytest.mark.parametrize(
    ("mode", "kind", "many"),
    [
        (None, "f", 2),
        ("clip", "i", 1),
        ("fill", "u", 3),
        ("drop", "f", 3),
        ("promise_in_bounds", "i", 2),
        ("fill", "b", 1),
    ],
)
@pytest.mark.slow
def test_single_entries_are_read_and_written_as_by_vmap(mode, kind, many):
    """Reads, writes and sums of `x[i, j]` with indices in and out of bounds, also negative ones."""
    rng = np.random.default_rng(many)
    low, high = (0, 3) if mode == "promise_in_bounds" else (-5, 6)
    numbers, types = rng.integers(0, 2 if kind == "b" else 50, (3, 4, 7)), {"f": float, "i": int, "b": bool}
    x = jnp.asarray(numbers, types.get(kind, "uint32"))
    i, j = (jnp.asarray(rng.integers(low, high, (many, 7)), jnp.int32) for _ in range(2))
    j = jnp.asarray(rng.permuted(np.tile(np.arange(4), (7, 1)), axis=1).T[:many], jnp.int32)  # places differ

    def function(x, i, j):
        reads = [] if mode == "drop" else [x.at[i, j].get(mode=mode), x[:, 1].at[i].get(mode=mode)]
        new = jnp.arange(many).astype(x.dtype)
        writes = [] if kind == "b" else [x.at[i, j].add(new, mode=mode)]
        return [*reads, *writes, x.at[i, j].set(new, mode=mode)]

    ours = over_runs(function)(x, i, j)
    theirs = jax.vmap(function, in_axes=-1, out_axes=-1)(x, i, j)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize("shape", [(5, 4), (5, 8, 8)])
def test_one_is_added_at_each_place(shape, on_cpu):
    """To few counts and to many, twice at one place, for two batches of runs; against NumPy."""
    random = np.random.default_rng(0)
    counts = random.integers(0, 9, (2, *shape, 7)).astype(np.int32)
    index = [random.integers(0, size, (2, 3, 7)) for size in shape]
    for axis in index:
        axis[:, 2] = axis[:, 0]
    function = traced_for(on_cpu, over_runs(lambda counts, *index: add_one(counts, *index)))
    after = jax.jit(jax.vmap(function))(jnp.asarray(counts), *(jnp.asarray(axis, jnp.int32) for axis in index))
    batch, run = np.arange(2)[:, None, None], np.arange(7)[None, None]
    np.add.at(counts, (batch, *index, run), 1)
    np.testing.assert_array_equal(after, counts)


@pytest.mark.parametrize("shape", [(5, 2, 1), (3, 3, 2), (4,), (64, 2), (13, 5, 4), (9, 9)])
def test_rows_of_a_shared_table_are_read_as_by_indexing(shape):
    """Few rows and more than are compared with (65 and 81), by one index and two, for one run and many."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2**32, shape, np.uint32)
    index = [rng.integers(0, size, (4, 50)).astype(np.int32) for size in shape[: min(2, len(shape))]]
    result = over_runs(lambda *index: look_up(jnp.asarray(table), *index))(*map(jnp.asarray, index))
    np.testing.assert_array_equal(np.moveaxis(result, -1, 1), table[tuple(index)])
    one = [item[:, 0] for item in index]
    np.testing.assert_array_equal(look_up(jnp.asarray(table), *map(jnp.asarray, one)), table[tuple(one)])


@pytest.mark.parametrize("entries", [1, 2, 5, 30])
def test_tables_of_each_row_are_read_at_any_index(entries):
    random = np.random.default_rng(entries)
    table, index = random.integers(99, size=(4, entries, 3)), random.integers(entries, size=(4, 7))
    expected = np.stack([table[np.arange(4), at] for at in index.T], axis=-1)
    result = over_runs(lambda at: look_up_each(jnp.asarray(table), at))(jnp.asarray(index))
    np.testing.assert_array_equal(result, expected)


# from scores to arms


@pytest.mark.parametrize(
    ("arms", "plays"), [(5, 1), (5, 2), (32, 2), (32, 17), (40, 16), (40, 17), (40, 40), (300, 1), (300, 16)]
)
def test_the_largest_first_and_the_lowest_arm_of_those_equal(arms, plays):
    """Scores that are all different, tie, are infinite, are no number, and are zeros of both signs."""
    random = np.random.default_rng(arms)
    distinct = random.normal(size=(20, arms)).astype(np.float32)
    some, others = random.random((2, 20, arms)) < 0.4
    infinite, no_number = np.where(some, np.inf, np.where(others, -np.inf, distinct)), np.where(some, np.nan, distinct)
    zeros = random.choice(np.array([0.0, -0.0], np.float32), distinct.shape)
    scores = np.concatenate([distinct, distinct.round(), no_number, infinite, zeros])
    expected = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), axis=1, kind="stable")[:, :plays]
    best = lambda scores: top_arms(scores, plays)
    np.testing.assert_array_equal(jax.jit(over_runs(best))(jnp.asarray(scores.T)).T, expected)
    if (arms, plays) in ((5, 2), (40, 16)):
        np.testing.assert_array_equal(jax.vmap(best)(scores), expected)
        np.testing.assert_array_equal(best(jnp.asarray(scores[45])), expected[45])  # some are no number


# what is computed only where it is needed: any flags, bits that no neighbour changes, the arms of the full index

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


@pytest.mark.parametrize(
    ("runs", "shares", "how"),
    [
        (1, (0.0, 1.0), {}),
        (16, (0.05,), {}),
        (33, (0.0, 0.05, 0.5, 1.0), {}),
        (7, (0.05, 1.0), {"together": 1}),
        (33, (0.5,), {"on_cpu": False}),
    ],
)
def test_any_flags(runs, shares, how):
    """Against NumPy where a flag is set, to the last bit as given elsewhere."""
    for share in shares:
        needed, values, scale, otherwise = jax.tree.map(np.asarray, given(runs, share))
        result = jax.tree.map(np.asarray, of_runs(needed, values, scale, otherwise, **how))
        grown = values.astype(float).sum(1) * scale
        for n in range(3):
            grown = grown * 1.5 + n
        expected = {"sum": grown, "each": np.sqrt(values)}
        for name, flags in (("sum", needed), ("each", needed[:, None] & np.ones((1, 3, 1), bool))):
            np.testing.assert_allclose(result[name][flags], expected[name][flags], rtol=1e-6)
            np.testing.assert_array_equal(result[name][~flags], otherwise[name][~flags])


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


@pytest.mark.parametrize(("states", "slowest", "horizon"), [(4, 0.999, 1500), (many_states.BOUNDED_FROM, 0.98, 400)])
@pytest.mark.slow
def test_upper_bounds_and_bounds_on_the_mean_play_the_arms_of_the_full_index(states, slowest, horizon):
    """To the last bit: with arms that tie, that hardly move, that pay most in all states but one, and i.i.d. ones."""
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(states), (6, states))
    rows[1], rows[3] = rows[0], rows[2, 0]
    rows[4] = slowest * np.eye(states) + (1 - slowest) / states
    arms = jaxbandit.markov(rows, np.stack([np.linspace(0, 1, states)] * 5 + [1 - 0.1 * (np.arange(states) == 0)]))
    policies = {"on demand": TVKLUCB(), "anew": Anew(TVKLUCB())}
    result = simulate(arms, policies, runs=16, horizon=horizon, times=[30, 300, horizon], shuffle=True)
    np.testing.assert_array_equal(result.visits["on demand"], result.visits["anew"])

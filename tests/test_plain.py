"""The plain forms, which JAXBANDIT_PLAIN=1 chooses, play what the fast ones play."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import EACH_KIND
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbandit
from jaxbandit import ALL, simulate, two_state
from jaxbandit.fast import PLAIN, add_one, look_up, look_up_each
from jaxbandit.fast.batching import over_runs
from jaxbandit.fast.target import traced_for

WATCHING = ("PosteriorWhittle", "UCWhittle")
CODE = """
import sys, jaxbandit, test_ball, test_plain, test_selection
from jaxbandit.fast import PLAIN, look_up
assert PLAIN
print(test_plain.digests(sys.argv[1]))
test_ball.check_sparse_rows(6)
test_ball.check_sparse_rows(8)
test_selection.test_the_largest_first_and_the_lowest_arm_of_those_equal(40, 16)
"""


TWICE = ("KLUCBMC", "Thompson", "RCA")  # they play two arms a round


def digests(which):
    """A hash of the counts of policies of each kind or of all; of some with two plays, of some with more states."""
    few = which == "each-kind"
    policies = {name: ALL[name]() for name in ALL if not few or (name in EACH_KIND and name not in TWICE)}
    two = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
    three = jaxbandit.random_arms(jax.random.key(3), 3, 3)
    moving = jaxbandit.environments.restless(three.transition, three.reward, three.transition[::-1])
    watched = jaxbandit.environments.restless(three.transition, three.reward, moving.passive, observed=True, paid="all")
    hidden = jaxbandit.environments.hidden(two.transition, [[0.2, 0.7]] * 3)
    some = {"window": ALL["UCB1"](memory=jaxbandit.Window(40)), "known": jaxbandit.Myopic.of(moving)}
    learners = {"imed": jaxbandit.IMEDRL()}
    if not few:
        some |= {"ucb": ALL["UCB1"](), "rca": ALL["RCA"]()}
        learners |= {"ucrl2": jaxbandit.UCRL2(), "psrl": jaxbandit.PSRL()}
    watching = WATCHING[:1] if few else WATCHING
    asked = {"runs": 16, "horizon": 150, "times": [7, 150], "progress": False}
    results = [
        simulate(two, policies, **asked),
        simulate(two, {name: ALL[name]() for name in TWICE}, **asked, plays=2, shuffle=True),
        simulate(three, {"TVKLUCB": ALL["TVKLUCB"]()}, **asked),
        simulate(moving, some, **asked, plays=2),
        simulate(watched, {item: getattr(jaxbandit, item).of(watched) for item in watching}, **asked, plays=2),
        simulate(hidden, {"known": jaxbandit.HiddenMyopic.of(hidden)}, **asked),
        simulate(jaxbandit.environments.riverswim(3), learners, **asked),
    ]
    if not few:  # the elimination of eight states is checked by itself, too
        results.append(simulate(jaxbandit.random_arms(jax.random.key(3), 3, 8), {"8": ALL["KLUCBMC"]()}, **asked))
    counts = [
        {label: hashlib.sha256(visits.tobytes()).hexdigest()[:8] for label, visits in result.visits.items()}
        for result in results
    ]
    return json.dumps(counts)


@pytest.mark.skipif(PLAIN, reason="this run is plain itself")
@pytest.mark.parametrize("which", ["each-kind", "all"])
@pytest.mark.slow
def test_every_policy_plays_the_same_both_ways(which):
    tests = Path(__file__).parent
    environment = os.environ | {"JAXBANDIT_PLAIN": "1", "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"}
    command = [sys.executable, "-c", CODE, which]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(digests(which))


MODES = st.sampled_from([None, "clip", "fill", "drop", "promise_in_bounds"])


@pytest.mark.parametrize("examples", [4, 10])
@pytest.mark.slow
def test_single_entries_are_read_and_written_as_by_vmap(examples):
    """Reads, writes and sums of `x[i, j]` with indices in and out of bounds, also negative ones."""
    kinds, seeds = st.sampled_from(["f", "i", "u", "b"]), st.integers(0, 2**31)
    drawn = given(seed=seeds, mode=MODES, kind=kinds, many=st.integers(1, 3))
    settings(max_examples=examples, deadline=None)(drawn(as_by_vmap))()


def as_by_vmap(seed, mode, kind, many):
    rng = np.random.default_rng(seed)
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

"""The simulator: times, states and cuts of the work; what is compiled and how often; runs that their policy ends."""

import itertools
import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, TVKLUCB, UCB1, UCBSM, Result, Thompson, Uniform, bernoulli, metrics, simulate, two_state
from jaxbandit.fast.batching import over_runs
from jaxbandit.simulation import loop
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.chance import run_keys
from jaxbandit.simulation.plan import VECTOR, cut, few_widths, make_plan
from jaxbandit.simulation.rounds import initial_carry
from jaxbandit.simulation.telling import free_memory
from jaxbandit.simulation.tiles import Tile

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")
POLICIES = {"tv": TVKLUCB(samples="state", clock="arm"), "ucb": UCBSM(2.0), "u": Uniform()}
COMMON = {"key": jax.random.key(5), "runs": 23, "horizon": 300, "times": [7, 150, 299, 300]}


def same(left: Result, right: Result) -> None:
    def parts(of: Result):
        carry = {label: list(leaves) for label, leaves in of.carry.items()}
        return of.times, of.visits, carry, of.stopped, of.answers, of.recorded

    chex.assert_trees_all_equal(parts(left), parts(right))


@pytest.mark.slow
def test_scenarios_and_variants_beyond_the_cache():
    """Two of four variants at a time with 1,200 runs, one after the other with 5,000."""
    variants = [UCBSM(constant) for constant in (0.3, 1.0, 3.0, 9.0)]
    options = COMMON | {"horizon": 40, "times": [40]}
    few = simulate({"a": ARMS, "b": OTHER}, {"ucb": variants}, **options)
    for runs in (1200, 5000):
        many = simulate({"a": ARMS, "b": OTHER}, {"ucb": variants}, **options | {"runs": runs})
        np.testing.assert_array_equal(many.visits["ucb"][:, :, :23], few.visits["ucb"])


def test_pieces_come_every_so_many_seconds(monkeypatch):
    """By a clock that goes on a second a look, and there is a look a chunk: three chunks of ten rounds a piece."""
    clock = itertools.count(100)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    request = check(ARMS, {"u": Uniform()}, runs=3, horizon=70)
    result = loop.pieces(request, loop.progress_bar(0, False), chunk=10, every=3)
    assert [piece.rounds for piece in result] == [30, 60, 70]


def tile_of(runs):
    request = check(ARMS, {"tv": TVKLUCB()}, runs=runs, horizon=50)
    return Tile(request, make_plan(request, 25, None, None), 0, None)


def test_new_numbers_runs_and_times_compile_nothing():
    """Another number, number of runs up to whole vectors, horizon, chunk or times plays the same program."""
    simulate(ARMS, {"tv": TVKLUCB()}, runs=40, horizon=50, chunk=25)
    program = tile_of(40)._program("tv").whole
    traces = program._cache_size()
    assert traces >= 1
    key = jax.random.key(9)
    for scale in (0.5, 2.0):
        simulate(OTHER, {"tv": TVKLUCB(scale=scale)}, runs=40, horizon=50, chunk=25, key=key)
    for others in ({"runs": 60}, {"horizon": 71}, {"chunk": 13}, {"times": [3, 50]}, {"times": range(1, 51)}):
        simulate(ARMS, {"tv": TVKLUCB()}, **{"runs": 40, "horizon": 50, "key": key} | others)
    assert program._cache_size() == traces


@jaxbandit.pytree
class Loose:
    """Begins with Python numbers, of which one becomes a float, and an array without entries."""

    init = lambda self, reward: {"n": 0, "x": 1, "none": jnp.zeros((len(reward), 0))}
    update = lambda self, state, feedback: {"n": state["n"] + 1, "x": state["x"] * 0.5, "none": state["none"]}

    def scores(self, key, state, t):
        return jnp.array([1.0, 0.0, 0.5]) * (1 - 2 * (state["n"] % 2)) * state["x"], state


@pytest.mark.parametrize("runs", [3, 300])  # one block of runs, and several
def test_a_state_of_python_numbers_and_empty_arrays(runs):
    seen = {"none": lambda environment, state, t: state["none"]}
    asked = {"horizon": 11, "times": [4, 11], "record": seen, "devices": jax.devices()[:1]}
    result = simulate(ARMS, {"l": Loose()}, runs=runs, **asked)
    assert result.visits["l"].sum(-1)[0, 0, 0].tolist() == [[2, 2, 0], [6, 5, 0]]
    assert result.recorded["none"]["l"].shape == (1, 1, runs, 2, 3, 0)


def test_a_complete_result_compiles_nothing(monkeypatch):
    """Also one that Ctrl-C ended on its way to more rounds than are asked for now."""
    result = simulate(ARMS, {"tv": TVKLUCB()}, runs=4, horizon=50)
    monkeypatch.setattr("jaxbandit.simulation.loop.Tile", None)
    for horizon in (50, 90):
        resumed = simulate(ARMS, {"tv": TVKLUCB()}, runs=4, horizon=50, resume=replace(result, horizon=horizon))
        same(resumed, result)
        assert resumed.complete and resumed.horizon == resumed.rounds == 50


def test_more_times_than_a_chunk_has_room_for():
    """Every round of 600, with room for 256: the chunks end earlier, and nothing is lost."""
    every = simulate(ARMS, {"tv": TVKLUCB()}, runs=5, horizon=600, times=range(1, 601))
    few = simulate(ARMS, {"tv": TVKLUCB()}, runs=5, horizon=600, times=[255, 256, 257, 600])
    np.testing.assert_array_equal(every.visits["tv"][:, :, :, [254, 255, 256, 599]], few.visits["tv"])
    assert (every.visits["tv"].sum((-1, -2)) == every.times).all()


def test_no_communication_between_devices():
    tile = tile_of(4)
    text = tile._program("tv").whole.lower(*tile._arguments("tv", 1, 25, [])).compile().as_text()
    for word in ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter"):
        assert word not in text


@pytest.mark.slow
def test_advance_records_times_of_a_later_chunk():
    chance = run_keys(jax.random.key(0), jnp.arange(3, dtype=jnp.int32))
    carry, first = jaxbandit.advance(ARMS, KLUCB(), chance, initial_carry(ARMS, KLUCB(), chance), 1, 10, [5, 15, 0])
    carry, second = jaxbandit.advance(ARMS, KLUCB(), chance, carry, 11, 10, [5, 15, 0])
    assert first.sum((1, 2)).tolist() == [[5] * 3, [0] * 3, [0] * 3]
    assert second.sum((1, 2)).tolist() == [[0] * 3, [15] * 3, [0] * 3]
    _, last = jaxbandit.advance(ARMS, KLUCB(), chance, carry, 2**31 - 10, 10, [5, 2**31 - 1, 0])
    assert last.sum((1, 2)).tolist() == [[0] * 3, [30] * 3, [0] * 3]


def test_advance_refuses_times_that_do_not_increase():
    chance = run_keys(jax.random.key(0), jnp.arange(3, dtype=jnp.int32))
    carry = initial_carry(ARMS, KLUCB(), chance)
    for times in ([0, 5], [5, 0, 7], [7, 5], [5, 5]):
        with pytest.raises(ValueError, match="^times: .* do not increase"):
            jaxbandit.advance(ARMS, KLUCB(), chance, carry, 1, 10, times)


@pytest.mark.slow
def test_a_longer_horizon_continues_with_default_times():
    options = {"runs": 4, "key": jax.random.key(3)}
    short = simulate(ARMS, {"k": KLUCB()}, horizon=1000, **options)
    long = simulate(ARMS, {"k": KLUCB()}, horizon=1500, resume=short, **options)
    same(long, simulate(ARMS, {"k": KLUCB()}, horizon=1500, times=long.times, **options))
    assert long.times[0] == 1 and long.times[-1] == 1500 and 75 < len(long.times) < 220
    assert (np.diff(long.times) > 0).all() and set(short.times) < set(long.times)


@pytest.mark.slow
def test_over_runs_is_vmap():
    key = jax.random.key(0)
    x = jax.random.normal(key, (3, 2, 7))
    table = jnp.arange(6.0).reshape(3, 2)

    def function(x):
        y = jnp.concatenate([x, table, jnp.exp(x) @ table.T[:, :2]], axis=1)
        z = jnp.sort(y, axis=1)[:, ::2].reshape(-1)
        total = jax.lax.fori_loop(0, 3, lambda _, s: s + jnp.where(s.sum() > 0, z[0], table[0, 1]), z)
        index = jnp.argmax(total)
        picked = table[index % 3, index % 2] + jnp.tanh(total).max() + jax.lax.top_k(total, 2)[0][1]
        return picked, jnp.cumsum(total), jnp.where(picked > 0, total, 0), jnp.zeros(4), index.astype(jnp.uint32) << 2

    ours = over_runs(function)(x)
    theirs = jax.vmap(function, in_axes=-1, out_axes=-1)(x)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert a.dtype == b.dtype


def test_shapes_of_a_result():
    result = simulate({"a": ARMS, "b": OTHER}, {"k": [KLUCB(c) for c in (0.0, 1.0)], "u": [Uniform()] * 3}, **COMMON)
    chex.assert_shape(result.visits["k"], (2, 2, 23, 4, 3, 2))
    chex.assert_shape([result.means, result.reward], [(2, 3), (2, 3, 2)])
    assert result.visits["k"].dtype == np.int32
    assert result.visits["u"].shape[1] == 3  # nothing but their number tells these variants apart
    np.testing.assert_array_equal(result.visits["u"][:, 0], result.visits["u"][:, 2])


def test_runs_are_a_range_of_step_one():
    for runs in (range(0, 10, 2), range(-1, 3), range(2**31 - 2, 2**31), range(5, 5)):
        with pytest.raises(ValueError, match="runs: "):
            simulate(ARMS, {"u": Uniform()}, runs=runs, horizon=60)


def test_goes_on_after_the_last_recorded_round():
    half = simulate(ARMS, {"u": Uniform()}, runs=4, horizon=40, times=[30])
    whole = simulate(ARMS, {"u": Uniform()}, runs=4, horizon=90, times=[30], resume=half)
    assert whole.complete and (whole.visits["u"] == half.visits["u"]).all()


def test_a_notebook_without_widgets_begins_without_a_warning(monkeypatch):
    notebook = SimpleNamespace(config={"IPKernelApp": {}}, get_ipython=lambda: notebook)
    for name, module in {"IPython": notebook, "ipykernel.zmqshell": notebook, "ipywidgets": None}.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")  # one that were an error tqdm would swallow
        loop.progress_bar(10, False).close()
    assert not said


# runs that end when their policy stops

ENDS = [5, 40, 100, 400]
STOPPED = {"runs": 300, "until": "stopped", "progress": False}


@jaxbandit.pytree
class Race:
    """Plays at random until an arm has collected so much, and answers it."""

    goal: float = 20.0

    init = lambda self, reward: jnp.zeros(len(reward))
    scores = lambda self, key, state, t: (jax.random.uniform(key, state.shape), state)
    update = lambda self, state, feedback: state.at[feedback.arms[0]].add(feedback.rewards[0])
    stop = lambda self, state, t: state.max() >= self.goal
    answer = lambda self, state, t: jnp.argmax(state).astype(jnp.int32)


RACES = {"race": [Race(10.0), Race(50.0), Race(75.0)]}
MOST = {"most": lambda arms, state, t: state.max()}


@pytest.fixture(scope="module")
def stopped():
    return simulate(ARMS, RACES, horizon=400, times=ENDS, record=MOST, **STOPPED)


def test_a_run_that_has_ended_stands_still(stopped):
    for label in stopped.labels:
        plays, ends = stopped.visits[label].sum((-1, -2)), stopped.stopped[label]
        played = np.minimum(ENDS, np.where(ends > 0, ends, 400)[..., None])
        assert (plays == played).all()
        assert ((stopped.answers[label] == -1) == (ends == 0)).all()
        regret = metrics.realised_regret(stopped, label) - played * ARMS.means().max()
        np.testing.assert_allclose(regret, -stopped.visits[label][..., 1].sum(-1), atol=1e-9)
    assert (ends[0, 2] == 0).any() and (ends[0, 2] > 0).any()
    assert (stopped.recorded["most"]["race"][0, 0, :, -1] == 10).all()
    assert (metrics.best_share(stopped, "race") <= 1).all()


@pytest.mark.slow
def test_runs_that_end_go_on_from_a_file_in_any_cut(stopped, tmp_path):
    asked = STOPPED | {"scenarios": ARMS, "policies": RACES, "record": MOST}
    half = simulate(**asked, horizon=100, times=ENDS[:3], chunk=37)
    half.save(tmp_path / "half.npz")
    same(loaded := Result.load(tmp_path / "half.npz"), half)
    cuts = {"chunk": 90, "tile": 60, "devices": jax.devices()[:1]}
    same(simulate(**asked, horizon=400, times=ENDS, resume=loaded, **cuts), stopped)


def test_answers_are_the_environments_arms():
    """Whatever the order in which the policy sees them, and with feedback that comes late."""
    arms = bernoulli([0.0, 0.0, 1.0])
    result = simulate(arms, {"race": Race(20.0)}, horizon=400, shuffle=True, delay=2, **STOPPED)  # nothing is recorded
    assert (result.answers["race"] == 2).all()


def test_what_does_not_stop_is_refused():
    size = {"runs": 2, "horizon": 10, "progress": False}
    with pytest.raises(ValueError, match=r"policies\['u'\]: it has no stop"):
        simulate(ARMS, {"r": Race(), "u": UCB1()}, until="stopped", **size)
    with pytest.raises(ValueError, match=r'policies\[\'r\'\]: it stops .* until="stopped"'):
        simulate(ARMS, {"u": Uniform(), "r": Race()}, **size)
    with pytest.raises(ValueError, match="until: 'end' is neither"):
        simulate(ARMS, {"r": Race()}, until="end", **size)
    with pytest.raises(ValueError, match="plays: 2 arms a round"):
        simulate(ARMS, {"r": Race()}, until="stopped", plays=2, **size)


# how the work is cut


def drawn(number, most, seed):
    """Integers up to `most`, as many of each size."""
    few = np.random.default_rng(seed).uniform(0, np.log(most), number)
    return np.exp(few).astype(int).tolist()


def test_every_tile_has_a_run_and_every_run_a_tile():
    for runs, devices, tile in zip(drawn(500, 3_000_000, 0), drawn(500, 64, 1), drawn(500, 200_000, 2), strict=True):
        devices = min(devices, runs)
        tiles, width = cut(runs, devices, tile)
        assert (tiles - 1) * width < runs <= tiles * width
        assert width % devices == 0
        assert width // devices <= tile


@pytest.mark.parametrize("most", [256, 341, 512, 1365, 2048, 5120])
def test_few_widths(most):
    """At most 10 of them, none beyond the cache; twice the runs at most, and of many runs 40 % more at most."""
    for runs in [1, 2, *drawn(300, 3_000_000, 0)]:
        width = few_widths(runs, most)
        assert width == 1 if runs == 1 else width in [VECTOR << n for n in range(9)]
        assert width <= most
        played = math.ceil(runs / width) * width
        assert played < 2 * max(runs, 9)
        assert runs < 512 or played <= 1.4 * runs


@pytest.mark.slow
def test_runs_played_in_blocks_are_those_played_at_once():
    """1,500 runs on one device, in blocks of 128, and at once: counts and what is recorded."""
    arms = two_state([0.5, 0.3], [0.4, 0.65])
    request = check(arms, {"tv": TVKLUCB()}, runs=1500, horizon=90, times=[90])
    plan = make_plan(request, None, None, jax.devices()[:1])
    assert plan.blocks == plan.width // 128 > 1
    asked = {"runs": 1500, "horizon": 90, "times": [7, 40, 90], "chunk": 30, "devices": jax.devices()[:1]}
    seen = {"states": lambda environment, policy, t, own: environment.states.sum()}
    blocks, once = (
        simulate(arms, {"tv": TVKLUCB(), "t": Thompson()}, tile=tile, record=seen, progress=False, **asked)
        for tile in (None, 1500)
    )
    for label in ("tv", "t"):
        np.testing.assert_array_equal(blocks.visits[label], once.visits[label])
        np.testing.assert_array_equal(blocks.recorded["states"][label], once.recorded["states"][label])


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_what_does_not_fit_into_memory_is_refused_with_its_numbers(tmp_path, monkeypatch):
    """Where a process may have one GiB more than it has: refused before anything is allocated or written."""
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used + 2**30, used + 2**30))
    asked = {"scenarios": ARMS, "policies": {"u": Uniform()}, "runs": 10**7}
    words = r"10,000,000 runs x .* x 3 arms x 2 states x .* and [01]\.\d GiB are free; record fewer rounds .*block="
    with pytest.raises(ValueError, match=f"^runs: {words}"):
        simulate(**asked)
    with pytest.raises(ValueError, match=f"^cases: {words}"):
        jaxbandit.sweep({"c": asked}, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_the_estimate_is_what_a_result_takes():
    arms = bernoulli([0.5, 0.4, 0.3])
    policies = {"tv": [TVKLUCB(), TVKLUCB(scale=2.0)], "u": Uniform()}
    record = {"t": lambda environment, state, t: t}
    request = check({"a": arms, "b": arms}, policies, runs=7, horizon=30, times=[3, 30], record=record)
    result = simulate({"a": arms, "b": arms}, policies, runs=7, horizon=30, times=[3, 30], record=record)
    arrays = [*result.visits.values(), *result.recorded["t"].values()]
    assert free_memory.bytes_of_result(request) == sum(array.nbytes for array in arrays)
    carried = sum(leaf.nbytes for leaves in result.carry.values() for leaf in leaves)
    assert free_memory.bytes_carried(request) == 2 * carried
    assert 2**20 < free_memory.free_bytes() < 2**50

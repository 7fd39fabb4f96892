"""The simulator: random numbers, orders, times and states; what is compiled and how often; rounds played by hand."""

import itertools
import sys
import warnings
from types import SimpleNamespace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, TVKLUCB, UCBSM, Result, Uniform, simulate, two_state
from jaxbandit.fast.batching import over_runs
from jaxbandit.simulation import loop
from jaxbandit.simulation.chance import run_keys
from jaxbandit.simulation.plan import make_plan
from jaxbandit.simulation.rounds import initial_carry
from jaxbandit.simulation.tiles import Tile

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")
POLICIES = {"tv": TVKLUCB(samples="state", clock="arm"), "ucb": UCBSM(2.0), "u": Uniform()}
COMMON = {"key": jax.random.key(5), "runs": 23, "horizon": 300, "times": [7, 150, 299, 300]}


def same(left: Result, right: Result) -> None:
    assert left.labels == right.labels
    np.testing.assert_array_equal(left.times, right.times)
    for label in left.labels:
        np.testing.assert_array_equal(left.visits[label], right.visits[label])
        for x, y in zip(left.carry[label], right.carry[label], strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("runs", [1200, 5000])
@pytest.mark.slow
def test_scenarios_and_variants_beyond_the_cache(runs):
    """Two of four variants at a time with 1,200 runs, one after the other with 5,000."""
    variants = [UCBSM(constant) for constant in (0.3, 1.0, 3.0, 9.0)]
    options = COMMON | {"horizon": 40, "times": [40]}
    few = simulate({"a": ARMS, "b": OTHER}, {"ucb": variants}, **options)
    many = simulate({"a": ARMS, "b": OTHER}, {"ucb": variants}, **options | {"runs": runs})
    np.testing.assert_array_equal(many.visits["ucb"][:, :, :23], few.visits["ucb"])


def test_ten_million_rounds():
    """Counts add up to the rounds at every recorded one, and nothing is NaN."""
    asked = {"runs": 4, "horizon": 10_000_000, "times": [2**24 // 4, 10_000_000]}
    result = simulate(ARMS, {"tv": TVKLUCB()}, **asked, devices=jax.local_devices()[:1])
    assert (result.visits["tv"].sum((-1, -2)) == result.times).all()
    regret = jaxbandit.metrics.pseudo_regret(result, "tv")
    assert np.isfinite(regret).all() and (regret >= 0).all()


def test_pieces_come_every_so_many_seconds(monkeypatch):
    """By a clock that goes on a second a look, and there is a look a chunk: three chunks of ten rounds a piece."""
    clock = itertools.count(100)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    request = jaxbandit.simulation.asking.request.check(ARMS, {"u": Uniform()}, runs=3, horizon=70)
    result = loop.pieces(request, loop.progress_bar(0, False), chunk=10, every=3)
    assert [piece.rounds for piece in result] == [30, 60, 70]


def cut_work(runs=4):
    request = jaxbandit.simulation.asking.request.check(ARMS, {"tv": TVKLUCB()}, runs=runs, horizon=50)
    return request, make_plan(request, 25, None, None)


def chunk_of(request, plan):
    """What `jax.jit` returned for TV-KL-UCB."""
    return Tile(request, plan, 0, None)._program("tv").whole


def test_new_numbers_runs_and_times_compile_nothing():
    """Another number, number of runs up to whole vectors, horizon, chunk or times plays the same program."""
    simulate(ARMS, {"tv": TVKLUCB()}, runs=40, horizon=50, chunk=25)
    program = chunk_of(*cut_work(40))
    traces = program._cache_size()
    assert traces >= 1
    key = jax.random.key(9)
    for scale in (0.5, 2.0):
        simulate(OTHER, {"tv": TVKLUCB(scale=scale)}, runs=40, horizon=50, chunk=25, key=key)
    for others in ({"runs": 60}, {"horizon": 71}, {"chunk": 13}, {"times": [3, 50]}, {"times": range(1, 51)}):
        simulate(ARMS, {"tv": TVKLUCB()}, **{"runs": 40, "horizon": 50, "key": key} | others)
    assert program._cache_size() == traces


def test_a_policy_is_traced_once():
    calls = []

    @jaxbandit.pytree
    class Counting(KLUCB):
        def scores(self, key, state, t):
            calls.append(1)
            return super(type(self), self).scores(key, state, t)[0], state

    simulate(ARMS, {"c": Counting()}, runs=4, horizon=90, chunk=40, times=[90])
    assert len(calls) == 2  # and once for the result's fingerprint


@jaxbandit.pytree
class Loose:
    """Begins with Python numbers, of which one becomes a float, and an array without entries."""

    def init(self, reward):
        return {"n": 0, "x": 1, "none": jnp.zeros((len(reward), 0))}

    def scores(self, key, state, t):
        return jnp.array([1.0, 0.0, 0.5]) * (1 - 2 * (state["n"] % 2)) * state["x"], state

    def update(self, state, feedback):
        return {"n": state["n"] + 1, "x": state["x"] * 0.5, "none": state["none"]}


@pytest.mark.parametrize("runs", [3, 300])  # one block of runs, and several
def test_a_state_of_python_numbers_and_empty_arrays(runs):
    seen = {"none": lambda environment, state, t: state["none"]}
    asked = {"horizon": 11, "times": [4, 11], "record": seen, "devices": jax.devices()[:1]}
    result = simulate(ARMS, {"l": Loose()}, runs=runs, **asked)
    assert result.visits["l"].sum(-1)[0, 0, 0].tolist() == [[2, 2, 0], [6, 5, 0]]
    assert result.recorded["none"]["l"].shape == (1, 1, runs, 2, 3, 0)


def test_a_complete_result_compiles_nothing(monkeypatch):
    result = simulate(ARMS, {"tv": TVKLUCB()}, runs=4, horizon=50)
    monkeypatch.setattr("jaxbandit.simulation.loop.Tile", None)
    same(simulate(ARMS, {"tv": TVKLUCB()}, runs=4, horizon=50, resume=result), result)


def test_more_times_than_a_chunk_has_room_for():
    """Every round of 600, with room for 256: the chunks end earlier, and nothing is lost."""
    every = simulate(ARMS, {"tv": TVKLUCB()}, runs=5, horizon=600, times=range(1, 601))
    few = simulate(ARMS, {"tv": TVKLUCB()}, runs=5, horizon=600, times=[255, 256, 257, 600])
    np.testing.assert_array_equal(every.visits["tv"][:, :, :, [254, 255, 256, 599]], few.visits["tv"])
    assert (every.visits["tv"].sum((-1, -2)) == every.times).all()


def test_no_communication_between_devices():
    request, plan = cut_work()
    tile = jaxbandit.simulation.tiles.Tile(request, plan, 0, None)
    text = chunk_of(request, plan).lower(*tile._arguments("tv", 1, 25, [])).compile().as_text()
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

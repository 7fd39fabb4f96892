"""Programs as one function of machine code, and what lets a round be one: choices and draws by plain operations."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Primitive
from jax.interpreters import mlir

import jaxbandit
from jaxbandit import ALL, IMEDMC, KLUCBMC, TVKLUCB
from jaxbandit.fast import SlowPathWarning, batching, compilation, pieces, random_bits, slow_paths
from jaxbandit.fast.batching import over_runs
from jaxbandit.fast.compilation import Compiled
from jaxbandit.fast.jaxprs import primitives
from jaxbandit.fast.pieces import in_one_piece, in_pieces
from jaxbandit.simulation.chance import run_keys
from jaxbandit.simulation.rounds import initial_carry, play_chunk

MARK = "xla_cpu_small_call"
TWO = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(slow_paths, "_WARNED", set())


def itself(body_of):
    return lambda *arguments: body_of(*arguments)(*arguments)


def looped(last):
    return lambda x: jax.lax.fori_loop(0, 5, lambda n, x: last(jnp.where(x > n, jnp.exp(-x), x + 1)), x)


@pytest.mark.parametrize(("last", "whole"), [(lambda x: x * 2, True), (jnp.sort, False), (lambda x: x @ x, False)])
def test_in_one_piece_where_the_operations_allow_it(last, whole):
    """The mark is in the program or not, and the numbers are those of the function."""
    function, x = looped(last), jnp.linspace(0, 3, 49).reshape(7, 7)
    lowered = jax.jit(in_one_piece(function)).lower(x)
    assert (MARK in lowered.as_text()) == whole
    np.testing.assert_allclose(lowered.compile()(x), function(x), rtol=1e-5)


@pytest.mark.parametrize(("outer", "piece", "least"), [("while", 1500, 4), ("scan", 10, 15)])
def test_a_large_program_is_divided_at_its_large_loops(monkeypatch, outer, piece, least):
    """Two loops in a loop, of which one is large: the bits of one piece, and no copy of a large array in a turn.

    What stands between the large loops is cut into pieces of a similar size.
    """

    def function(x, key, length, unused):
        def turn(n, loop):
            x, table = loop
            x = jax.lax.fori_loop(0, 3, lambda m, x: jnp.sin(x) * n + unused * 0, x)
            for _ in range(20):
                x = jnp.cos(x) + jax.random.uniform(jax.random.fold_in(key, n))
            x = jax.lax.fori_loop(0, 2, lambda m, x: functools.reduce(lambda x, _: jnp.exp(-x), range(20), x), x)
            place = n % len(table), 0
            return x + 1, jax.lax.dynamic_update_slice(
                table, jax.lax.dynamic_slice(table, place, (1, 64)) + x[None], place
            )

        return jax.lax.fori_loop(0, 5 if outer == "scan" else length, turn, (x, jnp.zeros((100, 64))))

    arguments = jnp.linspace(0, 1, 64), jax.random.key(0), jnp.int32(5), jnp.int32(3)
    whole = jax.jit(in_one_piece(function))
    assert whole.lower(*arguments).as_text().count(MARK) == 1
    monkeypatch.setattr(pieces, "_WHOLE", 10)
    monkeypatch.setattr(pieces, "_LARGE", 15)
    monkeypatch.setattr(pieces, "_PIECE", piece)
    divided = jax.jit(in_pieces(function)(*arguments)).lower(*arguments)
    assert divided.as_text().count(MARK) >= least
    compiled = divided.compile()
    for one, other in zip(compiled(*arguments), whole(*arguments), strict=True):
        np.testing.assert_array_equal(one, other)
    turns = [part for part in compiled.as_text().split("\n\n") if MARK in part and not part.startswith("ENTRY")]
    assert turns and not any("f32[100,64]{1,0} copy(" in part for part in turns)


def test_in_parts_where_xla_cannot_compile_the_whole(monkeypatch):
    """The whole is tried once for each structure of arguments; what fails in parts, too, is the whole's error."""
    tried = []

    def whole(x):
        tried.append(x)
        raise jax.errors.JaxRuntimeError("whatever XLA says" if jnp.ndim(x) else "RESOURCE_EXHAUSTED: that")

    def parts(x):
        return x + 1 if jnp.ndim(x) else whole(x)

    program = Compiled(lambda x: x, itself, donated=(), on_cpu=True)
    monkeypatch.setattr(program, "whole", whole)
    monkeypatch.setattr(program, "parts", parts)
    with pytest.warns(SlowPathWarning, match="^programs in one piece: .*whatever XLA says"):
        played = [program(jnp.array([1])).tolist() for _ in range(2)]
    assert played == [[2], [2]] and len(tried) == 1
    with pytest.raises(jax.errors.JaxRuntimeError, match="that"):
        program(jnp.array(1))


@pytest.fixture
def compiled():
    """What XLA compiles, by JAX's own count."""
    programs = []

    def count(name, seconds, **about):
        if name == "/jax/core/compile/backend_compile_duration":
            programs.append(about)

    jax.monitoring.register_event_duration_secs_listener(count)
    return programs


def test_what_is_compiled_ahead_is_not_compiled_again(compiled):
    program = Compiled(lambda x, n: jax.lax.fori_loop(0, n, lambda _, x: x * 1.5, x), itself, 0, on_cpu=True)
    program.ahead(jnp.ones(7), jnp.int32(2))()
    x, n = jnp.ones(7), jnp.int32(3)
    compiled.clear()
    assert program(x, n).tolist() == [1.5**3] * 7
    assert not compiled
    assert jax.jit(lambda x: x * 3.25)(1.5) == 4.875 and compiled  # it does count


def test_a_first_call_compiles_its_program_and_nothing_else(compiled):
    """Neither keys that are divided among devices nor draws need programs of their own."""
    compilation.known_options()
    random_bits._draws_as_jax_does.cache_clear()
    policy = jaxbandit.Thompson()
    compiled.clear()
    jaxbandit.simulate(TWO, {"p": policy}, runs=13, horizon=7, progress=False)
    assert len(compiled) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory maps are counted on Linux alone")
def test_programs_are_forgotten_before_memory_maps_run_out(monkeypatch):
    """At the limit, here 0, all are forgotten before one is compiled; what is played stays the same."""
    forget, forgotten = jax.clear_caches, []

    def play(arms):
        arms = jaxbandit.bernoulli(np.linspace(0.2, 0.7, arms))
        return jaxbandit.simulate(arms, {"u": jaxbandit.UCB1()}, runs=2, horizon=20, progress=False).visits["u"]

    before = play(23)
    monkeypatch.setattr(jax, "clear_caches", lambda: forgotten.append(forget()))
    compilation.make_room()
    assert not forgotten  # far from the limit
    monkeypatch.setattr(compilation, "FULL", 0)
    play(24)
    assert forgotten
    np.testing.assert_array_equal(play(23), before)


@pytest.mark.slow
def test_a_number_that_ends_up_unused_does_not_end_the_process():
    """XLA stops the process where what is compiled in one piece ignores an argument; so this one runs in its own."""
    played = subprocess.run([sys.executable, "-c", IGNORES_ITS_NUMBER], capture_output=True, text=True, check=False)
    assert played.returncode == 0 and played.stdout.strip() == "[50, 50]", played.stderr[-500:]


IGNORES_ITS_NUMBER = """
import jax.numpy as jnp, jaxbandit
@jaxbandit.pytree
class Ignores:
    number: int = 3
    nothing: float = float("nan")
    def init(self, reward): return jnp.zeros(reward.shape[0])
    def scores(self, key, state, t): return state + self.number * 0, state
    def update(self, state, feedback): return jnp.zeros_like(state).at[feedback.arms].set(-1.0)
result = jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.2]), {"p": Ignores()}, runs=2, horizon=50, times=[50])
print(result.visits["p"].sum((-1, -2)).ravel().tolist())
"""


def test_an_xla_that_does_not_know_an_option_is_not_asked_for_it(monkeypatch):
    compilation.known_options.cache_clear()
    known = compilation.known_options()
    assert known["xla_cpu_prefer_vector_width"] == 512
    monkeypatch.setattr(compilation, "_OPTIONS", {"xla_cpu_no_such_option": 1, "xla_cpu_nor_this_one": ""} | known)
    monkeypatch.setattr(compilation, "_WIDTH", "xla_cpu_no_such_option")
    compilation.known_options.cache_clear()
    with pytest.warns(SlowPathWarning, match="^vectors of AVX-512: .*xla_cpu_no_such_option") as warned:
        assert compilation.known_options() == known
    assert len(warned) == 1
    monkeypatch.undo()
    compilation.known_options.cache_clear()


def test_a_jax_whose_jaxprs_have_another_form_plays_by_vmap(monkeypatch):
    def unknown(*arguments):
        raise AttributeError("eqns")

    monkeypatch.setattr(batching, "evaluate", unknown)
    x = jnp.arange(6.0).reshape(2, 3)
    with pytest.warns(SlowPathWarning, match="^rounds of many runs: .*AttributeError: eqns") as said:
        played = [over_runs(lambda x: x.at[1].add(1)[0] * 2)(x) for _ in range(2)]
    np.testing.assert_array_equal(played, [2 * x[0]] * 2)
    assert len(said) == 1


def test_a_jax_whose_loops_have_another_form_compiles_in_one_piece(monkeypatch):
    function, x = looped(lambda x: x * 2), jnp.linspace(0, 3, 5)
    monkeypatch.setattr(pieces, "_WHOLE", 1)
    monkeypatch.setattr(pieces, "_divided", lambda *arguments: {}["jaxpr"])
    with pytest.warns(SlowPathWarning, match="^compiling large programs: .*KeyError: 'jaxpr'"):
        lowered = jax.jit(in_pieces(function)(x)).lower(x)
    assert lowered.as_text().count(MARK) == 1
    np.testing.assert_allclose(lowered.compile()(x), function(x), rtol=1e-5)


def test_a_slow_path_fails_in_tests_each_time(monkeypatch):
    """Where warnings are errors; and an error that is none of a jaxpr's form is no slow path."""
    for error, expected in ((KeyError("of a new JAX"), SlowPathWarning), (MemoryError(), MemoryError)):
        monkeypatch.setattr(batching, "evaluate", lambda *arguments, error=error: (_ for _ in ()).throw(error))
        for _ in range(2):
            with pytest.raises(expected):
                over_runs(lambda x: x + 1)(jnp.ones((2, 3)))


@pytest.mark.slow
def test_an_operation_without_a_batching_rule_is_slow_and_no_error():
    """An operation of a user's own, x to 2 x, that JAX can compute for one run only."""
    double = Primitive("double")
    double.def_abstract_eval(lambda x: x)
    mlir.register_lowering(double, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
    x = jnp.arange(12.0).reshape(2, 2, 3)
    with pytest.warns(SlowPathWarning, match="^the operation double: ") as said:
        result = jax.jit(over_runs(lambda x: double.bind(jnp.sin(x)) - x))(x)
    np.testing.assert_allclose(result, 2 * jnp.sin(x) - x, rtol=1e-6)
    assert len(said) == 1


def chunk_of(policy, states, plays=1):
    """A function that plays four rounds, and the shapes of what it goes on from."""
    arms, chance = jaxbandit.random_arms(jax.random.key(0), 3, states), run_keys(jax.random.key(0), jnp.arange(3))
    carry = jax.eval_shape(lambda: initial_carry(arms, policy, chance))
    return (lambda carry: play_chunk(arms, policy, chance, carry, 1, jnp.array([4]), 4, plays)), carry


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.slow
def test_a_chunk_is_lowered_for_cuda(name):
    """Without a GPU: a chunk becomes a CUDA program of loops and arithmetic alone, which calls nothing on the host."""
    chunk, carry = chunk_of(ALL[name](), 2)
    exported = jax.export.export(jax.jit(chunk), platforms=["cuda"])(carry)
    text = exported.mlir_module()
    assert exported.platforms == ("cuda",) and "stablehlo.while" in text and "custom_call" not in text


TWO_PLAYS = """DMED EmpiricalKLUCB GradientBandit JointKLUCB PlugInGittins PosteriorGittins RCA Thompson ThompsonMC
UCB2""".split()
PIECES = [(ALL[name](), 2, 2) for name in TWO_PLAYS] + [(TVKLUCB(), 2, 1), (TVKLUCB(), 4, 1), (IMEDMC(), 2, 1)]
PIECES += [(IMEDMC(exponent=0.5), 2, 1)]
PIECES += [pytest.param(*case, 1, marks=pytest.mark.slow) for case in ((KLUCBMC(), 17), (IMEDMC(gap=0.1), 3))]


@pytest.mark.parametrize(("policy", "states", "plays"), PIECES)
def test_policies_are_played_in_one_piece(policy, states, plays):
    chunk, carry = chunk_of(policy, states, plays)
    assert MARK in jax.jit(in_one_piece(chunk)).lower(carry).as_text()


@pytest.mark.slow
def test_draws_over_runs_are_those_of_jax():
    """Bit for bit: uniform, normal, integers, bytes, split and folded keys."""

    def draws(key, number):
        folded = jax.random.fold_in(key, number)
        first, second = jax.random.split(folded)
        many = jax.random.split(second, (2, 3))
        uniform, normal = jax.random.uniform(first, (3, 2)), jax.random.normal(folded)
        item = jax.vmap(lambda key: jax.random.uniform(key, (2,)))(many[0])
        whole, small = jax.random.randint(second, (4,), 0, 1000), jax.random.bits(first, (3,), jnp.uint8)
        return uniform, normal, jax.random.key_data(many), item, whole, small

    keys, numbers = jax.random.split(jax.random.key(3), 7), jnp.arange(7)
    ours = jax.jit(over_runs(draws))(keys, numbers)
    theirs = jax.jit(jax.vmap(draws, in_axes=-1, out_axes=-1))(keys, numbers)
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)


@pytest.mark.parametrize("name", sorted(random_bits.RANDOM))
def test_draws_of_another_version_of_jax_are_compared_first(monkeypatch, name):
    newest = random_bits._COMPARED[1]
    monkeypatch.setattr(random_bits, "_draws_as_jax_does", lambda name, partitionable: (name, partitionable))
    keys = jax.random.split(jax.random.key(0))
    assert random_bits.is_known(name, keys) is True
    monkeypatch.setattr(jax, "__version_info__", (newest[0], newest[1] + 1, 0))
    assert random_bits.is_known(name, keys) == (name, True)
    monkeypatch.undo()
    assert random_bits._draws_as_jax_does(name, True)  # of this version, which is not asked otherwise


def test_what_is_computed_again_from_the_same_inputs_is_computed_once():
    """Zeros of both signs are different inputs, and so are the turns of a loop."""

    def twice(x):
        outside = [x.at[5 + jnp.arange(1)].get(mode="fill", fill_value=zero) for zero in (0.0, -0.0)]
        return jnp.sin(x) * jnp.sin(x), (x * 0.0 + 0.0, outside[0]), (x * 0.0 + -0.0, outside[1])

    x = -jnp.ones((3, 5))
    closed = jax.make_jaxpr(over_runs(twice))(x)
    assert list(primitives(closed.jaxpr)).count("sin") == 1
    _, positive, negative = over_runs(twice)(x)
    assert not any(np.signbit(zeros).any() for zeros in positive)
    assert all(np.signbit(zeros).all() for zeros in negative)
    looped = over_runs(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: x + jnp.sin(x), jnp.sin(x)))(x)
    np.testing.assert_allclose(looped, jax.lax.fori_loop(0, 3, lambda _, x: x + jnp.sin(x), jnp.sin(x)), rtol=1e-6)


@pytest.mark.slow
def test_sums_over_runs_of_nothing_few_and_many():
    """Whole numbers exactly, floats in any order: no entries, as many as are written out, and more."""
    for number in (0, 1, 8, 9, 32, 33):
        x = jnp.arange(number * 5).reshape(number, 5)
        np.testing.assert_array_equal(over_runs(lambda x: jnp.sum(x, axis=0))(x), x.sum(0))
        np.testing.assert_allclose(over_runs(lambda x: jnp.sum(x / 7, axis=0))(x), (x / 7).sum(0), rtol=1e-6)


@pytest.mark.slow
def test_slices_over_runs_are_those_of_vmap():
    """Whole slices read, written and added to at an index of the first axes, blocks at an index that all runs share."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.random((3, 4, 5, 7)), float)
    i = jnp.asarray(rng.permuted(np.tile(np.arange(-3, 4), (7, 1)), axis=1).T[:2], jnp.int32)  # also out of bounds

    def function(x, i):
        def turn(carry, k):
            block = jax.lax.dynamic_slice_in_dim(carry, k, 1, 1)
            return jax.lax.dynamic_update_slice_in_dim(carry, 2 * block + x[:1, :1], k, 1), jnp.sum(block)

        carry, sums = jax.lax.scan(turn, x, jnp.arange(3))
        reads = [x[i], x.at[i].get(mode="clip"), x.at[i].get(mode="fill"), x[:, :, 0].at[i, i].get(mode="clip")]
        writes = [x.at[i].set(x[:2] + 1), x.at[i].add(x[1:]), x[..., 0].at[i, i].set(jnp.arange(2.0))]
        return [*reads, *writes, carry, sums, jnp.transpose(x, (2, 0, 1)), jnp.moveaxis(x, -1, 0)]

    ours = over_runs(function)(x, i)
    theirs = jax.vmap(function, in_axes=-1, out_axes=-1)(x, i)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)
    evaluated = str(jax.make_jaxpr(over_runs(lambda x: function(x, jnp.array([0, 1]))[-4:]))(x))
    assert "gather" not in evaluated

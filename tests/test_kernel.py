"""The kernel against the scan, interpreted on a CPU; functions taken apart against vmap; what a GPU is given."""

import contextlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import EACH_KIND

import jaxbandit
from jaxbandit import ALL, KLUCB, TVKLUCB, UCBSM, Uniform, simulate, two_state
from jaxbandit.fast.gpu.kernel import play_chunk_in_kernel
from jaxbandit.fast.gpu.unrolled import Key, UnsupportedError, objects, unrolled
from jaxbandit.simulation.rounds import luck, play_chunk, play_round, start
from jaxbandit.testing import check_backend

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
TWO = two_state([0.5, 0.3], [0.4, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")


@pytest.mark.parametrize("name", EACH_KIND)
def test_policies_of_each_kind_play_in_the_kernel_what_they_play_in_the_scan(name):
    check_backend(ALL[name](), TWO, runs=9, rounds=60)


def test_several_plays():
    check_backend(TVKLUCB(samples="state", clock="arm"), ARMS, runs=9, rounds=60, plays=2)


def test_a_kernel_that_plays_otherwise_is_found(monkeypatch):
    from jaxbandit.simulation import tiles

    @jaxbandit.pytree
    class Other(UCBSM):
        """A class that no other test plays, so that no program answers which was compiled before."""

    def worse(environment, policy, luck, carry, t, plays):
        return original(environment, policy, luck, carry, t + 1, plays)

    original = tiles.play_round
    monkeypatch.setattr(tiles, "play_round", worse)
    with pytest.raises(AssertionError, match="Other: run 0 parts in round .* are not close"):
        check_backend(Other(3.0), ARMS, runs=2, rounds=77)


def test_scenarios_variants_orders_chunks_and_recorded_rounds_as_in_the_scan():
    policies = {"ucb": [UCBSM(constant) for constant in (0.5, 2.0)], "u": Uniform()}
    asked = {"runs": 131, "horizon": 50, "times": [1, 2, 20, 21, 49], "shuffle": True, "progress": False}
    scan, kernel = (
        simulate({"a": ARMS, "b": OTHER}, policies, backend=backend, chunk=chunk, **asked)
        for backend, chunk in (("scan", None), ("kernel", 20))
    )
    for label in policies:
        np.testing.assert_array_equal(scan.visits[label], kernel.visits[label])
        for left, right in zip(scan.carry[label], kernel.carry[label], strict=True):
            np.testing.assert_array_equal(left, right)


def test_the_last_round_of_the_largest_horizon_is_played():
    chance, last = luck(jax.random.key(0), jnp.arange(3)), 2**31 - 1
    arguments = (TWO, UCBSM(), chance, start(TWO, UCBSM(), chance), jnp.int32(last - 9), jnp.array([last - 3, last, 0]))
    _, visits, _ = play_chunk_in_kernel(play_round, *arguments, length=10, interpret=True)
    np.testing.assert_array_equal(visits, play_chunk(*arguments, length=10)[1])


def test_a_result_of_the_kernel_is_not_continued_by_the_scan():
    options = {"runs": 2, "horizon": 20, "progress": False}
    result = simulate(TWO, {"u": UCBSM()}, backend="kernel", **options)
    with pytest.raises(ValueError, match="resume: backend changed since"):
        simulate(TWO, {"u": UCBSM()}, resume=result, **options | {"horizon": 30})


def on_a_gpu_that_is_not_here():
    """JAX lowers for a GPU where there is none; from 0.12 on it wants to know which."""
    if jax.version.__version_info__ < (0, 12):
        return contextlib.nullcontext()
    device = jax.sharding.AbstractDevice("NVIDIA H100", num_cores=132, platform="gpu")
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device))


@pytest.mark.parametrize("name", ALL)
def test_a_gpu_gets_one_triton_kernel(name):
    policy, chance = ALL[name](), luck(jax.random.key(0), jnp.arange(300))
    begun = start(ARMS, policy, chance), jnp.int32(1), jnp.array([5, 0])
    with on_a_gpu_that_is_not_here():
        played = jax.jit(play_chunk_in_kernel, static_argnums=0, static_argnames="length").trace(
            play_round, ARMS, policy, chance, *begun, length=10
        )
        text = played.lower(lowering_platforms=("cuda",)).as_text()
    assert len(re.findall(r"custom_call @\S*triton", text)) == 1 and "stablehlo.while" not in text


def test_what_has_no_form_is_refused_by_name():
    @jaxbandit.pytree
    class Sorting(KLUCB):
        def scores(self, key, state, t):
            return jnp.sort(super().scores(key, state, t))

    with pytest.raises(ValueError, match='backend: the kernel cannot play Sorting .* sort .* use backend="scan"'):
        simulate(ARMS, {"s": Sorting()}, runs=2, horizon=10, backend="kernel", progress=False)
    with pytest.raises(ValueError, match="backend: 'gpu' is unknown; choose from auto, scan, kernel"):
        simulate(ARMS, {"u": Uniform()}, runs=2, horizon=10, backend="gpu", progress=False)
    with pytest.raises(UnsupportedError, match="dot_general"):
        unrolled(jnp.dot, *[jax.ShapeDtypeStruct((3,), jnp.float32)] * 2)([objects([1.0, 2.0, 3.0])] * 2)


TABLE = jnp.arange(24.0).reshape(2, 3, 4)
FUNCTIONS = {
    "shapes": lambda x, i, key: jnp.flip(x.reshape(3, 2).T[:, ::2], 1)[None] + jnp.arange(2.0)[None, :, None],
    "folds": lambda x, i, key: (x.sum(0), x.prod(), x.max(1), x.min((0, 1)), (x > 0).any(0), (x > -9).all()),
    "places": lambda x, i, key: (jnp.argmax(x, 1), jnp.argmin(x.round(), 0)),
    "largest": lambda x, i, key: jax.lax.top_k(x[0].round(), 2),
    "reads": lambda x, i, key: (TABLE[i[0] % 2, :, i[1] % 4], x[i % 2, 1], x[0][i]),
    "reads out of range": lambda x, i, key: (
        x[0][i + 1],
        x[0].at[i + 1].get(mode="clip"),
        jnp.take(x, i[0] + 1, axis=1, mode="fill", fill_value=7.0),
        jax.lax.dynamic_slice(x, (i[0] - 1, i[1] + 1), (1, 2)),
    ),
    "writes": lambda x, i, key: (x.at[i % 2, 1].set(7.0), x.at[0, i].add(x[1, :2]), x[0].at[i[0] + 1].add(1.0)),
    "joins": lambda x, i, key: jnp.stack([jnp.concatenate([x[0], x[1, :2]]), jnp.ones(5)]),
    "loops": lambda x, i, key: jax.lax.fori_loop(0, 7, lambda n, y: jnp.sin(y) + n * x[0], x[1]),
    "loops without constants": lambda x, i, key: jax.lax.fori_loop(0, 7, lambda n, y: jnp.sin(y) + n, x[1]),
    "scans": lambda x, i, key: jax.lax.scan(lambda c, y: (c + y[0], c * y), x[0, 0], x, reverse=True),
    "draws": lambda x, i, key: (
        jax.random.uniform(key, (2, 3)),
        jax.random.normal(jax.random.fold_in(key, i[0]), (3,)),
        jax.random.bits(jax.random.split(key, 3)[2], (2,)),
        jax.random.key_data(key),
    ),
    "constants": lambda x, i, key: jnp.where(~jnp.eye(3, dtype=bool), x[0], 2 * jnp.ones(3, bool).sum()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_taken_apart_does_what_vmap_does(name):
    generator = np.random.default_rng(0)
    x = jnp.asarray(generator.normal(size=(11, 2, 3)), jnp.float32)
    i = jnp.asarray(generator.integers(0, 3, (11, 2)), jnp.int32)
    keys = jax.random.split(jax.random.key(1), 11)
    shapes = [jax.ShapeDtypeStruct(value.shape[1:], value.dtype) for value in (x, i, keys)]
    numbers = [
        objects(x.reshape(11, -1).T, (2, 3)),
        objects(i.T),
        objects([Key(*jax.random.key_data(keys).T)], ()),
    ]
    found = unrolled(FUNCTIONS[name], *shapes)(numbers)
    expected = jax.tree.leaves(jax.vmap(FUNCTIONS[name])(x, i, keys))
    for left, right in zip(found, expected, strict=True):
        assert left.shape == right.shape[1:]
        for place, number in np.ndenumerate(left):
            assert jnp.result_type(number) == right.dtype
            np.testing.assert_allclose(jnp.broadcast_to(number, (11,)), right[(slice(None), *place)], rtol=2e-6)

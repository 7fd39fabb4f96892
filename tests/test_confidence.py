"""The KL bounds against mpmath: an error table in ULP that may not grow."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbandit
from jaxbandit.confidence import kl_bound, kl_lower, kl_upper
from jaxbandit.fast.elementary import exponential, log, log_of_sum

P = np.array([0, 1e-7, 1e-6, 1e-4, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1], np.float32)
C = np.geomspace(1e-7, 50, 60).astype(np.float32)

# largest error seen, ULP in float32, rounded up: of the bound, or of p/1000 where the lower bound is smaller
TABLE = {("upper", "halley"): 3, ("upper", "bisection"): 3, ("lower", "halley"): 6, ("lower", "bisection"): 8}


def exact(p: float, c: float, upper: bool) -> mp.mpf:
    """The root by 60-digit bisection of the divergence in its plain form."""
    p, c = mp.mpf(float(p)), mp.mpf(float(c))

    def d(q):
        first = p * mp.log(p / q) if p > 0 else 0
        return first + ((1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else 0)

    if (upper and p == 1) or (not upper and p == 0):
        return p
    # the offset from p is bisected in the logarithm, for its digits
    span = 1 - p if upper else p
    low, high = mp.log(span) - 60, mp.log(span)
    for _ in range(90):
        middle = (low + high) / 2
        q = p + mp.exp(middle) if upper else p - mp.exp(middle)
        low, high = (middle, high) if 0 < q < 1 and d(q) <= c else (low, middle)
    return p + mp.exp(low) if upper else p - mp.exp(low)


@pytest.fixture(scope="module")
def truth():
    with mp.workdps(60):
        return {side: [[exact(p, c, side == "upper") for c in C] for p in P] for side in ("upper", "lower")}


def errors(side, got, truth):
    ulp = []
    for i, p in enumerate(P):
        for j in range(len(C)):
            value = truth[side][i][j]
            floor = float(p) / 1000 if side == "lower" else 0
            unit = max(float(np.spacing(np.float32(max(float(value), floor)))), 1e-44)
            ulp.append(abs(mp.mpf(float(got[i, j])) - value) / unit)
    return np.array(ulp, float).reshape(got.shape)


@pytest.mark.parametrize(("side", "solver"), TABLE)
@pytest.mark.slow
def test_error_table(side, solver, truth, accuracy):
    bound = kl_upper if side == "upper" else kl_lower
    got = np.asarray(jax.jit(bound, static_argnums=2)(P[:, None], C[None], solver))
    assert not np.isnan(got).any()
    worst = errors(side, got, truth).max()
    accuracy(f"{side} KL bound, {solver}, ULP", "mpmath, 60 digits", worst, TABLE[side, solver])
    assert TABLE[side, solver] <= 16


@pytest.mark.slow
def test_float64(truth):
    with jax.enable_x64(True):
        for side, bound in (("upper", kl_upper), ("lower", kl_lower)):
            for solver in ("halley", "bisection"):
                got = np.asarray(bound(P[:, None].astype(float), C[None].astype(float), solver))
                value = np.array([[float(x) for x in row] for row in truth[side]])
                floor = P[:, None].astype(float) / 1000 if side == "lower" else 0
                assert (np.abs(got - value) <= 2e-14 * np.maximum(value, floor)).all()


@pytest.mark.slow
def test_own_exponential_and_logarithm():
    """Against float64: 2 ULP in float32 for exponentials of 1e-9 to 87, logarithms of all normal numbers and near 1."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.geomspace(1e-9, 87, 200_000), rng.uniform(0, 3, 200_000)]).astype(np.float32)
    both = -np.expm1(-y.astype(float)), np.exp(-y.astype(float))
    for share, exact in zip(exponential(jnp.asarray(y)), both, strict=True):
        assert (np.abs(np.asarray(share, float) - exact) <= 2 * np.spacing(np.float32(exact))).all()
    assert [float(share) for share in exponential(jnp.float32(jnp.inf))] == [1, 0]
    assert [float(share) for share in exponential(jnp.float32(0))] == [0, 1]
    x = np.concatenate([np.geomspace(1.2e-38, 3.4e38, 200_000), rng.uniform(0.5, 2, 200_000)]).astype(np.float32)
    exact = np.log(x.astype(float))
    assert (np.abs(np.asarray(log(jnp.asarray(x)), float) - exact) <= 2 * np.spacing(np.abs(np.float32(exact)))).all()
    u = np.geomspace(1e-30, 1e30, 200_000).astype(np.float32)
    exact = np.log1p(u.astype(float))
    assert (np.abs(np.asarray(log_of_sum(jnp.asarray(u)), float) - exact) <= 2 * np.spacing(np.float32(exact))).all()


@pytest.mark.parametrize(("solver", "halvings"), [("halley", 0), ("bisection", 1)])
def test_a_bisection_is_one_where_it_is_asked_for(solver, halvings):
    """A loop of 32 halvings; values alone would not tell, since both solvers are exact to rounding."""
    steps = str(jax.make_jaxpr(lambda p, c: kl_upper(p, c, solver))(0.5, 0.1))
    assert steps.count("length=32") == steps.count("scan[") == halvings


@pytest.mark.parametrize("solver", ["halley", "bisection"])
def test_exact_cases(solver):
    c = jnp.array([0.0, 1e-7, 0.3, 5.0, 50.0, jnp.inf])
    p = jnp.array([0.0, 1e-7, 0.5, 1.0])
    np.testing.assert_array_equal(kl_upper(p, 0.0, solver), p)
    np.testing.assert_array_equal(kl_lower(p, 0.0, solver), p)
    np.testing.assert_array_equal(kl_upper(p, jnp.inf, solver), jnp.ones(4))
    np.testing.assert_array_equal(kl_lower(p, jnp.inf, solver), jnp.zeros(4))
    np.testing.assert_array_equal(kl_upper(1.0, c, solver), jnp.ones(6))
    np.testing.assert_array_equal(kl_lower(0.0, c, solver), jnp.zeros(6))
    np.testing.assert_allclose(kl_upper(0.0, c, solver), -np.expm1(-np.asarray(c, float)), rtol=2e-7)
    np.testing.assert_allclose(kl_lower(1.0, c, solver), np.exp(-np.asarray(c, float)), rtol=1e-5, atol=1e-37)


unit = st.one_of(st.sampled_from([0.0, 1e-7, 1e-4, 0.5, 1.0]), st.floats(0, 1, width=32))
radii = st.one_of(st.sampled_from([0.0, 1e-7, 50.0, float("inf")]), st.floats(0, 100, width=32))
upper = jax.jit(kl_upper)
lower = jax.jit(kl_lower)


@settings(max_examples=300, deadline=None)
@given(p=unit, q=unit, c=radii, e=radii)
def test_never_nan_ordered_and_monotone(p, q, c, e):
    p, q = sorted((p, q))
    c, e = sorted((c, e))
    slack = 16 * 1.2e-7
    pairs = [(lower(p, c), p), (p, upper(p, c)), (upper(p, c), upper(q, c))]
    pairs += [(lower(p, c), lower(q, c)), (upper(p, c), upper(p, e)), (lower(p, e), lower(p, c))]
    for low, high in pairs:
        assert float(low) <= float(high) * (1 + slack) + p * 1e-9 + 1e-37
    assert 0 <= float(lower(p, c)) <= 1 and 0 <= float(upper(p, c)) <= 1


def test_a_bound_on_either_side():
    side = jnp.array([True, False, True, False])
    result = kl_bound(jnp.full(4, 0.5), 0.1, side)
    np.testing.assert_array_equal(result, jnp.where(side, kl_upper(0.5, 0.1), kl_lower(0.5, 0.1)))


COMPILED = {
    "kl_upper": (lambda x: (0.3 + 0 * x, x)),
    "kl_bound": (lambda x: (0.3 + 0 * x, x, jnp.asarray(True))),
    "kl_ball_max": (lambda x: (jnp.array([0.2, 0.3, 0.5]), jnp.array([0.0, 1.0, 0.5]), x)),
    "stationary_mean_upper": (lambda x: (jnp.full((3, 3), 1 / 3), jnp.array([0.0, 1.0, 0.5]), 1, x)),
}


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.slow
def test_public_functions_are_compiled_once(name):
    """A second call with other values compiles nothing; vmap, jit and grad do what they do to the plain function."""
    function, arguments = getattr(jaxbandit.confidence, name), COMPILED[name]
    compiled = []
    radii = [jnp.asarray(radius, float) for radius in (0.1, 0.2, 0.3)]
    function(*arguments(radii[0]))
    count = lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
    jax.monitoring.register_event_duration_secs_listener(count)
    many = [jax.tree.leaves(function(*given))[0] for given in [arguments(radius) for radius in radii]]
    assert not compiled

    def first(call):
        return lambda radius: jax.tree.leaves(call(*arguments(radius)))[0]

    one, plain = first(function), first(function.__wrapped__)
    radii = jnp.stack(radii)
    np.testing.assert_allclose(jax.vmap(one)(radii), many, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(plain))(radii), many, rtol=1e-6)


@pytest.mark.parametrize("name", ["kl_upper", "stationary_mean_upper"])
@pytest.mark.slow
def test_derivatives_of_compiled_functions_are_those_of_plain_ones(name):
    """In float64: the derivative of three steps in float32 has few digits, which depend on how they are compiled."""
    with jax.enable_x64(True):
        function, radius = getattr(jaxbandit.confidence, name), jnp.asarray(0.1)
        slope = lambda call: jax.jit(jax.grad(lambda radius: call(*COMPILED[name](radius))))(radius)
        slopes = slope(function), slope(function.__wrapped__)
        difference = function(*COMPILED[name](radius + 1e-5)) - function(*COMPILED[name](radius - 1e-5))
        np.testing.assert_allclose(slopes, 2 * [difference / 2e-5], rtol=1e-4)

"""KL bounds in units of the last place; the KL ball and the extreme stationary means against a float64 oracle."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_kl
import reference_states
from scipy.special import kl_div

from jaxbandit.confidence import kl_ball_max, kl_bound, kl_lower, kl_upper, stationary_mean_lower, stationary_mean_upper
from jaxbandit.confidence.row import scaled_problem
from jaxbandit.fast.elementary import exponential, log, log_of_sum

P = np.array([0, 1e-7, 1e-6, 1e-4, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1], np.float32)
C = np.geomspace(1e-7, 50, 60)[::2].astype(np.float32)


# largest error seen, ULP in float32, rounded up: of the bound, or of p/1000 where the lower bound is smaller
LARGEST = {("upper", "halley"): 3, ("upper", "bisection"): 3, ("lower", "halley"): 6, ("lower", "bisection"): 8}


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.slow
def test_bounds_against_a_bisection(side, accuracy):
    """In float32 within the errors above, in float64 within 2e-14."""
    bound = jax.jit(kl_upper if side == "upper" else kl_lower, static_argnums=2)
    exact = reference_kl.upper if side == "upper" else reference_kl.lower
    truth = np.array([[exact(p, c) for c in C.tolist()] for p in P.tolist()])
    least = P[:, None].astype(float) / 1000 if side == "lower" else 0
    units = np.maximum(np.spacing(np.maximum(truth, least).astype(np.float32)), 1e-44)
    for solver in ("halley", "bisection"):
        got = np.asarray(bound(P[:, None], C[None], solver), float)
        worst = np.abs((got - truth) / units).max()
        accuracy(f"{side} KL bound, {solver}, ULP", "bisection, float64", worst, LARGEST[side, solver])
        with jax.enable_x64(True):
            got = np.asarray(bound(P[:, None].astype(float), C[None].astype(float), solver))
        assert (np.abs(got - truth) <= 2e-14 * np.maximum(truth, least)).all()


@pytest.mark.slow
def test_own_exponential_and_logarithm():
    """Against float64: 2 ULP in float32 for exponentials of 1e-9 to 87, logarithms of all normal numbers and near 1."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.geomspace(1e-9, 87, 50_000), rng.uniform(0, 3, 50_000)]).astype(np.float32)
    both = -np.expm1(-y.astype(float)), np.exp(-y.astype(float))
    for share, exact in zip(exponential(jnp.asarray(y)), both, strict=True):
        assert (np.abs(np.asarray(share, float) - exact) <= 2 * np.spacing(np.float32(exact))).all()
    assert [float(share) for share in exponential(jnp.float32(jnp.inf))] == [1, 0]
    assert [float(share) for share in exponential(jnp.float32(0))] == [0, 1]
    x = np.concatenate([np.geomspace(1.2e-38, 3.4e38, 50_000), rng.uniform(0.5, 2, 50_000)]).astype(np.float32)
    exact = np.log(x.astype(float))
    assert (np.abs(np.asarray(log(jnp.asarray(x)), float) - exact) <= 2 * np.spacing(np.abs(np.float32(exact)))).all()
    u = np.geomspace(1e-30, 1e30, 50_000).astype(np.float32)
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


upper = jax.jit(kl_upper)
lower = jax.jit(kl_lower)


def test_never_nan_ordered_and_monotone():
    """5,000 pairs of shares and of radii, among them the ends and tiny ones."""
    rng = np.random.default_rng(0)
    ends = np.array([0, 1e-7, 1e-4, 0.5, 1]), np.array([0, 1e-7, 50, np.inf])
    anywhere = rng.random((2, 5000)), 100 * rng.random((2, 5000)) ** 3
    drawn = [np.where(rng.random(x.shape) < 0.4, rng.choice(end, x.shape), x) for end, x in zip(ends, anywhere)]
    (p, q), (c, e) = (np.sort(x.astype(np.float32), axis=0) for x in drawn)
    low, high = np.asarray(lower(p, c)), np.asarray(upper(p, c))
    pairs = [(low, p), (p, high), (high, upper(q, c)), (low, lower(q, c)), (high, upper(p, e)), (lower(p, e), low)]
    for less, more in pairs:
        assert (np.asarray(less) <= np.asarray(more) * (1 + 16 * 1.2e-7) + p * 1e-9 + 1e-37).all()
    assert ((low >= 0) & (low <= 1) & (high >= 0) & (high <= 1)).all()


def test_a_bound_on_either_side():
    side = jnp.array([True, False, True, False])
    result = kl_bound(jnp.full(4, 0.5), 0.1, side)
    np.testing.assert_array_equal(result, jnp.where(side, kl_upper(0.5, 0.1), kl_lower(0.5, 0.1)))


@pytest.mark.slow
def test_public_functions_are_compiled_once():
    """A second call with other values compiles nothing; vmap and jit do what they do to the plain function."""
    compiled, radii = [], jnp.array([0.1, 0.2, 0.3])
    given = [(0.3, radius) for radius in radii]
    kl_upper(*given[0])
    count = lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
    jax.monitoring.register_event_duration_secs_listener(count)
    many = [kl_upper(*one) for one in given]
    assert not compiled
    np.testing.assert_allclose(jax.vmap(lambda radius: kl_upper(0.3, radius))(radii), many, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda x: kl_upper.__wrapped__(0.3, x)))(radii), many, rtol=1e-6)


@pytest.mark.slow
def test_derivatives_of_compiled_functions_are_those_of_plain_ones():
    """In float64: the derivative of three steps in float32 has few digits, which depend on how they are compiled."""
    with jax.enable_x64(True):
        slopes = [jax.grad(call, argnums=1)(0.3, 0.1) for call in (kl_upper, kl_upper.__wrapped__)]
        difference = kl_upper(0.3, 0.1 + 1e-5) - kl_upper(0.3, 0.1 - 1e-5)
        np.testing.assert_allclose(slopes, 2 * [difference / 2e-5], rtol=1e-4)


# --- KL balls around a row ---

# Rows of up to three states are lists of entries, longer ones are arrays; each takes seconds to compile.
CASES = [(2, False), (8, False), (3, True)]
RADII = (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0)
BATCH = 512
ball_max = jax.jit(kl_ball_max, static_argnums=3)


@partial(jax.jit, static_argnums=4)
def mean_upper(chain, reward, state, radius, solver):
    """The bound of one chain, mapped over a batch; `ball_max` gets its batch as it is."""
    return jax.vmap(partial(stationary_mean_upper, solver=solver))(chain, reward, state, radius)


mean_lower = jax.jit(stationary_mean_lower, static_argnums=4)


def batched(function, arrays, double, *rest):
    """Call in batches of one size, so that each number of states is compiled once, in float64 or float32."""
    number = len(arrays[0])
    filled = [np.concatenate([x, np.repeat(x[-1:], -number % BATCH, axis=0)]) for x in arrays]
    parts = []
    with jax.enable_x64(double):
        for first in range(0, len(filled[0]), BATCH):
            parts.append(jax.tree.map(np.asarray, function(*(x[first : first + BATCH] for x in filled), *rest)))
    return jax.tree.map(lambda *x: np.concatenate(x)[:number].astype(float), *parts)


def as_given(double, *arrays):
    """The arrays as the library gets them: in its precision."""
    return [np.asarray(x, np.float64 if double else np.float32) for x in arrays]


def exact_rows(rows):
    """Rows in float64 that sum to 1, from what may be float32."""
    rows = np.asarray(rows, float)
    return rows / rows.sum(-1, keepdims=True)


def random_rows(rng, states, number):
    """Dense rows, rows with zeros as counts over 1 to 30 give them, unit vectors, rows with tiny entries."""
    dense = rng.dirichlet(np.ones(states), number)
    counts = np.array([rng.multinomial(n, row) for n, row in zip(rng.integers(1, 31, number), dense, strict=True)])
    units = np.eye(states)[rng.integers(states, size=number)]
    skewed = rng.dirichlet(np.full(states, 0.2), number)
    skewed = np.where(skewed < 1e-7, 0, skewed)
    return np.concatenate([dense, exact_rows(counts), units, exact_rows(skewed)])


@pytest.mark.parametrize(("states", "double"), CASES)
@pytest.mark.slow
def test_ball_maximum_against_the_oracle(states, double):
    """512 rows: the maximum within 2e-6 (float32) or 1e-9 (float64) of the range; its row is in the ball.

    Radius 0 gives the row itself, infinity the largest value; some values are all equal.
    """
    rng = np.random.default_rng(states)
    p = random_rows(rng, states, 128)
    tied = rng.random((len(p), 1)) < 0.5
    values = np.where(tied, rng.integers(3, size=p.shape), rng.random(p.shape))
    radius = np.resize([*RADII, *10 ** rng.uniform(-4, 0.5, 6)], len(p))
    radius[::8], radius[4::8] = 0, np.inf
    values[::12] = values[::12, :1]
    p, values, radius = as_given(double, p, values, radius)
    maximum, row = batched(ball_max, (p, values, radius), double, "halley")
    assert np.isfinite(maximum).all() and np.isfinite(row).all() and (row >= 0).all()
    exact, values, radius = exact_rows(p), values.astype(float), radius.astype(float)
    usual = (radius > 0) & np.isfinite(radius)
    expected = np.where(radius == 0, (exact * values).sum(-1), values.max(-1))
    cases = zip(exact[usual], values[usual], radius[usual], strict=True)
    expected[usual] = [reference_states.best_row(*case)[0] for case in cases]
    tolerance = 1e-9 if double else 2e-6
    allowed = tolerance * np.where(usual, np.ptp(values, axis=-1) + 0.1, 2)
    assert (np.abs(maximum - expected) <= allowed).all()
    assert (np.abs((row * values).sum(-1) - maximum) <= allowed).all()
    np.testing.assert_allclose(row.sum(-1), 1, rtol=0, atol=1e-12 if double else 1e-6)
    np.testing.assert_allclose(row[radius == 0], p[radius == 0], rtol=0, atol=1e-12 if double else 2e-6)
    # To first order an error of 1 - sum(row) moves the divergence as much, so it is taken out.
    inside = kl_div(exact, exact_rows(row)).sum(-1)
    assert (inside <= (radius * (1 + 1e-9) + 1e-9 if double else radius * (1 + 1e-5) + 3e-6)).all()


def estimated_chains(rng, states, number, most=30):
    """What 1 to `most` departures from each state give."""
    law = rng.dirichlet(np.ones(states), number * states)
    counts = [rng.multinomial(n, row) for n, row in zip(rng.integers(1, most + 1, len(law)), law, strict=True)]
    return exact_rows(counts).reshape(number, states, states)


def leads_back(chain, state):
    """Whether every state leads to `state`."""
    reaches = (chain > 0) | np.eye(len(chain), dtype=bool)
    for _ in range(len(chain)):
        reaches = reaches.astype(int) @ reaches.astype(int) > 0
    return reaches[:, state].all()


def problems(seed, states, number):
    """Chains, rewards in [0, 1] with and without ties, present states and radii, `number` of each of six kinds.

    The chains are dense, estimated, seen once in each state, left with about 1e-4, estimated with one row not yet left,
    which goes to the other states alike, as the policies have it, and estimated with one or two rows that absorb.
    """
    rng = np.random.default_rng([seed, states])
    dense, leaving = rng.dirichlet(np.ones(states), (2, number, states))
    once, estimated, unvisited, absorbing = (estimated_chains(rng, states, number, most) for most in (1, 30, 30, 30))
    leaving *= 1e-4 * (1 - np.eye(states))
    leaving[leaving < 1e-7] = 0
    frozen = leaving + (1 - leaving.sum(-1))[..., None] * np.eye(states)
    each, rows = np.arange(number), rng.integers(states, size=(2, number))
    unvisited[each, rows[0]] = (1 - np.eye(states)[rows[0]]) / (states - 1)
    absorbing[each, rows] = np.eye(states)[rows]
    chains = np.concatenate([dense, estimated, once, frozen, unvisited, absorbing])
    reward = np.where(
        rng.random((len(chains), 1)) < 0.7,
        rng.random((len(chains), states)),
        rng.permuted(np.tile(np.linspace(0, 1, states), (len(chains), 1)), axis=1).round(1),
    )
    state = rng.integers(states, size=len(chains))
    radius = np.resize([*RADII, *10 ** rng.uniform(-4, 0.5, 6)], len(chains))
    return chains, reward, state, radius


def oracle(chains, reward, state, radius):
    """The oracle's index of every problem, for rows that sum to 1 in float64."""
    cases = zip(exact_rows(chains), reward.tolist(), state.tolist(), radius.tolist(), strict=True)
    return np.array([reference_states.stationary_mean_upper(*case) for case in cases])


def check_mean(chains, reward, state, radius, solver="halley"):
    """The upper bound is the oracle's, within 2e-6 in float32."""
    chains, reward, radius = as_given(False, chains, reward, radius)
    got = batched(mean_upper, (chains, reward, state, radius), False, solver)
    np.testing.assert_allclose(got, oracle(chains, reward, state, radius), rtol=0, atol=2e-6)


@pytest.mark.parametrize(("states", "double"), [(3, False), (4, False), (3, True)])
@pytest.mark.slow
def test_stationary_mean_against_the_oracle(states, double, accuracy):
    """42 chains of six kinds, with states that do not lead back, radii of 0 and infinity: within 2e-6 or 1e-9."""
    chains, reward, state, radius = problems(0, states, 42)
    kept = np.array([leads_back(chain, s) for chain, s in zip(chains, state, strict=True)])
    radius[::20], radius[10::20] = 0, np.where(kept[10::20], np.inf, 1.0)
    chains, reward, radius = as_given(double, chains, reward, radius)
    got = batched(mean_upper, (chains, reward, state, radius), double, "halley")
    tolerance = 1e-9 if double else 2e-6
    assert (got >= reward.min(-1) - tolerance).all() and (got <= reward.max(-1) + tolerance).all()
    error = np.abs(got - oracle(chains, reward, state, radius))
    assert (error <= np.where(kept | (not double), tolerance, 10 * tolerance)).all(), (error.max(), error.argmax())
    what = f"largest stationary mean over a KL ball, {states} states, float{64 if double else 32}"
    accuracy(what, "Dinkelbach, float64", error[kept].max(), tolerance)


def check_sparse_rows(states):
    """1,000 chains, within 2e-6, where many states were never left, in half of the chains because they absorb."""
    rng, number = np.random.default_rng(states), 1000
    chains = estimated_chains(rng, states, number, most=5)
    unvisited = rng.random((number, states)) < 0.4
    chains[unvisited] = np.full(states, 1 / states)
    stays = unvisited & (rng.random((number, 1)) < 0.5)
    chains[stays] = np.tile(np.eye(states), (number, 1, 1))[stays]
    state = rng.integers(states, size=number)
    chains[np.arange(0, number, 2), state[::2]] = np.eye(states)[rng.integers(states, size=number // 2)]
    reward, radius = rng.random((number, states)), rng.choice([0.03, 0.3, 3.0], number) * rng.random(number)
    check_mean(chains, reward, state, radius)


@pytest.mark.parametrize(("p", "weight"), [([0.5, 0.25, 0.25], 2 / 3), ([0.0, 0.0, 1.0], 0.5)])
def test_best_states_of_different_weight_count_as_one(p, weight):
    """Their weight is the mean one under p, and the heaviest's where p holds none of them; weights have mean 1."""
    rows = ([jnp.array(a) for a in row] for row in (p, [0.0, 0.0, 0.5], [1.0, 2.0, 4.0]))
    target = scaled_problem.best_target(scaled_problem.scaled(*rows, jnp.array(0.1)))
    assert float(target.weight) == pytest.approx(weight)


@pytest.mark.slow
def test_a_light_best_state_never_seen():
    """A cycle of one play that pays best beside cycles of 30: Halley's steps alone may go to and fro about the root."""
    rng = np.random.default_rng(0)
    chain = estimated_chains(rng, 32, 40)
    present = np.arange(40) % 32
    reward = rng.random((40, 32))
    reward[np.arange(40), present] = 1.0
    chain[np.arange(40), present, present] = 0
    check_mean(exact_rows(chain), reward, present, np.resize([1.0, 2.0, 3.0, 4.0], 40))


@pytest.mark.slow
def test_stationary_mean_where_halley_converges_slowly():
    """Estimates from 100 plays where too few steps of the default solver are off by 7e-4, for radii from 1 to 2."""
    counts = [[6, 0, 12, 3, 8], [9, 0, 10, 2, 2], [0, 0, 0, 6, 4], [3, 3, 3, 0, 3], [0, 7, 2, 8, 6]]
    radius = np.append(np.linspace(1, 2, 99), 1.2421457)
    chains = np.repeat(exact_rows(counts)[None], len(radius), axis=0)
    reward = np.tile([0.24453770, 0.57932019, 0.83550298, 0.15021557, 0.70622575], (len(radius), 1))
    check_mean(chains, reward, np.full(len(radius), 1), radius)


@pytest.mark.slow
def test_bisection_moves_its_multiplier_all_the_way():
    """An estimate where a multiplier that begins at the last one's place needs more than six moves."""
    counts = [[3, 1, 0, 0], [1, 7, 5, 1], [1, 7, 19, 0], [1, 1, 1, 0]]
    reward = [[0.22395, 0.57553, 0.11991, 0.54597]]
    for solver in ("bisection", "halley"):
        check_mean(exact_rows(counts)[None], reward, np.array([3]), [0.01], solver)


@pytest.mark.slow
def test_stationary_mean_of_any_finite_rewards():
    """Rewards from -300 to 500, falling and huge ones: within 2e-6 of their range, plus their own rounding."""
    chains, reward, state, radius = problems(2, 3, 42)
    chains, reward, radius = as_given(False, chains, reward, radius)
    kept = np.array([leads_back(chain, s) for chain, s in zip(chains, state, strict=True)])
    for scale, shift in ((800.0, -300.0), (-800.0, 500.0), (1e-6, 0.0), (1e20, -1e20)):
        mapped = (reward * np.float32(scale) + np.float32(shift)).astype(np.float32)
        got = batched(mean_upper, (chains, mapped, state, radius), False, "halley")
        assert np.isfinite(got).all()
        error = np.abs(got - oracle(chains, mapped, state, radius))[kept]
        assert (error <= 2e-6 * np.ptp(mapped.astype(float), axis=-1)[kept] + 1e-7 * abs(shift)).all(), scale


def test_lower_is_the_upper_of_the_rewards_turned_round():
    chains, reward, state, radius = as_given(False, *problems(3, 3, 42))
    state = state.astype(int)
    low = batched(mean_lower, (chains, reward, state, radius), False, "halley")
    turned = batched(mean_upper, (chains, -reward, state, radius), False, "halley")
    assert np.isfinite(low).all()
    np.testing.assert_allclose(low, -turned, rtol=0, atol=2e-6)
    high = batched(mean_upper, (chains, reward, state, radius), False, "halley")
    assert (low <= high + 2e-6).all()


@pytest.mark.slow
def test_solvers_agree():
    """The bisection and the default within 2e-6 in float32, of the ball (two states) and of the stationary mean."""
    chains, reward, state, radius = problems(4, 3, 42)
    kept = np.array([leads_back(chain, s) for chain, s in zip(chains, state, strict=True)])
    chains, reward, radius = as_given(False, chains, reward, radius)
    rows = as_given(False, random_rows(np.random.default_rng(0), 2, 60))[0]
    case = (rows, reward[: len(rows), :2], radius[: len(rows)])
    pair = [batched(ball_max, case, False, solver)[0] for solver in ("halley", "bisection")]
    np.testing.assert_allclose(*pair, rtol=0, atol=2e-6)
    pair = [batched(mean_upper, (chains, reward, state, radius), False, s)[kept] for s in ("halley", "bisection")]
    np.testing.assert_allclose(*pair, rtol=0, atol=2e-6)


def test_shapes():
    """Chains, rewards, states and radii broadcast against each other; nothing is compiled."""
    chain = jnp.full((1, 4, 3, 3), 1 / 3)
    values, state, radius = jnp.arange(3.0), jnp.array([0, 1, 2, 0]), jnp.full((2, 1), 0.1)
    maximum, row = jax.eval_shape(jax.jit(kl_ball_max), chain[0, :, 0], values[None], radius[0])
    assert maximum.shape == (4,) and row.shape == (4, 3)
    for bound in (stationary_mean_upper, stationary_mean_lower):
        mean = jax.eval_shape(jax.jit(bound), chain, values[None, None], state[None], radius)
        assert mean.shape == (2, 4) and mean.dtype == maximum.dtype == row.dtype == jnp.float32

"""The likelihood of whole chains against searches over their rows; each step to the likeliest chain is Newton's."""

import itertools

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
import reference_chain
import reference_likelihood

from jaxbandit import chains
from jaxbandit.confidence import chain_likelihood_ratio, chain_mean, chain_mean_upper
from jaxbandit.confidence.chain import (
    interior_point,
    interior_point_three_states,
    row_divergence_three_states,
    starting_points,
)


def reachable(cases, seed):
    """Counts [N, 2, 2] of one play to ten million: slow and fast chains, rows of one kind, states hardly seen."""
    rng = np.random.default_rng(seed)
    departures = np.floor(10 ** rng.uniform(0, 7, (cases, 2)) * rng.integers(0, 8, (cases, 2)).clip(0, 1))
    moves = np.floor(departures.min(1) * 10 ** rng.uniform(-6, 0, cases))
    back = (moves + rng.integers(-1, 2, cases)).clip(0)
    stays = np.maximum(departures - np.stack([moves, back], 1), 0) * rng.integers(0, 8, (cases, 2)).clip(0, 1)
    stays[np.arange(cases), rng.integers(0, 2, cases)] *= moves + back > 0  # who never moved was in one state only
    return np.stack([np.stack([stays[:, 0], moves], 1), np.stack([back, stays[:, 1]], 1)], 1).astype(int)


def paid(counts, kinds=5):
    """Rewards [N, 2] by chance, of which float32 loses nothing: either state is the better one, or none is."""
    rewards = np.array([[0, 1], [1, 0], [-0.5, 0.5], [0.75, 0.25], [2, 2]])
    return rewards[np.random.default_rng(0).integers(0, kinds, len(counts))]


def means_above(counts, reward, gap, seed):
    """A mean for each case: anywhere, or above the likeliest by a few of its deviations; float32 numbers."""
    rng = np.random.default_rng(seed)
    own = each(reference_chain.stationary_mean, counts, reward, gap)
    beyond = 10 ** rng.uniform(-1, 1, len(own)) / np.sqrt(counts.sum((1, 2)) + 1)
    near = own + (reward.max(1) - own) * np.minimum(beyond, 0.99)
    anywhere = rng.uniform(reward.min(1), reward.max(1))
    return np.where(rng.random(len(own)) < 0.5, near, anywhere).astype(np.float32)


def each(function, counts, *arguments):
    """The plain loop of every case, from the very numbers that the function under test gets."""
    count = [tuple(map(tuple, case)) for case in np.asarray(counts).tolist()]
    rest = [np.asarray(argument, float).tolist() for argument in arguments]
    return np.array([function(*case) for case in zip(count, *rest, strict=True)])


def check_close(found, expected, tolerance):
    """Within the tolerance, relative where values exceed 1; for infinity a number that nothing reaches. The error."""
    found, finite = np.asarray(found, float), np.isfinite(expected)
    assert (found[~finite] > 1e15).all() and not np.isnan(found).any()
    error = np.abs(found - expected)[finite] / np.maximum(1, np.abs(expected[finite]))
    assert error.max() <= tolerance, f"case {np.flatnonzero(finite)[error.argmax()]}: {error.max()}"
    return error.max()


def check_ratio(found, counts, reward, mean, gap, tolerance, double=False):
    """`check_close` for means that in float32 may be off by four units in the last place, from the worse reward on."""
    found, (low, high) = np.asarray(found, float), (reward.min(1), reward.max(1))
    off = 0 if double else 4 * np.spacing(np.maximum(mean - low, 1e-6).astype(np.float32))
    own, sides = each(reference_chain.stationary_mean, counts, reward, gap), []
    for side in (mean - off, mean + off):
        side = np.clip(side, low, high)
        ratio = each(reference_chain.likelihood_ratio, counts, reward, side, gap)
        # infinite at the best reward, as declared, also where a class would leave it finite
        sides.append(np.where((side >= high) & (own < side), np.inf, ratio))
    return check_close(found, np.clip(found, *sides), tolerance)


CASES = 1500


@pytest.mark.parametrize(
    ("gap", "double", "of_ratio", "of_mean"),
    [
        (None, False, 1e-5, 1e-6),
        (1.0, False, 3e-4, 5e-6),
        ("of each", False, 3e-4, 5e-6),
        pytest.param(None, True, 1e-9, 1e-9, marks=pytest.mark.slow),
        pytest.param(0.1, True, 1e-6, 1e-6, marks=pytest.mark.slow),
    ],
)
def test_ratio_and_mean_of_two_states(gap, double, of_ratio, of_mean, accuracy):
    """J at a mean beside the one given, and the mean of the likeliest chain, of all chains or of those with a gap."""
    counts = reachable(CASES, 7)
    reward, numbers = paid(counts), np.random.default_rng(6).random(CASES).astype(np.float32) ** 2
    numbers = numbers if gap == "of each" else np.full(CASES, gap or 0, np.float32)
    given = numbers if gap == "of each" else gap and numbers[0]
    mean = means_above(counts, reward, numbers, 8)
    with jax.enable_x64(double):
        result = np.asarray(chain_likelihood_ratio(counts, reward, mean.astype(float), given))
        own = np.asarray(chain_mean(counts, reward, given))
    assert result.dtype == own.dtype == (np.float64 if double else np.float32)
    error = check_ratio(result, counts, reward, mean, numbers, of_ratio, double)
    of = f"two states, {'any gap' if gap is None else f'gap {gap}'}, {result.dtype}"
    accuracy(f"likelihood of whole chains, {of}", "bisection, float64", error, of_ratio)
    error = check_close(own, each(reference_chain.stationary_mean, counts, reward, numbers), of_mean)
    accuracy(f"mean of the likeliest chain, {of}", "bisection, float64", error, of_mean)


@pytest.mark.parametrize(("double", "tolerance"), [(False, 1e-5), pytest.param(True, 1e-9, marks=pytest.mark.slow)])
def test_upper_mean_of_two_states(double, tolerance):
    """At levels from 0, where it is the likeliest mean bit for bit for rewards 0 and 1, to 40."""
    counts = reachable(CASES, 10)
    reward, level = paid(counts), (40 * np.random.default_rng(11).random(CASES) ** 3).astype(np.float32)
    level[::10], reward[::10] = 0, paid(counts[::10], kinds=2)
    with jax.enable_x64(double):
        result = np.asarray(chain_mean_upper(counts, reward, level.astype(float)))
        np.testing.assert_array_equal(result[::10], chain_mean(counts, reward)[::10])
    check_close(result, each(reference_chain.upper_mean, counts, reward, level), tolerance)


@pytest.mark.parametrize(("gap", "tolerance"), [(None, 1e-5), (0.0, 1e-3), (0.03, 1e-3)])
@pytest.mark.slow
def test_corners_of_two_states(gap, tolerance):
    """All counts with entries 0, 1, 7, 10^7: never NaN, never falling in the mean; right where plays reach."""
    none = np.zeros((1, 2, 2), int), np.array([[0.0, 1.0]])
    assert np.isfinite(chain_likelihood_ratio(*none, 0.7, gap)).all() and np.isfinite(chain_mean(*none, gap)).all()
    assert chain_mean_upper(*none, np.ones(1)).tolist() == [1]
    counts = np.array(list(itertools.product([0, 1, 7, 10**7], repeat=4))[1:]).reshape(-1, 2, 2)
    reward, number = paid(counts, kinds=2), np.full(len(counts), gap or 0, np.float32)
    before, reached = 0.0, np.abs(counts[:, 0, 1] - counts[:, 1, 0]) <= 1
    for mean in (0.0, 1e-6, 0.1, 0.55555, 1 - 1e-6, 1.0):
        means = np.full(len(counts), mean, np.float32)
        result = np.asarray(chain_likelihood_ratio(counts, reward, means, gap), float)
        check_ratio(*(each[reached] for each in (result, counts, reward, means, number)), tolerance)
        assert (result >= before - 1e-6 * np.maximum(1, before)).all()
        before = result
    assert (np.asarray(chain_likelihood_ratio(counts, reward, np.full(len(counts), 1.1), gap)) > 1e15).all()
    check_close(chain_mean(counts, reward, gap), each(reference_chain.stationary_mean, counts, reward, number), 1e-5)
    for level in (0.0, 1e-3, 1.0, 20.0, 80.0):
        levels = np.full(len(counts), level, np.float32)
        expected = each(reference_chain.upper_mean, counts, reward, levels)
        check_close(chain_mean_upper(counts, reward, levels), expected, 1e-5)


# --- three and more states ---


def trajectories(states, cases, seed):
    """Counts [N, S, S] of random chains, slow ones, those that move to neighbours only, to few states, or to one."""
    rng = np.random.default_rng(seed)
    result = []
    for case in range(cases):
        rows = rng.dirichlet(np.full(states, 0.7), states)
        if case % 5 == 1:
            rows = 0.95 * np.eye(states) + 0.05 * rows
        if case % 5 == 2:
            rows[np.abs(np.subtract.outer(range(states), range(states))) > 1] = 0
        if case % 5 == 3:
            rows[rng.random((states, states)) < 0.4] = 0
        if case % 5 == 4:
            rows = 1e-2 * rows + np.eye(states)[rng.permutation(states)]
        rows += 1e-9 * np.eye(states)
        ends = (rows / rows.sum(1, keepdims=True)).cumsum(1)
        path = [0]
        for number in rng.random(int(10 ** rng.uniform(0.3, 3))):
            path.append(min(int((ends[path[-1]] < number).sum()), states - 1))
        # What leads back to the first state is repeated.
        back = len(path) - 1 - path[::-1].index(0)
        counts = np.zeros((states, states), int)
        np.add.at(counts, (path[:back], path[1 : back + 1]), rng.choice([1, 1, 5000]))
        np.add.at(counts, (path[back:-1], path[back + 1 :]), 1)
        result.append(counts)
    return np.array(result)


def with_rewards(states, cases, seed):
    """Trajectories with the rewards 0 to 1 in any order, and a mean for each of them above that of the estimate."""
    rng = np.random.default_rng(seed)
    counts = trajectories(states, cases, seed)
    reward = np.array([rng.permutation(np.append([0, 1], rng.random(states - 2))) for _ in counts]).astype(np.float32)
    own = np.array([reference_likelihood.likeliest_mean(*case) for case in zip(counts, reward, strict=True)])
    beyond = np.where(rng.random(cases) < 0.6, 10 ** rng.uniform(-1, 1, cases) / np.sqrt(counts.sum((1, 2)) + 1), 1)
    mean = np.minimum(own + (1 - own) * np.minimum(beyond, rng.uniform(0, 0.98, cases)), 0.99)
    return counts, reward, mean.astype(np.float32)


@pytest.mark.slow
def test_four_states_against_the_search():
    """J within 1e-4 max(1, J) of the search."""
    counts, reward, mean = with_rewards(4, 12, 18)
    expected = np.array([reference_likelihood.ratio(*case) for case in zip(counts, reward, mean, strict=True)])
    error = ratio_error(counts, reward, mean, expected)
    assert (error < 1e-4).mean() >= 0.95 and error.max() < 0.5 and np.median(error) < 1e-6
    means = [reference_likelihood.likeliest_mean(*case) for case in zip(counts, reward, strict=True)]
    check_close(chain_mean(counts, reward), np.array(means), 1e-5)


def ratio_error(counts, reward, mean, expected):
    return np.abs(np.asarray(chain_likelihood_ratio(counts, reward, mean), float) - expected) / np.maximum(1, expected)


HARD = [
    ([[10000, 1, 0], [0, 230, 0], [0, 0, 0]], [1, 0, 0.0453], 0.7357335),
    ([[459, 0, 30], [1, 0, 0], [30, 0, 0]], [0.0, 0.8515, 1], 0.4476),  # to stay in the second best state
    ([[0, 140000, 0], [140000, 0, 0], [0, 0, 0]], [1, 0.65699005, 0], 0.8285325),
]


@pytest.mark.slow
def test_arms_that_hardly_left_a_state():
    """Several minima, states that were never come back to, huge counts of one cycle: found wrong by a local search."""
    counts, reward, mean = map(np.array, zip(*HARD))
    expected = np.array([reference_likelihood.ratio(*case) for case in zip(counts, reward, mean, strict=True)])
    assert ratio_error(counts, reward.astype(np.float32), mean.astype(np.float32), expected).max() < 2e-3


@pytest.mark.slow
def test_classes_of_more_states():
    """J and the mean of the likeliest chain over chains with a gap, against searches over the rows."""
    counts, reward, mean = with_rewards(3, 4, 301)
    gap = np.array([0.01, 0.03, 0.1, 0.3], np.float32)
    cases = list(zip(counts, reward, mean, gap.astype(float), strict=True))
    expected = np.array([reference_likelihood.ratio(*case) for case in cases])
    check_close(chain_likelihood_ratio(counts, reward, mean, gap), expected, 1e-3)
    # where a row is free several chains are as likely; the search finds the mean of one, not the largest
    means = np.array([reference_likelihood.likeliest_mean(n, r, g) for n, r, _, g in cases])
    assert (np.asarray(chain_mean(counts, reward, gap), float) > means - 1e-4).all()


@pytest.mark.slow
def test_upper_mean_of_three_states():
    """The ratio of a slightly smaller mean is within the level, that of a slightly larger mean is not."""
    counts, reward, _ = with_rewards(3, 6, 19)
    level = np.random.default_rng(20).uniform(0.1, 15, len(counts)).astype(np.float32)
    result = np.asarray(chain_mean_upper(counts, reward, level), float)
    right = []
    for case, mean, most in zip(zip(counts, reward, strict=True), result, level, strict=True):
        below = reference_likelihood.ratio(*case, mean - 1e-4 * (1 - mean) - 1e-6) <= most * (1 + 1e-6)
        above = mean > 1 - 1e-5 or reference_likelihood.ratio(*case, mean + 1e-4 * (1 - mean)) >= most * (1 - 1e-6)
        right.append(below and above)
    assert np.mean(right) >= 0.8  # see the search above


@pytest.mark.slow
def test_corners_of_three_states():
    """Trajectories, where J hardly ever falls in the mean, and other counts of 0, 1, 2, 7, 10^7: never NaN."""
    counts = np.random.default_rng(23).choice([0, 0, 1, 2, 7, 10**7], (200, 3, 3))
    counts = np.concatenate([trajectories(3, 200, 24), counts])
    reward = np.tile([0.5, 0.0, 1.0], (len(counts), 1))
    before = 0.0
    for mean in (0.0, 0.1, 0.5, 0.7, 0.9, 1.0, 1.1):
        result = np.asarray(chain_likelihood_ratio(counts, reward, np.full(len(counts), mean, np.float32)), float)
        assert not np.isnan(result).any()
        assert (result >= before - 1e-3 * np.maximum(1, before))[:200].mean() > 0.99  # see the search above
        before = result
    assert (before > 1e15).all()
    mean = np.asarray(chain_mean(counts, reward), float)
    assert ((mean >= -1e-6) & (mean <= 1 + 1e-6)).all()


# --- steps to the likeliest chain, against the whole system of equations solved at once by NumPy ---

SHORTENED = 0.9
starting_point = jax.jit(starting_points.starting_point)


def equations(z, target, paid, mean, high, barrier, push):
    """What is 0 at the optimum, for one case, in the letters of docs/computed/likeliest_chain.md; rows are [s, j]."""
    # Without a box `high` and `barrier` are None; `push` is None where the mean is given.
    q, slack, y, u = z["q"], z["slack"], z["weight"], z["value"]
    v = u[None] - u[:, None] - (z["mean"] - paid)[:, None]
    balance = y @ q - y * q.sum(1)
    result = [
        (q * slack - target).ravel(),
        (z["total"][:, None] - y[:, None] * v - slack).ravel(),
        1 - q.sum(1),
        (q * v).sum(1),
        (z["mean"] - mean if push is None else push - y @ q.sum(1))[None],
    ]
    if high is None:  # one of the balances follows from the others, and only differences of u count
        return jnp.concatenate([*result, balance[1:], (u.sum() - jax.lax.stop_gradient(u.sum()))[None]])
    sides = z["below"] * u - barrier, z["above"] * (high - u) - barrier
    return jnp.concatenate([*result, balance + z["below"] - z["above"], *sides])


@jax.jit
def linearised(z, *given):
    """What the equations are at z, and their derivatives by all unknowns, a square matrix."""
    flat, shaped = jax.flatten_util.ravel_pytree(z)
    return equations(z, *given), jax.jacobian(lambda flat: equations(shaped(flat), *given))(flat)


def newton(z, *given):
    """The change of each unknown, and the length at which nothing positive loses more than nine tenths."""
    residual, matrix = map(np.asarray, linearised(z, *given))
    change = jax.flatten_util.ravel_pytree(z)[1](jnp.asarray(np.linalg.solve(matrix, -residual)))
    high = given[3]
    losses = [-change[name] / z[name] for name in ("q", "slack", "below", "above") if name in z]
    losses += [] if high is None else [-change["value"] / z["value"], change["value"] / (high - z["value"])]
    return change, min(1.0, SHORTENED / max(float(loss.max()) for loss in losses))


def unknowns(point, case):
    """One case of a point."""
    z = {"q": np.stack(point.q)[..., case].T, "slack": np.stack(point.slack)[..., case].T}
    z |= {name: getattr(point, name)[..., case] for name in ("weight", "total", "value", "mean")}
    if point.box is not None:
        z |= {"below": point.box.below[..., case], "above": point.box.above[..., case]}
    return jax.tree.map(jnp.asarray, z)


def counted(states, cases, seed):
    """Counts [j, s, case] of every move, rewards, and a mean between the chain's own and the best reward."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, (states, states, cases)).astype(float)
    paid = rng.random((states, cases))
    rows = (counts / counts.sum(0)).T  # [case, s, j]
    own = np.array([chains.stationary(chain) @ reward for chain, reward in zip(rows, paid.T, strict=True)])
    return counts, paid, own + rng.uniform(0.3, 0.9, cases) * (paid.max(0) - own)


def check_step(before, after, given, case):
    """All unknowns after a step, and the residuals that it carries."""
    z, result = unknowns(before, case), unknowns(after, case)
    change, length = newton(z, *given)
    for name, start in z.items():
        expected = start + length * change[name]
        if name == "value" and given[3] is None:
            expected, result[name] = expected - expected[0], result[name] - result[name][0]
        np.testing.assert_allclose(result[name], expected, rtol=1e-7, atol=1e-7, err_msg=name)
    v = result["value"][None] - result["value"][:, None] - (result["mean"] - given[1])[:, None]
    drift = result["total"][:, None] - result["weight"][:, None] * v - result["slack"]
    np.testing.assert_allclose(np.stack(after.drift)[..., case].T, drift, atol=1e-7)
    np.testing.assert_allclose(after.moment[..., case], (result["q"] * v).sum(1), atol=1e-9)
    return length


@pytest.mark.parametrize("kind", ["mean", "box and free mean"])
@pytest.mark.slow
def test_a_step_is_newtons(kind):
    """Over all chains with a mean, and over a class."""
    with jax.enable_x64(True):
        cases = 4
        counts, paid, mean = map(jnp.asarray, counted(4, cases, seed=4))
        high = None if kind == "mean" else jnp.full(cases, 3.0)
        wanted = mean if kind == "mean" else None
        point, _ = starting_point(counts, paid, wanted, jnp.max(paid, 0), high)
        value = starting_point(counts, paid, wanted, jnp.max(paid, 0), jnp.full(cases, 0.5))[0].value
        assert ((value > 0) & (value < 0.5)).all()  # a search begins inside the box
        push = jnp.full(cases, 1e-2) if wanted is None else None
        step = jax.jit(interior_point.step)
        lengths = []
        for _ in range(6):
            after, _ = step(point, counts, paid, jnp.asarray(0.1), push, jnp.ones(cases, bool))
            for case in range(cases):
                box = (None, None) if high is None else (high[case], 0.1)
                inputs = (counts[..., case].T, paid[:, case], mean[case], *box, None if push is None else push[case])
                lengths.append(check_step(point, after, inputs, case))
            point = after
        assert min(lengths) < 1 and 1 in lengths


@pytest.mark.slow
def test_a_step_of_three_states_is_newtons():
    with jax.enable_x64(True):
        counts, paid, mean = map(jnp.asarray, counted(3, 8, seed=1))
        first, _ = starting_point(list(counts), paid, mean, jnp.max(paid, 0), None)

        def turned(row):
            return [[row[j][s] for j in range(3)] for s in range(3)]

        rows = (turned(row) for row in (first.q, first.slack, first.drift))
        rest = map(list, (first.weight, first.total, first.value, first.moment))
        point = interior_point_three_states.PointOfThree(*rows, *rest)

        def whole(point):
            q, slack, drift = ([jnp.stack([row[j] for row in rows]) for j in range(3)] for rows in point[:3])
            rest = dict(zip(("weight", "total", "value", "moment"), map(jnp.stack, point[3:]), strict=True))
            return first._replace(q=q, slack=slack, drift=drift, **rest)

        step = jax.jit(interior_point_three_states.step_of_three)
        for _ in range(6):
            after = step(point, turned(counts), [mean - reward for reward in paid])
            for case in range(8):
                inputs = (counts[..., case].T, paid[:, case], mean[case], None, None, None)
                check_step(whole(point), whole(after), inputs, case)
            point = after


def row_divergences(n, v):
    """The largest sum n log(1 - x v) over x from 0 to 1 / max v, by halving; 0 where only the best move was seen."""
    most = v.max(1)
    low, high = np.zeros(len(n)), 1 / np.maximum(most, 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(200):
            x = (low + high) / 2
            rising = np.where(n > 0, n * v / (1 - x[:, None] * v), 0).sum(1) < 0
            low, high = np.where(rising, x, low), np.where(rising, high, x)
        result = np.where(n > 0, n * np.log1p(-low[:, None] * v), 0).sum(1)
    worse = (n * (v < most[:, None])).sum(1) > 0
    return np.where(((n * v).sum(1) < 0) & worse, np.where(most > 0, result, np.inf), 0)


@pytest.mark.slow
def test_row_divergences_of_three_states():
    """Within 2e-5, or 2e-8; a third of the counts are 0, and in one case of eight all moves lose."""
    rng = np.random.default_rng(0)
    n = np.where(rng.random((150, 3)) < 1 / 3, 0, 10 ** rng.uniform(-3, 5, (150, 3))).astype(np.float32)
    v = (rng.normal(size=(150, 3)) * 10 ** rng.uniform(-2, 1, (150, 3))).astype(np.float32)
    n[:4] = [[5, 0, 0], [0, 3, 7], [3, 4, 0], [0.034, 0.108, 77.5]]
    v[:4] = [[0, -1, -2], [-1, 0, 0], [0, -1, -2], [1.6, 1.5, -0.0108]]
    exact = row_divergences(n.astype(float), v.astype(float))
    apart = [v[:, i].astype(float) - v[:, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    arrays = (list(map(jnp.float32, columns)) for columns in (n.T, v.T, apart))
    computed = np.asarray(row_divergence_three_states.divergence(*arrays), float)
    np.testing.assert_array_equal(np.isinf(computed), np.isinf(exact))
    finite = np.isfinite(exact)
    np.testing.assert_allclose(computed[finite], exact[finite], rtol=2e-5, atol=2e-8)

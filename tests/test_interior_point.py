"""Each step to the likeliest chain is Newton's: against the whole system of equations, solved at once by NumPy."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp

from jaxbandit import chains
from jaxbandit.confidence.chain import (
    interior_point,
    interior_point_three_states,
    multistart,
    row_divergence_three_states,
    starting_points,
)

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


def problems(states, cases, seed):
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


@pytest.mark.parametrize("kind", ["mean", "box", "box and free mean"])
def test_a_step_is_newtons(kind):
    """Over all chains with a mean, over a class of chains with a mean, and over a class."""
    with jax.enable_x64(True):
        cases = 4
        counts, paid, mean = map(jnp.asarray, problems(4, cases, seed=4))
        high = None if kind == "mean" else jnp.full(cases, 3.0)
        wanted = mean if kind != "box and free mean" else None
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
        counts, paid, mean = map(jnp.asarray, problems(3, 8, seed=1))
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


@pytest.mark.slow
def test_a_search_that_has_arrived_would_not_move_on(monkeypatch):
    """J of a class is that after all 40 steps, for random counts with zeros; ended at .9 it is off by 8e-9."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(5)
        counts = jnp.asarray(rng.poisson(rng.dirichlet(np.ones(3), (100, 3)) * np.exp(rng.uniform(0, 6, (100, 3, 1)))))
        paid, gap = jnp.asarray(np.sort(rng.uniform(size=(100, 3)), -1)), jnp.asarray(rng.uniform(0, 0.3, 100))
        rows = (counts + 0.5) / (counts + 0.5).sum(-1, keepdims=True)
        low = jnp.asarray([chains.stationary(row) @ reward for row, reward in zip(rows, paid, strict=True)])
        mean = low + (paid[:, 2] - low) * rng.uniform(0.05, 0.9, 100)
        early = np.asarray(multistart.least(counts, paid, mean, gap)[0])
        monkeypatch.setattr(multistart, "_ARRIVED", 0.0)
        late = np.asarray(multistart.least(counts, paid, mean, gap)[0])
        assert (early < multistart.INFINITE).mean() > 0.9
        np.testing.assert_allclose(early, late, rtol=1e-12, atol=1e-12)


def divergence_of_a_row(n, v):
    """The row divergence, by halving the interval of x in 40 digits; 0 where only the best move was seen."""
    with mp.workdps(40):
        n, v = ([mp.mpf(float(number)) for number in numbers] for numbers in (n, v))
        if mp.fdot(n, v) >= 0 or not any(a for a, b in zip(n, v, strict=True) if b < max(v)):
            return 0
        if max(v) <= 0:
            return np.inf
        low, high = mp.mpf(0), 1 / max(v)
        for _ in range(130):
            x = (low + high) / 2
            rising = sum(a * b / (1 - x * b) for a, b in zip(n, v, strict=True) if a) < 0
            low, high = (x, high) if rising else (low, x)
        return float(sum(a * mp.log(1 - low * b) for a, b in zip(n, v, strict=True) if a))


@pytest.mark.slow
def test_row_divergences_of_three_states_against_40_digits():
    """Within 2e-5, or 2e-8; a third of the counts are 0, and in one case of eight all moves lose."""
    rng = np.random.default_rng(0)
    n = np.where(rng.random((400, 3)) < 1 / 3, 0, 10 ** rng.uniform(-3, 5, (400, 3))).astype(np.float32)
    v = (rng.normal(size=(400, 3)) * 10 ** rng.uniform(-2, 1, (400, 3))).astype(np.float32)
    n[:4] = [[5, 0, 0], [0, 3, 7], [3, 4, 0], [0.034, 0.108, 77.5]]
    v[:4] = [[0, -1, -2], [-1, 0, 0], [0, -1, -2], [1.6, 1.5, -0.0108]]
    exact = np.array([divergence_of_a_row(*row) for row in zip(n, v, strict=True)])
    apart = [v[:, i].astype(float) - v[:, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    arrays = (list(map(jnp.float32, columns)) for columns in (n.T, v.T, apart))
    computed = np.asarray(row_divergence_three_states.divergence(*arrays), float)
    np.testing.assert_array_equal(np.isinf(computed), np.isinf(exact))
    finite = np.isfinite(exact)
    np.testing.assert_allclose(computed[finite], exact[finite], rtol=2e-5, atol=2e-8)

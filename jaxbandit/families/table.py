"""The exponential family of a chain with any number of states, from a table that is made on the host."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import Numbers, check_together
from jaxbandit.base import pytree
from jaxbandit.families.tilting import largest_cycle, tilted
from jaxbandit.fast import larger, smaller

CELLS = 128  # of the table, a power of 2
NEAR = 1e-9  # of the reward's range, from the ends of the means to those of the table
FIELDS = {"theta": "[N]", "mean": "[N]", "between": "[N, N]", "bends": "[M, B]", "reward": "[S]"}
FARTHEST = 600.0  # theta times the reward's range, where the table ends even if its means are not near their limits


@pytree
class TabledChains:
    """Chains tilted along their reward, parametrised by the mean m = A'(theta), A the log of the largest eigenvalue.

    D(m || n) = A(eta) - A(theta) - (eta - theta) m, n = A'(eta). A is a polynomial of degree 5 between the thetas of a
    table, with the exact A, A' and A'' at both ends of each cell. D is added up from nonnegative parts: from theta to
    an end of its cell, from end to end, and from there to eta. With D(x || y) = A(y) - A(x) - (y - x) A'(x) and theta_i
    between them

        D(theta || eta) = D(theta || i) + D(i || eta) + (A'(i) - m) (eta - theta_i).

    `tabulated` makes it; a mean outside the family's range is replaced by the nearest mean in it.

    Source: Moulos and Anantharam 2019, section 2.
    """

    theta: Array | np.ndarray  # [N + 1]
    mean: Array | np.ndarray  # [N + 1], A' there
    between: Array | np.ndarray  # [N + 1, N + 1], D from row to column
    bends: Array | np.ndarray  # [N, 4], the coefficients 2 to 5 of A in the position within a cell, from 0 to 1
    reward: Array | np.ndarray  # [S], what every arm's states pay

    @property
    def range(self) -> tuple[Array, Array]:
        return self.mean[0], self.mean[-1]

    def validate(self, reward: np.ndarray) -> None:
        tables = {name: (getattr(self, name), Numbers(axes)) for name, axes in FIELDS.items()}
        check_together(tables)
        pays, own = np.asarray(reward, float), np.asarray(self.reward, float)
        if pays.shape[1:] != own.shape or np.abs(pays - own).max() > 1e-6 * np.ptp(own):
            raise ValueError(f"family: every arm's states must pay {own.tolist()}, in this order")

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> Array:
        mean, other = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(other, float))
        mean, other = self._within(mean), self._within(other)
        (cell, here), (far, there) = self._place(mean), self._place(other)
        right = other >= mean
        start, stop = cell + right, far + ~right
        own, others = self._read(self.bends, cell), self._read(self.bends, far)
        ends = jnp.where(right, 1.0, 0.0)
        first = _lost(_from(own, here), ends - here)
        last_step = there - (1 - ends)
        slope = (self._read(self.mean, stop) - mean) * self._width(far)
        apart = first + self._to(mean, start, stop) + slope * last_step + _lost(_from(others, 1 - ends), last_step)
        return jnp.where(cell == far, _lost(_from(own, here), there - here), apart)

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> Array:
        mean, radius = jnp.broadcast_arrays(jnp.asarray(mean, float), jnp.asarray(radius, float))
        mean = self._within(mean)
        cell, here = self._place(mean)
        own = _from(self._read(self.bends, cell), here)
        first = _lost(own, 1 - here)
        inside = radius <= first
        start = cell + 1
        stop = start
        for step in _halves(CELLS):
            further = jnp.minimum(stop + step, CELLS)
            stop = jnp.where(first + self._to(mean, start, further) <= radius, further, stop)
        left = radius - first - self._to(mean, start, stop)
        last = jnp.minimum(stop, CELLS - 1)
        coefficients = [jnp.where(inside, a, b) for a, b in zip(own, _from(self._read(self.bends, last), 0.0))]
        width = self._width(jnp.where(inside, cell, last))
        slope = jnp.where(inside, 0, (self._read(self.mean, last) - mean) * width)
        share = _root(coefficients, slope, jnp.where(inside, radius, left), jnp.where(inside, 1 - here, 1.0))
        upper_mean = jnp.where(inside, mean, self._read(self.mean, last)) + _rise(coefficients, share) / width
        best = jnp.asarray(self.mean, float)[-1]
        return jnp.where(~inside & (stop == CELLS), best, jnp.clip(upper_mean, mean, best))

    def _within(self, mean: Array) -> Array:
        means = jnp.asarray(self.mean, float)
        return jnp.clip(mean, means[0], means[-1])

    def _place(self, mean: Array) -> tuple[Array, Array]:
        """The cell of a mean, and the position within it, from 0 to 1, at which A' is the mean."""
        cell = jnp.zeros(mean.shape, jnp.int32)
        for step in _halves(CELLS):
            cell = jnp.where(self._read(self.mean, cell + step) <= mean, cell + step, cell)
        rise = (mean - self._read(self.mean, cell)) * self._width(cell)
        bends = self._read(self.bends, cell)
        tiny = float(np.finfo(mean.dtype).tiny)
        start = _from(bends, 0.0)
        share = jnp.clip(rise / larger(_rise(start, jnp.ones_like(mean)), tiny), 0, 1)
        for _ in range(5):
            steepness = 2 * _from(bends, share)[0]
            share = jnp.clip(share + (rise - _rise(start, share)) / larger(steepness, tiny), 0, 1)
        return cell, share

    def _to(self, mean: Array, start: Array, stop: Array) -> Array:
        """D from the end `start` of the mean's cell to the end `stop` of another, and what the mean's slope adds."""
        apart = self._read(self.theta, stop) - self._read(self.theta, start)
        return jnp.asarray(self.between, float)[start, stop] + (self._read(self.mean, start) - mean) * apart

    def _width(self, cell: Array) -> Array:
        return self._read(self.theta, cell + 1) - self._read(self.theta, cell)

    def _read(self, table: Array | np.ndarray, place: Array) -> Array:
        return jnp.asarray(table, float)[place]


def _halves(size: int) -> list[int]:
    """size/2, size/4 to 1: the steps of a search among `size` cells."""
    return [size >> n for n in range(1, size.bit_length())]


def _from(bends: Array, share: Array | float) -> list[Array]:
    """The coefficients 2 to 5 of a cell's polynomial about another point of the cell."""
    two, three, four, five = (bends[..., n] for n in range(4))
    return [
        two + share * (3 * three + share * (6 * four + share * 10 * five)),
        three + share * (4 * four + share * 10 * five),
        four + 5 * share * five,
        five,
    ]


def _lost(bends: list[Array], step: Array) -> Array:
    two, three, four, five = bends
    return jnp.maximum(step * step * (two + step * (three + step * (four + step * five))), 0)


def _rise(bends: list[Any], step: Any) -> Any:
    two, three, four, five = bends
    return step * (2 * two + step * (3 * three + step * (4 * four + step * 5 * five)))


def _root(bends: list[Array], slope: Array, goal: Array, most: Array) -> Array:
    """The step in [0, most] at which slope step + the polynomial is the goal, by four of Newton's steps."""
    tiny = float(np.finfo(goal.dtype).tiny)
    goal = smaller(goal, 1e30)
    step = 2 * goal / larger(slope + jnp.sqrt(slope * slope + 4 * bends[0] * goal), tiny)
    step = smaller(step, most)
    for _ in range(4):
        distance = slope * step + _lost(bends, step) - goal
        proposal = step - distance / larger(slope + _rise(bends, step), tiny)
        step = jnp.where(proposal >= 0, smaller(proposal, most), 0)
    return step


def tabulated(generator: np.ndarray, reward: np.ndarray) -> TabledChains:
    """The table of a family, to thetas whose means are near their limits, with cells halved where A' is worst."""
    unit = np.ptp(reward)
    scaled = (reward - reward.min()) / unit
    ends = [sign * _far_enough(sign, generator, scaled) for sign in (-1, 1)]
    theta = np.sinh(np.linspace(np.arcsinh(ends[0]), np.arcsinh(ends[1]), CELLS // 4 + 1))
    points = np.array([_at(value, generator, scaled) for value in theta])
    middles = np.array([_at(value, generator, scaled) for value in (theta[1:] + theta[:-1]) / 2])
    while len(theta) <= CELLS:
        bends, width = _bends(theta, points), np.diff(theta)
        halfway = points[:-1, 1] + _rise([bends[:, n] for n in range(4)], np.full(len(width), 0.5)) / width
        worst = int(np.argmax(np.abs(halfway - middles[:, 1])))
        theta = np.insert(theta, worst + 1, theta[worst] + width[worst] / 2)
        points = np.insert(points, worst + 1, middles[worst], axis=0)
        halves = [_at(theta[worst + n] + width[worst] / 4, generator, scaled) for n in (0, 1)]
        middles = np.concatenate([middles[:worst], halves, middles[worst + 1 :]])
    bends = _bends(theta, points)
    means = points[:, 1]
    means[0], means[-1] = -largest_cycle(generator, -scaled), largest_cycle(generator, scaled)
    return TabledChains(theta / unit, reward.min() + unit * means, _between(theta, points), bends, reward)


def _between(theta: np.ndarray, points: np.ndarray) -> np.ndarray:
    """D from every theta to every other [N + 1, N + 1], from A, A' and A'' there."""
    value, mean, _ = points.T
    return np.asarray(np.maximum(value[None] - value[:, None] - mean[:, None] * (theta[None] - theta[:, None]), 0))


def _bends(theta: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Coefficients 2 to 5 [N, 4] of polynomials in the position within a cell, with A, A', A'' right at its ends."""
    value, mean, curvature = points.T
    width = np.diff(theta)
    two = curvature[:-1] * width**2 / 2
    rest = np.diff(value) - mean[:-1] * width - two
    slope = np.diff(mean) * width - 2 * two
    bend = curvature[1:] * width**2 - 2 * two
    parts = [two, 10 * rest - 4 * slope + bend / 2, -15 * rest + 7 * slope - bend, 6 * rest - 3 * slope + bend / 2]
    return np.stack(parts, -1)


def _far_enough(sign: int, generator: np.ndarray, reward: np.ndarray) -> float:
    limit = largest_cycle(generator, sign * reward)
    theta = 4.0
    while theta < FARTHEST and limit - sign * _at(sign * theta, generator, reward)[1] > NEAR:
        theta *= 1.2
    return theta


def _at(theta: float, generator: np.ndarray, reward: np.ndarray) -> tuple[float, float, float]:
    """A, A' and A'' at theta; A'' is the mean square of the reward less its mean plus the change of relative value."""
    rows, value = tilted(theta, generator, reward)
    law = chains.stationary(rows)
    mean = float(law @ reward)
    values = chains.relative_values(rows, rows @ reward)
    excess = reward + values - values[:, None] - mean
    return value, mean, float(law @ (rows * excess**2).sum(1))

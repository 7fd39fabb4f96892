"""The nearest chain that is good enough, for any number of states, by an interior-point search over its rows."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from jaxbandit import chains
from jaxbandit.bounds.beginnings import beginnings

STEPS = 150
BARRIER = 1e-10  # of the rate, where the search ends
FIRST_BARRIER = 1e-3  # of the rate: a higher one would lead all searches to the same minimum
NEAR = 1e-4  # distance of the mean from its target below which their difference has lost too many digits
SHORTENED = 0.99  # the largest part of the way to the boundary that a step goes


class Nearest(NamedTuple):
    """A chain Q near to P = the given one."""

    mean: float  # of Q
    rate: float  # I(P || Q)
    rows: np.ndarray  # [S, S], Q


class _Problem(NamedTuple):
    """The chain P from which the rate is measured, with rewards from 0 to 1, and the requirements on Q."""

    transition: np.ndarray  # [S, S]
    law: np.ndarray  # [S]
    reward: np.ndarray  # [S]
    values: np.ndarray  # [S], relative values of P
    rise: float  # of the mean, from that of P to the target
    left: float  # from the target to the largest reward
    gap: float

    @property
    def weights(self) -> np.ndarray:
        """How often P makes each move, [S, S]."""
        return np.asarray(self.law[:, None] * self.transition)


class _Point(NamedTuple):
    """Chains Q [B, S, S] with positive entries, and what follows from them."""

    rows: np.ndarray  # [B, S, S]
    rate: np.ndarray  # [B]
    law: np.ndarray  # [B, S]
    inverse: np.ndarray  # [B, S, S]; its product with the reward is the relative values, up to a constant
    values: np.ndarray  # [B, S]
    better: np.ndarray  # [B], mean less target
    room: np.ndarray  # [B, S, S], 1 - gap (u_i - u_j), u the relative values


class _Duals(NamedTuple):
    """Multipliers of the constraints: on moves that P cannot make, on the mean, on pairs of relative values."""

    moves: np.ndarray  # [B, S, S]
    mean: np.ndarray  # [B]
    pairs: np.ndarray  # [B, S, S]


class _Step(NamedTuple):
    """A direction, and what it does to the merit and to the constraints, to first order."""

    rows: np.ndarray  # [B, S, S]
    slope: np.ndarray  # [B]
    mean: np.ndarray  # [B]
    values: np.ndarray  # [B, S]


Numbers = TypeVar("Numbers", _Point, _Step)


def nearest_chain(
    transition: np.ndarray,
    reward: np.ndarray,
    target: float = -np.inf,
    gap: float = 0.0,
    near: np.ndarray | None = None,
) -> Nearest:
    """The least I(transition || Q) found over chains Q with a mean of at least `target`, and a reward gap of `gap`.

    The search is over the rows of Q; law, mean and relative values are smooth functions of them. A barrier -b log Q_sj
    keeps the probabilities of moves that `transition` cannot make positive, and likewise the amounts by which the mean
    exceeds `target` and by which `chains.reward_gap` exceeds `gap`. Newton's steps follow the minimum of rate plus
    barrier as b falls to 1e-10 of the rate. So the rate is that of a chain that exists and is good enough, up to
    rounding, and it exceeds a local minimum by about 1e-8 of it at most. The chains that are good enough do not form a
    convex set, and there may be several local minima: the least of 24 searches is taken, of 48 with a gap
    (`beginnings`). It is not certified that no chain is nearer.

    Args:
      transition: [S, S], irreducible.
      reward: [S], not all equal.
      target: less than the largest reward.
      gap: in [0, 1].
      near: [S, S], a chain with positive entries and a mean above `target` from which the only search begins, if given;
        it takes a fifth of the time, and may end in another local minimum.
    """
    transition, reward = np.asarray(transition, float), np.asarray(reward, float)
    lowest, unit = reward.min(), np.ptp(reward)
    left = min((reward.max() - target) / unit, 2.0)  # means are at least 0: a target of -1 requires nothing
    reward, target = (reward - lowest) / unit, 1 - left
    law, values = chains.stationary(transition), chains.relative_values(transition, reward)
    problem = _Problem(transition, law, reward, values, target - float(law @ reward), left, gap)
    if problem.rise <= 0 and gap * np.ptp(values) <= 1:
        return Nearest(float(lowest + unit * (law @ reward)), 0.0, transition)

    def gaps_of(rows: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.ptp(_at(problem, rows).values, axis=1))

    with np.errstate(all="ignore"):  # steps that are not finite are not taken
        starts = beginnings(transition, reward, target, gap, gaps_of) if near is None else near[None]
        ends = _search(problem, starts)
        rates = _merit(problem, ends, np.zeros(len(ends.rate)))
    least = int(rates.argmin())
    return Nearest(float(lowest + unit * (ends.law[least] @ reward)), float(rates[least]), ends.rows[least])


def _at(problem: _Problem, rows: np.ndarray) -> _Point:
    """The point of chains [B, S, S], whose rows may sum to 1 only up to rounding."""
    rows = rows / rows.sum(-1, keepdims=True)
    states = len(problem.law)
    leaving = rows * (np.eye(states) - 1)
    out = -leaving.sum(-1)
    leaving = leaving + np.eye(states) * out[:, :, None]
    law = _stationary(rows)
    # relative values matter up to a constant, so the law may be scaled to the size of the chain's rates
    inverse = _solved(leaving + out.max(1)[:, None, None] * law[:, None, :], np.eye(states))
    values = inverse @ problem.reward
    rate = chains.relative_entropy(problem.transition, rows) @ problem.law
    if problem.rise > NEAR:
        better = problem.left - law @ (1 - problem.reward)
    else:  # the difference of means would be rounding
        apart = problem.values - problem.values[:, None]
        better = np.einsum("bi,bij,ij->b", law, rows - problem.transition, apart) - problem.rise
    room = 1 - problem.gap * (values[:, :, None] - values[:, None, :])
    return _Point(rows, rate, law, inverse, values, better, room)


def _stationary(rows: np.ndarray) -> np.ndarray:
    """The stationary laws [B, S] of chains with positive entries, by the method of `chains.stationary`."""
    rates, states = rows.copy(), rows.shape[-1]
    for last in range(states - 1, 0, -1):
        rates[:, :last, last] /= rates[:, last, :last].sum(-1, keepdims=True)
        rates[:, :last, :last] += rates[:, :last, last, None] * rates[:, None, last, :last]
    law = np.ones(rows.shape[:2])
    for s in range(1, states):
        law[:, s] = (law[:, :s] * rates[:, :s, s]).sum(-1)
    return np.asarray(law / law.sum(-1, keepdims=True))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix^-1 right, NaN where a matrix of [B, S, S] is singular to the last digit."""
    right = np.broadcast_to(right, (*matrix.shape[:2], right.shape[-1]))
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        regular = np.linalg.slogdet(matrix).sign != 0
        solution = np.full(right.shape, np.nan)
        solution[regular] = np.linalg.solve(matrix[regular], right[regular])
        return solution


def _merit(problem: _Problem, at: _Point, barrier: np.ndarray) -> np.ndarray:
    """Rate plus barrier, [B]; inf where a constraint is broken."""
    unseen = np.where(problem.transition == 0, np.log(at.rows), 0).sum((1, 2))
    merit = at.rate - barrier * (unseen + np.log(at.better) + np.log(at.room).sum((1, 2)))
    return np.where((at.better > 0) & (at.room > 0).all((1, 2)) & np.isfinite(merit), merit, np.inf)


def _search(problem: _Problem, rows: np.ndarray) -> _Point:
    """Where the searches from chains [B, S, S] end."""
    at = _at(problem, rows)
    barrier = FIRST_BARRIER * at.rate
    unseen = problem.transition == 0
    duals = _Duals(*(_wide(barrier, room) / room for room in (at.rows, at.better, at.room)))
    searching = np.ones(len(rows), bool)
    for _ in range(STEPS):
        duals = duals._replace(moves=np.where(unseen, duals.moves, 0))
        newton, convex = _steps(problem, at, duals, barrier)
        step = _choose(newton.slope < 0, newton, convex)
        before, at, progressed = at, *_along(problem, at, step, barrier, searching)
        widths = -problem.gap * (step.values[:, :, None] - step.values[:, None, :])
        changes = zip(duals, (before.rows, before.better, before.room), (step.rows, step.mean, widths), strict=True)
        duals = _Duals(*(_updated(dual, barrier, room, change) for dual, room, change in changes))
        near = (-step.slope < 0.1 * barrier) | ~progressed
        end = BARRIER * at.rate
        searching &= ~(near & (barrier <= end))
        if not searching.any():
            break
        barrier = np.where(near, np.maximum(0.1 * barrier, end / 2), barrier)
    return at


def _steps(problem: _Problem, at: _Point, duals: _Duals, barrier: np.ndarray) -> tuple[_Step, _Step]:
    """Newton's step, and the step that takes the mean and the relative values to be linear in Q, which always descends.

    Let e_s = sum over j of dQ_sj u_j. The mean changes by the sum over s of law_s e_s, the relative values by du =
    inverse e, and both once more, to second order, by the same with sum over j of dQ_sj du_j for e_s. So e alone
    couples the rows, and the system for dQ reduces to one for e and its multipliers, with 2 S unknowns.
    """
    states, eye = len(problem.law), np.eye(len(problem.law))
    across = np.swapaxes(at.inverse, 1, 2)

    def pull(mean: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Derivative [B, S] by e of constraints with these weights, times -1."""
        apart = problem.gap * (pairs.sum(1) - pairs.sum(2))
        return np.asarray(mean[:, None] * at.law + (across @ apart[:, :, None])[..., 0])

    wide = barrier[:, None, None]
    slopes = -(problem.weights + np.where(problem.transition == 0, wide, 0)) / at.rows
    slopes = slopes - pull(barrier / at.better, wide / at.room)[:, :, None] * at.values[:, None, :]
    stiff = (problem.weights / at.rows + duals.moves) / at.rows
    ease = 1 / stiff
    total = ease.sum(-1, keepdims=True)

    def centred(row: np.ndarray) -> np.ndarray:
        """Numbers [B, S, S] less their weighted mean in each row, because dQ sums to 0 in every row."""
        return np.asarray(row - (ease * row).sum(-1, keepdims=True) / total)

    slopes, values = centred(slopes), centred(np.broadcast_to(at.values[:, None, :], ease.shape))
    lever = ease * values
    joined = problem.gap**2 * duals.pairs / at.room
    joined = joined + np.swapaxes(joined, 1, 2)
    joined = across @ (eye * joined.sum(2, keepdims=True) - joined) @ at.inverse
    joined = joined + (duals.mean / at.better)[:, None, None] * at.law[:, :, None] * at.law[:, None, :]
    steps = []
    for bend in (-pull(duals.mean, duals.pairs), np.zeros_like(at.law)):
        bent = bend[:, :, None]
        spread = eye * (bent**2 * ease).sum(1)[:, None, :] - np.swapaxes(bent * ease, 1, 2) @ (bent * ease / total)
        by_e = np.concatenate([eye + bent * (lever @ at.inverse), (lever * values).sum(-1)[:, :, None] * eye], axis=2)
        by_weight = np.concatenate(
            [across @ spread @ at.inverse - joined, eye + across @ np.swapaxes(bent * lever, 1, 2)], axis=2
        )
        pushed = (across @ (bent * ease * slopes).sum(1)[:, :, None])[..., 0]
        system = np.concatenate([by_e, by_weight], axis=1)
        right = -np.concatenate([(lever * slopes).sum(-1), pushed], axis=1)
        scale = np.abs(system).max(2)
        e, weight = np.split(_solved(system / scale[..., None], (right / scale)[..., None])[..., 0], [states], 1)
        values_change = (at.inverse @ e[:, :, None])[..., 0]
        rows = -ease * centred(slopes + bent * values_change[:, None, :] + weight[:, :, None] * values)
        steps.append(_Step(rows, (slopes * rows).sum((1, 2)), (at.law * e).sum(1), values_change))
    return steps[0], steps[1]


def _along(
    problem: _Problem, at: _Point, step: _Step, barrier: np.ndarray, searching: np.ndarray
) -> tuple[_Point, np.ndarray]:
    """The points after steps that are halved until the merit falls, and which have moved."""
    merit = _merit(problem, at, barrier)
    sound = np.isfinite(step.rows).all((1, 2))
    step = step._replace(rows=np.where(_wide(sound, step.rows), step.rows, 0))
    length = _to_boundary(at.rows, step.rows)
    done, reached = np.zeros(len(searching), bool), at
    for _ in range(25):
        trial = _at(problem, at.rows + _wide(length, at.rows) * step.rows)
        falls = searching & sound & ~done & (_merit(problem, trial, barrier) <= merit + 1e-4 * length * step.slope)
        reached, done = _choose(falls, trial, reached), done | falls
        if (done | ~searching).all():
            break
        length = length / 2
    return reached, done


def _updated(dual: np.ndarray, barrier: np.ndarray, room: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Newton's step for dual room = barrier, kept positive."""
    step = (_wide(barrier, room) - dual * (room + change)) / room
    return np.where(np.isfinite(step), dual + _wide(_to_boundary(dual, step), dual) * step, dual)


def _to_boundary(numbers: np.ndarray, change: np.ndarray) -> np.ndarray:
    """How much of a step [B] keeps positive numbers positive, at most 1."""
    fall = np.where(numbers > 0, -change / numbers, 0).reshape(len(numbers), -1).max(1)
    return np.asarray(np.minimum(1, SHORTENED / np.maximum(fall, SHORTENED)))


def _wide(numbers: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Numbers [B] with as many axes as `like`."""
    return numbers.reshape(-1, *[1] * (like.ndim - 1))


def _choose(which: np.ndarray, first: Numbers, second: Numbers) -> Numbers:
    """The first where `which` [B], else the second, number by number."""
    pairs = zip(first, second, strict=True)
    return type(first)(*(np.where(_wide(which, a), a, b) for a, b in pairs))

"""The fluid programme inside the rounds: how many restless arms to play in each state, by a plan for some rounds ahead.

The programme is solved by a primal-dual interior-point method (Mehrotra 1992) from a point that is feasible. Its normal
equations link the states of one round to those of the next, and all kinds of arms by the plays of a round; so they are
eliminated round by round, and what remains has an equation for each round. In float32 a plan loses 1e-5 of the
rewards' range for each arm against the best one in the median of hundreds of programmes, and 5e-5 at most; where rows
are nearly deterministic, 2e-3 at most.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import total
from jaxbandit.planning.ordered_sums import ordered_sum

ITERATIONS = 10  # of which the last ones are seldom needed
ARRIVED = 3e-6  # the products of shares and their reduced costs at the end, in units of rewards' range
EMPTY = 1e-4  # of all arms, spread over all states: a state without arms would leave the method no room
LEAK = 1e-5  # of the arms in a state move to any state: one that nothing leads to would leave no room either
LOST = 1e-4  # of all arms: by so much a state's arms or a round's plays may be off
STEP = 0.95  # of the way to where a number would become 0


class Programme(NamedTuple):
    """The programme in numbers of the size of 1: the least loss of shares y [N, G, 2, S] of arms over N rounds.

    Fields:
      rows: [G, 2, S, S], how an arm of each kind moves that is not played (0) and that is (1).
      loss: [N, G, 2, S], minus what shares earn.
      here: [G, S], shares of all arms before the first round.
      plays: the share that is played in each round.
    """

    rows: Array
    loss: Array
    here: Array
    plays: Array


class Point(NamedTuple):
    """Shares, prices and reduced costs.

    Fields:
      shares: [N, G, 2, S], positive.
      values: [N, G, S], of an arm in each state.
      prices: [N], of a play.
      costs: [N, G, 2, S], positive reduced costs.
    """

    shares: Array
    values: Array
    prices: Array
    costs: Array


class Eliminated(NamedTuple):
    """The normal equations, eliminated round by round.

    Fields:
      pivots: [N, G, S, S], of each round, as factors L - I + D where L D L' is the pivot.
      carried: [N, G, S, S], what a round takes over from the states of the round before.
      columns: [N, G, S, N], the solution for the column of each price.
      prices: [N, N], factors of what remains for the prices.
    """

    pivots: Array
    carried: Array
    columns: Array
    prices: Array


def fluid_plan(
    active: Array,
    passive: Array,
    earned: Array,
    kept: Array,
    ahead: Array,
    here: Array,
    plays: ArrayLike,
    steps: int,
) -> Array:
    """How many arms [G, S] of each kind and state to play in the first round of the best plan for N rounds ahead.

    The plan is for fluid arms, whose numbers in the states move by their averages. With y_n(g, s, a) the number of arms
    of kind g that are in state s of round n and are not played (a = 0) or are (a = 1), it maximises
    sum over n, g, s of y_n(g, s, 0) kept_gs + y_n(g, s, 1) earned_gs + sum over g, s of x_N(g, s) ahead_gs, where
    x_n(g, s) = y_n(g, s, 0) + y_n(g, s, 1) begins with x_0 = here and follows the rows, and in each round the sum of
    all y_n(g, s, 1) is `plays`.

    Args:
      active, passive: [G, S, S], the rows by which an arm of each kind moves that is played, or is not.
      earned, kept: [G, S], what is paid on average for a round in a state in which an arm is played, or is not.
      ahead: [G, S], what an arm is worth in each state after the N rounds, up to a constant.
      here: [G, S], the number of arms of each kind in each state.
      plays: M, less than the number of arms.
      steps: N >= 1.

    Returns:
      [G, S], from 0 to `here`, whose sum is M but for the rounding of a sum; not whole numbers. A programme may have
      several solutions: this is near the middle of them.

    Source: Gast and Narasimha 2025, the programme (its text was not opened but for the abstract); Mehrotra 1992.

    >>> stay, fall = jnp.eye(2), jnp.array([[1.0, 0.0], [0.5, 0.5]])
    >>> repair = jnp.array([[0.0, 1.0], [0.0, 1.0]])  # state 1 pays
    >>> pays, nothing = jnp.array([[0.0, 1.0]]), jnp.zeros((1, 2))
    >>> plan = jax.jit(fluid_plan, static_argnames="steps")
    >>> plan(repair[None], fall[None], pays, pays, nothing, jnp.array([[2.0, 3.0]]), 2, steps=3).round(2).tolist()
    [[2.0, 0.0]]
    """
    arms, states = total(total(here)), here.shape[1]
    rows = (1 - LEAK) * jnp.stack([passive, active], axis=1) + LEAK / states
    loss = -jnp.stack([kept, earned], axis=1)
    unit = jnp.max(loss) - jnp.min(loss)
    unit = jnp.where(unit > 0, unit, 1)
    last = loss - ordered_sum("gast,gt->gas", rows, ahead)
    losses = jnp.concatenate([jnp.broadcast_to(loss[None], (steps - 1, *loss.shape)), last[None]]) / unit
    spread = (1 - EMPTY) * here / arms + EMPTY / (here.shape[0] * states)
    programme = Programme(rows, losses, spread, jnp.asarray(plays, here.dtype) / arms)
    point = jax.lax.fori_loop(0, ITERATIONS, lambda _, point: _improved(programme, point), _start(programme))
    played = jnp.clip(arms * point.shares[0, :, 1], 0, here)
    for _ in range(2):  # the second time for the rounding of the first
        missing = plays - total(total(played))
        room = jnp.where(missing > 0, here - played, played)
        played = jnp.clip(played + missing * room / jnp.maximum(total(total(room)), jnp.abs(missing)), 0, here)
    return played


def _start(programme: Programme) -> Point:
    """A feasible point: each arm is played with the same probability, and values are low enough."""
    rounds = programme.loss.shape[0]

    def play(here: Array, _: None) -> tuple[Array, Array]:
        shares = jnp.stack([(1 - programme.plays) * here, programme.plays * here], axis=1)
        return ordered_sum("gas,gast->gt", shares, programme.rows), shares

    shares = jax.lax.scan(play, programme.here, None, length=rounds)[1]
    most = jnp.maximum(jnp.max(-programme.loss), 0) + 1
    left = jnp.arange(rounds, 0, -1, dtype=shares.dtype)[:, None, None]
    values = jnp.broadcast_to(-most * left, (rounds, *programme.here.shape))
    prices = jnp.zeros(rounds, shares.dtype)
    return Point(shares, values, prices, programme.loss - _worth(programme.rows, values, prices))


def _improved(programme: Programme, point: Point) -> Point:
    """The point after one step of the method, or the same one where rounding leaves nothing to gain."""
    products, ratio = point.shares * point.costs, point.shares / point.costs
    mean, equations = _mean(products), _eliminated(programme.rows, ratio)
    straight = _direction(programme, point, ratio, equations, -products)
    reached = _moved(point, straight, 1.0)
    aim = jnp.maximum((_mean(reached.shares * reached.costs) / mean) ** 3 * mean, ARRIVED)
    bent = aim - products - straight.shares * straight.costs
    after = _moved(point, _direction(programme, point, ratio, equations, bent), STEP)
    least = jnp.minimum(jnp.min(after.shares), jnp.min(after.costs))
    of_states, of_plays = _needed(programme.rows, after.shares)
    off = jnp.maximum(
        jnp.max(jnp.abs(of_states.at[0].add(programme.here))), jnp.max(jnp.abs(of_plays + programme.plays))
    )
    # False for what is not a number, and where float32 has lost arms or plays in nearly singular equations
    better = (least > 0) & (_mean(after.shares * after.costs) < mean) & (off <= LOST)
    return jax.tree.map(lambda new, old: jnp.where(better, new, old), after, point)


def _direction(programme: Programme, point: Point, ratio: Array, equations: Eliminated, products: Array) -> Point:
    """The Newton step that changes shares times costs by `products`, and makes all equations hold."""
    lacking = programme.loss - _worth(programme.rows, point.values, point.prices) - point.costs
    known = products / point.costs - ratio * lacking  # what of the step does not depend on values and prices
    first, second = _needed(programme.rows, point.shares), _needed(programme.rows, known)
    of_states = (first[0] + second[0]).at[0].add(programme.here)  # apart, since the first ones are small differences
    of_plays = programme.plays + first[1] + second[1]
    left = of_plays - ordered_sum("ngsi,ngs->i", equations.columns, of_states)
    prices = _divided(left[:, None], equations.prices)[:, 0]
    values = _solved(equations, of_states[..., None])[..., 0] - ordered_sum("ngsi,i->ngs", equations.columns, prices)
    costs = lacking - _worth(programme.rows, values, prices)
    return Point(products / point.costs - ratio * costs, values, prices, costs)


def _needed(rows: Array, shares: Array) -> tuple[Array, Array]:
    """The arms [N, G, S] that arrive in each state less those that are there, and minus the plays [N]."""
    arriving = ordered_sum("ngas,gast->ngt", shares, rows)
    arriving = jnp.concatenate([jnp.zeros_like(arriving[:1]), arriving[:-1]])
    return arriving - (shares[:, :, 0] + shares[:, :, 1]), -ordered_sum("ngs->n", shares[:, :, 1])


def _moved(point: Point, step: Point, part: float) -> Point:
    """As far along a step as shares and costs stay positive, but not further than its end, times `part`."""

    def most(numbers: Array, change: Array) -> Array:
        falls = change < 0
        return jnp.minimum(1, jnp.min(jnp.where(falls, -numbers / jnp.where(falls, change, 1), jnp.inf)))

    of_shares, of_costs = part * most(point.shares, step.shares), part * most(point.costs, step.costs)
    return Point(
        point.shares + of_shares * step.shares,
        point.values + of_costs * step.values,
        point.prices + of_costs * step.prices,
        point.costs + of_costs * step.costs,
    )


def _worth(rows: Array, values: Array, prices: Array) -> Array:
    """[N, G, 2, S], what a share costs at these values of states and prices of plays."""
    following = jnp.concatenate([values[1:], jnp.zeros_like(values[:1])])
    worth = values[:, :, None] - ordered_sum("gast,ngt->ngas", rows, following)
    return jnp.stack([worth[:, :, 0], worth[:, :, 1] + prices[:, None, None]], axis=2)


def _eliminated(rows: Array, ratio: Array) -> Eliminated:
    """The matrix A D A', D = `ratio` [N, G, 2, S] and A the left sides of all equations, eliminated."""
    states = ratio.shape[-1]
    moving = ratio[..., None] * rows[None]  # [N, G, 2, S, S]
    none = jnp.zeros_like(moving[:1, :, 0])
    arrived = jnp.concatenate([none, ordered_sum("ngast,gasu->ngtu", moving, rows)[:-1]])
    here = jnp.where(jnp.eye(states, dtype=bool), (ratio[:, :, 0] + ratio[:, :, 1])[..., None], 0)
    linked = jnp.concatenate([none, -ordered_sum("ngast->ngts", moving)[:-1]])

    def pivot(before: Array, link_and_own: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        link, own = link_and_own
        carried = jnp.swapaxes(_divided(jnp.swapaxes(link, 1, 2), before), 1, 2)
        factors = _factors(own - ordered_sum("gts,gus->gtu", carried, link))
        return factors, (factors, carried)

    start = jnp.broadcast_to(jnp.eye(states), none[0].shape)
    pivots, carried = jax.lax.scan(pivot, start, (linked, here + arrived))[1]
    played, entered = ratio[:, :, 1], -ordered_sum("ngst->ngt", moving[:, :, 1])
    own_round, next_round = jnp.eye(len(ratio)), jnp.eye(len(ratio), k=-1)
    columns = ordered_sum("ngs,nj->ngsj", played, own_round)
    columns += ordered_sum("ngs,nj->ngsj", jnp.concatenate([none[..., 0], entered[:-1]]), next_round)
    equations = Eliminated(pivots, carried, columns, own_round)
    columns = _solved(equations, columns)
    following = jnp.concatenate([columns[1:], jnp.zeros_like(columns[:1])])
    left = own_round * ordered_sum("ngs->n", played)[:, None] - ordered_sum("ngs,ngsj->nj", played, columns)
    return equations._replace(columns=columns, prices=_factors(left - ordered_sum("ngs,ngsj->nj", entered, following)))


def _solved(equations: Eliminated, right: Array) -> Array:
    """The states' values [N, G, S, J] for J right sides [N, G, S, J], without the prices."""

    def down(before: Array, item: tuple[Array, Array]) -> tuple[Array, Array]:
        carried, own = item
        rest = own - ordered_sum("gtu,guj->gtj", carried, before)
        return rest, rest

    def up(after: Array, item: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        factors, carried, rest = item
        values = _divided(rest, factors) - ordered_sum("gut,guj->gtj", carried, after)
        return values, values

    nothing = jnp.zeros_like(right[0])
    rest = jax.lax.scan(down, nothing, (equations.carried, right))[1]
    following = jnp.concatenate([equations.carried[1:], jnp.zeros_like(equations.carried[:1])])
    return jax.lax.scan(up, nothing, (equations.pivots, following, rest), reverse=True)[1]


def _factors(matrix: Array) -> Array:
    """L - I + D of positive definite matrices [..., S, S] = L D L', L with ones on its diagonal, D diagonal."""
    places = jnp.arange(matrix.shape[-1])
    factors = jnp.zeros_like(matrix)
    for n in range(matrix.shape[-1]):
        column = matrix[..., :, n]
        below = jnp.where(places > n, column / column[..., n, None], 0)
        matrix = matrix - below[..., :, None] * column[..., None, :]
        factors = jnp.where(places == n, jnp.where(places == n, column, below)[..., :, None], factors)
    return factors


def _divided(right: Array, factors: Array) -> Array:
    """The solutions [..., S, J] of linear equations with right sides [..., S, J], by `_factors` of their matrix."""
    states, solution = right.shape[-2], [right[..., n, :] for n in range(right.shape[-2])]
    for n in range(states):
        for m in range(n):
            solution[n] = solution[n] - factors[..., n, m, None] * solution[m]
    for n in reversed(range(states)):
        solution[n] = solution[n] / factors[..., n, n, None]
        for m in range(n + 1, states):
            solution[n] = solution[n] - factors[..., m, n, None] * solution[m]
    return jnp.stack(solution, axis=-2)


def _mean(values: Array) -> Array:
    """The mean of shares times costs [N, G, 2, S]."""
    return ordered_sum("ngas->", values) / values.size

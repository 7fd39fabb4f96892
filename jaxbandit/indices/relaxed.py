"""Whittle's relaxation: a number of plays on average instead of in every round; it bounds every policy's reward."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import decision_processes
from jaxbandit.arguments import integer
from jaxbandit.base import described
from jaxbandit.indices.index_arguments import Paid, known_arms
from jaxbandit.known_arms import KnownArms

ROUNDS_AHEAD = 10_000  # over which a difference of gains counts, where an arm cannot leave some states


@described
class Relaxation(NamedTuple):
    """The value of the relaxed problem, and its best policy.

    Fields:
      value: reward a round of all arms together; no policy that plays M arms in every round collects more on average.
      occupation: [K, S, 2], the share of rounds that each arm is in each state and is not played (0) or is (1).
      price: of a play at the margin, the slope of the value in the number of plays. The value is concave, so that one
        play more adds at most this, and one play less costs at least this.
      advantage: [K, S], what playing there once adds in the long run to what the arm collects, less the price:
        positive where it is always played, negative where never, 0 where sometimes.
    """

    value: float
    occupation: np.ndarray
    price: float
    advantage: np.ndarray


def relaxation(
    active: ArrayLike,
    passive: ArrayLike,
    reward: ArrayLike,
    plays: int,
    *,
    passive_reward: ArrayLike | None = None,
    paid: Paid = "arrival",
) -> Relaxation:
    """The best long-run average reward if M of K known restless arms are played a round on average.

    A linear programme over the shares y of rounds that arm k is in state s and is played (a = 1) or not (0): the
    largest sum of y_k(s, a) r_k(s, a), where each arm leaves every state as often as it enters it, its shares sum to 1,
    and the sum of all y_k(s, 1) is M. A policy that plays exactly M arms in every round also does so on average, so
    this bounds its reward; for many arms with M / K fixed the best policies come close. Playing the M arms with the
    largest `advantage` is the priority rule of the programme's reduced costs, where states that the relaxed problem's
    best policy never meets have the values of the best play at the programme's price of a play.

    Args:
      active, passive: [K, S, S], row-stochastic, of an arm that is played and of one that is not.
      reward: [S] or [K, S], what an arm pays that is played.
      plays: M, from 0 to K.
      passive_reward: [S] or [K, S], what an arm pays that is not played; None for nothing.
      paid: "arrival", for the state moved to, or "present", for the state left. Where `passive_reward` is `reward` this
        changes no long-run average.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Whittle 1988; Bertsimas and Nino-Mora 2000 for the programme and the rule of reduced costs. Where several
    prices are possible, this is one of them.

    >>> circle = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 2
    >>> pays = [-1, 0, 0, 1]
    >>> relaxed = relaxation([circle.T] * 5, [circle] * 5, pays, 1, passive_reward=pays)
    >>> round(relaxed.value, 6), round(relaxed.price, 6)
    (1.0, 1.0)
    """
    return relaxation_of(known_arms(active, passive, reward, passive_reward, paid), plays)


def relaxation_of(arms: KnownArms, plays: int) -> Relaxation:
    """`relaxation` of known arms."""
    from scipy.optimize import linprog  # half a second, which an import of the package need not take

    number, states = arms.earned.shape
    plays = integer("plays", plays, 0, number)
    lowest = min(arms.kept.min(), arms.earned.min())
    amounts = np.stack([arms.kept, arms.earned], -1) - lowest
    unit = float(amounts.max()) or 1.0  # the solver's tolerances are absolute numbers
    solved = linprog(
        -(amounts / unit).ravel(),
        A_eq=_constraints(arms),
        b_eq=np.concatenate([np.tile(np.append(np.zeros(states - 1), 1.0), number), [plays]]),
        method="highs",
    )
    if solved.x is None:
        raise ValueError(f"plays: the linear programme of {plays} plays a round was not solved: {solved.message}")
    value, price = number * lowest - unit * float(solved.fun), -unit * float(solved.eqlin.marginals[-1])
    occupation = np.maximum(solved.x, 0).reshape(number, states, 2)
    return Relaxation(float(value), occupation, price, _advantage(arms, price))


def values_at(arms: KnownArms, price: float) -> np.ndarray:
    """What an arm is worth in each state, up to a constant, if a play has this price: [K, S].

    The programme's own dual values cannot be used: those of states that are never visited are not unique, and a solver
    returns extreme ones, by which playing and not playing are often equally good where they are not.
    """
    table = np.empty(arms.earned.shape)
    for alike in arms.kinds:
        active, passive, earned, kept = (law[alike[0]] for law in arms.moves)
        best = decision_processes.optimal([passive, active], [kept + price, earned], reward_axes="action, state")
        table[alike] = best.bias + ROUNDS_AHEAD * best.gain
    return table


def _advantage(arms: KnownArms, price: float) -> np.ndarray:
    """The long-run reward that one play in a state adds, less the price: [K, S]."""
    active, passive, earned, kept = arms.moves
    return np.asarray(earned - kept + ((active - passive) @ values_at(arms, price)[..., None])[..., 0] - price)


def _constraints(arms: KnownArms) -> Any:
    """The left sides, one row each: of every arm the balance of all states but the last and the sum; then the plays."""
    from scipy.sparse import block_diag, csr_array, vstack

    blocks = []
    for active, passive in zip(arms.transition, arms.passive, strict=True):
        states = len(active)
        entered = np.stack([passive, active], 1).reshape(2 * states, states).T  # [to, (from, a)]
        left = np.repeat(np.eye(states), 2, axis=1)
        blocks.append(np.concatenate([(left - entered)[:-1], np.ones((1, 2 * states))]))
    plays = np.tile([0.0, 1.0], arms.earned.size)[None]
    return csr_array(vstack([block_diag(blocks), csr_array(plays)]))

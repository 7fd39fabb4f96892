"""The constructor of restless arms: only played arms pay, or all arms pay."""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import choice, excerpt, finite, truth
from jaxbandit.environments.rested.markov_arms import (
    MOST_STATES,
    InitialState,
    MarkovArms,
    initial_thresholds,
    markov_of,
    of_states,
    recurrent,
)
from jaxbandit.environments.restless_bandits.all_paying_arms import AllPayingArms
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms
from jaxbandit.probabilities import stochastic

Paying = Literal["played", "all", "present"]
MOST_THAT_ALL_PAY = 512  # states of arms for planners, which take more than policies that learn


@overload
def restless(
    transition: ArrayLike,
    reward: ArrayLike,
    passive: ArrayLike | None = None,
    initial_state: InitialState | None = None,
    *,
    observed: bool = False,
    paid: Literal["played"] = "played",
) -> RestlessArms: ...


@overload
def restless(
    transition: ArrayLike,
    reward: ArrayLike,
    passive: ArrayLike | None = None,
    initial_state: InitialState | None = None,
    *,
    observed: bool = False,
    paid: Literal["all", "present"],
    cost: ArrayLike = 0.0,
    passive_reward: ArrayLike | None = None,
) -> AllPayingArms: ...


def restless(
    transition: ArrayLike,
    reward: ArrayLike,
    passive: ArrayLike | None = None,
    initial_state: InitialState | None = None,
    *,
    observed: bool = False,
    paid: Paying = "played",
    cost: ArrayLike = 0.0,
    passive_reward: ArrayLike | None = None,
) -> RestlessArms | AllPayingArms:
    """Restless arms from their active and passive transition laws.

    Args:
      transition: [K, S, S], row-stochastic, K >= 2, S from 2 to 64, or to 512 if all arms pay; every arm with a single
        recurrent class.
      reward: [S] or [K, S], what the state moved to pays, or with paid="present" the state left; not all equal, those
        of `passive_reward` included.
      passive: [K, S, S], row-stochastic, of an arm that is not played; None for the same law as when played, which is
        an error if all arms pay. It may be reducible: the identity gives arms that wait.
      initial_state: every arm's state before the first round: "stationary" (drawn from the stationary law of
        `transition`, by the run's key), "passive" (from that of `passive`, as if no arm had ever been played), an
        integer, [K] integers or a law [K, S]. None for "passive" if all arms pay and each has one such law, else for
        "stationary". The player sees it, as the state last shown.
      observed: whether the player sees the states of all arms after every round (`Feedback.shown`), not only of those
        it played. An index policy on states needs them.
      paid: "played", the arms that are played pay, as in the bandits of statistics; "all", every arm pays in every
        round, played or not, as in those of operations research (`AllPayingArms`), and the state moved to pays; or
        "present", every arm pays in every round, for the state that it leaves and the action, R(s, a): `reward` is
        R(s, 1), `passive_reward` R(s, 0). Plays are then counted by the state left, which they show, too. For rewards
        that do not depend on the action "all" and "present" have the same long-run averages.
      cost: if all arms pay what a play costs, one number or [K].
      passive_reward: if all arms pay, [S] or [K, S], what a state pays in a round in which its arm is not played; None
        for `reward`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Whittle 1988, where all arms pay; without `passive` Tekin and Liu 2012 (there "uncontrolled restless").

    >>> import jax
    >>> arms = restless([[[0.5, 0.5], [0.4, 0.6]], [[0.9, 0.1], [0.5, 0.5]]], (0, 1))
    >>> state = arms.init(jax.random.key(0))
    >>> after, feedback = arms.step(jax.random.key(0), state, jax.numpy.array([1]), jax.numpy.int32(1))
    >>> bool(feedback.states[0] == after.states[1]), bool(after.shown[0] == state.shown[0])
    (True, True)
    """
    choice("paid", paid, get_args(Paying))
    never_played = isinstance(initial_state, str) and initial_state == "passive"
    if_unique = initial_state is None and paid != "played"
    if never_played or initial_state is None:
        initial_state = "stationary"
    moves = recurrent(transition, MOST_STATES if paid == "played" else MOST_THAT_ALL_PAY)
    if passive_reward is None:
        active = markov_of(moves, reward, initial_state)
    elif paid == "played":
        raise ValueError('passive_reward: with paid="played" an arm that is not played pays nothing; give paid="all"')
    else:
        active, passive_reward = _paid_by_action(moves, reward, passive_reward, initial_state)
    rows = None
    if passive is not None:
        rows = finite("passive", passive)
        if rows.shape != active.transition.shape:
            raise ValueError(f"passive: shape {rows.shape} is not that of `transition`, {active.transition.shape}")
        rows = stochastic("passive", rows)
    single = rows is not None and all(len(chains.recurrent_classes(each)) == 1 for each in rows)
    if rows is not None and single and (never_played or if_unique):
        law = np.stack([chains.stationary(each) for each in rows])
        active = dataclasses.replace(active, initial=law, initial_thresholds=initial_thresholds(law))
    elif never_played:
        raise ValueError('initial_state: "passive" needs `passive` with one recurrent class an arm; give a law [K, S]')
    arms = RestlessArms(
        transition=active.transition,
        reward=active.reward,
        initial=active.initial,
        transition_thresholds=active.transition_thresholds,
        initial_thresholds=active.initial_thresholds,
        passive=rows,
        passive_thresholds=None if rows is None else chains.thresholds(rows, "passive"),
        observed=truth("observed", observed),
    )
    costs = finite("cost", cost)
    count = len(active.reward)
    if costs.shape not in ((), (count,)):
        raise ValueError(f"cost: shape {costs.shape} is neither a number nor [K] = ({count},)")
    if paid == "played":
        if costs.any():
            raise ValueError(f'cost: {excerpt(cost)} with paid="played"; give paid="all", or lower the rewards by it')
        return arms
    if rows is None:
        raise ValueError(f'passive: missing with paid="{paid}", so that a play would change nothing; give it, too')
    every = np.broadcast_to(costs, (count,)).copy()
    return AllPayingArms(arms, every, passive_reward, left_pays=paid == "present")


def _paid_by_action(
    rows: np.ndarray, reward: ArrayLike, passive_reward: ArrayLike, initial_state: InitialState
) -> tuple[MarkovArms, np.ndarray]:
    """Arms that pay `reward` if they are played, and what they pay if not, [K, S]; one of the two may be constant."""
    tables = {"reward": reward, "passive_reward": passive_reward}
    played, waiting = (of_states(name, table, *rows.shape[:2]) for name, table in tables.items())
    arms = markov_of(rows, max(played, waiting, key=np.ptp), initial_state)
    return dataclasses.replace(arms, reward=played), waiting

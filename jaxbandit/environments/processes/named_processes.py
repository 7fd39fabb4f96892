"""Constructors of decision processes: those of papers, random ones, and several arms as one process."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains, members
from jaxbandit.arguments import LARGEST_INTEGER, excerpt, integer, list_of, number
from jaxbandit.base import check_key
from jaxbandit.environments.processes.decision_process import (
    MOST_STATES,
    DecisionProcess,
    decision_process,
    first_law,
    rounds_of,
)
from jaxbandit.environments.rested.markov_arms import MarkovArms
from jaxbandit.environments.restless_bandits.all_paying_arms import AllPayingArms
from jaxbandit.environments.restless_bandits.joint_arms import joint

ROUNDING = 1e-9  # less than any probability that can be drawn
FOUR_ROOMS = ("#######", "#S.#..#", "#.....#", "##.##.#", "#..#..#", "#....G#", "#######")


def riverswim(
    states: int = 6,
    *,
    up: float = 0.35,
    down: float = 0.05,
    up_first: float = 0.6,
    down_last: float = 0.4,
    reward_left: float = 0.005,
    reward_right: float = 1.0,
    slip: float = 0.0,
    initial_state: int | ArrayLike = 0,
    steps: int | None = None,
) -> DecisionProcess:
    """RiverSwim: right, action 1, against the stream, pays much at its end; left, action 0, pays little at once.

    Action 0 moves down by one state with probability 1 - slip, up by one with slip / 2, and else stays. Action 1 moves
    up with probability `up`, down with `down`, and else stays. A move beyond either end leaves the state unchanged.

    Args:
      states: S, from 2 to 1024.
      up, down: of action 1 between the ends.
      up_first, down_last: of action 1 in state 0 and in state S - 1; papers differ here.
      reward_left, reward_right: what action 0 pays in state 0, and action 1 in state S - 1.
      slip: from 0 to 1; with a positive one the process is ergodic.
      initial_state, steps: as `decision_process`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Strehl and Littman 2008; the defaults are the numbers of Osband, Russo and Van Roy 2013.

    >>> riverswim().transition[1, 0].tolist(), riverswim().reward[:, [0, -1]].tolist()
    ([0.4, 0.6, 0.0, 0.0, 0.0, 0.0], [[0.005, 0.0], [0.0, 1.0]])
    """
    states = integer("states", states, 2, MOST_STATES)
    up, up_first = _probability("up", up), _probability("up_first", up_first)
    down, down_last = _probability("down", down), _probability("down_last", down_last)
    if up + down > 1 + ROUNDING:
        raise ValueError(f"down: {down:g} and up = {up:g} are more than 1 together")
    slip = _probability("slip", slip, parts=2)
    every = np.arange(states)
    ups = np.stack([np.full(states, slip / 2), np.r_[up_first, np.full(states - 2, up), 0]])
    downs = np.stack([np.full(states, 1 - slip), np.r_[0, np.full(states - 2, down), down_last]])
    ups[:, -1], downs[:, 0] = 0, 0
    moves = np.zeros((2, states, states))
    stays = 1 - ups - downs
    moves[:, every, every] = np.where(stays < ROUNDING, 0, stays)
    moves[:, every[:-1], every[1:]] = ups[:, :-1]
    moves[:, every[1:], every[:-1]] = downs[:, 1:]
    reward = np.zeros((2, states))
    reward[0, 0], reward[1, -1] = number("reward_left", reward_left), number("reward_right", reward_right)
    return decision_process(moves, reward, initial_state, steps=steps, reward_axes="action, state")


def grid(plan: Sequence[str] = FOUR_ROOMS, slip: float = 0.1, *, steps: int | None = None) -> DecisionProcess:
    """Grid world of rooms: actions 0 to 3 go up, right, down and left, and every action at the goal pays 1.

    A step goes in the action's direction with probability 1 - slip, and to either side of it with slip / 2 each; a step
    into a wall leaves the state unchanged. At the goal every action leads back to the start. States are the places
    without a wall, row by row; by default there are four rooms, 20 states.

    Args:
      plan: lines of one length, with "#" for a wall, "." for a place, one "S", the start, and one "G", the goal. Beyond
        its edges are walls.
      slip: from 0 to 1.
      steps: as `decision_process`.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: Sutton, Precup and Singh 1999 for the four rooms, which are larger there.

    >>> grid(["S..", ".#G"], slip=0).transition[1].argmax(1).tolist()
    [1, 2, 2, 3, 0]
    """
    plan = list_of("plan", plan)
    if not all(isinstance(line, str) for line in plan):
        raise ValueError(f"plan: {excerpt(plan)} is not a list of lines, each a text")
    places = [(i, j) for i, line in enumerate(plan) for j, mark in enumerate(line) if mark != "#"]
    marks = "".join(plan)
    if len(set(map(len, plan))) != 1 or set(marks) - set("#.SG") or marks.count("S") != 1 or marks.count("G") != 1:
        raise ValueError(f'plan: {excerpt(plan)}; lines of one length are needed, of "#", "." and one "S" and one "G"')
    slip = _probability("slip", slip, parts=2)
    number_of = {place: s for s, place in enumerate(places)}
    start, goal = (next(s for s, (i, j) in enumerate(places) if plan[i][j] == mark) for mark in "SG")
    ways = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    moves = np.zeros((4, len(places), len(places)))
    for action in range(4):
        for turn, chance in ((0, 1 - slip), (1, slip / 2), (-1, slip / 2)):
            down, right = ways[(action + turn) % 4]
            for s, (i, j) in enumerate(places):
                moves[action, s, number_of.get((i + down, j + right), s)] += chance
    moves[:, goal] = np.eye(len(places))[start]
    reward = np.zeros(moves.shape[:2])
    reward[:, goal] = 1
    return decision_process(moves, reward, start, steps=steps, reward_axes="action, state")


def random_decision_process(
    key: jax.Array,
    states: int = 6,
    actions: int = 2,
    *,
    concentration: float = 1.0,
    initial_state: int | ArrayLike = 0,
    steps: int | None = None,
) -> DecisionProcess:
    """A random process: rows from a symmetric Dirichlet law (floored at 1e-9), rewards uniform on [0, 1].

    Args:
      key: a `jax.random.key`.
      states, actions: S and A, at least 2 each.
      concentration: of the Dirichlet law, at least 1e-30; small values give nearly deterministic moves.
      initial_state, steps: as `decision_process`.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> random_decision_process(jax.random.key(0), states=4, actions=3).transition.shape
    (3, 4, 4)
    """
    check_key(key)
    states, actions = integer("states", states, 2, MOST_STATES), integer("actions", actions, 2, LARGEST_INTEGER)
    concentration = number("concentration", concentration, 1e-30)
    law, steps = first_law(initial_state, states), rounds_of(steps, states)
    of_moves, of_rewards = jax.random.split(key)
    rows = np.asarray(jax.random.dirichlet(of_moves, jnp.full((states,), concentration), (actions, states)), float)
    floored = np.maximum(rows, 1e-9)
    rewards = np.asarray(jax.random.uniform(of_rewards, (actions, states)), float)
    rows = floored / floored.sum(-1, keepdims=True)
    return decision_process(rows, rewards, law, steps=steps, reward_axes="action, state")


def as_decision_process(
    arms: MarkovArms | AllPayingArms, *, plays: int = 1, most_states: int = 64, steps: int | None = None
) -> DecisionProcess:
    """Arms as one decision process, whose state holds the states of all arms and whose actions are the sets to play.

    The states are numbered as `numpy.ravel_multi_index` does: the last arm's state counts fastest. With one play a
    round action k plays arm k, with more the actions are the sets of arms in the order of `itertools.combinations`. An
    action pays the mean reward of the round, for a play sum over s' of transition[k, s, s'] reward[k, s'], because a
    process pays before it moves. The best gain of rested arms is the sum of the M largest means: staying on the best
    arms cannot be beaten in the long run.

    Args:
      arms: from `two_state`, `bernoulli`, `markov` or `random_arms`, your own rested arms with `known`, or
        from `restless(.., paid="all")`.
      plays: M, arms played a round, fewer than there are.
      most_states: the largest S^K that is made, up to 1024.
      steps: as `decision_process`.

    Raises:
      ValueError: the argument and what is wrong with it.

    >>> from jaxbandit import two_state
    >>> process = as_decision_process(two_state([0.5, 0.4], [0.4, 0.55]))
    >>> process.transition.shape, process.means().round(4).tolist()
    ((2, 4, 4), [0.5556, 0.4211])
    """
    laws = members.known(arms)
    if laws is None or (laws.paid != "all" and members.declares(arms).problem != "rested"):
        raise ValueError(
            f"arms: {type(arms).__name__} are neither rested arms, such as `markov` makes, nor all-paying restless arms"
        )
    most_states = integer("most_states", most_states, 2, MOST_STATES)
    count, states = laws.earned.shape
    if states**count > most_states:
        raise ValueError(
            f"arms: {count} arms with {states} states have {states}^{count} = {states**count:,} joint states, more "
            f"than most_states = {most_states}; take fewer arms, or raise it (up to {MOST_STATES})"
        )
    return decision_process(*joint(laws, integer("plays", plays, 1, count - 1)), steps=steps)


def _probability(name: str, value: float, parts: int = 1) -> float:
    """Return a probability that can be drawn, also when it is split into this many equal parts."""
    probability = number(name, value, 0, 1)
    chains.thresholds([1 - probability, *[probability / parts] * parts], name)
    return probability

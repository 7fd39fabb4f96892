"""A log as a value: what was chosen, with which probability, and what it paid."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.arguments import excerpt, finite, list_of
from jaxbandit.base import described
from jaxbandit.environments.rested.columns import (
    MISSING,
    Table,
    arm_of,
    column_names,
    in_order,
    place_if_any,
    place_of,
    real,
    whole,
)
from jaxbandit.live.choice_laws import choice_law
from jaxbandit.live.history import History, history
from jaxbandit.live.player import Player
from jaxbandit.live.position import Event, Position
from jaxbandit.live.real_arms import RealArms

ROLES = ("round", "arm", "reward", "probability", "state")
MOST_REWARDS = 10  # distinct rewards that are taken for states; more are real numbers


@described
class Log(NamedTuple):
    """The rounds of a log that have an answer, in their order; one arm was chosen in each.

    Fields:
      arms: K names, those that were never chosen included.
      round: [n], the rounds' numbers in the log.
      arm: [n], number of the arm in `arms`.
      reward: [n] float64, what it paid.
      probability: [n] float64, with which it was chosen; NaN where it is not known.
      state: [n], number of the state that it showed, which pays `table[arm, state]`; 0 if rewards are real numbers.
      table: [K, S], the reward of each state of each arm; [K, 0] if rewards are real numbers.
      reward_range: the least and the largest reward.
      left_out: how many rounds without an answer were left out.
    """

    arms: tuple[str, ...]
    round: np.ndarray
    arm: np.ndarray
    reward: np.ndarray
    probability: np.ndarray
    state: np.ndarray
    table: np.ndarray
    reward_range: tuple[float, float]
    left_out: int


def read_log(
    data: Player | History | str | os.PathLike[str] | Mapping[str, Any],
    *,
    columns: Mapping[str, str] | None = None,
    arms: Iterable[Any] | None = None,
    states: Mapping[str, Any] | None = None,
    rewards: tuple[float, float] | None = None,
) -> Log:
    """A log, from a player, its history, or a table.

    Rounds without an answer are left out. That changes what the log says, unless whether an answer came does not depend
    on what it would have been.

    Args:
      data: a `Player`: where its policy draws from a posterior law, as `Thompson` does, the probabilities of its
        choices are computed from the log (see `choice_probabilities`). Or its `history()`. Or a table: the path of a
        text file (UTF-8) in whose lines commas, tabs or semicolons separate columns, a DataFrame, or a dictionary of
        arrays, with the columns arm, reward (or state) and probability, and round if there is one; in the order of the
        rounds, one line each. Other columns are ignored. An empty reward is no answer, an empty probability is unknown.
      columns: the table's names of these columns where they differ:
        {"arm": "item_id", "reward": "click", "probability": "propensity_score"}.
      arms: names of all arms, also of those that were never chosen; by default the arms in the table, sorted.
      states: the reward of each state by its name, {"ignored": 0.0, "clicked": 1.0}, or such a dict for each arm by its
        name. A table is then read by its column of states if it has one, otherwise by its rewards.
      rewards: (low, high), the least and the largest reward, if rewards are real numbers. With neither of the two, at
        most 10 distinct rewards are the states of all arms, and more are real numbers between those that were seen.

    Raises:
      ValueError: a column is missing; an arm is unknown, a reward not finite or not one of the states', a probability
        not in (0, 1], rounds do not increase, or a round has several plays; with the line of the table.
      OSError: the file cannot be read.

    >>> log = read_log({"arm": ["a", "b", "a"], "reward": [0, 1, 1], "probability": [0.5, 0.5, 0.9]})
    >>> log.arms, log.arm.tolist(), log.state.tolist(), log.table.tolist()
    (('a', 'b'), [0, 1, 0], [0, 1, 1], [[0.0, 1.0], [0.0, 1.0]])
    """
    if states is not None and rewards is not None:
        raise ValueError("states: give states or rewards=(low, high), not both")
    given = None if arms is None else [str(name) for name in list_of("arms", arms)]
    if isinstance(data, Player | History):
        for name, value in {"columns": columns, "arms": arms}.items():
            if value is not None:
                raise ValueError(f"{name}: only for a table; a player's log has its own")
    if isinstance(data, Player):
        if states is not None or rewards is not None:
            raise ValueError("states: only for a table or a history; a player has its own states or rewards")
        return _of_player(data)
    if isinstance(data, History):
        return _of_history(data, states, rewards)
    return _of_table(data, columns, given, states, rewards)


def real_arms(log: Log) -> RealArms:
    """The arms of a log as the `validate` of a policy sees them."""
    if not log.table.shape[1]:
        return RealArms(log.arms, None, log.reward_range)
    pays = {arm: {str(n): paid for n, paid in enumerate(row)} for arm, row in zip(log.arms, log.table.tolist())}
    return RealArms(log.arms, pays, None)


def as_log(log: Any) -> Log:
    """A log, or that of a player."""
    if isinstance(log, Log):
        return log
    if isinstance(log, Player):
        return read_log(log)
    raise ValueError(f"log: {excerpt(log)} is neither a log nor a player; make one by live.read_log(..)")


def _of_player(player: Player) -> Log:
    with player._transaction(write=False) as position:
        events, arms = [event for _, _, event in player._log.events()], position.arms
    plays = history(list(arms.names), events)
    if not position.random:
        plays = plays._replace(probability=_played_again(player._start(), events))
    return _answered(arms, plays.round, plays.arm, plays.probability, plays.state, plays.reward)


def _played_again(position: Position, events: list[Event]) -> np.ndarray:
    """The probability of each choice, from the state of the policy before it; NaN if it is not known."""
    chosen = [event for event in events if event[0] == "choose"]
    try:
        law = choice_law(position.policy, position.state)
    except ValueError:
        return np.full(sum(len(event[3]) for event in chosen), np.nan)
    if law.certain or any(len(event[3]) > 1 for event in chosen):
        return np.ones(sum(len(event[3]) for event in chosen))
    program = jax.jit(law.numbers)
    rows: dict[int, list[Any]] = defaultdict(list)  # by the number of arms that could be played
    for event in events:
        if event[0] == "choose":
            left = event[5] or [arm for arm in range(position.arms.arms) if arm not in position.retired]
            numbers = program(position.policy, position.state, np.int32(event[1]))
            numbers = [np.asarray(each, float)[left] for each in numbers]
            rows[len(left)].append((event[2], left.index(event[3][0]), numbers))
        position.apply(event)
    chances = np.full(len(chosen), np.nan)
    for group in rows.values():
        ids, places, numbers = zip(*group)
        found = law.probabilities(*(np.stack(each) for each in zip(*numbers)))
        chances[list(ids)] = found[np.arange(len(ids)), list(places)]
    return chances


def _of_history(plays: History, states: Any, rewards: Any) -> Log:
    answered = np.flatnonzero(plays.learned >= 0)
    arms = _arms("history", plays.arms, plays.reward[answered], states, rewards)
    shown = np.full(len(plays.arm), -1)
    shown[answered] = [_outcome(arms, plays.arm[n], None, plays.reward[n]) for n in answered]
    return _answered(arms, plays.round, plays.arm, plays.probability, shown, plays.reward)


def _of_table(data: Any, columns: Any, given: list[str] | None, states: Any, rewards: Any) -> Log:
    names, table = column_names(columns, ROLES), Table(data)
    rows: list[tuple[int, str, str | None, float, float]] = []
    lines: list[str] = []
    with table.errors_by_line():
        header = table.header(", ".join(ROLES[1:4]))
        at_round, at_state = (place_if_any(header, names, role) for role in ("round", "state"))
        at_state = None if states is None else at_state
        at_arm = place_of(header, names, "arm")
        at_value = place_of(header, names, "reward") if at_state is None else at_state
        at_chance = place_of(header, names, "probability", "; it is 1 / K if choices among K arms were uniform")
        for number, fields in enumerate(table, 1):
            t = number if at_round is None else whole(header[at_round], fields[at_round])
            if rows and t <= rows[-1][0]:
                raise ValueError(f"round {t} follows round {rows[-1][0]}; rounds increase, with one play in each")
            arm, text = arm_of(header[at_arm], fields[at_arm]), fields[at_value]
            if given is not None and arm not in given:
                raise ValueError(f"{header[at_arm]} {arm!r} is not among the arms {excerpt(given)}")
            missing = text.lower() in MISSING
            paid = np.nan if missing or at_state is not None else real(header[at_value], text)
            state = None if missing or at_state is None else text
            rows.append((t, arm, state, paid, _chance(header[at_chance], fields[at_chance])))
            lines.append(table.line)
    labels = given if given is not None else in_order(dict.fromkeys(row[1] for row in rows))
    if len(labels) < 2:
        raise ValueError(f"data: {len(labels)} arms; a log has at least 2, arms=[..] names those never chosen")
    numbers = {label: number for number, label in enumerate(labels)}
    rounds, chosen, paying, chances = (np.array([row[n] for row in rows]) for n in (0, 1, 3, 4))
    arms = _arms("data", labels, paying[np.isfinite(paying)], states, rewards)
    shown = np.full(len(rows), -1)
    for n, (_, arm, state, reward, _) in enumerate(rows):
        if state is not None or np.isfinite(reward):
            try:
                shown[n] = _outcome(arms, numbers[arm], state, None if state is not None else reward)
            except ValueError as error:
                raise ValueError(f"data: {lines[n]}: {error}") from None
    return _answered(arms, rounds, np.array([numbers[arm] for arm in chosen]), chances, shown, paying)


def _chance(name: str, text: str) -> float:
    """A probability; NaN if it is not known."""
    if text.lower() in MISSING:
        return np.nan
    chance = real(name, text)
    if not 0 < chance <= 1:
        raise ValueError(f"{name} {text} is not a probability of what was chosen, in (0, 1]")
    return chance


def _arms(name: str, labels: list[str], seen: np.ndarray, states: Any, rewards: Any) -> RealArms:
    """The arms with these states or rewards; by default with what was seen."""
    if states is not None or rewards is not None:
        return RealArms(labels, states, rewards)
    distinct = np.unique(finite("reward", seen))
    if len(distinct) < 2:
        what = f"every round pays {distinct[0]:g}" if len(distinct) else "no round has an answer"
        raise ValueError(
            f"{name}: {what}; give rewards=(low, high), the least and the largest reward, or states={{..}}"
        )
    if len(distinct) > MOST_REWARDS:
        return RealArms(labels, None, (float(distinct[0]), float(distinct[-1])))
    return RealArms(labels, {repr(paid): paid for paid in distinct.tolist()}, None)


def _outcome(arms: RealArms, arm: int, state: str | None, reward: float | None) -> int:
    """The number of the state that an answer says; 0 if rewards are real numbers."""
    return arms.outcome(int(arm), state, None if reward is None else float(reward))[0]


def _answered(
    arms: RealArms, t: np.ndarray, arm: np.ndarray, chances: np.ndarray, states: np.ndarray, rewards: np.ndarray
) -> Log:
    """The log of the rounds that have an answer, a state from 0 on."""
    if len(np.unique(t)) < len(t):
        raise ValueError(
            f"data: round {t[np.flatnonzero(np.diff(t) == 0)[0]]} has several plays; a log has one a round"
        )
    kept = states >= 0
    if not kept.any():
        raise ValueError("data: no round has an answer")
    arm, states = arm[kept], states[kept]
    paid = rewards[kept] if arms.reward is None else arms.reward[arm, states]
    left_out = int((~kept).sum())
    return Log(tuple(arms.names), t[kept], arm, paid, chances[kept], states, arms.table, arms.reward_range, left_out)

"""A player for real arms."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, overload

import jax
import numpy as np
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST, LARGEST_INTEGER, excerpt, has, integer, list_of, number
from jaxbandit.base import Policy
from jaxbandit.live.decision import Decision
from jaxbandit.live.history import History, history
from jaxbandit.live.log_file import LogFile
from jaxbandit.live.log_result import log_result
from jaxbandit.live.logged_position import LoggedPosition, words_of
from jaxbandit.live.position import Choice, Position
from jaxbandit.live.real_arms import RealArms, check_new_rewards, check_plays, check_some_arms
from jaxbandit.live.summary_table import Report, report
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.contracts import check_leaves
from jaxbandit.simulation.telling import fingerprint


class Player(LoggedPosition):
    """A policy that plays real arms, whose choices and answers are stored in a log.

    A choice stays open until its answer comes, at any time and in any order. The policy learns in the order in which
    answers come, each with the round, and the probability, of its choice; for a policy that counts transitions, an
    arm's answers are one sequence in this order. `Identify` with `ChainGLR` or `Blocks`, whose error rate is that of
    moves in their order, learns an answer only when those of the arm's earlier plays have come, or are forgotten. It
    learns a round of several plays at once, when none of them is open any more: all are answered, or forgotten. A
    choice and an answer are on the disk before the call returns. A player that is made again with the same arguments
    and the same file goes on where the last one stopped, and several processes may play from one file: its state is bit
    for bit that of one player that never stopped. Calls from several threads wait for each other. The file has numbers
    and names only, and three more files lie beside it while a player is open. It must be on a local disk.

    Args:
      policy: any policy for rested arms; its own `validate` refuses arms that it cannot play.
      arms: their names.
      states: the reward of each state by its name, {"ignored": 0.0, "clicked": 1.0}, or such a dict for each arm by its
        name; an arm is in its first state before its first play.
      rewards: (low, high), the least and the largest reward, instead of `states`, if rewards are real numbers. Give
        finite ends where rewards are large and close together: policies such as UCB1 then see their distance from low.
      store: the path of the log's file, which is made if it does not exist; None to keep the log in memory.
      key: of the policy's random numbers. None, the default: the one in the file, or for a new log 64 random bits of
        the operating system. For play that must be repeated an integer, or `jax.random.key(seed)`: two players with
        the same key and policy choose alike, so that of two tests on the same visitors neither can be read.
      snapshot: the state is stored every so many events; after a stop only the events since then are computed again.
      prior: answers that are imagined of some arms before the first round, by name of the arm, as in `add`.

    Raises:
      ValueError: an argument out of range, arms that the policy cannot play, or a file that is damaged, of another
        version, or of a player with other arguments.
      OSError: the file cannot be made or written, with its name and the cure. Nothing was stored then.
      RuntimeError: a call in a process that was forked after the player was made, or after JAX had started.

    >>> from jaxbandit import UCB1
    >>> player = Player(UCB1(), ["red", "green"], states={"ignored": 0.0, "clicked": 1.0})
    >>> choice = player.choose()
    >>> player.learn(choice.id, "clicked")
    >>> choice.arm, player.choose().arm, len(player.open)
    ('red', 'green', 1)
    """

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[str],
        *,
        states: Mapping[str, Any] | None = None,
        rewards: tuple[float, float] | None = None,
        store: str | os.PathLike[str] | None = None,
        key: int | jax.Array | None = None,
        snapshot: int = 1000,
        prior: Mapping[str, Iterable[str | float]] | None = None,
    ) -> None:
        has("policy", policy, "a policy", "init", "scores", "update")
        self._arms = RealArms(arms, states, rewards)
        self._policy, self._plays_checked = policy, {1}
        check_leaves("policy", policy)
        code = check_plays(policy, self._arms)
        kind = type(policy)
        about = self._arms.described() | {
            "policy": {"class": f"{kind.__module__}.{kind.__qualname__}"} | fingerprint.values(policy),
            "key": words_of(key),
            "floats": str(self._arms.kind),
        }
        if imagined := self._arms.priors({} if prior is None else prior):
            check_some_arms("prior", policy, self._arms.table)
            kind_of = self._arms.kind.type  # rounded, as files of earlier versions have them
            about["prior"] = [[arm, [[state, float(kind_of(paid))] for state, paid in said]] for arm, said in imagined]
        log = LogFile(store, about, integer("snapshot", snapshot, 1, LARGEST_INTEGER))
        super().__init__(log, partial(Position, policy, self._arms, np.array(log.key, np.uint32), code, imagined))

    @overload
    def choose(self, *, plays: None = None, offered: Iterable[str] | None = None) -> Choice: ...
    @overload
    def choose(self, *, plays: int, offered: Iterable[str] | None = None) -> list[Choice]: ...
    def choose(self, *, plays: int | None = None, offered: Iterable[str] | None = None) -> Choice | list[Choice]:
        """Choose the arm of the next round, or the arms.

        Args:
          plays: M, the number of distinct arms to play in this round; each gets its own answer.
          offered: the names of the arms that can be played in this round; all that are not retired by default.

        Returns:
          A `Choice`; a list of them if `plays` is given.

        Raises:
          ValueError: more plays than the policy can play, or than arms are offered; an arm that there is not, or twice;
            a policy that cannot choose among some arms: by chance, in turns, or with a state without a row for each.
        """
        if offered is not None:
            check_some_arms("offered", self._policy, self._arms.table)
            offered = list_of("offered", offered)
        with self._transaction() as position:
            arms = position.arms
            number = 1 if plays is None else integer("plays", plays, 1, arms.arms)
            if number not in self._plays_checked:
                check_plays(self._policy, arms, number)
                self._plays_checked.add(number)
            chosen = None if offered is None else arms.numbers("offered", offered)
            if position.retired:
                left = list(range(arms.arms)) if chosen is None else chosen
                chosen = [arm for arm in left if arm not in position.retired]
            if chosen is not None and len(chosen) < number:
                raise ValueError(f"offered: {len(chosen)} arms that are not retired, and plays is {number}; offer more")
            event = position.choose(number, chosen, time.time())
            self._log.append(position, event)
            choices = [position.open[event[2] + m] for m in range(number)]
        return choices[0] if plays is None else choices

    def learn(self, id: int | Mapping[int, Any], state: str | None = None, *, reward: float | None = None) -> None:
        """Learn the answer of an open choice, or of many; the same answer a second time changes nothing.

        Args:
          id: that of the choice; or a dict of answers by it, names of states or rewards, which are stored together or
            not at all, and learned in the order of the dict.
          state: the name of the state that the arm showed.
          reward: what it paid; enough without the state if only one state pays it.

        Raises:
          ValueError: an id that is unknown, forgotten or answered with something else; a state or a reward that the arm
            does not have, NaN or infinity. Nothing is stored then.
        """
        answers: list[tuple[Any, Any, Any]] = [(id, state, reward)]
        if isinstance(id, Mapping):
            if state is not None or reward is not None:
                raise ValueError("state: leave state and reward out; the dict has them")
            answers = [(n, said, None) if isinstance(said, str) else (n, None, said) for n, said in id.items()]
        with self._transaction() as position:
            for event in [position.answer(*answer, self._log.answer) for answer in answers]:
                if event is not None:
                    self._append(position, event)

    @property
    def decision(self) -> Decision | None:
        """Which arm is the best, once a policy that identifies it, as `policies.Identify`, has stopped; None before.

        It is made once: choices and answers that follow do not change it. The error rate of the rule holds if how late
        an answer comes, or whether it is forgotten, says nothing of what it is.
        """
        with self._transaction(write=False) as position:
            return position.decision()

    @property
    def open(self) -> list[Choice]:
        """The choices without an answer, the oldest first."""
        with self._transaction(write=False) as position:
            return list(position.open.values())

    def forget(self, *, older_than: float | timedelta) -> list[Choice]:
        """Close old choices without an answer, and return them; the policy learns nothing of them.

        No answer is not the same as a state such as "ignored": if nobody will ever answer because nothing happened,
        learn that state instead, or the policy never learns that an arm is ignored.

        Args:
          older_than: seconds, or a `datetime.timedelta`.

        Raises:
          ValueError: a number that is negative.
        """
        age = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
        age = number("older_than", age, 0, LARGEST)
        with self._transaction() as position:
            old = [choice for choice in position.open.values() if choice.time <= time.time() - age]
            if old:
                self._append(position, ["forget", [choice.id for choice in old]])
        return old

    def add(
        self,
        arm: str,
        *,
        states: Mapping[str, float] | None = None,
        like: str | None = None,
        prior: Iterable[str | float] = (),
    ) -> None:
        """Add an arm, which the policy has never played; nothing happens if an arm of this name is played already.

        A player that is made again gets the arms that it began with; the log knows those that were added.

        Args:
          arm: its name.
          states: the reward of each of its states by name; by default those that all other arms have.
          like: the name of an arm whose states the new one has, and which it begins like: what the policy knows of that
            arm it then takes to be true of the new one, too.
          prior: answers that are imagined of the arm, names of states or rewards, ["ignored"] * 8 + ["clicked"] * 2;
            the policy learns them, in this order, as if they were real. Reports and the history leave them out.

        Raises:
          ValueError: the name of a retired arm, states or answers that do not fit, or a policy whose state has no row
            for each arm, or that chooses by chance or in turns.
        """
        check_some_arms("arm", self._policy, self._arms.table)
        with self._transaction() as position:
            copied = None if like is None else position.arms.arm("like", like)
            new = position.arms.new_arm(arm, states, copied)
            more = position.arms.with_arm(*new)
            outcomes = more.imagined(position.arms.arms, prior)
            if arm in position.arms.names:
                if position.arms.names.index(arm) in position.retired:
                    raise ValueError(f"arm: {arm!r} was retired; give the new arm another name")
                return
            check_new_rewards(self._policy, new[2], position.units)
            check_plays(self._policy, more)
            self._append(position, ["add", *new, copied, outcomes])

    def retire(self, arm: str) -> None:
        """Never choose this arm again; answers of its open choices are still learned.

        Args:
          arm: its name.

        Raises:
          ValueError: an arm that there is not, or the last one; or the policy cannot choose among some of its arms.
        """
        check_some_arms("arm", self._policy, self._arms.table)
        with self._transaction() as position:
            place = position.arms.arm("arm", arm)
            if place in position.retired:
                return
            if len(position.retired) == position.arms.arms - 1:
                raise ValueError(f"arm: {arm!r} is the last one that is not retired")
            self._append(position, ["retire", place])

    def report(self, *, level: float = 0.05) -> Report:
        """Plays, answers and mean rewards of the arms, and under a posterior law which is the best; `print` it.

        Args:
          level: the probability, for each arm, that its interval ever leaves the mean out.

        Raises:
          ValueError: the level is not in (0, 1).
        """
        level = number("level", level, 0, 1, above=True, below=True)
        with self._transaction(write=False) as position:
            return report(position, level)

    def history(self) -> History:
        """All plays and answers as columns, read from the log; `plotting.plot_history` draws them."""
        with self._transaction(write=False) as position:
            return history(list(position.arms.names), (event for _, _, event in self._log.events()))

    def to_result(self, times: ArrayLike | None = None) -> Result:
        """All plays with an answer as a `Result` of one run, for `save`, `to_xarray` and `plotting.plot_pulls`.

        Nobody knows the means of real arms, so that regret, and the plots of it, raise ValueError. A play counts in its
        round; plays that are open or forgotten do not count, because their states are not known.

        Args:
          times: the rounds to record, as in `simulate`; by default about 200.

        Raises:
          ValueError: no plays, or rounds with different numbers of plays; times that are not rounds of this player.
        """
        log = self.history()
        with self._transaction(write=False) as position:
            return log_result(log, position.arms, self._policy, times)

    def close(self) -> None:
        """Close the file; what was stored stays stored."""
        with self._lock:
            self._log.close()

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Player({self._policy!r}, {excerpt(self._arms.names)}, store={self._log.path!r})"

"""Choices of subjects, and what they paid."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.arguments import excerpt, list_of
from jaxbandit.base import described
from jaxbandit.environments.rested.columns import Table, arm_of, column_names, in_order, place_if_any, place_of, real
from jaxbandit.live.real_arms import RealArms

ROLES = ("subject", "arm", "reward")
MOST_REWARDS = 10  # distinct rewards that are taken for states; more are real numbers
ONE = "all"  # the subject of a table without a column of subjects


@described
class Choices(NamedTuple):
    """The choices of N subjects, in their order, and what they paid.

    Fields:
      subjects: N names.
      arms: K names.
      arm: [N, T] int32, the arm that was chosen; 0 after the last choice of a subject.
      reward: [N, T] float64, what it paid; 0 after the last choice.
      state: [N, T] int32, the number of that reward among the distinct ones.
      number: [N] int32, how many choices a subject made.
      table: [K, S], the distinct rewards, as the states of each arm; [K, 0] if there are more than 10.
    """

    subjects: tuple[str, ...]
    arms: tuple[str, ...]
    arm: np.ndarray
    reward: np.ndarray
    state: np.ndarray
    number: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, arms: tuple[str, ...], chosen: Mapping[str, tuple[Any, Any]]) -> Choices:
        """From each subject's numbers of arms and rewards."""
        number = np.array([len(arm) for arm, _ in chosen.values()], np.int32)
        arm, reward = np.zeros((len(chosen), number.max()), np.int32), np.zeros((len(chosen), number.max()))
        for row, (each, paid) in enumerate(chosen.values()):
            arm[row, : len(each)], reward[row, : len(each)] = each, paid
        made = np.arange(number.max()) < number[:, None]
        distinct = np.unique(reward[made])
        if len(distinct) == 1:  # of which nobody learns, but a table has two states
            distinct = np.array([distinct[0], distinct[0] + 1])
        few = len(distinct) <= MOST_REWARDS
        state = np.where(made & few, np.searchsorted(distinct, reward), 0).astype(np.int32)
        table = np.tile(distinct if few else distinct[:0], (len(arms), 1))
        return cls(tuple(chosen), arms, arm, reward, state, number, table)

    def real_arms(self) -> RealArms:
        """The arms as the `validate` of a policy sees them."""
        if not self.table.shape[1]:
            return RealArms(self.arms, None, (float(self.reward.min()), float(self.reward.max())))
        return RealArms(self.arms, {repr(paid): paid for paid in self.table[0].tolist()}, None)

    def __str__(self) -> str:
        few, many = self.number.min(), self.number.max()
        rounds = f"{few:,}" if few == many else f"{few:,} to {many:,}"
        return f"{len(self.subjects):,} subjects with {rounds} choices among {len(self.arms)} arms"


def read_choices(
    data: str | os.PathLike[str] | Mapping[str, Any],
    *,
    columns: Mapping[str, str] | None = None,
    arms: Iterable[Any] | None = None,
) -> Choices:
    """The choices of subjects, from a table with one line for each choice.

    Args:
      data: the path of a text file (UTF-8) in whose lines commas, tabs or semicolons separate columns, a DataFrame, or
        a dictionary of arrays, with the columns subject, arm and reward; the choices of a subject in their order. Other
        columns are ignored. Without a column of subjects there is one.
      columns: the table's names of these columns where they differ:
        {"subject": "subjID", "arm": "choice", "reward": "outcome"}.
      arms: names of all arms, also of those that were never chosen; by default the arms in the table, sorted.

    Raises:
      ValueError: a column is missing, an arm is unknown or a reward not a finite number, with the line of the table.
      OSError: the file cannot be read.

    >>> seen = read_choices({"subject": [1, 1, 2], "arm": ["a", "b", "b"], "reward": [0, 1, 1]})
    >>> print(seen)
    2 subjects with 1 to 2 choices among 2 arms
    """
    names, table = column_names(columns, ROLES), Table(data)
    named = None if arms is None else [str(name) for name in list_of("arms", arms)]
    rows: dict[str, tuple[list[str], list[float]]] = {}
    with table.errors_by_line():
        header = table.header(", ".join(ROLES))
        at_subject, at_arm = place_if_any(header, names, "subject"), place_of(header, names, "arm")
        at_reward = place_of(header, names, "reward")
        for fields in table:
            arm = arm_of(header[at_arm], fields[at_arm])
            if named is not None and arm not in named:
                raise ValueError(f"{header[at_arm]} {arm!r} is not among the arms {excerpt(named)}")
            subject = ONE if at_subject is None else fields[at_subject]
            chosen, paid = rows.setdefault(subject, ([], []))
            chosen.append(arm)
            paid.append(real(header[at_reward], fields[at_reward]))
    if not rows:
        raise ValueError("data: no choices")
    labels = in_order(dict.fromkeys(arm for chosen, _ in rows.values() for arm in chosen)) if named is None else named
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"arms: {excerpt(labels)}; at least two different ones, arms=[..] names those never chosen")
    places = {label: number for number, label in enumerate(labels)}
    return Choices.of(
        tuple(labels), {subject: ([places[arm] for arm in chosen], paid) for subject, (chosen, paid) in rows.items()}
    )

"""Observed sequences of states or rewards, arm by arm: from arrays or from a table, every entry checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST, as_floats, excerpt
from jaxbandit.environments.rested.columns import States, is_table, kind
from jaxbandit.environments.rested.sequence_files import from_table, transitions_are_needed

Data = Iterable[Any] | Mapping[Any, Any] | str | os.PathLike[str]


class Observed(NamedTuple):
    """What K arms showed."""

    labels: tuple[str, ...]
    sequences: list[list[np.ndarray]]  # of each arm, [steps], whose lengths may differ
    gaps: int  # the number of places in which a sequence of the table was split


def observed(
    data: Data, states: States | None = None, columns: Mapping[str, str] | None = None, split: bool = False
) -> Observed:
    """The labels and sequences of the arms in `data`: of these `states`, or of rewards where that is None.

    Raises:
      ValueError: an entry or the name of a column is wrong; arms are fewer than 2; an arm has no transition.
      OSError: the file cannot be read.

    >>> observed({"A": [0, 1, 1], "B": [[1, 0], [0, 0, 1]]}, states=2).labels
    ('A', 'B')
    """
    if isinstance(data, str | os.PathLike) or is_table(data) or (isinstance(data, Mapping) and columns is not None):
        labels, arms, gaps = from_table(data, states, columns, split)
    elif columns is not None:
        raise ValueError(f"columns: {excerpt(columns)}; `data` has no columns: it is neither a path nor a dictionary")
    else:
        (labels, arms), gaps = _from_arrays(data, states), 0
    if len(arms) < 2:
        raise ValueError(f"data: {'one arm only' if arms else 'no arms'}; a bandit needs at least 2")
    return Observed(tuple(labels), arms, gaps)


def _from_arrays(data: Any, states: States | None) -> tuple[list[str], list[list[np.ndarray]]]:
    try:
        if isinstance(data, bytes):
            raise TypeError
        entries = list(data.values() if isinstance(data, Mapping) else data)
    except TypeError:
        raise ValueError(f"data: {excerpt(data)}; give one sequence an arm, or a file's path") from None
    labels = [str(label) for label in (data if isinstance(data, Mapping) else range(len(entries)))]
    arms = []
    for label, entry in zip(labels, entries):
        name = f"data: arm {label}"
        if _are_several(entry):
            arms.append([_checked(f"{name}, sequence {number}", steps, states) for number, steps in enumerate(entry)])
        else:
            arms.append([_checked(name, entry, states)])
        if all(len(steps) < 2 for steps in arms[-1]):
            raise ValueError(f"{name} {transitions_are_needed(len(arms[-1]))}")
    return labels, arms


def _are_several(entry: Any) -> bool:
    """Whether an arm is given as several sequences: as lists of steps in a list, or as a matrix."""
    if isinstance(entry, list | tuple):
        return len(entry) > 0 and (isinstance(entry[0], list | tuple) or bool(np.ndim(entry[0])))
    return np.ndim(entry) == 2


def _checked(name: str, steps: ArrayLike, states: States | None) -> np.ndarray:
    sequence = np.asarray(steps)
    texts = [entry for entry in sequence.ravel().tolist() if isinstance(entry, str)]
    if isinstance(states, tuple):
        if texts or any(map(str.isdecimal, states)):  # else numbers are places in the dictionary of the names
            sequence = _places(name, sequence, states)
        states = len(states)
    elif texts:
        pays = f"reward={{{texts[0]!r}: 0.0, ..}}"
        raise ValueError(f"{name} holds texts, such as {texts[0]!r}; give numbers, or what each state pays, {pays}")
    values = as_floats(name, sequence)
    if sequence.ndim != 1:
        raise ValueError(f"{name} has shape {sequence.shape}, not [steps]")
    if sequence.dtype.kind not in ("biuf" if states is None else "biu"):
        raise ValueError(f"{name} holds {sequence.dtype}, not {kind(states)}")
    wrong = ~(np.abs(values) <= LARGEST) if states is None else (sequence < 0) | (sequence >= states)
    if wrong.any():
        step = int(np.argmax(wrong))
        raise ValueError(f"{name}, step {step}: {sequence[step]} is not among {kind(states)}")
    return sequence.astype(float if states is None else int)


def _places(name: str, sequence: np.ndarray, states: tuple[str, ...]) -> np.ndarray:
    """The numbers of states that are named."""
    if sequence.ndim != 1:
        raise ValueError(f"{name} has shape {sequence.shape}, not [steps]")
    named = [str(entry) for entry in sequence.tolist()]
    for step, text in enumerate(named):
        if text not in states:
            raise ValueError(f"{name}, step {step}: {text!r} is not among {kind(states)}")
    return np.array([states.index(text) for text in named], int)

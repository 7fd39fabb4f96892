"""Observed sequences of states or rewards, arm by arm: from arrays or from a table, every entry checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST, as_floats, excerpt
from jaxbandit.environments.rested.columns import States, is_table, kind
from jaxbandit.environments.rested.sequence_files import CURES, Missing, from_table, transitions_are_needed

Data = Iterable[Any] | Mapping[Any, Any] | str | os.PathLike[str]


class Observed(NamedTuple):
    """What K arms showed."""

    labels: tuple[str, ...]
    sequences: list[list[np.ndarray]]  # of each arm, [steps], with NaN or -1 where nothing was seen
    gaps: int  # the number of places in which steps are missing between others


def observed(
    data: Data,
    states: States | None = None,
    columns: Mapping[str, str] | None = None,
    gaps: Missing = "error",
) -> Observed:
    """The labels and sequences of the arms in `data`: of these `states`, or of rewards where that is None.

    Steps of which nothing is known are, as `gaps` says, an error, places where sequences are split, or steps with NaN
    (rewards) or -1 (states).

    Raises:
      ValueError: an entry or the name of a column is wrong; there is no arm; an arm has no transition.
      OSError: the file cannot be read.

    >>> observed({"A": [0, 1, 1], "B": [[1, 0], [0, 0, 1]]}, states=2).labels
    ('A', 'B')
    """
    if isinstance(data, str | os.PathLike) or is_table(data) or (isinstance(data, Mapping) and columns is not None):
        labels, arms = from_table(data, states, columns, gaps)
    elif columns is not None:
        raise ValueError(f"columns: {excerpt(columns)}; `data` has no columns: it is neither a path nor a dictionary")
    else:
        labels, arms = _from_arrays(data, states, gaps)
    if not arms:
        raise ValueError("data: no arms; give one sequence an arm, or a table")
    cut = [[_parts(sequence, gaps) for sequence in arm] for arm in arms]
    between = sum(places for arm in cut for _, places in arm)
    parts = [[part for several, _ in arm for part in several] for arm in cut]
    for label, arm, part in zip(labels, arms, parts):
        if all(np.isfinite(each).sum() < 2 for each in part):
            hint = '; gaps="steps" counts the steps between' if gaps == "split" else ""
            raise ValueError(f"data: arm {label} {transitions_are_needed(max(len(arm), len(part)))}{hint}")
    if states is not None:
        parts = [[np.where(np.isnan(part), -1, part).astype(int) for part in arm] for arm in parts]
    return Observed(tuple(labels), parts, between)


def _parts(sequence: np.ndarray, gaps: Missing) -> tuple[list[np.ndarray], int]:
    """The parts of a sequence that are seen, or all of it up to the last step that is, and how many gaps it has."""
    seen = np.flatnonzero(np.isfinite(sequence))
    if not len(seen):
        return [], 0
    ends = np.flatnonzero(np.diff(seen) > 1)
    if gaps in ("steps", "symbols"):
        return [sequence[: seen[-1] + 1]], len(ends)
    return [sequence[part] for part in np.split(seen, ends + 1)], len(ends)


def _from_arrays(data: Any, states: States | None, gaps: Missing) -> tuple[list[str], list[list[np.ndarray]]]:
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
        if entry is None or isinstance(entry, str | bytes) or (not isinstance(entry, list) and np.ndim(entry) == 0):
            hint = "a single arm is a list that holds its sequence, [[0, 1, ..]]"
            raise ValueError(f"{name} is {excerpt(entry)}, which is no sequence of steps; {hint}")
        if _are_several(entry):
            parts = enumerate(entry)
            arms.append([_checked(f"{name}, sequence {number}", steps, states, gaps) for number, steps in parts])
        else:
            arms.append([_checked(name, entry, states, gaps)])
    return labels, arms


def _are_several(entry: Any) -> bool:
    """Whether an arm is given as several sequences: as lists of steps in a list, or as a matrix."""
    if isinstance(entry, list | tuple):
        return len(entry) > 0 and (isinstance(entry[0], list | tuple) or bool(np.ndim(entry[0])))
    return np.ndim(entry) == 2


def _checked(name: str, steps: ArrayLike, states: States | None, gaps: Missing) -> np.ndarray:
    """The steps as float64, with NaN where they are missing."""
    sequence = np.asarray(steps)
    missing = np.isnan(sequence) if sequence.dtype.kind == "f" else np.zeros(sequence.shape, bool)
    if sequence.ndim == 1 and sequence.dtype.kind in "OU":
        entries = np.asarray(steps, object)  # beside texts NumPy makes a text of NaN
        missing = np.array(
            [not isinstance(each, str) and str(each) in ("None", "nan", "<NA>") for each in entries], bool
        )
        sequence = entries if missing.any() else sequence
    if sequence.ndim == 1 and missing.any():
        if gaps == "error":
            step = int(np.argmax(missing))
            raise ValueError(f"{name}, step {step}: {sequence[step]}, no state or reward; {CURES}")
        if missing.all():
            return np.full(len(sequence), np.nan)
        there = np.array(sequence[~missing].tolist())
        sequence = np.full(len(sequence), there[0], there.dtype)  # what is missing is checked as what is there
        sequence[~missing] = there
    if states is not None and gaps != "error" and sequence.dtype.kind == "f" and not (sequence % 1).any():
        sequence = sequence.astype(int)  # where steps may be missing, NaN may have made floats of numbers of states
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
    return np.where(missing, np.nan, sequence)


def _places(name: str, sequence: np.ndarray, states: tuple[str, ...]) -> np.ndarray:
    """The numbers of states that are named."""
    if sequence.ndim != 1:
        raise ValueError(f"{name} has shape {sequence.shape}, not [steps]")
    named = [str(entry) for entry in sequence.tolist()]
    for step, text in enumerate(named):
        if text not in states:
            raise ValueError(f"{name}, step {step}: {text!r} is not among {kind(states)}")
    return np.array([states.index(text) for text in named], int)

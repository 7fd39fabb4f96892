"""The files of a case, which never change: each holds some rounds of some of its runs."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.results.result import Result

CURE = "delete it or move it away, and the same call of sweep plays its rounds again"
TEMPORARY = re.compile(r"\..*\.\d+\.tmp")
_PIECE = re.compile(r"runs-(\d{10})-(\d{10})-rounds-(\d{10})-(\d{10})\.npz")


class Piece(NamedTuple):
    """A file, named after what it holds: runs first..stop - 1, rounds before + 1..last."""

    first: int
    stop: int
    before: int
    last: int

    @property
    def file(self) -> str:
        return f"runs-{self.first:010d}-{self.stop:010d}-rounds-{self.before:010d}-{self.last:010d}.npz"


def of_all_runs(asked: dict[str, Any]) -> dict[str, Any]:
    """The part of the request that does not depend on the runs."""
    kept = {name: value for name, value in asked.items() if name not in ("runs", "first_run")}
    return kept | {"scenarios": dict(kept["scenarios"])}


def pieces_of(case: Path) -> dict[tuple[int, int], list[Piece]]:
    """The pieces of every block of runs, in order of time; each starts where the one before ends.

    Raise ValueError if a file is not a piece or blocks overlap, FileNotFoundError if the folder has vanished.
    """
    pieces: dict[tuple[int, int], list[Piece]] = {}
    try:
        entries = sorted(case.iterdir())
    except FileNotFoundError:
        reason = "the case's folder has vanished; the same call continues, and plays its runs again"
        raise FileNotFoundError(errno.ENOENT, reason, str(case)) from None
    for entry in entries:
        match = _PIECE.fullmatch(entry.name)
        piece = Piece(*map(int, match.groups())) if match else None
        if piece and piece.first < piece.stop and piece.before < piece.last:
            pieces.setdefault((piece.first, piece.stop), []).append(piece)
        elif not TEMPORARY.fullmatch(entry.name):
            raise ValueError(f"{entry}: not a file of this sweep; move it away")
    blocks = sorted(pieces)
    for (first, stop), (following, _) in pairwise(blocks):
        if following < stop:
            raise ValueError(f"{case}: holds runs {first}..{stop - 1} and another block from run {following}")
    return {block: _chain(pieces[block]) for block in blocks}


def _chain(pieces: list[Piece]) -> list[Piece]:
    """Pieces that follow each other; if a task was played twice, those that reach furthest."""
    chain: list[Piece] = []
    while following := [piece for piece in pieces if piece.before == (chain[-1].last if chain else 0)]:
        chain.append(max(following, key=lambda piece: piece.last))
    return chain


def finished(case: Path, horizon: int) -> tuple[int, int]:
    """How many runs from run 0 on are played to the horizon, and how many others have files."""
    runs = total = 0
    for (first, stop), chain in pieces_of(case).items():
        total += stop - first
        if first == runs and chain and chain[-1].last == horizon:
            runs = stop
    return runs, total - runs


def load_piece(case: Path, piece: Piece, asked: dict[str, Any]) -> Result:
    """A piece of a case; raise ValueError unless it is of what the case asks for (`storage.asked_of`, the manifest)."""
    if not is_of(result := read_piece(case, piece), piece, asked):
        raise ValueError(f"{case / piece.file}: a piece of something else; {CURE}")
    return result


def read_piece(case: Path, piece: Piece) -> Result:
    """The file, of whatever it may be; raise ValueError if it is damaged."""
    try:
        return Result.load(case / piece.file)
    except ValueError as error:
        raise ValueError(f"{error}; {CURE}") from None


def is_of(result: Result, piece: Piece, asked: dict[str, Any]) -> bool:
    """Whether a file has what its name says, of what a case asks for."""
    times = np.asarray(asked["times"])
    first = result.asked["first_run"]
    same = of_all_runs(result.asked) | {"horizon": result.horizon, "times": asked["times"]} == asked
    same &= (first, first + result.asked["runs"], result.rounds) == (piece.first, piece.stop, piece.last)
    return same and list(result.times) == list(times[(times > piece.before) & (times <= piece.last)])


def save_piece(case: Path, piece: Piece, result: Result) -> None:
    """Write a piece, whole or not at all; an OSError says that the pieces before are whole."""
    try:
        result.save(case / piece.file)
    except OSError as error:
        raise OSError(
            error.errno or errno.ENOENT,
            f"{error.strerror or error}; the pieces finished before are whole, and the same call continues",
            str(case / piece.file),
        ) from error


def assemble(case: Path, asked: dict[str, Any], runs: int) -> Result:
    """The finished first runs of a case, from all their pieces; it cannot be continued.

    Everything but counts and records is that of the last piece. Raise ValueError if a file has vanished, is damaged, or
    is of something else, KeyboardInterrupt by Ctrl-C.
    """
    done, _ = finished(case, asked["horizon"])
    if done < runs:
        raise ValueError(f"{case}: files of the runs from {done} on have vanished; the same call plays them again")
    times = np.asarray(asked["times"], np.int64)
    visits: dict[str, np.ndarray] = {}
    recorded: dict[str, dict[str, np.ndarray]] = {}
    for (first, stop), chain in pieces_of(case).items():
        for piece in chain if first < runs else []:
            stop_if_interrupted()
            part = load_piece(case, piece, asked)
            place = slice(first, min(stop, runs)), slice(*np.searchsorted(times, [piece.before, piece.last], "right"))
            _fill(visits, part.visits, *place, (runs, len(times)))
            for name, arrays in part.recorded.items():
                _fill(recorded.setdefault(name, {}), arrays, *place, (runs, len(times)))
    fingerprint = part.fingerprint | {"asked": part.asked | {"runs": runs, "first_run": 0}}
    return replace(part, times=times, visits=visits, recorded=recorded, fingerprint=fingerprint, carry={})


def _fill(
    whole: dict[str, np.ndarray], part: dict[str, np.ndarray], runs: slice, times: slice, shape: tuple[int, int]
) -> None:
    """Copy a piece's arrays [scenario, variant, run, time, ..] into arrays of all runs and times, `shape` in number."""
    for label, array in part.items():
        if label not in whole:
            whole[label] = np.zeros((*array.shape[:2], *shape, *array.shape[4:]), array.dtype)
        whole[label][:, :, runs, times] = array[:, :, : runs.stop - runs.start]

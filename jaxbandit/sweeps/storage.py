"""The folder of a sweep: a manifest, a lock, and immutable files, one for some rounds of some runs of a case."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np

from jaxbandit.results.file import whole_file
from jaxbandit.results.result import Result
from jaxbandit.simulation.fingerprint import asked, check_versions, differences, fingerprint
from jaxbandit.simulation.provenance import provenance
from jaxbandit.simulation.request import Request

MANIFEST, LOCK, HOLDER = "manifest.json", ".lock", ".running"
VERSION = 1  # of the manifest; the package reads the folders that it writes, and no other
_PIECE = re.compile(r"runs-(\d{10})-(\d{10})-rounds-(\d{10})-(\d{10})\.npz")
_TEMPORARY = re.compile(r"\..*\.\d+\.tmp")


class Piece(NamedTuple):
    """A file, named after what it holds: runs first..stop - 1, rounds before + 1..last."""

    first: int
    stop: int
    before: int
    last: int

    @property
    def file(self) -> str:
        return f"runs-{self.first:010d}-{self.stop:010d}-rounds-{self.before:010d}-{self.last:010d}.npz"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process.

    Raises:
      BlockingIOError: another process that lives holds it.
      OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = filelock.FileLock(folder / LOCK), folder / HOLDER
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        reason = f"{_who(holder)} is at work on this folder; wait for it, or use another folder"
        raise BlockingIOError(errno.EWOULDBLOCK, reason, str(folder)) from None
    try:
        if holder.exists():  # only a process that was killed leaves it
            print(f"{folder}: {_who(holder)} was killed; taken over, nothing is lost", file=sys.stderr)
        with whole_file(holder) as file:  # for others read it
            file.write(f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _who(holder: Path) -> str:
    """The process that a holder's file names."""
    try:
        return holder.read_text() or "another process"
    except FileNotFoundError:  # it has not written it yet, or has just finished
        return "another process"


def identity(request: Request) -> dict[str, Any]:
    """What a case is: what its counts depend on but the number of runs, and what is recorded; as JSON gives it back."""
    whole = fingerprint(request)
    told = {name: value for name, value in whole["asked"].items() if name not in ("runs", "first_run")}
    played = {"horizon": request.horizon, "times": np.asarray(request.times).tolist()}
    told |= {"scenarios": dict(told["scenarios"]), **played}
    same: dict[str, Any] = json.loads(json.dumps(whole | {"asked": told}))
    return same


def open_cases(folder: Path, requests: dict[str, Request]) -> dict[str, Path]:
    """The folder of every case; new cases are added to the manifest.

    Raises:
      ValueError: the folder holds something else, the manifest is damaged, or a case is not what it was: which field.
    """
    path = folder / MANIFEST
    manifest = _read_manifest(folder)
    warned = False
    for name, request in requests.items():
        wanted, versions = identity(request), provenance(request)["versions"]
        if name not in manifest["cases"]:
            short = re.sub(r"[^\w.=-]+", "_", name)[:60]
            place = f"{len(manifest['cases']):04d}-{short}"
            manifest["cases"][name] = {"folder": place, "asked": wanted["asked"], "programs": {}}
        case = manifest["cases"][name]
        made_with = _key(versions)
        same = made_with in case["programs"]
        if case["programs"] and not same and not warned:
            warned = not check_versions(str(folder), next(reversed(case["programs"].values()))["versions"], versions)
        found = {"asked": case["asked"], "programs": case["programs"][made_with]["of"] if same else {}}
        if changed := differences(found, wanted, same):
            raise ValueError(
                f"cases[{name!r}]: {', '.join(changed)} changed since {folder} was written; give the case another "
                "name, or choose another folder"
            )
        case["programs"].setdefault(made_with, {"versions": versions, "of": wanted["programs"]})
    with whole_file(path) as file:
        file.write(json.dumps(manifest, indent=1).encode())
    paths = {name: folder / manifest["cases"][name]["folder"] for name in requests}
    for case in paths.values():
        case.mkdir(exist_ok=True)
    for place in (folder, *paths.values()):
        for entry in place.iterdir():
            if _TEMPORARY.fullmatch(entry.name):
                entry.unlink()
    return paths


def _key(versions: dict[str, str]) -> str:
    """The versions between which programs can be compared."""
    return f"jaxbandit {versions['jaxbandit']}, jax {versions['jax']}"


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, or a new one for a folder that holds nothing.

    Raises:
      ValueError: the folder holds something else, or the manifest is damaged or of another version.
    """
    path = folder / MANIFEST
    if not path.exists():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in (LOCK, HOLDER))
        if [name for name in others if not _TEMPORARY.fullmatch(name)]:
            raise ValueError(f"{folder}: holds {others[0]!r} and no {MANIFEST}; choose an empty or new folder")
        return {"version": VERSION, "cases": {}}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        version, cases = manifest["version"], manifest["cases"]
        whole = version != VERSION or all(
            isinstance(case["folder"], str) and isinstance(case["asked"], dict) and isinstance(case["programs"], dict)
            for case in cases.values()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: damaged; restore it, or choose another folder") from error
    if not whole:
        raise ValueError(f"{path}: damaged; restore it, or choose another folder")
    if version != VERSION:
        raise ValueError(f"{path}: written as version {version}, this reads version {VERSION}")
    return manifest


def pieces_of(case: Path) -> dict[tuple[int, int], list[Piece]]:
    """The pieces of every block of runs, in order of time; each starts where the one before ends.

    Raises:
      ValueError: a file is not a piece, or blocks overlap.
      FileNotFoundError: the folder has vanished.
    """
    found: dict[tuple[int, int], list[Piece]] = {}
    try:
        entries = sorted(case.iterdir())
    except FileNotFoundError:
        reason = "the case's folder has vanished; the same call continues, and plays its runs again"
        raise FileNotFoundError(errno.ENOENT, reason, str(case)) from None
    for entry in entries:
        match = _PIECE.fullmatch(entry.name)
        if match:
            piece = Piece(*map(int, match.groups()))
            found.setdefault((piece.first, piece.stop), []).append(piece)
        elif not _TEMPORARY.fullmatch(entry.name):
            raise ValueError(f"{entry}: not a file of this sweep; move it away")
    blocks = sorted(found)
    for (first, stop), (following, _) in pairwise(blocks):
        if following < stop:
            raise ValueError(f"{case}: holds runs {first}..{stop - 1} and another block from run {following}")
    return {block: _chain(found[block]) for block in blocks}


def _chain(pieces: list[Piece]) -> list[Piece]:
    """Pieces that follow each other; where a task was played twice, the one that reaches furthest."""
    chain: list[Piece] = []
    while following := [piece for piece in pieces if piece.before == (chain[-1].last if chain else 0)]:
        chain.append(max(following, key=lambda piece: piece.last))
    return chain


def load_piece(case: Path, piece: Piece, request: Request) -> Result:
    """A piece of the case that `request` asks for.

    Raises:
      ValueError: the file is damaged, or of something else.
    """
    result = Result.load(case / piece.file)
    whole = asked(request) | {"runs": piece.stop - piece.first, "first_run": piece.first}
    wanted = request.times[(request.times > piece.before) & (request.times <= piece.last)]
    same = result.asked == json.loads(json.dumps(whole)) and np.array_equal(result.times, wanted)
    if not same or (result.rounds, result.horizon) != (piece.last, request.horizon):
        raise ValueError(f"{case / piece.file}: a piece of something else; move it away")
    return result


def save_piece(case: Path, piece: Piece, result: Result) -> None:
    """Write a piece, whole or not at all.

    Raises:
      OSError: it cannot be written; what was written before is whole.
    """
    try:
        result.save(case / piece.file)
    except OSError as error:
        raise OSError(
            error.errno or errno.ENOENT,
            f"{error.strerror or error}; the pieces finished before are whole, and the same call continues",
            str(case / piece.file),
        ) from error


def assemble(case: Path, request: Request) -> Result:
    """The result of a finished case: all its pieces, without what would be needed to go on."""
    visits: dict[str, np.ndarray] = {}
    recorded: dict[str, dict[str, np.ndarray]] = {}
    for (first, _), chain in pieces_of(case).items():
        if first >= request.runs:
            continue
        if not chain or chain[-1].last < request.horizon:
            raise ValueError(f"{case}: files of the runs from {first} on have vanished; the same call plays them again")
        for piece in chain:
            part = load_piece(case, piece, request)
            runs = slice(first, min(piece.stop, request.runs))
            slots = slice(*np.searchsorted(request.times, [piece.before, piece.last], side="right"))
            _fill(visits, part.visits, runs, slots, request)
            for name, arrays in part.recorded.items():
                _fill(recorded.setdefault(name, {}), arrays, runs, slots, request)
    whole = replace(part, times=request.times, visits=visits, recorded=recorded)
    return replace(whole, means=request.means, reward=request.reward, fingerprint=fingerprint(request), carry={})


def _fill(
    whole: dict[str, np.ndarray], part: dict[str, np.ndarray], runs: slice, slots: slice, request: Request
) -> None:
    """Put a piece's arrays [scenario, variant, run, time, ..] where they belong."""
    for label, array in part.items():
        if label not in whole:
            shape = (*array.shape[:2], request.runs, len(request.times), *array.shape[4:])
            whole[label] = np.zeros(shape, array.dtype)
        whole[label][:, :, runs, slots] = array[:, :, : runs.stop - runs.start]

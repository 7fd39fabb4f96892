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

from jaxbandit.arguments import Request
from jaxbandit.results import Result, whole_file

MANIFEST, LOCK, HOLDER = "manifest.json", ".lock", ".running"
VERSION = 1
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
        owner = holder.read_text() if holder.exists() else "another process"
        reason = f"{owner} is at work on this folder; wait for it, or use another folder"
        raise BlockingIOError(errno.EWOULDBLOCK, reason, str(folder)) from None
    try:
        if holder.exists():  # only a process that was killed leaves it
            print(f"{folder}: {holder.read_text()} was killed; taken over, nothing is lost", file=sys.stderr)
        holder.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def description(request: Request) -> dict[str, Any]:
    """What a case is: what its counts depend on but the number of runs, and what is recorded."""
    specification = {name: value for name, value in request.specification().items() if "run" not in name}
    return specification | {
        "scenarios": dict(specification["scenarios"]),
        "horizon": request.horizon,
        "times": np.asarray(request.times).tolist(),
    }


def open_cases(folder: Path, requests: dict[str, Request]) -> dict[str, Path]:
    """The folder of every case; new cases are added to the manifest.

    Raises:
      ValueError: the folder holds something else, the manifest is damaged, or a case is not what it was: which field.
    """
    path = folder / MANIFEST
    if not path.exists():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in (LOCK, HOLDER))
        if [name for name in others if not _TEMPORARY.fullmatch(name)]:
            raise ValueError(f"{folder}: holds {others[0]!r} and no {MANIFEST}; choose an empty or new folder")
        manifest: dict[str, Any] = {"version": VERSION, "cases": {}}
    else:
        try:
            manifest = json.loads(path.read_text())
            cases = {name: (case["folder"], case["description"]) for name, case in manifest["cases"].items()}
            assert all(isinstance(case, str) and isinstance(what, dict) for case, what in cases.values())
        except (OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
            raise ValueError(f"{path}: damaged; restore it, or choose another folder") from error
        if manifest.get("version") != VERSION:
            raise ValueError(f"{path}: written as version {manifest.get('version')}, this reads version {VERSION}")
    for name, request in requests.items():
        wanted = json.loads(json.dumps(description(request)))
        if name in manifest["cases"]:
            changed = sorted(_changed(manifest["cases"][name]["description"], wanted))
            if changed:
                raise ValueError(
                    f"cases[{name!r}]: {', '.join(changed)} changed since {folder} was written; give the case another "
                    "name, or choose another folder"
                )
            continue
        short = re.sub(r"[^\w.=-]+", "_", name)[:60]
        number = len(manifest["cases"])
        versions = request.provenance()["versions"]
        manifest["cases"][name] = {"folder": f"{number:04d}-{short}", "description": wanted, "versions": versions}
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


def _changed(found: Any, wanted: Any, where: str = "") -> Iterator[str]:
    """Names of the fields that differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in found.keys() | wanted.keys():
            yield from _changed(found.get(name), wanted.get(name), f"{where}[{name!r}]" if where else name)
    elif found != wanted:
        yield where


def pieces_of(case: Path) -> dict[tuple[int, int], list[Piece]]:
    """The pieces of every block of runs, in time; each starts where the one before ends.

    Raises:
      ValueError: a file that is no piece, or blocks that overlap.
    """
    found: dict[tuple[int, int], list[Piece]] = {}
    for entry in sorted(case.iterdir()):
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
    """Pieces one behind the other; where a task was played twice, the one that reaches furthest."""
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
    specification = request.specification() | {"runs": piece.stop - piece.first, "first_run": piece.first}
    wanted = request.times[(request.times > piece.before) & (request.times <= piece.last)]
    same = result.specification == json.loads(json.dumps(specification)) and np.array_equal(result.times, wanted)
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
    shape = {label: (len(request.scenarios), count, request.runs) for label, count in request.variants.items()}
    rest = (len(request.times), *request.reward.shape[1:])
    visits = {label: np.zeros(shape[label] + rest, np.int32) for label in request.policies}
    for (first, _), chain in pieces_of(case).items():
        if first >= request.runs:
            continue
        if not chain or chain[-1].last < request.horizon:
            raise ValueError(f"{case}: files of the runs from {first} on have vanished; the same call plays them again")
        for piece in chain:
            part = load_piece(case, piece, request)
            runs = slice(first, min(piece.stop, request.runs))
            slots = slice(*np.searchsorted(request.times, [piece.before, piece.last], side="right"))
            for label in request.policies:
                visits[label][:, :, runs, slots] = part.visits[label][:, :, : runs.stop - first]
    return replace(part, times=request.times, visits=visits, specification=request.specification(), carry={})

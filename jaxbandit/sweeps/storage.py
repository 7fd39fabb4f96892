"""The folder of a sweep: a lock, a manifest that describes each case, and a folder for each case."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from jaxbandit.results.file import whole_file
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.telling.fingerprint import asked, check_versions, differences, programs, provenance
from jaxbandit.sweeps import files
from jaxbandit.sweeps.files import TEMPORARY, of_all_runs

MANIFEST, LOCK, HOLDER = "manifest.json", ".lock", ".running"
VERSION = 1  # of the manifest; the package reads the folders that it writes, and no other
_CASE = re.compile(r"(\d{4,})-([\w.=-]+)")  # the folder of a case
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Lock the folder for this process; yields whether it can be written, as a finished sweep can be read anyway.

    Raise BlockingIOError if another live process has locked it, OSError if it cannot be made or the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = filelock.FileLock(folder / LOCK), folder / HOLDER
    writable = True
    try:
        try:
            lock.acquire(blocking=False)
            killed = _who(holder) if holder.exists() else ""  # only a process that was killed leaves it
            with whole_file(holder) as file:  # for others read it
                file.write(f"process {os.getpid()} on {platform.node()}".encode())
            if killed:
                print(f"{folder}: {killed} was killed; taken over, nothing is lost", file=sys.stderr)
        except filelock.Timeout:
            reason = f"{_who(holder)} is at work on this folder; wait for it, or use another folder"
            raise BlockingIOError(errno.EWOULDBLOCK, reason, str(folder)) from None
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            writable = False
        yield writable
    finally:
        if lock.is_locked and writable:
            holder.unlink(missing_ok=True)
        lock.release()


def _who(holder: Path) -> str:
    """The process named in the holder's file."""
    try:
        return holder.read_text() or "another process"
    except FileNotFoundError:  # it has not written it yet, or has just finished
        return "another process"


def asked_of(request: Request) -> dict[str, Any]:
    """What a case asks for, except its runs: what counts depend on, and what is recorded, as it is read from JSON."""
    rounds = {"horizon": request.horizon, "times": np.asarray(request.times).tolist()}
    return json.loads(json.dumps(of_all_runs(asked(request)) | rounds))


def open_cases(folder: Path, requests: dict[str, Request], writable: bool = True) -> dict[str, Path]:
    """The folder of every case; new cases are added to the manifest.

    Raise ValueError if the folder holds something else, the manifest is damaged, or a case has changed (which field),
    PermissionError if there is a new case and the folder cannot be written.
    """
    manifest = read_manifest(folder)
    warned = False
    for name, request in requests.items():
        wanted = {"asked": asked_of(request), "programs": programs(request)}
        versions = provenance(request)["versions"]
        made_with = _made_with(versions)
        if name not in manifest["cases"]:
            if not writable:
                raise PermissionError(errno.EACCES, f"cannot be written, and has no cases[{name!r}]", str(folder))
            short = re.sub(r"[^\w.=-]+", "_", name)[:60]
            manifest["cases"][name] = _kept_case(folder, short, manifest, wanted["asked"])
        case = manifest["cases"][name]
        same = made_with in case["programs"]
        if case["programs"] and not same and not warned:
            warned = not check_versions(str(folder), next(reversed(case["programs"].values()))["versions"], versions)
        written = {"asked": case["asked"], "programs": case["programs"][made_with]["of"] if same else {}}
        if changed := differences(written, wanted, same):
            raise ValueError(
                f"cases[{name!r}]: {', '.join(changed)} changed since {folder} was written; give the case another "
                "name, or choose another folder"
            )
        case["programs"].setdefault(made_with, {"versions": versions, "of": wanted["programs"]})
    paths = {name: folder / manifest["cases"][name]["folder"] for name in requests}
    if not writable:
        return paths
    with whole_file(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())
    for case in paths.values():
        case.mkdir(exist_ok=True)
    for place in (folder, *paths.values()):
        for entry in place.iterdir():
            if TEMPORARY.fullmatch(entry.name):
                entry.unlink()
    return paths


def _kept_case(folder: Path, short: str, manifest: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """A new case of the manifest; in the folder that a lost manifest gave it, if there is one with pieces of it.

    Every piece says what it is of, and which programs played it.
    """
    listed = {case["folder"] for case in manifest["cases"].values()}
    kept = {name: match for name in (*listed, *os.listdir(folder)) if (match := _CASE.fullmatch(name))}
    for name in sorted(name for name, match in kept.items() if name not in listed and match[2] == short):
        for piece in (chain[-1] for chain in files.pieces_of(folder / name).values() if chain):
            if files.is_of(result := files.read_piece(folder / name, piece), piece, asked):
                versions, of = result.provenance["versions"], result.fingerprint["programs"]
                programs = {_made_with(versions): {"versions": versions, "of": of}}
                return {"folder": name, "asked": asked, "programs": programs}
    number = 1 + max((int(match[1]) for match in kept.values()), default=-1)
    return {"folder": f"{number:04d}-{short}", "asked": asked, "programs": {}}


def _made_with(versions: dict[str, str]) -> str:
    """The versions between which programs can be compared."""
    return f"jaxbandit {versions['jaxbandit']}, jax {versions['jax']}"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, or a new one for an empty folder.

    Raise ValueError if the folder holds something else, or the manifest is damaged or of another version.
    """
    path = folder / MANIFEST
    if not path.exists():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in (LOCK, HOLDER))
        if foreign := [name for name in others if not (TEMPORARY.fullmatch(name) or _CASE.fullmatch(name))]:
            raise ValueError(f"{folder}: holds {foreign[0]!r} and no {MANIFEST}; choose an empty or new folder")
        return {"version": VERSION, "cases": {}}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        version = manifest["version"]
        for case in manifest["cases"].values() if version == VERSION else ():
            if [type(case[name]) for name in ("folder", "asked", "programs")] != [str, dict, dict]:
                raise TypeError
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        cure = "delete it, and the same call of sweep makes it again from its cases and the files that are there"
        raise ValueError(f"{path}: damaged; {cure}") from error
    if version != VERSION:
        raise ValueError(f"{path}: written as version {version}, this reads version {VERSION}")
    return manifest

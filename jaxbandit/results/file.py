"""The file of a result: one compressed .npz without pickle, written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jaxbandit.arguments import path as as_path
from jaxbandit.arguments import shown
from jaxbandit.interruption import CtrlC
from jaxbandit.results.contents import Contents

VERSION = 1  # of the file; the package reads the files that it writes, and no other
OPTIONAL = ("comparator", "cost")  # arrays that not every result has


def file_name(path: str | os.PathLike[str]) -> Path:
    """The path of a file to write.

    Raises:
      ValueError: it is not a path, or does not end in a file's name.
    """
    found = as_path("path", path)
    if not found.name:
        raise ValueError(f"path: {shown(path)} has no file's name")
    return found


def write(contents: Contents, path: Path) -> None:
    """What `Result.save` does."""
    header = {
        "version": VERSION,
        "scenarios": contents.scenarios,
        "labels": contents.labels,
        "carry": {label: len(leaves) for label, leaves in contents.carry.items()},
        "recorded": {name: list(arrays) for name, arrays in contents.recorded.items()},
        **{
            name: getattr(contents, name)
            for name in ("horizon", "rounds", "plays", "fingerprint", "provenance", "problem", "comparator_name")
        },
    }
    arrays = {"times": contents.times, "means": contents.means, "reward": contents.reward}
    arrays |= {name: array for name in OPTIONAL if (array := getattr(contents, name)) is not None}
    for i, label in enumerate(contents.labels):
        arrays[f"visits_{i}"] = contents.visits[label]
        arrays |= {f"carry_{i}_{n}": leaf for n, leaf in enumerate(contents.carry.get(label, []))}
    for i, found in enumerate(contents.recorded.values()):
        arrays |= {f"recorded_{i}_{n}": array for n, array in enumerate(found.values())}
    with whole_file(path) as file:
        _write_arrays(file, {"header": np.array(json.dumps(header)), **arrays})


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the result in a file.

    Raises:
      ValueError: the file does not hold a result, is truncated or damaged, or is of another version.
      FileNotFoundError: the file does not exist.
    """
    if os.path.isdir(path):
        raise ValueError(f"{path}: a folder; jaxbandit.load_sweep reads that of a sweep")
    with open(path, "rb") as handle:
        try:
            with zipfile.ZipFile(handle) as archive:
                return _fields({name.removesuffix(".npy"): _array(archive, name) for name in archive.namelist()})
        except _VersionError as error:
            raise ValueError(f"{path}: {error}") from None
        except MemoryError:  # a large result, or a wrong bit among the lengths of an array
            if _is_whole(handle):
                raise
        except Exception:  # of a dozen classes; NumPy's advise users to allow pickles
            pass
    raise ValueError(f"{path}: no file that Result.save has written, or truncated or damaged")


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of the archive, read to its end, where its checksum is compared."""
    with archive.open(name) as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise zipfile.BadZipFile("more than an array")
    return array


def _is_whole(handle: BinaryIO) -> bool:
    """Whether all checksums of the archive are right."""
    try:
        with zipfile.ZipFile(handle) as archive:
            return archive.testzip() is None
    except Exception:
        return False


def _fields(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The fields of a result, from all arrays of its file: one that is not asked for is another one's, misnamed."""
    header = json.loads(str(arrays.pop("header")))
    if header["version"] != VERSION:
        raise _VersionError(f"written as version {header['version']}, this reads version {VERSION}")
    labels, take = header["labels"], arrays.pop
    fields = {
        "scenarios": tuple(header["scenarios"]),
        "visits": {label: take(f"visits_{i}") for i, label in enumerate(labels)},
        "carry": {
            label: [take(f"carry_{i}_{n}") for n in range(header["carry"][label])]
            for i, label in enumerate(labels)
            if label in header["carry"]
        },
        "recorded": {
            name: {label: take(f"recorded_{i}_{n}") for n, label in enumerate(of)}
            for i, (name, of) in enumerate(header["recorded"].items())
        },
        **{name: take(name) for name in ("times", "means", "reward")},
        **{name: header[name] for name in ("horizon", "rounds", "plays", "fingerprint", "provenance", "problem")},
        "comparator_name": header.get("comparator_name"),
        **{name: take(name, None) for name in OPTIONAL},
    }
    if arrays:
        raise LookupError(f"arrays that no result has: {', '.join(arrays)}")
    return fields


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that is there in one step, on the disk, when the block ends; not at all if it raises.

    Raises:
      FileNotFoundError: its folder does not exist.
      OSError: it cannot be written, with its name.
      KeyboardInterrupt: by Ctrl-C, when the file is there.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with CtrlC():
        try:
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            if os.name == "posix":  # the new name outlives a power cut only once its folder is on the disk
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:  # that of a full disk does not say which file
            raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
        finally:
            temporary.unlink(missing_ok=True)


def _write_arrays(file: BinaryIO, arrays: dict[str, np.ndarray]) -> None:
    """What `np.savez_compressed` writes, compressed less: a fifth larger, in a sixth of the time."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


class _VersionError(Exception):
    """The file is whole but of another version."""

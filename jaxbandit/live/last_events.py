"""The last events of a log once more, in a small file of their own.

After a kill the last events are in SQLite's file `-wal` alone. If that is lost, or a byte of it is damaged, SQLite
goes on without them and says nothing. The file `-last` has the numbers and digests of the last events that were
acknowledged, so that the log knows that they are missing. It is there as long as `-wal` is, and is only written after
the event is on the disk: it never has an event that the log does not have, unless the log has lost it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from pathlib import Path
from typing import Any

RECORD = struct.Struct("<q16s8s")  # number and digest of an event, and the check sum of both
PLACES = 64  # event n is in place n mod 64, so that a process that is late does not overwrite what is newer


class LastEvents:
    """The file with the last events of the log with this path; None for a log in memory, which has none."""

    def __init__(self, log: Path | None) -> None:
        self.log = log
        if log is not None:
            self.path, self.wal = (log.with_name(log.name + ending) for ending in ("-last", "-wal"))

    def append(self, n: int, digest: bytes) -> None:
        """Write an event that is on the disk."""
        if self.log is None:
            return
        try:
            with open(self.path, "r+b", opener=_opened) as file:
                file.seek(n % PLACES * RECORD.size)
                file.write(RECORD.pack(n, digest, _check(n, digest)))
        except OSError as error:  # no reason to say that the event was not stored
            warnings.warn(
                f"{self.path}: {error.strerror}; if {self.wal.name} is lost after a kill, nobody will notice",
                RuntimeWarning,
                stacklevel=2,
            )

    def last(self) -> tuple[int, bytes] | None:
        """Number and digest of the last event; None if there is none. A record that is damaged does not count."""
        content = self.path.read_bytes() if self.log is not None and self.path.exists() else b""
        records = RECORD.iter_unpack(content[: len(content) // RECORD.size * RECORD.size])
        whole = [(n, digest) for n, digest, check in records if n > 0 and check == _check(n, digest)]
        return max(whole, default=None)

    def check(self, known: tuple[int, bytes] | None, last: int, row: tuple[Any] | None) -> None:
        """Raise ValueError if the log, whose last event is `last`, lacks the event that this file knows.

        Its `row` has the digest of that event in the log.
        """
        if known is None or (known[0] <= last and row == known[1:]):
            return
        first = min(last + 1, known[0])
        lost = f"event {first} is" if first == known[0] else f"events {first} to {known[0]} are"
        raise ValueError(
            f"{self.log}: damaged ({lost} missing: {self.wal.name} was lost or damaged after a kill, or this is an "
            f"older copy); restore it with all its files, or delete {self.path}, to go on without"
        )

    def delete(self) -> None:
        """Delete the file if the log has all events in its own, because the last player has closed it."""
        if self.log is not None and not self.wal.exists():
            self.path.unlink(missing_ok=True)


def _opened(name: str, flags: int) -> int:
    """Open a file, which is made if it does not exist."""
    return os.open(name, flags | os.O_CREAT, 0o666)


def _check(n: int, digest: bytes) -> bytes:
    return hashlib.blake2b(n.to_bytes(8, "little", signed=True) + digest, digest_size=8).digest()

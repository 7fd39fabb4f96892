"""The log of a player: events in a SQLite file, each with a digest of all events up to it.

Every event is appended in a transaction that is on the disk before the call returns. Each row has a digest of its event
and of the digest before it, and one more row has the number and the digest of the last event, so that a damaged,
missing or additional row is noticed. Every so many events the position is stored, too; it saves time and no more.

SQLite's file `-wal`, which is there until the last player is closed, has checksums of its own: if a byte of it is
damaged after a kill, SQLite drops what stands behind that byte. `last_events` notices that.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn
from urllib.request import pathname2url

from jaxbandit.arguments import path as as_path
from jaxbandit.interruption import CtrlC
from jaxbandit.live.last_events import LastEvents
from jaxbandit.live.position import START, Event, Position
from jaxbandit.live.sqlite_errors import CURE, in_words

APPLICATION = 0x6A78_6261  # in the header of the file
VERSION = 2  # of the file; the package reads the files that it writes, and no other
PATIENCE = 30.0  # seconds to wait for another process that writes
TABLES = (
    "CREATE TABLE about (only_row INTEGER PRIMARY KEY, text TEXT, digest BLOB)",
    "CREATE TABLE events (n INTEGER PRIMARY KEY, event TEXT, digest BLOB)",
    "CREATE TABLE last_event (only_row INTEGER PRIMARY KEY, n INTEGER, digest BLOB)",
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, n INTEGER)",
    "CREATE TABLE snapshots (n INTEGER PRIMARY KEY, header TEXT, data BLOB, digest BLOB)",
)


class LogFile:
    """The events of one player, in a file or in memory.

    Args:
      store: the path of the file, or None for memory.
      about: what the events belong to: policy, arms and key, in JSON. If the key is None, it is that of the file, and
        that of a new log is drawn.
      every: events from one snapshot to the next.
    """

    def __init__(self, store: str | os.PathLike[str] | None, about: dict[str, Any], every: int) -> None:
        self.path = None if store is None else as_path("store", store)
        self.every = every
        self.writable = True
        self.file: tuple[int, int] | None = None  # of the open file, which the path may cease to name
        if self.path is not None:
            if not self.path.parent.is_dir():
                raise FileNotFoundError(f"{self.path.parent}: no such folder")
            if self.path.is_dir():
                raise ValueError(f"{self.path}: a folder; store is the path of one file")
            self.writable = _can_write(self.path)
        self.last_events = LastEvents(self.path)
        if self.path is not None and not self.path.exists():
            self.last_events.check(self.last_events.last(), 0, None)
        self.appended: tuple[int, bytes] | None = None  # the last event of the transaction
        with self._errors_named():
            self.connection, self.process = self._connected(), os.getpid()
            try:
                self.key: list[int] = self._begun(dict(about))["key"]
                self.file = None if self.path is None else _identity(self.path)
            except BaseException:
                self.connection.close()
                raise
            self.close = weakref.finalize(
                self, _close, self.connection, self.process, self.last_events if self.writable else None
            )

    def _connected(self) -> sqlite3.Connection:
        options: dict[str, Any] = {"isolation_level": None, "timeout": PATIENCE, "check_same_thread": False}
        if self.path is None:
            return sqlite3.connect(":memory:", **options)
        if self.writable:
            return sqlite3.connect(self.path, **options)
        alone = "" if self.path.with_name(f"{self.path.name}-wal").exists() else "&immutable=1"
        return sqlite3.connect(f"file:{pathname2url(str(self.path.absolute()))}?mode=ro{alone}", uri=True, **options)

    def _begun(self, about: dict[str, Any]) -> dict[str, Any]:
        """Make the tables of a new file, or raise ValueError unless they are whole and the log's own.

        Returns what the events belong to, with the key.
        """
        run = self.connection.execute
        known = self.last_events.last()  # before the log is read, which may grow meanwhile
        if self.path is not None and self.writable:
            if run("PRAGMA application_id").fetchone()[0] == 0 and not run("SELECT * FROM sqlite_schema").fetchone():
                self._without_waiting("PRAGMA journal_mode = WAL")
            run("PRAGMA synchronous = FULL")
        with self.transaction(write=self.writable):
            tables = [sql for (sql,) in run("SELECT sql FROM sqlite_schema ORDER BY rootpage")]
            application, version = (run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if self.writable:  # nobody else writes now
                known = self.last_events.last()
            if not tables and self.writable and (application, version) == (0, 0):
                self.last_events.check(known, 0, None)
                for sql in TABLES:
                    run(sql)
                about["key"] = about["key"] or [secrets.randbits(32), secrets.randbits(32)]
                text = json.dumps(about, sort_keys=True)
                run("INSERT INTO about VALUES (1, ?, ?)", (text, _digest(START, text)))
                run("INSERT INTO last_event VALUES (1, 0, ?)", (START,))
                run(f"PRAGMA application_id = {APPLICATION}")
                run(f"PRAGMA user_version = {VERSION}")
                return about
            if application != APPLICATION:
                raise ValueError(f"{self.path}: not the store of a player, or damaged; give store= another path")
            if version != VERSION:
                raise ValueError(
                    f"{self.path}: written as version {version}, this reads version {VERSION}; use the jaxbandit that "
                    "wrote it, or give store= another path"
                )
            if tables != list(TABLES) or run("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                self._damaged("its tables")
            row = run("SELECT text, digest FROM about WHERE only_row = 1").fetchone()
            if row is None or not isinstance(row[0], str) or row[1] != _digest(START, row[0]):
                self._damaged("what it belongs to")
            stored = json.loads(row[0])
            about["key"] = about["key"] or stored["key"]
            if row[0] != json.dumps(about, sort_keys=True):
                self._other(stored, json.loads(json.dumps(about, sort_keys=True)))
            if known is not None:
                (last,) = run("SELECT n FROM last_event WHERE typeof(n) = 'integer'").fetchone() or (0,)
                self.last_events.check(known, last, run("SELECT digest FROM events WHERE n = ?", known[:1]).fetchone())
        return about

    def _other(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Raise the error of a store that belongs to another player."""
        changed = [name for name in {**new, **old} if old.get(name) != new.get(name)]
        name = changed[0]
        raise ValueError(
            f"{self.path}: made for another player: {', '.join(changed)} changed ({name}: {old.get(name)} in the "
            f"store, {new.get(name)} now); give the same arguments, or store= another path"
        )

    def _without_waiting(self, command: str) -> None:
        """Execute a command for which SQLite does not wait for other processes."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connection.execute(command)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 255 != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[None]:
        """A block whose events are stored together at its end, or not at all if it raises."""
        if write and not self.writable:
            raise PermissionError(
                errno.EACCES, "cannot be written; make it and its folder writable, or play from a copy", str(self.path)
            )
        if os.getpid() != self.process:
            raise RuntimeError(f"{self.path}: opened before this process was forked; make a new player in each process")
        if self.path is not None and self.file is not None and _identity(self.path) != self.file:
            raise FileNotFoundError(
                errno.ENOENT,
                "was moved, deleted or replaced while a player had it open; make a new player",
                str(self.path),
            )
        # in memory nothing outlives the process, and a signal that comes inside is as any error
        with self._errors_named(), nullcontext() if self.path is None else CtrlC():
            self.appended = None
            self.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            if self.appended is not None:
                self.last_events.append(*self.appended)

    def append(self, position: Position, event: Event) -> None:
        """Append an event, which the position has applied already."""
        run, text = self.connection.execute, json.dumps(event)
        position.n += 1
        position.digest = _digest(position.digest, text)
        self.appended = position.n, position.digest
        run("INSERT INTO events VALUES (?, ?, ?)", (position.n, text, position.digest))
        run("UPDATE last_event SET n = ?, digest = ? WHERE only_row = 1", (position.n, position.digest))
        for number in {"answer": event[1:2], "forget": event[1]}.get(event[0], ()):
            run("INSERT INTO answers VALUES (?, ?)", (number, position.n))
        if position.n % self.every == 0:
            header, data = position.snapshot()
            run("DELETE FROM snapshots")
            row = position.n, header, data, _digest(position.digest, header, data)
            run("INSERT INTO snapshots VALUES (?, ?, ?, ?)", row)

    def opened(self, new: Callable[[], Position]) -> Position:
        """The position after all events: of the last snapshot and the events behind it, or of all events."""
        run, position = self.connection.execute, new()
        row = run("SELECT n, header, data, digest FROM snapshots").fetchone()
        if row is not None:
            n, header, data, digest = row
            of_event = run("SELECT digest FROM events WHERE n = ?", (n,)).fetchone()
            of_event = of_event and of_event[0]
            whole = isinstance(of_event, bytes) and isinstance(header, str) and isinstance(data, bytes)
            if whole and digest == _digest(of_event, header, data):
                position.restore(json.loads(header), data)
        self.follow(position)
        return position

    def follow(self, position: Position) -> None:
        """Apply the events behind the position, which other processes may have appended."""
        for n, digest, event in self.events(position.n, position.digest):
            position.apply(event)
            position.n, position.digest = n, digest

    def events(self, n: int = 0, digest: bytes = START) -> Iterator[tuple[int, bytes, Event]]:
        """The number, the digest and the event of all events behind event n, which has this digest."""
        run = self.connection.execute
        last = run("SELECT n, digest FROM last_event WHERE only_row = 1").fetchone()
        if last != (n, digest):
            for number, text, of_event in run("SELECT n, event, digest FROM events WHERE n > ? ORDER BY n", (n,)):
                if number != n + 1 or not isinstance(text, str) or of_event != _digest(digest, text):
                    self._damaged(f"event {n + 1}")
                n, digest = number, of_event
                yield n, digest, json.loads(text)
        if last != (n, digest):
            self._damaged("its last events")

    def answer(self, number: int) -> Event:
        """The event that closed the play with this number."""
        run = self.connection.execute
        join = "SELECT n, event, digest FROM events JOIN (SELECT n AS at FROM answers WHERE id = ?)"
        rows = run(f"{join} WHERE n IN (at - 1, at) ORDER BY n", (number,)).fetchall()
        texts = [isinstance(text, str) and isinstance(digest, bytes) for _, text, digest in rows]
        if texts == [True, True] and rows[1][2] == _digest(rows[0][2], rows[1][1]):
            event: Event = json.loads(rows[1][1])
            if (event[0] == "answer" and event[1] == number) or (event[0] == "forget" and number in event[1]):
                return event
        self._damaged(f"the answer of play {number}")

    def _damaged(self, what: str) -> NoReturn:
        raise ValueError(f"{self.path}: damaged ({what}); {CURE}")

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Raise SQLite's errors with the name of the file and the cure."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise in_words(error, str(self.path), f"another process has written for {PATIENCE:g} s") from error


def _can_write(path: Path) -> bool:
    """Whether a file, or one made in its folder, and the files that SQLite makes beside it can be written."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def _close(connection: sqlite3.Connection, process: int, last_events: LastEvents | None) -> None:
    """Close the connection in the process that opened it."""
    if os.getpid() == process:
        connection.close()
        if last_events is not None:
            last_events.delete()


def _identity(path: Path) -> tuple[int, int] | None:
    """The device and the number of the file with this path; None without one."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _digest(before: bytes, *parts: str | bytes) -> bytes:
    """The digest of an event, or of a snapshot, and of all events before it."""
    digest = hashlib.blake2b(before, digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()

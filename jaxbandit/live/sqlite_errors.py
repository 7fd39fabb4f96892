"""SQLite's errors in words, with the name of the file and the cure."""

from __future__ import annotations

import errno
import sqlite3

CURE = "restore a copy of it, or move it away and begin a new store"


def in_words(error: Exception, name: str, busy: str) -> Exception:
    """The error to raise for one of SQLite's; `busy` says why the file `name` could not be written."""
    code = getattr(error, "sqlite_errorcode", 0) & 255
    if code == sqlite3.SQLITE_FULL:
        return OSError(errno.ENOSPC, "the disk is full and nothing was stored; free space and repeat the call", name)
    if code == sqlite3.SQLITE_BUSY:
        return BlockingIOError(errno.EWOULDBLOCK, f"{busy}; stop it, or repeat the call", name)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return PermissionError(
            errno.EACCES, f"cannot be written ({error}); make it and its folder writable, or move it", name
        )
    if code == sqlite3.SQLITE_IOERR:
        return OSError(
            errno.EIO, f"{error}: nothing was stored; check the disk, which may be full, and repeat the call", name
        )
    if isinstance(error, sqlite3.ProgrammingError):
        return ValueError(f"{name}: the player is closed; make a new one")
    return ValueError(f"{name}: not the store of a player, or damaged ({error}); {CURE}")

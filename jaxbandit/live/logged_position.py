"""A position that follows its log, for threads and processes that take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax
import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import check_key
from jaxbandit.live.log_file import LogFile
from jaxbandit.live.position import Event, Position


class LoggedPosition:
    """A log and the position after its events; `start` gives that before the first one."""

    def __init__(self, log: LogFile, start: Callable[[], Position]) -> None:
        self._log, self._start, self._lock = log, start, threading.RLock()
        self._position: Position | None = None
        with self._transaction(write=False):
            pass

    @contextmanager
    def _transaction(self, write: bool = True) -> Iterator[Position]:
        """The position after all events of the log; what the block appends is stored at its end."""
        with self._lock:
            try:
                with self._log.transaction(write):
                    if self._position is None:
                        self._position = self._log.opened(self._start)
                    else:
                        self._log.follow(self._position)
                    self._position.changed = False
                    yield self._position
            except BaseException:
                if self._position is not None and self._position.changed:
                    self._position = None  # it is ahead of the log, and is read again
                raise

    def _append(self, position: Position, event: Event) -> None:
        position.apply(event)
        self._log.append(position, event)


def words_of(key: int | jax.Array | None) -> list[int] | None:
    """The two words of a player's key, checked; None if there is none, so that a new log draws them."""
    if key is None:
        return None
    if not isinstance(key, jax.Array):
        key = jax.random.key(integer("key", key, 0, LARGEST_INTEGER))
    check_key(key)
    words: list[int] = np.asarray(jax.random.key_data(key)).tolist()
    return words

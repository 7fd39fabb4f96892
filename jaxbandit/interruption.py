"""Deferred Ctrl-C: it waits until no data can be lost, and is never swallowed.

Python raises KeyboardInterrupt at whatever statement it executes. While a file is written this loses data; in a
callback of the garbage collector the exception is only printed, and the program continues. Here the signal sets a flag,
and the exception is raised at the end of a block.
"""

from __future__ import annotations

import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

AT_ONCE = 1.0  # a second signal within this many seconds is raised at once

_came = threading.Event()  # set by a signal that has not been handled yet
_again = threading.Event()  # set if a second one was raised at once
_last = -math.inf  # time of the last signal; kept between calls
_outer: Any = signal.default_int_handler  # the handler outside of the blocks


class StoppedWarning(UserWarning):
    """Ctrl-C stopped a call, which returns what it has; `warnings.simplefilter("error", ..)` makes it an error."""


warnings.simplefilter("always", StoppedWarning, append=True)  # else Python shows equal warnings of one line only once


def warn_of_stop(rounds: int, horizon: int) -> None:
    """Warn the caller of a simulation that Ctrl-C stopped it after this many rounds."""
    if rounds == horizon:
        text = "Ctrl-C came while the last rounds were played: the result is complete"
    else:
        text = (
            f"Ctrl-C stopped the simulation after round {rounds:,} of {horizon:,}, and the result has only these; "
            "simulate(..., resume=result) plays the others. Ctrl-C twice within a second raises KeyboardInterrupt"
        )
    warnings.warn(text, StoppedWarning, stacklevel=3)


def interrupted() -> bool:
    """Whether a signal waits for the end of a block; always False outside of the main thread."""
    return _came.is_set() and threading.current_thread() is threading.main_thread()


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if a signal waits; call it where no data can be lost."""
    if interrupted():
        raise KeyboardInterrupt


class CtrlC:
    """A block that defers Ctrl-C, and raises KeyboardInterrupt at its end if a signal came.

    A second signal in the block, or within a second of the last one, is raised at once. Blocks may be nested. Outside
    of the main thread, and where SIGINT is ignored or ends the process, it has no effect.

    Args:
      raises: False for an outermost block whose caller reports the stop; after its end, `came` says whether a signal
        came.
    """

    def __init__(self, raises: bool = True) -> None:
        self.raises, self.came = raises, False

    def __enter__(self) -> CtrlC:
        global _outer
        here = threading.current_thread() is threading.main_thread()
        self.outer = signal.getsignal(signal.SIGINT) if here else None
        if callable(self.outer) and self.outer is not _wait:
            if self.outer is not _set_and_raise:
                _forget()
            _outer = self.outer
            signal.signal(signal.SIGINT, _wait)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not callable(self.outer):
            return
        if self.outer is not _wait:
            signal.signal(signal.SIGINT, self.outer)
        self.came = _came.is_set()
        alone = self.outer not in (_wait, _set_and_raise)
        answered = alone and not self.raises and not _again.is_set() and error is None
        if alone:
            _forget()
        if self.came and not answered and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt

    def take(self) -> bool:
        """Whether a signal waits that the block may handle; it is then cleared."""
        taken = self.outer not in (_wait, _set_and_raise) and interrupted() and not _again.is_set()
        if taken:
            _forget()
        return taken


@contextmanager
def reraise_ctrl_c() -> Iterator[None]:
    """A block around a whole program: Ctrl-C is raised at once, and again at the end if something swallowed it."""
    outer = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(outer):
        yield
        return
    _forget()
    signal.signal(signal.SIGINT, _set_and_raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, outer)
        came = interrupted()
        _forget()
        if came:
            raise KeyboardInterrupt


def _forget() -> None:
    _came.clear()
    _again.clear()


def _wait(number: int, frame: FrameType | None) -> None:
    """Defer the first signal; pass all further ones to the handler outside of the blocks."""
    global _last
    before, _last = _last, time.monotonic()
    again = _came.is_set() or _last - before < AT_ONCE
    _came.set()
    if again:
        _again.set()
        signal.signal(signal.SIGINT, _outer)
        _outer(number, frame)


def _set_and_raise(number: int, frame: FrameType | None) -> None:
    global _last
    _last = time.monotonic()
    _came.set()
    raise KeyboardInterrupt

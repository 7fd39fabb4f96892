"""A sweep on an executor's workers, in other processes or on other machines."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.interruption import CtrlC, interrupted, stop_if_interrupted
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.progress import LOOK, progress_bar
from jaxbandit.sweeps.tasks import CUTTING, Task, play, without


def play_remotely(task: Task, key: np.ndarray, implementation: str, double: bool) -> None:
    """Play a block in an executor's worker, which writes its files itself; or a part of it, once the sweep has ended.

    Raises:
      KeyboardInterrupt: by Ctrl-C in this process only: Dask would take it for the end of its worker.
    """
    _end_with_parent()
    try:
        with CtrlC(), jax.enable_x64(double):
            options = task.options | {"key": jax.random.wrap_key_data(jnp.asarray(key), impl=implementation)}
            case = check(**without(options, CUTTING))
            stopped = lambda: interrupted() or task.ended.exists()
            play(task._replace(options=options), case, progress_bar(0, False), stopped)
    except KeyboardInterrupt:
        if not task.ended.exists():
            raise


@functools.cache
def _end_with_parent() -> None:
    """From now on, end this process with the one that started it.

    The workers of a `ProcessPoolExecutor` whose process was killed would wait for ever, each with its memory. What is
    written is whole at any moment.
    """
    parent = multiprocessing.parent_process()

    def wait_and_end() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


def play_all(executor: Executor, tasks: list[tuple[Task, int]], bar: Any) -> None:
    """Let an executor's workers play the tasks.

    Raises:
      KeyboardInterrupt: by Ctrl-C, when the workers have written what they were playing.
      RuntimeError: a worker died.
    """
    if not tasks:
        return
    futures: dict[Future[None], int] = {}
    double = jnp.result_type(float).itemsize == 8
    try:
        for task, rounds in tasks:
            key = jax.random.key(0) if task.options.get("key") is None else task.options["key"]
            about = np.asarray(jax.random.key_data(key)), str(jax.random.key_impl(key)), double
            plain = task._replace(options=without(task.options, ("key",)))
            futures[executor.submit(play_remotely, plain, *about)] = rounds
        left = set(futures)
        while left:
            stop_if_interrupted()
            done, left = wait(left, LOOK, FIRST_COMPLETED)
            for future in done:
                future.result()
                bar.update(futures[future])
    except KeyboardInterrupt:
        with suppress(OSError):
            tasks[0][0].ended.touch()
        wait([future for future in futures if not future.cancel()])
        raise
    except BrokenExecutor as error:
        stop_if_interrupted()  # idle workers die of it
        raise RuntimeError(
            "executor: a worker died and took the pool with it; what was written is whole, and the same call with a "
            "new executor continues"
        ) from error
    finally:
        for future in futures:
            future.cancel()

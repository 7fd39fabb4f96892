"""The number of cores, and how JAX uses all of them."""

from __future__ import annotations

import os

import jax


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_all_cores() -> None:
    """Make every core a device of JAX; `simulate` divides the runs among them.

    By default the CPU is a single device of JAX. The number of devices is fixed at the first computation, so call this
    at the top of a notebook or script. On a GPU it has no effect on `simulate`.

    Raises:
      RuntimeError: JAX has started already, with another number of devices.

    >>> use_all_cores()  # doctest: +SKIP
    """
    number = cores()
    if getattr(jax.config, "jax_num_cpu_devices", None) == number:
        return
    try:
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError as error:
        raise RuntimeError(
            f"use_all_cores: JAX has started already, with {jax.local_device_count('cpu')} CPU device(s), and cannot "
            f"take {number} any more; call it before anything is computed, in a notebook after a restart of the kernel"
        ) from error


def check_threads() -> None:
    """Raise RuntimeError in a process in which JAX would wait for ever for threads of the process that forked it."""
    if _without_threads:
        raise RuntimeError(
            "this process was forked from one in which JAX had started, and would wait for ever for JAX's threads, "
            'which it does not have; start it by spawn, as in ProcessPoolExecutor(mp_context=get_context("spawn"))'
        )


def _after_fork() -> None:
    """Note in a new process whether JAX has started: it then takes no other number of devices."""
    global _without_threads
    number = getattr(jax.config, "jax_num_cpu_devices", 1)
    try:
        jax.config.update("jax_num_cpu_devices", abs(number) + 1)
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError:
        _without_threads = True


_without_threads = False
if hasattr(os, "register_at_fork"):  # there is none on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)

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

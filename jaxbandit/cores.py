"""How many cores there are, and all of them for JAX."""

from __future__ import annotations

import os

import jax


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_all_cores() -> None:
    """Show JAX every core as a device of its own, among which `simulate` divides the runs.

    JAX by itself takes a CPU for one device. The number of devices is fixed when JAX computes anything for the first
    time, so this stands at the top of a notebook or script. On a GPU it changes nothing that `simulate` does.

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

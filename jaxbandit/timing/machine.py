"""What machine this is, in words."""

from __future__ import annotations

import platform

import jax

import jaxbandit
from jaxbandit.cores import cores


def describe() -> str:
    """Devices, cores, processor and versions."""
    devices = jax.devices()
    return (
        f"{len(devices)} {devices[0].device_kind} device(s), {cores()} cores, {_processor()}, "
        f"Python {platform.python_version()}, jax {jax.__version__}, jaxbandit {jaxbandit.__version__}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

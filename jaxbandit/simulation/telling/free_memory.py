"""The memory that a simulation needs, computed before anything is allocated."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import jax

from jaxbandit.simulation.asking.request import Request


def check_memory(argument: str, requests: list[Request], playing: bool) -> None:
    """Raise ValueError if the results of all requests together need more memory than is free.

    Args:
      argument: the argument to name in the error.
      playing: whether they are played now, so that the carry of the runs is in memory, too.
    """
    free = free_bytes()
    results = sum(bytes_of_result(request) for request in requests)
    carried = sum(bytes_carried(request) for request in requests) if playing else 0
    if free is None or results + carried <= free:
        return
    largest = max(requests, key=bytes_of_result)
    arms, states = largest.counted
    waiting = any(request.players[label] is not own for request in requests for label, own in request.policies.items())
    sooner = ", keep feedback for fewer rounds (delay, batch)" if waiting else ""
    lanes = len(largest.scenarios) * sum(largest.variants.values())
    raise ValueError(
        f"{argument}: {largest.runs:,} runs x {len(largest.times):,} recorded times x {arms} arms x {states} states x "
        f"{lanes} scenarios and variants{' (the largest case)' if len(requests) > 1 else ''} need {_giga(results)} for "
        f"records and {_giga(carried)} for the state between rounds, and {_giga(free)} are free; "
        f"{_keep_less(requests, carried > results)}{sooner}, or play fewer runs at a time into files (jaxbandit.sweep, "
        "block=10_000)"
    )


def _keep_less(requests: list[Request], between_rounds: bool) -> str:
    """Advice how to reduce the records, or the state between rounds."""
    if not between_rounds:
        return "record fewer rounds (times=[horizon])"
    kept = {label: _bytes(program.shapes) for request in requests for label, program in request.traced.policies.items()}
    label = max(kept, key=kept.__getitem__)
    return f"reduce the state of policies[{label!r}], {kept[label]:,} bytes a run (for example with a shorter window)"


def bytes_recorded(request: Request, label: str) -> int:
    """Bytes of the records of one run, scenario, variant and time of a policy."""
    return 4 * math.prod(request.counted) + _bytes(request.shapes[label])


def bytes_of_result(request: Request) -> int:
    """Bytes of the arrays of a result."""
    of_run = sum(number * bytes_recorded(request, label) for label, number in request.variants.items())
    return of_run * len(request.scenarios) * request.runs * len(request.times)


def bytes_carried(request: Request) -> int:
    """Bytes of the carry of all runs, on the devices and, at the end, in the result."""
    shapes = request.traced.environment.shapes
    fixed = _bytes((shapes.state, shapes.dynamic)) + 4 * math.prod(request.counted)
    of_run = sum(
        number * (fixed + _bytes(request.traced.policies[label].shapes)) for label, number in request.variants.items()
    )
    return 2 * of_run * len(request.scenarios) * request.runs


def free_bytes() -> int | None:
    """Bytes that this process may still allocate, by the machine, its control group and its limits.

    None if the system does not provide them.
    """
    limits = [_of_machine(), _of_control_group(), _of_limit()]
    known = [number for number in limits if number is not None]
    return max(0, min(known)) if known else None


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_control_group() -> int | None:
    place = Path("/sys/fs/cgroup")
    try:
        return int((place / "memory.max").read_text()) - int((place / "memory.current").read_text())
    except (OSError, ValueError):  # no such system, or "max"
        return None


def _of_limit() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        used = 0
    return limit - used


def _bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _giga(number: int) -> str:
    return f"{number / 2**30:,.1f} GiB"

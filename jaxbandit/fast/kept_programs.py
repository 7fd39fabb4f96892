"""What the next process need not trace and compile again, kept as files in the folder that JAXBANDIT_CACHE names.

JAX's own cache is looked up by the traced program, and tracing takes longer than all else in a process whose programs
are in that cache. So programs of the library's own code are also looked up by what they are made from: the source of
the package, versions, settings, the processor, and the names and numbers on which the caller says that they depend.
Like JAX's cache, this one trusts the folder's files as code.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import get_ident
from typing import Any

import jax

from jaxbandit.fast.slow_paths import PLAIN, slow_path

PACKAGE = Path(__file__).parents[1]
HIT = "/jax/compilation_cache/cache_hits"  # what JAX tells its listeners of a program that it read from its own cache
_hits: set[int] = set()  # threads in which JAX read a program


def folder() -> Path | None:
    """Where files are kept; None if nobody asked for it, or if several processes play together."""
    asked = os.environ.get("JAXBANDIT_CACHE")
    settings = getattr(jax.config, "values", None)  # without them it is not known on what a program depends
    return Path(asked, "by_name") if asked and isinstance(settings, dict) and jax.process_count() == 1 else None


def key(*parts: Any, of_source: bool = True) -> str:
    """The name of a file, from all that its contents depend on: texts, numbers, and tuples of these.

    Args:
      of_source: whether they depend on the source of the package.

    >>> key("a", (1, 2)) == key("a", (1, 2)), key("a", (1, 2)) == key("a", (1, 3))
    (True, False)
    """
    settings = sorted((name, value) for name, value in jax.config.values.items() if "cache" not in name)
    flags = sorted((name, value) for name, value in os.environ.items() if name.startswith(("XLA", "LIBTPU")))
    devices = [(device.id, device.platform, device.device_kind) for device in jax.devices()]
    real = str(jax.dtypes.canonicalize_dtype(float))  # which a context may have changed
    text = repr(
        (source() if of_source else None, _versions(), _processor(), PLAIN, settings, flags, devices, real, parts)
    )
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def source() -> str:
    """A hash of all files of the package."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def read(kind: str, name: str) -> Any:
    """What was kept under this name; None if nothing was, or if the file cannot be read or was kept under another."""
    place = folder()
    if place is None:
        return None
    with suppress(Exception):  # a file of another version, or a damaged one: as if it were not there
        kept_as, thing = pickle.loads(zlib.decompress((place / f"{kind}-{name}").read_bytes()))
        return thing if kept_as == f"{kind}-{name}" else None
    return None


def write(kind: str, name: str, thing: Any) -> None:
    """Keep a thing under this name, if it can be pickled; never half a file.

    A folder that cannot be written is worth a `SlowPathWarning`.
    """
    place = folder()
    if place is None:
        return
    try:
        data = zlib.compress(pickle.dumps((f"{kind}-{name}", thing)), 1)
    except (pickle.PicklingError, AttributeError, TypeError):  # what Python raises of functions without a name
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        unfinished = place / f"unfinished-{os.getpid()}-{get_ident()}"
        try:
            unfinished.write_bytes(data)
            unfinished.replace(place / f"{kind}-{name}")
        finally:
            unfinished.unlink(missing_ok=True)  # where the disk is full
    except OSError as error:
        slow_path("the next process", f"nothing can be kept in {place}", error)


def loaded(payload: bytes, arguments: Any, results: Any, devices: Sequence[Any]) -> Callable[..., Any] | None:
    """A program from its bytes, for arguments and results of these structures; None if this JAX cannot read it."""
    with suppress(Exception):  # whatever is wrong with the bytes or the interface, the program is compiled again
        from jax.experimental.serialize_executable import deserialize_and_load

        inputs: Any = jax.tree.structure((arguments, {}))
        outputs: Any = jax.tree.structure(results)
        program: Callable[..., Any] = deserialize_and_load(payload, inputs, outputs, execution_devices=devices)
        return program
    return None


def compiled(lowered: Any) -> bytes | None:
    """Compile a program, and return its bytes; None for one from JAX's own cache, which cannot be serialised again."""
    _listen()
    _hits.discard(get_ident())
    program = lowered.compile()
    if get_ident() not in _hits:
        with suppress(Exception):  # a JAX with another interface: the program is compiled, and not kept
            from jax.experimental.serialize_executable import serialize

            payload: bytes = serialize(program)[0]
            return payload
    return None


@cache
def _listen() -> None:
    """Note in which thread JAX reads a program from its cache."""

    def note(event: str, **_: Any) -> None:
        if event == HIT:
            _hits.add(get_ident())

    jax.monitoring.register_event_listener(note)


@cache
def _versions() -> tuple[str, ...]:
    return sys.version, *(version(package) for package in ("jax", "jaxlib", "numpy", "optax"))


@cache
def _processor() -> tuple[str, ...]:
    """The kind of processor, with the instructions that it knows."""
    known = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        known = repr(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    return platform.system(), platform.machine(), platform.processor(), known

"""How programs are compiled: on a CPU in few pieces of machine code, and kept on disk on request."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax

from jaxbandit.fast import kept_programs
from jaxbandit.fast.pieces import in_pieces
from jaxbandit.fast.slow_paths import PLAIN, slow_path
from jaxbandit.fast.target import traced_for

FULL = 0.5  # of the memory maps that a process may have
_WIDTH = "xla_cpu_prefer_vector_width"
_OPTIONS = {
    _WIDTH: 512,  # by default LLVM uses half the width of AVX-512
    # XLA leaves no reductions to the library YNNPACK, which starts threads for them and takes longer. An XLA that does
    # not know the option does not use the library.
    "xla_cpu_experimental_ynn_fusion_type": "",
}


def use_cache() -> None:
    """Keep compiled programs in the folder that the environment variable JAXBANDIT_CACHE names.

    Without that variable, JAX's own settings stand. The package calls this function when it is imported. Programs of
    any size and compilation time are kept, so that the same experiment starts at once the next time, and those of the
    library's own code are not even traced again (`kept_programs`). The folder's files are trusted as code is, so nobody
    else should be able to write there.
    """
    if folder := os.environ.get("JAXBANDIT_CACHE"):
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


class Kept(NamedTuple):
    """How a program is kept in a file.

    Fields:
      name: all that it depends on besides the types and shapes of its arguments.
      results: a tree of the structure of its results.
      devices: that it runs on.
    """

    name: str
    results: Any
    devices: tuple[Any, ...]


class Compiled:
    """`jax.jit` of a program around a body; on a CPU the body is one function, or few, where XLA allows it.

    Args:
      body: of pytrees of arrays; most of the work.
      program: makes a whole program, for example by `jax.shard_map`, of `body_of`: a function of the body's arguments,
        or of their shapes, that returns the body.
      donated: number of the argument whose memory is reused.
      on_cpu: whether it is compiled for CPUs.
    """

    forgotten = 0  # how often all programs were forgotten, so that those lowered before have to be compiled again

    def __init__(self, body: Callable[..., Any], program: Callable[..., Any], donated: int, on_cpu: bool) -> None:
        body = traced_for(on_cpu, body)
        self.options = known_options() if on_cpu and not PLAIN else None
        jit = partial(jax.jit, donate_argnums=donated, compiler_options=self.options)
        self.parts = jit(program(lambda *shapes: body))
        self.whole = self.parts if PLAIN or not on_cpu else jit(program(in_pieces(body)))
        self.rejected: set[Any] = set()
        self.lowered: set[Any] = set()

    def __call__(self, *arguments: Any) -> Any:
        """The result of the whole, or of the parts if XLA cannot compile the whole for these types and shapes."""
        kind = _kind(arguments)
        if (program := _READ.get(self, {}).get(kind)) is not None:
            return program(*arguments)
        if kind not in self.rejected:
            try:
                return self.whole(*arguments)
            except jax.errors.JaxRuntimeError as error:
                refusal = error
            try:
                played = self.parts(*arguments)
            except (RuntimeError, ValueError):  # XLA's own errors, and JAX's where donated memory is gone already
                raise refusal from None  # the parts fail, too, so the first error names the cause
            self.rejected.add(kind)
            slow_path("programs in one piece", "XLA refused one", refusal)
            return played
        return self.parts(*arguments)

    def ahead(self, *arguments: Any, kept: Kept | None = None) -> Callable[[], None]:
        """Trace and lower for arguments like these; the function returned compiles, so that a later call need not.

        XLA compiles without Python's lock, so several such functions may run in threads, side by side.

        Args:
          kept: under which name a program is kept in a file, from which it is then read; None if it is not.
        """
        kind = _kind(arguments)
        if (Compiled.forgotten, kind) in self.lowered or kind in self.rejected:
            return lambda: None
        Compiled.forgotten += make_room()
        name = "" if kept is None or kept_programs.folder() is None else kept_programs.key(kept.name, str(kind))
        if name and self._read(kept_programs.read("name", name), kind, arguments, kept):
            return lambda: None
        lowered = self.whole.lower(*arguments)
        self.lowered.add((Compiled.forgotten, kind))
        text = kept_programs.key(lowered.as_text(), str(self.options), of_source=False) if name else ""
        if name and self._read(text, kind, arguments, kept):  # another version of the package made the same program
            kept_programs.write("name", name, text)
            return lambda: None

        def compile() -> None:
            with suppress(jax.errors.JaxRuntimeError):  # the call meets the same refusal and deals with it
                if not name:
                    lowered.compile()
                elif (payload := kept_programs.compiled(lowered)) is not None:
                    kept_programs.write("program", text, payload)
                    kept_programs.write("name", name, text)

        return compile

    def _read(self, text: str | None, kind: Any, arguments: Any, kept: Kept | None) -> bool:
        """Whether the program of this text is kept in a file, from which calls then take it."""
        payload = kept_programs.read("program", text) if text and kept is not None else None
        if payload is None or kept is None:
            return False
        program = kept_programs.loaded(payload, arguments, kept.results, kept.devices)
        if program is None:
            return False
        _READ.setdefault(self, {})[kind] = program
        self.lowered.add((Compiled.forgotten, kind))
        return True


_READ: WeakKeyDictionary[Compiled, dict[Any, Callable[..., Any]]] = WeakKeyDictionary()  # from files, by `_kind`


def make_room() -> bool:
    """Forget all compiled programs if this process holds more than half of the memory maps that Linux allows it.

    A program for a CPU holds 100 to 600 of them, and LLVM ends the process where there are no more (by default 65,530):
    after a few hundred programs, as in a sweep over many shapes. What is needed again is compiled again.

    Returns:
      whether they were forgotten.
    """
    try:
        most = int(Path("/proc/sys/vm/max_map_count").read_text())
        with Path("/proc/self/maps").open("rb") as maps:
            number = sum(1 for _ in maps)
    except (OSError, ValueError):  # not Linux
        return False
    if number > FULL * most:
        _READ.clear()
        jax.clear_caches()
        gc.collect()
        return True
    return False


def _kind(arguments: Any) -> Any:
    """Types, shapes and structure of arguments."""
    return tuple(jax.typeof(leaf) for leaf in jax.tree.leaves(arguments)), jax.tree.structure(arguments)


@cache
def known_options() -> dict[str, Any]:
    """The compiler options for a CPU, without those that XLA does not know (any more)."""
    cpu = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    shape = jax.ShapeDtypeStruct((), "int32", sharding=cpu)

    def compile(options: dict[str, Any]) -> None:
        jax.jit(lambda x: x, compiler_options=options).lower(shape).compile()

    with suppress(RuntimeError):  # XLA's own errors are of this kind
        compile(_OPTIONS)
        return _OPTIONS
    known = {}
    for name, value in _OPTIONS.items():
        try:
            compile({name: value})
        except RuntimeError as error:
            if name == _WIDTH:
                slow_path("vectors of AVX-512", f"XLA does not know the option {name}", error)
        else:
            known[name] = value
    return known

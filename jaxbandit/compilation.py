"""JAX's persistent compilation cache, for those who ask for it."""

from __future__ import annotations

import os

import jax


def use_cache() -> None:
    """Keep compiled programs in the folder that JAXBANDIT_CACHE names; without it JAX's own settings stand.

    Called when the package is imported. Programs of any size and compilation time are kept, so that the same experiment
    starts at once. JAX trusts the folder's files as it trusts code: give one that nobody else can write.
    """
    if folder := os.environ.get("JAXBANDIT_CACHE"):
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

"""Arrays on the devices of a mesh, and back on the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def last_by_runs(leaf: Any) -> P:
    """The sharding that divides the leaf's last axis among the devices."""
    return P(*[None] * (leaf.ndim - 1), "runs")


def of_usual_type(leaf: Any) -> np.ndarray:
    """The leaf in the default type of JAX, converted by NumPy, because JAX would compile a program for it."""
    return np.asarray(leaf, jax.dtypes.canonicalize_dtype(np.asarray(leaf).dtype))


def put(mesh: Mesh, tree: Any, divided: bool) -> Any:
    """The tree on all devices of the mesh: divided along the runs, or whole on each.

    Keys travel as their uint32 words, which NumPy can hold: JAX would compile a program that divides an array of keys.
    Where the mesh has devices of several processes, each process holds the whole tree and passes its own devices
    their part.
    """
    leaves, structure = jax.tree.flatten(tree)
    kinds = [jax.random.key_impl(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else None for leaf in leaves]
    arrays = [
        leaf if kind is None else np.asarray(jax.random.key_data(leaf))
        for leaf, kind in zip(leaves, kinds, strict=True)
    ]
    shardings = [NamedSharding(mesh, last_by_runs(leaf) if divided else P()) for leaf in leaves]
    if all(sharding.is_fully_addressable for sharding in shardings):
        placed: list[Array] = jax.device_put(arrays, shardings)
    else:
        placed = [
            jax.make_array_from_callback(array.shape, sharding, np.asarray(array).__getitem__)
            for array, sharding in zip(arrays, shardings, strict=True)
        ]
    placed = [
        array if kind is None else jax.random.wrap_key_data(array, impl=kind)
        for array, kind in zip(placed, kinds, strict=True)
    ]
    return jax.tree.unflatten(structure, placed)


def to_host(values: Array) -> np.ndarray:
    """The values on this host, including those on other processes' devices."""
    if values.is_fully_addressable:
        return np.asarray(values)
    return np.asarray(multihost_utils.process_allgather(values, tiled=True))

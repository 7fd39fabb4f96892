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

    Where the mesh has devices of several processes, each process holds the whole tree and passes its own devices
    their part.
    """
    leaves, structure = jax.tree.flatten(tree)
    shardings = [NamedSharding(mesh, last_by_runs(leaf) if divided else P()) for leaf in leaves]
    if all(sharding.is_fully_addressable for sharding in shardings):
        return jax.tree.unflatten(structure, jax.device_put(leaves, shardings))
    return jax.tree.unflatten(structure, list(map(_put_from_host, leaves, shardings)))


def _put_from_host(leaf: Any, sharding: NamedSharding) -> Any:
    """`put` for a mesh with devices of several processes; keys travel as their uint32 words, which NumPy can hold."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        bits = jax.random.key_data(leaf)
        spec = P(*sharding.spec, *[None] * (bits.ndim - leaf.ndim))
        whole = _put_from_host(bits, NamedSharding(sharding.mesh, spec))
        return jax.random.wrap_key_data(whole, impl=jax.random.key_impl(leaf))
    whole = np.asarray(leaf)
    return jax.make_array_from_callback(whole.shape, sharding, lambda part: whole[part])


def to_host(values: Array) -> np.ndarray:
    """The values on this host, including those on other processes' devices."""
    if values.is_fully_addressable:
        return np.asarray(values)
    return np.asarray(multihost_utils.process_allgather(values, tiled=True))

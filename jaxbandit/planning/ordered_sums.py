"""Sums of products in an order that never changes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.base import total

WRITTEN_OUT = 16  # terms up to which a sum is written out


def ordered_sum(formula: str, *factors: Array) -> Array:
    """`jnp.einsum(formula, *factors)` for one or two factors, which adds in an order that never changes."""
    names, kept = formula.split("->")
    axes = kept + "".join(dict.fromkeys(name for name in names if name not in kept + ","))
    aligned = []
    for name, factor in zip(names.split(","), factors, strict=True):
        ordered = jnp.transpose(factor, [name.index(axis) for axis in axes if axis in name])
        sizes = iter(ordered.shape)
        aligned.append(ordered.reshape([next(sizes) if axis in name else 1 for axis in axes]))
    product = aligned[0] * aligned[1] if len(aligned) > 1 else aligned[0]
    for _ in axes[len(kept) :]:
        product = _added(product)
    return product


def _added(values: Array) -> Array:
    """The sum over the last axis in its order; a loop if it is long, which keeps the program short."""
    if values.shape[-1] <= WRITTEN_OUT:
        return total(values)
    first = jnp.zeros(values.shape[:-1], values.dtype)
    return jax.lax.scan(lambda sum_, each: (sum_ + each, None), first, jnp.moveaxis(values, -1, 0))[0]

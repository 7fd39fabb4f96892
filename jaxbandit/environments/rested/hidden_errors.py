"""Standard errors of hidden Markov models, from the curvature of the likelihood at its maximum."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from jaxbandit.environments.rested.baum_welch import Model, Shown, filtered

EDGE = 1e-4  # a probability nearer to 0 or 1 has no standard error, and is held where it is


class ModelErrors(NamedTuple):
    """Standard errors of one arm's estimates, NaN at an edge and where the likelihood has no strict maximum.

    Fields:
      transition: [S, S].
      emission: [S, G].
    """

    transition: Array
    emission: Array


@jax.jit
def errors_of(models: Model, shown: Shown) -> ModelErrors:
    """The standard errors for each arm, of models [K, ..]."""
    return jax.vmap(_errors)(models, shown)


def _errors(model: Model, shown: Shown) -> ModelErrors:
    """The standard errors of one arm.

    A row of free probabilities p is exp(z) over the sum of exp(z), times what the others leave, so that adding a number
    to all z of a row changes nothing. With H the second derivative of the log-likelihood by z, the covariance of z is
    the inverse of -H on what is orthogonal to that.
    """
    free = jax.tree.map(lambda row: (row > EDGE) & (row < 1 - EDGE), model)
    start, unflatten = ravel_pytree(jax.tree.map(lambda row, own: jnp.log(jnp.where(own, row, 1.0)), model, free))

    def at(z: Array) -> Model:
        def rows(exponents: Array, estimated: Array, own: Array) -> Array:
            weights = jnp.where(own, jnp.exp(exponents), 0.0)
            left = jnp.sum(jnp.where(own, estimated, 0.0), axis=-1, keepdims=True)
            sums = jnp.sum(weights, axis=-1, keepdims=True)
            return jnp.where(own, weights * left / jnp.where(sums > 0, sums, 1.0), estimated)

        return jax.tree.map(rows, unflatten(z), model, free)

    slope = jax.grad(lambda z: filtered(at(z), shown)[2])
    units = jnp.eye(len(start))
    curvature = jax.lax.map(lambda unit: jax.jvp(slope, (start,), (unit,))[1], units)
    kept = jax.vmap(lambda unit: ravel_pytree(jax.tree.map(_within_rows, unflatten(unit), free))[0])(units)
    scale = jnp.max(jnp.abs(curvature)) + 1.0
    information = -kept @ curvature @ kept + (units - kept) * scale
    values, axes = jnp.linalg.eigh((information + information.T) / 2)
    strict = values[0] > 1e-12 * scale
    covariance = kept @ (axes / jnp.where(strict, values, 1.0)[None]) @ axes.T @ kept
    by_z = jax.jacfwd(lambda z: ravel_pytree(at(z))[0])(start)
    variances = jnp.sum(by_z @ covariance * by_z, axis=1)
    own, _ = ravel_pytree(free)
    errors = unflatten(jnp.where(own & strict, jnp.sqrt(jnp.maximum(variances, 0)), jnp.nan))
    return ModelErrors(errors.transition, errors.emission)


def _within_rows(direction: Array, own: Array) -> Array:
    """The part of a direction [.., S] that moves free entries only, and those of a row against each other."""
    moved = jnp.where(own, direction, 0.0)
    number = jnp.sum(own, axis=-1, keepdims=True)
    centre = jnp.sum(moved, axis=-1, keepdims=True) / jnp.where(number > 0, number, 1)
    return jnp.where(own, moved - centre, 0.0)

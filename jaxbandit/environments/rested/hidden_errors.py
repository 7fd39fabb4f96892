"""Standard errors of hidden Markov models, from the curvature of the likelihood at its maximum, which is made exact."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from jaxbandit.environments.rested.baum_welch import Model, Shown, filtered
from jaxbandit.environments.rested.first_laws import LEAST, stationary

EDGE = 1e-4  # a probability nearer to 0 or 1 has no standard error, and is held where it is
FLAT, ALONG = 1e-9, 1e-6  # share of the largest curvature that is none; share of a slope that is nothing
TURNS, FARTHEST, GAIN = 40, 2.0, 1e-9  # of Newton's method: the most, the longest step, a gain in nats that ends it


class ModelErrors(NamedTuple):
    """Standard errors of the arms' estimates, NaN at an edge and where the likelihood does not determine them.

    Fields:
      transition: [K, S, S].
      emission: [K, S, G].
      means: [K], of the long-run rewards.
    """

    transition: np.ndarray
    emission: np.ndarray
    means: np.ndarray


class Look(NamedTuple):
    """One arm's likelihood near a model.

    A row of free probabilities p is exp(z) over the sum of exp(z), times what the others leave, so that adding a number
    to all z of a row changes nothing. [n] are all probabilities of the model.
    """

    model: Model
    likelihood: Array  # its logarithm
    slope: Array  # [n], by z
    curvature: Array  # [n, n], by z
    by_z: Array  # [n, n], derivatives of the probabilities
    mean_by_z: Array  # [n], of the long-run reward


def exact(models: Model, shown: Shown, pays: np.ndarray, tied: bool) -> tuple[Model, np.ndarray, ModelErrors]:
    """The models [K, ..], their log-likelihoods [K], and the standard errors; symbols pay `pays` [K, G].

    First laws that are `tied` to the stationary laws take part in everything; the likelihood is then brought to its
    maximum by Newton's method, because expectation maximisation ends far from it where sequences say little of rows.
    """
    least = LEAST if tied else EDGE  # where rows are tied, their ratios count however rarely a state is left
    own = Model(
        (models.transition > least) & ((models.transition < 1 - least) | tied),
        (models.emission > EDGE) & (models.emission < 1 - EDGE),
        (models.first > EDGE) & (models.first < 1 - EDGE) & (not tied),
    )
    states = models.transition.shape[-1]
    sizes = [states] * states + [pays.shape[1]] * states + [states]  # of the rows of all laws
    rows = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.stack([within_rows(rows, each) for each in _flat(own)])
    z = np.stack([np.log(np.where(*each, 1.0)) for each in zip(_flat(own), _flat(models))])

    def look(z: np.ndarray) -> Look:
        return Look(*jax.tree.map(np.asarray, tuple(_looked(jnp.asarray(z), models, own, shown, pays, tied))))

    here = look(z)
    lengths = np.ones(len(z))
    for _ in range(TURNS if tied else 0):
        steps = np.stack([_newton(*each) for each in zip(here.slope, here.curvature, kept)]) * lengths[:, None]
        if (np.sum(steps * here.slope, axis=1) < GAIN).all():
            break
        there = look(z + steps)
        better = np.asarray(there.likelihood >= here.likelihood - GAIN)
        z = np.where(better[:, None], z + steps, z)
        here = there if better.all() else look(z)
        lengths = np.where(better, 1.0, lengths / 4)
    functions = np.concatenate([here.by_z, np.asarray(here.mean_by_z)[:, None]], axis=1)
    errors = np.sqrt([delta(*each) for each in zip(np.asarray(here.curvature), kept, functions)])
    flat = _flat(here.model)
    inner = np.where((flat > EDGE) & (flat < 1 - EDGE), errors[:, :-1], np.nan)
    by_rows, by_shows, _ = np.split(inner, (states * states, states * (states + pays.shape[1])), axis=1)
    shapes = models.transition.shape, models.emission.shape
    named = ModelErrors(by_rows.reshape(shapes[0]), by_shows.reshape(shapes[1]), errors[:, -1])
    return here.model, np.asarray(here.likelihood), named


def delta(curvature: np.ndarray, kept: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The variances [m] of functions with these `slopes` [m, n] by z, from the second derivatives of a likelihood.

    The covariance of z is the inverse of the information on the directions that are `kept` [n, n]. A function that
    changes in a direction in which the likelihood is flat has no variance: NaN.
    """
    values, axes = _axes(curvature, kept)
    along = (slopes @ kept @ axes) ** 2
    flat = values <= FLAT * (np.abs(values).max() + 1)
    determined = along[:, flat].sum(axis=1) <= ALONG * along.sum(axis=1)
    return np.where(determined, (along[:, ~flat] / values[~flat]).sum(axis=1), np.nan)


def _axes(curvature: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues and eigenvectors of the information, with a large one for each direction that is not kept."""
    scale = np.abs(curvature).max() + 1.0
    information = kept @ -curvature @ kept + (np.eye(len(kept)) - kept) * scale
    return np.linalg.eigh((information + information.T) / 2)


def _newton(slope: np.ndarray, curvature: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """A step [n] uphill: Newton's, with the sizes of curvatures that have the wrong sign or are nearly none."""
    values, axes = _axes(curvature, kept)
    sizes = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
    step = axes @ (axes.T @ kept @ slope / sizes)
    return step * min(1.0, FARTHEST / max(np.abs(step).max(), 1e-300))


def within_rows(rows: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The projection [n, n] on directions that move free entries only, and those of a row against each other."""
    same = (rows[:, None] == rows) & own[:, None] & own
    return np.diag(own.astype(float)) - same / np.maximum(same.sum(axis=1, keepdims=True), 1)


def _flat(model: Model) -> np.ndarray:
    """All entries of models [K, ..], [K, n]."""
    return np.concatenate([np.reshape(each, (len(each), -1)) for each in model], axis=1)


@partial(jax.jit, static_argnames="tied")
def _looked(z: Array, models: Model, own: Model, shown: Shown, pays: Array, tied: bool) -> Look:
    """The likelihoods of the arms at z [K, n]."""
    return jax.vmap(partial(_looked_at, tied=tied))(z, models, own, shown, pays)


def _looked_at(z: Array, model: Model, own: Model, shown: Shown, pays: Array, tied: bool) -> Look:
    _, unflatten = ravel_pytree(model)

    def at(z: Array) -> Model:
        def rows(exponents: Array, estimated: Array, own: Array) -> Array:
            weights = jnp.where(own, jnp.exp(exponents), 0.0)
            left = jnp.sum(jnp.where(own, estimated, 0.0), axis=-1, keepdims=True)
            sums = jnp.sum(weights, axis=-1, keepdims=True)
            return jnp.where(own, weights * left / jnp.where(sums > 0, sums, 1.0), estimated)

        made = jax.tree.map(rows, unflatten(z), model, own)
        return made._replace(first=stationary(made.transition)) if tied else made

    def mean(z: Array) -> Array:
        made = at(z)
        return stationary(made.transition) @ (made.emission @ pays)

    slope = jax.value_and_grad(lambda z: filtered(at(z), shown)[2])
    likelihood, here = slope(z)
    curvature = jax.lax.map(lambda unit: jax.jvp(lambda z: slope(z)[1], (z,), (unit,))[1], jnp.eye(len(z)))
    by_z = jax.jacfwd(lambda z: ravel_pytree(at(z))[0])(z)
    return Look(at(z), likelihood, here, curvature, by_z, jax.grad(mean)(z))

"""A coordinate in which the divergence that a weighted mean needs is close to that of two states."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.bernoulli import exponential
from jaxbandit.confidence.tilt import Row, largest, pick
from jaxbandit.indexing import computed_once


class Frame(NamedTuple):
    """The coordinate y >= 0 of a mean v, as if there were two states: those with the target mean, and the rest.

    v(y) is the mean when the first grow to 1 - rest exp(-y) and the rest keep their proportions.
    """

    target: Array  # the first states' mean, from which v stays below
    share: Array  # their probability
    rest: Array  # 1 - share
    weight: Array  # their weight
    rest_weight: Array  # weight of the rest, times `rest`
    span: Array  # target less the mean under p, positive
    end: Array  # y from which v is the target, to rounding

    def place(self, y: Array) -> tuple[Array, Array, Array]:
        """Of v(y): target - v, v less the mean under p, and minus d log(target - v) / dy."""
        lost, kept = (computed_once(share) for share in exponential(y)[:2])
        whole = kept * self.rest_weight + (self.share + self.rest * lost) * self.weight
        steep = self.weight / whole
        return kept * self.span / whole, lost * self.span * steep, steep

    def coordinate(self, gain: Array) -> Array:
        """y from v less the mean under p."""
        lost = gain / (self.weight * (self.span - gain * self.rest) + gain * self.rest_weight)
        return jnp.minimum(-jnp.log(1 - jnp.clip(lost, 0, 1 - float(np.finfo(gain.dtype).eps) / 2)), self.end)


def frame(p: Row, held: Row, values: Row, weights: Row, target: Array, span: Array) -> Frame:
    """The frame whose first states are those with the value `target`; held_j = p_j w_j, in sum 1."""
    info = np.finfo(target.dtype)
    inside = [a == target for a in values]
    outside = [~a for a in inside]
    share, rest = pick(p, inside), pick(p, outside)
    heaviest = largest([jnp.where(here, w, 0) for w, here in zip(weights, inside, strict=True)])
    mean_weight = pick(held, inside) / jnp.where(share > 0, share, 1)
    weight = computed_once(jnp.where(share > 0, mean_weight, heaviest))
    rest_weight = pick(held, outside)
    end = (25.0 if info.bits == 32 else 45.0) + jnp.log(1 + rest_weight / weight)
    return Frame(target, share, rest, weight, rest_weight, jnp.maximum(span, float(info.eps)), end)


def either(chosen: Array, one: Frame, other: Frame) -> Frame:
    """`one` where chosen, `other` elsewhere."""
    return Frame(*(computed_once(jnp.where(chosen, a, b)) for a, b in zip(one, other, strict=True)))

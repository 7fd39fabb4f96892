"""Networks that score arms by what their plays showed; all arms share one network, so it plays any number of arms."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.arguments import integer
from jaxbandit.base import total

Parameters = dict[str, Any]  # of arrays

FIRST_SLOPE = 10.0  # of the log-odds of a play by the mean reward, in a network that has learned nothing
MOST_UNITS = 4096
CLOCK = 3  # numbers that say how far the run is, see `clock`


class Network(Protocol):
    """What `Learned` needs of a network, also of a user's own: a frozen dataclass of sizes, which is compared.

    Its parameters are a dict of arrays.
    """

    def begin(self, key: Array) -> Parameters:
        """Parameters that have learned nothing."""

    def memory(self) -> Array:
        """[W], what is remembered of an arm before its first play."""

    def remembered(self, parameters: Parameters, memory: Array, before: Array, reward: Array) -> Array:
        """[W], what is remembered of an arm after a play from a state that pays `before`, with rewards in [0, 1]."""

    def logits(self, parameters: Parameters, memory: Array, now: Array) -> Array:
        """[K], the log-odds of a play of each arm, from what is remembered [K, W] and the clock [3]."""


@dataclasses.dataclass(frozen=True)
class Exchangeable:
    """A network over counts: a layer for each arm, their mean over arms beside each, another layer, a score.

    Of each arm it counts the plays, the sum of rewards R, and as a chain shows them, the sums of B, of B R and of
    (1 - B) R, where B is what the state before the play pays. For arms with two states that pay 0 and 1 these are all
    that can be known. It keeps what the last play paid, too. The score is linear in the features plus the output of
    the layers, whose units are tanh; at first it is ten times the mean reward, (1 + sum of R) / (2 + plays).

    Args:
      width: units of a layer, 1 to 4096.

    >>> Exchangeable(8).begin(jax.random.key(0))["first"].shape
    (12, 8)
    """

    width: int = 32

    def __post_init__(self) -> None:
        integer("width", self.width, 1, MOST_UNITS)

    def begin(self, key: Array) -> Parameters:
        first, second = jax.random.split(key)
        return {
            "first": _weights(first, FEATURES + CLOCK, self.width),
            "first_bias": jnp.zeros(self.width),
            "second": _weights(second, 2 * self.width, self.width),
            "second_bias": jnp.zeros(self.width),
            "last": jnp.zeros(self.width),
            "direct": jnp.zeros(FEATURES + CLOCK).at[0].set(FIRST_SLOPE),
        }

    def memory(self) -> Array:
        return jnp.zeros(6)

    def remembered(self, parameters: Parameters, memory: Array, before: Array, reward: Array) -> Array:
        steps = jnp.stack([jnp.ones_like(reward), reward, before, before * reward, (1 - before) * reward])
        return jnp.concatenate([memory[:5] + steps, reward[None]])

    def logits(self, parameters: Parameters, memory: Array, now: Array) -> Array:
        features = jnp.concatenate([_features(memory), jnp.broadcast_to(now[None], (len(memory), CLOCK))], 1)
        return scored(parameters, features) + features @ parameters["direct"]


@dataclasses.dataclass(frozen=True)
class Recurrent:
    """A recurrent network: a gated recurrent unit for each arm, which moves with its plays, and two layers.

    What a play showed, what the state before it paid and what it paid, moves the hidden numbers h of its arm to
    z h + (1 - z) tanh(..), z in (0, 1). All arms share the parameters. The scores are those of two layers like those of
    `Exchangeable`, over h in place of counts.

    Args:
      width: hidden numbers of an arm, and units of a layer, 1 to 4096.

    Source: of the unit, Cho et al. 2014 (not opened: the formula is written from memory).

    >>> Recurrent(8).begin(jax.random.key(0))["gates"].shape
    (10, 16)
    """

    width: int = 24

    def __post_init__(self) -> None:
        integer("width", self.width, 1, MOST_UNITS)

    def begin(self, key: Array) -> Parameters:
        gates, move, first, second = jax.random.split(key, 4)
        return {
            "gates": _weights(gates, self.width + 2, 2 * self.width),
            "gates_bias": jnp.repeat(jnp.array([1.0, 0.0]), self.width),
            "move": _weights(move, self.width + 2, self.width),
            "move_bias": jnp.zeros(self.width),
            "first": _weights(first, self.width + CLOCK, self.width),
            "first_bias": jnp.zeros(self.width),
            "second": _weights(second, 2 * self.width, self.width),
            "second_bias": jnp.zeros(self.width),
            "last": jnp.zeros(self.width),
        }

    def memory(self) -> Array:
        return jnp.zeros(self.width)

    def remembered(self, parameters: Parameters, memory: Array, before: Array, reward: Array) -> Array:
        shown = jnp.stack([2 * before - 1, 2 * reward - 1])
        gates = jax.nn.sigmoid(jnp.concatenate([memory, shown]) @ parameters["gates"] + parameters["gates_bias"])
        keep, reset = jnp.split(gates, 2)
        move = jnp.concatenate([reset * memory, shown]) @ parameters["move"] + parameters["move_bias"]
        return keep * memory + (1 - keep) * jnp.tanh(move)

    def logits(self, parameters: Parameters, memory: Array, now: Array) -> Array:
        return scored(parameters, jnp.concatenate([memory, jnp.broadcast_to(now[None], (len(memory), CLOCK))], 1))


FEATURES = 9  # of an arm, see `_features`


def _features(memory: Array) -> Array:
    """What is remembered of arms [K, 6] as numbers [K, 9] of order 1."""
    plays, gained, high, high_again, came = (memory[:, n] for n in range(5))
    low = plays - high
    mean = (gained + 1) / (plays + 2)
    features = [
        *[mean, jnp.minimum(plays, 1), 1 / jnp.sqrt(plays + 2), jnp.sqrt(mean * (1 - mean) / (plays + 2))],
        *[(high_again + 1) / (high + 2), 1 / jnp.sqrt(high + 2), (came + 1) / (low + 2), 1 / jnp.sqrt(low + 2)],
        memory[:, 5],
    ]
    return jnp.stack(features, 1)


def scored(parameters: Parameters, features: Array) -> Array:
    """Scores [K] from features [K, F] by two layers, between which each arm also sees the mean over all arms."""
    arms = len(features)
    first = jnp.tanh(features @ parameters["first"] + parameters["first_bias"][None])
    all_arms = jnp.broadcast_to((total(first.T) / arms)[None], first.shape)
    second = jnp.concatenate([first, all_arms], 1) @ parameters["second"] + parameters["second_bias"][None]
    return jnp.tanh(second) @ parameters["last"]


def clock(t: Any, horizon: Any) -> Array:
    """[3], how far round t is: the share of rounds left, of their logarithm, and the logarithm of the horizon."""
    horizon = jnp.asarray(horizon, float)
    left = jnp.clip(horizon - t + 1, 0, horizon)
    log = jnp.log1p(horizon)
    return jnp.stack([left / horizon, jnp.log1p(left) / log, log / 10])


def _weights(key: Array, inputs: int, outputs: int) -> Array:
    return jax.random.normal(key, (inputs, outputs)) / jnp.sqrt(inputs)

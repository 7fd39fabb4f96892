"""Sampling rules: which arm to play while it is not certain which one is the best."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.arguments import LARGEST_INTEGER
from jaxbandit.base import Task, described, pytree, static
from jaxbandit.policies.identify.evidence import Evidence
from jaxbandit.policies.parts import checks


@described
class Seen(NamedTuple):
    """What a sampling rule reads.

    Fields:
      leader: int32, the arm with the largest estimated mean.
      evidence: that the leader is better than each other arm.
      excess: [K], the evidence beyond what stops; inf for the leader.
      means: [K], estimated.
      plays: [K].
    """

    leader: Array
    evidence: Evidence
    excess: Array
    means: Array
    plays: Array


class Sampling(Protocol):
    """A sampling rule."""

    def validate(self, task: Task) -> None: ...

    def choose(self, key: Array, seen: Seen, t: Array) -> Array:
        """Scores [K] for round t, of which the largest is played."""


@pytree
class RoundRobin:
    """One arm after the other.

    >>> RoundRobin().choose(None, Seen(*[jnp.zeros(3)] * 5), jnp.int32(2)).tolist()  # round 2: the second arm
    [0.0, 1.0, 0.0]
    """

    def validate(self, task: Task) -> None:
        """It plays all arms."""

    def choose(self, key: Array, seen: Seen, t: Array) -> Array:
        return _only((t - 1) % seen.plays.shape[0], seen.plays.shape[0])


@pytree
class TopTwo:
    """The leader, or the challenger: the arm b with the least W(a, b) + log T_b.

    Args:
      leader: how often the leader is played of the two: "information", the default, with probability J_a(m) / W(a, b),
        the part of the evidence that it adds, which leads to the optimal shares of plays; "half".

    Raises:
      ValueError: from `simulate` and `check_policy`: another `leader`.

    Source: Russo 2016 (top two); Jourdan, Degenne, Baudry, Heide and Kaufmann 2022 (log T_b in the challenger); You,
    Qin, Wang and Yang 2023 (the share by information). Not opened.

    >>> evidence = Evidence(jnp.array([jnp.inf, 3.0, 1.0]), jnp.array([0.5, 0.5, 0.5]))
    >>> seen = Seen(jnp.int32(0), evidence, evidence.ratio, jnp.array([0.9, 0.5, 0.6]), jnp.array([9, 9, 9]))
    >>> TopTwo().choose(jax.random.key(0), seen, 27)[1].tolist()  # arm 1 is neither of the two
    0.0
    """

    leader: Literal["information", "half"] = static("information")

    def validate(self, task: Task) -> None:
        checks.choice(self, "leader", ("information", "half"))

    def choose(self, key: Array, seen: Seen, t: Array) -> Array:
        arms = seen.plays.shape[0]
        cost = seen.evidence.ratio + jnp.log(seen.plays.astype(float))  # -inf where there is no play
        challenger = jnp.argmin(jnp.where(jnp.arange(arms) == seen.leader, jnp.inf, cost)).astype(jnp.int32)
        share = 0.5 if self.leader == "half" else seen.evidence.share[challenger]
        return _only(jnp.where(jax.random.uniform(key) < share, seen.leader, challenger), arms)


@pytree
class SuccessiveElimination:
    """The arm with the fewest plays among those that the leader does not beat certainly, the lowest one on ties.

    An arm is left out while the evidence against it alone would stop.

    Source: Even-Dar, Mannor and Mansour 2006 (from memory), with likelihood ratios in place of intervals.

    >>> evidence = Evidence(jnp.array([jnp.inf, 3.0, 9.0]), jnp.array([0.5, 0.5, 0.5]))
    >>> seen = Seen(jnp.int32(0), evidence, evidence.ratio - 5, jnp.array([0.9, 0.5, 0.6]), jnp.array([9, 8, 3]))
    >>> SuccessiveElimination().choose(None, seen, 20).tolist()
    [0.0, 1.0, 0.0]
    """

    def validate(self, task: Task) -> None:
        """It plays all arms."""

    def choose(self, key: Array, seen: Seen, t: Array) -> Array:
        arms = jnp.arange(seen.plays.shape[0])
        left = (seen.excess < 0) | (arms == seen.leader)
        return _only(jnp.argmin(jnp.where(left, seen.plays, LARGEST_INTEGER)), len(arms))


@pytree
class LUCB:
    """The leader, or the arm that it beats least certainly: the one of both with fewer plays, the leader on ties.

    Source: Kalyanakrishnan, Tewari, Auer and Stone 2012 (from memory), with the likelihood ratio of both arms in place
    of two intervals, and one play a round in place of two.

    >>> evidence = Evidence(jnp.array([jnp.inf, 3.0, 9.0]), jnp.array([0.5, 0.5, 0.5]))
    >>> seen = Seen(jnp.int32(0), evidence, evidence.ratio, jnp.array([0.9, 0.5, 0.6]), jnp.array([9, 8, 3]))
    >>> LUCB().choose(None, seen, 20).tolist()
    [0.0, 1.0, 0.0]
    """

    def validate(self, task: Task) -> None:
        """It plays all arms."""

    def choose(self, key: Array, seen: Seen, t: Array) -> Array:
        arms = seen.plays.shape[0]
        others = jnp.where(jnp.arange(arms) == seen.leader, jnp.inf, seen.evidence.ratio)
        challenger = jnp.argmin(others).astype(jnp.int32)
        fewer = seen.plays[challenger] < seen.plays[seen.leader]
        return _only(jnp.where(fewer, challenger, seen.leader), arms)


def _only(arm: Array, arms: int) -> Array:
    """Scores of which that of one arm is the largest."""
    return (jnp.arange(arms) == arm).astype(float)

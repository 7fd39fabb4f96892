"""Several plays a round (multiple-play bandits), for policies that compare arms with the best one.

With M plays a round the M - 1 arms with the largest means lead: they are played regardless of their indices. For the
remaining play the policy chooses among the other arms as with one play a round; their best mean is the M-th largest of
all. So at most one arm is explored in a round, in place of the M-th best arm. With one play a round no arm leads.

Source: Komiyama, Honda and Nakagawa 2015, whose second policy leaves the last play to Thompson sampling.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.base import Feedback

OF_LEADERS = 1000  # score of a leading arm, above minus any index: log T in an index is above -1000 in floats


def no_leaders(reward: Array) -> Array:
    """The leading arms before the first round: [K] False, from rewards [K, S]."""
    return jnp.zeros(reward.shape[0], bool)


def leaders(mean: Array, plays: Array, feedback: Feedback) -> Array:
    """Which M - 1 arms lead after a round with M plays: [K] bool, from the means [K] and plays [K] counted by then.

    On ties the lowest arms lead. An arm that was never played leads only if there are too few others.

    >>> played = Feedback(jnp.array([0, 2]), *[jnp.array([0, 0])] * 2, jnp.array([0.5, 0.7]), t=1)
    >>> leaders(jnp.array([0.5, 0.9, 0.7, 0.7]), jnp.array([3, 0, 1, 1]), played).tolist()
    [False, False, True, False]
    """
    mean = jnp.where(plays > 0, mean, -jnp.inf)
    lower = np.tri(len(mean), k=-1, dtype=bool)  # a sort is slower and does not fuse
    ahead = (mean[None] > mean[:, None]) | ((mean[None] == mean[:, None]) & lower)
    return jnp.sum(ahead, axis=1) < feedback.arms.shape[0] - 1


def least_index(index: Array, plays: Array, leads: Array) -> Array:
    """Scores [K] that choose first arms never played, then leading arms, then the arm with the least index [K].

    An index is negative only with less than one play, in a policy that forgets.

    >>> index, leads = jnp.array([0.0, 2.0, 1.0]), jnp.array([False, True, False])
    >>> least_index(index, jnp.array([1, 9, 9]), leads).tolist()
    [-0.0, 1000.0, -1.0]
    """
    return jnp.where(plays == 0, jnp.inf, jnp.where(leads, OF_LEADERS, -index))

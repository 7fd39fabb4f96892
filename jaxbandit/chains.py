"""Finite Markov chains in float64 NumPy: recurrent classes, the stationary law, exact thresholds for drawing."""

from __future__ import annotations

import numpy as np

from jaxbandit.base import Array

RAREST = 2.0**-31  # what a threshold of 32 bits can still tell from 0 and, for the last state, from the rest being 1


def recurrent_classes(transition: Array) -> list[list[int]]:
    """The recurrent classes of one chain, each a sorted list of states.

    Args:
      transition: [S, S], row-stochastic.

    >>> recurrent_classes(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    [[0], [2]]
    """
    reaches = np.asarray(transition) > 0
    reaches |= np.eye(len(reaches), dtype=bool)
    for _ in range(len(reaches).bit_length()):
        reaches = (reaches.astype(int) @ reaches.astype(int)) > 0
    classes = {tuple(np.flatnonzero(row).tolist()) for s, row in enumerate(reaches) if reaches[row, s].all()}
    return sorted(list(states) for states in classes)


def stationary(transition: Array) -> np.ndarray:
    """Stationary law [S] of one chain with a single recurrent class.

    Grassmann, Taksar and Heyman 1985: elimination without subtractions, so that rare states keep full relative
    accuracy.

    Args:
      transition: [S, S], row-stochastic.

    Raises:
      ValueError: there are several recurrent classes, so the law is not unique.

    >>> stationary(np.array([[0.5, 0.5], [0.4, 0.6]])).round(6).tolist()
    [0.444444, 0.555556]
    """
    transition = np.asarray(transition, float)
    classes = recurrent_classes(transition)
    if len(classes) != 1:
        raise ValueError(f"transition: several recurrent classes {classes}; the long-run mean depends on the start")
    (states,) = classes
    rates = transition[np.ix_(states, states)].copy()
    for last in range(len(states) - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    weights = np.ones(len(states))
    for s in range(1, len(states)):
        weights[s] = weights[:s] @ rates[:s, s]
    law = np.zeros(len(transition))
    law[states] = weights / weights.sum()
    return law


def thresholds(law: Array) -> np.ndarray:
    """Integer thresholds [..., S-1] uint32 that turn 32 random bits into a draw from `law` [..., S].

    A probability is met to 2^-32, and 0 and 1 are exact (see `draws.stack_of_rewards`): 1e-4 is off by at most one part
    in 400,000, 1e-7 by one in 400.

    Raises:
      ValueError: a positive probability is below 2^-31.

    >>> thresholds(np.array([0.25, 0.75])).tolist()
    [1073741824]
    """
    law = np.asarray(law, float)
    if ((law > 0) & (law < RAREST)).any():
        raise ValueError("transition: a positive probability is below 2^-31, too rare to be drawn; make it 0 or larger")
    return np.minimum(np.rint(np.cumsum(law, axis=-1)[..., :-1] * 2.0**32), 2.0**32 - 1).astype(np.uint32)

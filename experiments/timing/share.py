"""What share of the indices a policy computes at the end of a game that computes them only where they can decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jax import Array

import jaxbandit
from jaxbandit import Environment, Policy

RUNS, LAST = 64, 100  # runs, and rounds at the end of the game


class OnDemand(NamedTuple):
    """A policy that computes indices on demand, and the arms that it plays."""

    policy: Policy
    states: int  # of each of five arms
    known: Callable[[Any], Array]  # of the policy's state, [K]: what is another number after an index was computed


PLAYED = {
    "IMED-MC three states": OnDemand(jaxbandit.IMEDMC(), 3, lambda state: state.bounds.mean),
    "TV-KL-UCB eight states": OnDemand(jaxbandit.TVKLUCB(), 8, lambda state: state.known.uppers.radius),
}


def computed_share(
    arms: Environment, policy: Policy, known: Callable[[Any], Array], horizon: int, runs: int = RUNS
) -> float:
    """Of the arms that were not played in a round the share whose index was computed, over the last rounds.

    Args:
      known: of the policy's state, [K]: a number that changes where an index is computed, and is negative where none
        has been since the arm's last play.
    """
    times = range(max(1, horizon - LAST), horizon + 1)
    result = jaxbandit.simulate(
        arms,
        {"": policy},
        runs=runs,
        horizon=horizon,
        times=times,
        record={"known": lambda arms, state, t: known(state)},
        progress=False,
    )
    number = np.asarray(result.recorded["known"][""])[0, 0]  # [run, time, K]
    plays = result.visits[""][0, 0].reshape(*number.shape, -1).sum(-1)
    rested = plays[:, 1:] == plays[:, :-1]
    computed = (number[:, 1:] != number[:, :-1]) & (number[:, 1:] >= 0)
    return float(computed[rested].mean())

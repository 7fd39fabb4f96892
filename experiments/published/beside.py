"""What is set beside the paper: policies that it does not have, and arms on which policies differ most."""

from __future__ import annotations

from collections.abc import Callable

import jaxbandit
from experiments.published.scenarios import INDEPENDENT, environment, independent, starts
from experiments.published.slow_arms import member
from jaxbandit import MarkovArms, Policy

# policies that trust the mean of a sample, as KL-UCB-SM does, and explore less
SAMPLE_MEAN: dict[str, Policy] = {
    "KL-UCB-SM, log t": jaxbandit.KLUCB(exploration=0.0),
    "IMED": jaxbandit.IMED(),
}
# policies that weigh the whole chain by its likelihood
WHOLE_CHAIN: dict[str, Policy] = {
    "IMED-MC": jaxbandit.IMEDMC(),
    "IMED-MC, T^-1/2": jaxbandit.IMEDMC(exponent=0.5),
    "JointKLUCB, log t": jaxbandit.JointKLUCB(exploration=0.0),
}
OF_A_CLASS: dict[str, Policy] = {"IMED-MC, gap 0.03": jaxbandit.IMEDMC(gap=0.03)}
TWO_STATES = ("IMED-MC, T^-1/2", *OF_A_CLASS)  # a class of chains that mix is for arms with two states
HIGH = "i.i.d. high"
SLOWER = "scenario 1, a tenth as fast"
SLOWED: dict[str, float | list[float]] = {
    "tenth": 0.1,
    "best20": [1 / 20, 1, 1, 1, 1],
    "best1000": [1 / 1000, 1, 1, 1, 1],
}


def slowed(name: str) -> Callable[..., MarkovArms]:
    """What makes scenario 1's arms, slowed: all of them to a tenth, or the best one alone to a 20th or a 1000th."""
    return lambda **start: member(SLOWED[name], **start)


def beside_the_scenarios() -> dict[str, dict[str, MarkovArms]]:
    """Environments that the paper does not play, each from all its starts; where rewards are i.i.d. none matters."""
    same = {
        INDEPENDENT: independent(environment("scenario 1")),
        HIGH: jaxbandit.bernoulli([0.9, 0.8, 0.7, 0.6, 0.5]),
    }
    return {name: {"from state 0": arms} for name, arms in same.items()} | {
        name: starts(slowed(name)) for name in SLOWED
    }


def playable(policies: dict[str, Policy], states: int) -> dict[str, Policy]:
    """Those of the policies that play arms with so many states."""
    return {label: policy for label, policy in policies.items() if states == 2 or label not in TWO_STATES}

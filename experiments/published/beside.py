"""What is set beside the paper: policies that it does not have, and arms on which policies differ most."""

from __future__ import annotations

import jaxbandit
from experiments.published.scenarios import INDEPENDENT, starts
from jaxbandit import MarkovArms, Policy, atlas

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
# with three states these take ten times as long as IMED-MC or more
TWO_STATES = ("IMED-MC, T^-1/2", "JointKLUCB, log t", *OF_A_CLASS)
HIGH = "i.i.d. high"
SLOWER = "scenario 1, a tenth as fast"
SLOWED = ("tenth", "best20", "best1000")  # names in the atlas


def beside_the_scenarios() -> dict[str, dict[str, MarkovArms]]:
    """Environments that the paper does not play, each from all its starts; where rewards are i.i.d. none matters."""
    same = {INDEPENDENT: atlas["i.i.d. scenario 1"].arms, HIGH: atlas[HIGH].arms}
    return {name: {"from state 0": arms} for name, arms in same.items()} | {
        name: starts(atlas[name].make) for name in SLOWED
    }


def playable(policies: dict[str, Policy], states: int) -> dict[str, Policy]:
    """Those of the policies that play arms with so many states in the time that an experiment has."""
    return {label: policy for label, policy in policies.items() if states == 2 or label not in TWO_STATES}

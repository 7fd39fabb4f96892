"""The paper's scenarios and policies, and what is set beside them: policies and arms that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jaxbandit
from jaxbandit import MarkovArms, Policy, atlas

SCENARIOS: dict[str, Callable[..., MarkovArms]] = {
    name: atlas[name].make for name in ("scenario 1", "scenario 2", "scenario 3", "scenario 4")
}

# the paper's own policy comes last; for three states it is called m-TV-KL-UCB
OTHERS: dict[str, Policy] = {
    "UCB-SM": jaxbandit.UCBSM(),
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "KL-UCB-SM2": jaxbandit.RoundRobinKLUCB(),
    "KL-UCB-MC": jaxbandit.KLUCBMC(),
}
POLICIES = OTHERS | {"TV-KL-UCB": jaxbandit.TVKLUCB()}
THREE_STATE_POLICIES = OTHERS | {"m-TV-KL-UCB": jaxbandit.TVKLUCB()}
ZERO = "TV-KL-UCB, rows 0"  # estimates of a state not yet left start at 0, not at 1
INDEPENDENT = "i.i.d. arms"  # with the stationary laws of scenario 1's
# arms with the means of scenarios 1 and 3 by the cases of theorem 1: (a) all Markovian, (b) the best i.i.d., (c) the
# others i.i.d., (d) all i.i.d.; names in the atlas
THEOREM = {
    name: {"a": name, "b": f"{name}, best i.i.d.", "c": f"{name}, others i.i.d.", "d": f"i.i.d. {name}"}
    for name in ("scenario 1", "scenario 3")
}
MIXED = {names[case]: case for names in THEOREM.values() for case in "bc"}  # to the case
# in scenario 2 no arm moves within a hundred plays, so all chains but slow ones are admitted there
OURS: dict[str, dict[str, Policy]] = {
    "scenario 1": {"IMED-MC (ours)": jaxbandit.IMEDMC()},
    "scenario 2": {"IMED-MC, T^-1/2 (ours)": jaxbandit.IMEDMC(exponent=0.5)},
    "scenario 3": {"IMED-MC (ours)": jaxbandit.IMEDMC()},
    "scenario 4": {"IMED-MC (ours)": jaxbandit.IMEDMC()},
    INDEPENDENT: {"IMED-MC (ours)": jaxbandit.IMEDMC()},
}


def environment(name: str, **start: Any) -> MarkovArms:
    return SCENARIOS[name](**start)


def starts(make: Callable[..., MarkovArms]) -> dict[str, MarkovArms]:
    """Arms from each of their states and from the stationary law; `make` takes `initial_state`."""
    fixed = {f"from state {state}": make(initial_state=state) for state in range(make().reward.shape[1])}
    return fixed | {"from the stationary law": make(initial_state="stationary")}


def of_the_paper(arms: MarkovArms) -> dict[str, Policy]:
    """The policies that the paper compares on arms with so many states, its own last."""
    return THREE_STATE_POLICIES if arms.reward.shape[1] == 3 else POLICIES


def adaptive(arms: MarkovArms) -> str:
    """What the paper calls its own policy there."""
    return list(of_the_paper(arms))[-1]


def policies(name: str) -> dict[str, Policy]:
    """The policies compared in a scenario, the paper's own last."""
    return of_the_paper(environment(name))


def all_arms() -> dict[str, MarkovArms]:
    """Every scenario, and the i.i.d. and mixed arms that the paper speaks of."""
    beside = {INDEPENDENT: "i.i.d. scenario 1"} | {name: name for name in MIXED}
    return {name: environment(name) for name in SCENARIOS} | {name: atlas[named].arms for name, named in beside.items()}


def compared(name: str) -> dict[str, Policy]:
    """The policies that all claims about one of `all_arms` are about, and our own beside them."""
    chosen = dict(of_the_paper(all_arms()[name]))
    if name in ("scenario 1", "scenario 2"):
        chosen[ZERO] = jaxbandit.TVKLUCB(unvisited=0.0)
    return chosen | OURS.get(name, {})


# policies that trust the mean of a sample, as KL-UCB-SM does, and explore less
SAMPLE_MEAN: dict[str, Policy] = {"KL-UCB-SM, log t": jaxbandit.KLUCB(exploration=0.0), "IMED": jaxbandit.IMED()}
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

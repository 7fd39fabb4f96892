"""The paper's scenarios, as data, and the names it gives its policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit
from jaxbandit import MarkovArms, Policy, chains


def three_state(
    p01: list[float],
    p02: list[float],
    p12: list[float],
    p10: list[float],
    p20: list[float],
    p21: list[float],
    **start: Any,
) -> MarkovArms:
    """Arms with three states that pay 0, 1/2 and 1, from their probabilities of moving between them."""
    moves = np.zeros((len(p01), 3, 3))
    for (s, following), probabilities in zip(
        [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)], [p01, p02, p12, p10, p20, p21], strict=True
    ):
        moves[:, s, following] = probabilities
    stay = np.eye(3) * (1 - moves.sum(-1, keepdims=True))
    return jaxbandit.markov(moves + stay, (0.0, 0.5, 1.0), **start)


SCENARIOS: dict[str, Callable[..., MarkovArms]] = {
    "scenario 1": lambda **start: jaxbandit.two_state(
        p01=[0.5, 0.4, 0.3, 0.2, 0.1], p10=[0.4, 0.55, 0.65, 0.65, 0.7], **start
    ),
    "scenario 2": lambda **start: jaxbandit.two_state(
        p01=[0.5, 0.0004, 0.0003, 0.0002, 0.0001], p10=[0.4, 0.00055, 0.00065, 0.00065, 0.0007], **start
    ),
    "scenario 3": lambda **start: three_state(
        p01=[0.5, 0.4, 0.3, 0.2, 0.1],
        p02=[0.1, 0.2, 0.3, 0.2, 0.7],
        p12=[0.4, 0.55, 0.5, 0.55, 0.7],
        p10=[0.3, 0.2, 0.25, 0.25, 0.15],
        p20=[0.6, 0.5, 0.4, 0.3, 0.2],
        p21=[0.1, 0.2, 0.4, 0.5, 0.6],
        **start,
    ),
    "scenario 4": lambda **start: three_state(
        p01=[0.005, 0.004, 0.003, 0.002, 0.1],
        p02=[0.001, 0.002, 0.003, 0.002, 0.7],
        p12=[0.004, 0.0055, 0.005, 0.0055, 0.7],
        p10=[0.003, 0.002, 0.0025, 0.0025, 0.15],
        p20=[0.006, 0.005, 0.004, 0.003, 0.2],
        p21=[0.001, 0.002, 0.004, 0.005, 0.6],
        **start,
    ),
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


def independent(arms: MarkovArms) -> MarkovArms:
    """Arms with the stationary laws of these, whatever state they are in."""
    laws = np.stack([chains.stationary(rows) for rows in arms.transition])
    return jaxbandit.markov(np.repeat(laws[:, None], laws.shape[1], axis=1), arms.reward)


def policies(name: str) -> dict[str, Policy]:
    """The policies compared in a scenario, the paper's own last."""
    return THREE_STATE_POLICIES if environment(name).reward.shape[1] == 3 else POLICIES


def all_arms() -> dict[str, MarkovArms]:
    """Every scenario, and the i.i.d. arms that the paper speaks of."""
    return {name: environment(name) for name in SCENARIOS} | {INDEPENDENT: independent(environment("scenario 1"))}


def compared(name: str) -> dict[str, Policy]:
    """The policies that all claims about one of `all_arms` are about, and our own beside them."""
    found = dict(policies("scenario 1" if name == INDEPENDENT else name))
    if name in ("scenario 1", "scenario 2"):
        found[ZERO] = jaxbandit.TVKLUCB(unvisited=0.0)
    return found | OURS.get(name, {})

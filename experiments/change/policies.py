"""The policies that are compared on arms that change, with the numbers that their sources choose."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxbandit import (
    CUSUM,
    GLR,
    IMEDMC,
    KLUCB,
    MUCB,
    TVKLUCB,
    UCB1,
    Discounted,
    DiscountedThompson,
    DiscountedUCB,
    Exp3S,
    KnownBreaks,
    Policy,
    SlidingWindowUCB,
    Thompson,
    TsallisINF,
    Window,
    WithDetector,
)


def discount_of(horizon: int, changes: float) -> float:
    """The discount that Garivier and Moulines choose, 1 - sqrt(U / n) / 4.

    >>> discount_of(10_000, 4)
    0.995
    """
    return 1 - math.sqrt(changes / horizon) / 4


def forgetful(horizon: int, changes: float) -> dict[str, Policy]:
    """Policies for independent arms that change about `changes` times in `horizon` rounds, which they are told."""
    known = {"horizon": horizon, "changes": changes}
    window = Window(SlidingWindowUCB(**known).length())
    discount = Discounted(discount_of(horizon, changes))
    return {
        "KL-UCB": KLUCB(exploration=0),
        "Thompson": Thompson(),
        "UCB1": UCB1(),
        "KL-UCB, window": KLUCB(exploration=0, memory=window),
        "KL-UCB, discount": KLUCB(exploration=0, memory=discount),
        "D-UCB": DiscountedUCB(**known),
        "SW-UCB": SlidingWindowUCB(**known),
        "Thompson, discount": DiscountedThompson(discount.discount),
        "KL-UCB, GLR": WithDetector(KLUCB(exploration=0), GLR(**known), local=True),
        "KL-UCB, GLR, few turns": WithDetector(KLUCB(exploration=0), GLR(horizon=horizon), local=True),
        "KL-UCB, CUSUM": WithDetector(KLUCB(exploration=0), CUSUM(**known), local=True),
        "KL-UCB, M-UCB": WithDetector(KLUCB(exploration=0), MUCB(**known), local=False),
        "Exp3.S": Exp3S(horizon=horizon, hardness=changes + 1),
        "Tsallis-INF": TsallisINF(),
    }


def told_the_breaks(breaks: Sequence[int]) -> Policy:
    """KL-UCB that begins anew at the true breaks: a yardstick."""
    return WithDetector(KLUCB(exploration=0), KnownBreaks(breaks), local=False)


def of_chains(horizon: int, changes: float) -> dict[str, Policy]:
    """The policies for Markov arms, each as it is, with a discount, with a window, and with one four times as long.

    The lengths that are right for independent rewards are short for chains, which say less with each play.
    """
    length = SlidingWindowUCB(horizon=horizon, changes=changes).length()
    memories = {
        "": None,
        ", discount": Discounted(discount_of(horizon, changes)),
        ", window": Window(length),
        ", long window": Window(min(4 * length, horizon)),
    }
    kinds = {"TV-KL-UCB": TVKLUCB, "KL-UCB": KLUCB, "IMED-MC": IMEDMC}  # those of a panel follow each other in colour
    return {f"{label}{name}": kind(memory=memory) for name, memory in memories.items() for label, kind in kinds.items()}

"""The policies that are compared on arms that change, with the numbers that their sources choose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jaxbandit
from jaxbandit import Policy


def discount_of(horizon: int, changes: float) -> float:
    """The discount that Garivier and Moulines choose, 1 - sqrt(U / n) / 4.

    >>> discount_of(10_000, 4)
    0.995
    """
    return 1 - math.sqrt(changes / horizon) / 4


def forgetful(horizon: int, changes: float) -> dict[str, Policy]:
    """Policies for independent arms that change about `changes` times in `horizon` rounds, which they are told."""
    known, klucb = {"horizon": horizon, "changes": changes}, jaxbandit.KLUCB(exploration=0)
    window = jaxbandit.Window(jaxbandit.SlidingWindowUCB(**known).length())
    discount = jaxbandit.Discounted(discount_of(horizon, changes))
    return {
        "KL-UCB": klucb,
        "Thompson": jaxbandit.Thompson(),
        "UCB1": jaxbandit.UCB1(),
        "KL-UCB, window": jaxbandit.KLUCB(exploration=0, memory=window),
        "KL-UCB, discount": jaxbandit.KLUCB(exploration=0, memory=discount),
        "D-UCB": jaxbandit.DiscountedUCB(**known),
        "SW-UCB": jaxbandit.SlidingWindowUCB(**known),
        "Thompson, discount": jaxbandit.DiscountedThompson(discount.discount),
        "KL-UCB, GLR": jaxbandit.WithDetector(klucb, jaxbandit.GLR(**known), local=True),
        "KL-UCB, GLR, few turns": jaxbandit.WithDetector(klucb, jaxbandit.GLR(horizon=horizon), local=True),
        "KL-UCB, CUSUM": jaxbandit.WithDetector(klucb, jaxbandit.CUSUM(**known), local=True),
        "KL-UCB, M-UCB": jaxbandit.WithDetector(klucb, jaxbandit.MUCB(**known), local=False),
        "Exp3.S": jaxbandit.Exp3S(horizon=horizon, hardness=changes + 1),
        "Tsallis-INF": jaxbandit.TsallisINF(),
    }


def told_the_breaks(breaks: Sequence[int]) -> Policy:
    """KL-UCB that begins anew at the true breaks: a yardstick."""
    return jaxbandit.WithDetector(jaxbandit.KLUCB(exploration=0), jaxbandit.KnownBreaks(breaks), local=False)


def of_chains(horizon: int, changes: float) -> dict[str, Policy]:
    """The policies for Markov arms, each as it is, with a discount, with a window, and with one four times as long.

    The lengths that are right for independent rewards are short for chains, which say less with each play.
    """
    length = jaxbandit.SlidingWindowUCB(horizon=horizon, changes=changes).length()
    memories = {
        "": None,
        ", discount": jaxbandit.Discounted(discount_of(horizon, changes)),
        ", window": jaxbandit.Window(length),
        ", long window": jaxbandit.Window(min(4 * length, horizon)),
    }
    # those of a panel follow each other in colour
    kinds = {"TV-KL-UCB": jaxbandit.TVKLUCB, "KL-UCB": jaxbandit.KLUCB, "IMED-MC": jaxbandit.IMEDMC}
    return {f"{label}{name}": kind(memory=memory) for name, memory in memories.items() for label, kind in kinds.items()}

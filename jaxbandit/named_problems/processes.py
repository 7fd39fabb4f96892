"""The named decision processes: RiverSwim in the numbers of several papers, and four rooms."""

from __future__ import annotations

from functools import partial

from jaxbandit.environments import grid, riverswim
from jaxbandit.named_problems.look_up import NamedProblem

CODE = "statisticalrl_environments, the public code beside several papers on average reward"
STRONG = partial(riverswim, 5, down=0.3, up_first=0.35, down_last=0.3, reward_left=0.05, reward_right=0.99)
EVEN = partial(riverswim, up=0.4, up_first=0.4, down_last=0.05)  # the ends move as the middle does


def problems() -> list[NamedProblem]:
    """All of them."""
    return [
        NamedProblem(
            "RiverSwim",
            riverswim,
            "Osband, Russo and Van Roy 2013; after Strehl and Littman 2008, whose numbers differ.",
            "The good end is far and the way to it pays nothing: is it explored at all?",
        ),
        NamedProblem(
            "RiverSwim 6",
            EVEN,
            f"{CODE}: river-swim-6.",
            "A weaker stream, with six states: the good end is sooner found.",
        ),
        NamedProblem(
            "RiverSwim 25",
            partial(EVEN, 25, reward_right=0.99),
            f"{CODE}: river-swim-25.",
            "Twenty-five states: the way to the good end takes some 70 rounds.",
        ),
        NamedProblem(
            "fast RiverSwim",
            partial(riverswim, up=0.6, up_first=0.6, down_last=0.05, reward_left=0.1, reward_right=0.99),
            f"This project, after the defaults of {CODE.partition(',')[0]}.",
            "Hardly any stream, and a bad end that pays a tenth: what does exploring cost where it is easy?",
        ),
        NamedProblem(
            "ergodic RiverSwim",
            partial(STRONG, slip=0.01),
            "This project, for policies that are made for ergodic processes.",
            "Every policy comes to every state, though hardly ever: is that enough for those who rely on it?",
        ),
        NamedProblem(
            "four rooms",
            grid,
            "This project, after Sutton, Precup and Singh 1999, whose rooms are larger.",
            "Four actions, twenty states, and two doors on each way to the goal.",
        ),
    ]

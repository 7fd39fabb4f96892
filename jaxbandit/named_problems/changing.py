"""The named problems whose arms change: levels with breaks, drift, a table, Markov chains that take turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jaxbandit.environments import (
    ChangingArms,
    LowerBoundArms,
    MarkovArms,
    RandomWalkArms,
    lower_bound_instance,
    random_walk,
    sinusoid,
)
from jaxbandit.named_problems.look_up import NamedProblem
from jaxbandit.named_problems.named_arms import adversarial_last_arm, in_segments, rotating

THESIS = "Besson 2019, thesis, chapter 7"
CONFIGURATION = "SMPyBandits, configuration_nonstationary.py"
FIVE_SEGMENTS = (1001, 2001, 3001, 4001)
LEVELS: dict[int, list[list[float]]] = {  # of the thesis's problems, a row for each segment
    1: [[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]],
    2: [[0.4, 0.5, 0.9], [0.5, 0.4, 0.7], [0.6, 0.3, 0.5], [0.7, 0.2, 0.3], [0.8, 0.1, 0.1]],
    3: [[0.1, 0.2, 0.9], [0.4, 0.9, 0.1], [0.5, 0.1, 0.2], [0.2, 0.2, 0.3]],
    4: [[0.1, 0.5, 0.9], [0.3, 0.4, 0.1], [0.5, 0.3, 0.2], [0.7, 0.4, 0.3], [0.1, 0.5, 0.2]],
    5: [
        [0.071, 0.041, 0.032, 0.030, 0.020, 0.011],
        [0.055, 0.053, 0.032, 0.030, 0.008, 0.011],
        [0.040, 0.063, 0.032, 0.030, 0.008, 0.011],
        [0.040, 0.042, 0.043, 0.030, 0.008, 0.011],
        [0.030, 0.032, 0.055, 0.030, 0.008, 0.011],
        [0.030, 0.032, 0.020, 0.030, 0.008, 0.021],
        [0.020, 0.022, 0.020, 0.045, 0.008, 0.021],
        [0.020, 0.022, 0.020, 0.057, 0.008, 0.011],
        [0.020, 0.022, 0.034, 0.057, 0.022, 0.011],
    ],
}
PUBLISHED = {  # mean regret of 1,000 runs of 5,000 rounds in problems 1 and 2
    "KL-UCB": (270, 162),
    "KL-UCB, sliding window": (177, 182),
    "KL-UCB, CUSUM": (148, 152),
    "KL-UCB, GLR, local": (74, 113),
    "KL-UCB, M-UCB": (290, 534),
    "KL-UCB, discounted": (1456, 1442),
    "Exp3.S": (352, 310),
    "Thompson": (493, 388),
    "Thompson, discounted": (209, 249),
}


def problems(first: Callable[..., MarkovArms]) -> list[NamedProblem]:
    """All of them; `first` makes the arms of scenario 1."""
    return [
        NamedProblem(
            "Garivier and Moulines",
            partial(in_segments, [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]], (3000, 5000), 10_000),
            "Garivier and Moulines 2011, the first experiment.",
            "The third arm is the best for a fifth of the rounds: is that noticed, and its end, too?",
            horizon=10_000,
        ),
        NamedProblem(
            "Besbes, whole",
            partial(_drifting, until=1.0),
            "Besbes, Gur and Zeevi 2014, section 5, the first instance.",
            "Two arms that drift past each other in all rounds, with a variation of 3.",
            horizon=10_000,
        ),
        NamedProblem(
            "Besbes, first third",
            partial(_drifting, until=1 / 3),
            "Besbes, Gur and Zeevi 2014, section 5, the second instance.",
            "The same variation, spent in the first third of the rounds; then nothing changes any more.",
            horizon=10_000,
        ),
        NamedProblem(
            "Besbes, lower bound",
            _lower_bound,
            "Besbes, Gur and Zeevi 2014, the proof of theorem 1.",
            "In each batch of rounds another arm is better, by as little as can just not be seen.",
            horizon=10_000,
        ),
        *[_of_the_thesis(number) for number in LEVELS],
        NamedProblem(
            "Sutton and Barto, drift",
            partial(random_walk, [0.0] * 10, 0.01),
            "Sutton and Barto 2018, exercise 2.5, for 10,000 rounds (read as others quote it).",
            "Ten arms that begin equal and drift apart by random walks: sample means are soon of long ago.",
        ),
        NamedProblem(
            "Daw",
            _daw,
            "Daw, O'Doherty, Dayan, Seymour and Dolan 2006, supplementary methods, 300 rounds (the description of the "
            "task was read). There payoffs are rounded to 1 to 100; that walks begin in their stationary law is this "
            "project's.",
            "Four arms that drift around a common centre, as people were made to play them.",
        ),
        NamedProblem(
            "Daw, two arms",
            partial(_daw, arms=2),
            "Daw, O'Doherty, Dayan, Seymour and Dolan 2006, as above; with two of its arms by this project.",
            "The drifting task with two arms, the usual one for fits to choices.",
        ),
        NamedProblem(
            "never in turn",
            partial(adversarial_last_arm, 5),
            "This project, for `experiments.adversary`; the idea is folklore.",
            "A table in which one arm pays in all rounds but its turn: indices never find it.",
            horizon=10_000,
        ),
        NamedProblem(
            "changing scenario 1",
            partial(rotating, first, 5),
            "This project, for `experiments.changing`.",
            "The chains of scenario 1 change places four times; an arm not played stands still.",
            horizon=100_000,
        ),
        NamedProblem(
            "changing restless scenario 1",
            partial(rotating, first, 5, True, initial_state="stationary"),
            "This project, for `experiments.changing`.",
            "The chains of scenario 1 change places four times, and move in every round.",
            horizon=100_000,
        ),
    ]


def _of_the_thesis(number: int) -> NamedProblem:
    levels = LEVELS[number]
    rounds, starts, purpose = {
        1: (5000, FIVE_SEGMENTS, "Four changes of one arm each; only the second makes another arm the best."),
        2: (5000, FIVE_SEGMENTS, "Four changes of all arms; only the second makes another arm the best."),
        3: (4000, (1001, 2001, 3001), "Three changes of nearly all arms; at the end the gap is a tenth."),
        4: (2000, (1001, 1251, 1501, 1751), "A long first segment, then four short ones."),
        5: (9000, tuple(range(1001, 9001, 1000)), "Six arms that seldom pay, after clicks on news; nine segments."),
    }[number]
    published = {label: float(figures[number - 1]) for label, figures in PUBLISHED.items()} if number <= 2 else {}
    source = f"{THESIS}, problem {number}" if published else f"{CONFIGURATION}, problem {number}"
    return NamedProblem(
        f"Besson {number}", partial(in_segments, levels, starts, rounds), f"{source}.", purpose, published, rounds
    )


def _drifting(until: float, horizon: int = 10_000) -> ChangingArms:
    return sinusoid(horizon, 3.0, until=until)


def _daw(arms: int = 4) -> RandomWalkArms:
    decay, diffusion = 0.9836, 2.8
    spread = diffusion / (1 - decay**2) ** 0.5
    return random_walk([50.0] * arms, diffusion, 4.0, decay=decay, centre=50.0, spread=spread)


def _lower_bound(horizon: int = 10_000) -> LowerBoundArms:
    return lower_bound_instance(horizon, 3.0)

"""The problems of `jaxbandit.atlas`: names, arms, sources, purposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from jaxbandit.environments import (
    MarkovArms,
    bernoulli,
    exponential,
    exponential_family,
    gaussian,
    markov,
    poisson,
    two_state,
)
from jaxbandit.named_problems import budgets, changing, processes
from jaxbandit.named_problems.look_up import Atlas, NamedProblem
from jaxbandit.named_problems.named_arms import (
    cycles,
    in_episodes,
    independent,
    restless_copy,
    slowed,
    three_state,
    with_errors,
)

PAPER = "Roy, Shakkottai and Srikant, arXiv 2009.06606, section IV"
UPPER, LOWER = "theorem 1's constant of log n, stated as an upper bound", "theorem 3's constant of log n, a lower bound"
SCENARIOS: dict[str, Callable[..., MarkovArms]] = {
    "scenario 1": partial(two_state, p01=[0.5, 0.4, 0.3, 0.2, 0.1], p10=[0.4, 0.55, 0.65, 0.65, 0.7]),
    "scenario 2": partial(
        two_state, p01=[0.5, 0.0004, 0.0003, 0.0002, 0.0001], p10=[0.4, 0.00055, 0.00065, 0.00065, 0.0007]
    ),
    "scenario 3": partial(
        three_state,
        p01=[0.5, 0.4, 0.3, 0.2, 0.1],
        p02=[0.1, 0.2, 0.3, 0.2, 0.7],
        p12=[0.4, 0.55, 0.5, 0.55, 0.7],
        p10=[0.3, 0.2, 0.25, 0.25, 0.15],
        p20=[0.6, 0.5, 0.4, 0.3, 0.2],
        p21=[0.1, 0.2, 0.4, 0.5, 0.6],
    ),
    "scenario 4": partial(
        three_state,
        p01=[0.005, 0.004, 0.003, 0.002, 0.1],
        p02=[0.001, 0.002, 0.003, 0.002, 0.7],
        p12=[0.004, 0.0055, 0.005, 0.0055, 0.7],
        p10=[0.003, 0.002, 0.0025, 0.0025, 0.15],
        p20=[0.006, 0.005, 0.004, 0.003, 0.2],
        p21=[0.001, 0.002, 0.004, 0.005, 0.6],
    ),
}

AUER: dict[int, tuple[list[float], str]] = {
    1: ([0.9, 0.6], "Two independent arms that are easy to tell apart."),
    2: ([0.9, 0.8], "Two independent arms that pay often: their variances are small."),
    3: ([0.55, 0.45], "Two independent arms with the gap of Auer 2 and nearly the largest variance."),
    11: ([0.9, *[0.6] * 9], "Ten independent arms, nine of them alike and easy to tell from the best."),
    12: ([0.9, *[0.8] * 3, *[0.7] * 3, *[0.6] * 3], "Ten independent arms in four classes."),
    13: ([0.9, *[0.8] * 9], "Ten independent arms that pay often, nine of them alike."),
    14: ([0.55, *[0.45] * 9], "Ten independent arms, nine of them alike, with nearly the largest variance."),
}
TO_IDENTIFY = {  # means, T* and purpose
    1: ([0.5, 0.45, 0.43, 0.4], 989.79, "Independent arms: which is best, where the next two are hard to exclude?"),
    2: ([0.3, 0.21, 0.2, 0.19, 0.18], 326.64, "Independent arms: which is best, where the others are nearly alike?"),
}

TENTH = partial(slowed, SCENARIOS["scenario 1"], 0.1)
FALLING = [0.5, 0.4, 0.3, 0.2, 0.1]  # means of five arms, the best first
WIDE = [0.9, 0.7, 0.5, 0.3, 0.1]
THETA = [2.0, 1.0, 0.5, 0.0, -1.0]  # of five arms of a family, the best first
FAMILIES: dict[str, tuple[list[list[float]], tuple[float, ...]]] = {  # the chain that is tilted, and what states pay
    "two-state family": ([[0.9, 0.1], [0.2, 0.8]], (0.0, 1.0)),
    "three-state family": ([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], (0.0, 0.5, 1.0)),
}


def _own(command: str, commit: str = "") -> str:
    return f"This project, for `experiments.{command}`{commit and f' at commit {commit}'}."


def _of_the_paper() -> list[NamedProblem]:
    purposes = {
        "scenario 1": "Five chains that all move often.",
        "scenario 2": "All arms but the best hardly ever move: does a policy stay on one that happens to pay?",
        "scenario 3": "Five chains of three states that all move often.",
        "scenario 4": "Three states; all arms but the best, which stands last, move seldom.",
    }
    published = {"scenario 1": {UPPER: 9.05, LOWER: 9.90}, "scenario 2": {UPPER: 17964.77, LOWER: 1.74}}
    return [
        NamedProblem(name, make, f"{PAPER}, {name}.", purposes[name], published.get(name, {}))
        for name, make in SCENARIOS.items()
    ]


def _slowed() -> list[NamedProblem]:
    first = "scenario 1's"
    return [
        NamedProblem(
            "tenth", TENTH, _own("front"), f"All of {first} arms move a tenth as often: how much does slowness cost?"
        ),
        NamedProblem(
            "best20",
            partial(slowed, SCENARIOS["scenario 1"], [1 / 20, 1, 1, 1, 1]),
            _own("front"),
            f"Of {first} arms the best moves a 20th as often: is it given up too early?",
        ),
        NamedProblem(
            "best1000",
            partial(slowed, SCENARIOS["scenario 1"], [1 / 1000, 1, 1, 1, 1]),
            _own("front"),
            f"Of {first} arms the best moves a 1000th as often: is it waited for at all?",
        ),
    ]


def _independent() -> list[NamedProblem]:
    return [
        NamedProblem(
            "i.i.d. scenario 1",
            partial(independent, SCENARIOS["scenario 1"]),
            _own("optimality"),
            "Independent rewards with the means of scenario 1: what do policies for chains pay here?",
            {"theorem 1 (d)'s constant of log n, which is Lai and Robbins's": 8.32},
        ),
        NamedProblem(
            "i.i.d. scenario 3",
            partial(independent, SCENARIOS["scenario 3"]),
            _own("iid", "af0caf41"),
            "Independent rewards 0, 1/2 and 1 with the laws of scenario 3: their mean does not tell their law.",
        ),
        NamedProblem(
            "i.i.d. high",
            partial(bernoulli, [0.9, 0.8, 0.7, 0.6, 0.5]),
            _own("front"),
            "Independent arms that pay often, where the gap is a tenth.",
        ),
        NamedProblem(
            "easy Bernoulli",
            partial(bernoulli, [0.9, 0.6, 0.5, 0.4, 0.3]),
            _own("policies"),
            "Independent arms that are easy to tell apart: is more explored than need be?",
        ),
        NamedProblem(
            "hard Bernoulli",
            partial(bernoulli, [0.5, 0.48, 0.48, 0.48, 0.48]),
            _own("policies"),
            "Independent arms whose gap, a 50th, takes thousands of plays to see.",
        ),
        NamedProblem(
            "wide Bernoulli",
            partial(bernoulli, WIDE),
            _own("peers", "af0caf41"),
            "Independent arms with means all over [0, 1].",
        ),
        NamedProblem(
            "rare Bernoulli",
            partial(bernoulli, [0.1, 0.05, 0.05, 0.05, 0.02, 0.02, 0.02, 0.01, 0.01, 0.01]),
            "Garivier and Cappe 2011, COLT: ten arms with low rewards.",
            "Ten independent arms that seldom pay: bounds not made for small means are far too wide.",
        ),
        *[
            NamedProblem(
                f"Auer {number}",
                partial(bernoulli, means),
                f"Auer, Cesa-Bianchi and Fischer 2002, section 4, distribution {number}, for 100,000 rounds (not "
                "opened: the numbers are those on which others' copies agree).",
                purpose,
            )
            for number, (means, purpose) in AUER.items()
        ],
        *[
            NamedProblem(
                f"Garivier and Kaufmann {number}",
                partial(bernoulli, means),
                f"Garivier and Kaufmann 2016, section 6, problem {number} (not opened: the means are those of copies).",
                purpose,
                {"T*, rounds for each unit of log(1 / delta) to know the best arm": time},
            )
            for number, (means, time, purpose) in TO_IDENTIFY.items()
        ],
        NamedProblem(
            "sure or even",
            partial(markov, [[[0.5, 0.5], [0.5, 0.5]]] * 2, [[0.0, 1.0], [0.495, 0.495]]),
            "This project's numbers, after simulations of Audibert, Munos and Szepesvari 2009, which were not opened.",
            "An even chance of 1 against a sure .495: what is it worth to see that one arm never varies?",
        ),
        NamedProblem(
            "Gaussian",
            partial(gaussian, FALLING, 0.5),
            _own("policies"),
            "Normal rewards with the largest variance that rewards in [0, 1] can have.",
        ),
        NamedProblem(
            "wide Gaussian",
            partial(gaussian, WIDE, 0.5),
            _own("peers", "af0caf41"),
            "Normal rewards with means far apart.",
        ),
        NamedProblem(
            "Poisson",
            partial(poisson, FALLING),
            _own("policies"),
            "Rewards without a largest one; their variance is their mean.",
        ),
        NamedProblem(
            "exponential",
            partial(exponential, FALLING),
            _own("policies"),
            "Rewards without a largest one; their standard deviation is their mean.",
        ),
    ]


def _mixed() -> list[NamedProblem]:
    """Independent arms beside chains: cases (b) and (c) of the paper's theorem 1."""
    kinds: dict[Literal["best", "others"], str] = {
        "best": "the best one independent",
        "others": "all but the best independent",
    }
    return [
        NamedProblem(
            f"{name}, {which} i.i.d.",
            partial(independent, SCENARIOS[name], which),
            _own("paper"),
            f"Arms with the means of {name}, {words}: is the kind of each recognised?",
        )
        for name in ("scenario 1", "scenario 3")
        for which, words in kinds.items()
    ]


def _families() -> list[NamedProblem]:
    source = f"{_own('families')[:-1]}; the family is that of Moulos and Anantharam 2019, section 2."
    return [
        NamedProblem(
            name,
            partial(exponential_family, THETA, *FAMILIES[name]),
            source,
            f"Chains with {states} states of one exponential family: what is it worth to know the family?",
        )
        for name, states in zip(FAMILIES, ("two", "three"))
    ]


def _beyond_rested(rested: dict[str, Callable[..., MarkovArms]]) -> list[NamedProblem]:
    first = {name: make for name, make in rested.items() if name in ("scenario 1", "tenth")}
    problems = [
        NamedProblem(
            f"restless {name}",
            partial(restless_copy, make),
            _own("restless"),
            f"The arms of '{name}' move in every round, played or not: do policies for rested arms do well?",
        )
        for name, make in rested.items()
    ]
    problems += [
        NamedProblem(
            f"hidden {name} error {error:g}",
            partial(with_errors, make, error),
            _own("hidden"),
            f"The arms of '{name}'; a state shows the other's symbol with probability {error:g}.",
        )
        for name, make in first.items()
        for error in (0.05, 0.1, 0.3)
    ]
    return [
        *problems,
        NamedProblem(
            "hidden cycles",
            cycles,
            _own("hidden"),
            "Symbols of four states in turn, which a test of two plays in a row takes for independent.",
        ),
        NamedProblem(
            "restarting scenario 1",
            partial(in_episodes, SCENARIOS["scenario 1"], 0.99),
            _own("known_chains"),
            "The arms of scenario 1 begin again about every 100 rounds: discounted reward, to be learnt.",
        ),
    ]


atlas = Atlas(
    [
        *_of_the_paper(),
        *_slowed(),
        *_independent(),
        *_mixed(),
        *_families(),
        NamedProblem(
            "example",
            partial(two_state, [0.5, 0.05, 0.9, 0.3], [0.5, 0.1, 0.8, 0.7]),
            "This project: the arms from which the rewards in the file `environments.EXAMPLE` were drawn.",
            "One arm sticks, one, the best, alternates, and two are independent.",
        ),
        *_beyond_rested(SCENARIOS | {"tenth": TENTH}),
        *changing.problems(SCENARIOS["scenario 1"]),
        *processes.problems(),
        *budgets.problems(),
    ]
)

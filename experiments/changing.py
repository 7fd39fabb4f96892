"""Arms that change: who follows, at what price.

Four parts, each with a table (printed and CSV), the first and the third with a picture:

- growth: dynamic regret of arms that drift and of the lower bound's arms over five numbers of rounds and three
  variation budgets; its exponents with their intervals, beside 2/3 of the rounds and 1/3 of the budget.
- thesis: a published table of policies on two problems with four changes, beside the same policies here.
- changes: mean regret over random arms that change 1 to 100 times.
- chains: TV-KL-UCB, KL-UCB and IMED-MC, with a discount and with windows, on the chains of scenario 1 that take turns.

Ctrl-C keeps what is done, and the same command continues.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from experiments.comparisons.curves import curves
from experiments.comparisons.growth import slope
from jaxbandit import KLUCB, TVKLUCB, Policy, Result, SlidingWindowUCB, atlas, metrics, stress
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.environments import lower_bound_instance, sinusoid
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, in_short

# growth
BUDGETS = (1.0, 3.0, 10.0)
SHORTEST = 50  # rounds in which the largest budget can be spent
INSTANCES = {"drifting": sinusoid, "lower bound": lower_bound_instance}
# a published table
PROBLEMS = ("Besson 1", "Besson 2")
RUNS, ROUNDS, CHANGES = 1000, 5000, 4
DEVIATIONS = {("KL-UCB", 1): 76.0, ("KL-UCB", 2): 59.0}  # of a run's regret, where the source gives them
SAME = {  # the published name to ours
    "KL-UCB": "KL-UCB",
    "KL-UCB, sliding window": "KL-UCB, window",
    "KL-UCB, CUSUM": "KL-UCB, CUSUM",
    "KL-UCB, GLR, local": "KL-UCB, GLR, few turns",
    "KL-UCB, M-UCB": "KL-UCB, M-UCB",
    "KL-UCB, discounted": "KL-UCB, discount",
    "Exp3.S": "Exp3.S",
    "Thompson": "Thompson",
    "Thompson, discounted": "Thompson, discount",
}
WHY = {  # why a policy of that name is another one in the package with which the table was made
    "KL-UCB, discounted": "there an arm with less than one discounted play counts as one that was never played",
    "Thompson, discounted": "unknown; plain loops of the policy as its source has it agree with ours",
    "KL-UCB, CUSUM": "there changes are looked for every tenth play, and the first rewards count in the sums",
    "KL-UCB, M-UCB": "there the test fires whenever its window is full",
    "KL-UCB, GLR, local": "there the threshold is another, and so may be the share of forced plays",
    "Exp3.S": "other numbers gamma and alpha",
}
# random arms
MANY_CHANGES = (1, 3, 10, 30, 100)
ARMS, LONGEST = 3, 10_000
# chains
CHAINS = ("changing scenario 1", "changing restless scenario 1")


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"horizon": 160, "problems": 2, "runs_of_problem": 2}
    problems: int = option(64, "random arms for each number of changes")
    runs_of_problem: int = option(16, "runs of each of them")


def cases(settings: Settings) -> dict[str, Any]:
    """What is played of growth, the published table and the chains."""
    if settings.horizon < 2 * SHORTEST:
        raise ValueError(f"--horizon: {settings.horizon} is too short for changes; give at least {2 * SHORTEST}")
    size = settings.size()
    return growth_cases(settings.horizon, size) | published_cases(size) | chain_cases(size)


def discount_of(horizon: int, changes: float) -> float:
    """The discount that Garivier and Moulines choose, 1 - sqrt(U / n) / 4."""
    return 1 - math.sqrt(changes / horizon) / 4


def forgetful(horizon: int, changes: float) -> dict[str, Policy]:
    """Policies for independent arms that change about `changes` times in `horizon` rounds, which they are told."""
    known, klucb = {"horizon": horizon, "changes": changes}, KLUCB(exploration=0)
    window = jaxbandit.Window(SlidingWindowUCB(**known).length())
    discount = jaxbandit.Discounted(discount_of(horizon, changes))
    return {
        "KL-UCB": klucb,
        "Thompson": jaxbandit.Thompson(),
        "UCB1": jaxbandit.UCB1(),
        "KL-UCB, window": KLUCB(exploration=0, memory=window),
        "KL-UCB, discount": KLUCB(exploration=0, memory=discount),
        "D-UCB": jaxbandit.DiscountedUCB(**known),
        "SW-UCB": SlidingWindowUCB(**known),
        "Thompson, discount": jaxbandit.DiscountedThompson(discount.discount),
        "KL-UCB, GLR": jaxbandit.WithDetector(klucb, jaxbandit.GLR(**known), local=True),
        "KL-UCB, GLR, few turns": jaxbandit.WithDetector(klucb, jaxbandit.GLR(horizon=horizon), local=True),
        "KL-UCB, CUSUM": jaxbandit.WithDetector(klucb, jaxbandit.CUSUM(**known), local=True),
        "KL-UCB, M-UCB": jaxbandit.WithDetector(klucb, jaxbandit.MUCB(**known), local=False),
        "Exp3.S": jaxbandit.Exp3S(horizon=horizon, hardness=changes + 1),
        "Tsallis-INF": jaxbandit.TsallisINF(),
    }


def final(result: Result, label: str) -> np.ndarray:
    """Dynamic regret of every run at the end."""
    return metrics.regret(result, label)[0, 0, :, -1]


def horizons(longest: int) -> list[int]:
    """Up to five numbers of rounds that end at the longest, each half a decade from the next, none too short.

    >>> horizons(100_000), horizons(300)
    ([1000, 3162, 10000, 31623, 100000], [95, 300])
    """
    return [n for n in (round(longest / 10 ** (k / 2)) for k in range(4, -1, -1)) if n >= SHORTEST]


def told_the_budget(horizon: int, budget: float) -> dict[str, Policy]:
    """Policies that are told the budget, and some that are not."""
    rexp3 = jaxbandit.Rexp3(horizon=horizon, budget=budget)
    window = min(horizon, int(rexp3.rounds_between_restarts(2)))
    return {
        "Rexp3": rexp3,
        "KL-UCB, window": KLUCB(exploration=0, memory=jaxbandit.Window(window)),
        "Tsallis-INF": jaxbandit.TsallisINF(),
        "KL-UCB": KLUCB(exploration=0),
        "UCB1": jaxbandit.UCB1(),
    }


def growth_name(name: str, horizon: int, budget: float) -> str:
    """The case of an instance, a number of rounds and a budget."""
    return f"{name}, {horizon} rounds, budget {budget:g}"


def growth_cases(longest: int, size: dict[str, Any]) -> dict[str, Any]:
    """A case for each instance, number of rounds and budget."""
    return {
        growth_name(name, horizon, budget): size
        | {"scenarios": instance(horizon, budget), "policies": told_the_budget(horizon, budget)}
        | {"horizon": horizon, "times": [horizon]}
        for (name, instance), horizon, budget in itertools.product(INSTANCES.items(), horizons(longest), BUDGETS)
    }


def exponents(results: dict[str, Result], longest: int) -> list[Row]:
    """The exponents of rounds at each budget, and of the budget at the most rounds, with their 95 % intervals."""
    rows: list[Row] = []
    rounds = horizons(longest)
    for name, label in itertools.product(INSTANCES, told_the_budget(longest, BUDGETS[0])):
        row: Row = {"arms": name, "policy": label}
        for budget in BUDGETS:
            finals = [final(results[growth_name(name, horizon, budget)], label) for horizon in rounds]
            row[f"of rounds, budget {budget:g}"] = slope(np.log(rounds), finals)
        finals = [final(results[growth_name(name, longest, budget)], label) for budget in BUDGETS]
        rows.append(row | {"of the budget": slope(np.log(BUDGETS), finals)})
    return rows


def draw_growth(results: dict[str, Result], longest: int) -> Pictures:
    """Mean dynamic regret against the number of rounds, a panel for each instance and budget, beside a slope of 2/3."""
    rounds, lines = np.array(horizons(longest)), {}
    for name, budget in itertools.product(INSTANCES, BUDGETS):
        of_rounds = [results[growth_name(name, n, budget)] for n in rounds]
        drawn: dict[str, Any] = {
            label: (rounds, [final(result, label) for result in of_rounds]) for label in of_rounds[0].labels
        }
        drawn["slope 2/3"] = rounds, final(of_rounds[0], "Rexp3").mean() * (rounds / rounds[0]) ** (2 / 3)
        lines[f"{name}, variation budget {budget:g}"] = drawn
    scales = {"xscale": "log", "yscale": "log", "xlabel": "rounds of the game"}
    yield "growth", curves(lines, len(BUDGETS), "mean dynamic regret at the end", **scales)


def published_cases(size: dict[str, Any]) -> dict[str, Any]:
    """Both problems of the published table with all policies, and with one that begins anew at the true breaks."""
    planned = {}
    for name in PROBLEMS:
        arms = atlas[name].with_horizon(ROUNDS)
        breaks = jaxbandit.KnownBreaks(arms.breaks.tolist())
        policies = forgetful(ROUNDS, CHANGES) | {
            "Thompson, discount": jaxbandit.DiscountedThompson(0.95),  # as in the source
            "KL-UCB, told the breaks": jaxbandit.WithDetector(KLUCB(exploration=0), breaks, local=False),
        }
        planned[name] = {"scenarios": {name: arms}, "policies": policies, **size, "horizon": ROUNDS, "times": [ROUNDS]}
    return planned


def published_table(results: dict[str, Result]) -> list[Row]:
    """The published numbers beside ours, with what agrees, what does not and why."""
    rows: list[Row] = []
    for label in (*SAME, *[own for own in results[PROBLEMS[0]].labels if own not in SAME.values()]):
        for number, name in enumerate(PROBLEMS, 1):
            finals = final(results[name], SAME.get(label, label))
            s = metrics.summary(finals)
            row: Row = {"problem": name, "policy": label, "published": "-"}
            row |= {"here": f"{s.mean:,.0f} ± {s.high - s.mean:,.1f}", "verdict": "not published", "why": ""}
            if published := atlas[name].published.get(label):
                agrees = alike(finals, published, DEVIATIONS.get((label, number)))
                row |= {"published": f"{published:,.0f}", "verdict": "agrees" if agrees else "differs"}
                row["why"] = "" if agrees else WHY.get(label, "unknown")
            rows.append(row)
    return rows


def alike(finals: np.ndarray, published: float, deviation: float | None) -> bool:
    """Whether the published mean of 1,000 runs is within 3 standard errors of the difference.

    Where the source gives no standard deviation, ours stands for it; half a unit is added for rounding.
    """
    own = np.std(finals, ddof=1)
    error = math.hypot(own / np.sqrt(len(finals)), (deviation or own) / np.sqrt(RUNS))
    return abs(finals.mean() - published) <= 3 * error + 0.5


def play_changes(problems: int, runs: int, key: Any, folder: Path, rounds: int) -> dict[int, stress.Survey]:
    """A survey for each number of changes, of random levels and breaks; the policies are told the number."""
    surveys = {}
    for changes in MANY_CHANGES:
        if changes < rounds // 2:
            space, policies = (
                stress.PiecewiseSpace(arms=ARMS, breaks=changes, horizon=rounds),
                forgetful(rounds, changes),
            )
            surveys[changes] = stress.over(
                space,
                {label: policy for label, policy in policies.items() if label not in ("KL-UCB", "Thompson")},
                panel={label: policies[label] for label in ("KL-UCB", "Thompson")},
                **{"problems": problems, "runs": runs, "horizon": rounds, "key": key},
                folder=folder / f"{changes} changes",
            )
    return surveys


def changes_table(surveys: dict[int, stress.Survey]) -> list[Row]:
    """Mean regret of each policy at each number of changes, with half of its interval, and which may be the least."""
    labels = list(next(iter(surveys.values())).regrets)
    rows: list[Row] = []
    for label in labels:
        row: Row = {"policy": label}
        for changes, survey in surveys.items():
            mean, best = survey.mean(label), min(labels, key=lambda each: survey.mean(each).mean)
            unclear = label != best and survey.difference(label, best).low <= 0
            note = " (least)" if label == best else " (not told apart from the least)" if unclear else ""
            row[f"{changes} change{'s' * (changes > 1)}"] = f"{mean.mean:,.0f} ± {mean.high - mean.mean:,.0f}{note}"
        rows.append(row)
    return rows


def draw_changes(surveys: dict[int, stress.Survey]) -> Pictures:
    """Mean regret against the number of changes."""
    lines = {
        label: (list(surveys), tuple(np.array([survey.mean(label) for survey in surveys.values()]).T))
        for label in next(iter(surveys.values())).regrets
    }
    scales = {"xscale": "log", "yscale": "log", "xlabel": "changes in the game"}
    yield "changes", curves({"": lines}, 1, "mean dynamic regret over random arms", **scales)


def of_chains(horizon: int, changes: float) -> dict[str, Policy]:
    """The policies for Markov arms, each as it is, with a discount, with a window, and with one four times as long.

    The lengths that are right for independent rewards are short for chains, which say less with each play.
    """
    length = SlidingWindowUCB(horizon=horizon, changes=changes).length()
    windows = (jaxbandit.Window(length), jaxbandit.Window(min(4 * length, horizon)))
    memories = (None, jaxbandit.Discounted(discount_of(horizon, changes)), *windows)
    kinds = {"TV-KL-UCB": TVKLUCB, "KL-UCB": KLUCB, "IMED-MC": jaxbandit.IMEDMC}
    names = ("", ", discount", ", window", ", long window")
    return {f"{label}{name}": kind(memory=each) for name, each in zip(names, memories) for label, kind in kinds.items()}


def chain_cases(size: dict[str, Any]) -> dict[str, Any]:
    """Rested and restless chains that take turns."""
    horizon = size["horizon"]
    size = size | {"times": [horizon]}
    return {
        name: {"scenarios": {name: atlas[name].with_horizon(horizon)}, "policies": of_chains(horizon, CHANGES), **size}
        for name in CHAINS
    }


def chains_table(results: dict[str, Result]) -> list[Row]:
    """Final dynamic regret of each policy on both kinds of arms."""
    return [
        {"policy": label} | {name: in_short(final(results[name], label), ",.0f") for name in CHAINS}
        for label in results[CHAINS[0]].labels
    ]


def run(settings: Settings) -> dict[str, Result]:
    """Play all four parts, print what was seen and write the folder."""
    folder, results = begin_and_play("changing", settings, cases(settings))
    horizon, rounds = settings.horizon, min(settings.horizon, LONGEST)
    surveys = play_changes(settings.problems, settings.runs_of_problem, settings.key(), folder / "changes", rounds)
    window, discount = SlidingWindowUCB(horizon=ROUNDS, changes=CHANGES).length(), discount_of(ROUNDS, CHANGES)
    numbers = f"windows of {window} rounds, discounts of {discount:.4f}"
    print(f"{settings.runs:,} runs; {ROUNDS:,} rounds with {CHANGES} changes: {numbers}")
    tables = {
        "growth": ("Exponents of mean dynamic regret", exponents(results, horizon)),
        "thesis": ("A published table, and the same policies here", published_table(results)),
        "changes": (f"Mean dynamic regret after {rounds:,} rounds over random arms", changes_table(surveys)),
        "chains": (f"Final dynamic regret after {horizon:,} rounds", chains_table(results)),
    }
    finish(folder, tables, itertools.chain(draw_growth(results, horizon), draw_changes(surveys)))
    return results


if __name__ == "__main__":
    main(run, Settings, "changing", __doc__)

"""The judgement of policies that stop with an answer: how often it is wrong, after how many rounds, and where most."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from jaxbandit import Policy, Result, bounds, members, metrics, stress
from jaxbandit.base import reward_table
from jaxbandit.command_line.experiment import counts_of
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_spaces import Chapter, digest, middle
from jaxbandit.judging.playing import RUNS, SEARCH, SPACE, contract_verdict
from jaxbandit.judging.progress_line import say
from jaxbandit.metrics import IdentificationSummary
from jaxbandit.reports.page import Report
from jaxbandit.reports.tables import Row, Tables
from jaxbandit.stress import WrongAnswers

QUICK_PROBLEMS = 8
REPORT = Report(
    "What {policies} can answer",
    "How often policies that stop answer wrongly on random problems, after how many rounds, and on the worst problems "
    "that a search finds. A wrong answer is an arm of less than the largest mean; a run without an answer at the "
    "horizon is neither right nor wrong, and counts the rounds that it played. Intervals are exact 95 % ones "
    "(Clopper-Pearson) over all runs. The lower bound is the least mean number of rounds of any rule with this error "
    "rate that is right for all chains, or for independent arms for all independent ones. All numbers of the worst "
    "problems are of runs that the search never saw; they are tested in the order in which it ranked them.",
    {},
)


class Answers(NamedTuple):
    """How the runs of the policies of a chapter ended on random problems."""

    chapter: Chapter
    result: Result
    least: dict[float, np.ndarray]  # by the accepted error, the lower bound of each problem; NaN where it is not known

    def rows(self) -> list[Row]:
        """A row for each policy."""
        rows: list[Row] = []
        for label, policy in self.chapter.policies.items():
            of, delta = metrics.identification(self.result, label), members.accepted_error(policy) or np.nan
            runs, wrong = int(of.runs.sum()), int(of.wrong.sum())
            row: Row = {"policy": label, "delta": delta, "problems": f"{of.runs.size}", "runs": f"{runs}"}
            row |= {"wrong": f"{wrong}", "wrong share": f"{wrong / runs:.2%}", "interval": _interval(wrong, runs)}
            row |= {"most on a problem": f"{of.wrong_share.max():.0%}", "censored": f"{of.censored.sum() / runs:.0%}"}
            row |= {"median of mean rounds": f"{np.median(of.mean):,.0f}"}
            known = np.isfinite(self.least[delta]) & (of.censored[:, 0] == 0)
            times = of.mean[known, 0] / self.least[delta][known]
            row |= {"all runs answer on": f"{known.sum()}", "there times the bound": _median(times)}
            rows.append(row)
        return rows


def judge_answers(
    policies: dict[str, Policy], asked: Settings, parts: list[Chapter], folder: Path
) -> tuple[Tables, str, Report]:
    """Play everything; the tables, what they say in words, and what the page begins with."""
    words = {label: [] for label in policies}  # type: dict[str, list[str]]
    tables: Tables = {}
    for label, policy in policies.items():
        kept, verdict = contract_verdict(label, policy, middle(parts[0].space))
        words[label].append("It keeps the contract." if kept else f"It {verdict}.")
    for number, part in enumerate(parts, 1):
        say(f"random problems: {part.title}")
        answers = _on_random_problems(part, asked, folder)
        tables[f"answers_{number}"] = f"Random problems: {part.title}", answers.rows()
        for label in part.policies:
            words[label].append(_in_words(metrics.identification(answers.result, label), part))
    if asked.quick:
        return tables, _joined(words), _report(policies)
    if importlib.util.find_spec("cmaes") is None:
        say('no search for wrong answers: it needs the package cmaes (pip install -e ".[search]")')
        return tables, _joined(words), _report(policies)
    for number, part in enumerate(parts, 1):
        for label, policy in part.policies.items():
            say(f"search for wrong answers of {label}: {part.title}")
            found = _worst(label, policy, part, asked, folder)
            tables[f"wrong_{number}_{len(tables)}"] = f"Most wrong answers of {label}: {part.title}", _rows(found)
            words[label].append(_worst_in_words(found, part))
    return tables, _joined(words), _report(policies)


def _on_random_problems(part: Chapter, asked: Settings, folder: Path) -> Answers:
    draw = np.random.default_rng([asked.seed, SPACE])
    number = QUICK_PROBLEMS if asked.quick else asked.problems
    problems = [part.space.problem(point) for point in draw.random((number, part.space.dimension))]
    case: dict[str, Any] = {"scenarios": {f"{n}": problem.arms for n, problem in enumerate(problems, 1)}}
    case |= {"policies": part.policies, "runs": RUNS, "horizon": part.horizon, "times": [part.horizon]}
    case |= {"until": "stopped", "key": asked.key(SPACE)}
    name = f"answers, {digest(case)}"
    result = jaxbandit.sweep({name: case}, counts_of(folder))[name]
    slow = reward_table(middle(part.space)).shape[1] > 2  # for which each bound takes seconds
    least = {}
    for delta in {members.accepted_error(policy) or np.nan for policy in part.policies.values()}:
        known = delta <= 0.5 and not slow
        least[delta] = np.array([_least(problem.arms, delta) if known else np.nan for problem in problems])
    return Answers(part, result, least)


def _least(arms: Any, delta: float) -> float:
    try:
        return float(bounds.identification(arms).at_least(delta)) or np.nan
    except ValueError:  # two best arms, by the rounding of the space's numbers
        return np.nan


def _worst(label: str, policy: Policy, part: Chapter, asked: Settings, folder: Path) -> list[WrongAnswers]:
    found = stress.worst(
        policy,
        part.space,
        objective="wrong answers",
        budget=asked.budget,
        number=asked.number,
        runs=asked.runs,
        horizon=part.horizon,
        key=asked.key(SEARCH),
        folder=folder / "wrong" / part.identity({label: policy}),
    )
    if not found or any(problem.stopped for problem in found):
        raise KeyboardInterrupt
    return found


def _rows(found: list[WrongAnswers]) -> list[Row]:
    return [
        {
            **{"problem": f"{number}", "runs": f"{each.runs}", "wrong": f"{each.wrong}"},
            **{"wrong share": f"{each.share.mean:.1%}", "interval": f"{each.share.low:.1%} to {each.share.high:.1%}"},
            **{"censored": f"{each.censored}", "p": f"{each.p_value:.2g}"},
            **{"more than accepted": "certain" if each.certain else "not shown"},
            **{"the search believed": f"{each.believed:.1%}", "code": each.problem.code},
        }
        for number, each in enumerate(found, 1)
    ]


def _in_words(of: IdentificationSummary, part: Chapter) -> str:
    wrong, runs = int(of.wrong.sum()), int(of.runs.sum())
    return (
        f"On {of.runs.size} random problems ({part.title}) {wrong} of {runs:,} runs answer wrongly "
        f"({_interval(wrong, runs)}), and {int(of.censored.sum()):,} do not answer."
    )


def _worst_in_words(found: list[WrongAnswers], part: Chapter) -> str:
    certain = [each for each in found if each.certain]
    if not certain:
        return f"No problem was found ({part.title}) on which it is certainly wrong more often than it accepts."
    most = max(certain, key=lambda each: each.share.mean)
    return (
        f"It is wrong more often than it accepts ({part.title}): on {most.problem.code} in {most.share.mean:.0%} of "
        f"{most.runs:,} runs ({most.share.low:.0%} to {most.share.high:.0%}), where {most.delta:.0%} are accepted."
    )


def _interval(wrong: int, runs: int) -> str:
    from scipy.stats import binomtest  # slow to import, so it waits until it is needed

    low, high = binomtest(wrong, runs).proportion_ci(method="exact")
    return f"{low:.2%} to {high:.2%}"


def _median(values: np.ndarray) -> str:
    return f"{np.median(values):,.2f}" if values.size else ""


def _joined(words: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([label, *sentences]) for label, sentences in words.items())


def _report(policies: dict[str, Policy]) -> Report:
    return REPORT._replace(title=REPORT.title.format(policies=" and ".join(policies)))

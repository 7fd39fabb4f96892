"""Evaluate policies by a log: what each would have earned a round, with intervals, and warnings where it cannot tell.

LOG is a text file (CSV) with a line for each round, in their order: the arm that was chosen, what it paid, and the
probability with which it was chosen. POLICY is the name of an arm, which is then always played; uniform; an expression
of the library's, as 'Exp3(gamma=0.1)'; or a Python file and an expression that is evaluated in it, as 'mine.py:Mine()'.
A policy that learns is evaluated along the log: in each round it has learned the rounds before.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np

from jaxbandit import live
from jaxbandit.command_line.options import argument, arguments, listed, option
from jaxbandit.judging.policy_text import policies_of

UNIFORM = "uniform"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is evaluated, and how the log is read."""

    log: str = argument("file of the log")
    policies: tuple[str, ...] = arguments("what is evaluated", "POLICY")
    _: dataclasses.KW_ONLY
    columns: str = option("", "the file's names of columns, as 'arm=item_id, reward=click, probability=p'")
    arms: str = option(
        "", "names of all arms, with commas between, or their number if they are 0, 1, ..; default: seen"
    )
    rewards: str = option("", "the least and the largest reward, as '0, 1', if they are real numbers")
    learn: int = option(0, "rounds in which policies learn before they are evaluated; 0: they learn all along the log")
    replay: bool = option(False, "also what learners would have earned by themselves, by a log of uniform choices")
    level: float = option(0.05, "the probability with which an interval may leave out the truth")
    seed: int = option(0, "of the resampled logs")


def log_of(settings: Settings) -> live.Log:
    """The log in the file."""
    columns = {role.strip(): name.strip() for role, _, name in (p.partition("=") for p in _words(settings.columns))}
    names: Any = _words(settings.arms)
    if len(names) == 1 and names[0].isdecimal():
        names = range(int(names[0]))
    ends = _words(settings.rewards)
    return live.read_log(settings.log, columns=columns, arms=names or None, rewards=_numbers(ends) if ends else None)


def _words(text: str) -> list[str]:
    """What an option lists; nothing if it is not given."""
    return listed(text) if text else []


def _numbers(words: list[str]) -> Any:
    try:
        return tuple(map(float, words))
    except ValueError:
        raise ValueError(f"--rewards: {', '.join(words)!r} are not two numbers, such as '0, 1'") from None


def run(settings: Settings) -> None:
    """Print the evaluation, and the replay."""
    log = log_of(settings)
    known: dict[str, Any] = {name: name for name in settings.policies if name in log.arms}
    if UNIFORM in settings.policies:
        known[UNIFORM] = np.full(len(log.arms), 1 / len(log.arms))
    learners = policies_of(name for name in settings.policies if name not in known)
    level, seed = settings.level, settings.seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the table has them
        print(live.evaluate(log, known | learners, frozen_after=settings.learn or None, level=level, seed=seed))
    if settings.replay:
        if not learners:
            raise ValueError("--replay: none of the policies learns")
        print("", live.replay(log, learners, level=level, seed=seed), sep="\n")

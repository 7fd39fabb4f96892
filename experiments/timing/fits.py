"""How long fits to choices take: `choices.fit`, and a loop over subjects with SciPy's L-BFGS, as it is usually done."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import optimize

import jaxbandit
from jaxbandit import choices
from jaxbandit.choices.choice_data import Choices
from jaxbandit.timing.stopwatch import seconds_of

SUBJECTS, BY_LOOP, ROUNDS = 1000, 40, 200
STARTS = 4
RANGES = {"learning_rate": (0.0, 1.0), "inverse_temperature": (0.0, 10.0)}


@dataclasses.dataclass(frozen=True)
class Fit:
    """Seconds for each 1,000 subjects."""

    name: str
    seconds: float


def measure(subjects: int = SUBJECTS, by_loop: int = BY_LOOP, rounds: int = ROUNDS) -> list[Fit]:
    """Time both for Rescorla-Wagner learners with two arms, compiling included, and print it."""
    random = np.random.default_rng(0)
    players = [_play(random, random.uniform(0.1, 0.9), random.uniform(1, 8), rounds) for _ in range(subjects)]
    seen = Choices.of(("0", "1"), {str(number): player for number, player in enumerate(players)})

    def at_once() -> None:
        choices.fit(jaxbandit.RescorlaWagner(), seen, RANGES, starts=STARTS)

    def one_by_one() -> None:
        for arms, rewards in players[:by_loop]:
            for start in random.uniform(*zip(*RANGES.values(), strict=True), (STARTS, 2)):
                optimize.minimize(_loss, start, (arms, rewards), "L-BFGS-B", bounds=RANGES.values())

    rows = [
        Fit("choices.fit, with standard errors", seconds_of(at_once) * 1000 / subjects),
        Fit("a loop with SciPy's L-BFGS-B, one core", seconds_of(one_by_one) * 1000 / by_loop),
    ]
    print(f"seconds for 1,000 subjects with {rounds} choices each, two fields, {STARTS} starts")
    for row in rows:
        print(f"{row.name:44s} {row.seconds:8.1f}")
    return rows


def _play(random: np.random.Generator, rate: float, sharpness: float, rounds: int) -> tuple[list[int], list[float]]:
    """The choices and rewards of a player with two Bernoulli arms."""
    values, arms, rewards = [0.5, 0.5], [], []
    for _ in range(rounds):
        arm = int(random.random() < 1 / (1 + np.exp(sharpness * (values[0] - values[1]))))
        reward = float(random.random() < (0.7, 0.3)[arm])
        values[arm] += rate * (reward - values[arm])
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


def _loss(fields: np.ndarray, arms: list[int], rewards: list[float]) -> float:
    """Minus the log-likelihood of a player's choices."""
    rate, sharpness = fields.tolist()
    values, loss = [0.5, 0.5], 0.0
    for arm, reward in zip(arms, rewards, strict=True):
        loss += float(np.logaddexp(0.0, sharpness * (values[1 - arm] - values[arm])))
        values[arm] += rate * (reward - values[arm])
    return loss

"""Which processes are played, by which policies, and what plain loops of some of them lose."""

from __future__ import annotations

import jax

import jaxbandit
from jaxbandit import Policy, atlas
from jaxbandit.environments import DecisionProcess, random_decision_process, riverswim

STEPS = 20  # of an episode
OTHER_ENDS, EPISODES, RANDOM = "ergodic RiverSwim with other ends", "RiverSwim in episodes", "random process"
SMALL = ("RiverSwim", "RiverSwim 6", "fast RiverSwim", "ergodic RiverSwim", OTHER_ENDS, RANDOM, EPISODES)
LARGE = ("RiverSwim 25", "four rooms")
NAMES = SMALL + LARGE
KNOWN, IMED_RL, UNNORMALISED, LEARNED = "known", "IMED-RL", "IMED-RL, not normalised", "PSRL, rewards learned"
# plain loops over the rounds in float64: on RiverSwim mean regret after 100,000 rounds and half of its 95 % interval
LOOP_RUNS, LOOP_ROUNDS = 40, 100_000
LOOPS = {IMED_RL: (151, 27), UNNORMALISED: (58, 28), LEARNED: (195, 36), "UCRL2": (28_317, 415)}
LOOP_SHARES = {IMED_RL: 0.20, UNNORMALISED: 0.11}  # of runs that lose a fifth or more, where hardly ergodic


def process(name: str) -> DecisionProcess:
    """The process of this name; most are the atlas's.

    The two ergodic ones with five states differ at their ends: in one the first and the last state move as the middle
    does, in the other as they do in RiverSwim.
    """
    if name == OTHER_ENDS:
        return riverswim(5, down=0.3, reward_left=0.05, reward_right=0.99, slip=0.01)
    if name == RANDOM:
        return random_decision_process(jax.random.key(0))
    if name == EPISODES:
        return riverswim(steps=STEPS)
    return atlas[name].arms


def policies(name: str, horizon: int) -> dict[str, Policy]:
    """The policies that are played on the process of this name, first the one that knows it."""
    known: dict[str, Policy] = {KNOWN: jaxbandit.KnownProcess.of(process(name))}
    samplers: dict[str, Policy] = {"PSRL": jaxbandit.PSRL(), LEARNED: jaxbandit.PSRL(rewards="learned")}
    learners: dict[str, Policy] = {IMED_RL: jaxbandit.IMEDRL(), UNNORMALISED: jaxbandit.IMEDRL(normalised=False)}
    if name == EPISODES:
        return known | {
            "UCBVI, CH": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="CH"),
            "UCBVI, BF": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="BF"),
            "UCBVI, CH / 100": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="CH", scale=0.01),
            "UCBVI, BF / 1000": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="BF", scale=0.001),
            "PSRL": samplers["PSRL"],
        }
    if name in LARGE:
        return known | {"UCRL2B": jaxbandit.UCRL2B()} | samplers | learners
    optimists: dict[str, Policy] = {"UCRL2": jaxbandit.UCRL2(), "KL-UCRL": jaxbandit.KLUCRL()}
    optimists |= {"UCRL2B": jaxbandit.UCRL2B(), "TUCRL": jaxbandit.TUCRL()}
    return known | optimists | samplers | {"TSDE": jaxbandit.PSRL(rewards="learned", tsde=True)} | learners

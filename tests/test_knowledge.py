"""What a policy was told or made for is compared with what it is asked to play, before anything is compiled."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, UCB1, Gittins, KnownProcess, LPPriority, Myopic, Task, Whittle, environments, simulate
from jaxbandit.environments import restless
from jaxbandit.policies import GLR, MOSS, HiddenMyopic, KnownBreaks, WhittleLastSeen, WithDetector
from jaxbandit.policies.parts.knowledge import made_for

ROWS, WAIT = np.array([[[0.1, 0.9], [0.2, 0.8]]] * 3), np.array([[[0.9, 0.1], [0.3, 0.7]]] * 3)
RESTED = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.6])
SEEN = restless(ROWS, (0, 1), WAIT, observed=True)
UNSEEN = restless(ROWS, (0, 1), WAIT)
ALL_PAY = restless(ROWS, (0, 1), WAIT, observed=True, paid="all")
ALIKE = restless(ROWS, (0, 1))  # arms that move alike, played or not
HIDDEN = environments.hidden(ROWS, [[0.2, 0.7]] * 3)
RIVER = environments.riverswim(4)
of_rows = partial(restless, ROWS, (0, 1), WAIT)
MADE = {  # by policy: it, the arms that it was made for, and others, with what is said of them
    "Gittins": (Gittins.of(RESTED, 0.9), RESTED, OTHER, "which differ in transition"),
    "Whittle-rows": (Whittle.of(SEEN), SEEN, restless(WAIT, (0, 1), ROWS, observed=True), "in transition, passive"),
    "Whittle-pays": (Whittle.of(SEEN), SEEN, restless(ROWS, (0, 2), WAIT, observed=True), "in reward"),
    "Whittle-played": (Whittle.of(SEEN), SEEN, ALL_PAY, "those that are played pay; in .* all pay, played or not"),
    "LPPriority": (LPPriority.of(ALL_PAY, 1), ALL_PAY, of_rows(observed=True, paid="all", cost=0.1), "in cost"),
    "WhittleLastSeen": (WhittleLastSeen.of(UNSEEN, 5), UNSEEN, of_rows(initial_state=0), "in initial"),
    "Myopic": (Myopic.of(ALIKE), ALIKE, UNSEEN, "in passive"),
    "HiddenMyopic": (HiddenMyopic.of(HIDDEN), HIDDEN, environments.hidden(ROWS, [[0.2, 0.8]] * 3), "in emission"),
    "KnownProcess": (KnownProcess.of(RIVER), RIVER, environments.riverswim(4, up=0.3), "in transition"),
    "KnownProcess-steps": (KnownProcess.of(RIVER), RIVER, environments.riverswim(4, steps=5), "in steps"),
}


@pytest.mark.parametrize("case", MADE)
def test_a_policy_made_for_other_arms_is_refused(case):
    policy, arms, other, reason = MADE[case]
    policy.validate(Task(arms))
    with pytest.raises(ValueError, match=rf"policies\['p'\]: {type(policy).__name__} was made for .*{reason}"):
        simulate(other, {"p": policy}, runs=1, horizon=5)
    pickle.loads(pickle.dumps(policy)).validate(Task(arms))
    with pytest.raises(ValueError, match=reason):
        pickle.loads(pickle.dumps(policy)).validate(Task(other))


def test_numbers_given_by_hand_are_played_on_all_arms_that_they_fit():
    by_hand = Whittle(Whittle.of(SEEN).indices), replace(Whittle.of(SEEN), unseen=None)
    for policy in by_hand:
        policy.validate(Task(ALL_PAY))
        simulate(ALL_PAY, {"p": policy}, runs=1, horizon=3, progress=False)
    Myopic(WAIT, ALIKE.initial).validate(Task(UNSEEN))


def test_the_same_arms_made_again_are_the_same():
    """Rows in float32 and episodes of the same arms are no others; a probability of 1e-7 is not one of 2e-7."""
    rounded = restless(ROWS.astype(np.float32), (0, 1), WAIT.astype(np.float32), observed=True)
    Whittle.of(SEEN).validate(Task(rounded))
    Gittins.of(RESTED, 0.9).validate(Task(environments.restarting(RESTED, 0.9)))
    Whittle.of(RESTED, 0.9).validate(Task(environments.restarting(RESTED, 0.9)))
    rare = [restless([[[1 - p, p], [0.5, 0.5]]] * 2, (0, 1), [[[0.5, 0.5]] * 2] * 2) for p in (1e-7, 2e-7)]
    Myopic.of(rare[0]).validate(Task(rare[0]))
    with pytest.raises(ValueError, match="in transition"):
        Myopic.of(rare[0]).validate(Task(rare[1]))
    mine = made_for(KLUCB(), RESTED.known())  # which is no field of the policy
    assert mine == KLUCB() and repr(mine) == repr(KLUCB())


def test_what_environments_tell_of_their_laws():
    """Averages by loops over states: of a play less its cost, of a round without one, and of hidden arms by symbol."""
    cost = [0.1, 0.0, 0.2]
    laws = restless(ROWS, (0, 1), WAIT, paid="all", cost=cost).known()
    for k in range(3):
        for s in range(2):
            assert laws.earned[k, s] == pytest.approx(sum(ROWS[k, s, to] * to for to in range(2)) - cost[k])
            assert laws.kept[k, s] == pytest.approx(sum(WAIT[k, s, to] * to for to in range(2)))
    rested, hidden, river = RESTED.known(), HIDDEN.known(), environments.riverswim(4, steps=5).known()
    assert not rested.uncontrolled and (rested.passive == np.eye(2)).all() and not rested.kept.any()
    assert ALIKE.known().uncontrolled and not UNSEEN.known().uncontrolled
    symbols = [0.2, 0.7]  # how likely each state shows symbol 1, which pays 1
    for k, s in np.ndindex(3, 2):
        assert hidden.earned[k, s] == pytest.approx(sum(ROWS[k, s, to] * symbols[to] for to in range(2)))
    assert (river.earned == river.reward).all() and river.steps == 5 and rested.steps is None


@pytest.mark.parametrize("arms", [RESTED, HIDDEN, RIVER, environments.gaussian([0.0, 1.0]), None])
def test_a_policy_is_not_made_from_arms_that_it_is_not_for(arms):
    for make in (Myopic.of, lambda other: LPPriority.of(other, 1), jaxbandit.WhittleBelief.of):
        with pytest.raises(ValueError, match="^(arms|environment): one of environments.restless is needed, and "):
            make(arms)


CHANGING = environments.piecewise([11], [[0.5, 0.3], [0.2, 0.9]])
TOLD = [KLUCB(horizon=50.0), MOSS(horizon=50), jaxbandit.Exp3(horizon=50), jaxbandit.UCBVI(steps=4, horizon=50)]
TOLD += [GLR(horizon=50), jaxbandit.CUSUM(horizon=50, changes=2), jaxbandit.MUCB(horizon=50, changes=2)]
TOLD += [jaxbandit.Exp3S(horizon=50, hardness=2), jaxbandit.Rexp3(horizon=50, budget=2)]
TOLD += [jaxbandit.Exp3P(horizon=50, delta=0.1), jaxbandit.Exp3IX(horizon=50), jaxbandit.Exp4(np.eye(2), horizon=50)]
TOLD += [jaxbandit.DiscountedUCB(horizon=50, changes=2), jaxbandit.SlidingWindowUCB(horizon=50, changes=2)]


@pytest.mark.parametrize("policy", TOLD, ids=lambda policy: type(policy).__name__)
def test_a_horizon_that_ends_before_the_game_is_refused(policy):
    name = type(policy).__name__
    arms = environments.riverswim(3, steps=4) if name == "UCBVI" else CHANGING
    policy = policy if hasattr(policy, "scores") else WithDetector(KLUCB(), policy)
    policy.validate(Task(arms, horizon=50))
    policy.validate(Task(arms))  # says nothing of how many rounds will be played
    with pytest.raises(ValueError, match=f"{name} is made for 50 rounds, and 100 will be played; give horizon=100"):
        simulate(arms, {"p": policy}, runs=1, horizon=100)


def test_breaks_that_the_environment_does_not_have_are_refused():
    arms = environments.piecewise([11, 31], [[0.5, 0.3], [0.2, 0.9], [0.5, 0.3]])
    for breaks, horizon in (([11, 31], 50), ([31, 11], 50), ([11], 30), ([11, 40], 30), ([], 10)):
        WithDetector(UCB1(), KnownBreaks(np.array(breaks, int))).validate(Task(arms, horizon=horizon))
    with pytest.raises(ValueError, match=r"detector: breaks: round 31 is a break of .*; give KnownBreaks\(environment"):
        simulate(arms, {"p": WithDetector(UCB1(), KnownBreaks([11]))}, runs=1, horizon=50)
    with pytest.raises(ValueError, match="breaks: round 12 is no break of"):
        simulate(arms, {"p": WithDetector(UCB1(), KnownBreaks([11, 12, 31]))}, runs=1, horizon=50)
    WithDetector(UCB1(), KnownBreaks([12])).validate(Task(RESTED, horizon=50))  # arms that declare none

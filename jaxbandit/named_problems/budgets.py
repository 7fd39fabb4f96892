"""The named problems with a budget: M of K restless arms are played a round. In all but "channels" every arm pays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np

from jaxbandit.environments import AllPayingArms, InitialState, RestlessArms, restless
from jaxbandit.named_problems.look_up import NamedProblem

Rows = Sequence[Sequence[float]]
Type = tuple[Rows, Rows]  # how an arm moves that is played, and how one that is not

CIRCLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 2  # stays, or goes down, the first round
START, END = [0.1, 0.9, 0.0], [0.0, 0.4, 0.6]  # of the maternal health programme, where no call changes them
MOTHERS: list[Type] = [
    ([START, [0.8, 0.2, 0.0], END], [START, [0.0, 0.2, 0.8], END]),
    ([START, [0.4, 0.6, 0.0], END], [[0.9, 0.1, 0.0], [0.0, 0.6, 0.4], END]),
    ([START, [0.1, 0.9, 0.0], END], [START, [0.0, 0.9, 0.1], END]),
]
EFFECT = 1.1  # of a play on a sleeper's chance of the good state, which stays at most 1
SLEEPERS = [(0.98, 0.95), (0.234, 0.666), (0.269, 0.828)]  # that chance from both states: adherent, not, and in general
COLLAPSING: Type = ([[0.96, 0.04], [0.01, 0.99]], [[0.97, 0.03], [0.03, 0.97]])
CHANNEL = [[0.9, 0.1], [0.25, 0.75]]
SWINGING: Type = (
    [[0.0, 0.7, 0.3], [1.0, 0.0, 0.0], [0.0, 0.9, 0.1]],
    [[0.0, 0.7, 0.3], [0.0, 0.4, 0.6], [0.4, 0.0, 0.6]],
)
TREADMILL: Type = (
    [[0.0, 0.8, 0.2], [0.2, 0.8, 0.0], [0.9, 0.0, 0.1]],
    [[0.1, 0.0, 0.9], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]],
)
# of Gast, Gaujal and Yan: how an arm moves that is played, how one that is not, and what a play in each state earns
NO_ATTRACTOR: list[tuple[Rows, Rows, Sequence[float]]] = [
    (
        [
            [0.24639364, 0.23402385, 0.51958251],
            [0.49681581, 0.49509821, 0.00808597],
            [0.37826553, 0.15469252, 0.46704195],
        ],
        [
            [0.5214073, 0.40392496, 0.07466774],
            [0.0158415, 0.21455666, 0.76960184],
            [0.53722329, 0.37651148, 0.08626522],
        ],
        (0.72232506, 0.18844869, 0.25752477),
    ),
    (
        [
            [0.14874601, 0.30435809, 0.54689589],
            [0.56845754, 0.41117331, 0.02036915],
            [0.25265570, 0.27310439, 0.4742399],
        ],
        [
            [0.02232142, 0.10229283, 0.87538575],
            [0.03426605, 0.17175704, 0.79397691],
            [0.52324756, 0.45523298, 0.02151947],
        ],
        (0.37401552, 0.11740814, 0.07866135),
    ),
    (
        [
            [0.00279465, 0.37327924, 0.62392611],
            [0.51582335, 0.46333908, 0.02083756],
            [0.41875202, 0.17776712, 0.40348086],
        ],
        [
            [0.47819592, 0.02090623, 0.50089785],
            [0.08063373, 0.15456935, 0.76479692],
            [0.66552514, 0.08481946, 0.2496554],
        ],
        (0.97658608, 0.53014109, 0.40394919),
    ),
]
BELT = 8  # places of a conveyor
RECOVERY = [(10.0, 0.2), (8.5, 0.4), (7.0, 0.6), (5.5, 0.8)]  # what an arm pays in the end, and how soon
REST = 20  # rounds after which an arm counts as recovered
ROUNDS, WORK, NEW_JOB, POWER, PENALTY = 12, 9, 0.7, 0.5, 0.2  # the longest deadline and job, and the source's numbers


def in_turn(
    types: Sequence[Type],
    reward: Sequence[float],
    arms: int = 10,
    *,
    observed: bool = True,
    cost: float = 0.0,
    initial_state: InitialState = "stationary",
) -> AllPayingArms:
    """Arms that all pay, as many as are asked for: arm k is of type k mod T of the T types."""
    active, passive = ([types[k % len(types)][side] for k in range(arms)] for side in (0, 1))
    return restless(active, reward, passive, initial_state, observed=observed, paid="all", cost=cost)


def sleepers(arms: int = 10, *, observed: bool = True, initial_state: InitialState = "stationary") -> AllPayingArms:
    """Patients who use their device at night or do not, of three types; a call raises the chance by a tenth."""

    def rows(chances: Sequence[float], effect: float) -> Rows:
        return [[1 - min(1.0, effect * chance), min(1.0, effect * chance)] for chance in chances]

    types = [(rows(chances, EFFECT), rows(chances, 1.0)) for chances in SLEEPERS]
    return in_turn(types, (0.0, 1.0), arms, observed=observed, initial_state=initial_state)


def machines(
    states: int, arms: int = 10, *, observed: bool = True, initial_state: InitialState = "stationary"
) -> AllPayingArms:
    """Machines that pay from 0 (down) to 1 (as new) and wear out; a repair costs 0.15, and may fail.

    In a round without repair a machine falls to the next worse state with probability 0.25 and breaks down, to state 0,
    with probability 0.05. A repair makes it as new with probability 0.85, and else leaves it as it is.
    """
    worn, repaired = np.zeros((2, states, states))
    for s in range(states):
        worn[s, max(s - 1, 0)] += 0.25
        worn[s, 0] += 0.05
        worn[s, s] += 0.7
        repaired[s, states - 1] += 0.85
        repaired[s, s] += 0.15
    pays = np.linspace(0, 1, states).tolist()
    one = (repaired.tolist(), worn.tolist())
    return in_turn([one], pays, arms, observed=observed, cost=0.15, initial_state=initial_state)


def channels(arms: int = 10, *, observed: bool = False, initial_state: InitialState = "stationary") -> RestlessArms:
    """Like channels that are good or bad, whether they are used or not; those that are used pay where they are good."""
    return restless([CHANNEL] * arms, (0.0, 1.0), initial_state=initial_state, observed=observed)


def paid_when_left(
    active: Rows,
    passive: Rows,
    earned: Sequence[float],
    kept: Sequence[float],
    arms: int = 10,
    *,
    observed: bool = True,
    initial_state: InitialState = "stationary",
) -> AllPayingArms:
    """Like arms that are paid for the state they leave, `earned` if they are played there and `kept` if not.

    Here a new state pays. The rewards are those with the same averages, sum over s' of P(s, s') reward(s').
    """
    played, waiting = (
        np.linalg.lstsq(np.array(rows), np.array(pays), rcond=None)[0]
        for rows, pays in ((active, earned), (passive, kept))
    )
    rows = [active] * arms, played, [passive] * arms, initial_state
    return restless(*rows, observed=observed, paid="all", passive_reward=waiting)


def conveyor(arms: int = 10, *, observed: bool = True, initial_state: InitialState = "stationary") -> AllPayingArms:
    """Arms on a circle of eight places, which in the first half move on if they are played, and then if they are not.

    The right action moves an arm on with probability 0.1; the wrong one moves it back, from place s with probability
    0.5 - 0.01 s, but from place 1 always and from place 0 never. Only an arm that goes from the last place to the first
    one pays, 1 for that.
    """
    rows = np.zeros((2, BELT, BELT))  # by the action
    for s in range(BELT):
        right, back = int(s < BELT // 2), [0.0, 1.0, *(0.5 - 0.01 * np.arange(2, BELT))][s]
        rows[right, s, (s + 1) % BELT] += 0.1
        rows[right, s, s] += 0.9
        rows[1 - right, s, s - 1] += back
        rows[1 - right, s, s] += 1 - back
    pays = [0.0] * (BELT - 1) + [0.1]
    passive, active = rows.tolist()
    return paid_when_left(active, passive, [0.0] * BELT, pays, arms, observed=observed, initial_state=initial_state)


def recovering(arms: int = 4, *, initial_state: InitialState = "stationary") -> AllPayingArms:
    """Arms that pay a (1 - exp(-b z)) for a play z rounds after the last one, of four kinds in turn, and else nothing.

    State z - 1 is that of an arm whose last play was z rounds ago, or 20 rounds and more.
    """
    since, states = np.arange(1, REST + 1), np.eye(REST)
    played, waiting = states[[0] * REST], states[np.minimum(since, REST - 1)]
    pays = [most * (1 - np.exp(-rate * since)) for most, rate in (RECOVERY[k % len(RECOVERY)] for k in range(arms))]
    rows = [played] * arms, pays, [waiting] * arms, initial_state
    return restless(*rows, observed=True, paid="present", passive_reward=np.zeros(REST))


def deadlines(arms: int = 4, *, initial_state: InitialState = "stationary") -> AllPayingArms:
    """Places of a charging station, M of which have power: a car leaves after T rounds, and lacks B units of energy.

    A play gives a unit to a car that lacks one, for 1 - 0.5; a car that leaves and lacks B costs 0.2 B^2. Then, or if a
    place is empty, a new car comes with probability 0.7, with T from 1 to 12 and B from 1 to 9, all equally likely.
    State 0 is that of an empty place, and 10 (T - 1) + B + 1 that of a place with such a car.
    """
    jobs = np.pad(np.full((ROUNDS, WORK), NEW_JOB / (ROUNDS * WORK)), ((0, 0), (1, 0)))
    arrival = np.append(1 - NEW_JOB, jobs)
    following, pays = np.zeros((2, len(arrival), len(arrival))), np.zeros((2, len(arrival)))  # by the action
    following[:, 0] = arrival
    for action, (rounds, lacking) in product((0, 1), product(range(1, ROUNDS + 1), range(WORK + 1))):
        state = (WORK + 1) * (rounds - 1) + lacking + 1
        units = min(action, lacking)
        pays[action, state] = (1 - POWER) * units - (PENALTY * (lacking - units) ** 2 if rounds == 1 else 0)
        following[action, state] = arrival if rounds == 1 else np.eye(len(arrival))[state - (WORK + 1) - units]
    rows = [following[1]] * arms, pays[1], [following[0]] * arms, initial_state
    return restless(*rows, observed=True, paid="present", passive_reward=pays[0])


def problems() -> list[NamedProblem]:
    """All of them; `make` takes the number of `arms`."""
    indices = dict(zip((f"Whittle's index of state {s}" for s in range(4)), (-0.5, 0.5, 1.0, -1.0)))
    return [
        NamedProblem(
            "circular",
            partial(in_turn, [(CIRCLE.T.tolist(), CIRCLE.tolist())], (-1.0, 0.0, 0.0, 1.0)),
            "Avrachenkov and Borkar 2022, circular dynamics.",
            "A play moves an arm on round a circle: the best place to play pays nothing at once.",
            indices,
            plays=2,
        ),
        NamedProblem(
            "maternal health",
            partial(in_turn, MOTHERS, (1.0, 0.5, 0.0)),
            "Killian, Xu, Biswas and Tambe 2022, after the programme ARMMAN; that types take turns is this project's.",
            "Mothers who stop listening unless they are called; of three types, one hardly heeds a call.",
            plays=2,
        ),
        NamedProblem(
            "CPAP",
            sleepers,
            "Herlihy, Prins, Srinivasan and Dickerson 2023; that types take turns is this project's.",
            "Patients on whom a call has a small effect, least on those who need it least.",
            plays=3,
        ),
        NamedProblem(
            "collapsing",
            partial(in_turn, [COLLAPSING], (0.0, 1.0), observed=False),
            "Mate, Killian, Xu, Perrault and Tambe 2020, collapsing bandits.",
            "A patient's state is seen when he is called, and doubtful until the next call.",
            plays=1,
        ),
        *[
            NamedProblem(
                f"machines {states}",
                partial(machines, states),
                "This project, after the maintenance problems of Glazebrook, Ruiz-Hernandez and Kirkbride 2006.",
                f"Machines with {states} states that wear out one step at a time or break down: whom to repair?",
                plays=1,
            )
            for states in (5, 10)
        ],
        NamedProblem(
            "channels",
            channels,
            "This project's numbers, for the model of Zhao, Krishnamachari and Liu 2008 (Gilbert and Elliott's).",
            "Like channels, seen only when used, of which those used pay: myopic play is optimal.",
            plays=2,
        ),
        NamedProblem(
            "swinging",
            partial(in_turn, [SWINGING], (0.8, 0.4, 0.0)),
            "This project, for `experiments.budget`, found by a search.",
            "With ever more arms Whittle's rule makes them swing together, and never reaches the bound.",
            plays=5,
        ),
        NamedProblem(
            "treadmill",
            partial(in_turn, [TREADMILL], (0.6, 0.4, 0.0)),
            "This project, for `experiments.budget`, found by a search.",
            "Once too many arms pay nothing, the relaxation's priorities spend all plays on fetching them back.",
            plays=3,
        ),
        *[
            NamedProblem(
                f"no attractor {number}",
                partial(paid_when_left, *laws, (0.0, 0.0, 0.0)),
                f"Gast, Gaujal and Yan 2023, example {number} (read in programs of Hong, Xie, Chen and Wang 2024).",
                "Whittle's rule has a fixed point at the bound, which attracts nothing: shares swing about it.",
                plays=4,
            )
            for number, laws in enumerate(NO_ATTRACTOR, start=1)
        ],
        NamedProblem(
            "conveyor",
            conveyor,
            "Hong, Xie, Chen and Wang 2023 (read in their later programs).",
            "Eight places to a reward, some ten rounds each: who looks less far ahead never gets there.",
            plays=5,
        ),
        NamedProblem(
            "recovering",
            recovering,
            "Nakhleh and others 2021 (read in their programs), after Pike-Burke and Grunewalder 2019.",
            "An arm pays more the longer it has rested: a play pays for the state that it ends.",
        ),
        NamedProblem(
            "deadlines",
            deadlines,
            "Nakhleh and others 2021 (read in their programs), after Yu, Xu and Tong 2018.",
            "Cars that leave at their deadlines, charged or not: 121 states, in some of which a play pays.",
            {"Whittle's index of 3 rounds and 5 units left, discount 0.99": 1.4801},
        ),
    ]

"""The arguments of `simulate` as one checked `Request`, on the host, before anything is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, integer, truth
from jaxbandit.base import Environment, Policy, Task, check_key, check_known, stack
from jaxbandit.cores import check_threads
from jaxbandit.delays import Delays
from jaxbandit.members import declares, has_methods
from jaxbandit.reward_units import RewardUnits
from jaxbandit.simulation.asking.contracts import check_contract, check_leaves, check_task, named_things, validate
from jaxbandit.simulation.asking.declared import (
    Scenarios,
    check_records,
    comparator_name_of,
    comparator_of,
    cost_of,
    environments_of,
    means_of,
    numbers_of,
    passive_reward_of,
    rewards_of,
)
from jaxbandit.simulation.asking.policy_units import seen_environments, units_of
from jaxbandit.simulation.asking.recording import Record, Recorder, recorder_programs, recorders_of
from jaxbandit.simulation.asking.tracing import (
    Program,
    Size,
    Traced,
    environment_program,
    one_of,
    policy_program,
)
from jaxbandit.simulation.chance import RandomNumbers, check_random_numbers
from jaxbandit.simulation.offered_arms import SLEEPING, check_choosers, checked_offers, offer
from jaxbandit.simulation.stopping import ANSWERS, STOPPED, Until, checked_until
from jaxbandit.simulation.uneven_delays import Delay, check_arms, checked_delay, delayed

Policies = Mapping[str, Policy | Sequence[Policy]]


@dataclass(frozen=True)
class Request:
    """Checked and stacked arguments: scenarios and variants are leading axes of the leaves."""

    scenarios: tuple[str, ...]
    environment: Environment  # leaves [C, ...]
    seen: dict[str, Environment]  # by label, the same with rewards in the units in which the policy sees them
    units: dict[str, list[RewardUnits]]  # by label, of each scenario
    policies: dict[str, Policy]  # leaves [V, ...]
    players: dict[str, Policy]  # the policies as they play: wrapped if feedback is delayed
    variants: dict[str, int]
    problem: str  # declared by the environments
    numbers: dict[str, dict[str, Any]]  # name to the environment's declared numbers
    means: np.ndarray  # [C, K] float64
    comparator: np.ndarray | None  # [C] or [C, horizon] float64, declared by the environments; [C, H, S] with episodes
    comparator_name: str | None  # its name, if declared
    cost: np.ndarray | None  # [C, K] float64, of plays if all arms pay; None if only played arms pay
    passive_reward: np.ndarray | None  # [C, K, S] float64, of arms that are not played; None for `reward`
    reward: np.ndarray  # [C, K, S] float64; [C, K, 0] where rewards have no finite table
    key: Array
    runs: int
    first_run: int
    horizon: int
    plays: int
    shuffle: bool
    random_numbers: RandomNumbers  # of different scenarios
    delay: int | Delays | np.ndarray
    batch: int
    until_stopped: bool  # whether a run ends when its policy stops
    offered: np.ndarray | None  # rows [N, K] bool or probabilities [K]
    times: np.ndarray  # [T] int64
    recorders: dict[str, dict[str, Recorder]]  # by label and name, of (environment_state, policy_state, t, policy)
    traced: Traced

    @property
    def counted(self) -> tuple[int, int]:
        """K and S of the visits; plays are counted as visits of one state if rewards have no finite table."""
        _, arms, states = self.reward.shape
        return arms, max(states, 1)

    @property
    def shapes(self) -> dict[str, dict[str, Any]]:
        """Label to name to shape and type of the records of one run besides visits."""
        declared = self.traced.environment.shapes.records
        if self.until_stopped:
            declared = declared | {name: jax.ShapeDtypeStruct((), jnp.int32) for name in (STOPPED, ANSWERS)}
        return {
            label: declared | {name: program.shapes for name, program in programs.items()}
            for label, programs in self.traced.recorders.items()
        }

    def of_runs(self, first: int, stop: int) -> Request:
        """The request for the runs from `first` to `stop` only."""
        return replace(self, first_run=first, runs=stop - first)


def check(
    scenarios: Scenarios,
    policies: Policies,
    *,
    key: Array | None = None,
    runs: int | range = 1000,
    horizon: int = 100_000,
    plays: int = 1,
    times: ArrayLike | None = None,
    shuffle: bool = False,
    random_numbers: RandomNumbers = "common",
    delay: Delay = 0,
    batch: int = 1,
    until: Until | None = None,
    offered: ArrayLike | None = None,
    record: Record | None = None,
) -> Request:
    """The arguments of `simulate` as a `Request`."""
    check_threads()
    named = environments_of(scenarios)
    reward = rewards_of(named)
    arms = reward.shape[1]
    first_run, runs = _runs(runs)
    horizon, plays = integer("horizon", horizon, 1, LARGEST_INTEGER), _plays(plays, arms, named)
    delay, batch = checked_delay(delay, batch, horizon)
    check_arms(delay, arms, plays, declares(next(iter(named.values()))).problem)
    tasks = [Task(scenario, plays, horizon, f"scenarios[{name!r}]") for name, scenario in named.items()]
    for task in tasks:
        validate(task.name, task.environment, task)
    listed = _listed(policies, tasks)
    until_stopped = checked_until(until, {label: variants[0] for label, variants in listed.items()}, plays, offered)
    if key is None:  # jax.random.key(0), for which JAX would compile a program
        key = jax.random.wrap_key_data(np.zeros(2, np.uint32), impl="threefry2x32")  # type: ignore[arg-type]
    check_key(key)
    means = np.stack([means_of(f"scenarios[{name!r}]", scenario, arms) for name, scenario in named.items()])
    played: list[Any] = list(named.values())
    if offered is not None:
        offered = checked_offers(offered, arms, plays)
        check_choosers(listed)
        played = offer(named, offered, means)
    shuffle, environment = truth("shuffle", shuffle), stack(played, "scenarios")
    units = units_of(listed, named)
    cost = cost_of(named, arms)
    stacked = {label: stack(variants, f"policies[{label!r}]") for label, variants in listed.items()}
    size = Size(arms, reward.shape[2], plays, jnp.result_type(float))
    program = environment_program(tasks[0].name, one_of(environment), size)
    check_records(tasks[0].name, program.shapes.records, reward, cost)
    players = {
        label: delayed(policy, delay, batch, program.shapes.feedback, len(listed[label]))
        for label, policy in stacked.items()
    }
    recorders, traced = _traced(program, size, stacked, players, shuffle, record, offered is not None)
    return Request(
        scenarios=tuple(named),
        environment=environment,
        seen=seen_environments(environment, played, units),
        units=units,
        policies=stacked,
        players=players,
        variants={label: len(variants) for label, variants in listed.items()},
        problem=declares(tasks[0].environment).problem if offered is None else SLEEPING,
        numbers={name: numbers_of(f"scenarios[{name!r}]", scenario) for name, scenario in named.items()},
        comparator=comparator_of(named, plays, horizon) if offered is None else None,
        comparator_name=comparator_name_of(named, plays) if offered is None else None,
        cost=cost,
        passive_reward=passive_reward_of(named, reward),
        means=means,
        reward=reward,
        key=key,
        runs=runs,
        first_run=first_run,
        horizon=horizon,
        plays=plays,
        shuffle=shuffle,
        random_numbers=check_random_numbers(random_numbers),
        delay=delay,
        batch=batch,
        until_stopped=until_stopped,
        offered=offered,
        times=recorded_times(times, horizon),
        recorders=recorders,
        traced=traced,
    )


def _runs(runs: int | range) -> tuple[int, int]:
    """The number of the first run, and the number of runs."""
    first = 0
    if isinstance(runs, range):
        if runs.step != 1 or runs.start < 0 or runs.stop > LARGEST_INTEGER:
            raise ValueError(f"runs: {runs}; a range of consecutive numbers from 0 to 2^31 - 1 is needed")
        first, runs = runs.start, len(runs)
    return first, integer("runs", runs, 1, LARGEST_INTEGER)


def _plays(plays: int, arms: int, named: dict[str, Environment]) -> int:
    plays = integer("plays", plays)
    if plays < 1 or plays > arms:
        raise ValueError(f"plays: {plays} arms a round; there are {arms}, so use 1 to {arms}")
    if plays > 1 and any(declares(environment).pairing == "shared" for environment in named.values()):
        raise ValueError(f"plays: {plays}; arms that share one state are actions, and one action is taken a round")
    return int(plays)


def _traced(
    environment: Program,
    size: Size,
    policies: dict[str, Policy],
    players: dict[str, Policy],
    shuffle: bool,
    record: Record | None,
    offered: bool,
) -> tuple[dict[str, dict[str, Recorder]], Traced]:
    """The recorders by label and name, and the traces of the environment, the policies and the recorders.

    Recorders read the state of the policy, not of its wrapper for delayed feedback.
    """

    def program_of(label: str, policy: Policy) -> Program:
        shown = environment.shapes
        if offered and members.probabilities(policy) is not None:
            chances: Any = jax.ShapeDtypeStruct((size.plays,), size.real)
            shown = shown._replace(feedback=shown.feedback._replace(chances=chances))
        return policy_program(f"policies[{label!r}]", one_of(policy), size, shown, shuffle)

    programs = {label: program_of(label, policy) for label, policy in policies.items()}
    recorders = recorders_of(record, list(policies), [*environment.shapes.records, STOPPED, ANSWERS])
    states = {label: program.shapes for label, program in programs.items()}
    recorded = recorder_programs(recorders, environment.shapes.state, states, policies)
    playing = {
        label: programs[label] if player is policies[label] else program_of(label, player)
        for label, player in players.items()
    }
    return recorders, Traced(environment, playing, recorded)


def _listed(policies: Policies, tasks: list[Task]) -> dict[str, list[Policy]]:
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError("policies: give a dict from label to a policy, or to a list of variants of it")
    listed = {}
    for label, entry in named_things("policies", policies).items():
        several = isinstance(entry, list | tuple) and not has_methods(entry, "scores")  # a NamedTuple has it
        variants = list(entry) if several else [entry]
        if not variants:
            raise ValueError(f"policies[{label!r}]: an empty list of variants")
        for policy in variants:
            check_contract(f"policies[{label!r}]", policy, ("init", "scores", "update"), "a policy")
            check_known(f"policies[{label!r}]", policy)
            for task in tasks:
                check_task(f"policies[{label!r}]", policy, task)
            check_leaves(f"policies[{label!r}]", policy)
        listed[label] = variants
    return listed


def default_times(horizon: int) -> np.ndarray:
    """About 200 rounds, evenly spaced in log, from 1 to the horizon; [T] int64."""
    return np.unique(np.rint(np.geomspace(1, horizon, 220)).astype(np.int64))


def recorded_times(times: ArrayLike | None, horizon: int) -> np.ndarray:
    """The rounds to record, checked."""
    if times is None:
        return default_times(horizon)
    try:
        rounds = np.asarray(times)
    except (TypeError, ValueError):
        raise ValueError("times: give a list of rounds, integers") from None
    if rounds.ndim != 1 or not rounds.size or rounds.dtype.kind not in "iu":
        raise ValueError("times: give a list of rounds, integers")
    rounds = rounds.astype(np.int64)
    if (np.diff(rounds) <= 0).any():
        raise ValueError("times: not sorted, or a round twice; give them strictly increasing")
    if rounds[0] < 1 or rounds[-1] > horizon:
        raise ValueError(f"times: rounds {rounds[0]}..{rounds[-1]} reach beyond 1..{horizon} (the horizon)")
    return rounds

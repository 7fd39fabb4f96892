"""What `simulate` is asked to do, checked on the host before anything is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import integer, truth
from jaxbandit.base import Environment, Policy, Task, check_key, check_known, stack
from jaxbandit.members import declares, has_methods, lacks
from jaxbandit.simulation.asking.contracts import check_contract, check_leaves, check_task, validate
from jaxbandit.simulation.asking.declared import (
    check_means_now,
    check_without_table,
    comparator_name_of,
    comparator_of,
    cost_of,
    means_of,
    numbers_of,
    reward_of,
)
from jaxbandit.simulation.asking.recording import OfFour, Record, recorder_programs, recorders_of
from jaxbandit.simulation.asking.tracing import (
    Program,
    Shown,
    Size,
    Traced,
    environment_program,
    one_of,
    policy_program,
)
from jaxbandit.simulation.chance import RandomNumbers, check_random_numbers
from jaxbandit.simulation.delayed import late, lateness

Scenarios = Environment | Mapping[str, Environment]
Policies = Mapping[str, Policy | Sequence[Policy]]


@dataclass(frozen=True)
class Request:
    """Checked and stacked arguments: scenarios and variants are leading axes of the leaves."""

    scenarios: tuple[str, ...]
    environment: Environment  # leaves [C, ...]
    policies: dict[str, Policy]  # leaves [V, ...]
    variants: dict[str, int]
    problem: str  # what the environments declare
    numbers: dict[str, dict[str, Any]]  # name to what each environment says of itself
    means: np.ndarray  # [C, K] float64
    comparator: np.ndarray | None  # [C] float64, what the environments declare; of episodes [C, H, S]
    comparator_name: str | None  # what that is, where they say so
    cost: np.ndarray | None  # [C, K] float64, of a play where all arms pay, played or not; None where those played pay
    reward: np.ndarray  # [C, K, S] float64; [C, K, 0] where rewards have no finite table
    key: Array
    runs: int
    first_run: int
    horizon: int
    plays: int
    shuffle: bool
    random_numbers: RandomNumbers  # of different scenarios
    delay: int
    batch: int
    times: np.ndarray  # [T] int64
    recorders: dict[str, dict[str, OfFour]]  # label to name to function(environment_state, policy_state, t, policy)
    traced: Traced

    @property
    def counted(self) -> tuple[int, int]:
        """K and S of the visits: plays are counted as visits of one state where rewards have no finite table."""
        _, arms, states = self.reward.shape
        return arms, max(states, 1)

    @property
    def players(self) -> dict[str, Policy]:
        """The policies as they play, by label: their news may come late."""
        shown = self.traced.environment.shapes.feedback
        return {label: late(policy, self.delay, self.batch, shown) for label, policy in self.policies.items()}

    @property
    def shapes(self) -> dict[str, dict[str, Any]]:
        """Label to name to shape and type of what is recorded of one run besides visits."""
        declared = self.traced.environment.shapes.records
        return {
            label: declared | {name: program.shapes for name, program in programs.items()}
            for label, programs in self.traced.recorders.items()
        }

    def of_runs(self, first: int, stop: int) -> Request:
        """The same for the runs with these numbers only."""
        return replace(self, first_run=first, runs=stop - first)


def check(
    scenarios: Scenarios,
    policies: Policies,
    key: Array | None = None,
    runs: int | range = 1000,
    horizon: int = 100_000,
    plays: int = 1,
    times: ArrayLike | None = None,
    shuffle: bool = False,
    record: Record | None = None,
    delay: int = 0,
    batch: int = 1,
    random_numbers: RandomNumbers = "common",
) -> Request:
    """The arguments of `simulate` as a `Request`.

    Raises:
      ValueError: the argument, what is wrong with it and what would be right.
    """
    if isinstance(scenarios, list | tuple) and not has_methods(scenarios, "step"):
        raise ValueError("scenarios: a list has no names; give a dict from name to environment, or one environment")
    named = _named("scenarios", scenarios) if isinstance(scenarios, Mapping) else {"scenario": scenarios}
    if not named:
        raise ValueError("scenarios: none given; give an environment or a dict of them")
    for name, environment in named.items():
        check_contract(f"scenarios[{name!r}]", environment, ("means", "init", "step"), "an environment")
        if lacks(environment, "reward"):
            raise ValueError(
                f"scenarios[{name!r}]: an environment is needed, and {type(environment).__name__} has no reward; give "
                "it what each state of each arm pays, [K, S], or None if rewards have no finite table"
            )
        if environment.reward is None:
            check_without_table(f"scenarios[{name!r}]", environment)
        check_known(f"scenarios[{name!r}]", environment)
        check_means_now(f"scenarios[{name!r}]", environment)
        check_leaves(f"scenarios[{name!r}]", environment)
    reward = [reward_of(f"scenarios[{name!r}]", environment) for name, environment in named.items()]
    for name, values in zip(named, reward, strict=True):
        if values.shape != reward[0].shape:
            raise ValueError(
                f"scenarios: {name!r} has [K, S] = {values.shape}, {next(iter(named))!r} has {reward[0].shape}; "
                "scenarios of another shape need a call of their own"
            )
    arms = reward[0].shape[0]
    first_run = 0
    if isinstance(runs, range):
        if runs.step != 1 or runs.start < 0 or runs.stop > 2**31 - 1:
            raise ValueError(f"runs: {runs}; a range of consecutive numbers from 0 to 2^31 - 1 is needed")
        first_run, runs = runs.start, len(runs)
    runs, horizon, plays = integer("runs", runs), integer("horizon", horizon), integer("plays", plays)
    if not 1 <= runs < 2**31:
        raise ValueError(f"runs: {runs}; at least 1 is needed, at most 2^31 - 1")
    if plays < 1 or plays > arms:
        raise ValueError(f"plays: {plays} arms a round; there are {arms}, so use 1 to {arms}")
    if horizon < 1:
        raise ValueError(f"horizon: {horizon}; at least 1 round is needed")
    if horizon > 2**31 - 1:
        raise ValueError(f"horizon: {horizon} is beyond 2^31 - 1, where counts of rounds overflow")
    if plays > 1 and any(declares(environment).pairing == "shared" for environment in named.values()):
        raise ValueError(f"plays: {plays}; arms that share one state are actions, of which one is taken a round")
    delay, batch = lateness(delay, batch, int(horizon))
    tasks = [Task(each, int(plays), int(horizon), f"scenarios[{name!r}]") for name, each in named.items()]
    for task in tasks:
        validate(task.name, task.environment, task)
    listed = _listed(policies, tasks)
    if key is None:  # jax.random.key(0), for which JAX would compile a program
        words: Any = np.zeros(2, np.uint32)
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
    check_key(key)
    request = Request(
        scenarios=tuple(named),
        environment=stack(list(named.values()), "scenarios"),
        policies={label: stack(variants, f"policies[{label!r}]") for label, variants in listed.items()},
        variants={label: len(variants) for label, variants in listed.items()},
        problem=declares(next(iter(named.values()))).problem,
        numbers={name: numbers_of(f"scenarios[{name!r}]", each) for name, each in named.items()},
        comparator=comparator_of(named, int(plays)),
        comparator_name=comparator_name_of(named, int(plays)),
        cost=cost_of(named, arms),
        means=np.stack([means_of(f"scenarios[{name!r}]", each, arms) for name, each in named.items()]),
        reward=np.stack(reward),
        key=key,
        runs=int(runs),
        first_run=first_run,
        horizon=int(horizon),
        plays=int(plays),
        shuffle=truth("shuffle", shuffle),
        random_numbers=check_random_numbers(random_numbers),
        delay=delay,
        batch=batch,
        times=_times(times, int(horizon)),
        recorders={label: {} for label in listed},
        traced=Traced(_UNTRACED, {}, {}),
    )
    return _traced(request, record)


_UNTRACED = Program("", None, fixed=False)


def _traced(request: Request, record: Record | None) -> Request:
    """The request with its recorders and with what everything that plays computes, before anything is compiled."""
    _, arms, states = request.reward.shape
    size = Size(arms, states, request.plays, jnp.result_type(float))
    where = f"scenarios[{request.scenarios[0]!r}]"
    environment = environment_program(where, one_of(request.environment), size)
    shown: Shown = environment.shapes
    if request.reward.shape[2] == 0 and "rewards" not in shown.records:
        raise ValueError(
            f'{where}.records: rewards have no finite table, so the environment needs to record "rewards", [K], what '
            "each arm has paid (see jaxbandit.Environment)"
        )

    if request.cost is not None and "stays" not in shown.records:
        raise ValueError(
            f'{where}.records: all arms pay, so the environment needs to record "stays", [K, S], how many rounds have '
            "left each arm in each state (see jaxbandit.Environment)"
        )

    def programs_of(policies: dict[str, Policy]) -> dict[str, Program]:
        return {
            label: policy_program(f"policies[{label!r}]", one_of(policy), size, shown, request.shuffle)
            for label, policy in policies.items()
        }

    policies = programs_of(request.policies)
    states = {label: program.shapes for label, program in policies.items()}
    recorders = recorders_of(record, list(policies), list(shown.records))
    programs = recorder_programs(recorders, shown.state, states, request.policies)
    request = replace(request, recorders=recorders, traced=Traced(environment, policies, programs))
    if request.delay == 0 and request.batch == 1:
        return request
    return replace(request, traced=request.traced._replace(policies=programs_of(request.players)))


def _listed(policies: Policies, tasks: list[Task]) -> dict[str, list[Policy]]:
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError("policies: give a dict from label to a policy, or to a list of variants of it")
    listed = {}
    for label, entry in _named("policies", policies).items():
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


def _named(argument: str, things: Mapping[Any, Any]) -> dict[str, Any]:
    named = {str(name): thing for name, thing in things.items()}
    if len(named) < len(things):
        raise ValueError(f"{argument}: two names are the same as text among {list(things)}")
    return named


def default_times(horizon: int) -> np.ndarray:
    """About 200 rounds, evenly spaced in log, from 1 to the horizon; [T] int64."""
    return np.unique(np.rint(np.geomspace(1, horizon, 220)).astype(np.int64))


def _times(times: ArrayLike | None, horizon: int) -> np.ndarray:
    if times is None:
        return default_times(horizon)
    try:
        given = np.asarray(times)
    except (TypeError, ValueError):
        raise ValueError("times: give a list of rounds, integers") from None
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise ValueError("times: give a list of rounds, integers")
    given = given.astype(np.int64)
    if (np.diff(given) <= 0).any():
        raise ValueError("times: not sorted, or a round twice; give them strictly increasing")
    if given[0] < 1 or given[-1] > horizon:
        raise ValueError(f"times: rounds {given[0]}..{given[-1]} reach beyond 1..{horizon} (the horizon)")
    return given

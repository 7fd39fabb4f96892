"""Checks of a policy's decision process, on the host, for its `validate`."""

from __future__ import annotations

from typing import Any

from jaxbandit import members
from jaxbandit.base import Task
from jaxbandit.decision_processes import Kind, structure
from jaxbandit.policies.parts import checks


def communicating(policy: Any, task: Task, *kinds: Kind) -> None:
    """Raise ValueError unless the task is a decision process whose states communicate as the policy requires.

    The states of an environment without `transition` [A, S, S] are not checked.

    Args:
      kinds: those that the policy plays (see `decision_processes.Structure`); "ergodic" and "communicating" by default.
    """
    checks.suits(policy, task, checks.PROCESSES)
    if members.transition(task.environment) is None:
        return
    wanted = kinds or ("ergodic", "communicating")
    process = structure(task.environment.transition)
    if process.kind in wanted:
        return
    why = {
        "multichain": f"its states fall into classes between which there is no way back, {process.classes}",
        "weakly communicating": f"the states {process.transient} cannot be reached from the others",
        "communicating": "some policies never come to some states",
        "ergodic": "every policy comes to every state",
    }[process.kind]
    raise ValueError(
        f"{type(policy).__name__} is for {' or '.join(wanted)} processes; {task.name} is {process.kind}: {why}"
    )


def episodes(policy: Any, task: Task) -> int:
    """The number of rounds of an episode of the task, a decision process with episodes.

    Raises:
      ValueError: what the policy plays, and what the task has.
    """
    checks.suits(policy, task, checks.PROCESSES)
    steps = members.steps(task.environment)
    if steps is None:
        raise ValueError(
            f"{type(policy).__name__} needs episodes, and {task.name} has none; make it with steps, their length"
        )
    return int(steps)

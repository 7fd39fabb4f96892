"""What a named problem is, and the mapping that finds one by its name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxbandit import members
from jaxbandit.base import Environment
from jaxbandit.members import declares


@dataclass(frozen=True, repr=False)
class NamedProblem:
    """Arms with a name, and what is known of them.

    Fields:
      name: as the atlas has it.
      make: makes the arms; takes `initial_state` where arms have one, as "stationary", `horizon` where they are made
        for a number of rounds, and `arms`, how many, where there is a budget for arms that are alike.
      source: a sentence that says who plays them, and where.
      purpose: a sentence that says what they are good for.
      published: figures that the source states or that its theorems give, by what they are; empty where there are none.
      horizon: for how many rounds the source makes the arms; None where the arms are the same for any number.
      plays: how many arms are played a round, of as many as `make` makes by itself.

    >>> from jaxbandit import atlas
    >>> atlas["best20"]
    NamedProblem('best20': rested, 5 arms, 2 states)
    >>> atlas["best20"].make(initial_state="stationary").initial[0].round(4).tolist()
    [0.4444, 0.5556]
    """

    name: str
    make: Callable[..., Any]
    source: str
    purpose: str
    published: dict[str, float] = field(default_factory=dict)
    horizon: int | None = None
    plays: int = 1

    @property
    def arms(self) -> Any:
        """The arms, from the state in which they usually start, for as many rounds as in the source."""
        return self.make()

    def with_horizon(self, horizon: int) -> Any:
        """The arms for a game of this many rounds; their changes keep their places in it.

        >>> from jaxbandit import atlas
        >>> atlas["Garivier and Moulines"].with_horizon(1000).breaks.tolist()
        [300, 500]
        """
        return self.make() if self.horizon is None else self.make(horizon=horizon)

    def __repr__(self) -> str:
        kind, arms, states = _shape(self.arms)
        choices = f"{arms} {'actions' if kind == 'decision process' else 'arms'}"
        more = f", {states} states" * bool(states) + f", {self.plays} plays a round" * (self.plays > 1)
        return f"NamedProblem({self.name!r}: {kind}, {choices}{more})"


class Atlas(Mapping[str, NamedProblem]):
    """Problems by name, which cannot be changed; `print` shows them as a table.

    Raises:
      KeyError: a name that it does not have, with those that are spelt much like it.

    >>> from jaxbandit import atlas
    >>> atlas["scenario 1"].arms.means().round(4).tolist()
    [0.5556, 0.4211, 0.3158, 0.2353, 0.125]
    >>> atlas["scenario1"]
    Traceback (most recent call last):
    ...
    KeyError: 'scenario1 is not in the atlas; like it are: scenario 1, scenario 4, scenario 3'
    """

    def __init__(self, problems: Iterable[NamedProblem]) -> None:
        self._problems = {problem.name: problem for problem in problems}

    def __getitem__(self, name: str) -> NamedProblem:
        if isinstance(name, str) and name in self._problems:
            return self._problems[name]
        near = difflib.get_close_matches(str(name).lower(), self._by_lower_case())
        like = ", ".join(self._by_lower_case()[lower] for lower in near)
        raise KeyError(f"{name} is not in the atlas; " + (f"like it are: {like}" if near else "print(atlas) lists it"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    def __repr__(self) -> str:
        rows = [("name", "problem", "arms", "plays", "states", "purpose")]
        for entry in self.values():
            kind, arms, states = _shape(entry.arms)
            rows.append((entry.name, kind, str(arms), str(entry.plays), str(states or "-"), entry.purpose))
        wide = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(
            f"{name:{wide[0]}}  {kind:{wide[1]}}  {arms:>{wide[2]}}  {plays:>{wide[3]}}  {states:>{wide[4]}}  {purpose}"
            for name, kind, arms, plays, states, purpose in rows
        )

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _by_lower_case(self) -> dict[str, str]:
        return {name.lower(): name for name in self}


def _shape(arms: Environment) -> tuple[str, int, int]:
    """The kind of problem, K, and S; S is 0 where rewards have no finite table."""
    if arms.reward is None:
        return declares(arms).problem, len(arms.means()), 0
    if (transition := members.transition(arms)) is not None:
        count, states = transition.shape[-3:-1]
    else:
        count, states = np.shape(arms.reward)
    return declares(arms).problem, int(count), int(states)

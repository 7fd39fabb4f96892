"""What a policy decided that stops when it knows the best arm."""

from __future__ import annotations

from typing import NamedTuple

from jaxbandit.base import described


@described
class Decision(NamedTuple):
    """Which arm is the best, as `policies.Identify` decided when it stopped.

    Fields:
      best: the name of the arm.
      round: the number of rounds that had been chosen by then.
      answers: the number of answers that had come.

    >>> from jaxbandit.live import Player
    >>> from jaxbandit.policies import BernoulliGLR, Identify
    >>> policy = Identify(stopping=BernoulliGLR(), delta=0.1)
    >>> player = Player(policy, ["red", "green"], states={"ignored": 0.0, "clicked": 1.0}, key=0)
    >>> while player.decision is None:
    ...     choice = player.choose()
    ...     player.learn(choice.id, "clicked" if (choice.round % 5 < 2) == (choice.arm == "red") else "ignored")
    >>> player.decision.best
    'green'
    """

    best: str
    round: int
    answers: int

    def __str__(self) -> str:
        return f"decided in round {self.round:,}, after {self.answers:,} answers: {self.best} has the largest mean"

"""Plays learners of statisticalrl-learners on decision processes; `job_files` says how."""

import contextlib
import importlib
import io

import numpy as np
from job_files import play_all


def learner_class(name):
    """A learner by FILE.CLASS, or UCRL2 changed so that ties go to the first action."""
    file, _, taken = ("UCRL2.UCRL2" if name == "OrderedUCRL2" else name).partition(".")
    base = getattr(importlib.import_module(f"statisticalrl_learners.MDPs_discrete.{file}"), taken)
    if name != "OrderedUCRL2":
        return base

    class OrderedUCRL2(base):
        """Ties go to the action that was tried least: while plans are made, the first one."""

        def EVI(self, *arguments, **named):  # noqa: N802
            tried, self.Nk = self.Nk, np.tile(np.arange(self.nA, dtype=float), (self.nS, 1))
            super().EVI(*arguments, **named)
            self.Nk = tried

    return OrderedUCRL2


def prepare(job):
    """The package's own methods in their order, from state 0."""
    make, reward = learner_class(job["policy"]), np.array(job["reward"])
    actions, states = reward.shape
    upto = np.cumsum(job["moves"], axis=-1)

    def play(horizon, words):
        collected, state = 0.0, 0
        with contextlib.redirect_stdout(io.StringIO()):
            learner = make(states, actions, **job["arguments"])
            learner.reset(state)
            for _ in range(horizon):
                action = int(learner.play(state))
                paid = reward[action, state]
                drawn = int(np.searchsorted(upto[action, state], np.random.random(), side="right"))  # noqa: NPY002
                following = min(drawn, states - 1)
                learner.update(state, action, paid, following)
                collected, state = collected + paid, following
        return job["best"] * horizon - collected

    return play


if __name__ == "__main__":
    play_all(prepare)

"""Plays learners of statisticalrl-learners, run by a Python that has it: `python play_statisticalrl.py REQUEST FOLDER`.

REQUEST is a JSON file with a process, "moves" [action][state][next state] and "reward" [action][state], the "horizon",
the "seed" and "jobs". A job has a "name", the "policy" as FILE.CLASS of the package's discrete learners or as a CLASS
that changes one of them, its "arguments" and the numbers of its "runs", [first, end]. What it played is
FOLDER/NAME.json: the job itself, the rewards "collected" [run] and the "seconds" that one processor spent. A job with
such a file is not played again.
"""

import contextlib
import importlib
import io
import json
import time
import zlib

import numpy as np
from job_files import asked, play_all

ROOM = "statisticalrl_learners.MDPs_discrete"
TAKEN = {"UCRL2": "UCRL2", "PSRL": "PSRL", "IMED_RL": "IMEDRL"}  # file and class


def classes():
    """The package's learners by FILE.CLASS, and our changes to them by CLASS."""
    made = {f"{file}.{name}": getattr(importlib.import_module(f"{ROOM}.{file}"), name) for file, name in TAKEN.items()}

    class OrderedUCRL2(made["UCRL2.UCRL2"]):
        """Ties go to the first action: while plans are made, the one that was tried least."""

        def EVI(self, *given, **named):  # noqa: N802
            tried, self.Nk = self.Nk, np.tile(np.arange(self.nA, dtype=float), (self.nS, 1))
            super().EVI(*given, **named)
            self.Nk = tried

    return made | {"OrderedUCRL2": OrderedUCRL2}


def play(learner, moves, reward, horizon):
    """The reward that a learner collects from state 0, by the package's own methods in their order."""
    upto = np.cumsum(moves, axis=-1)
    collected, state = 0.0, 0
    learner.reset(state)
    for _ in range(horizon):
        action = int(learner.play(state))
        paid = reward[action, state]
        following = min(int(np.searchsorted(upto[action, state], np.random.random(), side="right")), len(upto[0]) - 1)  # noqa: NPY002
        learner.update(state, action, paid, following)
        collected, state = collected + paid, following
    return float(collected)


def play_job(job, request, policies):
    """All runs of a job, each with random numbers of its own."""
    make = policies[job["policy"]]
    moves, reward = np.array(request["moves"]), np.array(request["reward"])
    collected, began = [], time.process_time()
    for run in range(*job["runs"]):
        words = [request["seed"], zlib.crc32(json.dumps([job["policy"], job["arguments"]]).encode()), run]
        np.random.seed(np.random.SeedSequence(words).generate_state(8))  # noqa: NPY002
        learner = make(moves.shape[1], moves.shape[0], **job["arguments"])
        with contextlib.redirect_stdout(io.StringIO()):
            collected.append(play(learner, moves, reward, request["horizon"]))
    return {"job": job, "collected": collected, "seconds": time.process_time() - began}


def main():
    """Play what is not there yet."""
    request, folder = asked()
    policies = classes()
    play_all(request, folder, lambda job: play_job(job, request, policies))


if __name__ == "__main__":
    main()

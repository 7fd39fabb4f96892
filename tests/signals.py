"""Ctrl-C at random moments: `python -m tests.signals`. No signal may be lost, and no file that was whole.

Every trial is a sweep, a command with a sweep and simulations of its own, a survey, a search, or a loop of simulations,
small ones, of which every other one compiles its programs anew. At a moment drawn between its beginning and its usual
end this process sends SIGINT to itself. The trial must end by KeyboardInterrupt (a command with 130), or warn that it
was stopped; a sweep's files must be what they were, and the same call must go on with them to the counts of one that
nobody disturbed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import os
import random
import runpy
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import jax
import numpy as np

import jaxbandit
from jaxbandit import KLUCB, UCB1, Result, StoppedWarning, Uniform, interruption, simulate, stress, sweep, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
SMALL = {"runs": 40, "horizon": 3000, "chunk": 500}
POLICIES = {"u": Uniform(), "ucb": UCB1()}


def cases():
    """Four cases, in blocks of 20 runs whose files are written after every chunk."""
    return {f"{n}": {"scenarios": ARMS, "policies": POLICIES, "key": jax.random.key(n), **SMALL} for n in range(4)}


def play_sweep(folder):
    return sweep(cases(), folder, block=20, every=1e-9, progress=False)


def play_loop(folder):
    for seed in range(4):
        simulate(ARMS, POLICIES, key=jax.random.key(seed), progress=False, **SMALL)


def play_survey(folder):
    space, panel = stress.TwoStateSpace(), {"KL-UCB": KLUCB()}
    stress.over(space, {"u": Uniform()}, panel=panel, problems=64, runs=8, horizon=500, folder=folder, progress=False)


def play_search(folder):
    panel = {"KL-UCB": KLUCB()}
    stress.worst(Uniform(), panel=panel, budget=96, runs=16, horizon=200, folder=folder, progress=False)


def play_command(folder):
    """A sweep of training runs, simulations of held-out runs, tables and pictures, as the command line plays them."""
    sizes = ["--runs", "20", "--held-out", "20", "--horizon", "300", "--grid", "scale = [0.5, 1.0]"]
    sys.argv = ["jaxbandit", "tune", *sizes, "--out", str(folder)]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_module("jaxbandit", run_name="__main__")


PLAYED = {"sweep": play_sweep, "loop": play_loop, "survey": play_survey, "search": play_search, "command": play_command}


def contents(folder):
    """The files that hold counts, and their bytes."""
    return {path: path.read_bytes() for path in Path(folder).rglob("*.npz")}


class Trials:
    """Trials of all kinds, each with one signal, and what became of it."""

    def __init__(self, folder, seed, kinds=tuple(PLAYED)):
        self.folder, self.random, self.kinds = Path(folder), random.Random(seed), kinds
        self.usual, self.counts, self.latest = {}, collections.Counter(), collections.Counter()
        self.whole = play_sweep(self.folder / "undisturbed")
        for kind in kinds:
            for again in (False, True):  # with the programs of other calls, and without
                self.usual[kind, again] = self.timed(kind, again)

    def timed(self, kind, again):
        """Seconds that a trial takes which nobody disturbs."""
        if again:
            jax.clear_caches()
        place, began = self.folder / f"timed {kind} {again}", time.monotonic()
        PLAYED[kind](place)
        return time.monotonic() - began

    def signal(self, kind):
        """One trial; what ended it."""
        again = self.random.random() < 0.5
        delay, place = self.random.uniform(0, self.usual[kind, again]), self.folder / kind
        if again:
            jax.clear_caches()
        before, sent = contents(place), []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer, ended = threading.Timer(delay, send), "finished before the signal"
        interruption._last = -np.inf  # the signal of the trial before is long ago, as it would be for a user
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                timer.start()
                PLAYED[kind](place)
                finished = time.monotonic()
                timer.cancel()
                timer.join()
                if sent and sent[0] < finished:
                    warned = [item for item in said if issubclass(item.category, StoppedWarning)]
                    ended = "warned" if warned else "LOST"
            except KeyboardInterrupt:
                ended = "KeyboardInterrupt"
            except SystemExit as error:
                ended = f"exit {error.code}" if error.code == 130 else f"WRONG: exit {error.code}"
        if sent and ended[0] not in "LWf":
            self.latest[kind] = max(self.latest[kind], time.monotonic() - sent[0])
        after = contents(place)
        if any(after.get(path) != data for path, data in before.items()):
            ended = "LOST FILES"
        for path in after.keys() - before.keys():
            Result.load(path)
        if ended == "finished before the signal":
            if kind == "sweep":
                self.compare(place)
            shutil.rmtree(place, ignore_errors=True)
        self.counts[kind, ended] += 1
        return ended

    def compare(self, place):
        """Refuse counts that are not those of a sweep that nobody disturbed."""
        for name, result in play_sweep(place).items():
            for label, visits in result.visits.items():
                if not np.array_equal(visits, self.whole[name].visits[label]):
                    raise SystemExit(f"{name}, {label}: counts that are not those of an undisturbed sweep")

    def finish(self):
        """Let every folder be played to its end, and compare."""
        for kind in self.kinds:
            PLAYED[kind](self.folder / kind)
        if "sweep" in self.kinds:
            self.compare(self.folder / "sweep")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of when they come (default: 0)")
    asked = parser.parse_args()
    jaxbandit.use_all_cores()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs ignore Ctrl-C
    with tempfile.TemporaryDirectory() as folder:
        trials, sent = Trials(folder, asked.seed), 0
        print({f"{kind}{', anew' if again else ''}": round(took, 1) for (kind, again), took in trials.usual.items()})
        while sent < asked.signals:
            kind = trials.random.choice(trials.kinds)
            ended = trials.signal(kind)
            sent += ended != "finished before the signal"
            print(f"{sent:4d} {kind:8s} {ended}", flush=True)
        trials.finish()
        for (kind, ended), count in sorted(trials.counts.items()):
            print(f"{kind:8s} {ended:28s} {count:4d}")
        print("latest end after a signal, seconds:", {kind: round(took, 1) for kind, took in trials.latest.items()})


if __name__ == "__main__":
    main()

"""An hour of faults: `python -m tests.soak FOLDER` plays a growing sweep on two workers and disturbs it at random.

Workers and the parent are killed with SIGKILL, the disk is filled, the folder of a case is removed; after each the same
call is made again, by a process that knows nothing of what happened. The last third of the time is undisturbed: there
the memory of every process is to stay as it is. In the end all blocks are read, and some are compared, bit by bit, with
what `simulate` gives. FOLDER lies on a small file system of its own, since that is filled to its last byte:

    mount -t tmpfs -o size=400m none FOLDER
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

WORKERS, BLOCK, EVERY, GROWTH = 2, 100, 2.0, 1000
SMALL = 2**30  # bytes that may be free at most: filling more takes long, and would hurt others
KINDS = ("a worker killed", "the parent killed", "the disk full", "a case's folder removed")


def cases(runs):
    """Three slow cases of different kinds: all states, a bound from a table, rewards that are not a finite table."""
    from jaxbandit import IMEDMC, KLUCB, environments, families, two_state
    from jaxbandit.families.table import tabulated

    states = np.array([0.0, 0.5, 1.0])
    moves = np.array([[[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [item, 0.2, 0.8 - item]] for item in (0.1, 0.2, 0.3)])
    table = tabulated(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.0, 1.0]))
    arms, gaussian = two_state([0.5, 0.4, 0.3], [0.4, 0.5, 0.6]), KLUCB(family=families.Gaussian())
    common = {"runs": runs, "horizon": 20_000, "times": np.geomspace(10, 20_000, 20).astype(int)}
    return {
        "three states": {"scenarios": environments.markov(moves, states), "policies": {"IMED-MC": IMEDMC()}, **common},
        "table": {"scenarios": arms, "policies": {"KL-UCB": KLUCB(family=table)}, **common},
        "Gaussian": {"scenarios": environments.gaussian([0.5, 0.4, 0.3]), "policies": {"KL-UCB": gaussian}, **common},
    }


def call(folder, runs):
    """The user's call, once."""
    from jaxbandit import sweep

    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        sweep(cases(runs), folder, executor=pool, block=BLOCK, every=EVERY, progress=False)


def processes_of(parent):
    """The processes of Python that `parent` has started, but multiprocessing's own watchman."""
    try:
        numbers = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return []
    return [int(item) for item in numbers if b"spawn_main" in _file(item, "cmdline")]


def megabytes(process):
    """Resident memory, NaN for a process that is gone."""
    lines = [line for line in _file(process, "status").decode().splitlines() if line.startswith("VmRSS")]
    return int(lines[0].split()[1]) / 1024 if lines else float("nan")


def _file(process, name):
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


class Soak:
    """What was done to the sweep, what it said, and how much memory its processes had."""

    def __init__(self, disk, seconds, seed):
        self.disk, self.folder, self.seconds, self.random = disk, disk / "sweep", seconds, random.Random(seed)
        self.start, self.runs = time.time(), GROWTH
        self.said, self.memory, self.orphans = collections.Counter(), collections.defaultdict(list), {}

    def now(self):
        return time.time() - self.start

    def play(self):
        """Call after call until time is up, and the last to its end; every call that ends well asks for more runs."""
        while True:
            command = [sys.executable, "-m", "tests.soak", str(self.disk), "--runs", str(self.runs)]
            with tempfile.TemporaryFile("w+") as errors:
                call = subprocess.Popen(command, stderr=errors)
                fault = self.watch(call)
                errors.seek(0)
                lines = re.findall(r"^\w+(?:Error|Interrupt): .*", errors.read(), re.MULTILINE)
            said = "finished" if call.returncode == 0 else lines[-1] if call.returncode > 0 else "killed"
            self.said[fault, re.sub(r"/\S*|\d[\d.]*", "..", said)[:110]] += 1
            print(f"{self.now():6.0f} s  {self.runs:6d} runs  {fault:24s} {said}", flush=True)
            if call.returncode > 0 and fault == "nothing":
                raise SystemExit("a call that nothing disturbed has failed")
            if call.returncode == 0 and self.now() > self.seconds:
                return
            self.runs += GROWTH * (call.returncode == 0)

    def watch(self, call):
        """Wait for the end of a call, and disturb it once, if it is still the time for that; with what."""
        undisturbed = self.now() > 2 / 3 * self.seconds
        due, fault = time.time() + self.random.uniform(5, 60), "nothing"
        while call.poll() is None:
            time.sleep(0.5)
            for process in (call.pid, *processes_of(call.pid)):
                self.memory[process].append((self.now(), megabytes(process)))
            self.orphans = {item: since for item, since in self.orphans.items() if _file(item, "cmdline")}
            if fault == "nothing" and not undisturbed and time.time() > due and processes_of(call.pid):
                fault = self.random.choice(KINDS)
                self.disturb(call, fault)
        return fault

    def disturb(self, call, fault):
        if fault == "a worker killed":
            os.kill(self.random.choice(processes_of(call.pid)), signal.SIGKILL)
        elif fault == "the parent killed":
            self.orphans |= dict.fromkeys(processes_of(call.pid), self.now())
            call.kill()
        elif fault == "the disk full":
            fill(self.disk / "filler")
            time.sleep(10)
            (self.disk / "filler").unlink()
        else:
            shutil.rmtree(self.random.choice(sorted(self.folder.glob("0*"))), ignore_errors=True)

    def verdict(self):
        """Read everything, compare some blocks with `simulate`, and say what happened, as a table in Markdown."""
        from jaxbandit import Result, simulate, sweep

        results = sweep(cases(self.runs), self.folder, progress=False)
        files = [Result.load(path) for path in self.folder.rglob("*.npz")]
        for name, case in cases(self.runs).items():
            for first in self.random.sample(range(0, self.runs, BLOCK), 4):
                true = simulate(**case | {"runs": range(first, first + BLOCK)}, progress=False)
                for label, visits in true.visits.items():
                    if not np.array_equal(visits, results[name].visits[label][:, :, first : first + BLOCK]):
                        raise SystemExit(f"{name}: runs from {first} on are not what simulate gives")
        print(f"{len(files)} files read; 12 blocks are what simulate gives, bit for bit")
        print(f"{len(self.orphans)} workers of killed parents live on")
        print("\n| disturbed by | what the call said | times |\n|---|---|--:|")
        for (fault, said), times in sorted(self.said.items()):
            print(f"| {fault} | {said} | {times} |")
        print("\n| process lived, min | memory after a minute, MB | in the end, MB |\n|--:|--:|--:|")
        for samples in self.memory.values():
            after = [size for when, size in samples if when > samples[0][0] + 60]
            if len(after) > 360:  # three minutes
                lived = (samples[-1][0] - samples[0][0]) / 60
                print(f"| {lived:.0f} | {after[0]:.0f} | {np.nanmedian(after[-20:]):.0f} |")


def fill(path):
    """Write until nothing more fits."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(2**16))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="on a small file system of its own")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="of when what happens (default: 0)")
    parser.add_argument("--runs", type=int, help=argparse.SUPPRESS)  # the call that is disturbed
    asked = parser.parse_args()
    if asked.runs:
        return call(asked.folder / "sweep", asked.runs)
    if shutil.disk_usage(asked.folder).free > SMALL:
        parser.error(f"folder: {asked.folder} has more than a gigabyte free; mount a small file system there")
    soak = Soak(asked.folder, 60 * asked.minutes, asked.seed)
    soak.play()
    soak.verdict()


if __name__ == "__main__":
    main()

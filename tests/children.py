"""What tests kill: a player that plays from a file for ever, and a sweep, `python tests/children.py FOLDER [HOW]`.

With pool, the sweep is played by another process, whose number it writes to FOLDER.worker.
"""

import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import jaxbandit
from jaxbandit import UCBSM, Uniform, two_state

NAMES = ["red", "green", "blue"]
STATES = {"ignored": 0.0, "clicked": 1.0}
ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])


def player(store, policy=None, key=0, **others):
    policy = policy or jaxbandit.IMEDMC()
    return jaxbandit.live.Player(policy, NAMES, states=STATES, store=store, key=key, snapshot=20, **others)


def play_for_ever(store, seed, told):
    """Play from a file; what was acknowledged is appended to the file TOLD, one JSON list a line."""
    chance, mine = random.Random(seed), []
    with open(told, "ab", buffering=0) as file, player(store) as one:

        def tell(*what):
            file.write(json.dumps(what).encode() + b"\n")

        while True:
            choice = one.choose()
            tell("choose", choice.id, choice.arm)
            mine.append(choice.id)
            if len(mine) > 3:
                answered = mine.pop(chance.randrange(len(mine)))
                state = chance.choice(list(STATES))
                one.learn(answered, state)
                tell("answer", answered, state)


def cases():
    common = {"scenarios": ARMS, "runs": 20, "times": [10, 3000, 9000], "chunk": 300}
    return {
        "short": {"policies": {"ucb": UCBSM(), "u": Uniform()}, "horizon": 9000, **common},
        "long": {"policies": {"ucb": [UCBSM(), UCBSM(2.0)]}, "horizon": 12000, "shuffle": True, **common},
    }


def digest(results):
    """One number for all counts."""
    total = hashlib.sha256()
    for name, result in sorted(results.items()):
        for label, visits in sorted(result.visits.items()):
            total.update(f"{name} {label} {visits.shape}".encode() + visits.tobytes())
    return total.hexdigest()


def on_dask(folder):
    """By two workers, one of which is killed once the first piece is written."""
    from distributed import Client, LocalCluster

    def kill_a_worker():
        while not list(folder.glob("*/runs-*.npz")):
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        (killer := threading.Thread(target=kill_a_worker)).start()
        results = jaxbandit.sweep(cases(), folder, executor=client.get_executor(), block=10, every=0.02)
        killer.join()
    return results


def main(folder, how="alone"):
    if how == "alone":
        return jaxbandit.sweep(cases(), folder, block=10, every=0.02, progress=False)
    if how == "dask":
        return on_dask(folder)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        Path(f"{folder}.worker").write_text(str(pool.submit(os.getpid).result()))
        return jaxbandit.sweep(cases(), folder, executor=pool, block=2, every=0.02)


if __name__ == "__main__":
    print(digest(main(Path(sys.argv[1]), *sys.argv[2:])))

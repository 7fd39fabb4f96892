"""A sweep to be killed: `python tests/sweep_child.py FOLDER [dask | pool]`.

With dask, it kills a worker itself; with pool, it plays on two processes and writes their numbers to FOLDER.workers.
"""

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from jaxbandit import UCBSM, Uniform, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])


def cases(runs=30):
    common = {"scenarios": ARMS, "runs": runs, "times": [10, 3000, 12000], "chunk": 300}
    return {
        "short": {"policies": {"ucb": UCBSM(), "u": Uniform()}, "horizon": 12000, **common},
        "long": {"policies": {"ucb": [UCBSM(), UCBSM(2.0)]}, "horizon": 20000, "shuffle": True, **common},
    }


def digest(results):
    """One number for all counts."""
    total = hashlib.sha256()
    for name in sorted(results):
        for label in sorted(results[name].visits):
            total.update(f"{name} {label} {results[name].visits[label].shape}".encode())
            total.update(results[name].visits[label].tobytes())
    return total.hexdigest()


def kill_a_worker(cluster, folder):
    """Once the first piece is written."""
    while not list(folder.glob("*/runs-*.npz")):
        time.sleep(0.01)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def with_dask(folder):
    from distributed import Client, LocalCluster

    from jaxbandit import sweep

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        killer = threading.Thread(target=kill_a_worker, args=(cluster, folder))
        killer.start()
        results = sweep(cases(), folder, executor=client.get_executor(), block=12, every=0.02)
        killer.join()
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != before  # the nanny has put another in its place
        return results


def with_pool(folder):
    from jaxbandit import sweep

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for started in [pool.submit(time.sleep, 0.5) for _ in range(2)]:
            started.result()
        Path(f"{folder}.workers").write_text(" ".join(map(str, pool._processes)))
        return sweep(cases(), folder, executor=pool, block=1, every=0.02)


def alone(folder):
    from jaxbandit import sweep

    return sweep(cases(), folder, block=12, every=0.02, progress=False)


def main(folder, how="alone"):
    print(digest({"alone": alone, "dask": with_dask, "pool": with_pool}[how](folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

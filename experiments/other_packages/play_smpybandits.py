"""Plays policies of SMPyBandits, run by a Python that has it: `python play_smpybandits.py REQUEST FOLDER`.

REQUEST is a JSON file with "horizon", "times", "seed" and "jobs". A job has a "name", the "means" of arms, the
"deviation" of Gaussian ones (null: Bernoulli), the name of a "policy", its "arguments" and the numbers of its "runs",
[first, end]. What it played is FOLDER/NAME.json: the job itself, "plays" [run][time][arm] and the "seconds" that one
processor spent. A job with such a file is not played again. FOLDER/evidence.json holds what the package's functions
return where we say that they are wrong.
"""

import contextlib
import importlib
import io
import json
import random
import sys
import time
import types
import zlib

import numpy as np
from job_files import asked, play_all, write


def lend_numba():
    """Give the package numba under the name by which it asks for it, and which numba has given up: 3 times faster."""
    try:
        import numba
    except ImportError:
        return
    former = types.ModuleType("numba.decorators")
    former.jit = numba.njit
    sys.modules["numba.decorators"] = former


def load():
    """The package's policies and our changes to them, Bernoulli arms and functions; it prints while it is imported."""
    lend_numba()
    with contextlib.redirect_stdout(io.StringIO()):
        policies = importlib.import_module("SMPyBandits.Policies")
        arms = importlib.import_module("SMPyBandits.Arms")
        imed = importlib.import_module("SMPyBandits.Policies.IMED")
        kullback = importlib.import_module("SMPyBandits.Policies.kullback")

    class MendedIMED(policies.IMED):
        """The divergence from the best mean, in the place of the mean at which a search found it least."""

        def one_Dinf(self, x, mu):  # noqa: N802
            return kullback.klBern(x, max(x, mu))

    class OrderedMeans(policies.EmpiricalMeans):
        """Ties go to the first arm of an order that is drawn once a run."""

        def startGame(self):  # noqa: N802
            super().startGame()
            self.order = np.random.permutation(self.nbArms)  # noqa: NPY002

        def choice(self):
            self.computeAllIndex()
            return max(self.order, key=lambda arm: self.index[arm])

    def mended_gauss(mean, radius, tolerance):
        """The bound with the variance that is meant: klUCB's third argument is its tolerance."""
        return kullback.klucbGauss(mean, radius)

    kullback.mended_gauss = mended_gauss
    changed = {"MendedIMED": MendedIMED, "OrderedMeans": OrderedMeans}
    return {**vars(policies), **changed}, arms, imed.Dinf, kullback


def play(policy, arms, times, horizon):
    """Plays of every arm at the times, [time][arm], by the package's own methods in their order."""
    plays, found, wanted = [0] * len(arms), [], set(times)
    policy.startGame()
    for t in range(1, horizon + 1):
        arm = int(policy.choice())
        policy.getReward(arm, arms[arm].draw(t))
        plays[arm] += 1
        if t in wanted:
            found.append(list(plays))
    return found


def arms_of(job, arms):
    """Its arms; Gaussian ones cut off where no reward is ever seen."""
    if job["deviation"] is None:
        return [arms.Bernoulli(mean) for mean in job["means"]]
    return [arms.Gaussian(mean, job["deviation"], -1e9, 1e9) for mean in job["means"]]


def play_job(job, request, policies, arms, kullback):
    """All runs of a job, each with random numbers of its own."""
    make = policies[job["policy"]]
    arms = arms_of(job, arms)
    given = {name: getattr(kullback, at) if name == "klucb" else at for name, at in job["arguments"].items()}
    play(make(len(arms), **given), arms, [], 50)  # compiles, where numba does
    plays, began = [], time.process_time()
    for run in range(*job["runs"]):
        words = [request["seed"], zlib.crc32(json.dumps([job["means"], job["policy"], job["arguments"]]).encode()), run]
        seeds = np.random.SeedSequence(words).generate_state(8)
        np.random.seed(seeds)  # noqa: NPY002
        random.seed(int(seeds[0]))
        plays.append(play(make(len(arms), **given), arms, request["times"], request["horizon"]))
    return {"job": job, "plays": plays, "seconds": time.process_time() - began}


def evidence(dinf, kullback, repetitions=1000, trials=200):
    """What some of its functions return; a run's seed is drawn as in its Evaluator."""
    draws = [np.unique(np.random.randint(0, 100 * repetitions, repetitions)).size for _ in range(trials)]  # noqa: NPY002
    return {
        "Dinf(0.2, 0.5)": float(dinf(0.2, 0.5)),
        "klBern(0.2, 0.5)": float(kullback.klBern(0.2, 0.5)),
        "kllcbBern(0.5, 0.2)": float(kullback.kllcbBern(0.5, 0.2)),
        "klucbGauss(0.5, 0.2, 1e-4)": float(kullback.klucbGauss(0.5, 0.2, 1e-4)),
        "runs of 1000 with the seed of another": float(repetitions - np.mean(draws)),
    }


def main():
    """Play what is not there yet."""
    request, folder = asked()
    policies, arms, dinf, kullback = load()
    write(folder / "evidence.json", evidence(dinf, kullback))
    play_all(request, folder, lambda job: play_job(job, request, policies, arms, kullback))


if __name__ == "__main__":
    main()

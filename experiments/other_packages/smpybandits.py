"""SMPyBandits 0.9.7: which of its policies we have as well, and how they are played in its own process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from experiments.other_packages.environment import clean
from jaxbandit import Policy
from jaxbandit.results.file import whole_file

NAME = "SMPyBandits 0.9.7"
# its Beta module imports `btdtri`, which scipy has given up in 1.14; numba is for speed and may be lacking
REQUIREMENTS = ["SMPyBandits==0.9.7", "numpy==2.2.*", "scipy<1.14", "numba"]
SCRIPT = Path(__file__).with_name("play_smpybandits.py")
BLOCK = 50  # runs of a job; what Ctrl-C loses
TO_COME = "its log t counts the rounds that are over, ours counts the one to come"
LISTS = "it makes each list at once, ours grows round by round as in the source"
LEAST = "it takes the mean at which the divergence is least for the divergence"
VARIANCE = "its tolerance, 1e-4, is passed where klucbGauss takes the variance"
ANEW = "ties are drawn anew in every round there, and go by the run's order of arms here"


class Pair(NamedTuple):
    """One policy in both packages."""

    label: str
    theirs: str  # the class
    arguments: dict[str, Any]
    ours: Policy
    why: str = ""  # in what the definitions differ
    most_runs: int = 1_000_000


def pairs(horizon: int) -> list[Pair]:
    """The policies that both have; some want the number of rounds that will be played."""
    known = {"horizon": horizon}
    return [
        Pair("UCB1", "UCB", {}, jaxbandit.UCB1()),
        Pair("UCB, alpha 1", "UCBalpha", {"alpha": 1}, jaxbandit.UCB1(bonus=0.5)),
        Pair("empirical means", "EmpiricalMeans", {}, jaxbandit.UCB1(bonus=0.0), ANEW),
        Pair("empirical means, ties by order", "OrderedMeans", {}, jaxbandit.UCB1(bonus=0.0)),
        Pair("KL-UCB, log t", "klUCB", {}, jaxbandit.KLUCB(exploration=0.0), TO_COME),
        Pair("KL-UCB, + 3 log log t", "klUCBloglog", {"c": 3}, jaxbandit.KLUCB(exploration=3.0), TO_COME),
        Pair("KL-UCB+", "klUCBPlus", {}, jaxbandit.KLUCB(exploration=0.0, clock="arm"), TO_COME),
        Pair("KL-UCB++", "klUCBPlusPlus", known, jaxbandit.KLUCB(horizon=float(horizon))),
        Pair("MOSS", "MOSSH", known, jaxbandit.MOSS(float(horizon))),
        Pair("MOSS, anytime", "MOSSAnytime", {"alpha": 1}, jaxbandit.MOSS(), TO_COME),
        Pair("DMED", "DMEDPlus", {}, jaxbandit.DMED(), LISTS),
        Pair("DMED, log n", "DMED", {}, jaxbandit.DMED(plus=False), LISTS),
        Pair("IMED", "IMED", {}, jaxbandit.IMED(), LEAST, most_runs=20),  # the search takes a millisecond a round
        Pair("IMED, mended", "MendedIMED", {}, jaxbandit.IMED()),
        Pair("Thompson", "Thompson", {}, jaxbandit.Thompson()),
        Pair("uniform", "Uniform", {}, jaxbandit.Uniform()),
    ]


def gaussian_pairs(horizon: int, deviation: float) -> list[Pair]:
    """Those for Gaussian arms; the package's own variance is 1/4."""
    known, family = {"horizon": horizon}, jaxbandit.families.Gaussian(deviation**2)
    log_t, plus_plus = jaxbandit.KLUCB(0.0, family=family), jaxbandit.KLUCB(horizon=float(horizon), family=family)
    return [
        Pair("UCB1", "UCB", {}, jaxbandit.UCB1()),
        Pair("UCB, alpha 1", "UCBalpha", {"alpha": 1}, jaxbandit.UCB1(bonus=0.5)),
        Pair("KL-UCB, log t", "klUCB", {"klucb": "klucbGauss"}, log_t, VARIANCE),
        Pair("KL-UCB, log t, mended", "klUCB", {"klucb": "mended_gauss"}, log_t, TO_COME),
        Pair("KL-UCB++", "klUCBPlusPlus", known | {"klucb": "klucbGauss"}, plus_plus, VARIANCE),
        Pair("KL-UCB++, mended", "klUCBPlusPlus", known | {"klucb": "mended_gauss"}, plus_plus),
        Pair("MOSS", "MOSSH", known, jaxbandit.MOSS(float(horizon))),
        Pair("uniform", "Uniform", {}, jaxbandit.Uniform()),
    ]


class Played(NamedTuple):
    """What the other package played of one policy in one problem."""

    plays: np.ndarray  # [R, T, K]
    seconds: float  # of one processor


def jobs(
    pair: Pair, problem: str, means: list[float], runs: int, deviation: float | None = None
) -> list[dict[str, Any]]:
    """Blocks of runs; a name is made of letters, digits and dashes."""
    what = "".join(letter if letter.isalnum() else "-" for letter in f"{problem}-{pair.label}".replace("+", "plus"))
    last = min(runs, pair.most_runs)
    return [
        {
            "name": f"{what}-{first}-{min(first + BLOCK, last)}",
            "means": means,
            "deviation": deviation,
            "policy": pair.theirs,
            "arguments": pair.arguments,
            "runs": [first, min(first + BLOCK, last)],
        }
        for first in range(0, last, BLOCK)
    ]


def play(python: Path, request: dict[str, Any], folder: Path) -> None:
    """Let the other Python play the jobs that have no file yet. Ctrl-C ends it, too, and keeps what is done.

    Raises:
      OSError: its process failed; it has said why.
    """
    folder.mkdir(exist_ok=True)
    with whole_file(folder / "request.json") as file:
        file.write(json.dumps(request).encode())
    left = sum(not (folder / f"{job['name']}.json").exists() for job in request["jobs"])
    print(f"{NAME} plays {left} of {len(request['jobs'])} blocks", flush=True)
    process = subprocess.Popen([python, SCRIPT, folder / "request.json", folder], env=clean())
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    if code:
        raise OSError(f"{NAME}: its process ended with {code}")


def read(folder: Path, blocks: list[dict[str, Any]]) -> Played:
    """What the blocks of one policy in one problem found.

    Raises:
      ValueError: a file holds something else than its job.
    """
    plays, seconds = [], 0.0
    for job in blocks:
        path = folder / f"{job['name']}.json"
        try:
            found = json.loads(path.read_text())
            same = found["job"] == job
            plays.append(np.array(found["plays"], int))
            seconds += float(found["seconds"])
        except (KeyError, TypeError, ValueError):
            same = False
        if not same:
            raise ValueError(f"{path}: holds no block of this job; delete it, and the same command plays it again")
    return Played(np.concatenate(plays), seconds)


def evidence(folder: Path) -> dict[str, float]:
    """What its functions returned."""
    found: dict[str, float] = json.loads((folder / "evidence.json").read_text())
    return found

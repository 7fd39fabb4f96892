"""SMPyBandits 0.9.7: which of its policies we have as well, and how they are played in its own process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from experiments.other_packages import blocks
from experiments.other_packages.blocks import Job, Package
from jaxbandit import Policy

NAME = "SMPyBandits 0.9.7"
# its Beta module imports `btdtri`, which scipy has given up in 1.14; numba is for speed and may be lacking
REQUIREMENTS = ["SMPyBandits==0.9.7", "numpy==2.2.*", "scipy<1.14", "numba"]
PACKAGE = Package(NAME, REQUIREMENTS, Path(__file__).with_name("play_smpybandits.py"))
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


def jobs(pair: Pair, problem: str, means: list[float], runs: int, deviation: float | None = None) -> list[Job]:
    """Blocks of runs."""
    job = {"means": means, "deviation": deviation, "policy": pair.theirs, "arguments": pair.arguments}
    return blocks.jobs(f"{problem}-{pair.label}", min(runs, pair.most_runs), BLOCK, job)


def read(folder: Path, asked: list[Job]) -> Played:
    """What the blocks of one policy in one problem found.

    Raises:
      ValueError: a file holds something else than its job.
    """
    return Played(*blocks.read(folder, asked, "plays"))


def evidence(folder: Path) -> dict[str, float]:
    """What its functions returned."""
    found: dict[str, float] = json.loads((folder / "evidence.json").read_text())
    return found

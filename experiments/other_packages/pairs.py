"""Which policies other packages have as well, and in what the definitions differ."""

from __future__ import annotations

from typing import Any, NamedTuple

import jaxbandit
from experiments.other_packages.packages import Package
from jaxbandit import IMEDRL, PSRL, UCRL2, Policy

# its Beta module imports `btdtri`, which scipy has given up in 1.14; numba is for speed
SMPYBANDITS = Package(
    "SMPyBandits 0.9.7", "play_smpybandits.py", ("SMPyBandits==0.9.7", "numpy==2.2.*", "scipy<1.14", "numba")
)
# it asks for a NumPy that has no wheels for Python 3.12, but works with a later one; its learners need no more than
# NumPy and scipy. Its successor, statrl, needs Python 3.14.
STATISTICALRL = Package(
    "statisticalrl-learners 2.2507",
    "play_statisticalrl.py",
    ("--no-deps", "statisticalrl-learners==2.2507", "numpy==2.2.*", "scipy==1.15.*"),
    block=10,
)
LOOPS = Package("scalar loops in numba, our own", "play_loops.py")

TO_COME = "its log t counts the rounds that are over, ours counts the one to come"
LISTS = "it makes each list at once, ours grows round by round as in the source"
LEAST = "it takes the mean at which the divergence is least for the divergence"
VARIANCE = "its tolerance, 1e-4, is passed where klucbGauss takes the variance"
ANEW = "ties are drawn anew in every round there, and go by the run's order of arms here"
TRIED = "ties go to the actions tried least there, and to the first one here"
ENDS = "an episode ends there before a pair would be played too often, and here after it was played often enough"


class Pair(NamedTuple):
    """One policy, ours and another package's."""

    label: str
    ours: Policy
    package: Package
    theirs: str  # the class, or the loop
    arguments: dict[str, Any] = {}  # noqa: RUF012
    why: str = ""  # in what the definitions differ
    most_runs: int = 1_000_000


def on_arms(horizon: int, deviation: float | None) -> list[Pair]:
    """The policies that SMPyBandits has, too, for Bernoulli arms, or for Gaussian ones with a standard deviation."""
    n, known = float(horizon), {"horizon": horizon}
    kl, ucb, there = jaxbandit.KLUCB, jaxbandit.UCB1, SMPYBANDITS
    both = [
        Pair("UCB1", ucb(), there, "UCB"),
        Pair("UCB, alpha 1", ucb(bonus=0.5), there, "UCBalpha", {"alpha": 1}),
        Pair("MOSS", jaxbandit.MOSS(n), there, "MOSSH", known),
        Pair("uniform", jaxbandit.Uniform(), there, "Uniform"),
    ]
    if deviation is not None:
        family = jaxbandit.families.Gaussian(deviation**2)
        log_t, plus_plus = kl(0.0, family=family), kl(horizon=n, family=family)
        theirs, mended = {"klucb": "klucbGauss"}, {"klucb": "mended"}
        return [
            *both,
            Pair("KL-UCB, log t", log_t, there, "klUCB", theirs, VARIANCE),
            Pair("KL-UCB, log t, mended", log_t, there, "klUCB", mended, TO_COME),
            Pair("KL-UCB++", plus_plus, there, "klUCBPlusPlus", known | theirs, VARIANCE),
            Pair("KL-UCB++, mended", plus_plus, there, "klUCBPlusPlus", known | mended),
        ]
    return [
        *both,
        Pair("empirical means", ucb(bonus=0.0), there, "EmpiricalMeans", why=ANEW),
        Pair("empirical means, ties by order", ucb(bonus=0.0), there, "OrderedMeans"),
        Pair("KL-UCB, log t", kl(exploration=0.0), there, "klUCB", why=TO_COME),
        Pair("KL-UCB, + 3 log log t", kl(exploration=3.0), there, "klUCBloglog", {"c": 3}, TO_COME),
        Pair("KL-UCB+", kl(exploration=0.0, clock="arm"), there, "klUCBPlus", why=TO_COME),
        Pair("KL-UCB++", kl(horizon=n), there, "klUCBPlusPlus", known),
        Pair("MOSS, anytime", jaxbandit.MOSS(), there, "MOSSAnytime", {"alpha": 1}, TO_COME),
        Pair("DMED", jaxbandit.DMED(), there, "DMEDPlus", why=LISTS),
        Pair("DMED, log n", jaxbandit.DMED(plus=False), there, "DMED", why=LISTS),
        Pair("IMED", jaxbandit.IMED(), there, "IMED", why=LEAST, most_runs=20),  # it searches a millisecond a round
        Pair("IMED, mended", jaxbandit.IMED(), there, "MendedIMED"),
        Pair("Thompson", jaxbandit.Thompson(), there, "Thompson"),
    ]


def on_processes() -> list[Pair]:
    """The learners that are also played by scalar loops of our own, and by statisticalrl-learners."""
    learned, published, delta = PSRL(rewards="learned"), IMEDRL(normalised=False), {"delta": 0.05}
    return [
        Pair("UCRL2", UCRL2(), LOOPS, "UCRL2", delta),
        Pair("UCRL2", UCRL2(), STATISTICALRL, "UCRL2.UCRL2", delta, TRIED, most_runs=100),
        Pair("UCRL2, ties by order", UCRL2(), STATISTICALRL, "OrderedUCRL2", delta, most_runs=100),
        Pair("PSRL", PSRL(), LOOPS, "PSRL", {"learned": False}),
        Pair("PSRL, rewards learned", learned, LOOPS, "PSRL", {"learned": True}),
        Pair("PSRL, rewards learned", learned, STATISTICALRL, "PSRL.PSRL", delta, ENDS, most_runs=100),
        Pair("IMED-RL", IMEDRL(), LOOPS, "IMED-RL", {"normalised": True}),
        Pair("IMED-RL, not normalised", published, LOOPS, "IMED-RL", {"normalised": False}),
        Pair("IMED-RL, not normalised", published, STATISTICALRL, "IMED_RL.IMEDRL", most_runs=20),
    ]

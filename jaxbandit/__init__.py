"""jaxbandit: bandits with Markovian rewards, thousands of runs in one compiled program."""

from importlib import import_module
from types import ModuleType

from jaxbandit import (
    bounds,
    chains,
    confidence,
    decision_processes,
    divergences,
    environments,
    families,
    indices,
    metrics,
    named_problems,
    policies,
    stress,
    testing,
)
from jaxbandit.base import Declares, Environment, Family, Feedback, Policy, Task, per_arm, pytree, static
from jaxbandit.cores import use_all_cores
from jaxbandit.environments import (
    MarkovArms,
    bernoulli,
    gaussian,
    hidden,
    markov,
    poisson,
    random_arms,
    restless,
    two_state,
)
from jaxbandit.fast import use_cache
from jaxbandit.interruption import StoppedWarning
from jaxbandit.known_arms import KnownArms
from jaxbandit.named_problems import atlas
from jaxbandit.policies import (
    ALL,
    CUSUM,
    DMED,
    DSEE,
    GLR,
    IMED,
    IMEDMC,
    IMEDRL,
    KLUCB,
    KLUCBMC,
    KLUCRL,
    MOSS,
    MUCB,
    PSRL,
    RCA,
    TUCRL,
    TVKLUCB,
    UCB1,
    UCBSM,
    UCBVI,
    UCRL2,
    UCRL2B,
    Discounted,
    DiscountedThompson,
    DiscountedUCB,
    EmpiricalKLUCB,
    Exp3,
    Exp3S,
    Gittins,
    GradientBandit,
    Hedge,
    HiddenMyopic,
    JointKLUCB,
    KnownBreaks,
    KnownProcess,
    LPPriority,
    Myopic,
    Oracle,
    PlugInGittins,
    PosteriorGittins,
    PosteriorWhittle,
    RegretMatching,
    Rexp3,
    RoundRobinKLUCB,
    SlidingWindowUCB,
    Thompson,
    ThompsonMC,
    TsallisINF,
    UCWhittle,
    Uniform,
    Whittle,
    WhittleBelief,
    WhittleLastSeen,
    Window,
    WithDetector,
)
from jaxbandit.results import Result
from jaxbandit.selection import top_arms
from jaxbandit.simulation import simulate
from jaxbandit.simulation.chance import run_keys
from jaxbandit.simulation.rounds import advance, initial_carry, play_round
from jaxbandit.sweeps import grid, load_sweep, sweep, to_xarray
from jaxbandit.version import __version__ as __version__

use_cache()

__all__ = [
    "IMEDRL",
    "KLUCRL",
    "PSRL",
    "TUCRL",
    "UCBVI",
    "UCRL2",
    "UCRL2B",
    "UCWhittle",
    "ALL",
    "CUSUM",
    "DMED",
    "DSEE",
    "Declares",
    "IMED",
    "IMEDMC",
    "KLUCB",
    "KLUCBMC",
    "Discounted",
    "DiscountedThompson",
    "DiscountedUCB",
    "EmpiricalKLUCB",
    "Environment",
    "Exp3",
    "Exp3S",
    "Family",
    "Feedback",
    "GLR",
    "Gittins",
    "GradientBandit",
    "Hedge",
    "HiddenMyopic",
    "JointKLUCB",
    "KnownArms",
    "KnownBreaks",
    "KnownProcess",
    "LPPriority",
    "MOSS",
    "MUCB",
    "MarkovArms",
    "Myopic",
    "Oracle",
    "PlugInGittins",
    "Policy",
    "RCA",
    "RegretMatching",
    "PosteriorGittins",
    "PosteriorWhittle",
    "Result",
    "Rexp3",
    "RoundRobinKLUCB",
    "SlidingWindowUCB",
    "StoppedWarning",
    "TVKLUCB",
    "Task",
    "Thompson",
    "ThompsonMC",
    "TsallisINF",
    "UCB1",
    "UCBSM",
    "Uniform",
    "WhittleBelief",
    "WhittleLastSeen",
    "Whittle",
    "Window",
    "WithDetector",
    "advance",
    "atlas",
    "bernoulli",
    "bounds",
    "chains",
    "confidence",
    "decision_processes",
    "divergences",
    "environments",
    "families",
    "gaussian",
    "grid",
    "hidden",
    "indices",
    "initial_carry",
    "load_sweep",
    "markov",
    "metrics",
    "per_arm",
    "play_round",
    "poisson",
    "pytree",
    "random_arms",
    "restless",
    "run_keys",
    "simulate",
    "static",
    "stress",
    "sweep",
    "testing",
    "to_xarray",
    "top_arms",
    "two_state",
    "use_all_cores",
]

_rooms = bounds, chains, confidence, divergences, environments, families, indices, metrics, policies, stress, testing
for _room in (*_rooms, decision_processes, named_problems, policies.memory):
    vars(_room)["__dir__"] = _room.__all__.copy  # completion shows public names, not imports


def __getattr__(name: str) -> ModuleType:
    """Import `jaxbandit.plotting` at its first use, because importing matplotlib is slow."""
    if name == "plotting":
        return import_module("jaxbandit.plotting")
    raise AttributeError(f"module 'jaxbandit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "plotting", "policies"]

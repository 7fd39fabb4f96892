"""Policies, one family a file; `ALL` holds those that need no argument."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from jaxbandit.base import Policy
from jaxbandit.feedback import checked_table
from jaxbandit.policies.baselines import Oracle, Uniform
from jaxbandit.policies.beliefs import HiddenMyopic, Myopic
from jaxbandit.policies.changing import DiscountedThompson, DiscountedUCB, SlidingWindowUCB
from jaxbandit.policies.detectors import CUSUM, MUCB, KnownBreaks
from jaxbandit.policies.dmed import DMED
from jaxbandit.policies.empirical_kl_ucb import EmpiricalKLUCB
from jaxbandit.policies.epochs import DSEE
from jaxbandit.policies.exponential_weights import Exp3, Exp3S, Rexp3
from jaxbandit.policies.forgetting import Discounted, Window
from jaxbandit.policies.gradient import GradientBandit
from jaxbandit.policies.imed import IMED
from jaxbandit.policies.imed_mc import IMEDMC
from jaxbandit.policies.imed_rl import IMEDRL
from jaxbandit.policies.joint_kl_ucb import JointKLUCB
from jaxbandit.policies.kl_ucb import KLUCB, RoundRobinKLUCB
from jaxbandit.policies.kl_ucrl import KLUCRL
from jaxbandit.policies.known_chains import Gittins, Whittle
from jaxbandit.policies.known_process import KnownProcess
from jaxbandit.policies.learned_gittins import PlugInGittins, PosteriorGittins
from jaxbandit.policies.likelihood_ratio import GLR
from jaxbandit.policies.lp_priority import LPPriority
from jaxbandit.policies.posterior_whittle import PosteriorWhittle
from jaxbandit.policies.psrl import PSRL
from jaxbandit.policies.regenerative import RCA
from jaxbandit.policies.thompson import Thompson
from jaxbandit.policies.thompson_mc import ThompsonMC
from jaxbandit.policies.tsallis import TsallisINF
from jaxbandit.policies.tv_kl_ucb import KLUCBMC, TVKLUCB
from jaxbandit.policies.uc_whittle import UCWhittle
from jaxbandit.policies.ucb import MOSS, UCB1, UCBSM
from jaxbandit.policies.ucbvi import UCBVI
from jaxbandit.policies.ucrl2 import UCRL2
from jaxbandit.policies.ucrl2b import TUCRL, UCRL2B
from jaxbandit.policies.whittle_belief import WhittleBelief
from jaxbandit.policies.whittle_last_seen import WhittleLastSeen
from jaxbandit.policies.with_detector import WithDetector

__all__ = [
    "ALL",
    "CUSUM",
    "DMED",
    "DSEE",
    "Discounted",
    "DiscountedThompson",
    "DiscountedUCB",
    "EmpiricalKLUCB",
    "Exp3",
    "Exp3S",
    "GLR",
    "Gittins",
    "GradientBandit",
    "HiddenMyopic",
    "IMED",
    "IMEDMC",
    "IMEDRL",
    "JointKLUCB",
    "KLUCB",
    "KLUCBMC",
    "KLUCRL",
    "KnownBreaks",
    "KnownProcess",
    "LPPriority",
    "MOSS",
    "MUCB",
    "Myopic",
    "Oracle",
    "PSRL",
    "RCA",
    "PlugInGittins",
    "PosteriorGittins",
    "PosteriorWhittle",
    "Rexp3",
    "RoundRobinKLUCB",
    "SlidingWindowUCB",
    "TUCRL",
    "TVKLUCB",
    "Thompson",
    "ThompsonMC",
    "TsallisINF",
    "UCB1",
    "UCBSM",
    "UCBVI",
    "UCRL2",
    "UCRL2B",
    "UCWhittle",
    "Uniform",
    "WhittleBelief",
    "WhittleLastSeen",
    "Whittle",
    "Window",
    "WithDetector",
]

# label to class, for every policy that can be made without arguments; the contract tests run over it
ALL: dict[str, type[Policy]] = {
    policy.__name__: policy
    for policy in (
        UCBSM,
        KLUCB,
        RoundRobinKLUCB,
        KLUCBMC,
        TVKLUCB,
        UCB1,
        IMED,
        IMEDMC,
        JointKLUCB,
        MOSS,
        DMED,
        EmpiricalKLUCB,
        Thompson,
        ThompsonMC,
        GradientBandit,
        RCA,
        DSEE,
        PlugInGittins,
        PosteriorGittins,
        Uniform,
    )
}


def _with_table_checked(init: Callable[..., Any]) -> Callable[..., Any]:
    """A policy's `init` that refuses what is no reward table, and says what one is."""

    @wraps(init)
    def checked(policy: Policy, reward: Any, *given: Any, **named: Any) -> Any:
        return init(policy, checked_table(reward), *given, **named)

    return checked


for _policy in map(globals().get, __all__):
    if hasattr(_policy, "scores"):
        _policy.init = _with_table_checked(_policy.init)  # type: ignore[union-attr]

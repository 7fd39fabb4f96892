"""Policies, one family a file; `ALL` holds the policies without arguments for stationary arms."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from jaxbandit.base import Policy
from jaxbandit.feedback import checked_table
from jaxbandit.members import has_methods
from jaxbandit.policies.chains.bayes_gittins import BayesGittins
from jaxbandit.policies.chains.bayes_optimal import BayesOptimal
from jaxbandit.policies.chains.hidden_thompson import HiddenThompson
from jaxbandit.policies.chains.imed_mc import IMEDMC
from jaxbandit.policies.chains.joint_kl_ucb import JointKLUCB
from jaxbandit.policies.chains.learned_gittins import PlugInGittins, PosteriorGittins
from jaxbandit.policies.chains.thompson_mc import ThompsonMC
from jaxbandit.policies.chains.tv_kl_ucb import KLUCBMC, TVKLUCB
from jaxbandit.policies.changing.detectors import CUSUM, MUCB, KnownBreaks
from jaxbandit.policies.changing.exp4 import Exp4
from jaxbandit.policies.changing.experts import Hedge, RegretMatching
from jaxbandit.policies.changing.exponential_weights import Exp3, Exp3S, Rexp3
from jaxbandit.policies.changing.forgetful import DiscountedUCB, SlidingWindowUCB
from jaxbandit.policies.changing.glr import GLR
from jaxbandit.policies.changing.high_probability import Exp3IX, Exp3P
from jaxbandit.policies.changing.tsallis import TsallisINF
from jaxbandit.policies.changing.with_detector import WithDetector
from jaxbandit.policies.identify.blocks import Blocks
from jaxbandit.policies.identify.family_rule import FamilyGLR
from jaxbandit.policies.identify.fixed_budget import Budget, SequentialHalving
from jaxbandit.policies.identify.glr_rules import BernoulliGLR, ChainGLR
from jaxbandit.policies.identify.identification import Identify
from jaxbandit.policies.identify.sampling_rules import LUCB, RoundRobin, SuccessiveElimination, TopTwo
from jaxbandit.policies.identify.track_and_stop import TrackAndStop
from jaxbandit.policies.learned.learned_policy import Learned
from jaxbandit.policies.learned.networks import Exchangeable, Recurrent
from jaxbandit.policies.means.baselines import Oracle, Uniform
from jaxbandit.policies.means.boltzmann import Boltzmann
from jaxbandit.policies.means.dmed import DMED
from jaxbandit.policies.means.empirical_kl_ucb import EmpiricalKLUCB
from jaxbandit.policies.means.gradient import GradientBandit
from jaxbandit.policies.means.greedy import EpsilonGreedy, ExploreThenCommit
from jaxbandit.policies.means.imed import IMED
from jaxbandit.policies.means.kl_ucb import KLUCB, RoundRobinKLUCB
from jaxbandit.policies.means.moss import MOSS
from jaxbandit.policies.means.rescorla_wagner import RescorlaWagner
from jaxbandit.policies.means.soft import Soft
from jaxbandit.policies.means.thompson import DiscountedThompson, Thompson
from jaxbandit.policies.means.ucb import UCB1, UCBSM
from jaxbandit.policies.means.ucb1_normal import UCB1Normal
from jaxbandit.policies.means.ucb2 import UCB2
from jaxbandit.policies.means.variance_ucb import UCBV, UCB1Tuned
from jaxbandit.policies.parts import memory as memory
from jaxbandit.policies.parts.forgetting import Discounted, Window
from jaxbandit.policies.processes.imed_rl import IMEDRL
from jaxbandit.policies.processes.kl_ucrl import KLUCRL
from jaxbandit.policies.processes.known_process import KnownProcess
from jaxbandit.policies.processes.psrl import PSRL
from jaxbandit.policies.processes.ucbvi import UCBVI
from jaxbandit.policies.processes.ucrl2 import UCRL2
from jaxbandit.policies.processes.ucrl2b import TUCRL, UCRL2B
from jaxbandit.policies.restless.beliefs import HiddenMyopic, Myopic
from jaxbandit.policies.restless.decentralised_dsee import DecentralisedDSEE
from jaxbandit.policies.restless.dsee import DSEE
from jaxbandit.policies.restless.follow_virtual_advice import FollowVirtualAdvice
from jaxbandit.policies.restless.known_chains import Gittins, Whittle
from jaxbandit.policies.restless.lp_priority import LPPriority
from jaxbandit.policies.restless.lp_update import LPUpdate
from jaxbandit.policies.restless.posterior_whittle import PosteriorWhittle
from jaxbandit.policies.restless.rca import RCA
from jaxbandit.policies.restless.two_set import TwoSet
from jaxbandit.policies.restless.uc_whittle import UCWhittle
from jaxbandit.policies.restless.whittle_belief import WhittleBelief
from jaxbandit.policies.restless.whittle_last_seen import WhittleLastSeen
from jaxbandit.policies.spending.mixture_kl_ucb import MixtureKLUCB
from jaxbandit.policies.spending.primal_dual import PrimalDualBwK
from jaxbandit.policies.spending.ratio_kl_ucb import RatioKLUCB

__all__ = [
    "ALL",
    "BayesGittins",
    "BayesOptimal",
    "BernoulliGLR",
    "Blocks",
    "Boltzmann",
    "Budget",
    "ChainGLR",
    "CUSUM",
    "DecentralisedDSEE",
    "Discounted",
    "DiscountedThompson",
    "DiscountedUCB",
    "DMED",
    "DSEE",
    "EmpiricalKLUCB",
    "EpsilonGreedy",
    "Exchangeable",
    "Exp3",
    "Exp3IX",
    "Exp3P",
    "Exp3S",
    "Exp4",
    "ExploreThenCommit",
    "FamilyGLR",
    "FollowVirtualAdvice",
    "Gittins",
    "GLR",
    "GradientBandit",
    "Hedge",
    "HiddenMyopic",
    "HiddenThompson",
    "Identify",
    "IMED",
    "IMEDMC",
    "IMEDRL",
    "JointKLUCB",
    "KLUCB",
    "KLUCBMC",
    "KLUCRL",
    "KnownBreaks",
    "KnownProcess",
    "Learned",
    "LPPriority",
    "LPUpdate",
    "LUCB",
    "MixtureKLUCB",
    "MOSS",
    "MUCB",
    "Myopic",
    "Oracle",
    "PlugInGittins",
    "PosteriorGittins",
    "PosteriorWhittle",
    "PrimalDualBwK",
    "PSRL",
    "RatioKLUCB",
    "RCA",
    "Recurrent",
    "RegretMatching",
    "RescorlaWagner",
    "Rexp3",
    "RoundRobin",
    "RoundRobinKLUCB",
    "SequentialHalving",
    "SlidingWindowUCB",
    "Soft",
    "SuccessiveElimination",
    "Thompson",
    "ThompsonMC",
    "TopTwo",
    "TrackAndStop",
    "TsallisINF",
    "TwoSet",
    "TUCRL",
    "TVKLUCB",
    "UCB1",
    "UCB1Normal",
    "UCB1Tuned",
    "UCB2",
    "UCBSM",
    "UCBV",
    "UCBVI",
    "UCRL2",
    "UCRL2B",
    "UCWhittle",
    "Uniform",
    "Whittle",
    "WhittleBelief",
    "WhittleLastSeen",
    "Window",
    "WithDetector",
]

# label to class, for every policy without arguments for stationary arms; the contract tests run over it
ALL: dict[str, type[Policy]] = {
    policy.__name__: policy
    for policy in (
        UCBSM,
        KLUCB,
        RoundRobinKLUCB,
        KLUCBMC,
        TVKLUCB,
        UCB1,
        UCB2,
        UCB1Normal,
        UCB1Tuned,
        UCBV,
        IMED,
        IMEDMC,
        JointKLUCB,
        MOSS,
        DMED,
        EmpiricalKLUCB,
        Thompson,
        ThompsonMC,
        GradientBandit,
        EpsilonGreedy,
        Boltzmann,
        RCA,
        DSEE,
        PlugInGittins,
        PosteriorGittins,
        Uniform,
    )
}


def _with_table_checked(init: Callable[..., Any]) -> Callable[..., Any]:
    """A policy's `init` that raises ValueError for anything but a reward table."""

    @wraps(init)
    def checked(policy: Policy, reward: Any, *states: Any, **named: Any) -> Any:
        return init(policy, checked_table(reward), *states, **named)

    return checked


for _policy in map(globals().get, __all__):
    if has_methods(_policy, "scores"):
        _policy.init = _with_table_checked(_policy.init)  # type: ignore[union-attr]

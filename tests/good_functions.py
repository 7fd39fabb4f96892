"""A good call of every public function of numbers and of results, small and fast, as in `good_calls`."""

from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from bad_input import Call
from good_calls import ARMS, CASE, COUNTS, FOLDER, IID, KEY, PAID, ROWS, RUN, STARTS

import jaxbandit
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
    plotting,
)

UCB1 = jaxbandit.UCB1()
CHANCE = jaxbandit.run_keys(KEY, np.arange(2))


@cache
def result() -> jaxbandit.Result:
    policies = {"KL": jaxbandit.KLUCB(), "U": [jaxbandit.UCBSM(1.0), jaxbandit.UCBSM(2.0)]}
    return jaxbandit.simulate(ARMS, policies, **RUN | {"runs": 20})


@cache
def changing() -> jaxbandit.Result:
    arms = environments.piecewise([2], [[0.5, 0.4], [0.4, 0.5]])
    return jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB()}, **RUN)


@cache
def saved() -> Path:
    result().save(FOLDER / "result.npz")
    return FOLDER / "result.npz"


@cache
def swept_once() -> Path:
    jaxbandit.sweep({"a": CASE}, FOLDER / "swept", progress=False)
    return FOLDER / "swept"


def advanced(**given: Any) -> Any:
    """Play a few rounds from a carry made anew, as the one given is used up."""
    fresh = given["carry"] is None
    return jaxbandit.advance(**given | ({"carry": jaxbandit.initial_carry(ARMS, UCB1, CHANCE)} if fresh else {}))


def _compiled(function: Any, **arguments: Any) -> Call:
    return Call(function, arguments, compiled=True)


NUMBERS = {
    "chains.recurrent_classes": Call(chains.recurrent_classes, {"transition": ROWS[0]}),
    "chains.stationary": Call(chains.stationary, {"transition": ROWS[0]}),
    "chains.relative_values": Call(chains.relative_values, {"transition": ROWS[0], "reward": PAID[0]}),
    "chains.reward_gap": Call(chains.reward_gap, {"transition": ROWS[0], "reward": PAID[0]}),
    "chains.thresholds": Call(chains.thresholds, {"law": ROWS[0], "name": "law"}),
    "chains.relative_entropy": Call(chains.relative_entropy, {"p": ROWS[0], "q": ROWS[1]}),
    "chains.kl_rate": Call(chains.kl_rate, {"transition": ROWS[0], "other": ROWS[1]}),
    "chains.eigenvalue_gap": Call(chains.eigenvalue_gap, {"transition": ROWS[0], "symmetrise": True}),
    "decision_processes.long_run": Call(
        decision_processes.long_run, {"transition": ROWS, "reward": PAID, "policy": [0, 1]}
    ),
    "decision_processes.optimal": Call(decision_processes.optimal, {"transition": ROWS, "reward": PAID}),
    "decision_processes.episodes": Call(decision_processes.episodes, {"transition": ROWS, "reward": PAID, "steps": 2}),
    "decision_processes.hitting_times": Call(decision_processes.hitting_times, {"transition": ROWS}),
    "decision_processes.diameter": Call(decision_processes.diameter, {"transition": ROWS}),
    "decision_processes.structure": Call(decision_processes.structure, {"transition": ROWS}),
    "indices.gittins": Call(indices.gittins, {"transition": ROWS, "reward": PAID, "discount": 0.9}),
    "indices.gittins_value": Call(
        indices.gittins_value, {"transition": ROWS, "reward": PAID, "discount": 0.9, "initial": STARTS}
    ),
    "indices.whittle": Call(indices.whittle, {"active": ROWS, "passive": ROWS[::-1], "reward": PAID, "discount": 0.9}),
    "indices.relaxation": Call(indices.relaxation, {"active": ROWS, "passive": ROWS[::-1], "reward": PAID, "plays": 1}),
    "indices.with_start": Call(indices.with_start, {"transition": ROWS, "reward": PAID, "initial": STARTS}),
    "indices.rounds_to_record": Call(indices.rounds_to_record, {"discount": 0.9, "error": 0.01}),
    "bounds.lower": Call(bounds.lower, {"environment": ARMS, "gap": 0.1}),
    "bounds.lower_paper": Call(bounds.lower_paper, {"environment": ARMS}),
    "bounds.lai_robbins": Call(bounds.lai_robbins, {"environment": IID}),
    "bounds.family_lower": Call(bounds.family_lower, {"environment": IID, "family": families.Bernoulli(), "plays": 1}),
    "bounds.upper_asymptotic": Call(bounds.upper_asymptotic, {"environment": ARMS}),
    "bounds.upper_finite": Call(bounds.upper_finite, {"environment": ARMS, "times": [10.0, 100.0], "eps": 0.01}),
    "bounds.price_of_slow_arms": Call(
        bounds.price_of_slow_arms, {"environment": ARMS, "times": [100.0], "slowest": [0.1, 0.1], "failure": 0.001}
    ),
    "bounds.ucb_sm_constant": Call(
        bounds.ucb_sm_constant, {"environment": ARMS, "version": "2012", "gap": "multiplicative"}
    ),
    "bounds.ucb_sm_upper": Call(bounds.ucb_sm_upper, {"environment": ARMS, "L": 343.0}),
    "bounds.eigenvalue_condition": Call(bounds.eigenvalue_condition, {"environment": ARMS}),
    "divergences.bernoulli_kl": _compiled(divergences.bernoulli_kl, **{"p": [0.5, 0.2], "q": [0.4, 0.6]}),
    "divergences.total_variation": _compiled(divergences.total_variation, **{"p": ROWS[0], "q": ROWS[1]}),
    "divergences.squared_hellinger": _compiled(divergences.squared_hellinger, **{"p": ROWS[0], "q": ROWS[1]}),
    "divergences.jensen_shannon": _compiled(divergences.jensen_shannon, **{"p": ROWS[0], "q": ROWS[1]}),
    "divergences.kl": _compiled(divergences.kl, **{"p": ROWS[0], "q": ROWS[1]}),
    "divergences.farthest": _compiled(divergences.farthest, **{"rows": ROWS[0], "distance": "total_variation"}),
    "divergences.threshold": _compiled(divergences.threshold, **{"elapsed": [16, 81], "exponent": 0.25, "scale": 1.0}),
    "confidence.kl_upper": _compiled(
        confidence.kl_upper, **{"p": [0.5, 0.2], "radius": [0.1, 0.2], "solver": "halley"}
    ),
    "confidence.kl_lower": _compiled(
        confidence.kl_lower, **{"p": [0.5, 0.2], "radius": [0.1, 0.2], "solver": "halley"}
    ),
    "confidence.kl_bound": _compiled(
        confidence.kl_bound, **{"p": [0.5, 0.2], "radius": [0.1, 0.2], "upper": [True, False], "solver": "halley"}
    ),
    "confidence.kl_ball_max": _compiled(
        confidence.kl_ball_max, **{"p": [0.5, 0.5], "values": [0.0, 1.0], "radius": 0.5, "solver": "halley"}
    ),
    "confidence.family_upper": _compiled(
        confidence.family_upper, **{"mean": [0.5, 0.2], "radius": [0.1, 0.2], "family": families.Gaussian()}
    ),
    "confidence.stationary_mean_upper": _compiled(
        confidence.stationary_mean_upper,
        **{"transition": ROWS[0], "reward": PAID[0], "state": 0, "radius": 0.1, "solver": "halley"},
    ),
    "confidence.stationary_mean_lower": _compiled(
        confidence.stationary_mean_lower,
        **{"transition": ROWS[0], "reward": PAID[0], "state": 0, "radius": 0.1, "solver": "halley"},
    ),
    "confidence.chain_mean": _compiled(confidence.chain_mean, **{"counts": COUNTS, "reward": PAID[0], "gap": 0.1}),
    "confidence.chain_mean_upper": _compiled(
        confidence.chain_mean_upper, **{"counts": COUNTS, "reward": PAID[0], "level": 2.0}
    ),
    "confidence.chain_likelihood_ratio": _compiled(
        confidence.chain_likelihood_ratio, **{"counts": COUNTS, "reward": PAID[0], "mean": 0.5, "gap": None}
    ),
    "metrics.summary": Call(metrics.summary, {"values": [0.5]}),
    "metrics.median_interval": Call(metrics.median_interval, {"values": np.arange(20.0)}),
}

ROUNDS = {
    "top_arms": Call(jaxbandit.top_arms, {"scores": jnp.array([0.5, 0.7]), "plays": 1}),
    "run_keys": Call(jaxbandit.run_keys, {"key": KEY, "runs": np.arange(2), "arms": 2, "scenario": "a"}),
    "initial_carry": Call(jaxbandit.initial_carry, {"environment": ARMS, "policy": UCB1, "keys": CHANCE}),
    "advance": Call(
        advanced,
        {
            **{"environment": ARMS, "policy": UCB1, "keys": CHANCE, "carry": None},
            **{"first": 1, "length": 2, "times": [1, 2], "plays": 1},
        },
    ),
    "Feedback.of": Call(
        jaxbandit.Feedback.of,
        {"arm": 1, "reward": 1.0, "t": 3, "table": PAID, "state": 1, "before": 0, "pays": "after"},
    ),
    "pytree": Call(jaxbandit.pytree, {"cls": type("Empty", (), {})}),
    "static": Call(jaxbandit.static, {"default": 1}),
}


def _drawn(function: Any, **arguments: Any) -> Call:
    def draw(**given: Any) -> None:
        try:
            function(**given)
        finally:
            plt.close("all")

    return Call(draw, arguments)


@cache
def of_results() -> dict[str, Call]:
    """Calls that need a result."""
    one, of = {"result": result()}, {"result": result(), "label": "KL"}
    return {
        "Result.save": Call(lambda path: result().save(path), {"path": FOLDER / "other.npz"}, (OSError,)),
        "Result.load": Call(jaxbandit.Result.load, {"path": saved()}, (OSError,)),
        "load_sweep": Call(jaxbandit.load_sweep, {"folder": swept_once()}, (OSError,)),
        "Result.to_netcdf": Call(lambda path: result().to_netcdf(path), {"path": FOLDER / "other.nc"}, (OSError,)),
        "Result.hyperparameters": Call(lambda label: result().hyperparameters(label), {"label": "KL"}),
        "to_xarray": Call(jaxbandit.to_xarray, {"results": {"a=1": result()}, "a": [1]}),
        "metrics.regret": Call(metrics.regret, of),
        "metrics.regret_name": Call(metrics.regret_name, one),
        "metrics.dynamic_regret": Call(metrics.dynamic_regret, {"result": changing(), "label": "KL"}),
        "metrics.pseudo_regret": Call(metrics.pseudo_regret, of),
        "metrics.realised_regret": Call(metrics.realised_regret, of),
        "metrics.discounted_reward": Call(metrics.discounted_reward, of | {"discount": 0.9}),
        "metrics.best_share": Call(metrics.best_share, of),
        "metrics.best_arms": Call(metrics.best_arms, one),
        "metrics.linear_share": Call(metrics.linear_share, of | {"threshold": 0.1}),
        "metrics.paired_difference": Call(metrics.paired_difference, of | {"other": "U"}),
        "plotting.plot_regret": _drawn(
            plotting.plot_regret,
            **one | {"labels": ["KL"], "scenario": 0, "variant": 0, "quantiles": [0.9]},
            **{"bounds": [bounds.lower(ARMS)], "normalised": True, "logarithmic": True, "ax": None},
        ),
        "plotting.plot_pulls": _drawn(plotting.plot_pulls, **of, scenario=0, variant=0, ax=None),
        "plotting.plot_distribution": _drawn(
            plotting.plot_distribution, **one, labels=["KL"], scenario=0, variant=0, ax=None
        ),
        "plotting.plot_batches": _drawn(plotting.plot_batches, **of, batch=5, scenario=0, variant=0, ax=None),
        "plotting.plot_parameter": _drawn(
            plotting.plot_parameter,
            **one | {"values": [1.0, 2.0], "labels": ["U"], "parameter": "L", "lines": ["a", "b"], "scenario": 0},
            **{"quantiles": [0.9], "axis": "log", "logarithmic": True, "ax": None},
        ),
        "plotting.curve_style": Call(plotting.curve_style, {"number": 9}),
        "plotting.plot_heatmap": _drawn(
            plotting.plot_heatmap,
            values=[[1.0, 2.0]],
            rows=["a"],
            columns=["b", "c"],
            logarithmic=True,
            form="{:.0f}",
            ax=None,
        ),
    }


TESTING = {
    "testing.check_policy": Call(
        jaxbandit.testing.check_policy,
        {"policy": UCB1, "environment": ARMS, "arms": 2, "states": 2, "rounds": 2, "plays": 1},
        (AssertionError,),
    ),
    "testing.check_environment": Call(
        jaxbandit.testing.check_environment,
        {"environment": IID, "runs": 8, "plays": 8, "settle": 8},
        (AssertionError,),
    ),
}


STRESS = {
    "stress.over": Call(
        jaxbandit.stress.over,
        {
            **{"space": jaxbandit.stress.TwoStateSpace(), "policies": {"U": UCB1}, "panel": {"V": UCB1}, "problems": 2},
            **{"runs": 2, "horizon": 3, "plays": 1, "key": None, "folder": None, "progress": False},
        },
        (OSError,),
    ),
    "stress.worst": Call(
        jaxbandit.stress.worst,
        {
            **{"policy": UCB1, "space": jaxbandit.stress.TwoStateSpace(), "panel": {"V": UCB1}, "budget": 32},
            **{"number": 1, "runs": 2, "horizon": 3, "plays": 1, "key": None, "folder": None, "progress": False},
        },
        (OSError,),
    ),
}

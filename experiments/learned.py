"""How much of the way to the Bayes optimum do policies learn that are trained on the prior, and where do they fail?

Trains networks by policy gradients on pairs of arms from two priors, Bernoulli arms with uniform means and chains of
two states with uniform rows, for runs of 60 and of 1,000 rounds: a network over counts, and for 60 rounds a recurrent
one, too. They then play new pairs of arms beside every policy of the library that needs no argument. Prints and writes
(CSV) Bayes regret and the share of the way from the best of these policies to the optimum that is closed (for 1,000
rounds to BayesGittins, which knows the prior), with 95 % intervals over the pairs; the problems on which an opponent
makes each network lose most; and draws the training. Takes about an hour on two cores. Ctrl-C keeps what is done,
and the same command continues.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxbandit
from experiments.comparisons.two_states import playing_two_states
from jaxbandit import Learned, Policy, Result, learning, metrics, plotting, stress
from jaxbandit.bounds import bayes_optimum
from jaxbandit.command_line.experiment import begin, finish, play
from jaxbandit.command_line.options import Simulation, main, option
from jaxbandit.reports.pictures import Pictures, frameless, panels
from jaxbandit.reports.tables import Row, Tables
from jaxbandit.stress import IndependentSpace, PriorSpace, Space, TwoStateSpace

PRIORS = {"Bernoulli": [[1, 1], [1, 1]], "chains": [[[1, 1], [1, 1]]] * 2}
OPPONENTS: dict[str, Space] = {"Bernoulli": IndependentSpace(), "chains": TwoStateSpace(slowest=0.01)}
HORIZONS = {60: 128, 1000: 32}  # rounds of a run, and problems of a step
NETWORKS = {"counts": jaxbandit.Exchangeable(), "recurrent": jaxbandit.Recurrent()}
DISCOUNTS = (0.98, 0.995)
DEPTH = {"Bernoulli": 200, "chains": 60}
RESAMPLED = 2000  # times, for intervals of shares


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of training and comparison."""

    QUICK = Simulation.QUICK | {"runs": 4, "horizon": 60, "problems": 20, "steps": 5, "budget": 32}
    runs: int = option(16, "independent runs of each pair of arms")
    horizon: int = option(1000, "of the horizons 60 and 1,000, those up to here; at least 60")
    problems: int = option(1000, "pairs of arms drawn from each prior, on which all are compared")
    steps: int = option(2000, "of a training")
    budget: int = option(320, "problems that the opponent plays against each network")


def trained(folder: Path, name: str, horizon: int, network: str, settings: Settings) -> learning.Trained:
    """A network that is trained on a prior; Ctrl-C raises KeyboardInterrupt after its checkpoint is written."""
    place = folder / "training" / f"{name}, {horizon}, {network}"
    print(f"training for {name}, {horizon:,} rounds: {network}", flush=True)
    done = learning.train(
        Learned.of(NETWORKS[network], horizon=horizon, key=jax.random.key(settings.seed)),
        PriorSpace(PRIORS[name]),
        **{"steps": settings.steps, "runs": HORIZONS[horizon], "key": jax.random.key(settings.seed), "folder": place},
    )
    if len(done.regret) < settings.steps:
        raise KeyboardInterrupt
    return done


def cases(trainings: dict[str, dict[int, dict[str, learning.Trained]]], settings: Settings) -> dict[str, Any]:
    """A case for each prior and horizon: all its pairs of arms, on which everybody plays."""
    made = {}
    for number, (name, by_horizon) in enumerate(trainings.items()):
        random, space = np.random.default_rng([settings.seed, 7, number]), PriorSpace(PRIORS[name])
        arms = {str(n): space.problem(random.random(space.dimension)).arms for n in range(settings.problems)}
        for horizon in by_horizon:
            networks = {
                f"learned: {network}, trained for {rounds}": done.policy
                for rounds, each in by_horizon.items()
                for network, done in each.items()
            }
            players = networks | knowing(name, horizon) | playing_two_states()
            size = settings.size() | {"horizon": horizon, "times": [horizon], "random_numbers": "independent"}
            made[f"{name}, {horizon} rounds"] = {"scenarios": arms, "policies": players} | size
    return made


def knowing(name: str, horizon: int) -> dict[str, Policy]:
    """The policies that know the prior, the best of them first."""
    prior = PRIORS[name]
    gittins = {f"BayesGittins({b})": jaxbandit.BayesGittins.of(prior[:1], b, DEPTH[name]) for b in DISCOUNTS[::-1]}
    return ({"BayesOptimal": jaxbandit.BayesOptimal.of(prior, horizon)} if horizon <= 60 else {}) | gittins


def rows_of(name: str, result: Result) -> list[Row]:
    """Everybody's Bayes regret, the least first; of networks, the share of the way that is closed."""
    prior, horizon = name.split(",")[0], result.horizon
    regrets = {label: metrics.realised_regret(result, label)[:, 0, :, -1].mean(-1) for label in result.labels}
    best = min(playing_two_states(), key=lambda label: regrets[label].mean())
    reference = min(knowing(prior, horizon), key=lambda label: regrets[label].mean())
    rows: list[Row] = []
    if horizon <= 60:
        least = bayes_optimum(PRIORS[prior], horizon).regret
        rows.append({"policy": "the least there can be", "Bayes regret (95%)": f"{least:.3f}", "way closed (95%)": ""})
    for label in sorted(regrets, key=lambda label: regrets[label].mean()):
        seen = metrics.bayes_regret(result, label)
        row: Row = {
            "policy": label,
            "Bayes regret (95%)": f"{seen.mean[0, -1]:.3f} ({seen.low[0, -1]:.3f} to {seen.high[0, -1]:.3f})",
        }
        share = share_closed(regrets[best], regrets[label], regrets[reference])
        row["way closed (95%)"] = "{:.2f} ({:.2f} to {:.2f})".format(*share) if label.startswith("learned") else ""
        rows.append(row)
    return rows


def share_closed(best: np.ndarray, learned: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    """The share of the way from `best` to `reference` that is closed, regrets [N], with its interval by resampling."""
    gains = np.stack([best - learned, best - reference])
    picked = np.random.default_rng(0).integers(0, len(best), (RESAMPLED, len(best)))
    resampled = np.stack([gain[picked].mean(1) for gain in gains])
    with np.errstate(divide="ignore", invalid="ignore"):  # of very few pairs, the best may be as good as the reference
        low, high = np.nanquantile(resampled[0] / resampled[1], [0.025, 0.975])
        return float(gains[0].mean() / gains[1].mean()), float(low), float(high)


def failures(name: str, policy: Policy, horizon: int, settings: Settings) -> list[Row]:
    """The problems on which a network loses most to the best policy of a space's panel."""
    if importlib.util.find_spec("cmaes") is None:
        print('no search for failures: it needs the package cmaes (pip install -e ".[search]")')
        return []
    size = {
        "budget": settings.budget,
        "number": 3,
        "runs": 400,
        "horizon": horizon,
        "key": jax.random.key(settings.seed),
    }
    failed = stress.worst(policy, OPPONENTS[name], **size)  # type: ignore[call-overload]
    return [
        {
            "trained for": f"{name}, {horizon} rounds",
            "arms": each.problem.code.removeprefix("jaxbandit.environments."),
            "regret": each.regrets["the policy"].mean,
            "best": each.best,
            "its regret": each.regrets[each.best].mean,
            "avoidable (95%)": str(each.avoidable),
        }
        for each in failed
    ]


def draw(trainings: dict[str, dict[int, dict[str, learning.Trained]]], results: dict[str, Result]) -> Pictures:
    """The regret of each training over its steps, beside the best policy and the one that knows the prior."""
    figure, axes = panels(len(trainings), len(next(iter(trainings.values()))), squeeze=False)
    for row, (name, by_horizon) in zip(axes, trainings.items(), strict=True):
        for ax, (horizon, each) in zip(row, by_horizon.items(), strict=True):
            result = results[f"{name}, {horizon} rounds"]
            regrets = {label: float(metrics.bayes_regret(result, label).mean[0, -1]) for label in result.labels}
            for number, (network, done) in enumerate(each.items()):
                parts = np.array_split(done.regret, min(50, len(done.regret)))
                at = np.cumsum([len(part) for part in parts])
                ax.plot(
                    at, [part.mean() for part in parts], **plotting.curve_style(number), label=f"network: {network}"
                )
            for style, group in (("--", playing_two_states()), (":", knowing(name, horizon))):
                label = min(group, key=regrets.__getitem__)
                ax.axhline(regrets[label], color="black", linestyle=style, linewidth=1, label=label)
            ax.set_yscale("log")
            frameless(ax, title=f"{name}, {horizon:,} rounds", xlabel="steps of training", ylabel="Bayes regret")
            ax.legend(fontsize="small")
    figure.suptitle(
        "Regret of the training's own runs, a point for a fiftieth of the steps; lines: on new pairs of arms"
    )
    yield "learned", figure


def run(settings: Settings) -> dict[str, Result]:
    """Train, play, print what was seen and write the folder."""
    horizons = [n for n in HORIZONS if n <= settings.horizon]
    if not horizons:
        raise ValueError(f"horizon: {settings.horizon} is below 60, the shortest horizon that is compared")
    folder = begin("learned", settings, {})
    trainings = {
        name: {
            n: {net: trained(folder, name, n, net, settings) for net in NETWORKS if net == "counts" or n <= 60}
            for n in horizons
        }
        for name in PRIORS
    }
    results = play(cases(trainings, settings), folder)
    tables: Tables = {
        name.replace(", ", "_").replace(" ", "_"): (f"{name}: Bayes regret", rows_of(name, result))
        for name, result in results.items()
    }
    lost = [
        row
        for name, by_horizon in trainings.items()
        for n, each in by_horizon.items()
        for row in failures(name, each["counts"].policy, n, settings)
    ]
    if lost:
        tables["failures"] = "Where the network over counts loses most to the best of a panel", lost
    finish(folder, tables, draw(trainings, results))
    return results


if __name__ == "__main__":
    main(run, Settings, "learned", __doc__)

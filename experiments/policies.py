"""Every index policy of the library on a standard set of problems: what to choose, and what it risks.

The problems are Bernoulli arms, easy and hard to tell apart, Gaussian, Poisson and exponential arms, and the paper's
scenario 1, whose chains are not independent. Policies that know the rewards' family are told which it is; those that
need rewards in [0, 1], or tell an arm's states apart, play where rewards are such. Prints and writes (CSV) final regret
in every problem, the share of runs whose regret is linear and the mean of the worst 5 % of runs, and of each policy how
many times the least regret it pays at worst; draws all of it as one table of colours. Ctrl-C keeps what is done, and
the same command continues; runs may grow.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import jaxbandit
from experiments.comparisons.matrix import Matrix, draw
from jaxbandit import Environment, Family, Policy, Result, atlas, families
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports.tables import Row, Tables, final_table

CHAINS = "scenario 1"
FAMILIES: dict[str, Family] = {
    "Gaussian": families.Gaussian(variance=0.25),
    "Poisson": families.Poisson(),
    "exponential": families.Exponential(),
}


def problems() -> dict[str, Environment]:
    """Five arms of each kind, the best first; Gaussian rewards have the largest variance that those in [0, 1] can."""
    return {name: atlas[name].arms for name in ("easy Bernoulli", "hard Bernoulli", *FAMILIES, CHAINS)}


def on_means(family: Family | None, horizon: int) -> dict[str, dict[str, Policy]]:
    """Policies that need means and plays alone, by kind; None is the family of Bernoulli rewards."""
    kl, n = jaxbandit.KLUCB, float(horizon)
    return {
        "for any rewards": {
            "UCB1": jaxbandit.UCB1(),
            "UCB2": jaxbandit.UCB2(),
            "UCB1-Normal": jaxbandit.UCB1Normal(),
            "UCB-SM": jaxbandit.UCBSM(),
            "MOSS": jaxbandit.MOSS(horizon=n),
            "MOSS, anytime": jaxbandit.MOSS(),
            "gradient": jaxbandit.GradientBandit(),
        },
        "for a family": {
            "KL-UCB, log f": kl(family=family),
            "KL-UCB, log t": kl(exploration=0.0, family=family),
            "KL-UCB, Agrawal": kl(exploration=2.0, family=family),
            "KL-UCB+": kl(exploration=0.0, clock="arm", family=family),
            "KL-UCB++": kl(horizon=n, family=family),
            "KL-UCB-SM2": jaxbandit.RoundRobinKLUCB(family=family),
            "Lai and Robbins": jaxbandit.RoundRobinKLUCB(exploration=0.0, delta=0.1, family=family),
            "IMED": jaxbandit.IMED(family=family),
            "Thompson": jaxbandit.Thompson(family=family),
        },
    }


def on_states() -> dict[str, dict[str, Policy]]:
    """Policies that need rewards in [0, 1] or tell an arm's states apart, by kind."""
    return {
        "for rewards in [0, 1]": {
            "UCB1-Tuned": jaxbandit.UCB1Tuned(),
            "UCB-V": jaxbandit.UCBV(),
        },
        "for finitely many rewards": {
            "DMED": jaxbandit.DMED(),
            "DMED, log n": jaxbandit.DMED(plus=False),
            "empirical KL-UCB": jaxbandit.EmpiricalKLUCB(),
        },
        "for chains": {
            "KL-UCB-MC": jaxbandit.KLUCBMC(),
            "TV-KL-UCB": jaxbandit.TVKLUCB(),
            "IMED-MC": jaxbandit.IMEDMC(),
            "JointKLUCB": jaxbandit.JointKLUCB(exploration=0.0),
            "Thompson-MC": jaxbandit.ThompsonMC(),
        },
    }


def groups(name: str, horizon: int) -> dict[str, dict[str, Policy]]:
    """The policies that play a problem, by kind."""
    family = FAMILIES.get(name)
    return on_means(family, horizon) | (on_states() if family is None else {})


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each problem."""
    times = sorted({max(1, settings.horizon // 2), settings.horizon})
    planned = {}
    for name, arms in problems().items():
        kinds = groups(name, settings.horizon).values()
        policies = {label: policy for kind in kinds for label, policy in kind.items()}
        planned[name] = {"scenarios": {name: arms}, "policies": policies, "times": times, **settings.size()}
    return planned


def matrix(finals: dict[str, list[Row]]) -> Matrix:
    """Means and linear shares, policies by problems; nan where a policy does not play."""
    return Matrix.of({(str(row["policy"]), (name, "")): row for name, rows in finals.items() for row in rows})


def summary(seen: Matrix) -> list[Row]:
    """Of each policy its mean regret over the least of all policies, at worst among independent rewards and in all."""
    independent = seen.only([name for name, _ in seen.environments if name != CHAINS])
    rows: list[Row] = []
    for number, policy in enumerate(seen.policies):
        row: Row = {"policy": policy}
        for title, part in {"independent rewards": independent, "all problems": seen}.items():
            ratio, at = part.worst(number)
            row[title] = f"{ratio:,.1f} ({part.environments[at][0]})"
        rows.append(row | {"largest linear share": f"{np.nanmax(seen.linear[number]):.1%}"})
    return rows


def in_words(seen: Matrix) -> str:
    """Who is nearest to the best, and by how much."""
    everywhere = np.flatnonzero(~np.isnan(seen.ratio).any(1))
    sentences = []
    for title, policies in (("Of the policies that play all problems", everywhere), ("Of all", range(len(seen.mean)))):
        best = min(policies, key=lambda policy: seen.worst(policy)[0])
        ratio, at = seen.worst(best)
        where = seen.environments[at][0]
        sentences.append(
            f"{title}, {seen.policies[best]} is nearest to the least regret: at worst {ratio:,.1f} times ({where})."
        )
    return "\n".join(sentences)


def tabulate(finals: dict[str, list[Row]], settings: Simulation) -> Tables:
    """Of each problem a table, then the worst of each policy."""
    tables: Tables = {
        re.sub(r"\W+", "_", name): (f"{name}: final pseudo-regret after {settings.horizon:,} rounds", rows)
        for name, rows in finals.items()
    }
    tables["worst"] = ("Mean regret over the least of all policies, at worst", summary(matrix(finals)))
    return tables


def run(settings: Simulation) -> dict[str, Result]:
    """Play, print the tables and write the folder."""
    folder, results = begin_and_play("policies", settings, cases(settings), grows=True)
    finals = {name: final_table(result) for name, result in results.items()}
    seen = matrix(finals)
    title = f"mean final regret of {settings.runs:,} runs of {settings.horizon:,} rounds"
    figure = draw({title: seen}, {kind: len(each) for kind, each in groups(CHAINS, settings.horizon).items()})
    finish(folder, tabulate(finals, settings), [("policies", figure)], in_words(seen))
    return results


if __name__ == "__main__":
    main(run, Simulation, "policies", __doc__)

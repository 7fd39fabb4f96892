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

import jaxbandit
from experiments.comparisons.study import Matrix, Results, Study, draw_matrix, worst_table
from jaxbandit import Environment, Family, Policy, atlas, families
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Tables, final_table

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


def policies(name: str, arms: Environment, horizon: int) -> dict[str, Policy]:
    """The policies that play a problem."""
    return {label: policy for kind in groups(name, horizon).values() for label, policy in kind.items()}


def tabulate(results: Results, settings: Simulation) -> Tables:
    """Of each problem a table, then the worst of each policy."""
    seen = Matrix.of(results)
    independent = seen.only([name for name in results if name != CHAINS])
    tables: Tables = {
        re.sub(r"\W+", "_", name): (f"{name}: final pseudo-regret after {settings.horizon:,} rounds", final_table(each))
        for name, each in results.items()
    }
    worst = worst_table({"independent rewards": independent, "all problems": seen})
    return tables | {"worst": ("Mean regret over the least of all policies, at worst", worst)}


def draw(results: Results, settings: Simulation) -> Pictures:
    """All problems as one table of colours."""
    title = f"mean final regret of {settings.runs:,} runs of {settings.horizon:,} rounds"
    sizes = {kind: len(each) for kind, each in groups(CHAINS, settings.horizon).items()}
    yield "policies", draw_matrix({title: Matrix.of(results)}, sizes)


STUDY = Study("policies", problems, policies, tabulate, draw)
run = STUDY.run

if __name__ == "__main__":
    main(run, Simulation, "policies", __doc__)

"""Which policy pays where: what each saves, and what it risks.

Plays the paper's policies, those that explore less on the mean of a sample, and those that weigh the whole chain, in
the paper's scenarios and beside them: i.i.d. arms, and scenario 1 slowed down ("tenth": all its arms move a tenth as
often; "best20", "best1000": the best arm alone moves a 20th, a 1000th as often). Arms start in each state, and as their
stationary laws say. The scenarios alone mislead: in none of them is the best arm slow, so that giving up an arm early
costs little; where it is slow, a policy that does so settles on a wrong arm. Prints and writes (CSV) final regret and,
of every policy, the worst that it risks; draws all of it as one table of colours, with the share of runs whose regret
is linear. In scenario 4, whose arms hardly move, IMED-MC takes five minutes of a processor from state 0 alone. Ctrl-C
keeps what is done, and the same command continues; runs may grow.
"""

from __future__ import annotations

import re

from experiments.comparisons.study import Matrix, Results, Study, draw_matrix, worst_table
from experiments.published.scenarios import (
    OF_A_CLASS,
    SAMPLE_MEAN,
    SCENARIOS,
    WHOLE_CHAIN,
    beside_the_scenarios,
    playable,
    starts,
)
from experiments.published.scenarios import POLICIES as PAPER
from jaxbandit import MarkovArms, Policy, Result
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, final_table

GROUPS = {
    "the paper's": PAPER,
    "on the sample mean": SAMPLE_MEAN,
    "on whole chains": WHOLE_CHAIN | OF_A_CLASS,
}


def environments() -> dict[str, dict[str, MarkovArms]]:
    """Of each name its arms from every start."""
    return {name: starts(make) for name, make in SCENARIOS.items()} | beside_the_scenarios()


def policies(name: str, arms: MarkovArms, horizon: int) -> dict[str, Policy]:
    """Those that play arms with so many states."""
    everybody = {label: policy for group in GROUPS.values() for label, policy in group.items()}
    return playable(everybody, arms.reward.shape[1])


def name_table(result: Result) -> list[Row]:
    """Policies by starts: mean, half of its 95 % interval, linear share."""
    table: dict[str, Row] = {label: {"policy": label} for label in result.labels}
    for number, start in enumerate(result.scenarios):
        for row in final_table(result, number):
            mean, half = float(row["mean"]), (float(row["95% high"]) - float(row["95% low"])) / 2
            form = ",.1f" if mean < 1000 else ",.0f"
            linear = f"  {row['linear share']:.1%}" if float(row["linear share"]) > 0 else ""
            table[str(row["policy"])][start] = f"{mean:{form}} ± {half:{form}}{linear}"
    return list(table.values())


def parts(seen: Matrix) -> dict[str, Matrix]:
    """The paper's scenarios, and what is beside them."""
    names = list(dict.fromkeys(name for name, _ in seen.environments))
    beside = [name for name in names if name not in SCENARIOS]
    return {"in the paper's scenarios": seen.only(list(SCENARIOS)), "beside them": seen.only(beside)}


def tabulate(results: Results, settings: Simulation) -> Tables:
    """The worst of each policy, then a table for each name."""
    worst = worst_table(parts(Matrix.of(results)))
    tables: Tables = {"worst": ("What each policy risks: its mean regret over the least of all policies", worst)}
    for name, result in results.items():
        title = f"{name}: final pseudo-regret after {settings.horizon:,} rounds, mean ± half of its 95 % interval"
        tables[re.sub(r"\W+", "_", name).strip("_")] = (title + ", linear share", name_table(result))
    return tables


def draw(results: Results, settings: Simulation) -> Pictures:
    """Both parts as tables of colours."""
    sizes = {name: len(group) for name, group in GROUPS.items()}
    yield "front", draw_matrix(parts(Matrix.of(results)), sizes)


STUDY = Study("front", environments, policies, tabulate, draw)
run = STUDY.run

if __name__ == "__main__":
    main(run, Simulation, "front", __doc__)

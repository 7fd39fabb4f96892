"""Which policy pays where: what each saves, and what it risks.

Plays the paper's policies, those that explore less on the mean of a sample, and those that weigh the whole chain, in
the paper's scenarios and beside them: i.i.d. arms, and scenario 1 slowed down ("tenth": all its arms move a tenth as
often; "best20", "best1000": the best arm alone moves a 20th, a 1000th as often). Arms start in each state, and as their
stationary laws say. The scenarios alone mislead: in none of them is the best arm slow, so that giving up an arm early
costs little; where it is slow, a policy that does so settles on a wrong arm. Prints and writes (CSV) final regret and,
of every policy, the worst that it risks; draws all of it as one table of colours, and puts everything on one page
(report.html). In scenario 4, whose arms hardly move, IMED-MC takes five minutes of a processor from state 0 alone.
Ctrl-C keeps what is done, and the same command continues; runs may grow.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from experiments.comparisons.matrix import Matrix, draw
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
from jaxbandit import MarkovArms, Result
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, main
from jaxbandit.reports.page import Report
from jaxbandit.reports.tables import Row, Tables, final_table, write

INTRODUCTION = (
    "What a policy saves in some environments it may risk in others, and scenarios can mislead: in none of the paper's "
    "is the best arm slow, so that a policy which gives an arm up after a few bad plays loses little. Where the best "
    "arm alone is slow, the same policy settles on a wrong one and pays in every round. No policy can be good at both: "
    "what is given up early where that is right is given up early where it is wrong. So each policy stands here with "
    "what it saves and with what it risks."
)
CAPTION = (
    "Mean final regret and, where there are any, the share of runs with linear regret. Colours say how many times the "
    "least mean in the column that is; in bold the least of a column. At the right the worst of each row."
)
GROUPS = {
    "the paper's": PAPER,
    "on the sample mean": SAMPLE_MEAN,
    "on whole chains": WHOLE_CHAIN | OF_A_CLASS,
}


def environments() -> dict[str, dict[str, MarkovArms]]:
    """Of each name its arms from every start."""
    return {name: starts(make) for name, make in SCENARIOS.items()} | beside_the_scenarios()


def states(arms: dict[str, MarkovArms]) -> int:
    """How many states arms have."""
    return int(next(iter(arms.values())).reward.shape[1])


def cases(settings: Simulation) -> dict[str, Any]:
    """A case for each name, with all its starts."""
    policies = {label: policy for group in GROUPS.values() for label, policy in group.items()}
    times = sorted({max(1, settings.horizon // 2), settings.horizon})
    return {
        name: {"scenarios": arms, "policies": playable(policies, states(arms)), "times": times} | settings.size()
        for name, arms in environments().items()
    }


def final_rows(results: dict[str, Result]) -> list[Row]:
    """Final regret of every policy, name and start."""
    return [
        {"environment": name, "start": start, **row}
        for name, result in results.items()
        for number, start in enumerate(result.scenarios)
        for row in final_table(result, number)
    ]


def matrix(rows: list[Row]) -> Matrix:
    """Means and linear shares of `final_rows`, policies by environments; nan where a policy does not play."""
    return Matrix.of({(str(row["policy"]), (str(row["environment"]), str(row["start"]))): row for row in rows})


def name_table(rows: list[Row], name: str) -> list[Row]:
    """Policies by starts: mean, half of its 95 % interval, linear share."""
    table: dict[str, Row] = {}
    for row in rows:
        if row["environment"] == name:
            mean, half = float(row["mean"]), (float(row["95% high"]) - float(row["95% low"])) / 2
            digits = 1 if mean < 1000 else 0
            cell = f"{mean:,.{digits}f} ± {half:,.{digits}f}" + f"  {row['linear share']:.1%}" * (
                row["linear share"] > 0
            )
            table.setdefault(str(row["policy"]), {"policy": row["policy"]})[str(row["start"])] = cell
    return list(table.values())


def worst_table(seen: Matrix) -> list[Row]:
    """Of each policy where it pays most, times the least regret there, and its largest linear share."""
    rows: list[Row] = []
    for number, policy in enumerate(seen.policies):
        row: Row = {"policy": policy}
        for title, part in parts(seen).items():
            ratio, at = part.worst(number)
            row[f"{title}: times the least"] = f"{ratio:,.1f} ({', '.join(part.environments[at])})"
            risk = np.nanargmax(part.linear[number])
            where = f" ({', '.join(part.environments[risk])})" * bool(part.linear[number, risk] > 0)
            row["linear share " + title] = f"{part.linear[number, risk]:.1%}{where}"
        rows.append(row)
    return rows


def parts(seen: Matrix) -> dict[str, Matrix]:
    """The paper's scenarios, and what is beside them."""
    names = list(dict.fromkeys(name for name, _ in seen.environments))
    beside = [name for name in names if name not in SCENARIOS]
    return {"in the paper's scenarios": seen.only(list(SCENARIOS)), "beside them": seen.only(beside)}


def in_words(seen: Matrix) -> list[str]:
    """What follows from the numbers: who is nearest to the best in each part, and what it risks in the other."""

    def pays(part: Matrix, policy: int) -> str:
        ratio, at = part.worst(policy)
        where = f"{', '.join(part.environments[at])}; {part.linear[policy, at]:.1%} of its runs linear"
        return f"pays up to {ratio:,.1f} times the least mean regret ({where})"

    sentences = []
    for title, part in parts(seen).items():
        words = [f"{title.capitalize()} {seen.policies[part.best]} is nearest to the best and {pays(part, part.best)}"]
        words += [f"{name} it {pays(other, part.best)}" for name, other in parts(seen).items() if name != title]
        sentences.append("; ".join(words) + ".")
    together = f"In all environments together {seen.policies[seen.best]} is nearest to the best and "
    return [*sentences, f"{together}{pays(seen, seen.best)}."]


def tabulate(rows: list[Row], settings: Simulation) -> Tables:
    """The worst of each policy, then a table for each name."""
    seen = matrix(rows)
    tables: Tables = {}
    tables["worst"] = ("What each policy risks: its mean regret over the least of all policies", worst_table(seen))
    for name in dict.fromkeys(name for name, _ in seen.environments):
        title = f"{name}: final pseudo-regret after {settings.horizon:,} rounds, mean ± half of its 95 % interval"
        tables[re.sub(r"\W+", "_", name).strip("_")] = (title + ", linear share", name_table(rows, name))
    return tables


def run(settings: Simulation) -> list[Row]:
    """Play, print the tables and write the folder."""
    folder, results = begin_and_play("front", settings, cases(settings), grows=True)
    rows = final_rows(results)
    seen, tables = matrix(rows), tabulate(rows, settings)
    write(rows, folder / "final.csv")
    figure = draw(parts(seen), {name: len(policies) for name, policies in GROUPS.items()})
    size = f"{settings.runs:,} runs of {settings.horizon:,} rounds, seed {settings.seed}"
    captions = {"front": ("Regret by policy and environment", CAPTION)}
    report = Report("Which policy pays where", f"{INTRODUCTION} Here: {size}.", captions)
    finish(folder, tables, [("front", figure)], "\n".join(in_words(seen)), report=report)
    return rows


if __name__ == "__main__":
    main(run, Simulation, "front", __doc__)

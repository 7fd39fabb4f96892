"""Judge a policy: where it is good, where it fails, and by how much.

POLICY is an expression of the library's, as KLUCB or 'IMEDMC(exponent=0.5)', or a Python file and an expression that is
evaluated in it, as 'mine.py:Mine(scale=2.0)'. Several make, in addition, a table of all against all.

In this order: the contract (jaxbandit.testing.check_policy); the named problems (jaxbandit.atlas) that the policy does
not refuse; mean regret over a space of random problems (jaxbandit.stress.over); the worst problems that a search finds
(jaxbandit.stress.worst), as code, each with a picture; speed beside that of UCB1. Prints tables and writes them (CSV),
and puts everything on one page, report.html, that needs nothing but itself. Ctrl-C keeps what is done, and the same
command continues; a policy that was changed is played anew.

It takes minutes: the panel plays every named problem that a judged policy plays, and a program is compiled for every
shape of arms. With the defaults that may be a quarter of an hour; --quick takes less than a minute, as it plays only
named problems that share their programs. Restless arms that all pay take longer where there are eight to ten of them,
as computing the best gain of each problem takes seconds.
"""

from __future__ import annotations

from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.judging import atlas_card, report
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_spaces import chapters, space_from_text
from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.playing import ATLAS, judge
from jaxbandit.judging.policy_text import policies_of
from jaxbandit.timing import machine


def run(settings: Settings) -> Judgement:
    """Play, print the tables and write the folder."""
    asked, policies = settings.whole(), policies_of(settings.policies)
    parts = chapters(policies, space_from_text(settings.space), asked.horizon, asked.full)
    named = atlas_card.named_problems(asked.horizon)
    if asked.quick:
        parts, named = [], atlas_card.quick_problems(named, policies, asked.horizon)
    planned, left_out = atlas_card.cases(named, policies, asked.horizon, asked.runs, asked.key(ATLAS))
    for label in policies:
        in_a_space = any(label in part.policies for part in parts)
        if len(left_out[label]) == len(named) and not in_a_space:
            raise ValueError(f"{label}: plays no problem that there is: {next(iter(left_out[label].values()))}")
    folder = begin("judge", settings, {}, settings.default_folder(list(policies)))
    judgement = judge(policies, asked, parts, planned, left_out, folder)
    words = "\n\n".join("\n".join([label, *judgement.in_words(label)]) for label in policies)
    finish(folder, report.tables(judgement), report.pictures(judgement), words)
    about = f"Judged by jaxbandit on {machine.describe()}."
    report.write(folder / "report.html", judgement, about, settings.command())
    print(f"report: {folder / 'report.html'}")
    return judgement

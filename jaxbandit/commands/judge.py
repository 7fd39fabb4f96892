"""Judge a policy: where it is good, where it fails, and by how much.

POLICY is an expression of the library's, as KLUCB or 'IMEDMC(exponent=0.5)', or a Python file and an expression that is
evaluated in it, as 'mine.py:Mine(scale=2.0)'. Several make, in addition, a table of all against all.

In this order: the contract (jaxbandit.testing.check_policy); the named problems (jaxbandit.atlas) that the policy does
not refuse; mean regret over a space of random problems (jaxbandit.stress.over); the worst problems that a search finds
(jaxbandit.stress.worst), as code, each with a picture; speed beside that of UCB1. Prints tables and writes them (CSV),
and puts everything on one page, report.html, that needs nothing but itself. Ctrl-C keeps what is done, and the same
command continues; a policy that was changed is played anew.

Policies that stop with an answer, as 'Identify(delta=0.1)', are judged by their answers: how often they are wrong on
random problems, after how many rounds beside the lower bound, and on the problems that a search finds
(jaxbandit.stress.worst with objective="wrong answers").

It takes minutes: the panel plays every named problem that a judged policy plays, and a program is compiled for every
shape of arms. With the defaults that may be a quarter of an hour; --quick takes less than a minute, as it plays only
named problems that share their programs. Restless arms that all pay take longer where there are eight to ten of them,
as computing the best gain of each problem takes seconds.
"""

from __future__ import annotations

from jaxbandit import Policy, members, stress
from jaxbandit.command_line.experiment import begin, finish
from jaxbandit.judging import atlas_card, report
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_answers import judge_answers
from jaxbandit.judging.judged_spaces import chapters, middle, refused, space_from_text, until
from jaxbandit.judging.judgement import Judgement
from jaxbandit.judging.playing import ATLAS, judge
from jaxbandit.judging.policy_text import policies_of
from jaxbandit.timing import machine


def run(settings: Settings) -> Judgement | None:
    """Play, print the tables and write the folder."""
    asked, policies = settings.whole(), policies_of(settings.policies)
    if any(until(policy) for policy in policies.values()):
        _run_answers(settings, policies)
        return None
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


def _run_answers(settings: Settings, policies: dict[str, Policy]) -> None:
    """The same of policies that stop."""
    if others := [label for label, policy in policies.items() if members.accepted_error(policy) is None]:
        raise ValueError(f"{others[0]}: it does not stop with an error rate; judge it apart from policies that do")
    asked = settings.whole()
    parts = chapters(policies, space_from_text(settings.space), asked.horizon, asked.full)
    for label, policy in policies.items():
        if not any(label in part.policies for part in parts):
            reason = refused(label, policy, middle(stress.TwoStateSpace()), asked.horizon)
            raise ValueError(f"{label}: plays no space of problems that there is: {reason}")
    folder = begin("judge", settings, {}, settings.default_folder(list(policies)))
    tables, words, introduction = judge_answers(policies, asked, parts, folder)
    finish(folder, tables, (), words, report=introduction)

"""What was found of the policies, chapter by chapter, and what of it is told of one."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxbandit import Policy, Result
from jaxbandit.judging import failures
from jaxbandit.judging.failures import Failures
from jaxbandit.judging.judged_spaces import Chapter, middle
from jaxbandit.members import declares
from jaxbandit.reports.tables import Row
from jaxbandit.reports.verdicts import interval
from jaxbandit.stress import Survey

MOST = 5  # problems named in a sentence


@dataclasses.dataclass
class Judgement:
    """What was found.

    Fields:
      policies: those that are judged, by label.
      horizon, runs: of the named problems.
      contract: by label, whether it is kept, and the verdict.
      cards: by label, the rows of the named problems.
      left_out: by label, the named problems that the policy does not play, and why.
      surveys: mean regret over each chapter's space.
      worst: the worst problems of each policy in each chapter, and what everybody loses there; None without `cmaes`.
      speed: rows beside UCB1, of each group of arms.
    """

    policies: dict[str, Policy]
    horizon: int
    runs: int
    contract: dict[str, tuple[bool, str]]
    cards: dict[str, list[Row]]
    left_out: dict[str, dict[str, str]]
    surveys: list[tuple[Chapter, Survey]]
    worst: list[tuple[Failures, Result]] | None
    speed: list[Row]

    def in_words(self, label: str) -> list[str]:
        """A sentence or two of each part."""
        return [
            "It keeps the contract." if self.contract[label][0] else f"It {self.contract[label][1]}.",
            self._atlas(label),
            *self._spaces(label),
            *self._worst(label),
            *[
                f"It plays {row['million rounds/s']:,.1f} million rounds a second, {row['times UCB1']:.2f} times those "
                f"of UCB1 on the same arms, and takes {row['seconds to compile']:.1f} seconds to compile (UCB1 "
                f"{self.speed[0]['seconds to compile']:.1f})."
                for row in self.speed
                if row["policy"] == label
            ],
        ]

    def _atlas(self, label: str) -> str:
        rows, left_out = self.cards[label], self.left_out[label]
        sentence = f"Of {len(rows) + len(left_out)} named problems it plays {len(rows)}."
        if not rows:
            return sentence
        first, open_ = (sum(str(row["rank"]).startswith(rank) for row in rows) for rank in ("1 of", "1 to"))
        sentence += (
            f" On {first} of them it certainly has the least mean regret of the panel and itself, on {open_} it is not "
            f"told apart from the policy that has, and on {len(rows) - first - open_} another one has certainly less "
            "(differences paired run by run, 95 % for each problem)."
        )
        beaten = [row for row in rows if row["times the least"] != "" and float(row["more: 95% low"]) > 0]
        if beaten:
            worst = max(beaten, key=lambda row: float(row["times the least"]))
            value, low, high = (
                float(worst[name]) for name in ("more than the least", "more: 95% low", "more: 95% high")
            )
            more = interval(value, low, high)
            times = f"{worst['times the least']:,.1f} times the regret of {worst['by']}"
            sentence += f" At worst it has {times} ({worst['problem']}: {more} more)."
        shares = {str(row["problem"]): float(row["linear share"]) for row in rows if row["linear share"] != ""}
        linear = sorted((name for name, share in shares.items() if share >= 0.01), key=lambda name: -shares[name])
        if linear:
            names = ", ".join(f"{name} ({shares[name]:.0%})" for name in linear[:MOST])
            more = f" and {len(linear) - MOST} more" * (len(linear) > MOST)
            sentence += f" Regret of some of its runs is still linear at the end on {names}{more}."
        return sentence

    def _spaces(self, label: str) -> list[str]:
        sentences = []
        for chapter, survey in self.surveys:
            if label in chapter.policies:
                saved, best = survey.avoidable(label), min(survey.panel, key=lambda label: survey.regrets[label].mean())
                half, most = np.quantile(saved, [0.5, 0.9])
                all_pay = declares(middle(chapter.space)).paid == "all"
                sentences.append(
                    f"Over {chapter.title}, its mean regret is {survey.mean(label)}; of the panel {best} has least, "
                    f"{survey.mean(best)}{_apart(survey, label, best)}. Choosing the best of the panel on every "
                    f"problem would have saved {half:,.0f} or more on half of them, {most:,.0f} or more on a tenth, "
                    f"{saved.max():,.0f} at most." + (" Nobody in this comparison knows the chains." if all_pay else "")
                )
        return sentences or [
            "It plays no space of problems that there is, so that there is no mean over a space and no search for the "
            "worst problems."
        ]

    def _worst(self, label: str) -> list[str]:
        if self.worst is None:
            return [
                'No worst problems were searched for: the package cmaes is not installed (pip install -e ".[search]").'
            ]
        return [failures.in_words(search) for search, _ in self.worst if search.label == label]


def _apart(survey: Survey, label: str, best: str) -> str:
    """Whether the problems tell a policy apart from the best of the panel."""
    if label == best:
        return ""
    more = survey.difference(label, best)
    said = "so that it loses more" if more.low > 0 else "so that it loses less" if more.high < 0 else ""
    return f"; the difference, paired problem by problem, is {more}, {said or 'and does not tell the two apart'}"

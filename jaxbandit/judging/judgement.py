"""What was found of the policies, chapter by chapter, and what of it is told of one."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxbandit import Policy
from jaxbandit.judging import failures
from jaxbandit.judging.atlas_card import Line
from jaxbandit.judging.failures import Failures
from jaxbandit.judging.judged_spaces import Chapter, middle
from jaxbandit.judging.standings import CHANCE, Standing, standing_over
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
      cards: by label, the lines of the named problems.
      left_out: by label, the named problems that the policy does not play, and why.
      surveys: mean regret over each chapter's space.
      worst: the worst problems of each policy in each chapter; None without `cmaes`.
      speed: rows beside UCB1, of each group of arms.
      quick: what a quick look left out; empty otherwise.
    """

    policies: dict[str, Policy]
    horizon: int
    runs: int
    contract: dict[str, tuple[bool, str]]
    cards: dict[str, list[Line]]
    left_out: dict[str, dict[str, str]]
    surveys: list[tuple[Chapter, Survey]]
    worst: list[Failures] | None
    speed: list[Row]
    quick: str = ""

    def in_words(self, label: str) -> list[str]:
        """A sentence or two of each part, those of `in_short` first."""
        return [
            *self.in_short(label),
            "It keeps the contract." if self.contract[label][0] else f"It {self.contract[label][1]}.",
            *self._linear(label),
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

    def in_short(self, label: str) -> list[str]:
        """Where a policy is good, where it fails, and how certain that is; and how it compares with others judged."""
        lines, left_out = self.cards[label], self.left_out[label]
        if not lines:
            return [f"Of {len(left_out)} named problems it plays none."]
        few = f"{self.runs:,} runs of {self.horizon:,} rounds tell nobody apart: nothing is claimed."
        if not any(line.standing.ahead or line.standing.behind for line in lines):
            return [f"Of {len(lines) + len(left_out)} named problems it plays {len(lines)}. {few}"]
        return [self._good(lines, len(left_out)), self._bad(lines), self._certainty(lines), *self._beside(label)]

    def _good(self, lines: list[Line], left_out: int) -> str:
        first = [line for line in lines if line.standing.is_first]
        among = [line for line in lines if not line.standing.ahead and not line.standing.is_first]
        sentence = f"Good: of {len(lines) + left_out} named problems it plays {len(lines)}. It certainly has the least "
        sentence += f"regret on {len(first) or 'none'} of them"
        if ratios := [(line.standing.times, line) for line in first if line.standing.times]:
            times, line = min(ratios, key=lambda pair: pair[0].mean)
            sentence += (
                f" (most of all on {line.problem}: {interval(*times, ',.2f')} times that of {line.standing.best})"
            )
        return f"{sentence}, and on {len(among)} {'more ' * bool(first)}nobody certainly has less."

    def _bad(self, lines: list[Line]) -> str:
        beaten = [line for line in lines if line.standing.ahead]
        if not beaten:
            return "Bad: on none of them does another one certainly have less."
        sentence = f"Bad: on {len(beaten)} others certainly have less"
        ratios = [(line.standing.times, line) for line in beaten if line.standing.times and line.standing.times.low > 1]
        if ratios:
            times, line = max(ratios, key=lambda pair: pair[0].mean)
            stands = line.standing
            sentence += (
                f"; at worst it has {interval(*times, ',.2f')} times the regret of {stands.best} on {line.problem}"
            )
            sentence += f", {stands.more} more"
        return f"{sentence}."

    def _certainty(self, lines: list[Line]) -> str:
        heavy = [line.problem for line in lines if line.standing.heavy]
        sentence = (
            f"How certain: the chance that any of this is wrong is {100 * CHANCE:.0f} % at most, as far as means of so "
            f"many runs ({_runs(lines)}), paired run by run, are normal"
        )
        if heavy:
            sentence += f" (less so on {_listed(heavy)}, where a single run makes a fifth or more of the spread)"
        return f"{sentence}. What happens in less than one of so many runs is not seen."

    def _beside(self, label: str) -> list[str]:
        """How often a policy has certainly less, or more, than each of the others that are judged."""
        sentences = []
        for other in self.policies:
            both = [line.standing for line in self.cards[label] if other in _compared(line.standing)]
            if other != label and both:
                less, more = (
                    sum(other in labels for labels in each)
                    for each in ([stands.behind for stands in both], [stands.ahead for stands in both])
                )
                sentences.append(
                    f"Beside {other}: of the {len(both)} named problems that both play it has certainly less regret on "
                    f"{less} and certainly more on {more}; on {len(both) - less - more} the two are not told apart."
                )
        return sentences

    def _linear(self, label: str) -> list[str]:
        shares = {line.problem: line.linear for line in self.cards[label] if line.linear is not None}
        linear = sorted((name for name, share in shares.items() if share >= 0.01), key=lambda name: -shares[name])
        if not linear:
            return []
        names = _listed([f"{name} ({shares[name]:.0%})" for name in linear])
        return [f"Regret of some of its runs is still linear at the end on {names}."]

    def _spaces(self, label: str) -> list[str]:
        sentences = []
        for chapter, survey in self.surveys:
            if label in chapter.policies:
                saved, stands = survey.avoidable(label), standing_over(survey, label)
                half, most = np.quantile(saved, [0.5, 0.9])
                all_pay = declares(middle(chapter.space)).paid == "all"
                beside = f", and that of {stands.best}, the least of the others, is {stands.least:,.1f}"
                beside += f" (paired problem by problem, {stands.more} more): {_in_place(stands)}"
                sentences.append(
                    f"Over {chapter.title}, its mean regret is {survey.mean(label)}{beside * bool(stands.best)}. "
                    f"Choosing the best of the panel on every problem would have saved {half:,.0f} or more on half of "
                    f"them, {most:,.0f} or more on a tenth, {saved.max():,.0f} at most."
                    + (" Nobody in this comparison knows the chains." if all_pay else "")
                )
        if sentences or self.quick:
            return sentences
        return ["It plays no space of problems that there is: no mean over a space, no search for the worst problems."]

    def _worst(self, label: str) -> list[str]:
        if self.worst is None:
            return [
                'No worst problems were searched for: the package cmaes is not installed (pip install -e ".[search]").'
            ]
        return [failures.in_words(search) for search in self.worst if search.label == label]


def _in_place(stands: Standing) -> str:
    """A rank as the end of a sentence."""
    return "it is not told apart from anybody" if stands.rank == "undecided" else f"it is {stands.rank}"


def _runs(lines: list[Line]) -> str:
    least, most = min(line.runs for line in lines), max(line.runs for line in lines)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _compared(stands: Standing) -> list[str]:
    return [*stands.ahead, *stands.behind, *stands.open]


def _listed(names: list[str]) -> str:
    """The first names, and how many others there are."""
    return ", ".join(names[:MOST]) + f" and {len(names) - MOST} more" * (len(names) > MOST)

"""The paper's claims about simulated regret, as data, and all of them judged."""

from __future__ import annotations

from experiments.published.phases import phase_rows
from experiments.published.scenarios import INDEPENDENT, MIXED, SCENARIOS, ZERO, adaptive, all_arms
from jaxbandit import Result
from jaxbandit.reports.tables import Row, of_all
from jaxbandit.reports.verdicts import Claim, judge, judge_equality, judge_savings, saved

RESAMPLES = 2000


def _beats(better: str, where: dict[str, str]) -> list[Claim]:
    return [Claim(f"{better} beats {worse}", better, worse, place) for worse, place in where.items()]


def of_case(case: str, adaptive: str) -> list[Claim]:
    """Where not all arms are Markovian, by the case of theorem 1: (b) and (c) mixed arms, (d) i.i.d. arms."""
    better = _beats(adaptive, {"KL-UCB-MC": "section III"})
    if case == "d":
        return [*better, *_beats("KL-UCB-SM", {"KL-UCB-MC": "section III"})]
    return [*_beats(adaptive, dict.fromkeys(("UCB-SM", "KL-UCB-SM", "KL-UCB-SM2"), "section I")), *better]


CLAIMS = {
    "scenario 1": [
        *_beats("TV-KL-UCB", {"UCB-SM": "figure 1a", "KL-UCB-SM": "figure 1c", "KL-UCB-SM2": "figure 1c"}),
        *_beats("KL-UCB-SM", {"UCB-SM": "section IV"}),
    ],
    "scenario 2": _beats("TV-KL-UCB", {"UCB-SM": "figure 1b", "KL-UCB-SM": "figure 1d", "KL-UCB-SM2": "figure 1d"}),
    "scenario 3": _beats("m-TV-KL-UCB", {"UCB-SM": "figure 2a", "KL-UCB-SM": "figure 2c", "KL-UCB-SM2": "figure 2c"}),
    "scenario 4": _beats("m-TV-KL-UCB", {"UCB-SM": "figure 2b", "KL-UCB-SM": "figure 2d", "KL-UCB-SM2": "figure 2d"}),
}
# with those that need a policy or arms which a comparison in one scenario does not play
ALL_CLAIMS = CLAIMS | {
    "scenario 2": [
        *CLAIMS["scenario 2"],
        Claim("estimates that start at 1 beat those that start at 0", "TV-KL-UCB", ZERO, "section IV"),
    ],
    INDEPENDENT: [*of_case("d", "TV-KL-UCB"), *_beats("TV-KL-UCB", {"UCB-SM": "theorem 2"})],
    **{name: of_case(case, adaptive(all_arms()[name])) for name, case in MIXED.items()},
}


def judge_all(results: dict[str, Result]) -> list[Row]:
    """Every claim that is about simulated regret."""
    rows: list[Row] = []
    arms = all_arms()

    def add(scenario: str, judged: list[Row]) -> None:
        rows.extend({"claim": row["claim"], "scenario": scenario, **row} for row in judged)

    for name, claims in ALL_CLAIMS.items():
        add(name, judge(results[name], claims))
    for name in SCENARIOS:
        add(name, [judge_same(results[name], adaptive(arms[name]))])
    same = "where the estimates start does not matter"
    add("scenario 1", [judge_equality(results["scenario 1"], same, "TV-KL-UCB", ZERO, "section IV")])
    for two, three in (("scenario 1", "scenario 3"), ("scenario 2", "scenario 4")):
        # run j has the same random numbers in both scenarios, so that the same runs are drawn, by the same seed
        less = saved(results[two], "TV-KL-UCB", "KL-UCB-SM", RESAMPLES, seed=1)
        more = saved(results[three], "m-TV-KL-UCB", "KL-UCB-SM", RESAMPLES, seed=1)
        text = "m-TV-KL-UCB saves a larger share of KL-UCB-SM's regret than TV-KL-UCB"
        add(f"{three}, {two}", [judge_savings(text, "section IV", more, less)])
    return rows


def judge_same(result: Result, label: str) -> Row:
    """That where all arms are Markovian the test makes no difference."""
    return judge_equality(result, f"KL-UCB-MC does as well as {label}", label, "KL-UCB-MC", "appendix D")


def judge_phases(results: dict[str, Result]) -> list[Row]:
    """That the form of the paper's policy's index is the right one, in every scenario and for other arms."""
    arms = all_arms()
    return of_all("scenario", {name: phase_rows(result, arms[name]) for name, result in results.items()})

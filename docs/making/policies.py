"""The policies' table, formulas and pages: from the registry, the docstrings and `docs/policies.toml`."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import jaxbandit
from docs.making import ROOT
from docs.making.docstrings import words
from docs.making.measured import table
from jaxbandit import environments, policies
from jaxbandit.simulation.asking.contracts import check_task


def classes() -> dict[str, type]:
    """Every policy that the package exports: those of `jaxbandit.ALL` in their order, then those that need more."""
    named = {name: getattr(policies, name) for name in policies.__all__}
    rest = {name: thing for name, thing in named.items() if inspect.isclass(thing) and hasattr(thing, "scores")}
    return {**jaxbandit.ALL, **rest}


def descriptions() -> dict[str, dict[str, str]]:
    """What `docs/policies.toml` has on each policy."""
    return tomllib.loads((ROOT / "docs" / "policies.toml").read_text())


def about(name: str, description: dict[str, dict[str, str]]) -> dict[str, str]:
    """The description of one policy.

    Raises:
      KeyError: there are none; the message names the policy and what is missing.
    """
    for key in ("name", "formula", "assumes", "guarantee"):
        if not description.get(name, {}).get(key):
            raise KeyError(f"docs/policies.toml has no {key} for the policy {name}")
    return description[name]


def source(policy: type) -> str:
    """What a policy's docstring says after the word Source, or nothing."""
    match = re.search(r"^Source: (.*?)(?:\n\n|\Z)", inspect.getdoc(policy) or "", re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def write(folder: Path, rates: dict[str, str]) -> dict[Path, str]:
    """The tables of policies by what they need to be made, or are for; all formulas; a page for each policy."""
    described = descriptions()
    rows = {name: _row(name, policy, about(name, described)) for name, policy in classes().items()}
    speed = {name: rates.get(name) or rates.get(described[name]["name"], "") for name in rows}
    ready = [
        {"policy": row["policy"], "million rounds/s": speed[name]} | row
        for name, row in rows.items()
        if name in jaxbandit.ALL
    ]
    given_numbers = [row for name, row in rows.items() if name in MADE_OF_NUMBERS]
    known = [row for name, row in rows.items() if name in MADE_OF_ARMS]
    learning = [row for name, row in rows.items() if name in MADE_FOR_PROCESSES]
    spending = [row for name, row in rows.items() if name in MADE_FOR_PURSES]
    formulas = [_formula(name, policy, described[name]) for name, policy in classes().items()]
    pages = {
        folder / "policies" / f"{name}.md": _page(name, policy, described[name], rows[name], speed[name])
        for name, policy in classes().items()
    }
    return pages | {
        folder / "parts" / "policies.md": table(ready),
        folder / "parts" / "given_numbers.md": table(given_numbers),
        folder / "parts" / "known.md": table(known),
        folder / "parts" / "learning.md": table(learning),
        folder / "parts" / "spending.md": table(spending),
        folder / "parts" / "formulas.md": "\n".join(formulas),
    }


def _row(name: str, policy: type, description: dict[str, str]) -> dict[str, str]:
    states = f"{description['states']} states" if "states" in description else ""
    return {
        "policy": f"[`{name}`](/generated/policies/{name}.md)<br>{description['name']}",
        "assumes": _linked(description["assumes"]),
        "arms it plays": ", ".join(filter(None, [kinds(policy), states, _rewards(policy)])) or "all",
        "regret": _linked(description["guarantee"]),
        "source": words(re.split(r"(?<=[a-z0-9)])(?:[.:;](?:\s|$)|, with)", source(policy))[0]) or "-",
    }


TWO = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
KINDS = {
    "rested": TWO,
    "restarting": environments.restarting(TWO, 0.9),
    "restless": environments.restless(TWO.transition, (0, 1)),
    "observed": environments.restless(TWO.transition, (0, 1), observed=True),
    "hidden": environments.hidden(TWO.transition, TWO.transition),
    "costly": environments.costly(TWO, 1, purse=100, horizon=1000),
}
PROCESS, EPISODES = environments.riverswim(), environments.riverswim(steps=20)
PLAYERS = environments.colliding(KINDS["restless"], 2)
MADE_OF_ARMS = {  # how to make the policies that know the arms, or their prior
    "Gittins": lambda: jaxbandit.Gittins.of(TWO, 0.9),
    "BayesGittins": lambda: jaxbandit.BayesGittins.of([[[1, 1], [1, 1]]], 0.9, depth=10, ahead=20),
    "BayesOptimal": lambda: jaxbandit.BayesOptimal.of([[[1, 1], [1, 1]]] * 2, 20),
    "Whittle": lambda: jaxbandit.Whittle(jaxbandit.Whittle.of(TWO, 0.9).indices),  # by hand: for all kinds of arms
    "LPPriority": lambda: jaxbandit.LPPriority.of(KINDS["observed"], 1),
    "FollowVirtualAdvice": lambda: jaxbandit.FollowVirtualAdvice.of(KINDS["observed"], 1),
    "TwoSet": lambda: jaxbandit.TwoSet.of(KINDS["observed"], 1),
    "LPUpdate": lambda: jaxbandit.LPUpdate.of(KINDS["observed"], 1),
    "PosteriorWhittle": lambda: jaxbandit.PosteriorWhittle.of(KINDS["observed"]),
    "UCWhittle": lambda: jaxbandit.UCWhittle.of(KINDS["observed"]),
    "Myopic": lambda: jaxbandit.Myopic.of(KINDS["restless"]),
    "WhittleBelief": lambda: jaxbandit.WhittleBelief(TWO.transition, TWO.initial, 0.9),
    "WhittleLastSeen": lambda: jaxbandit.WhittleLastSeen.of(KINDS["restless"], 10),
    "HiddenThompson": jaxbandit.HiddenThompson,
    "HiddenMyopic": lambda: jaxbandit.HiddenMyopic.of(KINDS["hidden"]),
    "KnownProcess": lambda: jaxbandit.KnownProcess.of(PROCESS),
    "Oracle": lambda: jaxbandit.Oracle(TWO.means()),
}
MADE_OF_NUMBERS = {  # how to make the policies for arms that change, and others that need to be told a number
    "DiscountedUCB": lambda: jaxbandit.DiscountedUCB(0.9),
    "SlidingWindowUCB": lambda: jaxbandit.SlidingWindowUCB(100),
    "DiscountedThompson": lambda: jaxbandit.DiscountedThompson(0.9),
    "RescorlaWagner": jaxbandit.RescorlaWagner,  # needs none, but is a model of players, which `ALL` is not for
    "Learned": lambda: jaxbandit.Learned.of(horizon=60),
    "Soft": lambda: jaxbandit.Soft(jaxbandit.KLUCB()),
    "SequentialHalving": lambda: jaxbandit.policies.SequentialHalving(100),
    "ExploreThenCommit": lambda: jaxbandit.ExploreThenCommit(10),
    "Exp3": lambda: jaxbandit.Exp3(0.1),
    "Exp3IX": jaxbandit.Exp3IX,
    "Exp3P": lambda: jaxbandit.Exp3P(horizon=1e5, delta=0.1),
    "Exp3S": lambda: jaxbandit.Exp3S(0.1, 0.1),
    "Exp4": lambda: jaxbandit.Exp4([[1.0, 0.0], [0.0, 1.0]], 0.1),
    "Rexp3": lambda: jaxbandit.Rexp3(0.1, 100),
    "TsallisINF": jaxbandit.TsallisINF,  # needs none, but plays one arm a round, which `ALL` is not for
    "Hedge": lambda: jaxbandit.Hedge(0.1),
    "RegretMatching": jaxbandit.RegretMatching,
    "WithDetector": lambda: jaxbandit.WithDetector(jaxbandit.KLUCB(), jaxbandit.GLR(0.1, 0.1)),
}
MADE_FOR_PROCESSES = {  # the policies that learn decision processes
    **{name: getattr(jaxbandit, name) for name in ("UCRL2", "KLUCRL", "UCRL2B", "TUCRL", "PSRL", "IMEDRL")},
    "UCBVI": lambda: jaxbandit.UCBVI(steps=20, horizon=1e5),
}
FULL = ("Hedge", "RegretMatching")  # to which all arms show their rewards
MADE_FOR_PURSES = {  # the policies for arms that cost, and for several players
    "RatioKLUCB": lambda: jaxbandit.RatioKLUCB.of(KINDS["costly"]),
    "MixtureKLUCB": lambda: jaxbandit.MixtureKLUCB.of(KINDS["costly"]),
    "PrimalDualBwK": lambda: jaxbandit.PrimalDualBwK.of(KINDS["costly"]),
    "DecentralisedDSEE": lambda: jaxbandit.DecentralisedDSEE.of(PLAYERS),
}
MADE = MADE_OF_ARMS | MADE_OF_NUMBERS | MADE_FOR_PROCESSES | MADE_FOR_PURSES


def _plays(policy: type, arms: jaxbandit.Environment) -> bool:
    """Whether a policy does not refuse these arms."""
    try:
        shown = environments.full_information(arms) if policy.__name__ in FULL else arms
        check_task("", MADE.get(policy.__name__, policy)(), jaxbandit.Task(shown))
    except ValueError:
        return False
    return True


def kinds(policy: type) -> str:
    """The kinds of arms that the policy plays; nothing if it plays all."""
    if policy.__name__ in FULL:
        return "arms with full information"
    kinds = [kind for kind, arms in KINDS.items() if _plays(policy, arms)]
    if not kinds and _plays(policy, PLAYERS):
        return "colliding"
    if not kinds and (_plays(policy, PROCESS) or _plays(policy, EPISODES)):
        return "decision processes" if _plays(policy, PROCESS) else "decision processes in episodes"
    return "" if len(kinds) == len(KINDS) else " or ".join(kinds)


def _rewards(policy: type) -> str:
    """Which rewards alone the policy plays: those of a table, those in [0, 1], or nothing if it plays all."""
    if not _plays(policy, environments.uniform([0.0, 0.1], [0.9, 1.0])):
        return "rewards that a table lists"
    if _plays(policy, environments.gaussian([0.0, 1.0])):
        return ""
    return "rewards in [0, 1] or of a `family`" if hasattr(policy, "family") else "rewards in [0, 1]"


def _linked(text: str) -> str:
    """Names between backquotes as links; the rest is Markdown already."""
    return re.sub(r"`[^`]+`", lambda match: words(match[0]), text)


def _formula(name: str, policy: type, description: dict[str, str]) -> str:
    first = (inspect.getdoc(policy) or "").split("\n\n")[0]
    more = f"[Arguments, source and an example](/generated/policies/{name}.md)"
    return "\n\n".join([f"### {name}", words(first), *_formula_and_letters(description), f"{more}\n"])


def _formula_and_letters(description: dict[str, str]) -> list[str]:
    """The formula, and what letters of its own mean."""
    return [f"$$\n{description['formula']}\n$$", *filter(None, [description.get("letters")])]


def _page(name: str, policy: type, description: dict[str, str], row: dict[str, str], speed: str) -> str:
    """The page of one policy."""
    facts = {key.capitalize(): row[key] for key in ("assumes", "arms it plays", "regret")}
    if speed:
        facts["Speed"] = f"{speed} million rounds/s, [as measured](/speed.md)"
    parts = [
        f"# {name}",
        f"In figures: {description['name']}.",
        *_formula_and_letters(description),
        "\n".join(f"- **{fact}**: {text}" for fact, text in facts.items()),
        "[All policies in a table](/computed/policies.md); [which policy should I use?](/how_to/which_policy.md)",
        f"```{{eval-rst}}\n.. autoclass:: jaxbandit.policies.{name}\n   :members:\n```",
        "## What do the letters mean?",
        "```{include} ../../computed/letters.md\n```\n",
    ]
    return "\n\n".join(parts)

"""In what SMPyBandits and we differ: definitions, and what we believe to be wrong there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from experiments.other_packages.smpybandits import NAME, Pair
from experiments.reports.tables import Row
from jaxbandit import Policy, confidence, divergences, families


def definition_rows(pairs: Mapping[str, list[Pair]]) -> list[Row]:
    """What stands beside what, and in what they differ, by the kind of arms."""

    def named(pair: Pair) -> str:
        return f"{pair.theirs}({', '.join(f'{name}={value}' for name, value in pair.arguments.items())})"

    return [
        {
            "arms": kind,
            "policy": pair.label,
            NAME: named(pair),
            "jaxbandit": in_code(pair.ours),
            "difference": pair.why or "none",
        }
        for kind, of_kind in pairs.items()
        for pair in of_kind
    ]


def in_code(policy: Policy) -> str:
    """The policy as it is made, without what is as usual.

    >>> from jaxbandit import KLUCB
    >>> in_code(KLUCB(exploration=0.0, clock="arm"))
    "KLUCB(exploration=0.0, clock='arm')"
    """
    given = {
        field.name: getattr(policy, field.name)
        for field in dataclasses.fields(policy)  # type: ignore[arg-type]
        if getattr(policy, field.name) != field.default
    }
    return f"{type(policy).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def evidence_rows(found: dict[str, float]) -> list[Row]:
    """What its functions return and what is right, so that anyone can look."""
    divergence = float(divergences.bernoulli_kl(0.2, 0.5))
    bound = float(confidence.kl_lower(0.5, 0.2))
    gaussian = float(confidence.family_upper(0.5, 0.2, families.Gaussian(0.25)))

    def row(what: str, returned: str, right: str, follows: str) -> Row:
        return {"in SMPyBandits": what, "returns": f"{found[returned]:.4f}", "right": right, "what follows": follows}

    return [
        row("IMED's Dinf(0.2, 0.5)", "Dinf(0.2, 0.5)", f"{divergence:.4f}", "IMED plays all arms equally often"),
        row("kllcbBern(0.5, 0.2)", "kllcbBern(0.5, 0.2)", f"{bound:.4f}", "no lower bound: the mean itself"),
        row(
            "klUCB's call klucbGauss(0.5, 0.2, tolerance)",
            "klucbGauss(0.5, 0.2, 1e-4)",
            f"{gaussian:.4f}",
            "bounds of Gaussian arms far too low, since the tolerance, 1e-4, stands for the variance, 1/4",
        ),
        row(
            "1,000 seeds of its Evaluator on several processors",
            "runs of 1000 with the seed of another",
            "0",
            "some runs are one run twice, and intervals a little too short",
        ),
    ]

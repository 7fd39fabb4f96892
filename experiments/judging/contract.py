"""The contract's verdict, in words."""

from __future__ import annotations

from typing import Any

from experiments.judging.policy_text import in_users_words
from jaxbandit import Environment, testing

KEPT = (
    "keeps the contract: init, scores and update are pure, do the same with and without jit, alone and in a batch; "
    "shapes and types stay; no score is NaN"
)


def verdict(label: str, policy: Any, arms: Environment, plays: int = 1) -> tuple[bool, str]:
    """Whether the policy keeps the contract on these arms, and what is broken."""
    try:
        testing.check_policy(policy, arms, plays=plays)
    except AssertionError as error:
        return False, f"breaks the contract: {error}"
    except Exception as error:
        return False, f"cannot be checked: {in_users_words(error, label)}"
    return True, KEPT

"""Contract checks for policies and environments, the library's own and a user's."""

from jaxbandit.testing.environment_contract import check_environment
from jaxbandit.testing.policy_contract import check_policy

__all__ = ["check_environment", "check_policy"]

"""Contract checks for policies and environments, the library's own and a user's."""

from jaxbandit.testing.environments import check_environment
from jaxbandit.testing.policies import check_policy

__all__ = ["check_environment", "check_policy"]

"""Contract checks for policies, environments and backends, the library's own and a user's."""

from jaxbandit.testing.backends import check_backend
from jaxbandit.testing.environments import check_environment
from jaxbandit.testing.policies import check_policy

__all__ = ["check_backend", "check_environment", "check_policy"]

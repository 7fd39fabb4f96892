"""Policies computed by neural networks, whose parameters `jaxbandit.learning.train` learns.

A network (`networks`) remembers something of each arm and scores all arms; `learned_policy` makes a policy of it.
"""

__all__: list[str] = []

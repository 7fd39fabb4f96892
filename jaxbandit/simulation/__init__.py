"""Playing: arguments checked, rounds, tiles of runs, the loop on the host. Others take `simulate` and `rounds`.

`rounds` is one round of one run and a chunk of many, `tracing` what methods compute and return, `recording` what is
recorded beside counts, `request` what was asked, `memory` what it would take, `fingerprint` what the counts depend on,
`plan` how the work is cut, `tiles` the programs that play it, `progress` what is seen meanwhile, and `loop` what the
host does.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

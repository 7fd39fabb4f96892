"""Playing: arguments checked, rounds, tiles of runs, the loop on the host.

`asking` is what was asked for, checked before anything is compiled, and `telling` what a result says of its making.
`chance` is what each run draws with, `rounds` one round of one run and a chunk of many, `delayed` feedback that comes
late, `dynamic_regret` regret against the best arms of each round, `plan` how the work is cut, `tiles` the programs that
play it, `progress` what is seen meanwhile, and `loop` what the host does.

Others take `simulate`, `loop.pieces` and `progress`.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

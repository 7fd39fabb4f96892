"""Playing: arguments checked, rounds, tiles of runs, the loop on the host. Others take `simulate` and `rounds`.

`rounds` is one round of one run and a chunk of many, `recording` what is recorded beside counts, `request` what was
asked, `code` and `fingerprint` what the counts depend on, `plan` how the work is cut, `tiles` the programs that play
it, and `loop` what the host does meanwhile.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

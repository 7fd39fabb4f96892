"""Playing: arguments checked, rounds, tiles of runs, the loop on the host. Others take `simulate` and `rounds`.

`request` is what was asked, `fingerprint` what the counts depend on, `rounds` one round of one run and a chunk of many,
`plan` how the work is cut, `tiles` the programs that play it, `loop` what the host does meanwhile.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

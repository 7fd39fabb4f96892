"""Playing: arguments checked, rounds, tiles of runs, the loop on the host.

`chance` is what each run draws with, `rounds` one round of one run and a chunk of many, `late_news` feedback that comes
late, `methods` what a user's method returns, `program_text` what tells one program from another, `tracing` what methods
compute, `recording` what is kept beside counts, `contracts` what a policy and an environment must be, `request` what
was asked, `memory` what it would take, `fingerprint` what the counts depend on, `provenance` what a reader wants to
know, `plan` how the work is cut, `tiles` the programs that play it, `progress` what is seen meanwhile, and `loop` what
the host does.

Others take `simulate`. Sweeps also take `fingerprint`, `provenance`, `loop.pieces`, `memory.check_memory`, `progress`,
`request.Request` and `request.check`; the public checks take `contracts.check_task`, `tracing.Size`,
`tracing.environment_program` and `tracing.policy_program`.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

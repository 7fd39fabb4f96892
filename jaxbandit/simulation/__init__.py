"""Simulation: the request, the rounds, the compiled programs, and the loop on the host.

The steps of a call of `simulate`, and what is compiled when:

1. `asking` checks the arguments on the host, in float64, and traces every method once with shapes alone
   (`asking.tracing`). Nothing is compiled yet, and all errors are raised here. The result is one `Request`.
2. `plan` cuts the runs into tiles, of a few widths only so that few programs are made, and the rounds into chunks of
   about a second.
3. `tiles` makes one program for each policy: `rounds.play_chunk`, mapped over runs (the last axis), variants and
   scenarios, and divided among the devices. It is compiled once for each class of policy and environment, static
   fields, shapes, number of plays, width of a tile and kind of device. The values of all numbers, the number of rounds
   and the recorded rounds are arguments, so another value, horizon or key compiles nothing. A user's own class is
   traced at every call, and compiled again only if its computation has changed.
4. The first chunk of a policy waits until its program is compiled; those of the other policies compile meanwhile in
   threads (`progress.Programs`).
5. `loop` starts a chunk of every policy and tile (`chunks`), and while the devices play it, stores the records
   of the last one. Between two chunks it checks for Ctrl-C, moves the progress bar, and yields pieces to sweeps.

A round is `rounds.play_round`: a policy's scores, the arms with the largest (`selection.top_arms`), the environment's
step, the policy's update, and counts. `chance` has the random keys of each run; `delayed` wraps a policy with
delayed feedback; `dynamic_regret` adds up regret against the best arms of each round; `telling` has a result's
provenance, and the memory that it needs.

Other rooms use `simulate`, `loop.pieces` and `progress`.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

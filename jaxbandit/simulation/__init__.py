"""Playing: what `simulate` asks for, the rounds, the programs that play them, and the loop on the host.

From `loop` on, what happens in a call, and what is compiled when:

1. `asking` checks the arguments on the host, in float64, and traces every method once with shapes alone
   (`asking.tracing`): nothing is compiled yet, and what is wrong is refused here. The result is one `Request`.
2. `plan` cuts the runs into tiles, of a few widths only so that few programs are made, and the rounds into chunks of
   about a second.
3. `tiles` makes one program for each policy: `rounds.play_chunk`, mapped over runs (the last axis), variants and
   scenarios, and divided among the devices. It is compiled once for each class of policy and environment, static
   fields, shapes, number of plays, width of a tile and kind of device. The values of all numbers, the number of rounds
   and which of them are recorded are arguments, so another value, horizon or key compiles nothing. A user's own class
   is traced at every call, and compiled again only where what it computes has changed.
4. The first chunk of a policy waits until its program is compiled; those of the other policies compile meanwhile in
   threads (`progress.Programs`).
5. `loop` starts a chunk of every policy and tile (`chunks`), and while the devices play it, stores what the chunk
   before recorded. Between two chunks it looks for Ctrl-C, moves the progress bar, and hands pieces to sweeps.

A round is `rounds.play_round`: a policy's scores, the arms with the largest (`selection.top_arms`), the environment's
step, the policy's update, and counts. `chance` is what each run draws with; `delayed` wraps a policy whose feedback
comes late; `dynamic_regret` adds up regret against the best arms of each round; `telling` is what a result says of its
making, and how much memory it needs.

Others take `simulate`, `loop.pieces` and `progress`.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

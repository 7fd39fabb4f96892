"""Simulation: the request, the rounds, the compiled programs, and the loop on the host.

The steps of a call of `simulate`, and what is compiled when:

1. `asking` checks the arguments on the host, in float64, and traces every method with shapes alone (`asking.tracing`;
   policies twice where feedback is delayed): nothing is compiled yet, and what is wrong is refused here. The result is
   one `Request`. The library's own classes are traced once a process, a user's own at every call.
2. `plan` cuts the runs into tiles (on a CPU of a few widths only, so that few programs are made) and the rounds into
   chunks of about a second, each with room to record a few rounds, which is a shape.
3. `tiles` makes one program for each policy: `rounds.play_chunk`, mapped over runs (the last axis), variants and
   scenarios, and divided among the devices. It is compiled once for each class of policy and environment, their static
   fields, the types and shapes of all others, the numbers of scenarios, variants and plays, `shuffle`,
   `random_numbers`, delay, batch, recorders, the width of a tile and the devices (`tiles.ProgramKey`). The values of
   all numbers, the number of rounds, which of them are recorded, and the key are arguments, so another value or horizon
   compiles nothing. A user's own class is compiled again where what it computes has changed.
4. The first chunk of a policy waits until its program is compiled, and looks for Ctrl-C meanwhile; those of the other
   policies are compiled in threads (`progress.Programs`).
5. `loop` starts a chunk of every policy and tile (`chunks`), and while the devices play it, stores what the chunk
   before recorded. Between two chunks it looks for Ctrl-C, moves the progress bar, and hands pieces to sweeps.

A round is `rounds.play_round`: a policy's scores, the arms with the largest (`selection.top_arms`), the environment's
step, the policy's update, and counts. `chance` is what each run draws with; `delayed` wraps a policy whose feedback
comes late; `dynamic_regret` adds up regret against the best arms of each round; `telling` is what a result says of its
making, and how much memory it needs. A new thing to record is a field of `rounds.Carry`, read in `rounds.recorded`,
whose shape `asking.tracing` knows; what a user's `record` returns, or an environment's `records`, needs none of these.

Others take `simulate`, `loop.pieces`, `plan.usual_chunk` and `progress` from here, and what the rooms `asking` and
`telling` offer.
"""

from jaxbandit.simulation.loop import simulate

__all__ = ["simulate"]

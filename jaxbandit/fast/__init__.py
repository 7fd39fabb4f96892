"""Functions for speed alone: each stands for a plain form of a few lines, by which it can be replaced.

`JAXBANDIT_PLAIN=1` in the environment chooses the plain forms everywhere; a test checks that every policy's counts are
the same either way. `larger` and `smaller` are their own plain forms: solvers rely on what they return for NaN. The
table lists what the room requires of JAX and XLA beyond their documented interfaces. Where one of these is missing and
rounds take longer, a `SlowPathWarning` says so, once in a process:

| what is relied on | where | what it gains | what happens without it |
|---|---|---|---|
| the attributes of jaxprs and equations (`eqns`, `invars`, `outvars`, `constvars`, `primitive`, `params`, `aval`, a literal's `val`), names of primitives and of their parameters | `jaxprs`, `batching`, `pieces` | rounds with the runs last: TV-KL-UCB 2.4 times as fast, with late feedback twice | `batching.over_runs` falls back to `jax.vmap`, `pieces.in_pieces` to one piece, `pieces.in_one_piece` to the function as it is |
| that `reshard`, which JAX adds where runs are shared out, changes nothing within a device's share | `batching` | IMED-MC with a gap 12 times as fast | that function goes through `jax.vmap` |
| the dimension numbers and modes of `gather`, `scatter` and `scatter-add` | `jaxprs.points` | plainly written reads and writes as vectors over runs | forms that are not known go through `jax.vmap` |
| that a float division is computed once, whatever consumes it | `comparisons.computed_once`; `selection` compares scores with the largest of them | UCB-SM twice as fast | numbers that are the same to rounding, computed more often; the plain form of `selection` sorts |
| that an array carried by a loop is written in its place where the write depends on what was read | `comparisons.exchange_row`; `comparisons.add_one` with many places and `where_needed` of one entry | UCB with a window of 1,000 rounds 20 times as fast, counting with 32 states three times | the same numbers, and the window or the counts copied in every round |
| how `jax.random` numbers its random bits, and the layout of its keys | `batching`, `random_bits` | uniform 4 times, the gradient bandit 1.9 times as fast | the bits are compared by tests from JAX 0.8 to 0.12, and at the first use of any other version; where they differ, `jax.random` itself draws |
| the frontend attributes `xla_cpu_small_call` and `inlineable`, set by `jax.experimental.xla_metadata` | `pieces.in_one_piece` | two devices: TV-KL-UCB 1.3, three states 1.7 times as fast | an XLA that does not know them ignores them; without the module the function is compiled as it is |
| that the rule of a `jax.custom_batching.custom_vmap` stands in its equation's `rule`, wrapped once | `batching`, `on_demand` | IMED-MC with three states three times as fast or more | `where_needed` goes through `jax.vmap`, which computes every entry |
| that LLVM takes much longer for one large function than for several, and that XLA writes what a call in a loop returns in the place of an argument that was read before | `pieces.in_pieces` | first answers of large programs in two thirds of the time | programs compile as before, or rounds copy their state |
| that a program marked so compiles | `compilation.Compiled` | as above | whatever error XLA raises for the marked program, the program without marks is tried |
| that a call reuses what `lower(...).compile()` has compiled before | `compilation.Compiled.ahead` | policies are compiled side by side | each is compiled again at its call, one after the other |
| `jax.experimental.serialize_executable`, the settings in `jax.config.values`, and what JAX tells its listeners of programs from its own cache | `kept_programs` | the second process with JAXBANDIT_CACHE neither traces nor compiles: TV-KL-UCB with eight states begins after 0.3 and not 2.5 s | programs are traced again, and compiled or read from JAX's cache |
| the compiler options `xla_cpu_prefer_vector_width` and `xla_cpu_experimental_ynn_fusion_type` | `compilation.known_options` | AVX-512: a tenth; reductions outside of a library that XLA calls: `Blocks` 3.5 times, 100 arms 1.1 times as fast | a small program is compiled with them first, or with each where XLA rejects them; one that it rejects is left out; the second without a warning, as an XLA that does not know it has no such library |
| float32 as IEEE bits | `elementary` | KL-UCB 1.2 times as fast | cannot go away |

Outside of this room the library relies on one undocumented interface, and not for speed: the text of a jaxpr
(`simulation.asking.user_code`), by which it notices changed code. Where JAX changes that text, a folder is rejected although
it could be continued.

Some choices that are made for speed cannot be separated from what they compute. They stand where that is computed:

| choice | where | instead of |
|---|---|---|
| rows of up to three states are lists of arrays, longer ones one array | `confidence.row.arithmetic` | one array |
| two and three states are solved by formulas written out, more by loops | `confidence.row.tilt`, `confidence.row.stationary_mean` | the loops |
| Newton's steps of three states and the divergence of their rows, as plain numbers | `confidence.chain.interior_point_three_states`, `confidence.chain.row_divergence_three_states` | `confidence.chain.interior_point` |
| up to eight states are eliminated in turns that are written out, more in a loop | `policies.parts.stationary_law` | the loop |
| up to three states the steps of a Whittle index are written out, more in a loop | `planning.subsidies` | the loop |
| a loop of one turn or none, which keeps the runs last, and whose turn's number, 0, keeps XLA from computing it in every round | `policies.restless.observed_arms` | a choice, `jax.lax.cond`, with which rounds of `PosteriorWhittle` take 1.6 and of `UCWhittle` 3.6 times as long |
| half the steps for a policy with three states | `confidence.chain.likelihood.ratio_to(quick=True)` | all steps |
| three computations of one index, for two, three and more states; what follows from counts alone is kept in the state | `policies.chains.tv_kl_ucb` | the computation for more states, from the counts |
| with 16 and more states the arm played last is played again by a lower bound on its mean; with fewer its index is computed | `policies.chains.tv_kl_ucb_many_states`, `policies.chains.mean_lower_bound` | its index in every round |
| one arm at a time, so that its numbers stay in the fastest cache | `policies.imed_mc`, `policies.chains.tv_kl_ucb` | all arms at once |
| arms compared one by one | `selection` | `jax.lax.top_k` |
| runs cut into tiles and blocks that stay in a cache, an axis of size 1 removed | `simulation.plan`, `simulation.tiles` | one program for all runs |
| the library's own code traced once in a process | `simulation.library_code`, `simulation.asking.tracing` | tracing at every call |

Others may take what is listed here, and `simulation` also takes `jaxprs.constants`, `jaxprs.primitives`, `kept_programs` and
`target.for_cpu`.
"""  # noqa: E501

from jaxbandit.fast.batching import over_runs
from jaxbandit.fast.comparisons import add_one, computed_once, exchange_row, look_up, look_up_each
from jaxbandit.fast.compilation import Compiled, Kept, use_cache
from jaxbandit.fast.elementary import cosine_and_sine, exponential, log, log_and_excess, log_of_sum, polynomial
from jaxbandit.fast.extremes import larger, smaller
from jaxbandit.fast.on_demand import read_own, where_needed
from jaxbandit.fast.random_bits import threefry
from jaxbandit.fast.slow_paths import PLAIN, SlowPathWarning

__all__ = [
    "PLAIN",
    "Compiled",
    "Kept",
    "SlowPathWarning",
    "add_one",
    "computed_once",
    "cosine_and_sine",
    "exchange_row",
    "exponential",
    "larger",
    "log",
    "log_and_excess",
    "log_of_sum",
    "look_up",
    "look_up_each",
    "over_runs",
    "polynomial",
    "read_own",
    "smaller",
    "threefry",
    "use_cache",
    "where_needed",
]

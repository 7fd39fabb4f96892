"""The stopping rule `Blocks` for arms of two states: bets on blocks of moves against each mean that arms may share."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import arguments
from jaxbandit.base import Feedback, Task, described, pytree, static
from jaxbandit.confidence import chain_mean
from jaxbandit.fast import computed_once, larger, log
from jaxbandit.policies.identify.evidence import Evidence, of_chains
from jaxbandit.policies.identify.glr_rules import check_rewards
from jaxbandit.policies.parts.memory import Transitions, no_transitions

WORDS = 8  # of 32 moves each that may wait for a block
LEAST = 1e-7  # probability of a move, where rounding errors would make it 0
PRIOR = 5  # moves of either kind added to those of each state


@described
class Betting(NamedTuple):
    """Memory of `Blocks`. Of an arm's two states, 1 is the one that pays more.

    Fields:
      transitions: counts, last states and rewards.
      moves: int32, the size of a block.
      queue: [K, 2, WORDS] uint32, the moves that wait, of each state: a bit that is 1 where the move left the state.
        The oldest is the lowest bit of the first word.
      waiting: [K, 2] int32, how many wait.
      used: [K, 2, 2] int32, the moves of completed blocks out of each state, those that stayed and those that left.
      wealth: [K, 2, G - 1], the logarithms of the wealths against a mean of at most, and of at least, each of the grid.
      largest: [K, 2, G - 1], the largest that each of them has been.
    """

    transitions: Transitions
    moves: Array
    queue: Array
    waiting: Array
    used: Array
    wealth: Array
    largest: Array

    def counted(self, feedback: Feedback) -> Betting:
        """The memory after a round: its move waits, and a block of the arm that is complete is bet on.

        A move for which there is no room is passed over. That is decided before it is made, so that those which wait
        are independent draws all the same.
        """
        transitions = self.transitions.counted(feedback)
        played = jnp.arange(self.waiting.shape[0]) == feedback.arms[0]
        queue, waiting, used = (_of(played, array) for array in self[2:5])

        pays_more = transitions.reward[0, 1] > transitions.reward[0, 0]
        before, after = feedback.before[0], feedback.states[0]
        from_state = jnp.arange(2) == jnp.where(pays_more, before, 1 - before)
        new = (before != after).astype(jnp.uint32) << (waiting % 32).astype(jnp.uint32)
        here = from_state[:, None] & (jnp.arange(WORDS)[None] == waiting[:, None] // 32)
        queue = jnp.where(here, queue | new[:, None], queue)
        waiting = waiting + (from_state & (waiting < 32 * WORDS))

        # the estimate, and with it the block's size and the bet, from completed blocks alone
        leaves = (used[:, 1] + PRIOR) / (used[:, 0] + used[:, 1] + 2 * PRIOR).astype(float)
        share = leaves[0] / (leaves[0] + leaves[1])  # of state 1
        size = jnp.clip(jnp.round(self.moves * (1 - share)).astype(jnp.int32), 1, self.moves - 1)
        sizes = jnp.stack([size, self.moves - size])
        complete = (waiting >= sizes).all()
        taken = sizes.astype(jnp.uint32)
        left = jax.lax.population_count(queue[:, 0] & ((jnp.uint32(1) << taken) - 1)).astype(jnp.int32)
        block = jnp.stack([sizes - left, left], axis=1)
        mean, rest = grid_of(self.wealth.shape[-1] + 1)
        gain = gains(leaves, sizes, block, mean, rest)
        sides = jnp.stack([mean < share, mean > share])
        bets = computed_once(jnp.where(complete & sides, gain[None], 0))
        wealth = self.wealth + played[:, None, None].astype(float) * bets[None]

        following = jnp.concatenate([queue[:, 1:], jnp.zeros_like(queue[:, :1])], axis=1)
        shifted = (queue >> taken[:, None]) | (following << (32 - taken[:, None]))
        return Betting(
            transitions,
            self.moves,
            _put(played, self.queue, jnp.where(complete, shifted, queue)),
            _put(played, self.waiting, jnp.where(complete, waiting - sizes, waiting)),
            _put(played, self.used, jnp.where(complete, used + block, used)),
            wealth,
            larger(wealth, self.largest),
        )


@pytree
class Blocks:
    """Stops when bets on blocks of moves against every common mean have won; exact for chains with two states.

    A block is of so many moves of an arm out of either state, in their order. Against {mean <= m}, or {mean >= m}, an
    arm bets with the ratio p_a(block) / p_q(block), where a is the estimate from the arm's earlier blocks and q the
    chain with the mean m that is nearest to it, with the block's moves as weights; it does not bet while the estimate
    agrees. The expected ratio is at most 1 for every chain of the half-plane, whatever is played and until when. With
    X and Y the largest wealth so far of the leader against {mean <= g_i} and of another arm against
    {mean >= g_(i-1)}, it stops when in each cell of the grid g and for each other arm

        log(X Y) >= y,  the solution of y - log(1 + y) = log((K - 1) / delta):

    X and Y are independent, and P(X >= x) <= 1 / x for both, so that P(X Y >= x) <= (1 + log x) / x.
    With two arms of means .556 and .421 it stops after less than half the rounds of `ChainGLR`. Wealths are kept as
    logarithms in float32: near the threshold the rounding errors of 10^6 blocks add up to about 1e-3.

    Args:
      grid: G >= 2, the cells: g_i is the square of the sine of i / G of a right angle, closer near 0 and 1, where means
        are known better. Arms whose means lie in one cell are not told apart.
      moves: from 2 to 32, of a block; from 2 to 8 make little difference, and more waste fewer moves of an arm that is
        almost always in one state.

    Raises:
      ValueError: from `simulate` and `check_policy`: a field out of range, or arms that are not rested arms with two
        states that pay two rewards, the same in all arms.

    Source: our own; blocks of two groups are those of Turner, Ly and Grünwald 2024, betting is that of Waudby-Smith and
    Ramdas 2024. Not opened.

    >>> import jaxbandit
    >>> policy = jaxbandit.policies.Identify(stopping=Blocks(grid=50))
    >>> arms = jaxbandit.two_state([0.5, 0.2], [0.2, 0.5])
    >>> result = jaxbandit.simulate(arms, {"blocks": policy}, until="stopped", runs=20, horizon=2_000)
    >>> bool((result.stopped["blocks"] > 0).all()), result.answers["blocks"].max().tolist()
    (True, 0)
    """

    grid: int = static(400)
    moves: ArrayLike = 4

    def validate(self, task: Task) -> None:
        arguments.integer("grid", self.grid, 2)
        arguments.integer("moves", self.moves, 2, 32)
        check_rewards(self, task)

    def begin(self, reward: Array) -> Betting:
        arms = reward.shape[0]
        nothing, even = jnp.zeros((arms, 2), jnp.int32), jnp.zeros((arms, 2, self.grid - 1))
        queue, used = jnp.zeros((arms, 2, WORDS), jnp.uint32), jnp.zeros((arms, 2, 2), jnp.int32)
        kept: Transitions = no_transitions(reward)
        return Betting(kept, jnp.asarray(self.moves, jnp.int32), queue, nothing, used, even, even)

    def plays(self, memory: Betting) -> Array:
        return memory.transitions.counts.sum((-1, -2))

    def means(self, memory: Betting) -> Array:
        return chain_mean(memory.transitions.counts, memory.transitions.reward)

    def evidence(self, memory: Betting, leader: Array, means: Array) -> Evidence:
        return of_chains(leader, memory.transitions.counts, memory.transitions.reward)

    def excess(self, memory: Betting, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array) -> Array:
        arms = jnp.arange(memory.waiting.shape[0])
        below, above = _of(arms == leader, memory.largest[:, 0]), memory.largest[:, 1]
        least = jnp.minimum(below[0], above[:, -1])  # in the first and the last cell one of the two cannot win
        if self.grid > 2:
            least = jnp.minimum(least, jnp.min(below[None, 1:] + above[:, :-1], axis=1))
        return jnp.where(arms == leader, jnp.inf, least - needed(jnp.log((len(arms) - 1) / jnp.asarray(delta, float))))


def grid_of(cells: int) -> tuple[Array, Array]:
    """The means that separate the cells, and 1 minus these, [cells - 1].

    >>> [x.round(2).tolist() for x in grid_of(4)]
    [[0.15, 0.5, 0.85], [0.85, 0.5, 0.15]]
    """
    angle = np.arange(1, cells) * (np.pi / 2 / cells)
    return jnp.asarray(np.sin(angle) ** 2, float), jnp.asarray(np.cos(angle) ** 2, float)


def gains(leaves: Array, sizes: Array, block: Array, mean: Array, rest: Array) -> Array:
    """log p_a(block) / p_q(block) for each mean of a grid, q the nearest chain to a that has this mean.

    With A = n0 a0 + n1 a1 and B = n0 (1 - a0), C = n1 (1 - a1), it is q0 = m z, q1 = (1 - m) z with
    z = 2 A / (A + m B + (1 - m) C + root), root^2 = (A (1 - 2 m) + (1 - m) C - m B)^2 + 4 m (1 - m) B C.

    Args:
      leaves: [2], a, the probabilities of leaving each state.
      sizes: [2], n, the moves out of each state.
      block: [2, 2], of those the moves that stayed and that left.
      mean, rest: m and 1 - m, [G - 1].

    >>> mean, rest = grid_of(4)
    >>> block = jnp.array([[0, 2], [2, 0]])  # out of state 0 both left
    >>> gains(jnp.array([0.5, 0.5]), jnp.array([2, 2]), block, mean, rest).round(4).tolist()
    [3.7196, 0.0, -1.6801]
    """
    goes, stays = sizes * leaves, sizes * (1 - leaves)
    both = goes[0] + goes[1]
    root = jnp.sqrt(
        (both * (rest - mean) + rest * stays[1] - mean * stays[0]) ** 2 + 4 * mean * rest * stays[0] * stays[1]
    )
    z = 2 * both / (both + mean * stays[0] + rest * stays[1] + root)
    here = block.astype(float)
    own = (here[:, 0] * jnp.log1p(-leaves) + here[:, 1] * jnp.log(leaves)).sum()
    left = here[0, 1] * jnp.log(mean) + here[1, 1] * jnp.log(rest) + (here[0, 1] + here[1, 1]) * log(z)
    stayed = here[0, 0] * log(larger(1 - mean * z, LEAST)) + here[1, 0] * log(larger(1 - rest * z, LEAST))
    return computed_once(own - (left + stayed))


def needed(level: Array) -> Array:
    """y with y - log(1 + y) = level > 0, or a little more: Newton's steps from y = level + sqrt(2 level), above it.

    >>> y = needed(jnp.array([0.7, 2.3, 9.0]))
    >>> (y - jnp.log1p(y)).round(4).tolist()
    [0.7, 2.3, 9.0]
    """
    y = level + jnp.sqrt(2 * level)
    for _ in range(4):
        y = y - (y - jnp.log1p(y) - level) * (1 + y) / y
    return y


def _of(chosen: Array, array: Array) -> Array:
    """The row of the one arm that is chosen [K]: others add zeros, which runs as vectors do faster than by an index."""
    return jnp.where(chosen.reshape(-1, *[1] * (array.ndim - 1)), array, jnp.zeros_like(array)).sum(
        0, dtype=array.dtype
    )


def _put(chosen: Array, array: Array, row: Array) -> Array:
    """The array with this row for the arm that is chosen."""
    return jnp.where(chosen.reshape(-1, *[1] * (array.ndim - 1)), row[None], array)

"""The stopping rule `Blocks` for arms of two states: bets on blocks of moves against each mean that arms may share."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

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
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Transitions, no_transitions
from jaxbandit.selection import top_arms

WORDS = 8  # of 32 moves each that may wait for a block
LEAST = 1e-7  # probability of a move, where rounding errors would make it 0
EVERY = 4  # rounds from one bet to the next; a block has at least as many moves, so that none waits for long
PRIOR = 5  # moves of either kind added to those of each state


class Block(NamedTuple):
    """The next block of each arm."""

    complete: Array  # [K] bool, whether all its moves are there
    leaves: Array  # [K, 2], the probabilities of leaving each state, estimated before it
    sizes: Array  # [K, 2] int32, its moves out of each state
    counts: Array  # [K, 2, 2] int32, of these those that stayed and those that left; once it is complete


@described
class Waiting(NamedTuple):
    """The moves of each arm that wait for a block. Of an arm's two states, 1 is the one that pays more.

    Fields:
      moves: int32, the size of a block.
      queue: [K, 2, WORDS] uint32, the moves that wait, of each state: a bit that is 1 where the move left the state.
        The oldest is the lowest bit of the first word.
      number: [K, 2] int32, how many wait.
      used: [K, 2, 2] int32, the moves of completed blocks out of each state, those that stayed and those that left.
    """

    moves: Array
    queue: Array
    number: Array
    used: Array

    def joined(self, feedback: Feedback, reward: Array) -> Waiting:
        """The state after a round: its move waits.

        A move for which there is no room is passed over. That is decided before it is made, so that those which wait
        are independent draws all the same.
        """
        before, after = feedback.before[0], feedback.states[0]
        state = jnp.where(reward[0, 1] > reward[0, 0], before, 1 - before)
        played = jnp.arange(self.number.shape[0]) == feedback.arms[0]
        here = played[:, None] & (jnp.arange(2) == state)[None]
        new = (before != after).astype(jnp.uint32) << (self.number % 32).astype(jnp.uint32)
        word = here[..., None] & (jnp.arange(WORDS)[None, None] == self.number[..., None] // 32)
        number = self.number + (here & (self.number < 32 * WORDS))
        return self._replace(queue=jnp.where(word, self.queue | new[..., None], self.queue), number=number)

    def next_block(self) -> Block:
        """The next block of each arm, its size and the estimate from completed blocks alone."""
        leaves = (self.used[..., 1] + PRIOR) / (self.used[..., 0] + self.used[..., 1] + 2 * PRIOR).astype(float)
        size = jnp.clip(jnp.round(self.moves * (1 - share_of(leaves))).astype(jnp.int32), 1, self.moves - 1)
        sizes = jnp.stack([size, self.moves - size], axis=1)
        bits = (jnp.uint32(1) << sizes.astype(jnp.uint32)) - 1
        left = jax.lax.population_count(self.queue[..., 0] & bits).astype(jnp.int32)
        return Block((self.number >= sizes).all(1), leaves, sizes, jnp.stack([sizes - left, left], axis=2))

    def without(self, block: Block, done: Array) -> Waiting:
        """The state after bets on the blocks of some arms, `done` [K] bool."""
        here, taken = done[:, None, None], block.sizes.astype(jnp.uint32)[..., None]
        following = jnp.concatenate([self.queue[..., 1:], jnp.zeros_like(self.queue[..., :1])], axis=2)
        return self._replace(
            queue=jnp.where(here, (self.queue >> taken) | (following << (32 - taken)), self.queue),
            number=self.number - jnp.where(done[:, None], block.sizes, 0),
            used=self.used + jnp.where(here, block.counts, 0),
        )


@described
class Betting(NamedTuple):
    """Memory of `Blocks`.

    Fields:
      transitions: counts, last states and rewards.
      waiting: the moves that wait for a block, and counts of those that have been bet on.
      wealth: [K, 2, G - 1], the logarithms of the wealths against a mean of at most, and of at least, each of the grid.
      largest: [K, 2, G - 1], the largest that each has been; if joint [2, G], for each arm and cell the largest that
        its wealth against the cell's upper end and the other arm's against the lower end have been together.
      leader: int32, the arm with the largest estimated mean after the last bet.
      least: [K], the logarithm of the leader's and each arm's largest wealths together, in the cell where it is least.
    """

    transitions: Transitions
    waiting: Waiting
    wealth: Array
    largest: Array
    leader: Array
    least: Array

    def counted(self, feedback: Feedback) -> Betting:
        """The memory after a round: its move waits, and in every fourth round a complete block is bet on."""
        transitions = self.transitions.counted(feedback)
        memory = self._replace(transitions=transitions, waiting=self.waiting.joined(feedback, transitions.reward))
        # A loop of one turn or none, the same for all runs: a choice would compute the bet in every round.
        turns = jnp.where(feedback.t % EVERY == 0, 1, 0)
        after: Betting = jax.lax.fori_loop(0, turns, lambda _, memory: memory.after_bet(), memory)
        return after

    def after_bet(self) -> Betting:
        """The memory after a bet on a complete block, of the arm with the most moves waiting; if joint, of both."""
        block, joint = self.waiting.next_block(), self.largest.ndim == 2
        turn = jnp.arange(len(self.wealth)) == jnp.argmax(jnp.where(block.complete, self.waiting.number.sum(1), -1))
        done = block.complete & (block.complete.all() if joint else turn)
        leaves, sizes, counts = (computed_once(field if joint else _of(turn, field)[None]) for field in block[1:])
        mean, rest = grid_of(self.wealth.shape[-1] + 1)
        gain = jax.vmap(gains, in_axes=(0, 0, 0, None, None))(leaves, sizes, counts, mean, rest)
        share = computed_once(share_of(leaves))[:, None]
        sides = jnp.stack([mean[None] < share, mean[None] > share], axis=1)
        bets = computed_once(jnp.where(sides, gain[:, None], 0))  # a product, as vectors do it faster than a choice
        wealth = self.wealth + computed_once(done.astype(float))[:, None, None] * bets
        now = cells_of(wealth[:, 0], jnp.stack([wealth[1, 1], wealth[0, 1]])) if joint else wealth
        largest = larger(now, self.largest)
        leader = top_arms(chain_mean(self.transitions.counts, self.transitions.reward), 1)[0]
        own = _of(jnp.arange(len(turn)) == leader, largest if joint else largest[:, 0])[None]
        cells = jnp.broadcast_to(own, largest.shape) if joint else cells_of(own, largest[:, 1])
        waiting = self.waiting.without(block, done)
        return Betting(self.transitions, waiting, wealth, largest, leader, cells.min(axis=1))


@pytree
class Blocks:
    """Stops when bets on blocks of moves against every common mean have won; exact for chains with two states.

    A block is of so many moves of an arm out of either state, in their order; every fourth round has a bet. Against
    {mean <= m}, or {mean >= m}, an arm bets with the ratio p_a(block) / p_q(block), where a is the estimate from the
    arm's earlier blocks and q the chain with the mean m that is nearest to it, with the block's moves as weights; it
    does not bet while the estimate agrees. The expected ratio is at most 1 for every chain of the half-plane, whatever
    is played and until when. With X and Y the largest wealth so far of the leader against {mean <= g_i} and of another
    arm against {mean >= g_(i-1)}, it stops when in each cell of the grid g and for each other arm

        log(X Y) >= y,  the solution of y - log(1 + y) = log((K - 1) / delta):

    X and Y are independent, and P(X >= x) <= 1 / x for both, so that P(X Y >= x) <= (1 + log x) / x.
    With two arms of means .556 and .421 it stops after about half the rounds of `ChainGLR`, each of which takes
    four to eight times as long; with ten arms it was no sooner on independent plays. Wealths are kept as logarithms in
    float32: of 10^6 blocks the rounding errors, if they are as independent as they look, add up to about 1e-3 near the
    threshold.

    Args:
      joint: True for two arms that are played about equally often: both bet only when both have a complete block, on
        their wealths together, whose product must reach (K - 1) / delta. It stops sooner by about a sixth.
      grid: G, from 2 to 10,000, the cells: g_i is the square of the sine of i / G of a right angle, closer near 0 and
        1, where means are known better. Arms whose means lie in one cell are not told apart.
      moves: from 4 to 32, of a block; up to 8 make little difference, and more waste fewer moves of an arm that is
        almost always in one state.

    Raises:
      ValueError: from `simulate` and `check_policy`: a field out of range, `joint` for more than two arms, or arms that
        are not rested arms with two states that pay two rewards, the same in all arms.

    Source: our own; blocks of two groups are those of Turner, Ly and Grünwald 2024, betting is that of Waudby-Smith and
    Ramdas 2024. Not opened.

    >>> memory = Blocks(grid=50).begin(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> block = memory.waiting.next_block()  # no move waits: the estimate is 1/2, and a block has two moves of each row
    >>> memory.wealth.shape, block.leaves[0].tolist(), block.sizes[0].tolist(), block.complete.tolist()
    ((2, 2, 49), [0.5, 0.5], [2, 2], [False, False])
    """

    in_order: ClassVar[bool] = True  # blocks are of moves in their order
    units = "mapped"

    joint: bool = static(False)
    grid: int = static(400)
    moves: ArrayLike = 4

    def validate(self, task: Task) -> None:
        checks.truth(self, "joint")
        arguments.integer("grid", self.grid, 2, 10_000)
        arguments.integer("moves", self.moves, EVERY, 32)
        check_rewards(self, task)
        if self.joint and len(task.reward) != 2:
            raise ValueError(f"joint: for two arms, and {task.name} has {len(task.reward)}; leave it out")

    def begin(self, reward: Array) -> Betting:
        arms = reward.shape[0]
        queue, used = jnp.zeros((arms, 2, WORDS), jnp.uint32), jnp.zeros((arms, 2, 2), jnp.int32)
        waiting = Waiting(jnp.asarray(self.moves, jnp.int32), queue, jnp.zeros((arms, 2), jnp.int32), used)
        kept: Transitions = no_transitions(reward)
        wealth = jnp.zeros((arms, 2, self.grid - 1))
        largest = jnp.zeros((2, self.grid)) if self.joint else wealth
        return Betting(kept, waiting, wealth, largest, jnp.int32(0), jnp.zeros(arms))

    def plays(self, memory: Betting) -> Array:
        return memory.transitions.counts.sum((-1, -2))

    def means(self, memory: Betting) -> Array:
        return chain_mean(memory.transitions.counts, memory.transitions.reward)

    def compared(self, memory: Betting) -> tuple[Array, Array]:
        """The transitions [K, 2, 2] and rewards [K, 2]."""
        return memory.transitions.counts, memory.transitions.reward

    def pair(self, one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return of_chains(one, other)

    def excess(
        self, memory: Betting, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        arms = jnp.arange(memory.wealth.shape[0])
        level = jnp.log((len(arms) - 1) / jnp.asarray(delta, float))
        least = jnp.where(memory.leader == leader, memory.least, -jnp.inf)  # for another leader it is not known
        return jnp.where(arms == leader, jnp.inf, least - (level if self.joint else needed(level)))


def cells_of(below: Array, above: Array) -> Array:
    """The sums, for each cell, of one arm's wealth against its upper end and the other arm's against its lower end.

    Args:
      below: [N or 1, G - 1], against a mean of at most g_1, .., g_(G-1).
      above: [N, G - 1], against one of at least these. Against what is true of all means nobody bets.
    """
    nothing = jnp.zeros_like(above[:, :1])
    upper = jnp.concatenate([below, nothing[: below.shape[0]]], axis=1)
    return upper + jnp.concatenate([nothing, above], axis=1)


def share_of(leaves: Array) -> Array:
    """The share of state 1 in the stationary law, from the probabilities of leaving each state [..., 2]."""
    return leaves[..., 0] / (leaves[..., 0] + leaves[..., 1])


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
    own = computed_once((here[:, 0] * log(1 - leaves) + here[:, 1] * log(leaves)).sum())
    left = here[0, 1] * computed_once(jnp.log(mean)) + here[1, 1] * computed_once(jnp.log(rest))
    left = left + (here[0, 1] + here[1, 1]) * log(z)
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

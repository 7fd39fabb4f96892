"""Track-and-Stop: the shares that it aims at, against the solver of the lower bound; which arm it plays, by a loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit import bernoulli, bounds, chains, simulate, two_state
from jaxbandit.policies import BernoulliGLR, ChainGLR, Identify, TrackAndStop
from jaxbandit.policies.identify.track_and_stop import optimal_shares

ROWS = 1e5
PROBLEMS = {
    "Garivier and Kaufmann 1": (BernoulliGLR(), bernoulli([0.5, 0.45, 0.43, 0.4])),
    "Garivier and Kaufmann 2": (BernoulliGLR(), bernoulli([0.19, 0.3, 0.21, 0.2, 0.18])),
    "near the ends": (BernoulliGLR(), bernoulli([0.002, 0.999, 0.99])),
    "two chains": (ChainGLR(), two_state([0.2, 0.1], [0.2, 0.3])),
    "slow chains": (ChainGLR(), two_state([0.05, 0.02, 0.3], [0.05, 0.03, 0.5])),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.slow
def test_the_shares_are_those_of_the_lower_bound(name):
    """Of counts as the stationary laws have them: another solver, in float64, for the same problem."""
    rule, arms = PROBLEMS[name]
    transition = np.asarray(arms.transition)
    law = np.array([chains.stationary(rows) for rows in transition])
    counts = ROWS * (law if isinstance(rule, BernoulliGLR) else law[..., None] * transition)
    policy = Identify(TrackAndStop(), rule)
    state = policy.init(jnp.asarray(arms.reward, float))
    memory = state.memory._replace(counts=jnp.asarray(np.round(counts), jnp.int32))
    plays, leader = jnp.asarray(rule.plays(memory)), jnp.argmax(jnp.asarray(arms.means())).astype(jnp.int32)
    state = state._replace(memory=memory, seen=state.seen._replace(leader=leader, plays=plays))

    @jax.jit
    def shares(state):
        return optimal_shares(policy._information(state), state.seen.leader, len(plays), jnp.int32(18))

    expected = bounds.identification(arms).weights
    np.testing.assert_allclose(np.asarray(shares(state)), expected, atol=2e-3)
    tied = state._replace(memory=memory._replace(counts=memory.counts.at[:].set(memory.counts[:1])))
    np.testing.assert_allclose(np.asarray(shares(tied)), 1 / len(plays), rtol=1e-6)


@pytest.mark.slow
def test_it_plays_the_arm_that_is_farthest_behind():
    """By a loop that reads the recorded shares: few plays first, else the arm farthest behind, until the end."""
    arms, rounds = bernoulli([0.7, 0.5, 0.4]), 120
    record = {"w": lambda _, state, t: state.sampling}
    policy = {"T": Identify(TrackAndStop(), BernoulliGLR(), 1e-9)}
    size = {"runs": 3, "horizon": rounds, "times": range(1, rounds + 1)}
    result = simulate(arms, policy, until="stopped", record=record, **size)
    for run in range(3):
        plays = np.zeros(3, int)
        for t in range(1, rounds + 1):
            now = result.visits["T"][0, 0, run, t - 1].sum(1)
            weights = result.recorded["w"]["T"][0, 0, run, t - 1].astype(float)
            (arm,) = np.flatnonzero(now > plays)
            if plays.min() < np.sqrt(t - 1) - 1.5:
                assert arm == plays.argmin()
            else:
                behind = (t - 1) * weights - plays
                assert behind[arm] > behind.max() - 1e-3 and (behind[:arm] < behind[arm] + 1e-3).all()
            if t > 64 and t % 2:  # they are computed in every second round
                np.testing.assert_array_equal(weights, result.recorded["w"]["T"][0, 0, run, t - 2])
            plays = now

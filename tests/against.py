"""How an independent oracle is compared with the simulator: its exact law, and its loop round by round; given plays."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from scipy import stats

import jaxbandit
from jaxbandit import Feedback, run_keys


def check_law(counts, law, runs=20_000):
    """Counts [R, ...] of all runs against the probability of every outcome, chi-square at 1e-9."""
    counts = counts.reshape(runs, -1)
    keys, seen = np.unique(counts, axis=0, return_counts=True)
    observed = dict(zip(map(tuple, keys.tolist()), seen.tolist(), strict=True))
    assert set(observed) <= set(law)
    both = np.array([[observed.get(key, 0), chance * runs] for key, chance in law.items()])
    rare = both[:, 1] < 10  # outcomes that are counted together
    both = np.vstack([both[~rare], both[rare].sum(0)] if rare.any() else [both])
    statistic = ((both[:, 0] - both[:, 1]) ** 2 / both[:, 1]).sum()
    assert stats.chi2.sf(statistic, len(both) - 1) > 1e-9


def reference_draws(environment, key, run):
    """The draws of one run, from the run's key and plain integer arithmetic, for any number of states."""
    words = jax.random.key_data(run_keys(key, jnp.array([run], jnp.int32)).environment[0])
    ends = [  # a move to state j or a lower one has probability ends[k][s][j], in units of 2^-32
        [[round(sum(row[: j + 1]) * 2**32) for j in range(len(row) - 1)] for row in rows]
        for rows in environment.transition.tolist()
    ]
    cache = {}

    def draws(k, n, s):
        block = n // 512
        if (k, block) not in cache:
            plays = jnp.arange(block * 512, (block + 1) * 512, dtype=jnp.uint32)
            bits = threefry_2x32(words, jnp.concatenate([jnp.full(512, k, jnp.uint32), plays]))
            cache[k, block] = np.asarray(bits[:512]).tolist()
        bits = cache[k, block][n % 512]
        return next((j for j, end in enumerate(ends[k][s]) if bits < end), len(ends[k][s]))

    return draws


def check_same_arms(play, name, fields, environment, runs, rounds, initial_state=0):
    """Play every round of some runs again with the oracle's `play`, in float64, and compare the arms."""
    key = jax.random.key(7)
    policy = getattr(jaxbandit, name)(**fields)
    with jax.enable_x64(True):
        asked = {"runs": runs, "horizon": rounds, "times": np.arange(1, rounds + 1)}
        result = jaxbandit.simulate(environment, {name: policy}, key=key, **asked)
    plays = result.visits[name][0, 0].sum(-1)  # [R, T, K]
    chosen = np.diff(plays, axis=1, prepend=0).argmax(-1)
    for run in range(runs):
        draws = reference_draws(environment, key, run)
        expected = play(name, draws, environment.reward.tolist(), initial_state, rounds, **fields)
        differs = np.flatnonzero(chosen[run] != np.array(expected))
        assert not len(differs), f"run {run}: round {differs[0] + 1} plays {chosen[run][differs[0]]}, not as expected"


@jax.jit
def _told(policy, table, arms, rewards, states):
    def following(state, play):
        t, arm, paid, moved = play
        return policy.update(state, Feedback(arm[None], 0 * arm[None], moved[None], paid[None], t)), None

    plays = jnp.arange(1, len(arms) + 1, dtype=jnp.int32), arms, rewards, states
    return jax.lax.scan(following, policy.init(table), plays)[0]


def state_after(policy, table, arms, rewards, states=None):
    """The state of a policy that has seen these plays, one a round from the first on; states are 0 if not given."""
    arms = np.asarray(arms, np.int32)
    states = 0 * arms if states is None else np.asarray(states, np.int32)
    return _told(policy, table, arms, np.asarray(rewards, np.float32), states)

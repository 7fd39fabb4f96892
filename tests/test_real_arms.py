"""A loop of one's own around `init`, `scores` and `update`, on real arms: right, or refused in words."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from every_policy import ARMS, POLICIES, RIVER

import jaxbandit
from jaxbandit import ALL, TVKLUCB, Feedback, environments, play_round
from jaxbandit.policies import Discounted, Window

TABLE = np.array([[0.0, 1.0]] * 3)  # arms that are clicked or not
NUMBERS = np.zeros((3, 0))  # arms that pay real numbers
KEY = jax.random.key(0)
ROUNDS = 60
# those that count transitions
CHAINS = "KLUCBMC TVKLUCB IMEDMC JointKLUCB ThompsonMC PlugInGittins PosteriorGittins".split()
STEERING = "FollowVirtualAdvice", "LPUpdate", "TwoSet"
# those that learn from what arms with a state of their own show
LEARNERS = {
    name: policy
    for name, (policy, arms) in POLICIES.items()
    if arms is not RIVER and name not in ("Uniform", "Oracle", "PosteriorWhittle", "UCWhittle", "UCBVI", *STEERING)
} | {
    "WithDetector": jaxbandit.WithDetector(jaxbandit.UCB1(), jaxbandit.KnownBreaks([50])),
    "TVKLUCB-Window": TVKLUCB(memory=Window(5)),
    "TVKLUCB-Discounted": TVKLUCB(memory=Discounted(0.9)),
}


def of(arm=1, reward=None, t=3, table=TABLE, **given):
    return Feedback.of(arm, reward, t=t, table=table, **given)


@pytest.mark.parametrize("name", ["Thompson", pytest.param("TVKLUCB", marks=pytest.mark.slow)])
def test_a_loop_by_hand_plays_as_the_simulator(name):
    """The same arms in 60 rounds, on the same draws and keys, told by what plays paid and arms last showed."""
    policy = ALL[name]()
    runs = jaxbandit.run_keys(KEY, np.arange(1))
    keys, carry = jax.tree.map(lambda leaf: leaf[..., 0], (runs, jaxbandit.initial_carry(ARMS, policy, runs)))
    simulated, update = jax.jit(play_round), jax.jit(policy.update)
    scores = jax.jit(lambda key, state, t: policy.scores(jax.random.fold_in(key, t), state, t)[0])
    state, last = policy.init(TABLE), [0, 0, 0]
    for t in range(1, ROUNDS + 1):
        arm = int(jaxbandit.top_arms(scores(keys.policy, state, jnp.int32(t)), 1)[0])
        visits, carry = carry.visits, simulated(ARMS, policy, keys, carry, jnp.int32(t))
        (played,), (state_after,) = np.nonzero(np.asarray(carry.visits - visits))
        assert arm == played
        state = update(state, of(arm, float(state_after), t, before=last[arm]))
        last[arm] = int(state_after)


@pytest.mark.parametrize("name", sorted({*ALL} - {*CHAINS}))
def test_independent_rewards_need_no_state_before(name):
    """Clicks are told by what they pay, and the memory is that of feedback which says every state."""
    policy, every = ALL[name](), {"state": 1, "before": 0}
    chex.assert_trees_all_equal(*(policy.update(policy.init(TABLE), of(0, 1, 1, **given)) for given in ({}, every)))


def refuses(message, update, state, feedback):
    with pytest.raises(ValueError, match=message):
        update(state, feedback)


ASKING = "KLUCBMC TVKLUCB IMEDMC ThompsonMC PlugInGittins TVKLUCB-Window TVKLUCB-Discounted".split()


@pytest.mark.parametrize("name", [*ASKING, pytest.param("many-states", marks=pytest.mark.slow)])
def test_policies_that_count_transitions_ask_where_the_arm_was(name):
    """Also where JAX compiles if nothing is given; what contradicts the last play is refused outside of it."""
    policy = TVKLUCB() if name == "many-states" else LEARNERS[name]
    table = np.array([[0.0, 0.2, 0.5, 1.0]] * 3) if name == "many-states" else TABLE
    most, compiled = table.shape[1] - 1, jax.jit(policy.update)
    state = compiled(policy.init(table), of(1, 1, 1, table, before=0))
    for update in (policy.update, compiled):
        refuses(r"^before: missing, and the policy counts transitions", update, state, of(1, 1, 2, table))
    refuses(f"^before: 0, and arm 1 last showed state {most}; give", policy.update, state, of(1, 0, 2, table, before=0))
    state = compiled(state, of(1, 0, 2, table, before=most))
    refuses(f"^before: {most}, and arm 1 last showed state 0;", policy.update, state, of(1, 0, 3, table, before=most))
    wrong = of(2, 1, 3, table)._replace(before=jnp.array([5]))
    refuses("^before: .5. is not a list of integers from 0 to", policy.update, state, wrong)


@pytest.mark.parametrize("name", LEARNERS)
def test_feedback_made_by_hand_is_looked_at(name):
    """An arm or a state that is not there would be counted elsewhere or nowhere, and NaN would stay for ever."""
    policy, good = LEARNERS[name], of(1, 1, 1, before=0)
    state = policy.init(TABLE)
    nothing, unknown = jnp.array([jnp.nan]), jnp.array([7])
    refuses(r"^arms: \[7\] is not a list of integers from 0 to 2", policy.update, state, good._replace(arms=unknown))
    refuses(r"^rewards: \[nan\] is not a finite number", policy.update, state, good._replace(rewards=nothing))
    # these look at rewards alone
    of_rewards = "GradientBandit RescorlaWagner Exp3 Exp3IX Exp3P Exp3S Exp4 Hedge RegretMatching Rexp3 TsallisINF"
    if name not in of_rewards.split():
        refuses(r"^states: \[2\] is not a list of", policy.update, state, good._replace(states=jnp.array([2])))
    refuses("^chances: ", policy.update, state, good._replace(chances=nothing))
    twice = Feedback(*[jnp.array([1, 1])] * 3, jnp.ones(2), jnp.int32(1))
    refuses(r"^arms: \[1, 1\] names an arm twice", policy.update, state, twice)


@pytest.mark.parametrize("name", "UCB1 KLUCBMC Exp3 Hedge HiddenThompson Uniform Whittle".split())
def test_a_policy_says_what_a_reward_table_is(name):
    policy = POLICIES[name][0]
    for wrong, message in (
        (np.array([0.0, 1.0]), r"^reward: shape \(2,\) is not \[K, S\], the reward of each state of each arm, such as"),
        (None, r"^reward: None is not \[K, S\], .* if rewards are real numbers, give np.zeros"),
        (np.zeros((0, 2)), r"^reward: shape \(0, 2\) is not \[K, S\]"),
        ([[0.0, 1.0], [0.0]], r"^reward: .* lists of different lengths have to be padded"),
        ([[0.0, np.nan]] * 3, r"^reward: NaN or infinite value"),
    ):
        with pytest.raises(ValueError, match=message):
            policy.init(wrong)
    with pytest.raises(ValueError, match=r"^reward: shape \(2,\) is not \[K, S\]"):
        jax.jit(policy.init)(np.array([0.0, 1.0]))
    chex.assert_trees_all_equal(policy.init(TABLE.tolist()), policy.init(jnp.asarray(TABLE, float)))


@pytest.mark.parametrize("name", ["KLUCBMC", "IMEDMC", "DMED", "RCA", "EmpiricalKLUCB", "PlugInGittins"])
def test_a_policy_that_needs_states_says_so(name):
    with pytest.raises(ValueError, match=r"^reward: a table \[K, 0\] has no states, and this policy"):
        ALL[name]().init(NUMBERS)


REFUSED = [
    ({"reward": 0.37}, r"^reward: 0.37; no state of arm 1 pays it, they pay \[0.0, 1.0\]; for real numbers take"),
    ({"reward": np.nan}, r"^reward: nan lies outside .*; do not update the policy with a play whose reward is not"),
    ({"reward": 1.0, "state": 0}, "^reward: 1.0; state 0 of arm 1 pays 0.0; correct one, or leave the reward out"),
    ({}, "^reward: None; give what the arm paid, or the state that it moved to"),
    ({"table": NUMBERS}, "^reward: None; with a table .K, 0. give what the arm paid"),
    ({"table": NUMBERS, "reward": 1, "state": 1}, "^state: 1; a table .K, 0. has no states, so leave it out"),
    ({"table": [[1.0, 0.0, 1.0]] * 2, "reward": 1}, r"^state: None; states \[0, 2\] of arm 1 pay 1.0; give the new"),
    ({"arm": 3, "reward": 1}, "^arm: 3 is not among the integers from 0 to 2"),
    ({"reward": 1, "pays": "all"}, "^pays: 'all' is not one of before, after"),
    ({"reward": 1, "pays": "before"}, "^state: None; give the new state, because the reward"),
    ({"reward": 1, "state": 1, "pays": "before"}, "^before: None; give the old state, which pays"),
    ({"reward": 1, "state": 1, "before": 0, "pays": "before"}, "^reward: 1.0; state 0 of arm 1 pays 0.0"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_contradicts_itself_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        of(**given)


def test_feedback_needs_the_table():
    with pytest.raises(TypeError, match="'table'"):  # without it nobody could tell states from numbers
        Feedback.of(0, 1.0, t=1)


def test_what_was_seen_is_what_the_simulator_shows():
    """Bit for bit, from the reward or the state; rewards are those of the table if they are in float32."""
    arms = jaxbandit.markov([[[0.2, 0.5, 0.3]] * 3] * 3, [0.1, 1 / 3, 0.7])
    now, step, last = arms.init(KEY), jax.jit(arms.step), [0, 0, 0]
    for t in range(1, 11):
        now, seen = step(KEY, now, jnp.array([t % 3], jnp.int32), jnp.int32(t))
        state, paid = int(seen.states[0]), float(seen.rewards[0])
        for inputs in ({"reward": paid}, {"reward": [0.1, 1 / 3, 0.7][state]}, {"state": state}):
            made = Feedback.of(t % 3, **inputs, t=t, table=arms.reward, before=last[t % 3])
            chex.assert_trees_all_equal(made, seen)
            chex.assert_trees_all_equal_dtypes(made[:5], seen[:5])
        last[t % 3] = state


def test_double_precision_tells_more_rewards_apart():
    """Two entries that float32 takes for one are two states with x64, and .1 in float32 is then no .1."""
    table = np.array([[0.1, 0.1 + 1e-12]])
    with pytest.raises(ValueError, match=r"^state: None; states \[0, 1\] of arm 0 pay 0.1"):
        of(0, 0.1, 1, table)
    with jax.enable_x64(True):
        assert of(0, 0.1, 1, table).states == 0 and of(0, 0.1 + 1e-12, 1, table).states == 1
        with pytest.raises(ValueError, match="^reward: 0.10000000149011612; no state of arm 0 pays it"):
            of(0, float(np.float32(0.1)), 1, table)


def test_numbers_that_jax_has_not_yet_are_no_feedback():
    with pytest.raises(ValueError, match=r"^reward: has no value while JAX compiles; make a Feedback\(..\) of arrays"):
        jax.jit(lambda reward: of(1, reward))(1.0)


def test_actions_of_a_process_are_told_where_it_was():
    """The state left pays; it is the one that the last round showed, from the first round on."""
    process = environments.riverswim()
    policy, table = jaxbandit.UCRL2(), process.reward
    state = policy.init(table, np.ones(2, int))
    text = of(1, table[1, 1], 1, table, state=2, before=1, pays="before")
    assert policy.update(state, text).seen.here == 2
    wrong = of(1, table[1, 0], 1, table, state=1, before=0, pays="before")
    refuses("^before: 0, and arm 1 last showed state 1; give", policy.update, state, wrong)
    refuses("^before: missing", policy.update, state, of(1, table[1, 1], 1, table, state=1))
    policy = jaxbandit.UCBVI(5, 100)
    state = policy.init(table, np.ones(2, int))
    refuses("^before: missing", policy.update, state, of(1, t=1, table=table, state=1))


def test_arms_that_are_all_seen_are_all_told():
    policy = jaxbandit.UCWhittle()
    state = policy.init(TABLE)
    refuses("^shown: None; this policy needs the states of all arms", policy.update, state, of(1, 1, 1))
    refuses(r"^shown: \[0, 1, 2\] is not a list", policy.update, state, of(1, 1, 1)._replace(shown=np.arange(3)))
    assert policy.update(state, of(1, 1, 1)._replace(shown=jnp.array([0, 1, 0]))).seen.here.tolist() == [0, 1, 0]

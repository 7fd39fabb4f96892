"""Restless arms that all pay: what they collect against a loop, the best gain against value iteration, policies.

At the end the same arms with laws that change, against the arms of each segment.
"""

import itertools
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import state_after

import jaxbandit
from jaxbandit import Result, Uniform, indices, metrics, simulate
from jaxbandit.environments import as_decision_process, changing_markov, restless, two_state
from jaxbandit.policies import LPPriority, Myopic, PosteriorWhittle, Whittle, WhittleBelief, WhittleLastSeen
from jaxbandit.testing import check_environment

CIRCLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 2  # stays, or one state down
CIRCULAR = (-1, 0, 0, 1)
COST = [0.1, 0.3, 0.2]


def random_arms(arms=3, states=3, seed=0, by_action=False, paid="all", **options):
    """Random rows and rewards; `by_action` other rewards for arms that are not played."""
    random = np.random.default_rng(seed)
    rows = [random.dirichlet(np.ones(states), (arms, states)) for _ in range(2)]
    rewards = random.random((2, arms, states))
    kept = rewards[1] if by_action else None
    return restless(rows[0], rewards[0], rows[1], paid=paid, cost=COST, passive_reward=kept, **options)


def kept_by(arms):
    """What arms pay that are not played, [K, S]."""
    return arms.reward if arms.passive_reward is None else arms.passive_reward


def circular(arms, **options):
    return restless([CIRCLE.T] * arms, CIRCULAR, [CIRCLE] * arms, paid="all", observed=True, **options)


def averages(arms):
    """What arms earn that are played and what those keep that are not, [K, S], without costs."""
    tables = arms.reward, kept_by(arms)
    if arms.left_pays:
        return tables
    return [np.einsum("kst,kt->ks", *pair) for pair in zip((arms.transition, arms.passive), tables, strict=True)]


def relaxation(arms, plays):
    """That of what arms earn and keep on average."""
    earned, kept = averages(arms)
    earned = earned - np.array(COST)[:, None]
    return indices.relaxation(arms.transition, arms.passive, earned, plays, passive_reward=kept, paid="present")


LEFT = random_arms(observed=True, by_action=True, paid="present", initial_state=1)
UNSEEN_LEFT = random_arms(by_action=True, paid="present", initial_state=1)
SEEN, BOTH, UNSEEN = random_arms(observed=True), random_arms(observed=True, by_action=True), random_arms(by_action=True)


@pytest.mark.parametrize("arms", [BOTH, UNSEEN_LEFT], ids=["by-action", "left-unseen"])
@pytest.mark.slow
def test_what_is_collected_is_what_a_loop_adds_up(arms):
    """Every arm's state in every round, less what the plays cost, from the paths of the same arms when few pay."""
    played = arms.arms  # the same arms and draws, of which those played pay
    asked = {"runs": 7, "horizon": 60, "times": np.arange(1, 61), "plays": 2, "progress": False}
    path = {"record": {"path": lambda arms, policy, t: getattr(arms, "arms", arms).states}}
    result = simulate(arms, {"u": Uniform()}, **asked, **path)
    other = simulate(played, {"u": Uniform()}, **asked, **path)
    if not arms.left_pays:
        np.testing.assert_array_equal(result.visits["u"], other.visits["u"])  # plays are counted as ever
    states = result.recorded["path"]["u"][0, 0]  # [run, time, K]
    np.testing.assert_array_equal(states, other.recorded["path"]["u"][0, 0])
    plays = np.diff(result.visits["u"][0, 0].sum(-1), axis=1, prepend=0)
    if arms.left_pays:
        states = np.concatenate([np.ones_like(states[:, :1]), states[:, :-1]], axis=1)
    collected = np.zeros(states.shape[:2])
    for run, t in itertools.product(*map(range, collected.shape)):
        for k, (state, play) in enumerate(zip(states[run, t], plays[run, t], strict=True)):
            collected[run, t] += arms.reward[k, state] - COST[k] if play else kept_by(arms)[k, state]
    lost = np.arange(1, 61) * arms.comparator(2) - collected.cumsum(1)
    np.testing.assert_allclose(metrics.regret(result, "u")[0, 0], lost, atol=1e-9)
    # with the least reward of a round, by all states and sets of arms
    rounds = itertools.product(itertools.product(range(3), repeat=3), itertools.combinations(range(3), 2))
    least = min(
        sum(arms.reward[k, s[k]] - COST[k] if k in chosen else kept_by(arms)[k, s[k]] for k in range(3))
        for s, chosen in rounds
    )
    share = (lost[:, -1] - lost[:, 29]) / (30 * (arms.comparator(2) - least))
    assert metrics.linear_share(result, "u", np.sort(share)[2:4].mean()) == pytest.approx(4 / 7)
    assert metrics.regret_name(result) == f"regret against {arms.comparator_name(2)}"
    assert metrics.regret_name(other) == "realised regret"


def best_gain(arms, plays, sweeps=4000):
    """By value iteration over joint states and sets of arms, in float64, nothing shared with the library."""
    active, passive, cost = map(np.asarray, (arms.transition, arms.passive, arms.cost))
    (earned, kept), (count, states) = averages(arms), arms.reward.shape
    every = list(itertools.product(range(states), repeat=count))
    moves, paid = [], []
    for played in itertools.combinations(range(count), plays):
        rows = [active[k] if k in played else passive[k] for k in range(count)]
        moves.append([[np.prod([rows[k][s[k], n[k]] for k in range(count)]) for n in every] for s in every])
        spent = sum(cost[k] for k in played)
        pays = [earned[k] if k in played else kept[k] for k in range(count)]
        paid.append([sum(pays[k][s[k]] for k in range(count)) - spent for s in every])
    moves, paid = np.array(moves), np.array(paid)
    values = np.zeros(len(every))
    for _ in range(sweeps):
        new = (paid + moves @ values).max(0)
        change, values = new - values, new - new.min()
    assert np.ptp(change) < 1e-10
    return change.mean()


@pytest.mark.parametrize(("arms", "plays"), [(SEEN, 2), (BOTH, 1), (LEFT, 1)], ids=["2", "by-action", "left"])
def test_the_comparator_is_the_best_gain_of_all_arms_together(arms, plays):
    gain = best_gain(arms, plays)
    assert arms.comparator(plays) == pytest.approx(gain, abs=1e-10)
    assert as_decision_process(arms, plays=plays).comparator(1) == pytest.approx(gain, abs=1e-10)
    bound = relaxation(arms, plays).value
    assert gain < bound < gain + 0.15
    assert arms.relaxation(plays).value == pytest.approx(bound, abs=1e-12)


def test_what_regret_is_measured_against_is_said():
    """With many joint states the relaxation: for circular arms K / 5 (a fifth of the arms played), known exactly."""
    many = circular(10)
    assert (many.comparator(2), many.comparator_name(2)) == (2.0, "the relaxation")
    assert circular(4).comparator_name(1) == "the best policy"
    assert UNSEEN.comparator_name(1) == "the best policy that sees all states"
    result = simulate(many, {"u": Uniform()}, runs=2, horizon=5, plays=2, progress=False)
    assert metrics.regret_name(result) == "regret against the relaxation"
    with pytest.raises(ValueError, match="pseudo_regret is for arms with means of their own"):
        metrics.pseudo_regret(result, "u")


def test_arms_start_as_they_are_without_plays():
    """By default where all pay and one law is left by many rounds without a play; the table says what that pays."""
    law, played = (np.linalg.matrix_power(rows, 999)[:, 0] for rows in (SEEN.passive, SEEN.transition))
    np.testing.assert_allclose(SEEN.initial, law, atol=1e-12)
    np.testing.assert_allclose(random_arms(initial_state="stationary").initial, played, atol=1e-12)
    only_played = restless(SEEN.transition, SEEN.reward, SEEN.passive, "passive")
    np.testing.assert_allclose(only_played.initial, law, atol=1e-12)
    np.testing.assert_allclose(WAITING.initial, 0.25)  # that of plays, since arms that wait have no single law
    result = simulate(BOTH, {"u": Uniform()}, runs=2, horizon=5, progress=False)
    pays = sum((law * BOTH.passive_reward).ravel())
    line = f"where arms pay {pays:.4g} a round without plays; the best policy pays {BOTH.comparator(1):.4g}"
    assert line in " ".join(str(result).split()) and line in result._repr_html_()


def test_arms_that_end_show_their_total_reward():
    """Jobs that pay until they end: the comparator is 0, and minus the regret is what the states add up to."""
    runs = [[[1.0, 0.0], [0.3, 0.7]]] * 10, [[[1.0, 0.0], [0.6, 0.4]]] * 10
    jobs = restless(runs[0], (0, 1), runs[1], 1, paid="all", observed=True)
    result = simulate(jobs, {"u": Uniform()}, runs=50, horizon=40, plays=2, progress=False)
    assert result.comparator.tolist() == [0] and metrics.regret_name(result) == "minus the total reward"
    total = result.recorded["stays"]["u"][0, 0, :, -1, :, 1].sum(1)  # of jobs that go on, each of which pays 1
    assert "Total reward (the long-run reward is 0) after round 40, mean" in str(result)
    assert str(result).split()[-3:] == [f"{total.mean():#.3g}", "±", f"{total.std(ddof=1) / 50**0.5:#.3g}"]
    assert f'<td class="number">{total.mean():#.3g}</td>' in result._repr_html_()


def test_the_contract_notices_wrong_stays():
    class Forgetful(type(SEEN)):
        def records(self, state):
            return {"stays": jnp.zeros_like(state.stays)}

    leaves = lambda arms: ([arms.arms, arms.cost], None)
    jax.tree_util.register_pytree_node(Forgetful, leaves, lambda _, leaf: Forgetful(*leaf))
    with pytest.raises(AssertionError, match='"stays" do not grow by one for each arm in each round'):
        check_environment(Forgetful(SEEN.arms, SEEN.cost), settle=2**6)


def test_whittle_of_arms_that_all_pay_is_known_for_circles():
    """The published indices (Avrachenkov and Borkar 2022): -1/2, 1/2, 1, -1; a cost lowers an arm's by itself.

    So does a reward of that size for arms that are not played.
    """
    dear = Whittle.of(circular(2, cost=[0.25, 0.0])).indices
    np.testing.assert_allclose(dear, [[-0.75, 0.25, 0.75, -1.25], [-0.5, 0.5, 1, -1]], atol=1e-12)
    rest = Whittle.of(circular(2, passive_reward=[CIRCULAR, np.add(CIRCULAR, 0.25)])).indices
    np.testing.assert_allclose(rest, dear[::-1], atol=1e-12)


def test_lp_priority_plays_where_the_relaxation_does():
    """The sign of the numbers against the occupation, the other side of the programme."""
    played = relaxation(SEEN, 1).occupation
    table = LPPriority.of(SEEN, 1).indices
    always, never = (played[..., 0] < 1e-12) & (played[..., 1] > 1e-9), played[..., 1] < 1e-12
    assert always.any() and never.any()
    assert (table[always] > -1e-9).all() and (table[never] < 1e-9).all()
    assert np.abs(table[(played > 1e-9).all(-1)]).max() < 1e-9


def test_myopic_is_what_one_round_gains():
    """b P r - b P0 r0 - cost, in NumPy, of states seen and of beliefs after two rounds without a play."""
    policy = Myopic.of(UNSEEN)
    state = state_after(policy, jnp.asarray(UNSEEN.reward, float), [0, 0], [0, 0], states=[1, 1])
    beliefs = [UNSEEN.initial[k] @ np.linalg.matrix_power(UNSEEN.passive[k], 2) for k in range(3)]
    beliefs[0] = np.eye(3)[1]
    earned, kept = (np.einsum("ks,ks->k", beliefs, table) for table in averages(UNSEEN))
    gains = earned - kept - COST
    np.testing.assert_allclose(policy.scores(None, state, 3)[0], gains, atol=1e-6)
    policy, gains = Myopic.of(LEFT), (LEFT.reward - LEFT.passive_reward)[:, 1] - COST  # all are in state 1
    np.testing.assert_allclose(policy.scores(None, policy.init(jnp.asarray(LEFT.reward)), 1)[0], gains, atol=1e-6)


@pytest.mark.slow
def test_the_order_of_arms_changes_nothing():
    """In games without ties."""
    policies = {"whittle": Whittle.of(SEEN), "lp": LPPriority.of(SEEN, 1), "myopic": Myopic.of(SEEN)}
    asked = {"runs": 100, "horizon": 20, "times": [20], "progress": False}
    plain, shuffled = (simulate(SEEN, policies, **asked, shuffle=item).visits for item in (False, True))
    chex.assert_trees_all_equal(plain, shuffled)


@pytest.mark.parametrize("arms", [UNSEEN, UNSEEN_LEFT], ids=["arrival", "left"])
def test_the_index_of_what_was_seen_last_against_value_iteration(arms):
    """At the subsidy that is the index, playing and waiting are equally good, by value iteration over the beliefs."""
    (earned, kept), ages, discount = averages(arms), 6, 0.8
    table = WhittleLastSeen.of(arms, ages, discount).indices
    for k, s, n in [(0, 0, 1), (1, 2, 3), (2, 3, 1), (0, 3, 6), (1, 1, 6)]:
        active, passive = arms.transition[k], arms.passive[k]
        starts = np.vstack([np.eye(3), arms.initial[k]])
        laws = np.stack([starts @ np.linalg.matrix_power(passive, age) for age in range(ages)], axis=1)
        shares = np.mean([np.linalg.matrix_power(passive, n) for n in range(1000, 1012)], axis=0)
        laws[:, -1] = starts @ shares
        older = np.minimum(np.arange(1, ages + 1), ages - 1)
        subsidy, values = table[k, s, n - 1] + COST[k], np.zeros((4, ages))
        for _ in range(400):
            plays = laws @ earned[k] + discount * laws @ active @ values[:3, 0]
            waits = subsidy + laws @ kept[k] + discount * values[:, older]
            values = np.maximum(plays, waits)
        np.testing.assert_allclose(plays[s, n - 1], waits[s, n - 1], atol=1e-9)


def test_as_many_ages_as_an_arm_takes_to_forget():
    """0.9^66 and 0.5^10 are the first powers below 1e-3; arms that wait forget nothing, and 2 ages tell all of them."""

    def ages(*passive):
        return WhittleLastSeen.of(restless([[[0.5, 0.5], [0.4, 0.6]]] * 2, (0, 1), passive)).indices.shape[2]

    fast, slow = [[0.75, 0.25], [0.25, 0.75]], [[0.95, 0.05], [0.05, 0.95]]
    assert (ages(fast, fast), ages(fast, slow)) == (11, 67)
    assert ages(np.eye(2), np.eye(2)) == ages([[0, 1], [1, 0]], np.eye(2)) == 2


def test_what_was_seen_last_is_remembered_with_its_round():
    """Scores against a loop over a list of plays, which the policy hears of two rounds late."""
    policy = WhittleLastSeen.of(UNSEEN, ages=4)
    state, view, last = policy.init(jnp.asarray(UNSEEN.reward, float)), [3, 3, 3], [0, 0, 0]
    for t, (arm, seen) in enumerate([(0, 2), (1, 1), (1, 0), (2, 2), (0, 1), (0, 0), (0, 1)], 1):
        state = policy.update(state, jaxbandit.Feedback.of(arm, t=t, table=UNSEEN.reward, state=seen))
        view[arm], last[arm] = seen, t
        expected = [policy.indices[k, view[k], min(t + 3 - last[k], 4) - 1] for k in range(3)]
        np.testing.assert_allclose(policy.scores(None, state, t + 3)[0], expected, rtol=1e-6)


ROWS, ASKED = CIRCLE[None].repeat(3, 0), {"runs": 2, "horizon": 3, "progress": False}
TWO = two_state([0.2, 0.3], [0.3, 0.4])
PAY = restless(TWO.transition, (0, 1), 1 - TWO.transition, paid="all")
WAITING = restless(ROWS, CIRCULAR, np.eye(4)[None].repeat(3, 0), paid="all", observed=True)
ALL_PAY = partial(restless, ROWS, CIRCULAR, paid="all")
REFUSED = [
    (lambda: restless(ROWS, CIRCULAR, cost=0.1), r'cost: 0.1 with paid="played"'),
    (lambda: ALL_PAY(), 'passive: missing with paid="all"'),
    (lambda: restless(ROWS, CIRCULAR, ROWS, passive_reward=CIRCULAR), 'passive_reward: with paid="played"'),
    (lambda: restless(ROWS, [1] * 4, ROWS, paid="all", passive_reward=[2] * 4), "reward: every state of every arm"),
    (lambda: restless(ROWS, CIRCULAR, paid="present", observed=True), 'passive: missing with paid="present"'),
    (lambda: restless(np.full((2, 513, 513), 1 / 513), np.arange(513), paid="all"), "transition: 513 states; at most"),
    (lambda: ALL_PAY(np.eye(4)[None].repeat(3, 0), "passive"), '"passive" needs `passive`'),
    (lambda: SEEN.comparator(3), "plays: 3 of 3 arms that all pay"),
    (lambda: SEEN.comparator_name(0), "plays: 0 of 3 arms that all pay"),
    (lambda: LPPriority.of(SEEN, 3), "plays: 3 is not among the integers from 1 to 2"),
    (lambda: WhittleLastSeen.of(SEEN), "arms: they are observed, .* use Whittle.of"),
    (lambda: WhittleLastSeen.of(UNSEEN, 251), "ages: 251 is not among the integers from 2 to 250"),
    (lambda: PosteriorWhittle.of(SEEN, cost=0.3), "cost: taken from the arms; leave it out"),
    (lambda: jaxbandit.live.Player(Whittle.of(SEEN), [*"abc"], states={"x": 0, "y": 0.5, "z": 1}), "Whittle.of from"),
    (lambda: Whittle.of(WAITING), "passive: arm 0 has several recurrent classes"),
    (lambda: simulate(SEEN, {"u": Uniform()}, plays=3, **ASKED), "plays: 3 of 3 arms that all pay"),
    (lambda: simulate({"a": SEEN, "b": SEEN.arms}, {"u": Uniform()}, **ASKED), "are not alike"),
]
OTHER_ARMS = "made for other arms than those of .*, which differ in"
NOT_FOR = [
    (SEEN, PosteriorWhittle(cost=0.3), 1, r"cost: 0.3, and in .* a play costs \[0.1, 0.3, 0.2\]; give that"),
    (BOTH, PosteriorWhittle(COST), 1, "PosteriorWhittle: knows one reward of each state"),
    (BOTH, Myopic(BOTH.transition, BOTH.initial, paid="all"), 1, "Myopic: knows one reward of each state"),
    (BOTH, Whittle.of(SEEN), 1, f"{OTHER_ARMS} passive_reward"),
    (SEEN, LPPriority.of(SEEN, 1), 2, "plays: the policy is for 1 plays a round, and 2"),
    (SEEN, Myopic.of(SEEN.arms), 1, "Myopic: assumes that the arms that are played pay; in"),
    (SEEN, Myopic(SEEN.transition, SEEN.initial, paid="all", cost=[1, 2]), 1, r"cost: shape \(2,\) is neither"),
    (LEFT, jaxbandit.KLUCB(), 1, "KLUCB is for arms that pay for the state moved to, and those of"),
    (LEFT, Myopic.of(BOTH), 1, "Myopic: assumes that the state moved to pays; in .* the state left pays"),
    (LEFT, Whittle.of(BOTH), 1, f"{OTHER_ARMS} initial, pays"),
    (UNSEEN_LEFT, WhittleLastSeen.of(UNSEEN, 4), 1, f"{OTHER_ARMS} .*pays"),
    (UNSEEN, Whittle.of(SEEN), 1, "Whittle needs observed arms"),
    (PAY, WhittleBelief(TWO.transition, TWO.initial), 1, "assumes that the arms that are played pay"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("arms", "policy", "plays", "message"), NOT_FOR)
def test_arms_that_a_policy_is_not_for(arms, policy, plays, message):
    with pytest.raises(ValueError, match=message):
        simulate(arms, {"p": policy}, plays=plays, **ASKED)


# Laws that change

ARMS, STATES, STARTS, HORIZON = 3, 2, (1, 21, 36), 50
ACTIVE, PASSIVE = np.random.default_rng(4).dirichlet(np.ones(STATES), (2, 3, ARMS, STATES))
REWARD, COSTS = np.array([[0, 1], [0.2, 0.7], [0, 0.9]]), [0.1, 0.0, 0.2]
SIZES = {"runs": 5, "horizon": HORIZON, "times": range(1, HORIZON + 1), "plays": 2, "progress": False}
build = partial(changing_markov, restless=True, paid="all", horizon=HORIZON, cost=COSTS)
CHANGING = build(STARTS[1:], ACTIVE, REWARD, passive=PASSIVE, observed=True)


def test_arms_move_by_the_laws_of_the_round():
    """In each segment as the arms of that segment alone do, from the same states, with the draws of the same rounds."""
    key, state = jax.random.key(3), CHANGING.init(jax.random.key(3))
    random, seen = np.random.default_rng(0), []
    step, *alone = map(jax.jit, (CHANGING.step, *(CHANGING.segment(number).step for number in range(3))))
    for t in range(1, HORIZON + 1):
        played = random.permutation(ARMS)[:2].astype(np.int32)
        segment = alone[sum(start <= t for start in STARTS) - 1](key, state, played, np.int32(t))
        state, feedback = step(key, state, played, np.int32(t))
        chex.assert_trees_all_equal((state, feedback), segment)
        seen.append(np.asarray(feedback.shown))
    assert len(np.unique(seen, axis=0)) > 4
    np.testing.assert_allclose([CHANGING.segment(n).transition for n in range(3)], ACTIVE)


def test_one_law_is_that_of_arms_that_do_not_change():
    fixed = restless(ACTIVE[0], REWARD, PASSIVE[0], 0, observed=True, paid="all", cost=COSTS)
    alike = build(STARTS[1:], [ACTIVE[0]] * 3, REWARD, passive=PASSIVE[0], observed=True)
    one, other = (simulate(arms, {"W": Whittle.of(fixed)}, **SIZES) for arms in (fixed, alike))
    np.testing.assert_array_equal(one.visits["W"], other.visits["W"])
    assert alike.breaks.tolist() == [] and alike.numbers()["variation"] == 0
    np.testing.assert_allclose(alike.means(), fixed.means())


def test_regret_is_against_the_best_policy_of_each_segment(tmp_path):
    """Round by round, from the states after it, and the gain by value iteration over all states and sets of arms."""
    path = {"record": {"path": lambda arms, policy, t: arms.arms.states}}
    result = simulate(CHANGING, {"u": Uniform()}, **SIZES, **path)
    plays = np.diff(result.visits["u"][0, 0].sum(-1), axis=1, prepend=0)  # [run, t, K]
    states = result.recorded["path"]["u"][0, 0]
    paid = REWARD[np.arange(ARMS), states].sum(-1) - (plays * COSTS).sum(-1)
    gains = [best_gain(CHANGING.segment(number), 2) for number in range(3)]
    number = np.searchsorted(STARTS, np.arange(1, HORIZON + 1), side="right") - 1
    expected = np.cumsum(np.array(gains)[number] - paid, axis=1)
    np.testing.assert_allclose(metrics.regret(result, "u")[0, 0], expected, atol=1e-6)
    assert metrics.regret_name(result) == "regret against the best policy of each segment"
    assert CHANGING.breaks.tolist() == [21, 36]
    result.save(tmp_path / "r.npz")
    loaded = Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(metrics.regret(loaded, "u"), metrics.regret(result, "u"))
    both = {"a": CHANGING, "b": build(STARTS[1:], ACTIVE[::-1], REWARD, passive=PASSIVE[::-1], observed=True)}
    assert simulate(both, {"u": Uniform()}, **SIZES).comparator.shape == (2, HORIZON)
    assert loaded.provenance["scenarios"]["scenario"]["breaks"] == [21, 36]


def test_errors_of_changing_laws():
    for other, message in (
        ({"horizon": None}, 'horizon: missing with paid="all"'),
        ({"passive": None}, 'passive: missing with paid="all", so that a play would change nothing'),
        ({"passive": PASSIVE[:2]}, r"passive: shape \(2, 3, 2, 2\) is not that of `transition`"),
        ({"restless": False}, 'paid: "all" is for arms that move in every round'),
        ({"paid": "played"}, 'passive: is for arms that all pay; give paid="all"'),
        ({"paid": "played", "passive": None, "observed": True}, "observed: is for arms that all pay"),
        ({"paid": "played", "passive": None}, "cost: is for arms that all pay"),
    ):
        with pytest.raises(ValueError, match=message):
            build(**{"breaks": STARTS[1:], "transition": ACTIVE, "reward": REWARD, "passive": PASSIVE} | other)
    with pytest.raises(ValueError, match="number: 3; the segments are 0 to 2"):
        CHANGING.segment(3)
    with pytest.raises(ValueError, match=r"arms: .* does not tell its laws"):
        Whittle.of(CHANGING)
    with pytest.raises(ValueError, match=r"unknown_rewards: \(1, 0\); give the least and the largest"):
        PosteriorWhittle.of(CHANGING, unknown_rewards=(1, 0))
    for policy, more, message in (
        (Uniform(), {"horizon": 60}, "horizon: the arms were made for 50 rounds"),
        (Uniform(), {"plays": 3}, "plays: 3 of 3 arms that all pay"),
        (PosteriorWhittle.of(CHANGING, memory=3), {}, "memory: 3 is not a memory"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(CHANGING, {"p": policy}, **{"runs": 2, "horizon": 50} | more)

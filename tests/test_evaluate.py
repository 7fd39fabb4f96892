"""What a log is worth: against sums by hand, enumeration of all logs, closed forms, many draws, and a player's log."""

import itertools
import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import jaxbandit
from jaxbandit import Feedback, live
from jaxbandit.live import largest_draw, off_policy, replayed_rounds

TABLE = jnp.array([[0.0, 1.0]] * 2)
STATES = {"no": 0.0, "yes": 1.0}


def log_of(arm, reward, probability, arms=2):
    """A log of rewards 0 and 1."""
    columns = {"arm": arm, "reward": reward, "probability": probability}
    return live.read_log(columns, arms=range(arms), states={"0": 0, "1": 1})


def test_estimates_by_hand():
    """Weights of pi = (3/4, 1/4): 3/2, 1/2, 3, 1/2, of which the first, the third and the fourth pay 1, 1 and 0."""
    log = log_of([0, 1, 0, 1] * 50, [1, 1, 1, 0] * 50, [0.5, 0.5, 0.25, 0.5] * 50)
    with pytest.warns(UserWarning, match="^mixed: the mean weight is 1.38, not about 1"):
        found = live.evaluate(log, {"mixed": [0.75, 0.25]}, interval="bernstein")
    weights, rewards = np.array([1.5, 0.5, 3, 0.5] * 50), np.array([1, 1, 1, 0] * 50)
    assert found.mean_weight[0] == 5.5 / 4 and found.largest_weight[0] == 3
    assert found.effective_size[0] == pytest.approx(200 * 5.5**2 / (4 * (2.25 + 0.25 + 9 + 0.25)))
    model, robust = [[], []], []
    for a, r, w in zip(log.arm, rewards, weights):
        overall = sum(map(sum, model)) / max(sum(map(len, model)), 1)
        q = [(sum(model[k]) + 10 * overall) / (len(model[k]) + 10) for k in (0, 1)]
        robust.append(0.75 * q[0] + 0.25 * q[1] + w * (r - q[a]))
        model[a].append(r)
    np.testing.assert_allclose(found.mean[0], [1, 5 / 5.5, np.mean(robust)])  # IPS: 5 / 4, and rewards are at most 1
    errors = [np.std(weights * rewards, ddof=1), math.sqrt(np.mean(weights**2 * (rewards - 5 / 5.5) ** 2)) / (5.5 / 4),
              np.std(robust, ddof=1)]  # fmt: skip
    np.testing.assert_allclose(found.standard_error[0], np.array(errors) / math.sqrt(200))
    never = log_of([0, 1, 1] * 60, [1, 0, 0] * 60, [1 / 3, 2 / 3, 2 / 3] * 60)  # doubly robust is below 0
    for each in (found, live.evaluate(never, {"never pays": "1"}, resamples=50)):
        assert (each.low <= each.mean).all() and (each.mean <= each.high).all()
    assert each.mean.tolist() == [[0, 0, 0]]


def test_a_log_of_a_policy_that_learns_is_said_once():
    """Its probabilities change, or several arms had the probability 1; those of a fixed policy need not sum to 1."""
    arm, paid = np.arange(200) % 2, np.arange(200) % 3 == 0
    for probability, expected in ((0.5, ()), ([0.5, 0.4] * 100, ()), ([0.5] * 199 + [0.6], ("bern",)), (1, ("bern",))):
        log = log_of(arm, paid, np.broadcast_to(probability, 200))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = live.evaluate(log, {"even": [0.5, 0.5], "0": "0"}, resamples=10)
            forced = live.evaluate(log, {"even": [0.5, 0.5]}, interval="bootstrap", resamples=10)
        said = [str(each.message) for each in warned if "different rounds" in str(each.message)]
        assert len(said) == 2 * len(expected) == len(found.log_notes + forced.log_notes)
        assert found.interval.startswith(expected or "boot") and forced.interval == "bootstrap"
        assert "Warning: the log chose an arm with different" in str(found) or not expected


def test_weights_of_two_rounds_and_arms_never_chosen_are_said():
    log = log_of([0] * 200 + [1] * 2, [0, 1] * 101, [0.999] * 200 + [0.001] * 2, arms=3)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = live.evaluate(log, {"second": "1", "third": "2", "first": "0"})
    said = [str(each.message) for each in warned]
    assert [each.partition(":")[0] for each in said] == ["second", "third", "third"]  # nothing of the log
    assert "the weights are those of 2.0 rounds, too few for an estimate" in said[0]
    assert "never chose 2, which this policy plays with probability 1;" in said[1]
    assert found.unseen.tolist() == [0, 1, 0]
    assert (found.low[:2] == 0).all() and (found.high[:2] == 1).all() and (found.high[2] < 0.6).all()
    assert found.bernstein_low[1] == 0 and (found.bernstein_high[:2] > 0.99).all()


def test_the_bernstein_bound_is_its_formula():
    """The bound is that of a plain loop over the rounds."""
    values = np.random.default_rng(0).exponential(0.3, 60)
    mean, total, scales = 0.5, 0.0, [0.5**n for n in (1, 2, 3, 4)]
    sums = [-math.log(4 / 0.05) / s for s in scales]
    for t, value in enumerate(values, 1):
        expected = min(1.0, mean)
        sums = [x + expected + math.log(1 + s * (value - expected)) / s for x, s in zip(sums, scales)]
        total += value
        mean = (0.5 + total) / (t + 1)
    assert off_policy.lower(values, 0.05) == pytest.approx(max(sums) / 60)


def test_bootstrap_intervals_are_those_of_the_normal_law():
    """Of 2,000 resamples of 2,000 rounds: 1.96 standard errors on each side; .3 are 5 deviations of a resampled end."""
    draw = np.random.default_rng(4)
    arm = draw.integers(2, size=2000)
    reward = (draw.random(2000) < np.array([0.3, 0.6])[arm]).astype(int)
    found = live.evaluate(log_of(arm, reward, np.full(2000, 0.5)), {"fixed": [0.3, 0.7]}, resamples=2000)
    for end, distance in ((found.low, -1.96), (found.high, 1.96)):
        np.testing.assert_allclose((end - found.mean) / found.standard_error, [[distance] * 3], atol=0.3)
    weights = np.array([0.6, 1.4])[arm]
    ends = off_policy.lower(weights * reward, 0.025), 1 - off_policy.lower(weights * (1 - reward), 0.025)
    assert (found.bernstein_low[0], found.bernstein_high[0]) == pytest.approx(ends)


def test_choice_probabilities_of_thompson_sampling():
    """Against the trapezoidal rule on 100,000 steps."""
    for a, b in (
        ([1.0, 1.0], [1.0, 1.0]),
        ([3.0, 5.0], [7.0, 9.0]),
        ([400.0, 2.0], [300.0, 1.0]),
        ([5000.0, 5050.0], [5000.0, 4950.0]),
        ([0.5, 40.0, 300.0], [0.7, 60.0, 500.0]),
    ):
        found, x = largest_draw.of_betas(np.array([a]), np.array([b]))[0], np.linspace(0, 1, 100_001)
        laws = stats.beta(np.array(a)[:, None], np.array(b)[:, None])
        for k in range(1, len(a)):
            others = np.delete(laws.cdf(x), k, 0).prod(0)
            assert found[k] == pytest.approx(integrate.trapezoid(laws.pdf(x)[k] * others, x), rel=1e-7, abs=1e-12)
        assert found.sum() == pytest.approx(1)


def taught(policy, table):
    """The state after twenty rounds of three arms."""
    draw, state, last, update = np.random.default_rng(2), policy.init(table), [0, 0, 0], jax.jit(policy.update)
    for t in range(1, 21):
        arm, shown = int(draw.integers(3)), int(draw.integers(2))
        reward = float(table[arm, shown]) if table.shape[1] else draw.exponential()
        places = {"state": shown, "before": last[arm]} if table.shape[1] else {}
        state = update(state, Feedback.of(arm, reward, t=t, table=table, **places))
        last[arm] = shown
    return state


@pytest.mark.slow
def test_choice_probabilities_are_the_shares_of_draws():
    """Of 10^5 draws; a share beyond 5 standard errors has the probability 6e-7, one of 18 shares 1e-5."""
    families, coins, numbers = jaxbandit.families, jnp.array([[0.0, 1.0]] * 3), jnp.zeros((3, 0))
    for policy, table in (
        (jaxbandit.Thompson(0.5, 2.0, memory=jaxbandit.Discounted(0.9)), coins),
        (jaxbandit.Thompson(family=families.Gaussian(2.0)), numbers),
        (jaxbandit.Thompson(family=families.Poisson()), numbers),
        (jaxbandit.Thompson(family=families.Exponential()), numbers),
        (jaxbandit.ThompsonMC(0.5, 2.0), coins),
        (jaxbandit.GradientBandit(learning_rate=0.5), coins),
    ):
        state = taught(policy, table)
        chances = live.choice_probabilities(policy, state, 7)
        assert chances.min() > 1e-3
        scores = jax.jit(jax.vmap(lambda key, policy=policy, state=state: policy.scores(key, state, 7)[0].argmax()))
        shares = np.bincount(scores(jax.random.split(jax.random.key(1), 10**5)), minlength=3) / 10**5
        assert (np.abs(shares - chances) <= 5 * np.sqrt(chances * (1 - chances) / 10**5)).all(), policy


def test_policies_of_which_nothing_is_known_are_refused():
    @jaxbandit.pytree
    class Coin(jaxbandit.UCB1):
        def scores(self, key, state, t):
            return jax.random.normal(key, (2,)), state

    state = jaxbandit.KLUCB().init(TABLE)
    assert live.choice_probabilities(jaxbandit.KLUCB(), state, 1).tolist() == [1, 0]
    coin = Coin()
    with pytest.raises(ValueError, match="^policy: Coin chooses by chance"):
        live.choice_probabilities(coin, coin.init(TABLE), 1)
    with pytest.raises(ValueError, match="^policy: choice probabilities of ThompsonMC are known for arms of two"):
        live.choice_probabilities(jaxbandit.ThompsonMC(), jaxbandit.ThompsonMC().init(jnp.zeros((2, 3))), 1)


@pytest.mark.parametrize("policy", [jaxbandit.Exp3(0.2), jaxbandit.Thompson()])
@pytest.mark.slow
def test_a_player_judged_by_its_own_log_has_weights_of_1(policy):
    """What the log says of a choice, and what the policy is taught along the log, are different programs."""
    player, draw = live.Player(policy, ["a", "b"], states=STATES, key=0), np.random.default_rng(0)
    for _ in range(40):
        player.learn(player.choose().id, list(STATES)[int(draw.random() < 0.5)])
    player.choose()  # without an answer
    log = live.read_log(player)
    assert log.left_out == 1 and len(log.arm) == 40 and 0 < log.probability.min() < log.probability.max() < 1
    with pytest.warns(UserWarning, match="^itself: the weights are those of 40.0 rounds; errors"):
        found = live.evaluate(player, {"itself": policy}, interval="bernstein")
    assert found.mean_weight[0] == pytest.approx(1, abs=1e-5) and found.effective_size[0] == pytest.approx(40)
    assert found.mean[0, 0] == pytest.approx(log.reward.mean(), abs=1e-5)
    state, update = policy.init(TABLE), jax.jit(policy.update)
    for t, (arm, shown, chance) in enumerate(zip(log.arm[:25], log.state, log.probability), 1):
        feedback = Feedback.of(arm, shown, t=t, table=TABLE, state=shown)
        state = update(state, feedback._replace(chances=jnp.array([chance])))
    chances = live.choice_probabilities(policy, state, 26)
    with warnings.catch_warnings(action="ignore"):  # of fewer than 30 rounds
        frozen = live.evaluate(log, {"frozen": policy, "fixed": chances}, frozen_after=25, resamples=10)
    assert frozen.rounds == 15
    np.testing.assert_allclose(frozen.mean[0], frozen.mean[1], rtol=1e-5)


@pytest.mark.slow
def test_arms_that_come_and_go_and_answers_that_come_late():
    """The probability of each choice is that among the arms that could be played, by the answers known by then."""
    player = live.Player(jaxbandit.Thompson(), ["a", "b", "c"], states=STATES, key=0)
    draw, seen, expected, waiting = np.random.default_rng(0), {name: [1.0, 1.0] for name in "abcd"}, [], []
    for t in range(45):
        if t == 15:
            player.add("d")
        if t == 30:
            player.retire("a")
        left = ["b", "c"] if t % 3 == 0 else list("abcd"[t >= 30 : 3 + (t >= 15)])
        choice = player.choose(offered=left if t % 3 == 0 else None)
        wins, losses = np.array([seen[name] for name in left]).T
        expected.append(largest_draw.of_betas(wins[None], losses[None])[0, left.index(choice.arm)])
        waiting.append(choice)
        if len(waiting) > 4:
            old, won = waiting.pop(int(draw.integers(4))), bool(draw.integers(2))
            player.learn(old.id, "yes" if won else "no")
            seen[old.arm][0 if won else 1] += 1
    player.learn({choice.id: "no" for choice in waiting})
    log = live.read_log(player)
    assert log.arms == tuple("abcd")
    np.testing.assert_allclose(log.probability, expected, rtol=1e-6)


def test_a_replay_is_a_loop():
    """Of drawn rounds those are used that agree with the policy's choice, in the order of arms each in its turn."""
    policy, draw = jaxbandit.UCB1(), np.random.default_rng(3)
    arm, reward, drawn = draw.integers((2, 2, 60), size=(60, 3)).T
    log = log_of(arm, reward, [0.5] * 60)
    scores, update = jax.jit(policy.scores), jax.jit(policy.update)

    def chosen(state, t):
        return int(scores(None, state, jnp.int32(t))[0].argmax())

    def learned(state, t, place):
        return update(state, Feedback.of(arm[place], reward[place], t=t, table=TABLE, state=reward[place]))

    state, t, used = policy.init(TABLE), 1, []
    for place in drawn:
        agrees = t <= 25 and chosen(state, t) == arm[place]
        used.append(place if agrees else -1)
        if agrees:
            state, t = learned(state, t, place), t + 1
    found = replayed_rounds.in_rounds(log, policy, np.zeros((1, 2), np.uint32), drawn[None], 25)
    assert found.tolist() == [used]
    state, queues, paid = policy.init(TABLE), [list(np.flatnonzero(arm == k)) for k in (0, 1)], []
    for t in itertools.count(1):
        if not (queue := queues[chosen(state, t)]):
            break
        paid.append(reward[queue[0]])
        state = learned(state, t, queue.pop(0))
    found = live.replay(log, {"UCB1": policy}, order="arm", rounds=60, seeds=2)
    assert found.used.tolist() == [[len(paid)] * 2] and found.mean[0] == pytest.approx(np.mean(paid))
    assert live.replay(log, {"UCB1": policy}, order="arm", seeds=2).used[0, 0] == np.bincount(arm).min()
    by_round = live.replay(log, {"UCB1": policy}, seeds=2)
    assert (by_round.used < 50).all() and np.isfinite(by_round.standard_error[0])
    with pytest.raises(ValueError, match=r"^log: in round 1 an arm was chosen with probability 0.4, not 1 / 2"):
        live.replay(log._replace(probability=np.full(60, 0.4)), {"UCB1": policy})


GOOD = {"arm": ["a", "b", "a"], "reward": [0, 1, 1], "probability": [0.5, 0.5, 0.9]}


@pytest.mark.parametrize(
    ("changed", "named", "message"),
    [
        ({"arm": None}, {}, "data: columns: no columns 'arm' in"),
        ({"probability": None}, {}, "data: columns: no columns 'probability' in .*; it is 1 / K if"),
        ({"probability": [0.5, 0, 0.5]}, {}, r"data: row 1: probability 0 is not .* in \(0, 1\]"),
        ({"probability": [0.5, 1.5, 0.5]}, {}, "data: row 1: probability 1.5 is not"),
        ({"reward": [0, 1, "inf"]}, {}, "data: row 2: reward inf is not among finite numbers"),
        ({"reward": [0, 1, 2]}, {"states": STATES}, "data: row 2: reward: 2.0; no state of arm 'a' pays it"),
        ({"state": ["no", "yes", "x"]}, {"states": STATES}, "data: row 2: state: 'x' is not a state of arm 'a'"),
        ({"reward": [0, 1, 2]}, {"rewards": (0, 1)}, r"data: row 2: reward: 2.0 lies outside \[0, 1\]"),
        ({"reward": [1, 1, 1]}, {}, r"data: every round pays 1; give rewards=\(low, high\)"),
        ({"reward": ["", "", ""]}, {}, "data: no round has an answer"),
        ({"round": [1, 2, 2]}, {}, "data: row 2: round 2 follows round 2; rounds increase"),
        ({}, {"arms": ["a", "c"]}, r"data: row 1: arm 'b' is not among the arms \['a', 'c'\]"),
        ({"arm": ["a", "a", "a"]}, {}, "data: 1 arms; a log has at least 2"),
        ({}, {"states": STATES, "rewards": (0, 1)}, "states: give states or rewards"),
    ],
)
def test_wrong_tables_are_named(changed, named, message):
    table = {name: column for name, column in (GOOD | changed).items() if column is not None}
    with pytest.raises(ValueError, match=f"^{message}"):
        live.read_log(table, **named)


def test_tables_and_histories_are_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("n,item,click,chance,other\n3,x,0,.5,z\n5,y,,.5,z\n6,y,1,,z\n")
    log = live.read_log(path, columns={"round": "n", "arm": "item", "reward": "click", "probability": "chance"})
    assert log.round.tolist() == [3, 6] and log.arm.tolist() == [0, 1] and log.left_out == 1
    with pytest.raises(ValueError, match="^log: the probability of round 6 is not known"):
        live.evaluate(log, {"x": "x"})
    named = live.read_log(GOOD | {"state": ["no", "yes", "yes"]}, states=STATES)
    assert named.state.tolist() == [0, 1, 1] and named.reward.tolist() == [0, 1, 1]
    numbers = live.read_log({"arm": [0, 1] * 10, "reward": np.linspace(0, 2, 20), "probability": [0.5] * 20})
    assert numbers.table.shape == (2, 0) and numbers.reward_range == (0, 2)
    player = live.Player(jaxbandit.UCB1(), ["a", "b"], states=STATES)
    for state in STATES:
        player.learn(player.choose().id, state)
    of_player, of_history = live.read_log(player), live.read_log(player.history())
    assert of_player.reward.tolist() == of_history.reward.tolist() == [0, 1]
    assert of_player.probability.tolist() == [1, 1] and np.isnan(of_history.probability).all()

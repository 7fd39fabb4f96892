"""A player for real arms: against a plain loop, after kills, with damaged files, and with two processes."""

import itertools
import json
import multiprocessing
import random
import signal
import sqlite3
import time
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from children import NAMES as ARMS
from children import STATES, play_for_ever, player

import jaxbandit
from jaxbandit import Feedback, members
from jaxbandit.live import Choice, Player, largest_draw, log_file

TABLE = np.array([[0.0, 1.0]] * 3)
NUMBERS = np.zeros((3, 0))


def events(store):
    """The events of a file, read without the package."""
    connection = sqlite3.connect(store)
    rows = [json.loads(text) for (text,) in connection.execute("SELECT event FROM events ORDER BY n")]
    connection.close()
    return rows


class Loop:
    """A plain loop of `init`, `scores` and `update`; its feedback is that of the order of the answers."""

    def __init__(self, policy, table=TABLE, seed=0):
        self.policy, self.key = policy, jax.random.key(seed)
        self.scores, self.update = jax.jit(policy.scores), jax.jit(policy.update)
        probabilities = members.probabilities(policy)
        self.probabilities = probabilities and jax.jit(probabilities)
        self.state, self.t, self.last, self.chances = policy.init(jnp.asarray(table, float)), 0, [0] * 3, {}

    def choose(self, plays=1):
        self.t += 1
        scores, self.state = self.scores(jax.random.fold_in(self.key, self.t), self.state, jnp.int32(self.t))
        arms = jaxbandit.top_arms(scores, plays)
        if self.probabilities is not None:
            self.chances[self.t] = self.probabilities(self.state, jnp.int32(self.t))[arms]
        return arms.tolist(), self.t

    def learn(self, t, arms, states, rewards=None):
        whole, before = partial(jnp.array, dtype=jnp.int32), [self.last[arm] for arm in arms]
        paid = jnp.array(states if rewards is None else rewards, float)
        feedback = Feedback(whole(arms), whole(before), whole(states), paid, jnp.int32(t))
        self.state = self.update(self.state, feedback._replace(chances=self.chances.get(t)))
        for arm, state in zip(arms, states):
            self.last[arm] = state


def same_bits(state, other):
    chex.assert_trees_all_equal(state, other, strict=True)


def state_of(one):
    one.open  # noqa: B018 (it reads what other processes appended)
    return one._position.state


def check_log(one, store):
    """The arms in the file are those of a plain loop that never stopped, and so is the player's state."""
    loop, rounds = Loop(jaxbandit.IMEDMC()), {}
    for kind, *rest in events(store):
        if kind == "choose":
            t, first, arms, *_ = rest
            assert loop.choose() == (arms, t)
            rounds[first] = t
        else:
            number, arm, state, reward = rest
            loop.learn(rounds[number], [arm], [state], [reward])
    same_bits(state_of(one), loop.state)


@pytest.mark.parametrize(
    ("policy", "store"),
    [
        (jaxbandit.UCB1(), None),
        (jaxbandit.IMEDMC(), "a.sqlite"),
        (jaxbandit.Thompson(), None),
        (jaxbandit.Exp3(0.1), "a.sqlite"),
    ],
)
def test_a_player_is_a_plain_loop(policy, store, tmp_path):
    """Answers out of order and some rounds late; from round 40 on, another player of the same file."""
    path, chance = store and tmp_path / store, random.Random(0)
    one, loop, waiting = player(path, policy), Loop(policy), []
    for t in range(1, 61):
        if store and t == 40:
            one.close()
            one = player(path, policy)
        choice, (arms, _) = one.choose(), loop.choose()
        assert (choice.id, choice.round, ARMS.index(choice.arm)) == (t - 1, t, arms[0])
        expected = loop.chances.get(t)
        assert choice.probability == (None if expected is None else float(expected[0]))
        waiting.append(choice)
        if len(waiting) > 5:
            answered, state = waiting.pop(chance.randrange(5)), chance.randrange(2)
            one.learn(answered.id, list(STATES)[state])
            loop.learn(answered.round, [ARMS.index(answered.arm)], [state])
    history = one.history()
    assert history.round.tolist() == list(range(1, 61)) and history.time[-1] == choice.time
    assert np.bincount(history.arm, minlength=3).tolist() == one.report().plays.tolist()
    assert [choice.id for choice in waiting] == np.flatnonzero(history.learned < 0).tolist()
    assert history.reward[history.learned.argmax()] == history.state[history.learned.argmax()] == state
    np.testing.assert_array_equal(history.probability, [loop.chances.get(t, [np.nan])[0] for t in range(1, 61)])
    assert one.open == waiting and all(isinstance(choice, Choice) for choice in one.open)
    same_bits(state_of(one), loop.state)


def test_a_round_of_several_plays_is_learned_at_once(tmp_path):
    """Of numbers, one by one, in any order, over a stop; of a round with a play that was forgotten the other ones."""
    policy, chance = jaxbandit.UCB1(memory=jaxbandit.Window(6)), np.random.default_rng(0)
    make = partial(Player, policy, ARMS, rewards=(-2, 5), key=3, store=tmp_path / "a.sqlite", snapshot=20)
    one, loop = make(), Loop(policy, NUMBERS, 3)
    for _ in range(20):
        choices, (arms, t) = one.choose(plays=2), loop.choose(2)
        assert [ARMS.index(choice.arm) for choice in choices] == arms and {choice.round for choice in choices} == {t}
        rewards, kept = chance.normal(size=2).clip(-2, 5), [0] if t == 7 else [0, 1]
        for n in reversed(kept) if t % 2 else kept:
            one.learn(choices[n].id, reward=rewards[n])
            if t in (10, 13):  # a snapshot is of 20 events
                one.close()
                one = make()
        one.forget(older_than=0)  # what was not answered
        loop.learn(t, [arms[n] for n in kept], [0 for _ in kept], rewards[kept])
    same_bits(state_of(one), loop.state)
    report = one.report()
    assert report.plays.sum() == 40 and report.answers.sum() == 39 and not report.open.any()
    assert (report.low < report.mean).all() and (report.mean < report.high).all() and "green" in str(report)
    low, mean, high = ((np.array(ends) + 2) / 7 for ends in (report.low, report.mean, report.high))
    radius = np.log(2 * report.answers * (report.answers + 1) / 0.05) / report.answers
    for end in (low, high):
        kl = mean * np.log(mean / end) + (1 - mean) * np.log((1 - mean) / (1 - end))
        np.testing.assert_allclose(kl, radius, rtol=1e-3)


class Moves(NamedTuple):
    counts: Any  # [K, 2, 2], moves of each arm
    leader: Any


@jaxbandit.pytree
class InTurn:
    """Plays the arms in turn, and stops when one of them has moved 25 times from the state that pays to itself."""

    in_order = True

    def init(self, reward):
        return Moves(jnp.zeros((len(reward), 2, 2), jnp.int32), jnp.int32(0))

    def scores(self, key, state, t):
        return jnp.float32((t + jnp.arange(len(state.counts))) % 3), state

    def update(self, state, feedback):
        counts = state.counts.at[feedback.arms, feedback.before, feedback.states].add(1)
        return Moves(counts, jnp.argmax(counts[:, 1, 1]).astype(jnp.int32))

    def stop(self, state, t):
        return state.counts[:, 1, 1].max() >= 25

    def answer(self, state, t):
        return state.leader


def test_a_policy_that_identifies_decides_once(tmp_path):
    """Answers overtake each other, some are forgotten; an arm's answers are learned in the order of its plays.

    Its first play moves from state 0, and that after a forgotten one is no single move. Two restarts change nothing.
    """
    policy, chance, waiting, decided, answers = InTurn(), random.Random(1), {}, None, 0
    make = partial(Player, policy, ARMS, states=STATES, store=tmp_path / "a.sqlite", snapshot=30)
    one, plays = make(), [[], [], []]  # of each arm the states, None while open and -1 if forgotten
    for t in range(1, 241):
        choice, arm = one.choose(), (2 - t) % 3
        assert choice.arm == ARMS[arm] and choice.round == t
        waiting[choice.id] = arm, len(plays[arm])
        plays[arm].append(None)
        if len(waiting) > 6:
            arm, place = waiting.pop(number := chance.choice(list(waiting)))
            plays[arm][place], answers = int(chance.random() < (0.1, 0.9, 0.2)[arm]), answers + 1
            one.learn(number, list(STATES)[plays[arm][place]])
        if t in (30, 70):
            assert [left.id for left in one.forget(older_than=0)] == list(waiting)
            for arm, place in waiting.values():
                plays[arm][place] = -1
            waiting.clear()
        counts = np.zeros((3, 2, 2), int)
        for arm, states in enumerate(plays):
            known = itertools.takewhile(lambda state: state is not None, states)
            for before, state in itertools.pairwise([0, *known]):
                counts[arm, before, state] += before >= 0 and state >= 0
        assert state_of(one).counts.tolist() == counts.tolist()
        if decided is None and counts[:, 1, 1].max() >= 25:
            decided = (ARMS[counts[:, 1, 1].argmax()], t, answers)
        assert one.decision == decided
        if t in (47, 200):  # between snapshots
            one.close()
            one = make()
    assert decided is not None and 60 < decided[1] < 200
    assert str(one.report()).endswith(f"after {decided[2]} answers: green has the largest mean")
    refuses(one, "row for each arm", lambda: one.add("pink"))


def test_the_probability_of_being_the_best():
    """Of the arms that are not retired, from the Beta laws of all answers and the prior."""
    one = player(None, jaxbandit.Thompson(2.0, 1.0), prior={"blue": ["clicked"]})
    assert np.isnan(player(None, jaxbandit.UCB1()).report().best).all()
    counts = np.array([[0.0, 0], [0, 0], [0, 1]])
    for t in range(12):
        choice = one.choose()
        one.learn(choice.id, list(STATES)[t % 2])
        counts[ARMS.index(choice.arm), t % 2] += 1
    for left in ([0, 1, 2], [0, 2]):
        report = one.report()
        (expected,) = largest_draw.of_betas(2 + counts[None, left, 1], 1 + counts[None, left, 0])
        np.testing.assert_allclose(report.best[left], expected, rtol=1e-6)
        assert "best" in str(report) and f"{report.best[0]:.1%}" in str(report)
        one.retire("green")
    assert np.isnan(one.report().best[1])


def refuses(one, message, call):
    """The call raises ValueError, and stores nothing."""
    before = one.report().answers.tolist(), len(one.open), one._position.n
    with pytest.raises(ValueError, match=message):
        call()
    assert before == (one.report().answers.tolist(), len(one.open), one._position.n)


def test_wrong_answers_are_refused_by_name():
    one = player(None)
    first, second = one.choose(), one.choose()
    one.learn(first.id, "clicked")
    one.learn(first.id, "clicked")  # the same answer again is no error
    one.learn({first.id: "clicked"})
    one.learn(first.id, reward=1)
    assert one.report().answers.sum() == 1
    refuses(one, "^id: 0 was answered with 'clicked'", lambda: one.learn(first.id, "ignored"))
    for number in (7, -1, "0", None, True):
        refuses(one, "^id: ", lambda number=number: one.learn(number, "clicked"))
    refuses(one, "^state: 'bought' is not a state of arm", lambda: one.learn(second.id, "bought"))
    for reward in (0.37, np.nan, np.inf):
        refuses(one, "^reward: ", lambda reward=reward: one.learn(second.id, reward=reward))
    refuses(one, "^reward: 0, and state 'clicked' pays 1", lambda: one.learn(second.id, "clicked", reward=0))
    refuses(one, "^state: None; name one of", lambda: one.learn(second.id))
    refuses(one, "^id: 9 is unknown", lambda: one.learn({second.id: "clicked", 9: "clicked"}))
    refuses(one, "^offered: 'pink' is not an arm; the arms are", lambda: one.choose(offered=["pink"]))
    refuses(one, r"^offered: \['red', 'red'\] names one twice", lambda: one.choose(offered=["red", "red"]))
    numbers = Player(jaxbandit.UCB1(), ARMS, rewards=(0, 10))
    choice = numbers.choose()
    for reward in (np.nan, 11, None, "1"):
        refuses(numbers, "^reward: .*leave a play", lambda reward=reward: numbers.learn(choice.id, reward=reward))
    refuses(numbers, "^state: 'clicked'; the arms have no states", lambda: numbers.learn(choice.id, "clicked"))
    states = {"small": {"no": 0.0, "yes": 1.0}, "large": {"nothing": 0.0, "one": 0.5, "two": 1.0}}
    other = Player(jaxbandit.UCB1(), states, states=states)
    small, large = other.choose(plays=2)
    refuses(other, "^state: 'two' is not a state of arm 'small'", lambda: other.learn(small.id, "two"))
    other.learn({large.id: "two", small.id: 1.0})
    assert other._position.last == [1, 2]


def test_wrong_players_are_refused_by_name():
    for message, arguments in {
        "^arms: .* names one twice": {"arms": ["a", "a"]},
        "^states: give either": {"rewards": (0, 1)},
        "^states: .* neither": {"states": {"red": {"a": 0}, "b": 1}},
        "^states: NaN": {"states": {"a": np.nan, "b": 1}},
        "^rewards: ": {"states": None, "rewards": (1, 0)},
        "^policy: IMEDMC needs ": {"states": None, "rewards": (0, 1)},
        "^policy: .*decision processes": {"policy": jaxbandit.PSRL()},
        "^snapshot: ": {"snapshot": 0},
        "^prior: 'blu' is not an arm": {"prior": {"blu": ["clicked"]}},
        "^prior: answer 1 of arm 'red': state: 'bought'": {"prior": {"red": ["bought"]}},
        "^prior: Exp3 chooses by chance": {"prior": {"red": ["clicked"]}, "policy": jaxbandit.Exp3(0.1)},
    }.items():
        with pytest.raises(ValueError, match=message):
            Player(**{"policy": jaxbandit.IMEDMC(), "arms": ARMS, "states": STATES} | arguments)


def test_forgotten_plays_and_retired_arms(tmp_path):
    store = tmp_path / "a.sqlite"
    one = player(store, jaxbandit.UCB1())
    first, second, *_ = one.choose(plays=3)
    assert one.forget(older_than=timedelta(hours=1)) == [] and len(one.open) == 3
    one.learn(second.id, "clicked")
    assert [choice.id for choice in one.forget(older_than=0)] == [0, 2]
    refuses(one, "^id: 0 was forgotten", lambda: one.learn(first.id, "clicked"))
    assert one.choose(offered=["blue", "red"]).arm == "red"
    one.retire("red")
    one.retire("red")
    assert {choice.arm for choice in one.choose(plays=2)} == {"green", "blue"}
    refuses(one, "^offered: 2 arms that are not retired", lambda: one.choose(plays=3))
    one.retire("blue")
    refuses(one, "^arm: 'green' is the last", lambda: one.retire("green"))
    state = state_of(one)
    one.close()
    again = player(store, jaxbandit.UCB1())
    assert again.history().forgotten.tolist() == [True, False, True, False, False, False]
    assert again.choose().arm == "green" and [choice.round for choice in again.open] == [2, 3, 3, 4]
    same_bits(state, player(store, jaxbandit.UCB1())._position.state)
    random_policy = player(None, jaxbandit.Exp3(0.1))
    refuses(random_policy, "^offered: Exp3 chooses by chance", lambda: random_policy.choose(offered=["red"]))


def test_a_player_without_a_key_has_one_of_its_own_which_the_file_keeps(tmp_path):
    """Of two players on the same visitors each chooses by itself; 60 equal choices of 3 arms have a chance of 1e-28."""

    def arms_of(one, rounds):
        return [one.choose().arm for _ in range(rounds)]

    stores, chance = [None, tmp_path / "a.sqlite", tmp_path / "b.sqlite"], jaxbandit.Uniform()
    first = [arms_of(player(store, chance, key=None), 60) for store in stores]
    assert first[0] != first[1] != first[2] != first[0]
    both = [player(stores[1], chance, key=None) for _ in range(2)]  # of one file: one player
    rest = [arms_of(both[t % 2], 1)[0] for t in range(25)]
    words = json.loads(sqlite3.connect(stores[1]).execute("SELECT text FROM about").fetchone()[0])["key"]
    key = jax.random.wrap_key_data(jnp.array(words, jnp.uint32))
    assert arms_of(player(None, chance, key=key), 85) == first[1] + rest  # uninterrupted
    same_bits(jax.random.key_data(key), player(stores[1], chance, key=key)._position.key_data)
    with pytest.raises(ValueError, match="made for another player: key changed"):
        player(stores[1], chance, key=0)
    fixed, old = tmp_path / "c.sqlite", arms_of(player(None, chance, key=0), 20)
    assert arms_of(player(fixed, chance, key=0), 10) + arms_of(player(fixed, chance, key=None), 10) == old


def test_arms_that_come_later_and_priors(tmp_path):
    """Imagined answers are answers of a plain loop.

    A new arm has the row of the state that it would have without a play, or that of another arm.
    """
    policy, store = jaxbandit.IMEDMC(), tmp_path / "a.sqlite"
    prior, chance = {"blue": ["clicked", 0.0, "clicked"], "red": ["ignored"]}, random.Random(0)
    one, loop = player(store, policy, prior=prior), Loop(policy)
    for arm, state in ((0, 0), (2, 1), (2, 0), (2, 1)):
        loop.learn(1, [arm], [state])

    def add(rows, last):
        loop.state = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), loop.state, rows)
        loop.last.append(last)

    for t in range(1, 41):
        choice, (arms, _) = one.choose(), loop.choose()
        assert choice.arm == [*ARMS, "pink", "grey"][arms[0]]
        state = chance.randrange(2)
        one.learn(choice.id, list(STATES)[state])
        loop.learn(t, arms, [state])
        if t == 9:
            one.add("pink", like="blue", prior=["ignored", "clicked"])
            one.add("pink")
            add(jax.tree.map(lambda leaf: leaf[2:3], loop.state), loop.last[2])
            for state in (0, 1):
                loop.learn(t, [3], [state])
        if t in (15, 25):  # between snapshots
            one.close()
            one = player(store, policy, prior=dict(reversed(prior.items())))
        if t == 20:
            one.add("grey")
            add(policy.init(jnp.asarray(TABLE[:1])), 0)
    same_bits(state_of(one), loop.state)
    report = one.report()
    assert report.arms == [*ARMS, "pink", "grey"] and report.plays[4] > 0
    assert report.plays.sum() == report.answers.sum() == 40
    one.retire("pink")
    refuses(one, "^arm: 'pink' was retired", lambda: one.add("pink"))
    refuses(one, "^arm: ", lambda: one.add(1))
    refuses(one, "^states: 3 states; .* 2 at most", lambda: one.add("new", states=dict.fromkeys("abc", 0.5)))
    refuses(one, "^states: leave it out", lambda: one.add("new", like="red", states=STATES))
    refuses(one, "^like: 'none' is not an arm", lambda: one.add("new", like="none"))
    refuses(one, "^prior: answer 2 of arm 'new': reward: 0.3; no state", lambda: one.add("new", prior=[1, 0.3]))
    one.close()
    with pytest.raises(ValueError, match="made for another player: prior changed"):
        player(store, policy)


def test_a_policy_without_scores_is_named():
    @jaxbandit.pytree
    class Empty(jaxbandit.UCB1):
        def scores(self, key, state, t):
            return jnp.full(3, jnp.nan), state

    one = player(None, Empty())
    refuses(one, "^policy: Empty gave a score NaN in round 1", one.choose)


def test_a_policy_of_ones_own_whose_code_has_changed(tmp_path):
    """The state is computed again from all events."""

    def policy(bonus):
        @jaxbandit.pytree
        class Own(jaxbandit.UCB1):
            def update(self, state, feedback):
                return state._replace(counts=state.counts.at[feedback.arms, feedback.states].add(bonus))

        Own.__qualname__ = "Own"
        return Own()

    store = tmp_path / "a.sqlite"
    with player(store, policy(1)) as one:
        for _ in range(25):
            one.learn(one.choose().id, "ignored")
        state = state_of(one)
    same_bits(state, player(store, policy(1))._position.state)
    assert (player(store, policy(3))._position.state.counts == 3 * state.counts).all()


def test_a_result_of_a_players_log(tmp_path):
    """Its counts are those of a loop over the plays, and regret is refused by name; beside it the plot of the plays."""
    numbers = Player(jaxbandit.UCB1(), ARMS, rewards=(0, 1))
    with pytest.raises(ValueError, match="^history: has no plays"):
        jaxbandit.plotting.plot_history(numbers.history())
    with pytest.raises(ValueError, match="^result: the player has no plays"):
        numbers.to_result()
    for t, one in [(t, one) for one in (numbers, player(None, jaxbandit.UCB1())) for t in range(20)]:
        choice = one.choose()
        if t % 5:
            one.learn(choice.id, reward=float(t % 3 == 0))
    result, log = one.to_result(times=[3, 10]), one.history()
    for place, last in enumerate((3, 10)):
        counts = np.zeros((3, 2))
        for t, arm, state in zip(log.round, log.arm, log.state):
            counts[arm, state] += t <= last and state >= 0
        assert (result.visits["UCB1"][0, 0, 0, place] == counts).all()
    assert "Regret is not known" in str(result) and "Regret is not known" in result._repr_html_()
    for call in (jaxbandit.metrics.regret, jaxbandit.plotting.plot_regret, jaxbandit.metrics.best_share):
        with pytest.raises(ValueError, match="nobody knows those of real arms"):
            call(result, "UCB1")
    ax = jaxbandit.plotting.plot_pulls(result, "UCB1")
    assert [line.get_label() for line in ax.lines] == ARMS
    result.save(tmp_path / "a.npz")
    assert "regret" not in jaxbandit.Result.load(tmp_path / "a.npz").to_xarray()
    sums, log = numbers.to_result().recorded["rewards"]["UCB1"][0, 0, 0, -1], numbers.history()
    np.testing.assert_allclose(sums, [np.nansum(log.reward[log.arm == k]) for k in range(3)])
    ax = jaxbandit.plotting.plot_history(log)
    assert [line.get_ydata()[-1] for line in ax.lines] == numbers.report().plays.tolist()
    assert ax.get_title() == "20 plays, 4 without an answer"
    assert ax.lines[0].get_label() == f"red, mean reward {np.nanmean(log.reward[log.arm == 0]):.4g}"
    one.choose(plays=2)
    with pytest.raises(ValueError, match="^result: 1 to 2 arms were played a round"):
        one.to_result()


@pytest.fixture(scope="module")
def small_store(tmp_path_factory):
    """The bytes of a file of 30 events with a snapshot, and the player's position."""
    path = tmp_path_factory.mktemp("store") / "a.sqlite"
    with player(path) as one:
        for n in range(15):
            one.learn(one.choose().id, ("clicked", "ignored")[n % 2])
        position = one._position
    return path.read_bytes(), position


def test_a_damaged_file_is_named_or_harmless(tmp_path, small_store):
    """One bit flipped at 40 places, and at every fifth of SQLite's header."""
    path, (content, position), chance = tmp_path / "a.sqlite", small_store, random.Random(0)
    noticed = unnamed = 0
    for place in [*(chance.randrange(len(content)) for _ in range(40)), *range(0, 100, 5)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << chance.randrange(8)
        for name in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
            name.unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            with player(path) as one:
                assert (one._position.n, one._position.digest) == (position.n, position.digest), place
                assert one._position.totals == position.totals and one._position.open == position.open, place
                same_bits(state_of(one), position.state)
                one.learn(0, "clicked")
                one.learn(one.choose().id, "clicked")
        except (ValueError, OSError) as error:
            noticed += str(path) in str(error)
            unnamed += str(path) not in str(error)
    assert not unnamed and noticed > 5


def test_a_damaged_or_lost_wal_is_named(tmp_path):
    """After a kill the events are in `-wal` alone, and SQLite drops what is damaged there without a word."""
    store, policy = tmp_path / "a.sqlite", jaxbandit.UCB1()
    endings, killed = ("", "-wal", "-shm", "-last"), tmp_path / "b.sqlite"
    with player(store, policy) as one:
        one.learn(one.choose().id, "clicked")
        files = {ending: store.with_name(store.name + ending).read_bytes() for ending in endings}
    assert [path.name for path in tmp_path.iterdir()] == ["a.sqlite"]

    def events_left(**changed):
        for ending, content in (files | {f"-{name}": content for name, content in changed.items()}).items():
            path = killed.with_name(killed.name + ending)
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
        with player(killed, policy) as again:
            return again._position.n

    def flip(content, place):
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    assert events_left() == events_left(shm=None) == events_left(last=flip(files["-last"], 33)) == 2
    wal = files["-wal"]
    for damaged in (None, b"", wal[:-1], flip(wal, 10), flip(wal, len(wal) // 2), flip(wal, len(wal) - 1)):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"b.sqlite: damaged \(events? .* missing: .*delete .*b.sqlite-last"):
                events_left(wal=damaged)
    killed.unlink()
    with pytest.raises(ValueError, match="events 1 to 2 are missing"):
        player(killed, policy)
    killed.with_name("b.sqlite-last").unlink()
    with player(killed, policy) as again:
        assert again._position.n == 0


def test_files_that_are_not_the_players(tmp_path, small_store):
    store, other, content = tmp_path / "a.sqlite", tmp_path / "b.sqlite", small_store[0]
    store.write_bytes(content)
    for message, call in {
        "policy changed": lambda: player(store, jaxbandit.UCB1()),
        "key changed .*; give the same": lambda: player(store, key=1),
        "arms, rewards, states": lambda: Player(jaxbandit.IMEDMC(), ["a"], states={"x": 0, "y": 1}, store=store),
    }.items():
        with pytest.raises(ValueError, match=f"a.sqlite: made for another player: .*{message}"):
            call()

    def with_pragma(text):
        other.write_bytes(content)
        connection = sqlite3.connect(other)
        connection.execute(f"PRAGMA {text}")
        connection.close()
        return other.read_bytes()

    for damaged, message in [
        (with_pragma("user_version = 9"), "written as version 9, this reads"),
        (with_pragma("application_id = 5"), "not the"),
        (b"arm,round,reward\n" * 100, ".*move it away"),
        *((content[:cut], ".*damaged") for cut in (100, 4096, len(content) - 4096)),
    ]:
        other.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"b.sqlite: {message}"):
            player(other)
    with pytest.raises(FileNotFoundError, match="nowhere: no such folder"):
        player(tmp_path / "nowhere" / "a.sqlite")
    with pytest.raises(ValueError, match="a folder"):
        player(tmp_path)


def test_a_file_that_cannot_be_written_can_be_read(tmp_path, small_store, monkeypatch):
    store = tmp_path / "a.sqlite"
    store.write_bytes(small_store[0])
    monkeypatch.setattr(log_file.os, "access", lambda *_: False)  # root may write everywhere
    one = player(store)
    assert one.report().answers.sum() == 15 and one.open == []
    for call in (one.choose, lambda: one.learn(0, "clicked")):
        with pytest.raises(PermissionError, match=r"cannot be written; make it .*a.sqlite"):
            call()


def test_a_full_disk_loses_nothing(tmp_path):
    store = tmp_path / "a.sqlite"
    one = player(store)
    one._log.connection.execute("PRAGMA max_page_count = 12")
    stored = []

    def play():
        while True:
            stored.append(one.choose())

    with pytest.raises(OSError, match=r"the disk is full and nothing was stored.*a.sqlite"):
        play()
    assert one.open == stored
    one._log.connection.execute("PRAGMA max_page_count = 1000")
    one.learn(one.choose().id, "clicked")
    check_log(one, store)
    one.close()
    with player(store) as again:
        check_log(again, store)
    with pytest.raises(ValueError, match="the player is closed"):
        again.choose()


def test_a_player_is_of_one_process_and_one_file(tmp_path):
    one = player(tmp_path / "a.sqlite")
    one.choose()
    another = mock.patch.object(log_file.os, "getpid", return_value=-1)
    with another, pytest.raises(RuntimeError, match="make a new player in each process"):
        one.choose()
    (tmp_path / "a.sqlite").rename(tmp_path / "b.sqlite")
    with pytest.raises(FileNotFoundError, match=r"was moved, deleted or replaced .*a.sqlite"):
        one.choose()


@pytest.mark.slow
def test_processes_that_are_killed_lose_nothing(tmp_path):
    """Of two that play from a file, one or both are killed, twice; nothing that they were told is lost."""
    store, chance, context = tmp_path / "a.sqlite", random.Random(1), multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["jaxbandit.live"])  # imported once, in the process that forks those to be killed
    told = store.with_name("told")

    def started():
        child = context.Process(target=play_for_ever, args=(store, chance.randrange(10**6), told))
        child.start()
        return child

    children, kills = [started(), started()], 0
    while kills < 2:
        while not told.exists():
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        for n in chance.choice([[0], [1], [0, 1]]):
            children[n].kill()
            children[n].join()
            assert children[n].exitcode == -signal.SIGKILL
            kills, children[n] = kills + 1, started()
    for child in children:
        child.kill()
        child.join()
    acknowledged = [json.loads(line) for line in told.read_text().splitlines()]
    with player(store) as one:
        check_log(one, store)
        plays = [event for event in events(store) if event[0] == "choose"]
        arms = {first: ARMS[played[0]] for _, _, first, played, *_ in plays}
        answers = {number: list(STATES)[state] for kind, number, _, state, *_ in events(store) if kind == "answer"}
        for kind, number, said in acknowledged:
            assert (arms if kind == "choose" else answers)[number] == said
        chosen = [number for kind, number, _ in acknowledged if kind == "choose"]
        assert len(set(chosen)) == len(chosen) <= len(plays)
        assert set(arms) == set(range(len(plays))) and {choice.id for choice in one.open} == set(arms) - set(answers)

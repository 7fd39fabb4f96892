"""Arms with Beta priors: Gittins indices, the least Bayes regret, and the policies that play by them."""

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import BayesGittins, BayesOptimal, Feedback, Task, indices
from jaxbandit.bounds import bayes_optimum
from jaxbandit.pytrees import in_order

UNIFORM, CHAINS = np.ones((2, 2)), np.ones((2, 2, 2))
KINDS = pytest.mark.parametrize("kind", ["Bernoulli", "chains"])


def value_of(prior, rounds, reward, start, choose=lambda seen, t: (0, 1)):
    """The largest expected reward over all histories, where `choose` gives the arms that may be played after one."""

    @cache
    def worth(seen, t):
        return max(of_play(seen, t, arm) for arm in choose(seen, t)) if t <= rounds else 0.0

    def of_play(seen, t, arm):
        before = seen[arm][-1] if seen[arm] else start[arm]
        if prior.ndim == 2:
            parameters = prior[arm] + np.bincount(seen[arm], minlength=2)
        else:
            pairs = zip([start[arm], *seen[arm]], seen[arm])
            parameters = prior[arm, before] + np.bincount([b for a, b in pairs if a == before], minlength=2)
        after = [(*seen[:arm], (*seen[arm], result), *seen[arm + 1 :]) for result in (0, 1)]
        paid = [reward[result] + worth(after[result], t + 1) for result in (0, 1)]
        return float(parameters / parameters.sum() @ paid)

    return worth(((), ()), 1)


def drawn_prior(random, kind, arms=2, low=0.3, high=2.0):
    return random.uniform(low, high, (arms, 2) if kind == "Bernoulli" else (arms, 2, 2))


# indices

# of Beta(1, 1), Beta(2, 1) and Beta(1, 2); for 0.9 and 0.99 the first four digits are in published tables
PUBLISHED = [
    (0.0, [1 / 2, 2 / 3, 1 / 3]),
    (0.5, [0.559019, 0.705967, 0.375822]),
    (0.9, [0.702889, 0.800056, 0.500129]),
    (0.99, [0.869860]),
]


@pytest.mark.parametrize(("discount", "expected"), PUBLISHED)
def test_indices_of_published_tables(discount, expected):
    """Numbers of six digits from another recursion, and an error of at most 1e-6 from the depth."""
    result = indices.gittins_beta([1, 2, 1][: len(expected)], [1, 1, 2][: len(expected)], discount)
    np.testing.assert_allclose(result, expected, atol=1.6e-6)


def chain_of_counts(prior, reward, start, depth):
    """Rows and rewards of the chain of counts and present state, which pays its mean for ever after `depth` plays.

    A prior [1, 2] is that of results whose chances do not depend on the state.
    """
    begin = (0,) * prior.size, start
    numbers, todo = {}, [begin]
    moves = []  # from one of these to another, with its chance
    for known in todo:
        if known in numbers:
            continue
        numbers[known] = len(numbers)
        counts, state = known
        row = state if len(prior) == 2 else 0
        posterior = prior[row] + counts[2 * row : 2 * row + 2]
        for after in (0, 1) if sum(counts) < depth else ():
            more = tuple(count + (k == 2 * row + after) for k, count in enumerate(counts))
            moves.append((known, (more, after), posterior[after] / posterior.sum()))
            todo.append((more, after))
    size = len(numbers)
    rows, paid = np.zeros((2 * size, 2 * size)), np.zeros(2 * size)  # the second half pays its mean for ever
    for before, after, chance in moves:
        rows[numbers[before], numbers[after]] = chance
    for (counts, state), i in numbers.items():
        posterior = prior + np.reshape(counts, prior.shape)
        leaves = posterior[0, 1] / posterior[0].sum(), posterior[-1, 0] / posterior[-1].sum()
        paid[i], paid[size + i] = reward[state], np.dot(reward[::-1], leaves) / sum(leaves)
        rows[i, size + i], rows[size + i, size + i] = sum(counts) == depth, 1
    return rows, paid


@KINDS
def test_the_chain_of_counts_has_this_index(kind):
    """By elimination of its states, which shares no step with the recursion; with priors and rewards of any size."""
    for seed, (discount, depth) in itertools.product(range(2), ((0.0, 1), (0.5, 3), (0.97, 4))):
        random = np.random.default_rng(seed)
        if kind == "Bernoulli":
            prior, reward = random.uniform(0.2, 3, (1, 2)), np.array([0.0, 1.0])
            result = np.repeat(indices.gittins_beta(*prior[0, ::-1], discount, depth), 2)
        else:
            prior, reward = random.uniform(0.2, 3, (2, 2)), random.normal(size=2)
            result = indices.gittins_beta_rows(prior, discount, depth, reward)
        for start in (0, 1):
            rows, paid = chain_of_counts(prior, reward, start, depth)
            assert result[start] == pytest.approx(indices.gittins(rows[None], paid, discount)[0, 0], abs=1e-10)


# the least Bayes regret


@KINDS
def test_against_plain_recursion(kind):
    """Any priors, rewards and starts; two numbers that pay the same, and the larger one for result 0, among them."""
    rewards, starts = [(0, 1), (2.0, -1.0), (0.5, 0.5), (-1, 3)], [(0, 0), (0, 1), (1, 0), (1, 1)]
    for seed, (reward, start) in enumerate(zip(rewards, starts)):
        prior = drawn_prior(np.random.default_rng(seed), kind, low=0.2, high=3)
        exact = value_of(prior, 4, reward, start)
        assert bayes_optimum(prior, 4, reward, start).reward == pytest.approx(exact, abs=1e-12)


@KINDS
def test_the_expected_best_mean(kind):
    """Against 100,000 draws: it fails falsely once in 10^6, and notices errors of .01 of the rewards' range."""
    random, reward = np.random.default_rng(0), (2.0, -1.0)
    prior = drawn_prior(random, kind, high=4)
    drawn = random.beta(prior[..., 1, None], prior[..., 0, None], (*prior.shape[:-1], 100_000))
    share = drawn if kind == "Bernoulli" else drawn[:, 0] / (drawn[:, 0] + 1 - drawn[:, 1])
    best = (reward[0] + (reward[1] - reward[0]) * share).max(0)
    result = bayes_optimum(prior, 3, reward)
    assert abs(result.best_mean - best.mean()) < 5 * best.std() / np.sqrt(best.size)
    assert result.regret == pytest.approx(3 * result.best_mean - result.reward)


def test_the_best_of_uniform_priors_is_known():
    for horizon, best in ((1, 0.5), (10, 6.0217857143)):
        result = bayes_optimum(UNIFORM, horizon)
        assert (result.reward, result.best_mean) == pytest.approx((best, 2 / 3), abs=1e-10)


# policies

TABLE = jnp.array([[0.0, 1.0], [0.0, 1.0]])


def choices_of(policy, reward, start):
    """What a policy chooses after histories, for `value_of`; its states do not depend on the order of the plays."""
    table = jnp.broadcast_to(jnp.asarray(reward, float), (2, 2))
    choose = jax.jit(lambda state, t: jnp.argmax(policy.scores(None, state, t)[0]))
    learn = jax.jit(policy.update)

    @cache
    def state_after(*seen):
        if seen == ((), ()):
            return policy.init(table)
        arm = 0 if seen[0] else 1
        *earlier, result = seen[arm]
        before = earlier[-1] if earlier else int(start[arm])
        state = state_after(*(tuple(earlier) if k == arm else seen[k] for k in (0, 1)))
        return learn(state, Feedback.of(arm, t=1, table=table, state=result, before=before))

    return lambda seen, t: [int(choose(state_after(*seen), jnp.int32(t)))]


@KINDS
def test_the_optimum_collects_what_is_possible(kind):
    """With any prior, rewards and first states, and with the arms in the other order, as `shuffle` makes it."""
    prior = drawn_prior(np.random.default_rng(kind == "chains"), kind)
    reward, start = (2.0, -1.0), np.array((1, 0))
    policy = in_order(BayesOptimal.of(prior, 7, reward, start), np.array((1, 0)))
    value = value_of(prior[::-1], 7, reward, start[::-1], choices_of(policy, reward, start[::-1]))
    assert value == pytest.approx(bayes_optimum(prior, 7, reward, start).reward, abs=1e-12)


@KINDS
@pytest.mark.slow
def test_scores_are_the_indices(kind):
    """After games of 40 rounds with three arms that begin in both states, against indices computed for each count.

    One play more or less changes them by 1e-2.
    """
    random, depth, discount = np.random.default_rng(4), 25, 0.8
    prior = drawn_prior(random, kind, 3)
    policy = BayesGittins.of(prior, discount, depth, reward=(0.5, 3.0), initial_state=(0, 1, 1))
    table = jnp.broadcast_to(jnp.array([0.5, 3.0]), (3, 2))
    state, counts, states = policy.init(table), np.zeros((3, 2, 2), int), np.array([0, 1, 1])
    scores, learn = jax.jit(policy.scores), jax.jit(policy.update)
    for t, (arm, result) in enumerate(zip(random.integers(0, 3, 40), random.integers(0, 2, 40)), 1):
        seen = Feedback.of(int(arm), t=t, table=table, state=int(result), before=int(states[arm]))
        state = learn(state, seen)
        counts[arm, states[arm], result] += 1
        states[arm] = result
        if t % 20 == 0:
            if kind == "Bernoulli":
                exact = indices.gittins_beta(*(prior + counts.sum(1))[:, ::-1].T, discount)
            else:
                exact = [indices.gittins_beta_rows(prior[k] + counts[k], discount)[states[k]] for k in range(3)]
            np.testing.assert_allclose((scores(None, state, t)[0] - 0.5) / 2.5, exact, atol=5e-4)
    assert counts.sum((1, 2)).max() < depth


@pytest.mark.slow
def test_beyond_the_table_the_excess_over_the_known_chain_vanishes():
    """An arm whose table has three plays, after five."""
    prior, discount = np.array([[1.0, 2.0], [2.0, 0.5]]), 0.7
    policy = BayesGittins.of(prior[None], discount, 3)
    (state, before), learn = (policy.init(TABLE), 0), jax.jit(policy.update)
    counts = np.zeros((2, 2))
    for t, result in enumerate((1, 1, 0, 0, 1), 1):
        state = learn(state, Feedback.of(0, t=t, table=TABLE, state=result, before=before))
        counts[before, result] += 1
        before = result
        if t == 3:
            excess = indices.gittins_beta_rows(prior + counts, discount)[0] - of_mean_rows(prior + counts, discount)[0]
    expected_now = of_mean_rows(prior + counts, discount)[1] + excess * 3 / 5
    assert float(jax.jit(policy.scores)(None, state, 6)[0][0]) == pytest.approx(expected_now, abs=1e-4)


def of_mean_rows(posterior, discount):
    rows = posterior / posterior.sum(1, keepdims=True)
    return indices.gittins(rows[None], np.array([[0.0, 1.0]]), discount)[0]


# who refuses what

TWO, THREE, PAYING_MORE, LATER = (
    {"task": Task(jaxbandit.two_state([0.5] * arms, [0.4] * arms, **more), horizon=10)}
    for arms, more in ((2, {}), (3, {}), (2, {"reward": (0, 2)}), (2, {"initial_state": 1}))
)
ROWS, OPTIMUM = {"prior": UNIFORM, "discount": 0.9}, {"prior": UNIFORM, "horizon": 3}


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (indices.gittins_beta, {"a": 1.0, "b": 0.0, "discount": 0.9}, "b: 0.0 is not positive"),
        (indices.gittins_beta, {"a": 1.0, "b": 1.0, "discount": 1.0}, "discount: "),
        (indices.gittins_beta, {"a": 1.0, "b": 1.0, "discount": 0.9999}, "discount: .* give a depth"),
        (indices.gittins_beta, {"a": 1.0, "b": 1.0, "discount": 0.9, "depth": 0}, "depth: 0 .* from 1 to 4,000"),
        (indices.gittins_beta_rows, ROWS | {"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        (indices.gittins_beta_rows, ROWS | {"discount": 1.0}, "discount: 1.0"),
        (indices.gittins_beta_rows, ROWS | {"discount": 0.99}, "discount: 0.99 needs a depth of"),
        (indices.gittins_beta_rows, ROWS | {"depth": 251}, "depth: 251"),
        (bayes_optimum, OPTIMUM | {"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        (bayes_optimum, OPTIMUM | {"horizon": 401}, "horizon: 401"),
        (bayes_optimum, OPTIMUM | {"prior": CHAINS, "horizon": 101}, "horizon: 101"),
        (bayes_optimum, OPTIMUM | {"start": [0, 2]}, "start: .* are not two states"),
        (BayesGittins.of, ROWS | {"prior": [[1, 0]]}, "prior: 0.0 is not positive"),
        (BayesGittins.of, ROWS | {"discount": 1.0}, "discount: 1.0"),
        (BayesGittins.of, ROWS | {"depth": 1001}, "depth: 1001"),
        (BayesGittins.of, ROWS | {"prior": CHAINS[:1], "depth": 101}, "depth: 101"),
        (BayesGittins.of, ROWS | {"reward": (1, 1)}, "reward: .* two different numbers"),
        (BayesGittins.of, ROWS | {"ahead": 0}, "ahead: 0"),
        (BayesOptimal.of, {"prior": UNIFORM, "horizon": 201}, "horizon: 201"),
        (BayesOptimal.of, {"prior": CHAINS, "horizon": 61}, "horizon: 61"),
        (BayesGittins.of(UNIFORM[:1], 0.5, 5).validate, PAYING_MORE, r"reward: .* pay \[0.0, 1.0\]; those of .* pay"),
        (BayesGittins.of(np.arange(1, 5).reshape(2, 2), 0.5, 5).validate, THREE, "which: shape"),
        (BayesOptimal.of(UNIFORM, 5).validate, THREE, ".* is for two arms, and environment has 3"),
        (BayesOptimal.of(UNIFORM, 5).validate, PAYING_MORE, "reward: .* pay"),
        (BayesOptimal.of(CHAINS, 10).validate, LATER, r"start: .* arms that begin in the states \[0, 0\]"),
        (BayesOptimal.of(UNIFORM, 9).validate, TWO, "horizon: .* has 9 rounds, and 10 will be played"),
    ],
)
def test_wrong_arguments_are_named(function, arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        function(**arguments)

"""Arms with Beta priors: Gittins indices, the least Bayes regret, and the policies that play by them."""

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


def expected(prior, seen, start, arm, reward, discount, worth, t):
    """What a play of an arm in round t is worth after the results `seen` of both, if `worth` is that of the rest."""
    before = seen[arm][-1] if seen[arm] else start[arm]
    if prior.ndim == 2:
        parameters = prior[arm] + np.bincount(seen[arm], minlength=2)
    else:
        pairs = zip([start[arm], *seen[arm]], seen[arm])
        parameters = prior[arm, before] + np.bincount([b for a, b in pairs if a == before], minlength=2)
    after = [(*seen[:arm], (*seen[arm], result), *seen[arm + 1 :]) for result in (0, 1)]
    paid = [reward[result] + discount * worth(after[result], t + 1) for result in (0, 1)]
    return float(parameters / parameters.sum() @ paid)


def most_of(prior, rounds, reward, start, discount=1.0):
    """The largest expected discounted reward, by recursion over all histories."""

    @cache
    def worth(seen, t):
        if t > rounds:
            return 0.0
        return max(expected(prior, seen, start, arm, reward, discount, worth, t) for arm in (0, 1))

    return worth(((), ()), 1)


def drawn_prior(random, kind, arms=2, low=0.3, high=2.0):
    return random.uniform(low, high, (arms, 2) if kind == "Bernoulli" else (arms, 2, 2))


# indices

# of Beta(1, 1), Beta(2, 1) and Beta(1, 2); for 0.9 and 0.99 the first four digits are in published tables
PUBLISHED = [
    (0.5, [0.559019, 0.705967, 0.375822]),
    (0.9, [0.702889, 0.800056, 0.500129]),
    (0.99, [0.869860]),
]


@pytest.mark.parametrize(("discount", "expected"), PUBLISHED)
def test_indices_of_published_tables(discount, expected):
    """Numbers of six digits from another recursion, and an error of at most 1e-6 from the depth."""
    result = indices.gittins_beta([1, 2, 1][: len(expected)], [1, 1, 2][: len(expected)], discount)
    np.testing.assert_allclose(result, expected, atol=1.6e-6)


def chain_of_posteriors(a, b, depth):
    """Rows and rewards of the chain whose states are successes, failures and what the last play paid, then the mean."""
    numbers = {}
    for n in range(depth + 1):
        for s in range(n + 1):
            numbers.update({(s, n - s, paid): None for paid in (0, 1)})
    numbers |= {(s, "for ever"): None for s in range(depth + 1)}
    numbers = {state: i for i, state in enumerate(numbers)}
    rows, reward = np.zeros((len(numbers), len(numbers))), np.zeros(len(numbers))
    for (s, *rest), i in numbers.items():
        if rest == ["for ever"]:
            rows[i, i], reward[i] = 1, (a + s) / (a + b + depth)
            continue
        f, reward[i] = rest[0], rest[1]
        if s + f == depth:
            rows[i, numbers[s, "for ever"]] = 1
            continue
        mean = (a + s) / (a + b + s + f)
        rows[i, numbers[s + 1, f, 1]], rows[i, numbers[s, f + 1, 0]] = mean, 1 - mean
    return rows, reward


def test_the_chain_of_posteriors_has_this_index():
    """By elimination of its states, which shares no step with the recursion."""
    for discount, depth in ((0.0, 1), (0.5, 6), (0.97, 1), (0.97, 6)):
        rows, reward = chain_of_posteriors(2.5, 0.3, depth)
        exact = indices.gittins([rows], reward, discount)[0, 0]
        assert indices.gittins_beta(2.5, 0.3, discount, depth) == pytest.approx(exact, abs=1e-12)


def test_the_error_is_below_its_bound():
    """Against ten times the depth; an index grows with the depth, and is the mean without a future."""
    a, b = np.array([[1.0], [0.2], [9.0]]), np.array([0.5, 3.0])
    for discount, depth in ((0.9, 28), (0.9, 5), (0.98, 40)):
        short, long = (indices.gittins_beta(a, b, discount, n) for n in (depth, 10 * depth))
        bound = discount**depth / (4 * (1 - discount) * np.sqrt(a + b + depth + 1))
        assert short.shape == (3, 2) and (long - short >= -1e-12).all() and (long - short <= bound).all()
    np.testing.assert_allclose(indices.gittins_beta(a, b, 0.0), a / (a + b), atol=1e-12)


def chain_of_counts(prior, reward, start, depth):
    """Rows and rewards of the chain of counts and present state, which pays its mean for ever after `depth` plays."""
    numbers, todo = {}, [((0, 0, 0, 0), start)]
    for known in todo:
        if known in numbers:
            continue
        numbers[known] = len(numbers)
        counts, state = known
        if sum(counts) < depth:
            for after in (0, 1):
                more = tuple(count + (k == 2 * state + after) for k, count in enumerate(counts))
                todo.append((more, after))
    size = len(numbers)
    rows, paid = np.zeros((2 * size, 2 * size)), np.zeros(2 * size)  # the second half pays its mean for ever
    for (counts, state), i in numbers.items():
        posterior = prior + np.reshape(counts, (2, 2))
        chances = posterior / posterior.sum(1, keepdims=True)
        paid[i] = reward[state]
        rows[size + i, size + i] = 1
        paid[size + i] = (reward[0] * chances[1, 0] + reward[1] * chances[0, 1]) / (chances[0, 1] + chances[1, 0])
        if sum(counts) == depth:
            rows[i, size + i] = 1
            continue
        for after in (0, 1):
            more = tuple(count + (k == 2 * state + after) for k, count in enumerate(counts))
            rows[i, numbers[more, after]] = chances[state, after]
    return rows, paid


@pytest.mark.parametrize("seed", range(2))
def test_the_chain_of_counts_has_this_index(seed):
    """By elimination of its states, which shares no step with the recursion; with priors and rewards of any size."""
    random = np.random.default_rng(seed)
    prior, reward = random.uniform(0.2, 3, (2, 2)), random.normal(size=2)
    for discount, depth in ((0.0, 1), (0.5, 3), (0.97, 4)):
        result = indices.gittins_beta_rows(prior, discount, depth, reward)
        for start in (0, 1):
            rows, paid = chain_of_counts(prior, reward, start, depth)
            assert result[start] == pytest.approx(indices.gittins(rows[None], paid, discount)[0, 0], abs=1e-10)


def test_deeper_is_within_the_error_that_is_named():
    prior = np.array([[1.0, 2.0], [0.5, 0.7]])
    exact = indices.gittins_beta_rows(prior, 0.8, 100)
    for depth in (1, 5, 20):
        error = np.abs(indices.gittins_beta_rows(prior, 0.8, depth) - exact)
        assert (error <= 0.8**depth / 0.2 + 1e-9).all()


ONE, ROWS = {"a": 1.0, "b": 1.0, "discount": 0.9}, {"prior": UNIFORM, "discount": 0.9}
OPTIMUM = {"prior": UNIFORM, "horizon": 3}


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (indices.gittins_beta, ONE | {"b": [1.0, 0.0]}, "b: 0.0 is not positive"),
        (indices.gittins_beta, ONE | {"discount": 1.0}, "discount: "),
        (indices.gittins_beta, ONE | {"discount": 0.9999}, "discount: 0.9999 needs a depth of more than 4,000 plays"),
        (indices.gittins_beta, ONE | {"depth": 0}, "depth: 0 is not among the integers from 1 to 4,000"),
        (indices.gittins_beta_rows, ROWS | {"prior": [1, 1]}, r"prior: shape \(2,\) is not \[2, 2\]"),
        (indices.gittins_beta_rows, ROWS | {"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        (indices.gittins_beta_rows, ROWS | {"discount": 1.0}, "discount: 1.0"),
        (indices.gittins_beta_rows, ROWS | {"discount": 0.99}, "discount: 0.99 needs a depth of"),
        (indices.gittins_beta_rows, ROWS | {"depth": 251}, "depth: 251"),
        (indices.gittins_beta_rows, ROWS | {"reward": [1, 2, 3]}, r"reward: shape \(3,\) is not \[2\]"),
        (bayes_optimum, OPTIMUM | {"prior": np.ones((3, 2))}, r"prior: shape \(3, 2\) is neither"),
        (bayes_optimum, OPTIMUM | {"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        (bayes_optimum, OPTIMUM | {"horizon": 401}, "horizon: 401"),
        (bayes_optimum, OPTIMUM | {"prior": CHAINS, "horizon": 101}, "horizon: 101"),
        (bayes_optimum, OPTIMUM | {"reward": [1, 2, 3]}, r"reward: shape \(3,\) is not \[2\]"),
        (bayes_optimum, OPTIMUM | {"start": [0, 2]}, r"start: \[0.0, 2.0\] are not two states"),
        (BayesGittins.of, {"prior": [1, 1], "discount": 0.9}, r"prior: shape \(2,\) is neither"),
        (BayesGittins.of, ROWS | {"prior": [[1, 0]]}, "prior: 0.0 is not positive"),
        (BayesGittins.of, ROWS | {"discount": 1.0}, "discount: 1.0"),
        (BayesGittins.of, ROWS | {"depth": 1001}, "depth: 1001"),
        (BayesGittins.of, ROWS | {"prior": CHAINS[:1], "depth": 101}, "depth: 101"),
        (BayesGittins.of, ROWS | {"reward": (1, 1)}, "reward: .* is not two different numbers"),
        (BayesGittins.of, ROWS | {"ahead": 0}, "ahead: 0"),
        (BayesOptimal.of, {"prior": UNIFORM, "horizon": 201}, "horizon: 201"),
        (BayesOptimal.of, {"prior": CHAINS, "horizon": 61}, "horizon: 61"),
    ],
)
def test_wrong_arguments_are_named(function, arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        function(**arguments)


# the least Bayes regret


@KINDS
def test_against_plain_recursion(kind):
    """Any priors, rewards and starts; two numbers that pay the same, and the larger one for result 0, among them."""
    rewards, starts = [(0, 1), (2.0, -1.0), (0.5, 0.5), (-1, 3)], [(0, 0), (0, 1), (1, 0), (1, 1)]
    for seed, (reward, start) in enumerate(zip(rewards, starts)):
        prior = drawn_prior(np.random.default_rng(seed), kind, low=0.2, high=3)
        exact = most_of(prior, 6, reward, start)
        assert bayes_optimum(prior, 6, reward, start).reward == pytest.approx(exact, abs=1e-12)


@KINDS
def test_the_expected_best_mean(kind):
    """Against 400,000 draws: it fails falsely once in 10^6, and notices errors of .005 of the rewards' range."""
    random = np.random.default_rng(0)
    reward = (2.0, -1.0)
    prior = drawn_prior(random, kind, high=4)
    drawn = random.beta(prior[..., 1, None], prior[..., 0, None], (*prior.shape[:-1], 400_000))
    share = drawn if kind == "Bernoulli" else drawn[:, 0] / (drawn[:, 0] + 1 - drawn[:, 1])
    best = (reward[0] + (reward[1] - reward[0]) * share).max(0)
    result = bayes_optimum(prior, 3, reward)
    assert abs(result.best_mean - best.mean()) < 5 * best.std() / np.sqrt(best.size)
    assert result.regret == pytest.approx(3 * result.best_mean - result.reward)
    for horizon, best in ((1, 0.5), (10, 6.0217857143)):
        result = bayes_optimum(UNIFORM, horizon)
        assert (result.reward, result.best_mean) == pytest.approx((best, 2 / 3), abs=1e-10)


# policies

TABLE = jnp.array([[0.0, 1.0], [0.0, 1.0]])


def value_of(policy, prior, rounds, reward, start, discount=1.0):
    """The expected reward of a policy over all histories; its states do not depend on the order of the plays."""
    table = jnp.broadcast_to(jnp.asarray(reward, float), (2, 2))
    choose = jax.jit(lambda state, t: jnp.argmax(policy.scores(None, state, t)[0]))
    learn = jax.jit(policy.update)

    @cache
    def state_after(*seen):
        if seen == ((), ()):
            return policy.init(table)
        arm = 0 if seen[0] else 1
        *earlier, result = seen[arm]
        before = earlier[-1] if earlier else start[arm]
        state = state_after(*(tuple(earlier) if k == arm else seen[k] for k in (0, 1)))
        numbers = [jnp.array([n], jnp.int32) for n in (arm, before, result)]
        return learn(state, Feedback(*numbers, table[arm, result].reshape(1), jnp.int32(1)))

    def worth(seen, t):
        if t > rounds:
            return 0.0
        arm = int(choose(state_after(*seen), jnp.int32(t)))
        return expected(prior, seen, start, arm, reward, discount, worth, t)

    return worth(((), ()), 1)


@KINDS
def test_the_optimum_collects_what_is_possible(kind):
    """With any prior, rewards and first states, and with the arms in the other order, as `shuffle` makes it."""
    prior = drawn_prior(np.random.default_rng(kind == "chains"), kind)
    reward, start = (2.0, -1.0), np.array((1, 0))
    policy = in_order(BayesOptimal.of(prior, 7, reward, start), np.array((1, 0)))
    value = value_of(policy, prior[::-1], 7, reward, start[::-1])
    assert value == pytest.approx(bayes_optimum(prior, 7, reward, start).reward, abs=1e-12)


@KINDS
def test_the_discounted_optimum_collects_what_is_possible(kind):
    """The discounted sum of eight rounds with a discount of .3; what comes later is less than .3^8 / .7 = 1e-4."""
    prior = drawn_prior(np.random.default_rng(3), kind)
    policy = BayesGittins.of(prior, 0.3, 8, initial_state=(0, 1))
    best = most_of(prior, 8, (0.0, 1.0), (0, 1), 0.3)
    value = value_of(policy, prior, 8, (0.0, 1.0), (0, 1), 0.3)
    assert best - 2e-4 < value < best + 1e-9


@KINDS
@pytest.mark.slow
def test_scores_are_the_indices(kind):
    """After games of 40 rounds with three arms that begin in both states, against indices computed for each count.

    One play more or less changes them by 1e-2.
    """
    random, depth, discount = np.random.default_rng(4), 25, 0.8
    prior = drawn_prior(random, kind, 3)
    policy = BayesGittins.of(prior, discount, depth, reward=(0.5, 3.0), initial_state=1)
    table = jnp.broadcast_to(jnp.array([0.5, 3.0]), (3, 2))
    state, counts, states = policy.init(table), np.zeros((3, 2, 2), int), np.array([0, 1, 1])
    scores, learn = jax.jit(policy.scores), jax.jit(policy.update)
    for t, (arm, result) in enumerate(zip(random.integers(0, 3, 40), random.integers(0, 2, 40)), 1):
        numbers = [jnp.array([n], jnp.int32) for n in (arm, states[arm], result)]
        state = learn(state, Feedback(*numbers, table[arm, result].reshape(1), jnp.int32(t)))
        counts[arm, states[arm], result] += 1
        states[arm] = result
        if t % 20 == 0:
            exact = [index_of(prior[k], counts[k], states[k], discount) for k in range(3)]
            np.testing.assert_allclose((scores(None, state, t)[0] - 0.5) / 2.5, exact, atol=5e-4)
    assert counts.sum((1, 2)).max() < depth


def index_of(prior, counts, state, discount):
    """The index for rewards 0 and 1, by bisection for these counts alone."""
    if prior.ndim == 1:
        b, a = prior + counts.sum(0)
        return float(indices.gittins_beta(a, b, discount))
    return indices.gittins_beta_rows(prior + counts, discount)[state]


@pytest.mark.slow
def test_beyond_the_table_the_excess_over_the_known_chain_vanishes():
    """An arm whose table has three plays, after five."""
    prior, discount = np.array([[1.0, 2.0], [2.0, 0.5]]), 0.7
    policy = BayesGittins.of(prior[None], discount, 3)
    (state, before), learn = (policy.init(TABLE), 0), jax.jit(policy.update)
    counts = np.zeros((2, 2))
    for t, result in enumerate((1, 1, 0, 0, 1), 1):
        numbers = [jnp.array([n], jnp.int32) for n in (0, before, result)]
        state = learn(state, Feedback(*numbers, TABLE[0, result].reshape(1), jnp.int32(t)))
        counts[before, result] += 1
        before = result
        if t == 3:
            excess = indices.gittins_beta_rows(prior + counts, discount)[0] - of_mean_rows(prior + counts, discount)[0]
    expected_now = of_mean_rows(prior + counts, discount)[1] + excess * 3 / 5
    assert float(jax.jit(policy.scores)(None, state, 6)[0][0]) == pytest.approx(expected_now, abs=1e-4)


def of_mean_rows(posterior, discount):
    rows = posterior / posterior.sum(1, keepdims=True)
    return indices.gittins(rows[None], np.array([[0.0, 1.0]]), discount)[0]


TWO, THREE = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]), jaxbandit.two_state([0.5] * 3, [0.4] * 3)
PAYING_MORE = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], (0, 2))
LATER = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], initial_state=1)


@pytest.mark.parametrize(
    ("policy", "arms", "message"),
    [
        (BayesGittins.of(UNIFORM[:1], 0.5, 5), PAYING_MORE, r"reward: .* pay \[0.0, 1.0\]; those of .* pay"),
        (BayesGittins.of(np.arange(1, 5).reshape(2, 2), 0.5, 5), THREE, "which: shape"),
        (BayesOptimal.of(UNIFORM, 5), THREE, "is for two arms, and environment has 3"),
        (BayesOptimal.of(UNIFORM, 5), PAYING_MORE, "reward: .* pay"),
        (BayesOptimal.of(CHAINS, 10), LATER, r"start: the table is for arms that begin in the states \[0, 0\]"),
        (BayesOptimal.of(UNIFORM, 9), TWO, "horizon: the table of BayesOptimal has 9 rounds, and 10 will be played"),
    ],
)
def test_arms_that_do_not_fit_are_named(policy, arms, message):
    with pytest.raises(ValueError, match=message):
        policy.validate(Task(arms, horizon=10))

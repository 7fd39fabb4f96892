"""The test of independence: against all orders of short sequences; false alarms, what is found, what stays open."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from test_fitting import observed

from jaxbandit.environments import fit
from jaxbandit.environments.rested import independence
from jaxbandit.environments.rested.independence import judge

PAYS = np.arange(10.0)


def orders(sequence):
    """All sequences with the same first state and the same states after it, each once."""
    return [(sequence[0], *rest) for rest in set(itertools.permutations(sequence[1:]))]


def follow(sequence, sources, target):
    return sum(a in sources and b == target for a, b in itertools.pairwise(sequence))


SHORT = [
    [(0, 1, 1, 2, 0, 2, 1), (1, 0, 2, 0, 1)],
    [(2, 0, 1, 1, 0, 2, 2, 2), (0,), (1, 1), (0, 0, 0)],
    [(0, 1, 1, 0, 1, 1, 1, 0), (1, 0, 0, 0)],
    [(1, 1, 1, 0, 0, 0, 0, 0, 0, 1)],
]


@pytest.mark.parametrize("sequences", SHORT, ids=range(len(SHORT)))
def test_p_value_against_all_orders(sequences, monkeypatch):
    """The law of every count that is looked at, with all orders of each sequence equally likely, and its two tails."""
    monkeypatch.setattr(independence, "LEAST", 1)
    seen = sorted(set(itertools.chain(*sequences)))
    counts = [(set(seen) - {1}, 1)]
    if len(seen) > 2:
        counts = [(set(seen) - {target}, target) for target in seen]
        counts += [({source}, target) for source, target in itertools.permutations(seen, 2)]
    number = 1 if len(seen) == 2 else len(seen) ** 2
    p_values = []
    for sources, target in counts:
        law = Counter({0: 1.0})
        for sequence in sequences:
            item = Counter(follow(order, sources, target) for order in orders(sequence))
            more = Counter()
            for (a, p), (b, ways) in itertools.product(law.items(), item.items()):
                more[a + b] += p * ways / item.total()
            law = more
        result = sum(follow(sequence, sources, target) for sequence in sequences)
        tails = [sum(p for at, p in law.items() if (at - result) * side >= 0) for side in (-1, 1)]
        p_values.append(min(1, 2 * number * min(tails)))
    verdict = judge([np.array(sequence) for sequence in sequences], 0.01, PAYS)
    assert abs(verdict.p_value - min(p_values)) < 1e-12


@pytest.mark.parametrize("prior", [0, 0.01, 0.5, 1])
def test_a_prior_makes_no_arm_markovian(prior):
    """Clicks of 0.5 % in 300 rows: of these arms the row of a click is the prior's, and says nothing."""
    clicks = (np.random.default_rng(0).random((60, 300)) < 0.005).astype(int)
    fitted = fit(clicks, (0, 1), prior=prior)
    assert set(fitted.verdicts) == {"undecided"}
    np.testing.assert_allclose(fitted.averages, clicks.mean(1), rtol=1e-14)
    assert "environments.bernoulli(fitted.averages)" in str(fitted)


@pytest.mark.parametrize("steps", [30, 100, 300])
def test_error_rates_are_as_documented(steps):
    """300 data sets against each number of the docstring's table, in percent: 15 binomial tests, false-fail rate 3e-9.

    What the table shows as none may be as much as 0.005 %.
    """
    table = [line.split() for line in fit.__doc__.splitlines() if re.fullmatch(r" +\d+( +\d+\.\d\d){5}", line)]
    (percents,) = [row[1:] for row in table if row[0] == str(steps)]
    for apart, percent in zip((0, 0.1, 0.3, 0.5, 0.8), map(float, percents)):
        stay, move, wrong = (1 + apart) / 2, (1 - apart) / 2, np.clip(percent / 100, 5e-5, 1 - 5e-5)
        states = observed([[stay, move], [move, stay]], steps, [steps, int(10 * apart)], 300)
        markovian = sum(judge([item], 0.01, PAYS).word == "Markovian" for item in states)
        errors = markovian if apart == 0 else 300 - markovian
        assert stats.binomtest(errors, 300, wrong).pvalue > 2e-10


def test_reasons_of_what_is_undecided():
    few, once = [0] * 100 + [1, 1] + [0] * 100, [0, 0, 1] * 40 + [2]
    for sequences, reason in (
        ([few], "2 transitions from state 1, which pays 5; 10 are needed"),
        ([[*few, 1], [0, 0, 1]], "2 transitions from state 1, which pays 5; 10 are needed"),
        ([[0, 0, 1]], "no transitions from state 1, which pays 5; 10 are needed"),
        ([[0] * 50, [0] * 50 + [2]], "no transitions from state 2, which pays 7.5; 10 are needed"),
        ([[1, 1, 1]], "only state 1 was seen, which pays 5"),
        ([[0, 1], [1, 0]] * 20, "in sequences so short no order of states reaches the level 0.01"),
    ):
        verdict = judge([np.array(item) for item in sequences], 0.01, np.array([0, 5, 7.5]))
        assert (verdict.word, verdict.reason) == ("undecided", reason)
    # A state that was hardly ever left hides no dependence between the others.
    assert judge([np.array(once)], 0.01, PAYS).word == "Markovian"


def test_long_sequences_and_many():
    """10^6 steps, and 2,000 sequences: probabilities that a float cannot hold make no NaN."""
    rng = np.random.default_rng(3)
    for sequences in ([rng.integers(0, 2, 10**6)], list(rng.integers(0, 2, (2000, 20)))):
        assert judge(sequences, 1e-6, PAYS).word == "i.i.d."
        assert judge([np.sort(item) for item in sequences], 1e-6, PAYS)[:2] == ("Markovian", 1e-20)

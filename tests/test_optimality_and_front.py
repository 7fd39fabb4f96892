"""The experiment on which policy pays where: tables against computation by hand, at tiny sizes."""

import numpy as np
import pytest

from experiments import families, front
from experiments.comparisons.matrix import Matrix, draw
from experiments.published.scenarios import TWO_STATES, environment, starts
from jaxbandit import atlas
from jaxbandit.command_line.experiment import check_cases


def test_starts_are_every_state_and_the_stationary_law():
    means = environment("scenario 1").means()
    for start, arms in starts(atlas["best20"].make).items():
        law = {"from state 0": [1, 0], "from state 1": [0, 1]}.get(start)
        expected = np.stack([1 - means, means], 1) if law is None else np.tile(law, (5, 1))
        np.testing.assert_allclose(arms.initial, expected, atol=1e-12)


@pytest.mark.slow
def test_what_is_planned_can_be_played():
    planned = front.cases(front.Simulation())
    check_cases(planned)
    assert set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"]) <= set(TWO_STATES)


def test_the_worst_of_a_policy():
    """Of two parts of the environments; one in which a policy does not play does not count."""
    environments = [("scenario 1", "from state 0"), ("scenario 2", "from state 0"), ("best20", "from state 1")]
    mean = np.array([[10.0, np.nan, 900.0], [20.0, 60.0, 9.0]])
    seen = Matrix(["early", "late"], environments, mean, np.array([[0, np.nan, 0.8], [0, 0.2, 0]]))
    early, late = front.worst_table(seen)
    assert early["in the paper's scenarios: times the least"] == "1.0 (scenario 1, from state 0)"
    assert early["beside them: times the least"] == "100.0 (best20, from state 1)"
    assert late["in the paper's scenarios: times the least"] == "2.0 (scenario 1, from state 0)"
    words = {text.get_text() for ax in draw(front.parts(seen), {"a": 2}).axes for text in ax.texts}
    assert not any("nan" in word for word in words)


@pytest.mark.slow
def test_families_are_played_by_those_whom_they_are_for():
    played = {name: list(families.policies(problem)) for name, problem in families.problems().items()}
    both = ["KLUCB, family", "Moulos", "KLUCB", "TVKLUCB"]
    assert played == {
        "two-state family, M = 1": [*both, "IMED, family", "IMEDMC"],
        "two-state family, M = 2": both,
        "three-state family, M = 1": [*both, "IMED, family", "IMEDMC"],
        "three-state family, M = 2": both,
    }
    check_cases(families.cases(families.Settings()))

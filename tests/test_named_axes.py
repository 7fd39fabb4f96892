"""xarray Datasets: the result's own numbers under names, the same again after a netCDF file."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import xarray

import jaxbandit
from jaxbandit import KLUCB, TVKLUCB, Oracle, metrics, simulate, sweep, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward=(-1.0, 2.0))
POLICIES = {"KL": KLUCB(), "TV": [TVKLUCB(scale=0.5), TVKLUCB(scale=2.0, exponent=0.1)], "O": Oracle([0.0, 1.0, 0.3])}
PLAYED = {"policies": POLICIES, "horizon": 50, "times": [10, 50]}


@pytest.fixture(scope="module")
def result():
    return simulate({"a": ARMS, "b": ARMS}, **PLAYED, runs=range(3, 7))


@pytest.fixture(scope="module")
def dataset(result):
    return result.to_xarray()


@pytest.mark.slow
def test_names_values_and_attributes(result, dataset):
    assert dataset.visits.dims == ("scenario", "policy", "run", "time", "arm", "state")
    assert dataset.regret.dims == dataset.visits.dims[:4]
    assert dataset.visits.dtype == np.int32 and dataset.regret.dtype == np.float64
    expected = {"scenario": ["a", "b"], "policy": ["KL", "TV", "TV", "O"], "variant": [0, 0, 1, 0], "run": [3, 4, 5, 6]}
    for name, values in (expected | {"time": [10, 50], "arm": [0, 1, 2], "state": [0, 1]}).items():
        assert dataset[name].values.tolist() == values
    for label in result.labels:
        rows = dataset.isel(policy=dataset.policy.isin([label]))
        np.testing.assert_array_equal(rows.visits, result.visits[label])
        np.testing.assert_array_equal(rows.regret, metrics.pseudo_regret(result, label))
    np.testing.assert_array_equal(dataset.means, result.means)
    np.testing.assert_array_equal(dataset.reward, result.reward)
    alone = replace(result, visits={"KL": result.visits["KL"]}).to_xarray()
    assert not np.shares_memory(alone.visits.values, result.visits["KL"])
    assert [dataset.attrs[name] for name in ("horizon", "rounds", "plays")] == [50, 50, 1]
    assert dataset.attrs["jaxbandit_version"] == jaxbandit.__version__ and "jax_version" in dataset.attrs
    assert dataset.attrs["key"].tolist() == result.asked["key"]
    assert json.loads(dataset.attrs["fingerprint"]) == result.fingerprint
    stopped = replace(result, horizon=60).to_xarray()
    assert stopped.attrs["stopped"] == "stopped after round 50 of 60" and "stopped" not in dataset.attrs


@pytest.mark.slow
def test_hyperparameters_are_coordinates(result, dataset):
    np.testing.assert_array_equal(dataset.scale, [np.nan, 0.5, 2.0, np.nan])
    np.testing.assert_array_equal(dataset.exponent, [np.nan, 0.25, 0.1, np.nan])
    assert dataset.distance.values.tolist() == ["", "total_variation", "total_variation", ""]
    assert dataset.means.dims == ("scenario", "arm")  # the oracle's number of that name is an attribute only
    assert json.loads(dataset.attrs["policies"])["O"]["hyperparameters"]["means"] == [[0.0, 1.0, 0.3]]
    assert result.hyperparameters("TV")["scale"] == [0.5, 2.0]


@pytest.mark.slow
def test_files_give_back_everything(dataset, result, tmp_path):
    empty = replace(result, times=result.times[:0], visits={"KL": result.visits["KL"][:, :, :, :0]})
    for inputs in (result, empty, replace(result, fingerprint={}, provenance={})):
        inputs.to_netcdf(tmp_path / "result.nc")
        wanted = inputs.to_xarray()
        answer = xarray.load_dataset(tmp_path / "result.nc")
        xarray.testing.assert_identical(answer, wanted)
        assert {n: v.dtype for n, v in answer.variables.items()} == {n: v.dtype for n, v in wanted.variables.items()}
        assert {n: type(v) for n, v in answer.attrs.items()} == {n: type(v) for n, v in wanted.attrs.items()}
        assert set(answer.indexes) == set(wanted.indexes)
    assert [path.name for path in tmp_path.iterdir()] == ["result.nc"]


@pytest.mark.slow
def test_files_are_whole_or_not_there(result, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        result.to_netcdf("/no/such/folder/result.nc")

    def half(dataset, path, **options):
        with open(path, "wb") as file:
            file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", half)
    with pytest.raises(OSError, match="disk full"):
        result.to_netcdf(tmp_path / "result.nc")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_grid_is_one_dataset(tmp_path):
    """Every number is the one of its case, whatever else the folder's results hold; policies have their numbers."""

    def case(scale, arms, exploration=None):
        tv = [TVKLUCB(scale=scale, exponent=e, exploration=exploration) for e in (0.1, 0.3)]
        asked = {"policies": {"TV": tv, "KL": KLUCB()}, "runs": 3, "horizon": 20, "times": [10, 20]}
        return {"scenarios": two_state([0.5, arms], [0.4, 0.55]), **asked}

    axes = {"scale": [0.5, 2.0, 1.0], "arms": [0.1, 0.4]}
    results = sweep(jaxbandit.grid(case, **axes) | {"other": case(1.0, 0.2)}, tmp_path, progress=False)
    data = jaxbandit.to_xarray(dict(reversed(results.items())), **axes)
    assert data.visits.dims == ("scale", "arms", "scenario", "policy", "run", "time", "arm", "state")
    assert data.visits.dtype == np.int32 and data.scale.values.tolist() == [0.5, 2.0, 1.0]
    assert data.policy.values.tolist() == ["TV", "TV", "KL"]
    np.testing.assert_array_equal(data.exponent, [0.1, 0.3, np.nan])
    for scale in axes["scale"]:
        for p in axes["arms"]:
            alone, here = results[f"scale={scale}, arms={p}"], data.sel(scale=scale, arms=p)
            np.testing.assert_array_equal(here.means, alone.means)
            for label in alone.labels:
                rows = here.isel(policy=here.policy.isin([label]))
                np.testing.assert_array_equal(rows.visits, alone.visits[label])
                np.testing.assert_array_equal(rows.regret, metrics.regret(alone, label))
    assert data.attrs["horizon"] == 20 and "fingerprint" not in data.attrs  # which differ


@pytest.mark.slow
def test_a_grid_of_things_is_named_by_their_texts():
    """Policies as values; one axis; a number that changes with the axis stays beside it."""
    axes = {"policy_": [KLUCB(), KLUCB(exploration=3.0)]}
    size = {"scenarios": ARMS, "runs": 2, "horizon": 9}
    cases = jaxbandit.grid(lambda policy_: size | {"policies": {"P": policy_}}, **axes)
    data = jaxbandit.to_xarray({name: simulate(**case) for name, case in cases.items()}, **axes)
    assert data.policy_.values.tolist() == [repr(policy) for policy in axes["policy_"]] and data.sizes["policy_"] == 2
    horizons = {f"horizon={h}": simulate(ARMS, {"U": KLUCB()}, runs=2, horizon=h) for h in (10, 20)}
    for inputs, wrong, words in (
        ({}, {"horizon": [10]}, "results: there is no case 'horizon=10'; it has "),
        (horizons, {"horizon": [10, 20]}, "results: the cases along horizon differ in more than it: .*time"),
        (horizons, {"run": [1]}, "run: every result has an axis"),
        (3, {"horizon": [10]}, "results: 3 is not a dict of results"),
    ):
        with pytest.raises(ValueError, match=words):
            jaxbandit.to_xarray(inputs, **wrong)
    axes = {"scale": np.arange(0.6, 0.9, 0.1), "played": [1, 2]}  # 0.7999999999999999; the name of a recorder
    played = simulate(ARMS, {"U": KLUCB()}, runs=2, horizon=9, record={"played": lambda arms, policy, t: t})
    data = jaxbandit.to_xarray(dict.fromkeys(jaxbandit.grid(lambda **_: {}, **axes), played), **axes)
    assert data.scale.values.tolist() == axes["scale"].tolist() and "recorded_played" in data.data_vars
    assert jaxbandit.to_xarray({"": horizons["horizon=10"]}).identical(horizons["horizon=10"].to_xarray())


@pytest.mark.parametrize("package", ["xarray", "h5netcdf"])
@pytest.mark.slow
def test_a_package_that_is_missing_is_named(result, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=package + r' is not installed; pip install -e "\.\[xarray\]"'):
        result.to_netcdf(tmp_path / "result.nc")
    assert not list(tmp_path.iterdir())

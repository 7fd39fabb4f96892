"""The file of a learned policy: numbers and a line of text, without pickle, written whole or not at all."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from jaxbandit.arguments import excerpt
from jaxbandit.arguments import path as as_path
from jaxbandit.policies import Exchangeable, Learned, Recurrent
from jaxbandit.results.file import file_name, whole_file

VERSION = 1
KINDS = {kind.__name__: kind for kind in (Exchangeable, Recurrent)}


def save(policy: Learned, path: str | os.PathLike[str]) -> None:
    """Write a learned policy to a file, such as "policy.npz"; an older file is replaced when the new one is whole.

    Args:
      policy: a `Learned`.
      path: of the file.

    Raises:
      ValueError: another policy, or a path without a file's name.
      OSError: the file cannot be written.

    >>> import jaxbandit, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(jaxbandit.Learned.of(jaxbandit.Exchangeable(4), horizon=10), f"{folder}/policy.npz")
    ...     load(f"{folder}/policy.npz").horizon
    10.0
    """
    check_learned(policy)
    write(path, policy, {}, {})


def load(path: str | os.PathLike[str], network: Any = None) -> Learned:
    """The learned policy in a file of `save`, or in the checkpoint of `train`.

    Args:
      path: of the file.
      network: of the policy; needed for a network that is not the library's.

    Raises:
      ValueError: the file holds no learned policy, or one of another network.
      OSError: the file is not there, or cannot be read.

    >>> import jaxbandit, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(jaxbandit.Learned.of(jaxbandit.Exchangeable(4), horizon=10), f"{folder}/policy.npz")
    ...     load(f"{folder}/policy.npz").network
    Exchangeable(width=4)
    """
    return read(path, network)[0]


def check_learned(policy: Any) -> None:
    """Raise ValueError unless the policy is a `Learned`."""
    if not isinstance(policy, Learned):
        raise ValueError(f"policy: {excerpt(policy)} is not a jaxbandit.Learned, such as Learned.of(horizon=60)")


def write(path: str | os.PathLike[str], policy: Learned, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a policy, what else is known `about` it, and arrays."""
    header = {
        "version": VERSION,
        "network": repr(policy.network),
        "horizon": float(np.asarray(policy.horizon)),
        "temperature": float(np.asarray(policy.temperature)),
        "about": about,
    }
    numbers = {f"parameter {name}": np.asarray(values) for name, values in policy.parameters.items()}
    with whole_file(file_name(path)) as file:
        np.savez(file, allow_pickle=False, header=np.array(json.dumps(header)), **numbers, **arrays)


def read(path: str | os.PathLike[str], network: Any = None) -> tuple[Learned, dict[str, Any], dict[str, np.ndarray]]:
    """The policy in a file, what else is known about it, and the arrays beside its parameters."""
    place = as_path("path", path)
    try:
        with open(place, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        version, known = header["version"], header["network"]
    except (AttributeError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{place}: not a file of learning.save or learning.train, or damaged") from error
    if version != VERSION:
        raise ValueError(f"{place}: version {version} of the file; this package reads version {VERSION}")
    if network is None and (network := _network(known)) is None:
        raise ValueError(f"network: the policy in {place} has {known}, which is not the library's; give it")
    if repr(network) != known:
        raise ValueError(f"network: {network!r} is not that of the policy in {place}, {known}")
    start = "parameter "
    parameters = {name.removeprefix(start): arrays.pop(name) for name in list(arrays) if name.startswith(start)}
    policy = Learned(parameters, header["horizon"], network, header["temperature"])
    return policy, header["about"], arrays


def _network(text: str) -> Any:
    """The library's network with this text, or None."""
    kind, _, width = text.removesuffix(")").partition("(width=")
    return KINDS[kind](int(width)) if kind in KINDS and width.isdigit() else None

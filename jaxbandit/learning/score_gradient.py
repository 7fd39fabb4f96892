"""The gradient of a policy's mean regret by the score function, from plays alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import Policy, check_key, described
from jaxbandit.choices.parameter_ranges import Ranges, ranges_of
from jaxbandit.learning.episodes import advantages, episodes
from jaxbandit.learning.problem_pool import Pool, check_plays, pool_of

STEP = 1e-5  # of a range's width, for differences of log-probabilities; float64 has 16 digits
NUMBERS = 20_000_000  # log-probabilities that are kept at a time, 160 MB


@described
class RegretGradient(NamedTuple):
    """Estimates of the derivatives of a policy's mean regret by P of its fields.

    Fields:
      names: P names of fields.
      value: [P], the estimates.
      error: [P], their standard errors.
      regret: the mean regret of the runs.
    """

    names: tuple[str, ...]
    value: np.ndarray
    error: np.ndarray
    regret: float


def regret_gradient(
    policy: Policy,
    problems: Any,
    ranges: Mapping[str, Any],
    *,
    horizon: int,
    runs: int = 1000,
    draws: int = 2,
    key: Any = None,
) -> RegretGradient:
    """The derivatives of a policy's mean regret by some of its fields, estimated from plays.

    With the rewards R_t and the probabilities pi_t of the arms A_t that were played, it is the mean over runs of

        - sum over t of (d log pi_t(A_t)) (sum over u >= t of R_u - the same of other draws of the run).

    All `draws` of a run have one luck (where the n-th play of an arm pays the same under every policy) and choices of
    their own. So most of the luck cancels, and the mean stays exact. Derivatives of log pi_t are central differences in
    float64 between copies of the policy that learn from the same plays. Where a field makes a policy change its choices
    in jumps, as the threshold of a test does, the jumps are missing: on them see `tune`.

    Args:
      policy: one with `probabilities(state, t)`; `Soft(policy, temperature)` has them for index policies.
      problems: an environment, a dict of alike ones, or a space of `stress`; each run is of one drawn at random.
      ranges: (low, high) of each field, by its name, which holds the policy's own value; "policy.exploration" is the
        field of a policy that the policy holds. A difference is 1e-5 of the width.
      horizon: rounds of a run.
      runs: problems that are drawn.
      draws: runs of each, 2 or more.
      key: a `jax.random.key`, key(0) by default.

    Raises:
      ValueError: a policy without `probabilities`, a field that is not one real number, an integer field, problems that
        the policy cannot play, or an argument out of range.

    Source: Williams 1992; with one luck for all draws it is our own.

    >>> import jaxbandit
    >>> policy, arms = jaxbandit.RescorlaWagner(0.3, 2.0), jaxbandit.bernoulli([0.6, 0.4])
    >>> ranges = {"inverse_temperature": (0, 10)}
    >>> seen = regret_gradient(policy, arms, ranges, horizon=10, runs=200, draws=4)
    >>> bool(seen.value[0] < 0)  # more exploitation is better in so few rounds
    True
    """
    runs, draws = integer("runs", runs, 2, 10_000_000), integer("draws", draws, 2, 10_000)
    horizon = integer("horizon", horizon, 1, LARGEST_INTEGER)
    fields, pool, key = prepared(policy, problems, ranges, horizon, key)
    each, regret = of_runs(pool, policy, fields, fields.begin, jax.random.fold_in(key, 1), runs, draws, horizon)
    return RegretGradient(fields.names, each.mean(0), each.std(0, ddof=1) / np.sqrt(runs), float(regret.mean()))


def prepared(
    policy: Policy,
    problems: Any,
    ranges: Mapping[str, Any],
    horizon: int,
    key: Any,
    weights: Mapping[str, float] | None = None,
) -> tuple[Ranges, Pool, Any]:
    """The fields, the problems and the key, checked."""
    key = jax.random.key(0) if key is None else key
    check_key(key)
    fields = ranges_of(policy, ranges)
    pool = pool_of(problems, key, weights)
    check_plays(policy, pool, horizon)
    for n, name in enumerate(fields.names):
        for end in (fields.low, fields.high):
            values = fields.begin.copy()
            values[n] = end[n]
            check_plays(fields.policy(policy, values), pool, horizon, f"ranges[{name!r}]")
    return fields, pool, key


def of_runs(
    pool: Pool, policy: Policy, fields: Ranges, values: np.ndarray, key: Any, runs: int, draws: int, horizon: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of each run the derivatives of its regret [runs, P] at values [P] of the fields, and its regret [runs]."""
    size = min(runs, max(1, NUMBERS // (draws * horizon * (2 * len(values) + 2))))
    size = -(-runs // -(-runs // size))  # parts of nearly one size
    keys = jax.random.split(key, -(-runs // size) * size).reshape(-1, size)
    inside = np.clip(values, fields.low + STEP * fields.width, fields.high - STEP * fields.width)
    with jax.enable_x64(True):
        ends = fields.low, fields.high, inside
        parts = [_by_differences(pool, policy, ends, on_devices(part), fields.names, draws, horizon) for part in keys]
        gradient, regret = (np.concatenate([np.asarray(a) for a in arrays])[:runs] for arrays in zip(*parts))
    return gradient, regret


@partial(jax.jit, static_argnames=("names", "draws", "horizon"))
def _by_differences(
    pool: Pool, policy: Policy, ends: Any, keys: Array, names: tuple[str, ...], draws: int, horizon: int
) -> tuple[Array, Array]:
    low, high, values = map(jnp.asarray, ends)
    fields = Ranges(names, low, high, values)
    steps = STEP * jnp.diag(high - low)
    others = jax.vmap(partial(fields.policy, policy))(values[None] + jnp.concatenate([steps, -steps]))
    seen, best = episodes(pool, fields.policy(policy, values), others, keys, draws, horizon)
    above, below = jnp.split(seen.others, 2, -1)
    differences = jnp.mean(jnp.sum((above - below) * advantages(seen.rewards)[..., None], 2), 1)
    gradient = -differences / (2 * STEP * (high - low))[None]
    return gradient, horizon * best - jnp.mean(jnp.sum(seen.rewards, -1), 1)


def on_devices(keys: Any) -> Any:
    """The keys [runs, ..] divided among as many devices as can have equal parts of them."""
    devices = jax.local_devices()
    number = max(n for n in range(1, len(devices) + 1) if len(keys) % n == 0)
    return jax.device_put(keys, NamedSharding(Mesh(np.array(devices[:number]), "runs"), P("runs")))

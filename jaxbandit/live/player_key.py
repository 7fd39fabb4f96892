"""The key of a player's random numbers, as the two words that its log keeps."""

from __future__ import annotations

import jax
import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import check_key


def words_of(key: int | jax.Array | None) -> list[int] | None:
    """The words of a key, checked; None if there is none, so that a new log draws them."""
    if key is None:
        return None
    if not isinstance(key, jax.Array):
        key = jax.random.key(integer("key", key, 0, LARGEST_INTEGER))
    check_key(key)
    words: list[int] = np.asarray(jax.random.key_data(key)).tolist()
    return words

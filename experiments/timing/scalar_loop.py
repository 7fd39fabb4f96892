"""TV-KL-UCB with two states as a scalar loop, compiled by numba on every core: what to beat."""

from __future__ import annotations

import time

import numpy as np

HALVINGS = 24


def rounds_per_second(p01: np.ndarray, p10: np.ndarray, seconds: float = 2.0, runs: int = 64) -> float:
    """Rounds of all runs together, per second.

    Raises:
      ImportError: numba is not installed (extra `bench`).
    """
    play = compiled()
    play(p01, p10, runs, 10)
    horizon, taken = 1000, 0.0
    while taken < seconds / 2:
        began = time.perf_counter()
        plays = play(p01, p10, runs, horizon)
        taken = time.perf_counter() - began
        rate = runs * horizon / taken
        horizon = int(horizon * max(2.0, 0.75 * seconds / taken))
    assert (plays.sum(1) == plays.sum(1)[0]).all()
    return rate


def compiled():
    """The loop: (p01 [K], p10 [K], runs, horizon) to plays [runs, K]."""
    import numba

    njit = numba.njit

    @njit
    def divergence(p, q):
        value = 0.0
        if p > 0:
            value += p * np.log(p / q)
        if p < 1:
            value += (1 - p) * np.log((1 - p) / (1 - q))
        return value

    @njit
    def bound(p, radius, upper):
        low, high = (p, 1.0) if upper else (0.0, p)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if (divergence(p, middle) > radius) == upper:
                high = middle
            else:
                low = middle
        return (low + high) / 2

    @njit
    def index(counts, state, plays, t):
        left0, left1 = counts[0, 0] + counts[0, 1], counts[1, 0] + counts[1, 1]
        p01 = counts[0, 1] / left0 if left0 else 1.0
        p10 = counts[1, 0] / left1 if left1 else 1.0
        log_t = np.log(t)
        radius = np.log(1 + t * log_t * log_t) / plays
        if abs(p01 + p10 - 1) > (t - 1.0) ** -0.25:
            if state == 0:
                q = bound(p01, radius, True)
                return q / (q + p10)
            q = bound(p10, radius, False)
            return p01 / (p01 + q) if p01 + q > 0 else 1.0
        return bound((counts[0, 1] + counts[1, 1]) / plays, radius, True)

    @njit(parallel=True)
    def play(p01, p10, runs, horizon):
        arms = len(p01)
        all_plays = np.zeros((runs, arms), np.int64)
        for run in numba.prange(runs):
            random = np.uint64(88172645463325252) + np.uint64(run) * np.uint64(2654435769)
            counts = np.zeros((arms, 2, 2), np.int64)
            states, plays = np.zeros(arms, np.int64), all_plays[run]
            for t in range(1, horizon + 1):
                arm, top = 0, -1.0
                for k in range(arms):
                    score = index(counts[k], states[k], plays[k], float(t)) if plays[k] else 2.0
                    if score > top:
                        arm, top = k, score
                random ^= random << np.uint64(13)
                random ^= random >> np.uint64(7)
                random ^= random << np.uint64(17)
                drawn = (random >> np.uint64(11)) / 9007199254740992.0
                state = states[arm]
                moves = drawn < (p01[arm] if state == 0 else p10[arm])
                following = 1 - state if moves else state
                counts[arm, state, following] += 1
                states[arm] = following
                plays[arm] += 1
        return all_plays

    return play

"""Policies for decision processes as plain float64 loops, written from the pseudo-code of their sources."""

import math

import numpy as np
from scipy.optimize import minimize_scalar


def best_in_l1(p, d, u):
    """Jaksch, Ortner and Auer 2010, figure 2."""
    order = sorted(range(len(u)), key=lambda s: (-u[s], s))
    q = list(p)
    q[order[0]] = min(1.0, p[order[0]] + d / 2)
    worst = len(u) - 1
    while sum(q) > 1 + 1e-14:
        s = order[worst]
        q[s] = max(0.0, 1 - (sum(q) - q[s]))
        worst -= 1
    return np.array(q)


def best_in_box(low, high, u):
    """From the lower ends upwards, in the order of the values."""
    q = list(low)
    for s in sorted(range(len(u)), key=lambda s: (-u[s], s)):
        q[s] += min(high[s] - low[s], 1 - sum(q))
    return np.array(q)


def best_in_kl(p, radius, u):
    """By halving: the best value itself, or q_j = p_j / (1 + (max - u_j) / y) with its mass scaled, a root in y."""
    top = u.max()
    held = p > 0
    at_top = held & (u >= top)

    def row(nu):
        q = np.zeros(len(p))
        q[held] = p[held] / (nu - u[held])
        return q / q.sum()

    def divergence(q):
        return float((p[held] * np.log(p[held] / q[held])).sum())

    if np.ptp(u) == 0:
        return p
    if not at_top.any():  # a state to which the pair never moved may take a share
        f = float((p[held] * np.log(top - u[held])).sum() + math.log((p[held] / (top - u[held])).sum()))
        if f < radius:
            share = 1 - math.exp(f - radius)
            q = (1 - share) * row(top)
            best = np.flatnonzero(u >= top)[0]
            q[best] += share
            return q
    low, high = top + 1e-14, top + 1e9
    for _ in range(200):
        middle = top + math.sqrt((low - top) * (high - top))
        low, high = (middle, high) if divergence(row(middle)) > radius else (low, middle)
    return row(high)


def iterate(worth, states, tolerance, u=None, waiting=0.0, most=1000, among=None):
    """Actions, gain, values, by how much the best action is better, sweeps."""
    u = np.zeros(states) if u is None else u
    inside = np.ones(states, bool) if among is None else among
    sweeps, wide = 0, True
    while wide and sweeps < most:
        item, sweeps = worth(u), sweeps + 1
        change = item.max(0) - u
        u = u + (1 - waiting) * change
        u = np.where(inside, u - u[inside].min(), 0)
        wide = np.ptp(change[inside]) >= tolerance
    ordered = np.sort(item, axis=0)
    actions = (item >= item.max(0) - 1e-12).argmax(0)
    change = change[inside]
    return actions, (change.max() + change.min()) / 2, u, ordered[-1] - ordered[-2], sweeps


def optimistic(kind, counts, reward, t, here, rewards="learned", delta=0.05):
    """What an optimist plans before round t, as `iterate` returns it."""
    A, S, _ = counts.shape
    N = counts.sum(-1)
    n = np.maximum(N, 1)
    p = counts / n[..., None]
    among = None
    if kind == "UCRL2":
        off = np.sqrt(7 * math.log(2 * S * A * t / delta) / (2 * n))
        d = np.sqrt(14 * S * math.log(2 * A * t / delta) / n)
    elif kind == "KLUCRL":
        slow = math.log(max(t, 2))
        B = math.log(2 * math.e * S**2 * A * slow / delta)
        C_P = S * (B + math.log(B + 1 / slow) * (1 + 1 / (B + 1 / slow)))
        off, d = math.sqrt(math.log(4 * S * A * slow / delta) / 1.99) / np.sqrt(n), C_P / n
    else:
        b = math.log(2 * S * A * t / delta)
        off = 49 * b / (3 * np.maximum(n - 1, 1))
        width = np.sqrt(14 * p * (1 - p) * b / n[..., None]) + off[..., None]
        low, high = np.maximum(p - width, 0), np.minimum(p + width, 1)
        if kind == "TUCRL":
            reached = N.sum(0) > 0
            reached[here] = True
            for s in np.flatnonzero(reached):
                for a in range(A):
                    if N[a, s] > math.sqrt(t / (S * A)):
                        low[a, s, ~reached] = high[a, s, ~reached] = 0
            if (N[:, reached] > math.sqrt(t / (S * A))).all():
                among = reached
    r = reward if rewards == "known" else np.minimum(1, np.where(N > 0, reward, 0) + off)

    def worth(u):
        result = np.zeros((A, S))
        for a in range(A):
            for s in range(S):
                if N[a, s] == 0 or (kind == "UCRL2" and d[a, s] >= 2):
                    q = np.eye(S)[u.argmax()]
                elif kind == "UCRL2":
                    q = best_in_l1(p[a, s], d[a, s], u)
                elif kind == "KLUCRL":
                    q = best_in_kl(p[a, s], d[a, s], u)
                else:
                    q = best_in_box(low[a, s], high[a, s], u)
                result[a, s] = r[a, s] + q @ u
        return result

    return iterate(worth, S, 1 / math.sqrt(t), among=among)


def imed_dual(law, v, m, U):
    """max over 0 <= x <= 1 / (U - m) of the mean of log(1 - x (v - m))."""
    end = 1 / (U - m)
    f = lambda x: -float(law @ np.log(np.maximum(1 - x * (v - m), 1e-300)))
    inside = minimize_scalar(f, bounds=(0, end), method="bounded", options={"xatol": 1e-12})
    return max(0.0, -inside.fun, -f(end * (1 - 1e-15)))


def imed_rl(counts, reward, phi, here, rewards="learned", normalised=True):
    """Indices of the actions in the present state, and the new phi."""
    A, S, _ = counts.shape
    N = counts.sum(-1)
    p = (counts + 1 / S) / (N + 1)[..., None]
    r = reward if rewards == "known" else (0.5 + N * reward) / (N + 1)
    skeleton = np.log(np.maximum(N.max(0), 1)) ** 2 <= N
    phi = iterate(lambda u: np.where(skeleton, r + p @ u, -np.inf), S, 1e-3, phi, waiting=0.1, most=100)[2]
    worth = r[:, here] + p[:, here] @ phi
    m, U = worth.max(), 1 + phi.max()
    index = np.zeros(A)
    for a in range(A):
        n = N[a, here]
        if n == 0:
            index[a] = -np.inf
            continue
        law, v = p[a, here], reward[a, here] + phi
        if rewards == "learned":
            law, v = np.r_[law * n / (n + 1), law / (n + 1)], np.r_[v, 0.5 + phi]
        k = imed_dual(law, v, m, U) + (0 if normalised else math.log(U))
        index[a] = (0 if worth[a] >= m - 1e-12 else n * k) + math.log(n)
    return index, phi


def ucbvi(counts, visits, before, reward, H, n, bonus, delta=0.05, scale=1.0):
    """Q [H, A, S] of an episode, from that of the one before; visits [H, S]."""
    A, S, _ = counts.shape
    L = math.log(5 * S * A * n / delta)
    Q, V = np.zeros((H, A, S)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        for a in range(A):
            for s in range(S):
                N = counts[a, s].sum()
                if N == 0:
                    Q[h, a, s] = H
                    continue
                p = counts[a, s] / N
                if bonus == "CH":
                    b = 7 * H * L / math.sqrt(N)
                else:
                    variance = p @ V[h + 1] ** 2 - (p @ V[h + 1]) ** 2
                    met = visits[h + 1] if h + 1 < H else np.zeros(S)
                    least = [min(1e4 * H**3 * S**2 * A * L**2 / n, H**2) if n else H**2 for n in met]
                    b = math.sqrt(8 * L * max(variance, 0) / N) + 14 * H * L / (3 * N) + math.sqrt(8 / N * (p @ least))
                Q[h, a, s] = min(before[h, a, s], H, reward[a, s] + p @ V[h + 1] + scale * b)
        V[h] = Q[h].max(0)
    return Q

"""Policies that learn decision processes and observed restless arms, as plain float64 loops from their sources."""

import math

import numpy as np
from reference_states import best_row
from scipy.optimize import minimize_scalar


def best_in_l1(p, d, u):
    """Jaksch, Ortner and Auer 2010, figure 2."""
    first, *others = sorted(range(len(u)), key=lambda s: (-u[s], s))
    q = np.array(p)
    q[first] = min(1.0, p[first] + d / 2)
    for s in reversed(others):
        q[s] -= min(q[s], max(q.sum() - 1, 0.0))
    return q


def best_in_box(low, high, u):
    """From the lower ends upwards, in the order of the values."""
    q = list(low)
    for s in sorted(range(len(u)), key=lambda s: (-u[s], s)):
        q[s] += min(high[s] - low[s], 1 - sum(q))
    return np.array(q)


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
                    q = np.array(best_row(p[a, s].tolist(), u.tolist(), d[a, s])[1])
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
    N = np.maximum(counts.sum(-1), 1)
    p = counts / N[..., None]
    Q, V = np.zeros((H, A, S)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        if bonus == "CH":
            b = 7 * H * L / np.sqrt(N)
        else:
            variance = np.maximum(p @ V[h + 1] ** 2 - (p @ V[h + 1]) ** 2, 0)
            met = visits[h + 1] if h + 1 < H else np.zeros(S)
            least = [min(1e4 * H**3 * S**2 * A * L**2 / n, H**2) if n else H**2 for n in met]
            b = np.sqrt(8 * L * variance / N) + 14 * H * L / (3 * N) + np.sqrt(8 / N * (p @ least))
        Q[h] = np.minimum(np.minimum(before[h], H), reward + p @ V[h + 1] + scale * b)
        Q[h][counts.sum(-1) == 0] = H
        V[h] = Q[h].max(0)
    return Q


# restless arms


def check_moments(draws, mean, variance):
    """Means and variances of draws [number, ...] of a law, within 5 standard errors."""
    off, number = np.asarray(draws, float) - mean, len(draws)
    assert (np.abs(off.mean(0)) <= 5 * np.sqrt(variance / number)).all()
    spread = (off**2 - variance).std(0) / math.sqrt(number)
    assert (np.abs((off**2).mean(0) - variance) <= 5 * spread + 1e-7).all()


def solved(rows, paid, discount):
    """Values of a chain that is paid in each state; without a discount up to a constant."""
    S = len(paid)
    if discount is not None:
        return np.linalg.solve(np.eye(S) - discount * rows, paid)
    system = np.vstack([np.column_stack([np.eye(S) - rows, np.ones(S)]), np.ones(S + 1)])
    system[-1, -1] = 0  # values that sum to 0, and the average
    return np.linalg.solve(system, np.append(paid, 0))[:S]


def adaptive_greedy(active, passive, earned, kept, discount=None):
    """Of the states not yet found, always the one where the least subsidy makes a round without a play as good."""
    found, result, last = np.zeros(len(earned), bool), np.zeros(len(earned)), 0.0
    move = (active - passive) * (1 if discount is None else discount)
    while not found.all():
        rows, paid = np.where(found[:, None], passive, active), np.where(found, kept, earned)
        one, other = (solved(rows, paid + m * found, discount) for m in (0, 1))
        loss = 1 - move @ (other - one)
        worth = np.where(loss > 1e-6, (earned - kept + move @ one) / np.maximum(loss, 1e-6), 1e30)
        place = np.where(found, math.inf, worth).argmin()
        last = result[place] = last if worth[place] == 1e30 else worth[place]
        found[place] = True
    return result


def index_of_arm(rows, reward, cost, paid, discount, kept=None):
    """Of an arm with the rows [2, S, S] without and with a play, and what its states pay.

    With `kept`, what states pay without a play, it is the state left that pays.
    """
    if kept is None:
        return adaptive_greedy(rows[1], rows[0], rows[1] @ reward - cost, rows[0] @ reward * (paid == "all"), discount)
    return adaptive_greedy(rows[1], rows[0], reward - cost, kept, discount)


def optimistic_arm(counts, reward, arms, number, price, paid, eta, scale, discount, kept=None):
    """The best rows [2, S, S] near those counted; None where rounding decides to which of two states they lead."""
    S = len(reward)
    value, best = np.zeros(S), np.zeros((2, S, S))
    while True:
        worth, nearest = np.zeros((2, S)), math.inf
        for a in (0, 1):
            own = 0 if kept is None else reward if a else kept
            after = reward * (kept is None and (a == 1 or paid == "all")) + discount * value
            nearest = min(nearest, np.diff(np.sort(after)).min())
            for s in range(S):
                N = counts[a, s].sum()
                p = counts[a, s] / N if N else np.full(S, 1 / S)
                radius = scale * math.sqrt(2 * S * math.log(4 * S * arms * number**4 / eta) / max(1, N))
                best[a, s] = best_in_l1(p, radius, after)
                worth[a, s] = best[a, s] @ after - a * price + (own[s] if kept is not None else 0)
        if np.abs(worth.max(0) - value).max() < 1e-10:
            return best if nearest > 1e-4 else None
        value = worth.max(0)


def begins(t, longest=math.inf):
    """The number of the episode that begins in round t, or None, if the n-th lasts n rounds, or `longest` if fewer."""
    first, number = 1, 1
    while first < t:
        first, number = first + min(number, longest), number + 1
    return number if first == t else None

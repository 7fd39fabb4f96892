"""WIP"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.confidence.larger import larger, smaller
from jaxbandit.confidence.rows import Row, alone, array_of, at_largest, beside, dot, each, largest, row_of, sum_of
from jaxbandit.confidence.stationary import excursions
from jaxbandit.fast import log

STEPS = 14
KEPT = 0.1
INFINITE = 1e30


class Point(NamedTuple):
    q: Row
    slack: Row
    drift: Row
    weight: Array
    total: Array
    value: Array
    excess: Array
    lack: Array


def likelihood_ratio(counts: Array, reward: Array, mean: Array, steps: int = STEPS) -> Array:
    counts, reward, mean = jnp.asarray(counts), jnp.asarray(reward, float), jnp.asarray(mean, float)
    states = counts.shape[-1]
    n = row_of(jnp.moveaxis(counts, -2, 0).astype(float))
    paid = jnp.moveaxis(reward, -1, 0)
    ahead = mean[None] - paid
    own, own_mean = _prior(counts, reward)
    point, extra = _start(n, paid, mean)

    def step(i, carry):
        point, scale = carry
        scale = scale * 0.1
        target = each(lambda a, b: jnp.where(a > 0, a + jnp.where(i < steps - 3, scale * b, 0), larger(scale * b, 1e-6)), n, extra)
        return _step(point, target, ahead), scale

    point, _ = jax.lax.fori_loop(0, steps, step, (point, jnp.ones_like(mean) * 10))
    ratio = _ratio(n, point, ahead)
    ratio = jnp.where(own_mean >= mean, 0, larger(ratio, 0))
    return jnp.where((mean >= jnp.max(reward, -1)) & (own_mean < mean), INFINITE, smaller(ratio, INFINITE))


def _prior(counts, reward):
    left = jnp.sum(counts, -1)
    states = counts.shape[-1]
    eye = jnp.eye(states, dtype=bool).reshape(*[1] * (counts.ndim - 2), states, states)
    p = jnp.where(left[..., None] > 0, counts.astype(float) / jnp.maximum(left, 1)[..., None].astype(float), 1 / states)
    never = left == 0
    reached = never & (jnp.sum(jnp.where(eye, 0, counts), -2) > 0)
    home = jnp.where(jnp.any(reached, -1), jnp.argmax(reached, -1), jnp.argmax(left, -1)).astype(jnp.int32)
    row, means, lengths, _ = excursions(p, reward, home, jnp.zeros(home.shape))
    mean = dot(each(lambda a, b: a * b, row, lengths), means) / dot(row, lengths)
    mean = jnp.where(jnp.any(reached, -1), alone(row, largest(means)), alone(row, mean))
    stay = never | (jnp.sum(jnp.where(eye, counts, 0), -1) == left)
    mean = larger(mean, jnp.max(jnp.where(stay, reward, -jnp.inf), -1))
    return p, mean


def _values(rows: Row, paid: Array):
    """mean [...] and u [S,...] of rows (each entry [S_s,...])"""
    p = array_of(rows)  # [S_s, ..., S_j]
    p = jnp.moveaxis(p, 0, -2)
    reward = jnp.moveaxis(paid, 0, -1)
    home = jnp.full(reward.shape[:-1], reward.shape[-1] - 1, jnp.int32)
    row, means, lengths, _ = excursions(p, reward, home, jnp.zeros(home.shape))
    mean = dot(each(lambda a, b: a * b, row, lengths), means) / dot(row, lengths)
    m = array_of(means)
    ln = array_of(lengths)
    u = ln * (m - jnp.moveaxis(jnp.broadcast_to(mean[None] if mean.ndim < home.ndim + 1 else mean, (1, *home.shape)), 0, -1)) / ln[..., -1:] if not isinstance(row, list) else ln * (m - mean[..., None]) / ln[..., -1:]
    u = u - u[..., -1:]
    return alone(row, mean), jnp.moveaxis(u, -1, 0)


def _same(row: Row, states, ndim):
    """true where j == s"""
    here = jnp.arange(states).reshape(-1, *[1] * (ndim - 1))
    if isinstance(row, list):
        return [here == j for j in range(states)]
    return (here[None] == here.reshape(-1, 1, *[1] * (ndim - 1)))


def _start(n: Row, paid: Array, mean: Array):
    states = paid.shape[0]
    same = _same(n, states, paid.ndim)
    none = each(lambda a: (a == 0).astype(mean.dtype), n)
    first = each(lambda a, b: a + 0.5 * b, n, none)
    total = sum_of(first)
    top, bottom = jnp.max(paid, 0), jnp.min(paid, 0)
    best = each(lambda a: a, [(paid[j] >= top)[None] for j in range(states)]) if isinstance(n, list) else (paid >= top[None])[:, None]
    leaving = sum_of(each(lambda a, b: jnp.where(b, 0, a), first, each(lambda a, b: jnp.broadcast_to(b, a.shape), first, same)))
    odds = lambda a: larger(a - bottom, 1e-30) / larger(top - a, 1e-7)
    factor = jnp.ones_like(mean)
    moved = first
    now, u = _values(each(lambda a: a / total, moved), paid)
    for _ in range(2):
        factor = larger(smaller(factor * odds(mean) / odds(now), 1e9), 1.0)
        moved = each(lambda a, b: a + jnp.where(b, leaving * (factor[None] - 1 if isinstance(n, list) else factor[None, None] - 1), 0), first, best)
        total = sum_of(moved)
        q = each(lambda a: a / total, moved)
        now, u = _values(q, paid)
    extra = each(lambda a, b: a - b, moved, n)
    zero = jnp.zeros_like(alone(n, total))
    slack = each(lambda a: jnp.zeros_like(a) + total, n)
    return Point(q, slack, each(jnp.zeros_like, n), zero, alone(n, total), u, zero - (mean - now)[None], zero), extra


def _heads(n: Row, u: Array) -> Row:
    return [a[None] for a in u] if isinstance(n, list) else u[:, None]


def _step(point: Point, target: Row, ahead: Array) -> Point:
    q, slack, drift, y, total, u, e, lack = point
    states = u.shape[0]
    same = _same(q, states, u.ndim)
    off = lambda row: each(lambda a, b: jnp.where(b, 0, a), row, each(lambda a, b: jnp.broadcast_to(b, a.shape), row, same))
    by = lambda number: beside(q, number)
    tiny = 1e-30
    heads = _heads(q, u)
    v = each(lambda a: a - by(u) - by(ahead), heads)
    inverse = each(lambda a, b: 1 / (a * b), q, slack)
    th = each(lambda a, b: a * a * b, q, inverse)
    t = each(lambda a, b, c, d, e: a * b * c - d * e, target, q, inverse, th, drift)
    t0 = sum_of(th)
    reference = at_largest(th, v)[0]
    shifted = each(lambda a: a - reference, v)
    shift = dot(th, shifted) / t0
    vb = reference + shift
    vc = each(lambda a: a - shift, shifted)
    wrong = each(lambda a, b: a - b, t, q)
    spread = 1 / larger(sum_of(each(lambda a, b: a * b * b, th, vc)), tiny)
    c0 = (by(lack) - sum_of(wrong)) / t0
    qt = each(lambda a, b: a + b * c0, t, th)
    b = by(e) + by(lack) * vb + dot(wrong, vc)
    a = off(each(lambda a, b, c: a + by(y) * b * c, q, th, vc))
    sa = sum_of(a)
    f = each(lambda a, b: jnp.where(b, -sa, a), a, same)
    qo = off(qt)
    g = each(lambda a, b: by(y) * jnp.where(b, -sum_of(qo), a), qo, same)
    rhs = each(lambda gg, ff: gg - ff * (b * spread), g, f)
    w = by(y * y) / t0
    if isinstance(q, list):
        add = lambda a: a[0] + a[1] + a[2] if states == 3 else a[0] + a[1]
        if states == 3:
            stiffest = larger(larger(spread[0], spread[1]), spread[2])
            k = [spread[s] / stiffest for s in range(3)]
            p01, p02, p12 = (add(w * th[i] * th[j]) / stiffest for i, j in ((0, 1), (0, 2), (1, 2)))
            f1, f2 = f[1], f[2]
            g1, g2 = (add(x) / stiffest for x in (g[1], g[2]))
            det = p01 * p02 + p01 * p12 + p02 * p12
            d1, d2 = -(p02 * g1 + p12 * (g1 + g2)), -(p01 * g2 + p12 * (g1 + g2))
            good = jnp.zeros_like(det)
            for s in range(3):
                a1, a2, bs = f1[s], f2[s], b[s]
                turn = a2 * g1 - a1 * g2
                c1 = p01 * a1 + p12 * (a1 + a2) * 0
                det = det - k[s] * (p01 * a2 * a2 + p02 * a1 * a1 + p12 * (a1 + a2) * (a1 + a2))
                d1 = d1 + k[s] * (a2 * turn + bs * (p02 * a1 + p12 * (a1 + a2)))
                d2 = d2 + k[s] * (-a1 * turn + bs * (p01 * a2 + p12 * (a1 + a2)))
                for t_ in range(s):
                    x = f1[t_] * a2 - f2[t_] * a1
                    kk = k[s] * k[t_] * x
                    det, good = det + kk * x, good + kk * x
                    d1 = d1 + kk * (f2[t_] * bs - a2 * b[t_])
                    d2 = d2 + kk * (a1 * b[t_] - f1[t_] * bs)
            det = larger(jnp.abs(det), larger(1e-6 * good, 1e-37))
            d1, d2 = d1 / det, d2 / det
            du = jnp.stack([jnp.zeros_like(d1), d1, d2])
        else:
            h11 = add(f[1] * f[1] * spread - w * th[0] * th[1])
            d1 = add(rhs[1]) / larger(jnp.abs(h11), tiny)
            du = jnp.stack([jnp.zeros_like(d1), d1])
    else:
        def outer(s, h):
            fs, ts = (jax.lax.dynamic_slice_in_dim(x, s, 1, 1)[:, 0] for x in (f, th))
            ws, ss = (jax.lax.dynamic_slice_in_dim(x[0], s, 1, 0) for x in (w, spread))
            pairs = ws[None] * ts[:, None] * ts[None]
            eye = jnp.eye(states).reshape(states, states, *[1] * (u.ndim - 1))
            pairs = pairs * (1 - eye)
            return h + fs[:, None] * fs[None] * ss[None] + pairs - eye * jnp.sum(pairs, 1)[:, None]
        h = jax.lax.fori_loop(0, states, outer, jnp.zeros((states, *u.shape), u.dtype))
        r = jnp.sum(rhs, 1)
        du = _solve(h, r)
    heads_d = _heads(q, du)
    dd = each(lambda a: a - by(du), heads_d)
    dy = -(b + dot(f, each(lambda a, _: jnp.zeros_like(_) + a, heads_d, f))) * spread
    dref = at_largest(th, dd)[0]
    dc = each(lambda a: a - dref, dd)
    dshift = dot(th, dc) / t0
    dc = each(lambda a: a - dshift, dc)
    ds = each(lambda r_, vc_, d_: r_ - dy * vc_ - by(y) * d_ - c0, drift, vc, dc)
    # change of the total
    dt = each(lambda s_, r_, v_, d_: s_ - r_ + dy * v_ + by(y) * d_, ds, drift, v, dd)
    dt = dt[0] if isinstance(dt, list) else dt[0]
    fall = each(lambda s_, q_, i: -s_ * q_ * i, ds, q, inverse)
    drop = each(lambda f_, n_, i: larger(f_, 1 - n_ * i - f_), fall, target, inverse)
    most = alone(q, largest(drop))
    top = most[0]
    for s in range(1, states):
        top = larger(top, most[s])
    al = smaller((1 - KEPT) / larger(top, 1e-30), 1.0)
    fine = jnp.isfinite(al + jnp.sum(du, 0) + jnp.sum(alone(q, dy), 0))
    al = jnp.where(fine, al, 0)[None]
    still = lambda a: jnp.where(beside(q, fine[None]), a, 0)
    alb = by(al)
    dq = each(lambda w_, th_, s_, r_: w_ - th_ * (s_ - r_), wrong, th, ds, drift)
    new_q = each(lambda a, b: larger(a + alb * still(b), 0.05 * a), q, dq)
    new_s = each(lambda a, b: larger(a + alb * still(b), 0.05 * a), slack, ds)
    new_d = each(lambda a, d_: (1 - alb) * a - still(alb * alb * dy * d_), drift, dd)
    dya = jnp.where(fine[None], alone(q, dy), 0)
    du = jnp.where(fine[None], du, 0)
    dt = jnp.where(fine[None], dt, 0)
    bend = jnp.where(fine[None], alone(q, dot(dq, dd)), 0)
    return Point(new_q, new_s, new_d, y + al * dya, total + al * dt, u + al * du, (1 - al) * e + al * al * bend, (1 - al) * lack)


def _solve(h, r):
    states = h.shape[0]
    eye = jnp.eye(states).reshape(states, states, *[1] * (h.ndim - 2))
    scale = jnp.sum(jnp.abs(h) * eye, (0, 1)) / states + 1e-30
    h = h + scale[None, None]
    a = jnp.concatenate([h, r[:, None]], 1)
    line = jnp.arange(states).reshape(-1, 1, *[1] * (h.ndim - 2))

    def eliminate(k, a):
        row = jax.lax.dynamic_slice_in_dim(a, k, 1, 0)
        pivot = jax.lax.dynamic_slice_in_dim(row, k, 1, 1)
        row = row / larger(jnp.abs(pivot), 1e-7 * scale[None, None])
        column = jax.lax.dynamic_slice_in_dim(a, k, 1, 1)
        return jnp.where(line == k, row, a - column * row)

    return jax.lax.fori_loop(0, states, eliminate, a)[:, -1]


def _ratio(n, point, ahead):
    q, slack, drift, y, total, u, _, _ = point
    by = lambda number: beside(n, number)
    left = sum_of(n)
    v = each(lambda a: a - by(u) - by(ahead), _heads(n, u))
    x = by(y / total)
    gain = -dot(n, v)
    w = each(lambda a: x * a, v)
    one = each(lambda a, b: larger((a + b) / by(total), 1e-12), slack, drift)

    def over(w, one):
        small = jnp.abs(w) < 0.5
        return jnp.where(small, _log_excess(jnp.where(small, -w, 0)), w + jnp.log(one))

    over = each(over, w, one)
    k = x * gain + dot(n, over)
    k = alone(n, jnp.where(left > 0, k, 0))
    return jnp.sum(k, 0)


def _log_excess(e):
    """log(1+e) - e"""
    near = jnp.abs(e) < 0.1
    x = jnp.where(near, e, 0)
    series = jnp.zeros_like(x)
    for k in range(9, 1, -1):
        series = series * x + (-1.0) ** (k + 1) / k
    return jnp.where(near, x * x * series, jnp.log1p(e) - e)

"""Hedge and regret matching in float64, from their definitions; stationary laws by linear algebra."""

import math

import numpy as np


def flow(rates):
    """The matrix F with F p = 0 for stationary laws p of the chain that moves from i to j at rates[i, j]."""
    rates = np.array(rates, float)
    np.fill_diagonal(rates, 0)
    return rates.T - np.diag(rates.sum(1))


def stationary(rates):
    system = np.vstack([flow(rates), np.ones(len(rates))])
    return np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]


def hedge(table, eta, regret):
    """Probabilities of all arms in each round of a table, [n, K]."""
    n, arms = table.shape
    gains, rows = np.zeros((arms, arms)), []
    for t in range(n):
        if regret == "external":
            weights = [math.exp(eta * total) for total in table[:t].sum(0)]
            p = np.array(weights) / sum(weights)
        else:
            rates = np.exp(eta * gains)
            p = stationary(rates if regret == "internal" else rates / rates.sum(1, keepdims=True))
        rows.append(p)
        gains += [[p[i] * (table[t, j] - table[t, i]) for j in range(arms)] for i in range(arms)]
    return np.array(rows)


def pair_regrets(table, played):
    """[K, K] for one run: what replacing plays of arm i by arm j would have gained."""
    sums = np.zeros((table.shape[1],) * 2)
    for x, i in zip(table, played):
        sums[i] += x - x[i]
    return sums


def positive_regrets(table, played, regret):
    """What regret matching goes by after these rounds: [K], or [K, K]."""
    sums = pair_regrets(table, played)
    return np.maximum(sums.sum(0) if regret == "external" else sums, 0)

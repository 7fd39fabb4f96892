# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Arms from data
#
# Logged rewards in, an environment out: estimated transitions, their standard errors, a verdict on every arm (i.i.d.,
# Markovian or undecided), and arms to simulate.

# %%
import csv
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import metrics, plotting
from jaxbandit.environments import EXAMPLE, fit, fit_hidden

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 1000
horizon = 10_000

# %% [markdown]
# ## The bundled file
#
# A line for every step of every arm. Distinct rewards are the states.

# %%
print(*EXAMPLE.read_text().splitlines()[:4], sep="\n")

# %%
fitted = fit(EXAMPLE)
print(fitted)

# %% [markdown]
# *Distance* is the total variation between the two rows of an arm: how much the next state depends on the present one.
# The *p-value* is that of an exact test: in how few orders of the same rewards they would look as dependent. At 0.01
# or below the arm is called Markovian, which happens to at most 1 % of i.i.d. arms. "i.i.d." says that no dependence
# was seen, and little about small distances; `help(fit)` tabulates how often the verdict is wrong.
#
# The standard error of a mean counts the dependence. Beside it, the one that i.i.d. rewards of the same mean would
# have: a sticky arm tells less about its mean, an alternating one more.

# %%
steps = fitted.counts.sum((1, 2))
print("with dependence  ", fitted.means_standard_errors.round(4))
print("as if i.i.d.     ", np.sqrt(fitted.means * (1 - fitted.means) / steps).round(4))

# %% [markdown]
# ## One's own file
#
# With `reward`, the column is the state, and `reward` says what each state pays. The file below stands for yours. It is
# drawn from known chains, so that the estimates can be judged.

# %%
truth = jaxbandit.markov(
    [
        [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.2, 0.3, 0.5]],
        [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.3, 0.2]],
        [[0.9, 0.1, 0.0], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    ],
    reward=[0.0, 0.1, 1.0],
)
draw = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
with open(folder / "own.csv", "w", newline="") as file:
    lines = csv.writer(file)
    lines.writerow(["arm", "step", "state"])
    for arm, rows in enumerate(truth.transition):
        state = 0
        for step in range(2000):
            state = draw.choice(3, p=rows[state])
            lines.writerow([arm, step, state])

own = fit(folder / "own.csv", reward=[0.0, 0.1, 1.0])
print(own)

# %% [markdown]
# The means with their 95 % intervals, of which one in twenty misses the truth:

# %%
half = 1.96 * own.means_standard_errors
for arm, mean in enumerate(own.means):
    print(f"arm {arm}: mean {mean:.3f} ± {half[arm]:.3f}, in truth {truth.means()[arm]:.3f}")

# %% [markdown]
# The rows of the last arm with their standard errors:

# %%
for row, errors in zip(own.transition[-1], own.standard_errors[-1]):
    print("   ".join(f"{estimate:.3f} ± {error:.3f}" for estimate, error in zip(row, errors)))

# %% [markdown]
# A transition that was never seen is estimated as 0, with error 0. If you believe it possible, `fit(..., prior=0.5)`
# adds a pseudo-count to every transition. That is harmless where every state was left often, as here, and misleads
# where one was not: see below.
#
# Data that `fit` cannot use are refused by line:

# %%
(folder / "damaged.csv").write_text("arm,step,reward\n0,0,1\n0,1,0\n1,0,1\n1,1,high\n")
try:
    fit(folder / "damaged.csv")
except ValueError as error:
    print(error)

# %% [markdown]
# ## A log of trials
#
# Experiments are often kept as a line for each trial: who, when, the choice, what it paid. Tabs and semicolons separate
# columns as well as commas, arms may have any name, and `columns` says which column is which. The trials are *rounds*,
# in which one arm is played and the others stand still. Each subject's trials are a *sequence* of their own: the first
# one of a subject does not follow the last one of another.

# %%
with open(folder / "trials.txt", "w") as file:
    print("subjID", "trial", "choice", "outcome", sep="\t", file=file)
    for subject in range(20):
        for trial in range(1, 101):
            choice = draw.choice(["left", "right"])
            outcome = 1 if draw.random() < {"left": 0.7, "right": 0.4}[choice] else -1
            print(f"s{subject}", trial, choice, outcome, sep="\t", file=file)

columns = {"sequence": "subjID", "round": "trial", "arm": "choice", "reward": "outcome"}
trials = fit(folder / "trials.txt", columns=columns)
print(trials)

# %% [markdown]
# States that go on moving while an arm is not played, as those of patients between visits, are restless, and not for
# `fit`: count for yourself how often each state followed each other one from one time to the next, for either action,
# and give the rows to `environments.restless`.
#
# ## Rare rewards
#
# Five items are shown 300 times each, and one showing in a hundred is clicked, independently of the others. After so
# few clicks nothing can be known of what follows a click, and the verdict says so.

# %%
clicks = (draw.random((5, 300)) < 0.01).astype(int)
shown = fit(clicks)
print(shown)

# %% [markdown]
# With a prior, the row of a click would be nearly the prior's alone. At 0.5 it lets clicks come in bursts that nobody
# saw, and they become more frequent than they were:

# %%
print("clicks per showing, as logged ", shown.averages.round(4))
print("of the fitted arms, prior 0   ", shown.means.round(4))
print("of the fitted arms, prior 0.5 ", fit(clicks, prior=0.5).means.round(4))

# %% [markdown]
# Where arms are independent, or nothing contradicts it, `bernoulli` needs no more than their averages. Arms with other
# rewards become independent by equal rows.

# %%
items = jaxbandit.bernoulli(shown.averages)
print(items.means().round(4))

shares = trials.counts.sum(1) / trials.counts.sum((1, 2))[:, None]
choices = jaxbandit.markov(np.repeat(shares[:, None], 2, axis=1), trials.reward)
print(choices.means().round(3))

# %% [markdown]
# ## Hidden states
#
# Where a reward is a noisy sign of a state that nobody sees, transitions between rewards say little. `fit_hidden` fits
# hidden states, and how many of them: here a machine that is slow to change, and shows the wrong sign in a tenth of the
# rounds, beside a coin.

# %%
random = np.random.default_rng(0)
state = np.cumsum(random.random(2000) < 0.03) % 2  # good and bad for some 30 rounds at a time
machine = np.where(random.random(2000) < 0.1, 1 - state, state)
coin = (random.random(2000) < 0.45).astype(int)
unseen = fit_hidden({"machine": machine, "coin": coin}, (0, 1), states=(1, 2), starts=3)
print(unseen)
print("the machine shows 1 in its two states with", unseen.emission[0, :, 1].round(2))
print("standard errors", unseen.emission_standard_errors[0, :, 1].round(3))

# %% [markdown]
# ## Simulate what was fitted
#
# A policy chosen on fitted arms is chosen for the estimates. Here the truth is known, and stands beside them: two
# scenarios of one call.

# %%
policies = {"UCB1": jaxbandit.UCB1(), "KL-UCB": jaxbandit.KLUCB(), "TV-KL-UCB": jaxbandit.TVKLUCB()}
result = jaxbandit.simulate({"fitted arms": own.arms, "true arms": truth}, policies, runs=runs, horizon=horizon)
figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for scenario, ax in enumerate(axes):
    plotting.plot_regret(result, scenario=scenario, quantiles=(0.9,), ax=ax)

# %%
result

# %% [markdown]
# The gap between the two best means decides most of the regret, and has the errors of both:

# %%
best, second = np.argsort(own.means)[::-1][:2]
gap = own.means[best] - own.means[second]
error = np.hypot(own.means_standard_errors[best], own.means_standard_errors[second])
print(f"gap of the two best arms: {gap:.3f} ± {1.96 * error:.3f}, in truth {np.ptp(np.sort(truth.means())[-2:]):.3f}")
for label in result.labels:
    fitted_median, true_median = np.median(metrics.pseudo_regret(result, label)[:, 0, :, -1], axis=-1)
    print(f"{label:10s} median regret {fitted_median:.1f} on fitted arms, {true_median:.1f} on true ones")

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
# Logged rewards in, an environment out: estimated transitions, their standard errors, the paper's verdict on every arm
# (i.i.d. or Markovian), and arms to simulate.

# %%
import csv
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import metrics, plotting
from jaxbandit.environments import EXAMPLE, fit

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
# Above the *threshold* the arm is called Markovian. "i.i.d." says little about small distances; `help(fit)` tabulates
# how often the verdict is wrong.
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
# adds a pseudo-count to every transition.
#
# Data that `fit` cannot use are refused by line:

# %%
(folder / "damaged.csv").write_text("arm,step,reward\n0,0,1\n0,1,0\n1,0,1\n1,2,0\n")
try:
    fit(folder / "damaged.csv")
except ValueError as error:
    print(error)

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

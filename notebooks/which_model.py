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
# # Which model chose?
#
# Somebody chose between two buttons, many times. By which rule? Four models of choice are fitted to the same choices
# and compared. The players here are simulated, so that the answer is known.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import choices
from jaxbandit.plotting import curve_style

# %% tags=["parameters"]
runs = 25
horizon = 200

# %% [markdown]
# ## The models
#
# Each is a policy with ranges for its numbers: learning with one rate; with another rate after disappointments; with a
# tendency to repeat the last choice; and an index policy that chooses by softmax.

# %%
learner = jaxbandit.RescorlaWagner()
softmax = {"learning_rate": (0.0, 1.0), "inverse_temperature": (0.5, 10.0)}
models = {
    "one rate": (learner, softmax),
    "two rates": (jaxbandit.RescorlaWagner(learning_rate_below=0.3), softmax | {"learning_rate_below": (0.0, 1.0)}),
    "repeats": (learner, softmax | {"perseveration": (-2.0, 2.0)}),
    "UCB1": (
        jaxbandit.Soft(jaxbandit.UCB1(bonus=1.0), temperature=0.3, highest=1.0),
        {"policy.bonus": (0.0, 3.0), "temperature": (0.05, 1.0)},
    ),
}

# %% [markdown]
# ## Can they be told apart?
#
# Before data are believed: players of each model choose, and all models are fitted to all of them. The rows are the
# models that chose, the columns how often each has the least BIC.

# %%
arms = jaxbandit.bernoulli([0.7, 0.4])
confusion = choices.recover_models(models, arms, subjects=runs, rounds=horizon)
print(confusion)

# %% [markdown]
# ## One group of players
#
# They learn with a high rate from successes and a low one from disappointments, and with different temperatures.

# %%
random = np.random.default_rng(0)
data = {"subject": [], "arm": [], "reward": []}
for subject in range(runs):
    truth = jaxbandit.RescorlaWagner(0.5, random.uniform(2, 6), learning_rate_below=0.1)
    q = np.full(2, 0.5)
    for _ in range(horizon):
        arm = int(random.random() < 1 / (1 + np.exp(truth.inverse_temperature * (q[0] - q[1]))))
        reward = int(random.random() < (0.7, 0.4)[arm])
        q[arm] += (0.5 if reward > q[arm] else 0.1) * (reward - q[arm])
        for name, value in zip(data, (subject, arm, reward)):
            data[name].append(value)
seen = choices.read_choices(data)
fitted = {name: choices.fit(policy, seen, ranges) for name, (policy, ranges) in models.items()}
print(fitted["two rates"])

# %% [markdown]
# The table above warned of what comes: with 200 choices, most of those who learn with two rates look to BIC like
# somebody with one. It asks of each subject a gain of log(200) / 2 in log-likelihood for a second rate. That a group
# has two is seen by all together, as in `choices.fit_population`, or in the estimates.

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
totals = {name: each.bic.sum() - fitted["two rates"].bic.sum() for name, each in fitted.items()}
axes[0].barh(list(totals), list(totals.values()), color=[curve_style(n)["color"] for n in range(len(totals))])
axes[0].set_xlabel("BIC minus that of two rates, all subjects")
best = fitted["two rates"].estimates
for n, name in enumerate(("learning_rate", "learning_rate_below")):
    place = fitted["two rates"].names.index(name)
    style = {"bins": np.linspace(0, 1, 21), "alpha": 0.6, "label": name, "color": curve_style(n)["color"]}
    axes[1].hist(best[:, place], **style)
    axes[1].axvline((0.5, 0.1)[n], color=style["color"], linestyle="--")
axes[1].set_xlabel("estimates of the subjects; dashed: the truth")
axes[1].set_ylabel("subjects")
axes[1].legend()
plt.show()

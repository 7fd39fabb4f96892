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
# # Which policy follows arms that change?
#
# A policy that has learnt which arm is best hardly plays the others any more, so when the arms change it is slow to
# find out. It can forget old rewards, it can watch for changes, or it can trust nothing that it has seen. Here all
# three are tried on arms with breaks, on Markov chains that take turns, and against an adversary.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import GLR, KLUCB, Discounted, Window, WithDetector, metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 500
horizon = 5_000

# %% [markdown]
# ## Three arms, four breaks
#
# `jaxbandit.atlas` has this problem, which is from a thesis. One arm changes at each break, and only the second break
# makes another arm the best.

# %%
arms = jaxbandit.atlas["Besson 1"].with_horizon(horizon)
rounds = np.arange(1, horizon + 1)
means = np.asarray(jax.vmap(lambda t: arms.means_now(None, t).high)(rounds))
figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
colours = [plotting.curve_style(k)["color"] for k in range(3)]
for k, colour in enumerate(colours):
    ax.plot(range(1, horizon + 1), means[:, k], color=colour, linewidth=2, label=f"arm {k + 1}")
for start in arms.breaks:
    ax.axvline(start, color="grey", linestyle=":", linewidth=1)
ax.set(xlabel="round t", ylabel="mean reward", xlim=(1, horizon), ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown]
# ## Forget, watch, or trust nothing
#
# All of these but Exp3.S are KL-UCB with something added. Most are told how many rounds there are and how many breaks,
# and set their numbers by that; one is told where the breaks are. Regret is *dynamic*: in each round it is measured
# against the arm that is best in that round. Dotted lines mark the breaks.


# %%
def told(horizon, breaks):
    numbers = {"horizon": horizon, "changes": len(breaks)}
    window = jaxbandit.SlidingWindowUCB(**numbers).length()
    discount = 1 - np.sqrt(len(breaks) / horizon) / 4
    return {
        "KL-UCB": KLUCB(exploration=0),
        "window": KLUCB(exploration=0, memory=Window(window)),
        "discount": KLUCB(exploration=0, memory=Discounted(discount)),
        "GLR, many turns": WithDetector(KLUCB(exploration=0), GLR(**numbers)),
        "GLR, few turns": WithDetector(KLUCB(exploration=0), GLR(horizon=horizon)),
        "CUSUM": WithDetector(KLUCB(exploration=0), jaxbandit.CUSUM(**numbers)),
        "told the breaks": WithDetector(KLUCB(exploration=0), jaxbandit.KnownBreaks(breaks)),
        "Exp3.S": jaxbandit.Exp3S(horizon=horizon, hardness=len(breaks) + 1),
    }


policies = told(horizon, arms.breaks)
watched = {label: lambda arms, state, t, policy: state.restarted for label in ("GLR, many turns", "GLR, few turns")}
asked = {"runs": runs, "horizon": horizon, "times": range(10, horizon + 1, 10)}
result = jaxbandit.simulate({"Besson 1": arms}, policies, record={"restarted": watched}, **asked)
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
plotting.plot_regret(result, ax=ax).set_xscale("linear")
legend = ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown]
# A window or a discount costs something in every round, also where nothing changes. Exp3.S explores all the time and
# pays most. To be told the breaks is not the best: that policy forgets all arms at each break, although only one has
# changed, while `GLR` and `CUSUM` restart the arm that raised the alarm and leave the others alone.
#
# ## What does a detector see?
#
# A change can only be seen in an arm that is played. So a detector has arms played by turns in some of the rounds, and
# those turns are what it costs. Here is how many alarms each arm raises, in bins of 100 rounds.

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", sharey=True)
bins = np.linspace(0, horizon, 51)
for ax, label in zip(axes, watched):
    restarted = result.recorded["restarted"][label][0, 0]  # [run, time, arm], the round of the last alarm or 0
    alarm = np.diff(restarted, axis=1, prepend=0) > 0
    alarms = [restarted[..., k][alarm[..., k]] for k in range(3)]
    weights = [np.full(len(each), 1 / runs) for each in alarms]
    ax.hist(alarms, bins, weights=weights, stacked=True, color=colours, label=[f"arm {k + 1}" for k in range(3)])
    for start in arms.breaks:
        ax.axvline(start, color="grey", linestyle=":", linewidth=1)
    share = float(policies[label].detector.share(3))
    ax.set(title=f"{label}: {share:.1%} of the rounds", xlabel="round t", ylabel="alarms a run", xlim=(1, horizon))
    ax.spines[["top", "right"]].set_visible(False)
    legend = ax.legend(frameon=False)
    early = sum((each <= arms.breaks[0]).sum() for each in alarms)
    delay = np.median(alarms[2]) - arms.breaks[1]
    print(f"{label}: alarms before the first break {early}, rounds until arm 3 raises its own {delay:.0f} (median)")

# %% [markdown]
# Both notice within a few plays that the best arm has become the worst one, and later that the arm being played has
# become better. With many turns some runs also notice what happens to arm 2, which is never the best: that knowledge is
# worth nothing here, and the turns are most of the regret.
#
# Few turns are a risk where an arm becomes the best *while it is not played*, as the third arm of another problem does
# for a fifth of the rounds. Beside the mean over runs stands the mean of the worst 5 %.

# %%
rising = jaxbandit.atlas["Garivier and Moulines"].with_horizon(horizon)
policies = told(horizon, rising.breaks)
found = jaxbandit.simulate({"third arm rises": rising}, policies, runs=runs, horizon=horizon)
print(f"{'':16}{'Besson 1':>10}{'worst 5 %':>10}{'third arm rises':>18}{'worst 5 %':>10}")
for label in policies:
    first, second = (metrics.summary(metrics.regret(each, label)[0, 0, :, -1]) for each in (result, found))
    print(f"{label:16}{first.mean:10,.0f}{first.worst:10,.0f}{second.mean:18,.0f}{second.worst:10,.0f}")

# %% [markdown]
# Few turns still have the smaller mean, but now and then they come late, and CUSUM does, too: in their worst runs they
# lose nearly as much as KL-UCB, which never notices. Many turns buy safety from that.
#
# ## Chains that take turns
#
# The five chains of the paper's scenario 1 change places four times in a game twenty times as long. TV-KL-UCB and
# IMED-MC estimate the whole transition matrix of an arm, which is out of date after the first break. The shorter window
# has the length that `SlidingWindowUCB` finds for independent rewards, as above; the longer one is four times that.

# %%
long = 20 * horizon
turns = jaxbandit.atlas["changing scenario 1"].with_horizon(long)
short = jaxbandit.SlidingWindowUCB(horizon=long, changes=len(turns.breaks)).length()
memories = {"nothing forgotten": None} | {f"a window of {n:,} rounds": Window(n) for n in (short, 4 * short)}
makes = {"TV-KL-UCB": jaxbandit.TVKLUCB, "KL-UCB": KLUCB, "IMED-MC": jaxbandit.IMEDMC}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharey=True)
for ax, (title, memory) in zip(axes, memories.items()):
    policies = {label: make(memory=memory) for label, make in makes.items()}
    times = np.linspace(long // 100, long, 100, dtype=int)
    on_chains = jaxbandit.simulate({"chains": turns}, policies, runs=runs // 10, horizon=long, times=times)
    plotting.plot_regret(on_chains, ax=ax).set_xscale("linear")
    ax.set_title(title)
    finals = (f"{label} {metrics.regret(on_chains, label)[..., -1].mean():,.0f}" for label in policies)
    print(f"{title}: {', '.join(finals)}")

# %% [markdown]
# Without forgetting, the two that look closely at the chains lose more than KL-UCB, which looks at the mean alone. The
# window that the rule gives is too short: KL-UCB loses more with it than without. With the longer one all three lose
# less than any of them without a window. Which length is best depends on how far apart the breaks are, and that must
# be guessed.
#
# ## An adversary
#
# In the table *never in turn* one arm pays 1 in all rounds except every fifth, and nothing else pays. A policy with a
# fixed rule plays the arms in turn as long as they look alike, and meets that arm in just those rounds in which it pays
# nothing. Regret is measured against the best single arm. The other column is the price of safety: five arms that keep
# their means, .9 to .5.

# %%
policies = {
    "UCB1": jaxbandit.UCB1(),
    "KL-UCB": KLUCB(),
    "IMED": jaxbandit.IMED(),
    "Thompson": jaxbandit.Thompson(),
    "Exp3": jaxbandit.Exp3(horizon=horizon),
    "Tsallis-INF": jaxbandit.TsallisINF(),
}
print(f"{'':12}{'never in turn':>16}{'i.i.d. high':>14}")
against = {}
for name in ("never in turn", "i.i.d. high"):
    scenario = jaxbandit.atlas[name].with_horizon(horizon)
    against[name] = jaxbandit.simulate({name: scenario}, policies, runs=runs, horizon=horizon)
for label in policies:
    table, stationary = (metrics.regret(each, label)[0, 0, :, -1].mean() for each in against.values())
    print(f"{label:12}{table:16,.0f}{stationary:14,.0f}")

# %% [markdown]
# UCB1, KL-UCB and IMED lose all that there is to earn. Thompson sampling chooses by chance and is not fooled, but this
# table was not written against it, and no bound is known for it on others. Exp3 and Tsallis-INF have one for every
# table; where arms keep their means, Exp3 pays six times as much as KL-UCB and Tsallis-INF less than twice as much.
#
# ## What to take away
#
# If rewards are independent and jump now and then, watch for changes: KL-UCB with `GLR` has the least mean regret of
# the policies that are not told the breaks, and its turns decide how bad the worst runs are. If arms are Markov chains,
# for which these detectors are not made, use a long window, and compare two or three lengths. If rewards may be chosen
# against you, use `TsallisINF`, which costs little on harmless arms, or `Exp3S` where the best arm changes, too.
#
# `python -m experiments.changing` and `python -m experiments.adversary` play all of this at full size.

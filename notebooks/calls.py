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
# # Whom should we call this week?
#
# A health programme sends its participants a message every week. Some listen (*engaged*), some listen now and then (*at
# risk*), some have stopped (*lost*). Health workers can call eight of the sixty participants a week. Whom should they
# call? This notebook goes from a table of what was observed to this week's list, and says how sure each place on it is.

# %%
import csv

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import indices
from jaxbandit.environments import fit_restless, restless

jaxbandit.use_all_cores()

# %% tags=["parameters"]
runs = 50
horizon = 104

# %% [markdown]
# ## What was observed
#
# The file has one line for each person and week: the state at the beginning of the week, whether there was a call, and
# the state a week later. In each of these 26 weeks twelve people were called, *chosen at random*; the last section says
# why that matters. The data are invented (by `docs/making/calls.py`); a file of your own needs the same columns.
#
# `fit_restless` counts how often each state followed each other one, with and without a call. It also wants to know
# what each state pays: we count a week engaged as 1 and a week at risk as a half.

# %%
states, clinics = ["engaged", "at risk", "lost"], ["harbour", "hill", "north"]
groups = [f"{clinic}, {state}" for clinic in clinics for state in states]
pays = dict(zip(states, [1.0, 0.5, 0.0]))
fitted = fit_restless("calls.csv", pays, columns={"arm": "clinic", "action": "called"})
counts = fitted.counts  # [clinic, called, state, next state]


def show(name, waited, called):  # a line of the table
    print(f"{name:17}{waited:^24}     {called:^24}")


heads = "".join(f"{state:>8}" for state in states)
show("", "without a call", "after a call")
show("a week later:", heads, heads)
for group, rows in zip(groups, counts.swapaxes(1, 2).reshape(9, 2, 3)):
    show(group, *("".join(f"{n:8.0f}" for n in row) for row in rows))

# %% [markdown]
# A row counts the weeks that people of one clinic began in one state, by their state a week later. We count by clinic,
# not by person: one person was called about five times in half a year, which says next to nothing about what a call
# does in each of three states. Twenty people together do say something, if the people of one clinic are alike. Use any
# groups for which you believe this.
#
# ## What we know, and what we do not
#
# 14 weeks out of 16 tell us less than 140 out of 160. So we do not work with one table of chances but with
# 200 *plausible worlds*, tables each of which could well have led to these counts. (Each row of a table is drawn from a
# Dirichlet distribution. Half a week is added to every count, so that what was never seen is rare, not impossible.)

# %%
draw = np.random.default_rng(1)
worlds = draw.standard_gamma(counts + 0.5, (200, *counts.shape))
worlds /= worlds.sum(-1, keepdims=True)  # [world, clinic, called, state, next state]
estimate = (counts + 0.5) / (counts + 0.5).sum(-1, keepdims=True)
low, high = np.quantile(worlds[:, :, :, 1, 0], [0.05, 0.95], axis=0)
print("chance that somebody at risk is engaged a week later")
for number, clinic in enumerate(clinics):
    for called, text in enumerate(["without a call", "after a call"]):
        between = f"({low[number, called]:.2f} to {high[number, called]:.2f})"
        print(f"{clinic:8} {text:15} {estimate[number, called, 1, 0]:.2f} {between}")

# %% [markdown]
# The brackets hold the middle 90% of the plausible worlds, here and below.
#
# ## What a call is worth
#
# A call may gain something next week, and more in the weeks after it, because people who are engaged tend to stay so.
# Both count. So do later calls to the same person: somebody lost on the hill who is at risk after a call is well worth
# a second one.
#
# Suppose that every call has the same price, in engaged weeks. At a low price we would call this person now, at a high
# one we would wait. The price at which both are equally good is what the call is *worth* (its *Whittle index*). The
# worth assumes that the person is called again whenever a call is worth at least as much as this one. Without later
# calls, a call to somebody lost on the hill would gain about half of what stands here.
#
# The worth of a call to one person depends on nobody else, so the list only has to put the largest worths first.

# %%
weeks = np.array(list(pays.values()))  # what a week in each state counts


def worth(chances):  # [.., called, state, next state] to [.., state]
    flat = chances.reshape(-1, 2, 3, 3)
    found = indices.whittle(flat[:, 1], flat[:, 0], weeks, passive_reward=weeks)
    print(f"the worth is defined in {found.indexable.sum()} of {len(flat)} cases")
    return found.index.reshape(*chances.shape[:-3], 3)


best, plausible = worth(estimate), worth(worlds)
low, high = np.quantile(plausible, [0.05, 0.95], axis=0)
now = ((estimate[:, 1] - estimate[:, 0]) @ weeks).round(2)
print(f"{'':17}{'worth of a call':25}gain next week alone")
for group, *numbers in zip(groups, best.ravel(), low.ravel(), high.ravel(), now.ravel()):
    print("{:17}{:5.2f} ({:5.2f} to {:5.2f})   {:4.2f}".format(group, *numbers))

# %% [markdown]
# At the harbour a call to somebody at risk gains most for next week, but the gain does not last. On the hill such a
# call gains half as much next week, and three times as much in the long run, because people who are engaged there stay
# so. Where a bracket begins below 0, the data do not exclude that a call does harm. The last section says when a worth
# is not defined; here it always is.
#
# ## This week's list
#
# We rank everybody by worth, in each plausible world anew, and ask in what share of the worlds a person is among the
# first eight. Among people with the same worth, those whose last call is longest ago come first.

# %%
places = 8
with open("calls.csv", newline="") as file:
    lines = list(csv.DictReader(file))
last = {int(line["person"]): line for line in lines if line["week"] == "26"}
clinic = np.array([clinics.index(last[person]["clinic"]) for person in sorted(last)])
state = np.array([states.index(last[person]["next_state"]) for person in sorted(last)])
called = np.zeros(len(last))  # the week of the last call
for line in lines:
    if line["called"] == "1":
        called[int(line["person"]) - 1] = int(line["week"])


def listed(worths):  # the people on the list, from 0
    return np.lexsort((called, -worths[clinic, state]))[:places]


share = np.zeros(len(last))
for world in plausible:
    share[listed(world)] += 1 / len(plausible)
first = np.argsort(-share, kind="stable")[:14]
who = [groups[3 * c + s] for c, s in zip(clinic[first], state[first])]
names = [f"person {person + 1}, {group}" for person, group in zip(first, who)]
for person, name in zip(first, names):
    sure = "sure" if share[person] > 0.95 else "unlikely" if share[person] < 0.05 else "doubtful"
    call = "call" if person in listed(best) else ""
    print(f"{name:27} {share[person]:5.0%}  {sure:9}{call}".rstrip())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
figure.get_layout_engine().set(w_pad=0.15)
span = [(best - low).ravel(), (high - best).ravel()]
left.errorbar(
    best.ravel(),
    groups,
    xerr=span,
    fmt="o",
    markerfacecolor="lightblue",
    capsize=3,
    label="in the long run",
)
left.plot(now.ravel(), groups, "kx", zorder=3, markeredgewidth=1.5, label="next week alone")
left.set(xlabel="worth of a call, in engaged weeks (bars: 90% of worlds)")
left.legend(frameon=False)
right.barh(names, share[first])
right.set(xlabel="share of worlds in which the person is on the list", xlim=(0, 1))
for ax in (left, right):
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# Those at risk on the hill are on the list in nearly every world. For the three other places, the data do not settle
# who gains more: those lost on the hill or those at risk at the harbour. There a health worker's knowledge may decide.
#
# ## What would a year bring?
#
# We simulate what happens to the sixty people from now on, in 40 of the plausible worlds, 50 times in each, and compare
# five plans: calls by this list, made anew each week; calls to those with the largest gain next week alone; calls to
# each in turn; calls at random; and no calls. As in life, the first two know only the estimate, not the world in
# which they are tried. All plans are tried with the same random numbers.


# %%
@jaxbandit.pytree
class InTurn:  # the people whose last call is longest ago
    def init(self, reward):
        return jnp.zeros(len(reward))

    def scores(self, key, state, t):
        return -state, state

    def update(self, state, feedback):
        return state.at[feedback.arms].set(feedback.t)


def people(chances, effect=1):  # from this week's states; with effect 0 calls change nothing
    chances = chances[clinic]
    return restless(chances[:, effect], weeks, chances[:, 0], state, observed=True, paid="all")


believed = people(estimate)
ranked = jaxbandit.Whittle.of(believed)
# given by hand, the numbers of the estimate are tried in other worlds; what `of` makes refuses them
plans = {
    "this list": jaxbandit.Whittle(ranked.indices, ranked.unseen),
    "next week alone": jaxbandit.Myopic(believed.transition, believed.initial, believed.passive, "all", believed.cost),
    "each in turn": InTurn(),
    "at random": jaxbandit.Uniform(),
}
asked = {"runs": runs, "horizon": horizon, "times": [52, horizon], "plays": places}
some = {f"world {number}": world for number, world in enumerate(worlds[:40])}
tried = {name: people(world) for name, world in some.items()}
played = jaxbandit.simulate(tried, plans, **asked)
uncalled = {name: people(world, effect=0) for name, world in some.items()}
idle = jaxbandit.simulate(uncalled, {"no calls": jaxbandit.Uniform()}, **asked)


def engaged(result, plan):  # engaged weeks of all people in each year: [world, run, year]
    total = (result.recorded["stays"][plan][:, 0] @ weeks).sum(-1)
    return np.diff(total, prepend=0, axis=-1)


none = engaged(idle, "no calls")
# what could be gained at most in a year of the long run, by world
possible = 52 * played.comparator - none.mean(1)[:, 1]
print(f"{'':17}{'engaged weeks':25}{'gained by':21}share of the")
print(f"{'':17}{f'of {60 * 52:,}':25}{'100 calls':21}possible gain")
for plan in ["no calls", *plans]:
    years = engaged(idle if plan == "no calls" else played, plan)
    low, high = np.quantile(years[..., 0], [0.05, 0.95])
    text = f"{plan:17}" + f"{years[..., 0].mean():5,.0f} ({low:,.0f} to {high:,.0f})".ljust(25)
    if plan != "no calls":
        gained = (years - none).mean(1)  # by world, luck averaged
        per_call = 100 * gained[:, 0] / (52 * places)
        low, high = np.quantile(per_call, [0.05, 0.95])
        text += f"{per_call.mean():3.0f} ({low:.0f} to {high:.0f})".ljust(21)
        text += f"{gained[:, 1].sum() / possible.sum():4.0%}"
    print(text.rstrip())
calls = played.visits["this list"][:, 0, :, -1].sum(-1).mean((0, 1))
by_clinic = [calls[clinic == number].sum() / calls.sum() for number in range(3)]
parts = ", ".join(f"{name} {part:.0%}" for name, part in zip(clinics, by_clinic))
print(f"calls by this list: {parts}")

# %% [markdown]
# The brackets hold nine of ten simulated years, and for the gain nine of ten worlds. The last column is about the
# second year, when today's states hardly matter any more. It compares the gain with a limit that no plan exceeds in the
# long run, not even one that knows the world: the most that eight calls a week *on average* could gain, many in one
# week and none in another. No better way of choosing could add more than what is missing to 100%; to gain more than
# that takes better calls, or more of them.
#
# ## What all this rests on
#
# - **Calls were random.** Had the health workers called the people they worried about, those called would differ from
#   the others in more than the call, and the counts would take that difference for an effect of the call. If calls were
#   chosen by something that you know, count separately for each of its values. If they were chosen by something that
#   you do not know, choose some calls at random from now on.
# - **People of one clinic are alike**, and next week depends on this week's state, not on what came before it. Count
#   the first and the last 13 weeks separately, or the people new to a state and those long in it, and see whether the
#   rows agree. If people differ, the brackets are too narrow.
# - **The worth is defined**, that is, a call that is not worth making at one price is not worth making at a higher one.
#   This was so in all worlds here. Where it is not, `LPPriority` ranks by what a call adds to the limit above.
# - **Most is not the same as fair.** The list sends few calls to the north, because they change little there. If every
#   clinic is to have its share, make a list for each.
# - **Following a list teaches you nothing about the people it leaves out.** Each week, give one or two of the eight
#   calls to people chosen at random.

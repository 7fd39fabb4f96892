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
# # Films, adverts, treatments
#
# A film that somebody likes, an advert that is clicked, a month in which a patient is well: papers on Markovian bandits
# begin with such examples. The next outcome is said to depend on the last one, and a policy that knows this should do
# better. Here are public data on all three. Does the next outcome depend on the last one? And if so, what is it worth?

# %%
import csv

import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import metrics
from jaxbandit.environments import fit

jaxbandit.use_all_cores()

# %% tags=["parameters"]
runs = 200
horizon = 10_000

# %% [markdown]
# ## The data
#
# - **Films**: 100,004 ratings by 671 people (MovieLens, Harper and Konstan 2015). An arm is a genre, and it pays 1 if
#   the person liked the film, with four stars or more. The data may not be used commercially, so that only counts lie
#   here: how often a film that was liked came after one that was not, and so on, for everybody and for twenty people
#   with many ratings.
# - **Adverts**: 10,000 showings of 34 items in a fashion shop, in the order of time (the Open Bandit Dataset, Saito et
#   al. 2020). An arm is an item, and it pays 1 if it was clicked. We take the five items with most clicks.
# - **Treatments**: 111 patients with a respiratory illness, half of them with a placebo, whose status was good or poor
#   in five successive months (Davis 1991). An arm is a treatment, and it pays 1 for a good month.
#
# `docs/making/films.py` says which packages have these data, and makes the three files.


# %%
def table(name):
    with open(f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


ratings = table("films")
counts = np.array([[int(line[key]) for key in ("n00", "n01", "n10", "n11")] for line in ratings])
counts = counts.reshape(-1, 5, 2, 2)  # [everybody and 20 people, genre, not liked or liked, next one]
chains = counts / counts.sum(-1, keepdims=True)
apart = abs(chains[..., 0, 1] - chains[..., 1, 1])  # the distance between the two rows of each

items = {}
for line in sorted(table("adverts"), key=lambda line: -len(line["clicked"].split()))[:5]:
    clicks = np.zeros(int(line["shown"]), int)
    clicks[[int(place) for place in line["clicked"].split()]] = 1
    items[f"item {line['item']}"] = [clicks]

patients = {}
for line in table("treatments"):
    course = np.array([int(month) for month in line["course"]])
    patients.setdefault(line["treatment"], []).extend([course] * int(line["patients"]))

adverts, treatments = fit(items), fit(patients)
print(adverts, treatments, sep="\n\n")

# %% [markdown]
# The *distance* is that between the chance of a good outcome after a good one and after a bad one, 0 for independent
# outcomes. Treatments have a distance of one half: after a good month the next one is good far more often than after a
# poor one. And yet the verdict is "i.i.d.". How can that be?
#
# ## Patients differ
#
# Some patients are well nearly all the time and others hardly ever. If all of them are counted together, a good month
# tells that the patient is probably one of the former, and the next month is likely to be good, although no month has
# any effect on the next. The test does not fall for this: it compares each patient's months with the same months in
# other orders. We do so, too: we shuffle each sequence, and see how large the distance is then.


# %%
def distance(sequences):
    moves = np.zeros((2, 2))
    for one in sequences:
        np.add.at(moves, (one[:-1], one[1:]), 1)
    return abs(moves[0, 1] / moves[0].sum() - moves[1, 1] / moves[1].sum())


draw = np.random.default_rng(0)


def shuffled(sequences):  # where 95 % of the distances lie if order means nothing
    orders = ([np.append(one[0], draw.permutation(one[1:])) for one in sequences] for _ in range(200))
    return np.quantile([distance(order) for order in orders], [0.025, 0.975])


names, distances = [f"films, {line['genre']}" for line in ratings[:5]], list(apart[0])
ranges = [[float(line["shuffled_low"]), float(line["shuffled_high"])] for line in ratings[:5]]
for kind, data in (("adverts", items), ("treatments", patients)):
    for name, sequences in data.items():
        names.append(f"{kind}, {name}")
        distances.append(distance(sequences))
        ranges.append(shuffled(sequences))

figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
low, high = np.transpose(ranges)
ax.barh(names, high - low, left=low, color="lightgrey", label="if order means nothing (95 %)")
ax.plot(distances, names, "ko", label="as it is")
ax.invert_yaxis()
ax.set(xlabel="distance between the two rows", xlim=(-0.01, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.3))
plt.show()

# %% [markdown]
# - **Treatments**: nearly all of the distance is that between patients. A Markov chain for "the patient" is a picture
#   of nobody.
# - **Films**: people differ, too, and this makes up about two thirds of the distance. The rest is real: what a person
#   thinks of a film is closer to what the same person thought of the one before than to any other.
# - **Adverts**: nothing can be seen.
#
# ## Nothing seen, or nothing there?
#
# Five months a patient, or nine clicks an item, are few. Would the test have noticed a dependence? We make data of the
# same size from chains that have the distance in question, the same for all patients, and test those.


# %%
def noticed(transition, data, times=100):  # by arm, the share of made-up data that are called Markovian
    hits = 0
    for _ in range(times):
        made = {}
        for (name, sequences), rows in zip(data.items(), transition):
            made[name] = []
            for one in sequences:
                states = [one[0]]
                for uniform in draw.random(len(one) - 1):
                    states.append(int(uniform < rows[states[-1], 1]))
                made[name].append(np.array(states))
        hits = hits + (fit(made, [0, 1]).verdicts == "Markovian") / times
    return hits


lines = []
for name, share in zip(patients, noticed(treatments.transition, patients)):
    lines.append(f"{name}: the chain of all patients together would be noticed in {share:.0%} of such trials")
mean = adverts.averages[:, None]
for after in (0.1, 0.3):
    first = mean * (1 - after) / (1 - mean)  # the chance of a click after none
    rows = np.stack([np.hstack([1 - first, first]), np.tile([1 - after, after], (5, 1))], axis=1)
    share = noticed(rows, items, times=25)[0]
    lines.append(f"{adverts.labels[0]}: a click after {after:.0%} of clicks would be noticed in {share:.0%} of logs")
print("\n".join(lines))

# %% [markdown]
# So the chain of all patients together is hardly that of each patient, at least with the placebo. Of the adverts we
# know only that there is no strong dependence. And of one person's films?

# %%
p_values = np.array([float(line["p_value"]) for line in ratings]).reshape(-1, 5)[1:]
print(f"20 people, 5 genres each: {(p_values <= 0.01).sum()} of 100 depend on the last film, at the level of 1 %")
print(f"median distance {np.median(apart[1:]):.2f}, of everybody together {np.median(apart[0]):.2f}")

# %% [markdown]
# One in a hundred would be called so by chance. The test says that there is a dependence, and not where it comes from:
# who goes through a list of good films, or is in a bad mood for an evening, rates in such an order, too.
#
# ## What is it worth?
#
# We play the fitted arms: the genres of each of the twenty people, the five items, the two treatments as the chain of
# all patients together. Beside them, independent arms with the same means, which show what the dependence itself
# changes. KL-UCB and IMED are made for independent outcomes, UCB1 is the best known of all; TV-KL-UCB is the paper's
# policy, and IMED-MC ours, for chains. All play with the same random numbers, so that their differences are known
# better than their regrets.

# %%
policies = {
    "KL-UCB": jaxbandit.KLUCB(),
    "UCB1": jaxbandit.UCB1(),
    "IMED": jaxbandit.IMED(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "IMED-MC": jaxbandit.IMEDMC(),
}


def both(arms):  # the chains, and independent arms with their means
    return arms, jaxbandit.bernoulli(arms.means())


def of_counts(rows):
    return jaxbandit.two_state(rows[:, 0, 1], rows[:, 1, 0])


persons = [both(of_counts(rows)) for rows in chains[1:]]
pairs = [*persons, both(adverts.arms)]
five = {f"{kind}, {number}": arms for number, pair in enumerate(pairs) for kind, arms in zip(("chain", "i.i.d."), pair)}
size = {"runs": runs, "horizon": horizon, "times": [1000, horizon]}
of_five = jaxbandit.simulate(five, policies, **size)
of_two = jaxbandit.simulate(dict(zip(("chain", "i.i.d."), both(treatments.arms))), policies, **size)


def by_problem(metric, name):  # [.., chains or independent, run, 1,000 or 10,000 rounds], .. the twenty people
    five = metric(of_five, name)[:, 0].reshape(-1, 2, runs, 2)
    return {"films": five[:-1], "adverts": five[-1:], "treatments": metric(of_two, name)[None, :, 0]}


problems = [("films", 0), ("films", 1), ("adverts", 1), ("treatments", 0)]
regret = {name: by_problem(metrics.regret, name) for name in policies}
gained, lines = {}, [f"{'mean regret':20}{'as fitted':^28}{'independent, same means':^28}"]
for problem, late in problems:
    lines.append(f"{problem}, {size['times'][late]:,} rounds")
    for name in policies:
        loss, base = (regret[one][problem].mean(0)[..., late] for one in (name, "KL-UCB"))
        less = gained[problem, late, name] = metrics.summary(loss - base)
        parts = [f"{loss[kind].mean():8.1f} ({less.low[kind]:+.1f} to {less.high[kind]:+.1f})" for kind in range(2)]
        lines.append(f"    {name:14}" + f"{parts[0]:28}" + parts[1])
print("\n".join(lines))

# %% [markdown]
# In brackets: the difference to KL-UCB, with its 95 % interval. Means hide that some runs are very different from
# others, so here are the median run, and the share of runs that play the best arm in less than a tenth of the rounds.

# %%
share = {name: by_problem(metrics.best_share, name) for name in policies}
heads = [f"{problem}, {size['times'][late]:,}" for problem, late in problems]
lines = [f"{'as fitted':16}" + "".join(f"{head:>20}" for head in heads)]
for name in policies:
    text = f"{name:16}"
    for problem, late in problems:
        median = np.median(regret[name][problem][:, 0, :, late])
        lost = (share[name][problem][:, 0, :, late] < 0.1).mean()
        text += f"{median:12.0f} ({lost:5.1%})"
    lines.append(text)
print("\n".join(lines))

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained", sharey=True)
others = list(policies)[1:]
for ax, (problem, late) in zip(axes, problems):
    for kind, (text, colour) in enumerate([("as fitted", "black"), ("independent", "grey")]):
        of = [gained[problem, late, name] for name in others]
        mean, high = (np.array([getattr(one, field)[kind] for one in of]) for field in ("mean", "high"))
        places = np.arange(len(others)) + 0.3 * kind - 0.15
        ax.errorbar(mean, places, xerr=high - mean, fmt="o", color=colour, capsize=3, label=text)
    ax.axvline(0, color="lightgrey", zorder=0)
    ax.set(yticks=range(len(others)), yticklabels=others, title=f"{problem}, {size['times'][late]:,} rounds")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
axes[0].legend(frameon=False)
figure.supxlabel("regret less that of KL-UCB (95 %); on the left of 0 is better")
plt.show()

# %% [markdown]
# - **Films**: after 1,000 films, more than nearly anybody rates, TV-KL-UCB has saved nothing on average. IMED-MC has
#   lost five liked films less than KL-UCB, and IMED, which knows nothing of chains, ten. After 10,000 films, which
#   nobody rates, TV-KL-UCB's median run is better than KL-UCB's, and its mean is worse, because one run in five has
#   nearly given up the best genre: it is proved that such runs do not become rare enough (the page
#   `docs/uniformly_good.md`).
# - **Adverts**: the fitted chains are nearly independent arms, and so are the results: IMED first, IMED-MC second, and
#   TV-KL-UCB no better than KL-UCB.
# - **Treatments**: if every patient were the chain of all patients, KL-UCB would do as well as any, and IMED-MC would
#   lose some months to it. If months are independent, TV-KL-UCB pays for a test that is often wrong.
#
# The choice between UCB1, KL-UCB and IMED matters much more here than the dependence, which can be ignored. Chains pay
# where arms move slowly, as in the paper's scenarios; none of these three data sets has such arms.
#
# ## What all this rests on
#
# - **Rested arms.** The chain of a genre, an item, a treatment stands still here while another is played. For films
#   this may do. A patient's illness goes on whatever is given: such arms are restless, as in the notebook on calls.
# - **Fitted arms are not the truth**, and the items were chosen because they had most clicks, so that their means are
#   too large. The differences between policies are certain for these arms only.
# - **Twenty people with many ratings** are not like those who rate little, of whose order nothing can be known: a
#   distance of 0.14 takes some 500 films of one genre to be seen.
# - The shop's log comes from a policy that had learnt which items are clicked. That does no harm here, where an item is
#   only compared with itself.

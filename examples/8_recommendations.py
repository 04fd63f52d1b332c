# %% [markdown]
# # Recommendations from a log
#
# A log says who chose what, and nothing else. `LatentRoBiRank` learns a vector for each user and each item from it,
# and recommends the items with the largest products. Here the log is made up, so that we also know the best that
# anybody could do. Songs are of eight kinds; each listener likes a few of them, and in each kind some songs are
# much more popular than others. The model is told neither the kinds nor the tastes.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from rerank import plots
from rerank.latent import LatentRoBiRank, evaluate, split_log

LISTENERS, SONGS, K = 2000, 600, 10
KINDS = np.array(["jazz", "folk", "opera", "blues", "soul", "punk", "swing", "reggae"])
rng = np.random.default_rng(0)
kind = rng.integers(KINDS.size, size=SONGS)
popular = rng.lognormal(0.0, 1.0, size=SONGS)
taste = rng.dirichlet([0.25] * KINDS.size, size=LISTENERS)
chance = popular * (taste[:, kind] + 0.05 / KINDS.size)
lengths = np.clip(rng.geometric(1 / 20, size=LISTENERS), 5, 100)
# The largest of log chances with Gumbel noise are a draw without replacement by these chances.
drawn = np.argsort(-np.log(chance) - rng.gumbel(size=chance.shape), axis=1)
chosen = [songs[:length] for songs, length in zip(drawn, lengths)]
rows = np.repeat(np.arange(LISTENERS), lengths)
log = sp.csr_matrix((np.ones(rows.size), (rows, np.concatenate(chosen))), shape=chance.shape)
train, held_out = split_log(log, (0.8,), random_state=0)
print(f"{LISTENERS:,} listeners, {SONGS} songs, {log.nnz:,} records, of which {held_out.nnz:,} are held out")

# %% [markdown]
# ## Who finds the held-out songs
#
# Each listener gets ten songs that are new to them. A song counts if it is among the held-out ones. The baseline is
# popularity: the same songs for everybody. A method that every library has is also here, in three lines: songs that
# are near those of the listener, by the cosine of their columns in the log. The last row uses the chances by which
# the log was drawn. Nobody knows these of a real log. Leads are over popularity, with an interval over listeners.

# %%
counts = np.asarray(train.sum(axis=0)).ravel()
near = (train.T @ train).toarray() / np.sqrt(np.outer(counts, counts) + 1e-12)
np.fill_diagonal(near, 0.0)
model = LatentRoBiRank(n_factors=16, random_state=0).fit(train)
methods = {
    "popularity": lambda users: np.tile(counts.astype(np.float64), (users.size, 1)),
    "near songs": lambda users: np.asarray(train[users] @ near),
    "LatentRoBiRank": model.score_items,
    "the true chances": lambda users: chance[users],
}
found = {name: evaluate(scores, held_out, K, seen=train) for name, scores in methods.items()}
print(f"{'':<18}{'precision@10':>12}  {'lead (interval)':<28}{'recall':>7}{'ndcg':>7}{'mrr':>7}")
for name, own in found.items():
    lead = own.precision - found["popularity"].precision
    half = 1.96 * lead.std(ddof=1) / lead.size**0.5
    told = f"{lead.mean():+.4f} ({lead.mean() - half:+.4f} to {lead.mean() + half:+.4f})" * (name != "popularity")
    print(f"{name:<18}{own.precision.mean():>12.4f}  {told:<28}", end="")
    print("".join(f"{own.means()[measure]:>7.3f}" for measure in ("recall", "ndcg", "mrr")))
lead = found["LatentRoBiRank"].precision - found["near songs"].precision
half = 1.96 * lead.std(ddof=1) / lead.size**0.5
print(f"LatentRoBiRank over near songs: {lead.mean():+.4f} ({lead.mean() - half:+.4f} to {lead.mean() + half:+.4f})")

# %% [markdown]
# ## One listener's list

# %%
known = np.diff(train.indptr)
user = int(np.flatnonzero((known >= 25) & (np.sort(taste, axis=1)[:, -2] > 0.3))[0])
own, wanted = train[user].indices, set(held_out[user].indices)
names = [f"{KINDS[one]} {song}" for song, one in enumerate(kind)]
kinds, number = np.unique(KINDS[kind[own]], return_counts=True)
order = np.argsort(-number, kind="stable")
print(f"Listener {user} has chosen {own.size} songs:", ", ".join(f"{number[k]} {kinds[k]}" for k in order))
(songs,), _ = model.recommend([user], k=K)
best = np.argsort(-np.where(train[user].toarray()[0] > 0, -1, counts), kind="stable")[:K]
print(f"{'place':<7}{'recommended':<22}{'most popular':<22}(* held out)")
for place, pair in enumerate(zip(songs, best), start=1):
    print(f"{place:<7}" + "".join(f"{names[song] + ' *' * (song in wanted):<22}" for song in pair).rstrip())

# %% [markdown]
# The left picture shows the mean precision by the number of songs that are known of a listener, with intervals.
# Listeners with more known songs also have more held-out ones, so that all precisions rise. On the right each mark is
# a song, by its popularity and by its score for the listener above. The kinds that the listener likes have the larger
# scores, though the model was not told which songs these are.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.4), layout="constrained")
ends = [4, 8, 12, 20, 30, 81]
part = np.searchsorted(ends, known[found["popularity"].users], side="right") - 1
styles = (("s", ":", plots.GREY), ("^", "--", plots.ORANGE), ("o", "-", plots.BLUE), ("D", "-.", "black"))
for (name, result), (mark, dash, colour) in zip(found.items(), styles):
    groups = [result.precision[part == k] for k in range(len(ends) - 1)]
    halves = [1.96 * group.std(ddof=1) / group.size**0.5 for group in groups]
    means = [group.mean() for group in groups]
    left.errorbar(range(len(groups)), means, halves, fmt=mark + dash, color=colour, label=name, capsize=3)
left.set_xticks(range(len(ends) - 1), [f"{a} to {b - 1}" for a, b in zip(ends, ends[1:])])
left.set(xlabel="songs known of the listener", ylabel=f"precision@{K} on held-out songs", ylim=(0, None))
left.legend(frameon=False, loc="upper left")
score, liked = model.score_items([user])[0], taste[user, kind] > 0.25
right.plot(counts[~liked], score[~liked], "o", ms=3.5, mfc="none", mec="0.75", mew=0.7, label="other kinds")
right.plot(counts[liked], score[liked], "o", ms=4, color="0.6", label=" and ".join(KINDS[taste[user] > 0.25]))
right.plot(counts[own], score[own], "o", ms=4.5, color="black", label="chosen")
missed = list(wanted)
right.plot(counts[missed], score[missed], "x", ms=7, mew=1.8, color=plots.ORANGE, label="held out")
right.plot(counts[songs], score[songs], "o", ms=11, mfc="none", mec=plots.BLUE, mew=1.8, label="recommended")
right.plot(counts[best], score[best], "s", ms=11, mfc="none", mec="black", mew=1.0, label="most popular")
right.set(xscale="log", xlabel="listeners who chose the song", ylabel=f"score for listener {user}")
right.set_xticks(ticks := [3, 10, 30, 100, 300], [f"{tick}" for tick in ticks])
right.minorticks_off()
right.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Popularity is far behind, so there is something to learn here. Measure that first on a log of your own, on held-out
# records. The cosine of columns is close behind `LatentRoBiRank` although it learns nothing, and the true chances are
# not far above both. On this log the choice among the two matters much less than the step from popularity to either.
#
# ## When to use another library
#
# - **Few items, or a first try**: the cosine above, or EASE, which solves one linear system. Both are a few lines.
# - **The fastest fit**: alternating least squares of `implicit`. It reached the precision of WARP first on two of three
#   public logs, and was as good as `LatentRoBiRank` in the end on one of them
#   ([figures](../docs/latent.md#how-good-it-is)).
# - **Columns of users or items** (age, price, text): LightFM, or a ranker with features, such as LightGBM.
# - **The order in time counts** (sessions, the next song): a library of sequence models.
# - **Ratings are to be predicted**: matrix factorisation of ratings. Here any count is treated as one.
# - **Users or items without records**: nothing here helps. They need columns, or popularity.
#
# `LatentRoBiRank` is for long logs where the first few items count, on one machine or several.

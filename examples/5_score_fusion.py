# %% [markdown]
# # Score fusion
#
# A search engine has two retrievers, and their lists are to become one. Here are made-up runs of two such retrievers.
# The lexical one has scores without an upper limit: most documents score little, and a few score much, right or wrong.
# The dense one has scores close to each other below one. Each brings its own best documents, and many documents are
# brought by one of them alone. Some queries are judged, with grades. More queries come later, judged too, so that we
# can see whether a fit was right.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rerank import plots
from rerank.fusion import FusionModel, ScoreFusion
from rerank.io.runs import qrels_of, run_of
from rerank.ranks.runs import differences, run_values

JUDGED, LATER, POOL, DEPTH = 60, 300, 80, 30
STAT = "ndcg@10"


def retrieved(queries, seed):
    """Runs of both retrievers, and judgements, as dictionaries by query and document."""
    rng = np.random.default_rng(seed)
    runs, qrels = {"lexical": {}, "dense": {}}, {}
    for query in (f"{seed}-{number}" for number in range(queries)):
        merit = rng.normal(size=POOL)
        scores = {
            "lexical": 6.0 * np.exp(0.5 * merit + 0.6 * rng.normal(size=POOL)),
            "dense": 0.75 + 0.06 * np.tanh(0.8 * merit + 0.5 * rng.normal(size=POOL)),
        }
        for name, own in scores.items():
            best = np.argsort(-own)[:DEPTH]
            runs[name][query] = {f"d{document:02}": float(own[document]) for document in best}
        grades = np.searchsorted([1.3, 2.0], merit)
        qrels[query] = {f"d{document:02}": int(grades[document]) for document in range(POOL) if grades[document]}
    return runs, qrels


(runs, qrels), (later_runs, later_qrels) = retrieved(JUDGED, seed=1), retrieved(LATER, seed=2)
query = next(iter(qrels))
for name, run in runs.items():
    print(f"{name:<8}", ", ".join(f"{document} {score:.3g}" for document, score in list(run[query].items())[:6]), "...")
both = np.mean([len(runs["lexical"][query].keys() & runs["dense"][query].keys()) for query in qrels])
print(f"{JUDGED} judged queries, {LATER} later ones; of {DEPTH} documents of each run {both:.0f} are in both")

# %% [markdown]
# ## Guesses
#
# What is usually done needs no judgements: equal weights after each run is stretched to the same range (`minmax`), or
# reciprocal rank fusion (RRF), which looks at places only. A `FusionModel` is a normaliser and a weight for each run.

# %%


def values(run, grades):
    """What each query is worth, as the fit counts it: of equal scores the relevant document stands last."""
    return run_values(run_of(run, "run"), qrels_of(grades), [STAT], ties="pessimistic")


def model_of(lexical, normaliser="minmax"):
    return FusionModel(("lexical", "dense"), np.array([lexical, 1.0 - lexical]), normaliser)


guesses = {"minmax, equal weights": model_of(0.5), "RRF": model_of(0.5, "rank")}
judged = {name: values(run, qrels).means[0] for name, run in runs.items()}
judged |= {name: values(model.fuse(runs), qrels).means[0] for name, model in guesses.items()}
for name, value in judged.items():
    print(f"{name:<22} {STAT} {value:.4f}")

# %% [markdown]
# ## The best weights, with proof
#
# `radius=None` allows all weights that are not negative, and `cv=None` asks nothing of held-out queries. A document is
# ahead only if it leads by the margin; here the margin is next to nothing, so that hardly any weights are left out.
# With two runs the search soon ends: it has proved a bound for all weights, and found weights that reach it.

# %%
free = {}
for normaliser in ("minmax", "rank"):
    free[normaliser] = ScoreFusion(STAT, normalise=normaliser, radius=None, cv=None, margin=1e-9).fit(runs, qrels)
    weights, result = free[normaliser].weights_, free[normaliser].result_
    print(f"{normaliser:<7}", ", ".join(f"{name} {weight:.4f}" for name, weight in weights.items()))
    print(f"        {STAT} {result.statistic:.6f}; value {result.value:.6f}, bound {result.bound:.6f}: {result.status}")
print(result.message)

# %% [markdown]
# The picture shows the curves over the weights. On the left are the judged queries. A weight matters only where two
# documents change places, so each curve has many small steps, and its bound lies on its top. RRF is one point of the
# curve of ranks. On the right are the later queries, with the same marks. There the tops are elsewhere.

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.4), layout="constrained", sharex=True, sharey=True)
sides = (("judged queries", runs, qrels, 101), ("later queries", later_runs, later_qrels, 22))
styles = (("minmax", "--", "s", plots.ORANGE), ("rank", "-", "o", plots.BLUE))
for ax, (title, given, grades, points) in zip(axes, sides):
    for normaliser, dash, mark, colour in styles:
        at = free[normaliser].weights_["dense"]
        where = np.unique([*np.linspace(0.3, 1.0, points), 0.5, at])
        curve = [values(model_of(1.0 - share, normaliser).fuse(given), grades).means[0] for share in where]
        ax.plot(where, curve, ls=dash, color=colour, lw=1.5, label=f"weights of {normaliser}")
        here = dict(marker=mark, ls="none", mec=colour, mew=1.8, ms=8, zorder=4)
        ax.plot(0.5, curve[np.flatnonzero(where == 0.5)[0]], mfc="white", **here)
        ax.plot(at, curve[np.flatnonzero(where == at)[0]], mfc=colour, **here)
        if grades is qrels:
            bound = free[normaliser].result_.bound
            ax.axhline(bound, color=colour, ls=dash, lw=0.8)
            ax.text(0.3, bound, f"bound, weights of {normaliser}", color=colour, va="bottom", fontsize=8)
            print(f"largest {STAT} on the curve of {normaliser}: {max(curve):.6f}, bound {bound:.6f}")
    ax.set(title=title, xlabel="weight of the dense run")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel(f"mean {STAT}")
axes[1].plot([], [], "o", mfc="white", mec="black", label="equal weights (of rank: RRF)")
axes[1].plot([], [], "o", mfc="black", mec="black", label="best weights of the judged queries")
axes[1].legend(loc="lower right", frameon=False, bbox_to_anchor=(1.0, 0.02))
plt.show()

# %% [markdown]
# ## What held-out queries say
#
# The best weights of the judged queries need not be the best of others. So by default folds of queries that a fit has
# not seen choose: logistic regression on `minmax` scores, averaged with equal weights, stays unless something else
# leads it clearly. Other normalisers, RRF, equal weights, the best run and corrections by search are tried.

# %%
fusion = ScoreFusion(STAT, random_state=0).fit(runs, qrels)
print(fusion.report())
print(f"{fusion.null_} is kept." if fusion.null_kept_ else f"A fit of {fusion.normaliser_} is taken.")
print(", ".join(f"{name} {weight:.4f}" for name, weight in fusion.weights_.items()))
print(fusion.result_.message)

# %% [markdown]
# ## Later queries
#
# The fused runs of the later queries, query by query against RRF, with Student's interval. `rerank evaluate` makes this
# comparison of run files.

# %%
models = {"dense alone": model_of(0.0, "rank"), **guesses, "guarded fit": fusion.model_}
models |= {f"best weights, {name}": est.model_ for name, est in free.items()}
later = {name: values(model.fuse(later_runs), later_qrels) for name, model in models.items()}
print(f"{'':<24}{STAT}  lead over RRF (interval)     better  worse")
for name, own in later.items():
    (lead,) = differences(own, later["RRF"])
    interval = f"{lead.mean:+.4f} ({lead.mean - lead.half:+.4f} to {lead.mean + lead.half:+.4f})"
    print(f"{name:<24}{own.means[0]:>7.4f}  {interval:<28}{lead.wins:>6} {lead.losses:>6}")

# %% [markdown]
# All fitted weights lead RRF, and so does the dense run alone. In the folds ranks were ahead of `minmax` by less than
# the error, so that `minmax` stayed; on the later queries it is ahead.
#
# ## Real runs
#
# The folder `runs` beside this notebook has real ones: two columns of LightGBM's ranking example, with judgements of
# queries to fit on and of fewer later ones. Files of TREC runs go in as they are; the fit knows them by name.

# %%
folder, names = Path("runs"), ("column90", "column99")
real = {part: {name: str(folder / f"{part}.{name}.run.gz") for name in names} for part in ("judged", "later")}
grades = {part: str(folder / f"{part}.qrels.gz") for part in real}
guarded = ScoreFusion(STAT, normalise="rank", random_state=0).fit(real["judged"], grades["judged"])
best = ScoreFusion(STAT, normalise="rank", radius=None, cv=None, margin=1e-9).fit(real["judged"], grades["judged"])
print(guarded.report())
told = best.result_
print(
    f"on {told.n_lists} judged queries RRF {told.first_stage_statistic:.6f},",
    f"best weights {told.statistic:.6f}; value {told.value:.6f}, bound {told.bound:.6f}",
)
print(", ".join(f"{name} {weight:.4f}" for name, weight in best.weights_.items()))
rrf = values(FusionModel(names, np.array([0.5, 0.5]), "rank").fuse(real["later"]), grades["later"])
for title, est in {"guarded fit": guarded, "best weights": best}.items():
    (lead,) = differences(values(est.model_.fuse(real["later"]), grades["later"]), rrf)
    interval = f"{lead.mean:+.4f} ({lead.mean - lead.half:+.4f} to {lead.mean + lead.half:+.4f})"
    print(f"{rrf.values.shape[0]} later queries, {title}: {interval} over RRF")

# %% [markdown]
# The bound says how much there is to win: on the judged queries no weights of these two columns lead RRF by more than
# the little that the best ones do. What is left of that on later queries cannot be told from nothing: its interval
# holds zero. Better runs would help more than better weights.
#
# ## What is taken along
#
# A fitted fusion is a normaliser and a few numbers. `save` writes them as JSON, and `export` in the words of an engine.
# What an engine cannot express is refused.

# %%
print(fusion.export("formula"), "\n")
print(fusion.export("vespa"), "\n")
print(json.dumps(json.loads(fusion.export("elasticsearch"))))

"""Models as files, and what search engines are told: round trips, forgeries, and the arithmetic of each snippet."""

import hashlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import rerank
from rerank.cli import app
from rerank.errors import InputError, NotSupportedError
from rerank.fusion import FusionModel, ScoreFusion, export, load, save
from rerank.reranker.fusion.exports import MEANINGS
from tests.cases.refuses import refuses
from tests.fusion import naive

WEIGHTS = np.array([0.625, 0.1234567890123, 1e-7])
NAMES = ("bm25", "dense", "clicks_2")


def model(normaliser="minmax", **options):
    return FusionModel(NAMES, WEIGHTS, normaliser, **options)


def test_a_model_comes_back_with_every_bit(tmp_path):
    for normaliser in naive.NORMALISERS:
        given = model(normaliser, k=7.5, missing="impute", depth=9, about={"stat": "ndcg@10", "gap": math.inf})
        save(given, tmp_path / "m.json")
        found = load(tmp_path / "m.json")
        assert found.names == given.names and found.weights.tolist() == given.weights.tolist()
        assert (found.normaliser, found.k, found.missing, found.depth) == (normaliser, 7.5, "impute", 9)
        assert found.about == {"stat": "ndcg@10", "gap": None}
    assert json.loads((tmp_path / "m.json").read_text())["runs"] == dict(zip(NAMES, WEIGHTS.tolist()))


def refused(path, text):
    """A file of this text is no fusion model, and one sentence says so."""
    path.write_text(text)
    with pytest.raises(InputError, match="holds no fusion model that can be used") as told:
        load(path)
    assert "\n" not in str(told.value)


def signed(body):
    """The text of a model with the digest that fits."""
    plain = {name: value for name, value in body.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(plain, separators=(",", ":")).encode()).hexdigest()
    return json.dumps(plain | {"digest": digest})


OTHER_DIGEST = [
    {"runs": {"bm25": 0.7}},
    {"normalise": "z"},
    {"schema": 2},
    {"schema": True},
    {"more": 1},
    {"format": "exact-rerank model"},
]
IMPOSSIBLE = [
    {"runs": {}},
    {"runs": {"a": "1"}},
    {"runs": {"a": True}},
    {"runs": {"": 1.0}},
    {"normalise": "l3"},
    {"missing": "mean"},
    {"k": -1},
    {"k": "60"},
    {"depth": 0},
    {"depth": 1.5},
    {"about": []},
    {"runs": {"a": 0.0, "b": 0}},
    {"kinds": {"a": {"bm25": 1.0, "dense": 1.0}}},
    {"kinds": {"a": {"bm25": 1.0, "dense": 1.0, "clicks": 1.0}}},
    {"kinds": {"a": {"bm25": 1.0, "dense": True, "clicks_2": 1.0}}},
    {"kinds": {"a": [1.0, 1.0, "1"]}},
    {"kinds": [1.0]},
    {"sigmoid": [[0.0, 1.0]] * 3},  # beside minmax
    *(
        {"about": {name: value}}
        for name, values in {
            "stat": (1, None, ["auc"]),
            "gain": ("cubic", None),
            "radius": ("0.3", -0.1, True),
            "null_kept": (0, "false"),
            "queries": (0, -3, 2.5, True),
            "notes": ("text", [1], {}),
            "bound": ("1", [], False),
            "gap": (-1e-9,),
            "ranges": ([], {"unknown": [0, 1]}, {"bm25": [1, 0]}, {"bm25": [0]}, {"bm25": [0, None]}, {"bm25": "01"}),
        }.items()
        for value in values
    ),
    {"about": {"value": 0.9, "bound": 0.8}},
]
CURVES = np.array([[-1.5, 2.0], [12.25, 4.0], [0.0, 0.5]])
NO_CURVES = [[[0.0, 1.0]], [[0.0, 0.0]] * 3, [[0.0, math.nan]] * 3, [0.0] * 3, None, "x", [[0.0, 1.0, 2.0]] * 3]


def test_what_is_no_model_is_refused_in_one_sentence_whether_or_not_its_digest_fits(tmp_path):
    path = tmp_path / "m.json"
    save(model(), path)
    text = path.read_text()
    body = json.loads(text)
    assert json.loads(signed(body)) == body
    without = {name: value for name, value in body.items() if name != "k"}
    others = ("[]", "{", "", "null", text.replace("0.625", "NaN"), text.replace('"k"', '"k": 1, "k"'), "[" * 100_000)
    for broken in (*others, json.dumps(without), *(json.dumps(body | entries) for entries in OTHER_DIGEST)):
        refused(path, broken)
    for entries in IMPOSSIBLE:
        refused(path, signed(body | entries))
    save(replace(model("sigmoid"), curves=CURVES), path)
    body = json.loads(path.read_text())
    for broken in NO_CURVES:
        refused(path, signed(body | {"sigmoid": broken}))
    for entries in ({"k": -1.0}, {"depth": 0}, {"curves": [[0.0, 0.0]] * 3}, {"about": {"queries": "3"}}):
        refuses(next(iter(entries)), model, **entries)
    for names in ((), ("a", "a"), ("a", 1), "ab"):
        refuses("names", FusionModel, names, np.ones(2), "rank")
    refuses("Cannot read", load, tmp_path / "absent.json")


# ---- arithmetic of the snippets, each with an interpreter of its own

COMPLETE = {
    name: {"q": dict(zip("abcde", scores))}
    for name, scores in zip(NAMES, ([7.0, 3.5, 3.0, 1.0, 0.5], [0.2, 0.9, 0.1, 0.4, 0.3], [1.0, 2.0, 5.0, 4.0, 3.0]))
}
LACKS = {("e", "bm25"), ("d", "dense"), ("a", "clicks_2")}
PARTIAL = {
    name: {"q": {doc: score for doc, score in run["q"].items() if (doc, name) not in LACKS}}
    for name, run in COMPLETE.items()
}


def agree(found, wanted):
    assert found.keys() == wanted.keys()
    assert [found[doc] for doc in wanted] == pytest.approx(list(wanted.values()), rel=1e-9, abs=1e-12)


def as_elasticsearch(body, runs):
    """A search of the linear or rrf retriever: missing documents add nothing."""
    kind, parts = next(iter(body["retriever"].items()))
    found = {}
    for part in parts["retrievers"]:
        own = runs[part["retriever"]["standard"]["_name"]]["q"]
        for doc, score in own.items():
            if kind == "rrf":
                worth = 1 / (parts["rank_constant"] + 1 + sum(other > score for other in own.values()))
            else:
                low, high = min(own.values()), max(own.values())
                worth = {"minmax": (score - low) / (high - low), "none": score}[part["normalizer"]]
            found[doc] = found.get(doc, 0.0) + part["weight"] * worth
    return found


@pytest.mark.parametrize(("normaliser", "missing"), [("minmax", "lowest"), ("rank", "zero"), ("none", "zero")])
def test_elasticsearch_fuses_alike(normaliser, missing):
    given = model(normaliser, missing=missing, k=20.0, depth=50)
    body = json.loads(export(given, "elasticsearch"))
    assert next(iter(body["retriever"].values()))["rank_window_size"] == 50
    agree(as_elasticsearch(body, PARTIAL), given.fuse(PARTIAL)["q"])


def as_vespa(text, runs, doc):
    """The global-phase expression, with the functions that Vespa documents."""
    expression = re.search(r"expression: (.*)", text)[1]

    def normalize_linear(own):
        return naive.value("minmax", list(own.values()), list(own).index(doc))

    def reciprocal_rank(own, k=60.0):
        return naive.value("rank", list(own.values()), list(own).index(doc), k)

    def sigmoid(own):
        return naive.value("sigmoid", [own[doc]], 0)

    wrapped = "(" in expression
    scores = {f"score_{name}": run["q"] if wrapped else run["q"][doc] for name, run in runs.items()}
    known = {"normalize_linear": normalize_linear, "reciprocal_rank": reciprocal_rank, "sigmoid": sigmoid}
    return eval(expression, {"__builtins__": {}}, known | scores)


@pytest.mark.parametrize("normaliser", ["none", "minmax", "rank", "sigmoid"])
def test_vespa_fuses_alike(normaliser):
    given = FusionModel(NAMES, np.array([0.625, -0.25, 0.125]), normaliser, k=20.0)
    text = export(given, "vespa")
    agree({doc: as_vespa(text, COMPLETE, doc) for doc in "abcde"}, given.fuse(COMPLETE)["q"])
    assert "+ -" not in text and "rerank-count: 100" in text


@pytest.mark.parametrize("normaliser", naive.NORMALISERS)
def test_the_formula_fuses_alike(normaliser):
    given = model(normaliser, k=20.0)
    text = export(given, "formula")
    expression = re.match(r"fused = (.*)", text)[1]
    found = {}
    for doc in "abcde":
        if normaliser == "none":
            known = {name: run["q"][doc] for name, run in COMPLETE.items()}
        else:
            known = {name: name for name in NAMES}
            known[normaliser] = lambda name, d=doc: naive.value(
                normaliser, list(COMPLETE[name]["q"].values()), "abcde".index(d), 20.0
            )
        found[doc] = eval(expression, {"__builtins__": {}}, known)
    agree(found, given.fuse(COMPLETE)["q"])
    assert set(MEANINGS) == set(naive.NORMALISERS)


def moved(runs):
    """The runs with scores from their centre, by their width."""
    return {
        name: {query: {doc: (score - centre) / width for doc, score in own.items()} for query, own in run.items()}
        for (name, run), (centre, width) in zip(runs.items(), CURVES.tolist())
    }


def test_a_fitted_sigmoid_is_one_of_moved_scores_in_files_and_exports(tmp_path):
    given = replace(model("sigmoid"), curves=CURVES)
    wanted = naive.fused(moved(PARTIAL), dict(zip(NAMES, WEIGHTS.tolist())), "sigmoid")["q"]
    agree(given.fuse(PARTIAL)["q"], wanted)
    save(given, tmp_path / "m.json")
    assert load(tmp_path / "m.json").curves.tolist() == CURVES.tolist()
    save(model("z"), tmp_path / "z.json")
    assert "sigmoid" not in json.loads((tmp_path / "z.json").read_text())
    for target in ("formula", "vespa"):
        text = export(given, target)
        expression = re.search(r"(?:fused =|expression:) (.*)", text)[1]
        found = {}
        for doc in "abcde":
            scores = {f"{before}{name}": run["q"][doc] for name, run in COMPLETE.items() for before in ("", "score_")}
            known = {"sigmoid": lambda x: 1 / (1 + math.exp(-x))}
            found[doc] = eval(expression, {"__builtins__": {}}, known | scores)
        agree(found, given.fuse(COMPLETE)["q"])


def test_a_constant_may_be_an_int():
    given = model("rank", k=20)
    assert json.loads(export(given, "elasticsearch"))["retriever"]["rrf"]["rank_constant"] == 20
    assert "1 / (20 + place)" in export(given, "formula")


@pytest.mark.parametrize("name", ["b) + 9 * rank(c", "b\n= 1", "b\r\u2028x", "\x1b[31mb", '"', "\u202eb", "Жук-1.2"])
def test_no_name_of_a_run_breaks_an_export(name):
    given = FusionModel((name, "c"), np.array([0.5, 0.25]), "rank", k=60, missing="zero")
    body = json.loads(export(given, "elasticsearch"))["retriever"]["rrf"]["retrievers"]
    assert body[0]["retriever"]["standard"]["_name"] == name
    first, *others = export(given, "formula").splitlines()
    term = re.fullmatch(r"fused = 0.5 \* rank\((.*)\) \+ 0.25 \* rank\(c\)", first)[1]
    assert (term if name.startswith("Ж") else json.loads(term)) == name
    assert len(others) == 2 and first.isprintable()
    with pytest.raises(NotSupportedError, match="name runs with letters"):
        export(given, "vespa")


def test_the_formula_has_names_and_constants_as_they_are():
    given = FusionModel(("a + -b", "c"), np.array([-0.5, -0.25]), "rank", k=12.3456789, missing="impute")
    text = export(given, "formula")
    assert 'fused = -0.5 * rank("a + -b") - 0.25 * rank(c)\n' in text and "1 / (12.3456789 + place)" in text
    assert text.endswith("the mean of the normalised scores that the run gives in the query, or 0 if that is none.")


@pytest.mark.parametrize(
    ("target", "given", "message"),
    [
        ("elasticsearch", model("z"), "cannot express the normaliser 'z'"),
        ("elasticsearch", model("sigmoid"), "cannot express the normaliser 'sigmoid'"),
        ("elasticsearch", model("minmax", missing="impute"), "missing='impute'"),
        ("elasticsearch", model("none"), "missing='lowest'"),
        ("elasticsearch", model("rank", k=0.5), "k = 0.5"),
        ("elasticsearch", FusionModel(("a", "b"), np.array([1.5, -0.5]), "minmax"), "weights below 0"),
        ("opensearch", model("none"), "cannot express the normaliser 'none'"),
        ("opensearch", FusionModel(tuple("abcdef"), np.full(6, 1 / 6), "minmax"), "6 runs, of a hybrid query of 5"),
        ("weaviate", model("rank"), "fit with normalise='minmax', or"),
        ("weaviate", model("minmax"), "cannot express 3 runs"),
        ("mongodb", model("l2"), "cannot express the normaliser 'l2'"),
        ("qdrant", model("rank"), "in its RRF a weight divides the rank"),
        ("vespa", model("z"), "cannot express the normaliser 'z'"),
        ("vespa", FusionModel(("a b",), np.array([1.0]), "minmax"), "the name 'a b'"),
    ],
)
def test_what_a_target_cannot_express_is_refused_in_one_sentence(target, given, message):
    with pytest.raises(NotSupportedError, match=re.escape(message)) as refused:
        export(given, target)
    assert "\n" not in str(refused.value)


def test_a_model_ranks_without_anything_heavy(tmp_path):
    save(model(), tmp_path / "m.json")
    code = (
        "import sys, rerank.fusion as fusion; "
        f"print(fusion.load({str(tmp_path / 'm.json')!r}).fuse({PARTIAL!r}) != {{}}, "
        "*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = set(done.stdout.split())
    assert "True" in said and not said & {"sklearn", "scipy", "numba", "pandas", "pyomo", "highspy"}


@pytest.mark.parametrize("radius", [0.3, None])
def test_an_audit_is_verified_and_a_forged_one_is_not(radius, tmp_path):
    runs, qrels = naive.made(5, (1.2, 0.5, 0.3), seed=3)
    qrels[next(iter(qrels))]["nobody has this"] = 1
    fusion = ScoreFusion(normalise="minmax", radius=radius, cv=None, proof=True, time_limit=20.0, random_state=0)
    fusion.fit(runs, qrels).save_audit(tmp_path / "audit")
    assert verified(tmp_path / "audit") == (0, True)
    found = rerank.load(tmp_path / "audit" / "model.json")
    weights = found.coef_ / found.coef_.sum()
    assert list(fusion.weights_.values()) == pytest.approx(weights.tolist(), rel=1e-12)
    assert found.result_.bound == fusion.result_.bound and found.result_.statistic == fusion.score(runs, qrels)
    table = (tmp_path / "audit" / "table.csv").read_text().splitlines()
    (tmp_path / "audit" / "table.csv").write_text("\n".join([table[0], *table[2:]]) + "\n")
    assert verified(tmp_path / "audit")[0] == 5


def verified(folder):
    given = [str(folder / name) for name in ("model.json", "table.csv")]
    done = CliRunner().invoke(app, ["verify", *given, "--proof", str(folder / "fit.proof"), "--json"])
    return done.exit_code, done.exit_code != 2 and json.loads(done.stdout)["holds"]

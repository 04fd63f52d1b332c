"""``rerank report``: what the page says, that it is whole and inert, and what is refused."""

import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rerank import Reranker, describe, load
from rerank.io import Table, write_csv
from rerank.reranker.evidence import evidence_of, one_line
from rerank.reranker.files import model_file
from tests.cases.mutants import signed
from tests.cli.commands import answer, run

EVIL = "<script>alert('x')</script>"


class Checked(HTMLParser):
    """Collects texts; every element is closed, nothing is fetched and nothing runs."""

    VOID = {"meta", "path", "use", "line", "rect"}

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "iframe", "object", "img", "base", "form"), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#"), value
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "svg" not in self.open:
            self.texts.append(data)


def drawn(seed, n=90):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n) > 1).astype(float)


def write(name, X, y, ids=None, qid=None):
    write_csv(name, Table(X, y, qid, ids, ("a", "b", EVIL)), label="hit")


@pytest.fixture(scope="module")
def texts():
    """Models by name, each fitted once."""
    return {}


def once(texts, path, *more):
    X, y = drawn(0)
    write("train.csv", X, y)
    if path not in texts:
        own = ("--label=hit", "--stat=precision@8", "--solver=search", "--model", path)
        run("fit", "train.csv", *own, *more, code=None)
        texts[path] = Path(path).read_text()
    Path(path).write_text(texts[path])
    return path


@pytest.fixture
def model(folder, texts):
    return once(texts, "m.json", "--free", "--radius=0.1", "--margin=0.05", "--candidates=0")


@pytest.fixture
def chosen(folder, texts):
    return once(texts, "cv.json", "--linear", "--cv=3", "--time-limit=20")


def read(path="report.html"):
    text, page = Path(path).read_text(), Checked()
    page.feed(text)
    assert page.open == [] and text.startswith("<!DOCTYPE html>")
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|http-equiv', "", text)
    return " ".join(" ".join(page.texts).split())


def test_rows_of_the_fit_are_recomputed(model):
    run("report", model, "train.csv")
    told = read()
    found = answer(run("verify", model, "train.csv", "--json", code=None))
    outcome = "Everything stated holds." if found["complete"] else "All that could be checked holds."
    assert found["holds"] and f"{len(found['checks'])} claims were recomputed from these rows. {outcome}" in told
    assert "which says little about rows to come" in told and "Which 8 of 90 rows should be looked at first?" in told
    assert f"A random order has {8 * drawn(0)[1].mean():.4g} on average." in told
    ranked = answer(run("rank", model, "train.csv", "--json", "--top", "13"))["rows"]
    assert [row["row"] for row in listed()] == [row["id"] for row in ranked]


def test_new_rows_have_a_lead_with_its_interval(model):
    X, y = drawn(1)
    write("new.csv", X, y)
    run("report", model, "new.csv", "-o", "new.html")
    told = read("new.html")
    value = answer(run("score", model, "new.csv", "--json"))
    assert f"precision@8 of this list is {value['value']:.4g}." in told
    assert f"The first stage's list has {value['first_stage']:.4g}." in told
    assert "evidence only if the fit has not seen these rows" in told and "were not recomputed here" in told
    low, high = map(float, re.search(r"interval goes from (\S+) to (\S+), by", told).groups())
    est, lead = load(model), value["value"] - value["first_stage"]
    tops = (set(np.argsort(-scores)[:8].tolist()) for scores in (est.list_scores(X), est.first_stage_scores(X)))
    apart = y[list(set.symmetric_difference(*tops))].sum()  # hits that only one of the two has [McNemar1947]
    assert (low, high) == pytest.approx((lead - 1.96 * apart**0.5, lead + 1.96 * apart**0.5), rel=1e-3)
    assert f"the lead over the first stage is {lead:+.4g}, 95 % interval {low:+.3g} to {high:+.3g}: evidence" in told


def test_rows_without_labels_and_rows_that_are_all_relevant_or_none_is(model):
    X, y = drawn(2)
    for labels, said in (
        (None, "The table has no labels, so the list cannot be judged by it."),
        (0 * y, "The table has no relevant row"),
        (0 * y + 1, "precision@8 of this list is 8."),
    ):
        write("rows.csv", X, labels)
        run("report", model, "rows.csv")
        assert said in read()


def listed(path="report.html"):
    """The rows of the list by the names of its columns."""
    cells = re.search(r"<h2>The list</h2><table.*?</table>", Path(path).read_text(), re.DOTALL)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr.*?</tr>", cells)]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def moves(cell):
    """Names and numbers beside a row."""
    return [(name, float(added)) for name, added in (one.rsplit("\N{NO-BREAK SPACE}", 1) for one in cell.split(", "))]


def test_the_answer_comes_first_then_the_list_and_the_rest_is_folded(model):
    X, y = drawn(1)
    write("new.csv", X, y)
    run("report", model, "new.csv")
    page = Path("report.html").read_text()
    order = [
        "<h1>Which 8 of 90 rows should be looked at first?</h1>",
        "<b>The first 8 places hold ",
        "On these rows the lead over the first stage is ",
        "On the rows of the fit",
        "<svg",
        "<h2>The list</h2>",
        "<h2>How it was made, judged and checked</h2>",
        "<summary>How good it is on these rows",
        "<summary>What changed",
        "<summary>What held-out rows say",
        "<summary>What was proved",
        "<summary>Certificate",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    headings = answer(run("report", model, "new.csv", "--json"))["sections"]
    assert headings[0] == "Which 8 of 90 rows should be looked at first?" and headings[1:] == [
        "The list",
        "How it was made, judged and checked",
    ]
    assert page[places[6] :].count("<details>") == page.count("</details>") == 5
    assert page[places[6] + len(order[6]) :].startswith("<details>") and page.endswith("</details></body></html>\n")


def test_the_picture_counts_what_the_answer_counts(model):
    """By slices of the sorted rows; a random order by its share."""
    X, y = drawn(1)
    write("new.csv", X, y)
    run("report", model, "new.csv")
    est, told, page = load(model), read(), Path("report.html").read_text()
    here, first = (
        int(y[np.lexsort((y, -scores))[:8]].sum()) for scores in (est.list_scores(X), est.first_stage_scores(X))
    )
    chance = f"{8 * y.mean():.1f}".removesuffix(".0")
    assert (
        f"The first 8 places hold {here} of {int(y.sum())} relevant rows; those of the first stage's list {first}, "
        f"of a random order {chance}." in told
    )
    for name, value in (("this list", here), ("the first stage's list", first), ("a random order", chance)):
        assert f">{escape(name)}: {value} by place 8<" in page
    assert ">a perfect list: 8 by place 8<" in page


NAMES = {"a": 0, "b": 1, escape("<scrip\N{HORIZONTAL ELLIPSIS}cript>"): 2}


def check_moves(told, expected):
    """Each of three columns to two digits, the largest first."""
    assert [NAMES[name] for name, _ in told] == np.argsort(-np.abs(expected), kind="stable").tolist()
    assert [added for _, added in told] == pytest.approx([expected[NAMES[name]] for name, _ in told], rel=0.051)


def test_the_columns_beside_a_row_are_what_moved_it(folder):
    """By slopes of the score that the estimator gives, less those of the first stage's."""
    X, y = drawn(0)
    ids = np.array([f"person {k}" for k in range(y.size)], dtype=object)
    write("train.csv", X, y, ids)
    options = ["--label=hit", "--id=id", "--stat=precision@8", "--radius=0.3", "--solver=search", "--candidates=0"]
    run("fit", "train.csv", "--free", "--model", "m.json", *options, code=None)
    run("report", "m.json", "train.csv")
    est = load("m.json")
    moved = est.decision_function(X) - est.first_stage_scores(X)
    slopes = np.linalg.lstsq(np.column_stack([X, np.ones(y.size)]), moved, rcond=None)[0][:3]
    first = np.argsort(np.argsort(-est.first_stage_scores(X), kind="stable")) + 1
    rows = listed()
    assert len(rows) == 13
    for place, row in enumerate(rows, 1):
        k = ids.tolist().index(row["id"])
        assert (int(row["place"]), int(row["before"])) == (place, first[k]) and bool(row["relevant"]) == bool(y[k])
        assert float(row["score"]) == pytest.approx(est.decision_function(X)[k], abs=1e-3)
        check_moves(moves(row["moved most by"]), (X[k] - X.mean(axis=0)) * slopes)


@pytest.mark.parametrize(
    ("extra", "heading"),
    [
        (["--first-stage=none", "--epsilon=0.01"], "moved most by"),
        (["--candidates=30"], "moved most by"),
        (["--radius=0"], "score most due to"),
    ],
)
def test_columns_of_free_weights_and_of_a_first_stage_that_is_kept(folder, extra, heading):
    """Means are over the rows that are reranked, and scores differ as what the contributions add up to."""
    X, y = drawn(0)
    write("train.csv", X, y)
    options = ["--free", "--label=hit", "--stat=precision@8", "--solver=search", "--time-limit=5", *extra]
    run("fit", "train.csv", "--model", "m.json", *options, code=None)
    run("report", "m.json", "train.csv")
    est = load("m.json")
    parts, first = est.contributions(X), est.first_stage_scores(X)
    head = np.ones(y.size, dtype=bool) if first is None or not est.reranks_ else first >= est.threshold_
    best = int(listed()[0]["row"])
    for row in listed():
        k, score = int(row["row"]), est.decision_function(X)
        assert head[k] and float(row["score"]) == pytest.approx(score[k], rel=2e-3, abs=1e-3)  # as rerank rank says
        assert score[best] - score[k] == pytest.approx(parts[best].sum() - parts[k].sum(), rel=1e-9, abs=1e-9)
        check_moves(moves(row[heading]), (parts[k] - parts[head].mean(axis=0))[:3])
        assert ("before" in row) == (est.reranks_ and first is not None)


def test_rows_below_the_shortlist_have_the_first_stage_s_score_and_no_columns(folder):
    X, y = drawn(2)
    write("train.csv", X, y)
    options = ["--free", "--label=hit", "--stat=dcg@8", "--solver=search", "--candidates=10", "--time-limit=5"]
    run("fit", "train.csv", "--model", "m.json", *options, code=None)
    run("report", "m.json", "train.csv")
    first, below = load("m.json").first_stage_scores(X), listed()[10:]
    assert len(below) == 3 and [row["moved most by"] for row in below] == [""] * 3
    assert [float(row["score"]) for row in below] == pytest.approx(np.sort(first)[::-1][10:13], abs=1e-3)
    assert "none for rows below the shortlist" in read()


def test_without_labels_the_page_says_how_much_of_the_first_stage_s_list_is_left(model):
    X, _ = drawn(2)
    write("rows.csv", X, None)
    run("report", model, "rows.csv")
    est, told = load(model), read()
    both = len(set(est.top(X, 8).tolist()) & set(np.argsort(-est.first_stage_scores(X), kind="stable")[:8].tolist()))
    assert f"Of the 8 rows in the first 8 places the first stage's list has {both} there, too." in told
    assert f">shared: {both} by place 8<" in Path("report.html").read_text() and "moved most by" in told


def test_a_page_of_many_rows_is_no_larger_than_one_of_few(model):
    rng, sizes = np.random.default_rng(0), []
    for n in (2_000, 100_000):
        X = rng.normal(size=(n, 3))
        write("many.csv", X, (X[:, 0] > 1).astype(float), np.array([f"row {k:06}" for k in range(n)], dtype=object))
        run("report", model, "many.csv", "--id", "id")
        sizes.append(Path("report.html").stat().st_size)
        assert len(listed()) == 13 and read()
    assert sizes[1] < sizes[0] + 1_000 < 40_000


def test_nothing_of_the_data_is_read_as_html(model):
    X, y = drawn(3)
    write("evil.csv", X, y, ids=np.array([f"{EVIL}{k}" for k in range(y.size)], dtype=object))
    run("report", model, "evil.csv", "--id", "id")
    assert f"{EVIL}{np.argmax(X[:, 0] + X[:, 1])}" in read()


def test_lists_are_drawn_anew_as_wholes(folder):
    X, y = drawn(5)
    qid = np.array([f"q{k % 6}" for k in range(y.size)], dtype=object)
    write("lists.csv", X, y, qid=qid)
    options = ["--label=hit", "--qid=qid", "--free", "--stat=ndcg@3", "--solver=search", "--time-limit=5"]
    run("fit", "lists.csv", "--model", "m.json", *options, code=None)
    X, y = drawn(6)
    write("more.csv", X, y, qid=qid)
    run("report", "m.json", "more.csv")
    told = read()
    assert "The best 8 of each list, in the order of their names: 48 of 90 rows." in told
    assert "in 6 lists" in told and "by paired differences of lists" in told


def test_missed_items_and_weights_count_for_both_orders(folder):
    """The lead is the difference of what ``rerank score`` says of both."""
    X, y = drawn(7)
    qid = np.array([f"q{k % 5}" for k in range(y.size)], dtype=object)
    for name in ("old.csv", "new.csv"):
        weights = np.linspace(0.5, 2.0, y.size)
        ideal = {"q0": (1.0, 1.0), "q3": (1.0,)}
        write_csv(name, Table(X, y, qid, None, ("a", "b", "c"), weights, ideal), label="hit")
    options = ["--label=hit", "--qid=qid", "--weight=weight", "--stat=ndcg@3", "--solver=search", "--time-limit=5"]
    run("fit", "old.csv", "--free", "--model", "m.json", *options, code=None)
    run("report", "m.json", "new.csv", "--weight", "weight")
    value = answer(run("score", "m.json", "new.csv", "--weight", "weight", "--json"))
    ours, first = f"{value['value']:.4g}", f"{value['first_stage']:.4g}"
    assert f"ndcg@3 of this list is {ours}. The first stage's list has {first}." in read()


def test_rows_on_which_the_statistic_is_not_defined(folder, recwarn):
    X, y = drawn(0)
    write("old.csv", X, y)
    run("fit", "old.csv", "--label", "hit", "--model", "m.json", "--stat=auc", "--free", "--radius=0", code=None)
    write("same.csv", X, np.ones(y.size))
    recwarn.clear()
    run("report", "m.json", "same.csv")
    assert "No auc is defined on these rows: they hold nothing to order." in read() and not recwarn.list


def changed(path, **entries):
    """The model with other entries of its evidence, as a forger writes it."""
    body = model_file.to_dict(model_file.read(path))
    body["result"] |= {f"evidence.{name}": value for name, value in entries.items()}
    Path("forged.json").write_text(json.dumps(signed(body)))
    return "forged.json"


def test_what_held_out_rows_said_is_in_the_file_and_on_the_page(chosen):
    found = load(chosen).result_.evidence
    n = len(found.options)
    assert n == 11 and found.options[0] == "logistic+squares" and "radius 0.03" in found.options
    assert (found.folds, found.rounds, found.statistic) == (3, 2, "precision@8")
    run("report", chosen, "train.csv")
    told = read()
    assert f"{n} options were tried" in told and "Held-out rows of 3 folds" in told and found.reason in told
    for number, (value, lead) in enumerate(zip(found.values, found.leads)):
        low, high = found.interval(number)
        row = f"{found.options[number]} {value:.4g} {lead:+.4g} {low:+.3g} to {high:+.3g}"
        assert row in told and " ".join(row.split()) in " ".join(found.report().split())
        assert high - lead == pytest.approx(1.96 * found.errors[number])
    assert found.ending.replace(" (*)", "") in told and "Taken as given from the model file; the fits" in told
    assert Path("report.html").read_text().count("<svg") == 2
    assert len(found.plot().get_yticklabels()) == n
    load(chosen).save("again.json")
    assert Path("again.json").read_text() == Path(chosen).read_text()
    assert answer(run("verify", chosen, "train.csv", "--json", code=None))["holds"]


def test_the_number_of_held_out_rows_leads_everywhere(chosen):
    """In print, on the page, below the list and over the picture; what is of the rows of the fit says so."""
    est = load(chosen)
    found, (X, y) = est.result_.evidence, drawn(0)
    value = found.first_stage if found.chosen is None else found.values[found.chosen]
    assert found.expected == value
    answer_said, rest = str(describe(est)).splitlines()[1], describe(est).on_fit
    assert "n held-out rows " in answer_said and f"finds {value:.4g} relevant rows" in answer_said
    assert "n the rows of the fit " in rest and f"finds {est.result_.statistic:.4g} of the " in rest
    assert run("rank", chosen, "train.csv").stdout.splitlines()[-1] == answer_said
    assert f"{value:.4g}" in run("score", chosen, "train.csv").stdout.splitlines()[-1]
    run("report", chosen, "train.csv")
    strong = re.findall(r"<b>(.*?)</b>", Path("report.html").read_text())
    screen = read().partition("The list")[0]
    assert strong[0] == answer_said and screen.count(rest) == 1 and "On these rows" not in screen
    assert "relevant rows found, on the rows of the fit" in Path("report.html").read_text()
    pytest.importorskip("matplotlib").use("Agg")
    assert est.plot(X, y).get_title().endswith(f"{value:.4g}")


def test_a_trivial_bound_is_no_finding():
    X, y = drawn(2)
    est = Reranker("precision@20", radius=0.3, solver="search", node_limit=0).fit(X, y)
    assert est.result_.bound >= 20 > est.result_.statistic
    assert "nothing was proved" in describe(est).answer and "have more" not in describe(est).answer
    assert "Nothing was proved" in est.audit(0.0) and "none above" not in est.audit(0.0)


def test_a_column_that_is_the_label_is_said_on_the_first_screen(folder):
    X, y = drawn(0)
    write("train.csv", np.column_stack([X[:, :2], 2 * y]), y)
    own = ("--label=hit", "--stat=precision@8", "--free", "--radius=0", "--solver=search", "--model=m.json")
    run("fit", "train.csv", *own, code=None)
    run("report", "m.json", "train.csv")
    assert "is the label again" in read().partition("The list")[0]


def test_a_model_without_folds_says_so(model):
    run("report", model, "train.csv")
    assert "holds no held-out evidence: fit without --free" in read() and load(model).result_.evidence is None


def test_nothing_of_the_evidence_is_read_as_html_or_as_a_formula(chosen):
    for name in (EVIL, "--><b>", "$\\frac{$", "a" * 100, "&lt;"):
        run("report", changed(chosen, **{"options.0": name}), "train.csv")
        assert name in read()
    huge = {"hex": (1e300).hex()}
    run("report", changed(chosen, **{"leads.0": huge, "errors.0": huge}), "train.csv")
    assert "+1e+300" in read()
    tried = load(chosen).result_.evidence.tried - 1
    run("report", changed(chosen, **dict.fromkeys(("leads.0", "errors.0", "values.0")), tried=tried), "train.csv")
    assert "not tried: the time was over" in read()


@pytest.mark.parametrize(
    "entries",
    [
        {"options.0": "a\nb"},
        {"options.0": "x" * 101},
        {"chosen": 99},
        {"leads.77": None},
        {"more": 1},
        {"errors.0": {"hex": (-1.0).hex()}},
        {"chosen": 5, "values.5": None},
        {"values.0": {"hex": "inf"}},
        {"first_stage": None, "chosen": None},
        {"chosen": 5, "rivals.5": True},
        {"list_length": 0},
    ],
)
def test_evidence_that_no_choice_writes_is_refused(chosen, entries):
    said = run("report", changed(chosen, **entries), "train.csv", code=2).stderr
    assert "The model's " in said and "cannot be used" in said and "Traceback" not in said


def test_evidence_of_earlier_versions_is_read_as_none(chosen):
    """They judged by other numbers, which no word of today would describe."""
    body = model_file.to_dict(model_file.read(chosen))
    result = {name: value for name, value in body["result"].items() if not name.startswith("evidence.")}
    numbers = {"leads.0": 0.5, "errors.0": 0.25, "means.0": 4.5, "first_stage": 4.0, "safeguard": 1.0}
    old = {"options.0": "radius 0.03", "judge": "window8@8", "chosen": None, "rule": "mean", "folds": 6, "tried.0": 6}
    old |= {"fit_keeps": False, **{name: {"hex": value.hex()} for name, value in numbers.items()}}
    body["result"] = result | {f"evidence.{name}": value for name, value in old.items()}
    Path("old.json").write_text(json.dumps(signed(body)))
    assert load("old.json").result_.evidence is None
    run("report", "old.json", "train.csv", code=None)
    assert "holds no held-out evidence" in read()


def test_a_choice_that_contradicts_the_file_is_noticed(chosen):
    found = load(chosen).result_.evidence
    other = {"chosen": None} if found.chosen is not None else {"chosen": 0}
    report = answer(run("verify", changed(chosen, **other), "train.csv", "--json", code=None))
    assert not report["holds"]  # the message says who kept what


def test_a_page_on_rows_of_the_fit_whose_digest_was_altered_says_so_and_ends_with_5(model):
    body = model_file.to_dict(model_file.read(model))
    for field in ({"data_sha256": "0" * 64}, {"result": body["result"] | {"certificate.data_sha256": "0" * 64}}):
        body |= field
        Path("forged.json").write_text(json.dumps(signed(body)))
        said = run("report", "forged.json", "train.csv", code=5).stderr
        assert "The files contradict each other" in said and "data_sha256" in said
        assert "These do not hold:" in read() and "data_sha256" in read()


def described(bound, source="search", hits=True, **options):
    """What is said of a fit of precision@5 with the value 3, if this were its bound."""
    X, y = drawn(9, 40)
    est = Reranker("precision@5", first_stage=None, solver="search", **options).fit(X, y)
    result = replace(est.result_, value=3.0, statistic=3.0, bound=bound, bound_source=source, bound_solver=None)
    return describe(replace(est.state_, result=result, binary=hits))


def test_a_bound_in_words():
    n, told = int(drawn(9, 40)[1].sum()), described(4.5)
    assert told.answer == (
        f"On the rows of the fit the new order finds 3 of the {n} relevant rows in its first 5; no such weights have "
        "more than 4."
    )
    assert told.asked == (
        f"Asked: order 40 rows, {n} of them relevant, by precision@5: the best weights of these 3 columns.",
    )
    assert told.proof[0].startswith("Stopped with a gap of 1.5 in precision@5")
    assert described(4.5, hits=False).answer == (
        "On the rows of the fit the new order has a precision@5 of 3; no such weights have more than 4.5."
    )
    assert described(3.0).answer.endswith("; no such weights have more.")
    assert described(3.0).proof[0].startswith("Proved optimal (by the search): no weights of these 3 columns have a")
    # A solver's bound may be a rounding too small, and is told as its word.
    word = described(3.9999999, "solver")
    assert word.answer.endswith("; on the word of a solver no such weights have more than 4.")
    # Five places hold no more than five: that is no finding.
    assert described(5.0).answer.endswith(
        "in its first 5; nothing was proved, since the bound is that of the ideal list."
    )
    limited = described(4.5, max_features=2, positive=True)
    assert "(of at most 2 columns at a time, with the signs that were asked for)" in limited.asked[0]
    assert "have more than 4.001." in described(4.00000049, hits=False).answer  # never below itself
    assert "have more than 4." in described(4.0 + 1e-12, hits=False).answer
    for said in (described(4.5, C=0.01), described(2.5)):  # with a penalty or a margin it is no bound of hits
        assert said.answer == f"On the rows of the fit the new order finds 3 of the {n} relevant rows in its first 5."


def test_names_of_options_are_kept_on_one_line():
    assert one_line("a\n  b\x00") == "a b?" and len(one_line("x" * 500)) == 100
    with pytest.raises(ValueError, match="missing or unknown"):
        evidence_of({}, "auc")


def test_score_draws_the_list(model):
    said = run("score", model, "train.csv", "--plot", "gain.png").stderr
    assert Path("gain.png").read_bytes()[:4] == b"\x89PNG" and "Drawn to gain.png." in said


def test_rank_draws_what_was_found_or_what_lifts_the_first_rows(model, monkeypatch):
    pytest.importorskip("matplotlib")
    from rerank import plots

    seen = []
    for name in ("cumulative_gain", "contributions"):
        own = getattr(plots, name)
        told = lambda *given, own=own, **rest: seen.append((own, given)) or own(*given, **rest)  # noqa: E731
        monkeypatch.setattr(plots, name, told)
    done = run("rank", model, "train.csv", "--plot", "gain.svg", "--json")
    assert answer(done)["n_rows"] == 90 and "Drawn to gain.svg." in done.stderr
    _, y = drawn(0)
    assert seen[0][0].__name__ == "cumulative_gain" and seen[0][1][0].tolist() == (y > 0).tolist()
    frame = pd.read_csv("train.csv")
    for table in (frame.drop(columns="hit"), frame.assign(hit="")):
        table.to_csv("new.csv", index=False)
        said = run("rank", model, "new.csv", "--plot", "why.png", "--top", 4).stderr
        assert "Drawn to why.png." in said and ("without labels" in said) == ("hit" in table)
        (rows_shown, columns, values), own = seen[-1][1], seen[-1][0]
        assert own.__name__ == "contributions" and values.shape == (4, len(columns))
        assert (np.diff(values.sum(axis=1)) <= 1e-12).all() and len(set(rows_shown)) == 4

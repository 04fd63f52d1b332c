"""``rerank report``: what the page says, that it is whole and inert, and what is refused."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rerank.io import Table, write_csv
from tests.cli.test_cli import folder, run  # noqa: F401

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


@pytest.fixture
def model(folder):  # noqa: F811
    X, y = drawn(0)
    write("train.csv", X, y)
    options = ["--stat=precision@8", "--radius=0.1", "--margin=0.05", "--solver=search", "--candidates=0"]
    run("fit", "train.csv", "--label", "hit", "--model", "m.json", *options, code=None)
    return "m.json"


def read(path="report.html"):
    with open(path) as file:
        text = file.read()
    page = Checked()
    page.feed(text)
    assert page.open == [] and text.startswith("<!DOCTYPE html>")
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|http-equiv', "", text)
    return " ".join(" ".join(page.texts).split())


def test_rows_of_the_fit_are_recomputed(model):
    run("report", model, "train.csv")
    told = read()
    found = json.loads(run("verify", model, "train.csv", "--json", code=None).stdout)
    outcome = "Everything stated holds." if found["complete"] else "All that could be checked holds."
    assert found["holds"] and f"{len(found['checks'])} claims were recomputed from these rows. {outcome}" in told
    assert "which says little about rows to come" in told and "The first 8 places count" in told


def test_new_rows_have_a_lead_with_its_interval(model):
    X, y = drawn(1)
    write("new.csv", X, y)
    run("report", model, "new.csv", "-o", "new.html")
    told = read("new.html")
    value = json.loads(run("score", model, "new.csv", "--json").stdout)
    assert f"precision@8 of this list is {value['value']:.4g}." in told
    assert f"The first stage's list has {value['first_stage']:.4g}." in told
    assert "evidence only if the fit has not seen these rows" in told and "were not recomputed here" in told
    low, high = map(float, re.search(r"interval goes from (\S+) to (\S+) \(", told).groups())
    assert low <= value["value"] - value["first_stage"] <= high


def test_rows_without_labels(model):
    X, _ = drawn(2)
    write("blank.csv", X, None)
    run("report", model, "blank.csv")
    assert "The table has no labels, so the list cannot be judged by it." in read()


def test_nothing_of_the_data_is_read_as_html(model):
    X, y = drawn(3)
    write("evil.csv", X, y, ids=np.array([f"{EVIL}{k}" for k in range(y.size)], dtype=object))
    run("report", model, "evil.csv", "--id", "id")
    assert f"{EVIL}{np.argmax(X[:, 0] + X[:, 1])}" in read()


def test_the_order_is_that_of_rank(model):
    X, y = drawn(4)
    write("new.csv", X, y)
    run("report", model, "new.csv")
    with open("report.html") as file:
        shown = re.findall(r"<td class=n>\d+</td><td>(\d+)</td>", file.read())
    ranked = json.loads(run("rank", model, "new.csv", "--json", "--top", "13").stdout)["rows"]
    assert shown == [row["id"] for row in ranked]


def test_lists_are_drawn_anew_as_wholes(folder):  # noqa: F811
    X, y = drawn(5)
    qid = np.array([f"q{k % 6}" for k in range(y.size)], dtype=object)
    write("lists.csv", X, y, qid=qid)
    options = ["--label=hit", "--qid=qid", "--stat=ndcg@3", "--solver=search", "--time-limit=5"]
    run("fit", "lists.csv", "--model", "m.json", *options, code=None)
    X, y = drawn(6)
    write("more.csv", X, y, qid=qid)
    run("report", "m.json", "more.csv")
    told = read()
    assert "The best 8 of each list, in the order of their names: 48 of 90 rows." in told
    assert "in 6 lists" in told and "the lists drawn anew 1000 times" in told


def test_missed_items_and_weights_count_for_both_orders(folder):  # noqa: F811
    """The lead is the difference of what ``rerank score`` says of both."""
    X, y = drawn(7)
    qid = np.array([f"q{k % 5}" for k in range(y.size)], dtype=object)
    for name in ("old.csv", "new.csv"):
        weights = np.linspace(0.5, 2.0, y.size)
        ideal = {"q0": (1.0, 1.0), "q3": (1.0,)}
        write_csv(name, Table(X, y, qid, None, ("a", "b", "c"), weights, ideal), label="hit")
    options = ["--label=hit", "--qid=qid", "--weight=weight", "--stat=ndcg@3", "--solver=search", "--time-limit=5"]
    run("fit", "old.csv", "--model", "m.json", *options, code=None)
    run("report", "m.json", "new.csv", "--weight", "weight")
    value = json.loads(run("score", "m.json", "new.csv", "--weight", "weight", "--json").stdout)
    ours, first = f"{value['value']:.4g}", f"{value['first_stage']:.4g}"
    assert f"ndcg@3 of this list is {ours}. The first stage's list has {first}." in read()


def test_rows_on_which_the_statistic_is_not_defined(folder, recwarn):  # noqa: F811
    X, y = drawn(0)
    write("old.csv", X, y)
    run("fit", "old.csv", "--label", "hit", "--model", "m.json", "--stat=auc", "--radius=0", code=None)
    write("same.csv", X, np.ones(y.size))
    recwarn.clear()
    run("report", "m.json", "same.csv")
    assert "No auc is defined on these rows: they hold nothing to order." in read() and not recwarn.list


def test_rows_that_are_all_relevant_or_none_is(model):
    X, y = drawn(8)
    for label, said in ((0.0, "The table has no relevant row"), (1.0, "precision@8 of this list is 8.")):
        write("same.csv", X, np.full(y.size, label))
        run("report", model, "same.csv")
        assert said in read()


@pytest.mark.parametrize(
    ("given", "said"),
    [(("train.csv", "-o", "report.txt"), "let it end in .html"), (("none.csv",), "Cannot read none.csv")],
)
def test_what_is_refused(model, given, said):
    assert said in " ".join(run("report", model, *given, code=2).stderr.split())


def test_score_draws_the_list(model):
    said = run("score", model, "train.csv", "--plot", "gain.png").stderr
    with open("gain.png", "rb") as file:
        assert file.read(4) == b"\x89PNG" and "Drawn to gain.png." in said
    refused = run("score", model, "train.csv", "--plot", "gain.txt", code=2).stderr
    assert "names no kind of picture" in refused


def test_rank_draws_what_was_found_or_what_lifts_the_first_rows(model, monkeypatch):
    pytest.importorskip("matplotlib")
    from rerank import plots

    seen = []
    for name in ("cumulative_gain", "contributions"):
        own = getattr(plots, name)
        told = lambda *given, own=own, **rest: seen.append((own, given)) or own(*given, **rest)  # noqa: E731
        monkeypatch.setattr(plots, name, told)
    done = run("rank", model, "train.csv", "--plot", "gain.svg", "--json")
    assert json.loads(done.stdout)["n_rows"] == 90 and "Drawn to gain.svg." in done.stderr
    X, y = drawn(0)
    assert seen[0][0].__name__ == "cumulative_gain" and seen[0][1][0].tolist() == (y > 0).tolist()
    with open("train.csv", newline="") as file:
        head, *lines = csv.reader(file)
    where = head.index("hit")
    for name, label in (("new.csv", None), ("blank.csv", "")):
        kept = [] if label is None else ["hit"]
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows(
                [[*line[:where], *last, *line[where + 1 :]]
                 for line, last in [(head, kept), *((line, kept and [label]) for line in lines)]]
            )  # fmt: skip
        said = run("rank", model, name, "--plot", "why.png", "--top", 4).stderr
        assert "Drawn to why.png." in said and ("without labels" in said) == (label == "")
        (rows_shown, columns, values), own = seen[-1][1], seen[-1][0]
        assert own.__name__ == "contributions" and values.shape == (4, len(columns))
        assert (np.diff(values.sum(axis=1)) <= 1e-12).all() and len(set(rows_shown)) == 4
    write("lists.csv", X, y, qid=np.repeat(["q", "r"], 45))
    assert "--plot draws one list" in run("rank", model, "lists.csv", "--qid", "qid", "--plot", "l.png", code=2).stderr

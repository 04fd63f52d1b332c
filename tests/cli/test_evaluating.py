"""``rerank evaluate``: what it prints, what its JSON holds, and what it refuses."""

from pathlib import Path

import pytest

from tests.cli.commands import answer, run

QRELS = "1 0 a 2\n1 0 b 1\n1 0 lost 1\n2 0 a 1\n3 0 a 0\n"
BASE = "1 Q0 a 1 3.0 t\n1 Q0 c 2 3.0 t\n1 Q0 b 3 1 t\n9 Q0 b 1 1 t\n"
NEW = "1 Q0 a 1 5.0 t\n1 Q0 c 2 3.0 t\n1 Q0 b 3 1 t\n2 Q0 a 1 3.0 t\n"


@pytest.fixture
def files(folder):
    for name, text in (("q.txt", QRELS), ("a.run", BASE), ("b.run", NEW)):
        Path(name).write_text(text)


def test_a_table_and_the_lead_over_the_first_run(files):
    done = run("evaluate", "a.run", "new=b.run", "q.txt", "--measures", "rr,recall@2")
    lines = done.stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["measure", "a", "new"],
        ["rr", "0.1667", "0.6667"],
        ["recall@2", "0.1111", "0.4444"],
    ]
    assert lines[4].split() == ["rr", "+0.5000", "+-", "1.2421", "2", "won,", "0", "lost"]
    assert "a has nothing for 2 of 3 judged queries, which count 0." in done.stderr
    assert "a has 1 queries without a judgement, which do not count." in done.stderr


def test_mrr_is_that_of_the_field_and_said_to_be(files):
    Path("two.txt").write_text("1 0 c 1\n1 0 b 1\n")
    done = run("evaluate", "a.run", "two.txt", "--measures", "mrr,rr,mrr@1")
    assert done.stdout.split()[2:] == ["mrr", "1.0000", "rr", "1.0000", "mrr@1", "1.0000"]
    assert "mrr is rr here" in done.stderr and "the statistic mrr of a fit is the sum" in done.stderr
    assert "mrr" not in run("evaluate", "a.run", "two.txt", "--measures", "rr").stderr


def test_files_come_in_any_of_the_ways_of_fuse(files):
    wanted = run("evaluate", "a.run", "new=b.run", "q.txt").stdout
    for given in (
        ["--run", "a=a.run", "--run", "new=b.run", "q.txt"],
        ["a.run", "new=b.run", "--qrels", "q.txt"],
        ["a.run", "--run", "new=b.run", "--qrels", "q.txt"],
    ):
        assert run("evaluate", *given).stdout == wanted
    swapped = run("evaluate", "q.txt", "a.run", code=2).stderr
    assert "a.run, line 1: there are 6 columns, not 4; this looks like a run" in swapped and "exchange" in swapped


def test_scores_are_doubles_or_single_as_in_trec_eval_9(files):
    Path("close.run").write_text("1 Q0 a 1 .900000001 t\n1 Q0 b 2 .900000000 t\n")
    Path("one.txt").write_text("1 0 a 1\n")
    values = [
        run("evaluate", "close.run", "one.txt", "--measures", "recip_rank", *more).stdout.split()[-1]
        for more in ([], ["--precision", "single"], ["--precision", "double"])
    ]
    assert values == ["1.0000", "0.5000", "1.0000"]


def test_a_file_may_have_an_equals_sign_in_its_name(files):
    for name in ("k=0.9.run", "new=b.run"):
        Path(name).write_text(BASE)
    assert run("evaluate", "k=0.9.run", "q.txt", "--measures", "rr").stdout.split()[:2] == ["measure", "k=0.9"]
    done = run("evaluate", "new=b.run", "q.txt", "--measures", "rr")  # NAME=FILE where there is such a file
    assert done.stdout.split() == ["measure", "new", "rr", "0.6667"]


def test_names_are_printed_as_they_are_and_whole(files):
    names = ["[/x]", "k[red]", *(f"a long name of a run, number {number}" for number in range(8))]
    done = run("evaluate", *(f"{name}=a.run" for name in names), "q.txt", "--measures", "rr")
    head, values = done.stdout.splitlines()[:2]
    assert head.split("  ")[0].strip() == "measure" and all(name in head for name in names)
    assert values.split() == ["rr", *["0.1667"] * len(names)]
    assert "k[red] against [/x], mean over 3 queries:" in done.stdout


def test_one_query_has_no_interval_and_scores_beyond_single_precision_no_warning(files, recwarn):
    Path("one.txt").write_text("1 0 a 2\n")
    Path("large.run").write_text("1 Q0 a 1 1e300 t\n1 Q0 c 2 -1e300 t\n")
    done = run("evaluate", "a.run", "large.run", "one.txt", "--measures", "rr")
    assert done.stdout.splitlines()[-1].split() == ["rr", "+0.5000", "1", "won,", "0", "lost"]
    assert "nan" not in done.stdout and "interval" not in done.stdout and not recwarn.list


def test_every_query_and_json(files):
    done = run("evaluate", "a.run", "q.txt", "--measures", "rr", "--per-query")
    assert "a\t1\t0.500000" in done.stdout and "a\t3\t0.000000" in done.stdout
    body = answer(run("evaluate", "a.run", "b.run", "q.txt", "--json", "--per-query"))
    assert body["base"] == "a" and body["n_queries"] == 3
    assert body["queries"]["b"]["2"]["ndcg@10"] == 1.0
    ahead = body["ahead"]["b"]["ap"]
    assert ahead["mean"] == pytest.approx(body["runs"]["b"]["ap"] - body["runs"]["a"]["ap"])

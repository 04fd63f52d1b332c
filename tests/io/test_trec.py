import gzip

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.fusion import FusionModel, ScoreFusion
from rerank.io import Run, fuse, read_qrels, read_run, trec, write_qrels, write_run
from rerank.io.fusion import join
from rerank.io.table import words
from rerank.ranks.runs import run_values
from tests.cases.refuses import refuses

RUN = "q1 Q0 d1 1 3.5 sys\nq1 Q0 d2 9 -1e-3 sys\n\nq2 Q0 d1 1 7 sys\n"
QRELS = "q1 0 d1 0\nq1 0 d3 2\nq2 0 d1 1\nq3 0 d9 1\nq1 0 d2 -1\n"


def test_a_run_and_judgements_are_read_as_they_stand(file):
    run = read_run(file(RUN))
    assert run.qid.tolist() == ["q1", "q1", "q2"] and run.docid.tolist() == ["d1", "d2", "d1"]
    assert run.score.tolist() == [3.5, -0.001, 7] and run.tag == "sys"
    qrels = read_qrels(file(QRELS))
    assert qrels.grade.tolist() == [0, 2, 1, 1, -1] and qrels.docid.tolist() == ["d1", "d3", "d1", "d9", "d2"]


BAD_RUNS = [
    ("", "is empty"),
    ("q1 Q0 d1 1 3.5\n", "line 1: there are 5 columns, not 6"),
    ("q1 Q0 d1 1 x sys\n", "line 1: column 'score' holds 'x'"),
    ("q1 Q0 d1 1 nan sys\n", r"line 1: column 'score' has no value \('nan'\)"),
    ("q1 Q0 d1 1 3 s\nq1 Q0 d1 2 2 s\n", "line 2: the document 'd1' of query 'q1' already stands in line 1"),
    (b"q1 Q0 \xff 1 3 s\n", "line 1: the text is not UTF-8"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_RUNS)
def test_a_bad_run_is_one_sentence_with_its_place(file, text, sentence):
    refuses(sentence, read_run, file(text))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("q1 d1\n", "line 1: there are 2 columns, not 4"),
        ("q1 d1 1\nq1 d2\n", "line 2: there are 2 columns, and 3 in the lines above"),
        ("q1 d1 0.5\n", "is not a whole number up to 1000; correct it, or exchange the files if this is a run"),
        ("q1 Q0 d1 1 2.5 t\n", "line 1: there are 6 columns, not 4; this looks like a run, .*; exchange the files"),
        ("# q\n\nq1 0 d1 1\nq1 0 d2 1 5\n", "line 4: there are 5 columns, not 4"),
        ("q1 0 d1 1e9\n", "line 1: the grade '1e9' is not a whole number up to"),
        ("q1 0 d1 1\nq1 0 d1 1\n", "line 2: the document 'd1'"),
    ],
)
def test_bad_judgements_are_one_sentence_with_their_place(file, text, sentence):
    refuses(sentence, read_qrels, file(text))


def test_three_columns_names_of_columns_and_remarks_are_read(file):
    beir = read_qrels(file("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n", "beir.tsv"))
    assert (beir.qid.tolist(), beir.docid.tolist(), beir.grade.tolist()) == (["q1", "q1"], ["d1", "d2"], [2, 0])
    named = read_qrels(file("query_id iteration doc_id relevance\nq1 0 d1 2.0\n", "named"))
    assert named.grade.tolist() == [2]
    plain = "q1 d1 2.5\nq1 d2 1\n"
    for text in (plain, "#q0 d 1\nq1\td1\t2.5\r\n\n  # d\nq1 d2 1", f"qid docno score\n{plain}"):
        run = read_run(file(text, "three"))
        assert (run.docid.tolist(), run.score.tolist(), run.tag) == (["d1", "d2"], [2.5, 1.0], "")
    assert read_run(file("q1 d1 1\nq2 d1 1\n", "one")).score.tolist() == [1, 1]


def test_numbers_that_count_are_ranks_and_that_reaches_whoever_reads_the_run(file):
    path = file("q1 d1 1\nq2 d1 1\nq1 d2 2\n", "ranks")
    run, scores = read_run(path), file("q1 d1 1\nq2 d1 1\nq1 d2 3\n", "scores")
    assert run.score.tolist() == [-1, -1, -2]  # the first place is the best
    assert read_run(scores).notes == ()
    (note,) = run.notes
    qrels = file("q1 0 d2 1\nq1 0 d1 0\nq2 0 d1 0\nq2 0 d2 1\n", "qrels")
    told = [
        run_values(path, qrels).notes,
        fuse({"a": run}).notes,
        ScoreFusion().fit({"a": path, "b": scores}, qrels).notes_,
        FusionModel(("a",), np.ones(1), "minmax").notes(join({"a": run})),
    ]
    assert all(note in notes for notes in told)


def test_a_packed_file_is_known_by_its_content(file):
    packed = gzip.compress(RUN.encode())
    assert read_run(file(packed, "a.run")).score.tolist() == [3.5, -0.001, 7]
    assert read_run(file(packed, "a.run.gz")).tag == "sys"


WORDS = st.one_of(
    st.sampled_from(["q1", "a", "#b", "é", "an-identifier-of-more-than-thirty-signs", "\x85", "\x1f"]),
    st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\v\f"), min_size=1),
)
NUMBERS = st.one_of(st.floats(-1e300, 1e300).map(repr), st.sampled_from(["1", "2.0", "-3", "1_0", "nan", "x", "1e999"]))
BREAKS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\n # remark\n", "\n#\n"])


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS, NUMBERS, WORDS, BREAKS), min_size=1),
    st.sampled_from([(0, 1, 2, 3, 4, 5), (0, 1, 2, 4), (0, 2, 4), (0, 2)]),
    st.sampled_from([" ", "\t", "  "]),
    st.booleans(),
)
def test_files_read_at_once_are_those_read_line_by_line(tmp_path_factory, lines, columns, blank, cut):
    path = tmp_path_factory.mktemp("twins") / "a"
    text = "".join(blank.join(line[k] for k in columns) + line[6] for line in lines)
    path.write_text(text.rstrip("\n") if cut else text, encoding="utf-8", newline="")

    def outcome(read):
        try:
            found = read(path)
        except InputError as error:
            return str(error)
        return [column.tolist() if hasattr(column, "tolist") else column for column in vars(found).values()]

    for read in (read_run, read_qrels):
        fast = outcome(read)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trec, "_at_once", lambda *given: None)
            assert outcome(read) == fast


def test_runs_become_the_features_of_one_table(file):
    one = read_run(file(RUN))
    two = read_run(file("q1 Q0 d2 1 8 b\nq1 Q0 d4 2 6 b\n", "b.run"))
    qrels = read_qrels(file(QRELS, "q"))
    table = fuse({"a": one, "b": two}, qrels)
    rows = dict(zip(zip(table.qid, table.ids), zip(table.X.tolist(), table.y)))
    assert rows == {
        ("q1", "d1"): ([3.5, 6], 0),
        ("q1", "d2"): ([-0.001, 8], 0),  # grade -1 counts as 0
        ("q1", "d4"): ([-0.001, 6], 0),  # not judged, lowest score of the run that lacks it
        ("q2", "d1"): ([7, 0], 1),  # the second run has nothing for q2
    }
    assert table.feature_names == ("a", "b")
    # What no run has counts in the ideal and is no row, also where a query has no row at all.
    assert table.ideal_gains == {"q1": (2.0,), "q3": (1.0,)}
    assert "2 relevant documents are in no run; they count in the ideal list" in table.notes[0]
    assert "1 judged queries have no document in any run, 'q3' first" in table.notes[1]
    without = fuse({"a": one, "b": two}, qrels, judged=False)
    assert len(without) == 4 and without.ideal_gains is None and "are left out of" in without.notes[0]
    assert fuse({"a": one}).y is None


def test_the_evaluators_of_the_field_read_our_files(tmp_path):
    """nDCG@3 of trec_eval (through ir_measures) is our order's, with ties and with ranks in place of scores."""
    rng = np.random.default_rng(5)
    qid = np.repeat(["q1", "q2", "q3"], 20)
    docid = np.array([f"d{i:02d}" for i in range(60)])
    score, grade = rng.integers(0, 4, 60).astype(float), rng.integers(0, 3, 60)
    ranks = np.concatenate([np.argsort(np.argsort(-rng.random(20))) + 1 for _ in range(3)])
    write_qrels(tmp_path / "q", qid, docid, grade)

    def by_hand(order):
        total = 0.0
        for query in np.unique(qid):
            rows = [row for row in order if qid[row] == query]
            ideal = np.sort(grade[rows])[::-1]
            discount = 1 / np.log2(np.arange(3) + 2)
            total += (grade[rows[:3]] * discount).sum() / (ideal[:3] * discount).sum() / 3
        return total

    def by_trec_eval():
        run = ir_measures.read_trec_run(str(tmp_path / "r"))
        return ir_measures.calc_aggregate(
            [ir_measures.nDCG @ 3], list(ir_measures.read_trec_qrels(str(tmp_path / "q"))), list(run)
        )[ir_measures.nDCG @ 3]

    write_run(tmp_path / "r", qid, docid, score)
    tied = sorted(range(60), key=lambda row: (score[row], docid[row]), reverse=True)
    assert by_trec_eval() == pytest.approx(by_hand(tied), abs=1e-9)
    # Scores this close are one number in single precision; ranks keep their order.
    close = 1 - ranks * 1e-12
    write_run(tmp_path / "r", qid, docid, close, ranks=ranks)
    assert by_trec_eval() == pytest.approx(by_hand(np.argsort(ranks, kind="stable")), abs=1e-9)


def test_what_the_format_cannot_hold_is_refused_and_nothing_written(tmp_path):
    path = tmp_path / "r"
    for call, sentence in [
        (lambda: write_run(path, ["q 1"], ["d"], [1]), "query id 'q 1' is not one word"),
        (lambda: write_run(path, ["q"], [""], [1]), "document id '' is not one word"),
        (lambda: write_run(path, ["q"], ["d"], [np.nan]), "score in row 0 is not finite"),
        (lambda: write_run(path, ["q"], ["d"], [1, 2]), "1 qids and 1 documents for 2 rows"),
    ]:
        refuses(sentence, call)
    assert list(tmp_path.iterdir()) == []


PAIRS = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.dictionaries(PAIRS, st.floats(-5, 5)), min_size=1))
def test_joined_runs_have_a_row_for_each_pair_in_order_of_first_appearance(found):
    runs = {}
    for k, own in enumerate(found):
        queries, documents = (words([pair[side] for pair in own]) for side in (0, 1))
        runs[str(k)] = Run(queries, documents, np.array([*own.values()], dtype=float), str(k))
    joined = join(runs)
    pairs = list(dict.fromkeys(pair for own in found for pair in own))
    assert list(zip(joined.qid.tolist(), joined.docid.tolist())) == pairs and joined.names == tuple(runs)
    for column, own in zip(joined.scores.T, found):
        assert [own.get(pair) for pair in pairs] == [None if np.isnan(score) else score for score in column.tolist()]

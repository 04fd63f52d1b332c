import csv
import gzip
import os
import re
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.io import Table, read_csv, read_table, write_csv
from rerank.io.columns import ColumnKind
from rerank.io.csv_table import header_names, name_in, spreadsheet_cell
from rerank.io.frames import as_table, by_name, chosen_columns
from rerank.io.reader import column_names
from rerank.reranker.files import model_file
from tests.cases.refuses import refuses
from tests.cli.commands import run

GOOD = "id,q,age,name,year,w,died\np1,a,30,Ann,58.5,1,0\np2,a,31,Bob,1e2,2,1\n\np3,b,-3,Cy,0,0,2\n"


def test_every_role_is_read_and_text_columns_are_left_out_aloud(file):
    table = read_csv(file(GOOD), label="died", qid="q", id="id", weight="w")
    assert table.feature_names == ("age", "year") and len(table) == 3
    np.testing.assert_array_equal(table.X, [[30, 58.5], [31, 100], [-3, 0]])
    assert table.y.tolist() == [0, 1, 2] and table.sample_weight.tolist() == [1, 2, 0]
    assert table.qid.tolist() == ["a", "a", "b"] and table.ids.tolist() == ["p1", "p2", "p3"]
    assert table.notes == ("Left out because they hold text: 'name'.",)
    assert table.X.dtype == np.float64 and table.X.flags.c_contiguous


def test_features_are_taken_in_the_order_asked_for(file):
    table = read_csv(file(GOOD), label="died", features=["year", "age"])
    assert table.feature_names == ("year", "age") and table.X[0].tolist() == [58.5, 30] and table.notes == ()
    assert table.qid is None and table.ids is None and table.sample_weight is None
    assert read_csv(file("a,b\n1,2\n")).y is None  # rows to rank


def test_labels_may_be_words(file):
    text = "a,ok\n1,yes\n2,no\n3,maybe\n"
    assert read_csv(file(text), label="ok", pos_label="yes").y.tolist() == [1, 0, 0]
    with pytest.raises(InputError, match="no row has 'YES' in column 'ok'; it holds 'yes', 'no', 'maybe'"):
        read_csv(file(text), label="ok", pos_label="YES")


def test_the_suffix_says_the_format(file):
    assert read_table(file("a\tb\n1\t0\n", "t.tsv"), label="b").y.tolist() == [0]
    for name in ("t.csv.gz", "t.csv"):  # gzip is known by its content
        assert read_table(file(gzip.compress(b"a,b\n1,0\n"), name), label="b").X.tolist() == [[1]]
    assert read_table(file("0 qid:1 1:2\n", "t.svmlight")).qid.tolist() == ["1"]
    refuses(r"suffix '\.xls'", read_table, file("a,b\n1,0\n", "t.xls"))
    refuses("svmlight, which has no label column", read_table, file("0 qid:1 1:2\n", "t.svm"), label="died")


def test_quotes_marks_and_line_ends_of_other_programs(file):
    text = b'\xef\xbb\xbf"a ""x""",b\r\n"1",2\r\n" 3 ","4"\r\n'
    table = read_csv(file(text), label="b")
    assert table.feature_names == ('a "x"',) and table.X.tolist() == [[1], [3]] and table.y.tolist() == [2, 4]
    assert read_csv(file("a;b\n1;2\n"), delimiter=";").X.tolist() == [[1, 2]]


BAD = [
    ("a,b\n1,2\n", {"delimiter": '"'}, "is not one character that separates"),
    ("\n\n", {}, "is empty"),
    # text, options, what the sentence says
    ("", {}, "is empty"),
    ("1,2\n3,4\n", {}, "line 1: there are numbers where the column names should be"),
    (",Unnamed: 1\n0,1\n", {}, "no numeric column left"),
    ("a,b,a\n1,2,3\n", {}, "the name 'a' stands over columns 1 and 3"),
    ("a;b\n1;2\n", {}, "line 1: there is one column, 'a;b', that holds ';'; pass delimiter=';'"),
    ("age,died\n1,0\n", {"label": "Died"}, "has no column 'Died'; nearest: 'died'"),
    ("age,died\n1,0\n", {"label": "zzzzzz"}, "has no column 'zzzzzz'; its columns are 'age', 'died'"),
    ("age,died\n1,0\n", {"label": "died", "qid": "died"}, r"two roles \(label='died', qid='died'\)"),
    ("died\n1\n", {"label": "died"}, "no numeric column left"),
    ("a,b\n1,2\n1,x y\n", {}, "line 3: column 'b' holds 'x y' where a number is expected"),
    ("a,b\n1,x\n1,2\n", {}, "line 3: column 'b' holds the number 2 after text"),
    ("a,b\n1,2\n1,1_000\n", {}, "line 3: column 'b' holds '1_000' where a number"),
    ("a,b\n1,2\n3\n", {}, "line 3: there are 1 cells under 2 column names"),
    ("a,b\n1,2,3\n", {}, "line 2: there are 3 cells under 2"),
    ("a,b\n1,2\n1,\n", {}, "line 3: column 'b' is empty"),
    ("a,b\n1,\n1,2\n", {}, "line 2: column 'b' is empty"),
    ("a,b\n1,NA\n1,2\n", {}, r"line 2: column 'b' has no value \('NA'\)"),
    ("a,b\n1,2\n1,nan\n", {}, r"line 3: column 'b' has no value \('nan'\)"),
    ("a,b\n1,2\n\n1,inf\n", {}, "line 4: column 'b' holds inf, which is not finite"),
    ("a,b\n1,2\n1,-1\n", {"label": "b"}, "line 3: column 'b' holds -1, but a label is 0 or more"),
    ("a,b\n1,2\n1,-1\n", {"weight": "b"}, "line 3: column 'b' holds -1, but a weight is 0 or more"),
    ("a,b\n1,yes\n", {"label": "b"}, "line 2: column 'b' holds 'yes' where a number"),
    ("a,b\n1,x\n2, \n", {"qid": "b"}, "line 3: column 'b' is empty"),
    ('a,b\n1,"2"x\n', {}, "line 2: the line is not CSV"),
    ('a,b\n1,"2\n', {}, "line 2: the line is not CSV"),
    ('"a\nb",c\n1,2\n1,x\n', {}, "line 4: column 'c' holds 'x'"),  # lines of the file, not rows
    ("a,b\n1," + "2" * 200_000 + "\n", {}, "line 2: the line is not CSV"),
    (b"a,b\n1,\xff\n", {}, "line 2: the text is not UTF-8"),
    (b"a,b\n1,\x00\n", {}, "line 2: there is a NUL byte"),
    ("a\tb\n1\t2\n", {}, r"pass delimiter='\\t' \(--delimiter tab\)"),
    ("a,qid\n1,2\n", {}, r"the column 'qid' is called like the id of a list.*pass qid='qid' \(--qid 'qid'\)"),
    ("a,Query_ID\n1,2\n", {}, "the column 'Query_ID' is called like"),
    ("a,session\n1,x\n", {}, "the column 'session' is called like"),  # its lists would be merged
    ("a,b\n1,no no\n", {"label": "b"}, r"'no no' where a number.*pos_label='no no' \(--pos-label 'no no'\)"),
    ("a,b\nTrue,1\nmaybe,1\n", {}, "line 3: column 'a' holds 'maybe' where a number"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), BAD)
def test_bad_input_is_one_sentence_with_its_place(file, text, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read_csv(file(text), **options)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_a_name_that_no_model_file_holds_is_refused_before_the_fit(file):
    long = "x" * 10_001
    refuses("column 2 has 10001 characters; shorten it", read_csv, file(f"a,{long}\n1,2\n"))
    path = file(f"a,y\n1,{long}\n2,n\n3,n\n")
    said = run("fit", path, "--label", "y", "--pos-label", "n", "--model", path.parent / "m.json", code=2).stderr
    assert "cannot be saved" in said and "Fitting" not in said


@pytest.mark.parametrize("how", [("--free", "--radius", 0.1), ("--radius", 0.1), ()])
def test_more_scores_than_a_model_file_holds_are_refused_before_the_fit(file, monkeypatch, how):
    monkeypatch.setattr(model_file, "MAX_ENTRIES", 6)
    path = file("a,b,y\n" + "".join(f"{row % 3},{row},{row % 2}\n" for row in range(8)))
    words = ("fit", path, "--label", "y", *how, "--model", path.parent / "m.json")
    said = run(*words, code=2).stderr
    assert "'prior_scores' has 8 entries" in said and "cross_fit" in said and "Fitting" not in said


def test_files_that_cannot_be_read(file, tmp_path):
    refuses("Cannot read", read_csv, tmp_path)
    whole = gzip.compress(b"a,b\n1,2\n" * 1000)
    for broken in (whole[:-20], whole[:30] + b"\x55" * 9 + whole[39:], b"a,b\n1,2\n"):
        with pytest.raises(InputError):
            read_csv(file(broken, "t.csv.gz"))


def test_numpy_reads_the_same_numbers(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 4)) * 10.0 ** np.arange(-2, 2)
    path = tmp_path / "x.csv"
    write_csv(path, Table(X, None, None, None, ("a", "b", "c", "d")))
    np.testing.assert_array_equal(np.loadtxt(path, delimiter=",", skiprows=1), X)
    np.testing.assert_array_equal(read_csv(path).X, X)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    X = np.zeros((2, 2))
    with pytest.raises(IndexError):  # fails in the second row, after the first was written
        write_csv(path, Table(X, np.zeros(1), None, None, ("a", "b")))
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["t.csv"]


def test_true_and_false_are_one_and_zero(file):
    text = "a,flag,up,w,y\n1,True,FALSE,true,False\n2,False,TRUE,TRUE,True\n"
    table = read_csv(file(text), label="y", weight="w")
    assert table.feature_names == ("a", "flag", "up") and table.X.tolist() == [[1, 1, 0], [2, 0, 1]]
    assert table.y.tolist() == [0, 1] and table.sample_weight.tolist() == [1, 1] and table.notes == ()
    # In a column of text they are words.
    assert read_csv(file("a,b\n1,so\n2,True\n")).feature_names == ("a",)


def test_a_column_called_like_a_list_id_is_a_feature_when_it_is_named(file):
    text = file("a,session,y,l\n1,2,0,u\n3,4,1,u\n")
    assert read_csv(text, label="y", features=["a", "session"]).feature_names == ("a", "session")
    assert read_csv(text, label="y", qid="session").feature_names == ("a",)
    assert read_csv(text, label="y", qid="l").feature_names == ("a", "session")  # the list was not forgotten


def test_the_time_is_linear_in_the_number_of_columns(file):
    """Where it was quadratic 32,000 columns took 41 seconds."""
    names = [f"column{j}" for j in range(30_000)]
    text = file("\n".join([",".join(names), *(",".join(["1"] * len(names)) for _ in range(2))]))
    begun = time.process_time()
    assert read_csv(text, label="column7").X.shape == (2, 29_999)
    assert read_csv(text, features=names[::-1]).X.shape == (2, 30_000)
    refuses("has no column 'colum7'", read_csv, text, label="colum7")
    assert len(set(header_names([""] * 100_000))) == 100_000
    unnamed = file("\n".join(["," * 40_000 + "a", *("1," * 40_000 + "1" for _ in range(2))]))
    assert read_csv(unnamed).X.shape == (2, 1)  # the others are a saved index
    table = pd.DataFrame(np.zeros((1, len(names))), columns=names)
    refuses("two columns 'column7'", as_table, table.rename(columns={"column8": "column7"}))
    assert chosen_columns(table, names).size == len(by_name(table, names[::-1], named=True).columns)
    assert time.process_time() - begun < 10


FORMULAS = ["=1+1", "+a", "-a", "@a", "'=a", "''-a", "=", "＝a", "-5a"]


def test_a_name_that_a_spreadsheet_would_compute_is_written_as_text_and_read_as_itself(tmp_path):
    ids = [*FORMULAS, "-5", "+1e3", "'a", "a=b", "'"]
    table = Table(
        X=np.arange(2.0 * len(ids)).reshape(-1, 2),
        y=np.zeros(len(ids)),
        qid=np.array(ids[::-1], dtype=object),
        ids=np.array(ids, dtype=object),
        feature_names=("-log p", "b"),
    )
    path = tmp_path / "t.csv"
    write_csv(path, table)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@＝\t\r") and not cell[1:2].isdigit()]
    assert [row[0] for row in rows[-5:]] == ["-5", "+1e3", "'a", "a=b", "'"]
    back = read_csv(path, label="target", qid="qid", id="id")
    assert back.ids.tolist() == ids and back.qid.tolist() == ids[::-1]
    assert back.feature_names == table.feature_names == read_csv(path, features=["-log p", "b"]).feature_names
    assert column_names(path)[2] == "-log p"


@given(st.lists(st.text(st.sampled_from("=+-@'1e\t a"), min_size=1, max_size=5), min_size=1, max_size=4))
def test_every_name_comes_back_from_its_cell(names):
    for name in names:
        if name == name.strip():
            assert name_in(spreadsheet_cell(name)) == name


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["01234", "12"], "begins with 0 .*--texts"),
        ([str(2**53 + 1), "7"], "rounded to a double.*--texts"),
        *(
            (each, "write them with digits")
            for each in (["1,234", "2,500"], ["12%", "3%"], ["$3.2k", "$1k"], ["0x1F", "0x2"])
        ),
        (["1", "#N/A", "<NA>", r"\N", "-"], ""),
        (["0", "0.5", "10"], ""),
    ],
)
def test_what_may_be_meant_otherwise_is_said_with_a_cure(file, cells, said):
    table = read_csv(file("g,x\n" + "".join(f'"{cell}",1\n' for cell in cells)), kinds={})
    notes = " ".join(table.notes)
    assert re.search(said, notes) if said else not notes


@pytest.mark.parametrize("first", ["number", "word"])
@pytest.mark.parametrize(("n_words", "texts"), [(1, False), (2, False), (3, True), (30, True)])
def test_words_among_numbers_are_gaps_where_they_are_few_and_else_all_is_texts(file, first, n_words, texts):
    cells = ["some"] * n_words + [str(k) for k in range(40 - n_words)] + ["", "NA"]
    cells = cells if first == "word" else cells[::-1]
    path = file("a,b,y\n" + "".join(f"{cell},{k},{k % 2}\n" for k, cell in enumerate(cells)))
    table = read_csv(path, label="y", kinds={})
    (note,) = table.notes
    assert f"'some' or the like in {n_words} of 40 entries" in note and ("as names." in note.split("; ")[0]) == texts
    column = table.X.columns["a"]
    if texts:
        assert [one or "" for one in column] == [cell if cell != "NA" else "" for cell in cells]
    else:
        assert [None if one != one else one for one in column] == [float(c) if c.isdigit() else None for c in cells]
    numbers = {"a": ColumnKind(texts=False), "b": ColumnKind(texts=False)}  # as a model has it
    if texts:
        refuses(f"holds 'some', and words in {n_words} rows", read_csv, path, label="y", kinds=numbers)
    else:
        assert np.array_equal(read_csv(path, label="y", kinds=numbers).X.columns["a"], column, equal_nan=True)

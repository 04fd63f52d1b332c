"""Advice on cards: their files and commands, their texts in other languages, and what may be asked of a card."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from formulations import card as program
from rerank.scorecard import Card, Question
from tests.cases.advice import FRAME, Row, Y, write
from tests.cases.advice.cards import KIND, card, proved
from tests.cases.advice.commands import lines
from tests.cases.advice.programs import build, solved

CONSTANT = FRAME.assign(c=1.0)
DAYS = pd.date_range("2024-01-01", periods=len(Y))


def same(**more) -> bool:
    """Whether the card is that of the plain fit."""
    return bool(card(**more).card_ == card().card_)


OPTIONS = {
    "X is a sparse matrix, and questions need columns of values; pass X.toarray()": Row(
        lambda: card(csr_array(FRAME)), lambda: proved(table=csr_array(FRAME).toarray())
    ),
    "write one such as 'pauc_fpr@0.1'": Row(lambda: card(stat="pauc_fpr@1"), lambda: proved(stat="pauc_fpr@0.1")),
    "no bound of a card is known for such statistics; use auc, dcg@N or precision@N": Row(
        lambda: card(stat="map"), lambda: all(proved(stat=stat) for stat in ("auc", "dcg@5", "precision@5"))
    ),
    "people has {} entries for {} rows; give one for each row": Row(
        lambda: card(people=KIND[1:]), lambda: proved(people=KIND, constraints="auc inside >= 0.5")
    ),
    "give a whole number R for -R to R, a pair of ends, or the numbers": Row(
        lambda: card(points="2"), lambda: all(same(points=points) for points in (2, (-2, 2), [-2, -1, 1, 2]))
    ),
    "which leaves no number but 0; give one that is not 0": Row(
        lambda: card(points=[0]), lambda: proved(points=[0, 1])
    ),
    "give questions such as 'age >= 60', or names of columns": Row(
        lambda: card(must=7), lambda: all(proved(must=must) for must in ("a >= 0", "a", ["a", "b >= 0"]))
    ),
    "give a mapping of questions or columns": Row(
        lambda: card(signs=["a"]), lambda: proved(signs={"a": 1}) and proved(signs={"a >= 0": 1})
    ),
    "which gives no question: {}; drop it": Row(lambda: card(CONSTANT, must="c"), lambda: same(table=CONSTANT)),
    "dates; give them as numbers, such as days since the first of them": Row(
        lambda: card(FRAME.assign(c=DAYS), must="c"),
        lambda: proved(table=FRAME.assign(c=(DAYS - DAYS[0]).days), must="c"),
    ),
    "which never excludes or all rows answer alike; drop it": Row(lambda: card(must="a >= 99"), same),
    "is no question; write one such as 'age >= 60', 'sex = male' or 'age {}'": Row(
        lambda: Question.read("age 60"),
        lambda: [str(Question.read(text)) for text in ("age >= 60", "sex = male", "age is missing")],
    ),
    "a partial area up to a false positive rate; use fit and verify.": Row(
        lambda: card(stat="pauc_fpr@0.1").build_model(ties="pessimistic"),
        lambda: card(stat="pauc_fpr@0.1").verify().value > 0,
    ),
}

HEAD = "question,points\n"


def read(*texts: str, name="c.csv") -> Card:
    """The card of a file with these lines."""
    return Card.of(write(name, HEAD + "".join(f"{text}\n" for text in texts)))


def small(value="x", column="b") -> Card:
    return Card((Question("a", "=", value), Question(column, ">=", 0.0)), (2, -1))


def saved(name: str) -> Card:
    """The card, written and read."""
    small().save(name)
    return Card.of(name)


def formula(columns=None, value="x") -> str:
    return small(value).to_formula(columns)


FILES = {
    "names no format of a card; pass a .json, or a .csv with the columns question,points": Row(
        lambda: read("a >= 0,1", name="c.txt"), lambda: read("a >= 0,1", name="c.csv") and saved("c.json") == small()
    ),
    "names no format of a card; write to a .json, or to a .csv": Row(
        lambda: saved("c.xml"), lambda: saved("c.json") == saved("c.csv") == small()
    ),
    "give a question and its points": Row(lambda: read("a >= 0"), lambda: read("a >= 0,1").points == (1,)),
    "give a whole number": Row(lambda: read("a >= 0,1.5"), lambda: read("a >= 0,2").points == (2,)),
    ("line 1002: the card has more than", "shorten it"): Row(
        lambda: read(*(f"a >= {k},1" for k in range(1001))),
        lambda: len(read(*(f"a >= {k},1" for k in range(1000))).points) == 1000,
    ),
    ("line 2: the card has more than", "shorten it"): Row(
        lambda: read(f"a = {'x' * 10_000},1"), lambda: read(f"a = {'x' * 9_000},1")
    ),
    "add its points up": Row(lambda: read("a >= 0,1", "a >= 0,2"), lambda: read("a >= 0,3").points == (3,)),
    "has no question; give lines such as 'age >= 60,3'": Row(read, lambda: read("age >= 60,3").points == (3,)),
    "is no card: {}; pass a file written by save or by rerank card fit": Row(
        lambda: Card.of(write("c.json", "{}")), lambda: saved("c.json") == small()
    ),
    "give a mapping of columns to cells, or their names": Row(
        lambda: formula("ab"), lambda: formula({"a": "A2", "b": "B2"}) == formula(["a", "b"])
    ),
    "give one such as 'C2' or '$C2'": Row(
        lambda: formula({"a": "2C", "b": "B2"}),
        lambda: all(cell in formula({"a": cell, "b": "B2"}) for cell in ("C2", "$C2")),
    ),
    "holds a NUL, which no cell has; rename it": Row(lambda: formula(value="x\0"), lambda: formula(value="y")),
    "holds a character that no text of SQL has; rename it": Row(
        lambda: small(column="b\0").to_sql(), lambda: '"c"' in small(column="c").to_sql()
    ),
}

ANSWERS, TWO = (FRAME > 0).to_numpy(float), program.Card(points=2, size=2)


def best(of=TWO, **more) -> float:
    """The largest AUC of a card, by the program."""
    return solved(program.build(ANSWERS, Y, of, **more))


def close(of=TWO, **more) -> bool:
    """Whether the program has the optimum of the plain one."""
    return abs(best(of, **more) - best()) < 1e-6


PROGRAMS = {
    "points holds {} sets of points for {} questions; give each question some other than 0": Row(
        lambda: best(replace(TWO, points=[[0], [1]])),
        lambda: close(replace(TWO, points=[[-2, -1, 1, 2], range(-2, 3)])),
    ),
    "columns has shape {}; give one entry for each of {} questions": Row(
        lambda: best(replace(TWO, columns=[0])), lambda: close(replace(TWO, columns=[0, 1]))
    ),
    "{} has shape {}; give one entry for each of {} rows.": Row(
        lambda: best(qid=[0]), lambda: close(qid=np.zeros(len(Y)))
    ),
    "query_weight has shape {}; give one entry for each of {} lists": Row(
        lambda: best(query_weight=[1, 1]), lambda: close(query_weight=[3.0])
    ),
    "give a whole number, at least 1, and no corrections": Row(
        lambda: build(points=1.5), lambda: solved(build(points=2)) > 0
    ),
}

FITTED = "card fit t.csv --output c.json --label hit --questions 2 --points 2 --validation none"
EXPORTED = "card export c.json --to"

COMMANDS = {
    "names no format of a card; write to a .json, or to a .csv": lines(
        FITTED.replace("json", "xml"), FITTED, FITTED.replace("json", "csv")
    ),
    "names no format; write to a .csv file": lines(
        (FITTED, "card apply c.json t.csv --output o.txt"), "card apply c.json t.csv --output o.csv"
    ),
    "it is about --to formula; leave it out": lines(
        (FITTED, f"{EXPORTED} sql --row 3"), f"{EXPORTED} sql", f"{EXPORTED} formula --row 3"
    ),
    "it is about --to sql; leave it out": lines(
        (FITTED, f"{EXPORTED} python --table t"), f"{EXPORTED} python", f"{EXPORTED} sql --table t"
    ),
}

ROWS = OPTIONS | FILES | PROGRAMS | COMMANDS

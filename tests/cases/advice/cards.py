"""Advice on cards of points: their rows, rules, proofs, programs and pictures."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd

from formulations import card as program
from rerank.plots import card_picture, card_risks
from rerank.scorecard import Card, Question, Scorecard
from rerank.scorecard.verify import verify
from tests.cases.advice import FRAME, QID, Row, Y, command, promised, succeeds

KIND = np.resize(["A", "B"], 40)
QUESTIONS = {"a >= 0": 2, "b >= 0": 1}
ANSWERS = (FRAME.to_numpy() > 0).astype(int)


def card(table=FRAME, y=Y, **more):
    """A fit; what belongs to the rows goes to ``fit``, all else is an option."""
    own = {name: more.pop(name) for name in ("qid", "sample_weight", "people") if name in more}
    options = {"n_questions": 2, "points": 2, "validation": None, "time_limit": 20, **more}
    return Scorecard(**options).fit(table, y, **own)


def proved(**options) -> bool:
    return card(**options).result_.status == "optimal"


def by_hand(questions=None):
    return Card.of(QUESTIONS if questions is None else questions)


def with_risks():
    own = by_hand()
    return own.with_totals(own.total(FRAME), Y == 1.0, Y == 0.0)


def claimed(other, **asked):
    """The fit of other options that claims the card of this fit."""
    found = card(**asked)
    found.card_, found.result_ = other.card_, other.result_
    return found.verify()


def counted(factor=1):
    """A verification of rows that count so many times."""
    found = card()
    claim = found._claim(found._rows)
    return verify(replace(claim, counts=factor * claim.counts))


def built(X=ANSWERS, most=10**6, **rules):
    return program.build(X, Y, program.Card(**rules), max_nonzeros=most)


def with_entry(value):
    return FRAME.assign(a=[value, *FRAME["a"][1:]])


WEIGHED = np.full(40, 1e15)
FITTING = {
    "A Scorecard that was loaded holds no rows; pass X and y, the rows of the fit.": Row(
        lambda: pickle.loads(pickle.dumps(card())).verify(),
        lambda: pickle.loads(pickle.dumps(card())).verify(FRAME, Y).value == card().verify().value,
    ),
    "A list has {} rows, and {} counts {} at most; use auc.": Row(
        lambda: card(stat="dcg@5", sample_weight=np.full(40, 1e7)), lambda: proved(sample_weight=np.full(40, 1e7))
    ),
    "The weights of the rows add up to {}, which is too much to count; divide them by a common number.": Row(
        lambda: card(sample_weight=WEIGHED), lambda: proved(sample_weight=WEIGHED / 1e15)
    ),
    "Column {} holds inf; give finite numbers, or leave the entry empty.": Row(
        lambda: card(with_entry(np.inf)), lambda: proved(table=with_entry(9.0)) and proved(table=with_entry(None))
    ),
    "No list holds both relevant rows and others, so there is nothing to order; give labels of both kinds.": Row(
        lambda: card(y=QID, qid=QID), lambda: proved(y=Y, qid=QID)
    ),
    "X gives no question that some rows answer by yes and others by no ({}); give a column that varies.": Row(
        lambda: card(FRAME * 0), lambda: proved(table=FRAME.assign(b=0.0))
    ),
    "The time ended before a card that keeps the rules was found; raise time_limit.": Row(
        lambda: card(must=["a < -1", "b < -1"], time_limit=1e-9), lambda: proved(must=["a < -1", "b < -1"])
    ),
    "The constraint {} cannot be read; write one such as 'sensitivity >= 0.8', 'flagged <= 20%', 'flagged gap <= "
    "0.1', 'sensitivity gap <= 0.1', 'auc inside >= 0.6' or '20 of A among the first 200'.": Row(
        lambda: card(constraints="sensitivity of 0.8"),
        lambda: all(
            proved(constraints=one, people=KIND)
            for one in (
                "sensitivity >= 0.8",
                "flagged <= 20%",
                "flagged gap <= 0.3",
                "sensitivity gap <= 0.3",
                "auc inside >= 0.6",
                "2 of A among the first 20",
            )
        ),
    ),
    "The constraint {} has a share above 1; write a part of 1, or one such as 80%.": Row(
        lambda: card(constraints="sensitivity >= 80"),
        lambda: proved(constraints="sensitivity >= 0.8") and proved(constraints="sensitivity >= 80%"),
    ),
    "The constraint {} names the kind {}, and the kinds of people are: {}; pass people=.": Row(
        lambda: card(constraints="2 of A among the first 20"),
        lambda: proved(constraints="2 of A among the first 20", people=KIND),
    ),
    "The constraints compare kinds of people, and none are given; pass people=.": Row(
        lambda: card(constraints="flagged gap <= 0.3"), lambda: proved(constraints="flagged gap <= 0.3", people=KIND)
    ),
    "The constraints count the kinds among two different numbers of first rows; give one.": Row(
        lambda: card(constraints=["2 of A among the first 20", "2 of B among the first 30"], people=KIND),
        lambda: proved(constraints=["2 of A among the first 20", "2 of B among the first 20"], people=KIND),
    ),
    **promised(
        lambda: claimed(card()).value == counted().value,
        {
            "The questions of the card break a rule; fit again.": lambda: claimed(card(), n_questions=1),
            "The card breaks a limit or a constraint; fit again.": lambda: claimed(
                card(), constraints="5 of A among the first 10", people=KIND
            ),
            "The rows are not counted as their weights say; fit again.": lambda: counted(2),
        },
    ),
}

LONG = {f"a >= {k}": 1 for k in range(500)}
BY_HAND = {
    **promised(
        lambda: len(Card((Question("a", ">=", 0), Question("a", "=", "old")), (2, 1)).points) == 2,
        {
            "A card has {} questions and {} points; give each question one.": lambda: Card(
                (Question("a", ">=", 0), Question("b", ">=", 0)), (2,)
            ),
            "The question {} {} {} compares with no number; give a number, or a text with the sign '='.": lambda: (
                Question("a", ">=", "old")
            ),
        },
    ),
    "Column {} holds texts, and the card asks whether {}; give numbers.": Row(
        lambda: by_hand().total(FRAME.astype({"a": str}).replace({"a": {str(FRAME["a"][0]): "?"}})),
        lambda: by_hand().total(FRAME).max() == 3,
    ),
    "The card was written by hand, so that no risks are known; call its with_totals on labelled rows.": Row(
        lambda: by_hand().risk([3]), lambda: 0 < with_risks().risk([3])[0] < 1
    ),
    "The card has no totals, since it was not fitted; call its with_totals on labelled rows.": Row(
        lambda: card_risks(by_hand().totals), lambda: card_risks(with_risks().totals).has_data()
    ),
    "The totals of a card do not fall; give the largest first, and each once.": Row(
        lambda: replace(with_risks(), totals=with_risks().totals[::-1]),
        lambda: replace(with_risks(), totals=with_risks().totals) == with_risks(),
    ),
    "There are {} questions and {} points; give one of each.": Row(
        lambda: card_picture(["a >= 0"], []), lambda: card_picture(["a >= 0"], [1]).has_data()
    ),
    "The formula has {} characters, and spreadsheets take {}; shorten the card.": Row(
        lambda: by_hand(LONG).to_formula(), lambda: by_hand(dict(list(LONG.items())[:100])).to_formula()
    ),
    "compares with a word for a truth value, which databases write in different ways; ask {} = {}.": Row(
        lambda: by_hand({"a = True": 1}).to_sql(), lambda: by_hand({"a = 1": 1}).to_sql()
    ),
    "The question {} holds a character that CSV loses; write a .json.": Row(
        lambda: Card((Question("a\r", ">=", 0),), (1,)).save("c.csv"),
        lambda: (Card((Question("a\r", ">=", 0),), (1,)).save("c.json"), Card.of("c.json"))[1].points == (1,),
    ),
}

PROGRAMS = {
    "No program states limits at a cut or among the first rows; leave cut and these constraints out, or use fit "
    "and verify, which keep them.": Row(
        lambda: card(cut="top 5").build_model(), lambda: card().build_model() and card(cut="top 5").verify().sets > 0
    ),
    "No program states {} with tied rows in expectation; pass ties='pessimistic', which is another value, or "
    "stat='auc'.": Row(
        lambda: card(stat="dcg@5").build_model(),
        lambda: bool(card(stat="dcg@5").build_model(ties="pessimistic") and card(stat="auc").build_model()),
    ),
    "The card program may have up to {} non-zeros, above the limit of {}; give fewer questions, so that more rows "
    "are alike, or raise max_nonzeros.": Row(
        lambda: built(most=20), lambda: built(ANSWERS[:, :1], most=20).name and built(most=200).name == "card"
    ),
    "A rule names the questions {}; name some of 0..{}.": Row(
        lambda: built(needs=[(None, [2])]), lambda: built(needs=[(None, [1])]).name == "card"
    ),
    "X holds entries that are neither 0 nor 1; give the answers to yes/no questions.": Row(
        lambda: built(FRAME.to_numpy()), lambda: built().name == "card"
    ),
}


def page(labels, *more):
    """What a report on rows with these labels is asked by."""
    by_hand().save("c.csv")
    pd.concat([FRAME, pd.Series(labels, name="hit")], axis=1).to_csv("g.csv", index=False)
    return "card", "report", "c.csv", "g.csv", "--label", "hit", *more


COMMANDS = {
    "The labels are grades up to {}, and a card is for two labels; pass 0 and 1, or name the label to find with "
    "--positive-label.": Row(
        lambda: command(*page(2 * Y)),
        lambda: bool(succeeds(*page(Y)) and succeeds(*page(2 * Y, "--positive-label", 2))),
    )
}

ROWS = FITTING | BY_HAND | PROGRAMS | COMMANDS

"""Advice on cards of points: their rows, rules, proofs, programs and pictures."""

from dataclasses import replace

import numpy as np

from formulations import card as program
from rerank.plots import card_picture
from rerank.scorecard import Card, Scorecard
from rerank.scorecard.verify import verify
from tests.cases.advice import FRAME, Row, Y, promised

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
    return program.build(X, Y, program.CardRules(**rules), max_nonzeros=most)


WEIGHED = np.full(40, 1e15)
FITTING = {
    "The weights of the rows add up to {}, which is too much to count; divide them by a common number.": Row(
        lambda: card(sample_weight=WEIGHED), lambda: proved(sample_weight=WEIGHED / 1e15)
    ),
    **promised(
        lambda: claimed(card()).value == counted().value,
        {"The rows are not counted as their weights say; fit again.": lambda: counted(2)},
    ),
}

BY_HAND = {
    "There are {} questions and {} points; give one of each.": Row(
        lambda: card_picture(["a >= 0"], []), lambda: card_picture(["a >= 0"], [1]).has_data()
    ),
    "compares with a word for a truth value, which databases write in different ways; ask {} = {}.": Row(
        lambda: by_hand({"a = True": 1}).to_sql(), lambda: by_hand({"a = 1": 1}).to_sql()
    ),
}

PROGRAMS = {
    "A rule names the questions {}; name some of 0..{}.": Row(
        lambda: built(needs=[(None, [2])]), lambda: built(needs=[(None, [1])]).name == "card"
    )
}


ROWS = FITTING | BY_HAND | PROGRAMS

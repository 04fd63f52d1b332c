"""Advice on cards: their files and commands, their texts in other languages, and what may be asked of a card."""

from rerank.scorecard import Card
from tests.cases.advice import FRAME, Row, write
from tests.cases.advice.cards import card, proved

CONSTANT = FRAME.assign(c=1.0)


def same(**more) -> bool:
    """Whether the card is that of the plain fit."""
    return bool(card(**more).card_ == card().card_)


OPTIONS = {
    "write one such as 'pauc_fpr@0.1'": Row(lambda: card(stat="pauc_fpr@1"), lambda: proved(stat="pauc_fpr@0.1")),
    "no bound of a card is known for such statistics; use auc, dcg@N or precision@N": Row(
        lambda: card(stat="map"), lambda: all(proved(stat=stat) for stat in ("auc", "dcg@5", "precision@5"))
    ),
    "which gives no question: {}; drop it": Row(lambda: card(CONSTANT, must="c"), lambda: same(table=CONSTANT)),
}

HEAD = "question,points\n"


def read(*texts: str, name="c.csv") -> Card:
    """The card of a file with these lines."""
    return Card.of(write(name, HEAD + "".join(f"{text}\n" for text in texts)))


FILES = {
    "add its points up": Row(lambda: read("a >= 0,1", "a >= 0,2"), lambda: read("a >= 0,3").points == (3,)),
    "has no question; give lines such as 'age >= 60,3'": Row(read, lambda: read("age >= 60,3").points == (3,)),
}


ROWS = OPTIONS | FILES

"""Advice that a message gives is followed: it works, and what the message promised holds."""

import numpy as np
import pytest

from tests.cases.advice import (
    cards,
    cards_files,
    commands,
    constraints,
    damaged,
    fits,
    heard,
    latent,
    one_line,
    others,
    pattern,
    programs,
    quotas,
    rooms,
    searches,
    tables,
)
from tests.cases.advice.exceptions import NO_ADVICE, NOT_FOLLOWED
from tests.cases.advice.literals import advice

MODULES = (
    tables,
    fits,
    constraints,
    commands,
    programs,
    rooms,
    searches,
    damaged,
    latent,
    others,
    cards,
    cards_files,
    quotas,
)
ROWS = {
    (module.__name__, *((says,) if isinstance(says, str) else says)): row
    for module in MODULES
    for says, row in module.ROWS.items()
}
SAID = {one_line(part) for _, *says in ROWS for part in says}


def parts() -> set[str]:
    """What the rows say that is no whole text of a message, which stands for itself, however short it is."""
    return SAID - set(advice())


@pytest.mark.parametrize("key", ROWS, ids=lambda key: key[1][:70])
def test_advice_helps_whoever_follows_it(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (_, *says), row = key, ROWS[key]
    said, _ = heard(row.wrong)
    assert [part for part in says if not pattern(part).search(said)] == [], said
    after = {}
    said, _ = heard(lambda: after.setdefault("promise", row.right()))
    promise = after.get("promise", False)
    assert promise is not None and (not isinstance(promise, bool | np.bool_) or promise), said
    assert [part for part in says if pattern(part).search(said)] == []


def test_advice_of_each_kind_is_followed_in_each_room():
    """New words of a kind that its room has need no row."""
    some, told, followed = parts(), {}, set()
    for text, cells in advice().items():
        told |= {} if text in NO_ADVICE else dict.fromkeys(cells, text)
        if text in SAID or any(part in text for part in some):
            followed |= cells
    assert {cell: text for cell, text in told.items() if cell not in followed}.keys() == NOT_FOLLOWED.keys()


def test_a_row_is_about_a_text_that_is_there():
    """A message that is reworded takes its row along; a part that says too little stands for several messages."""
    texts, some = advice(), parts()
    assert [part for part in some if len(part) < 12] == []
    assert {part for part in some if sum(part in text for text in texts) > 4} == set()


def test_advice_is_found_where_it_stands():
    """The test of the test."""
    import ast

    from tests.cases.advice.literals import ADVICE, literals

    source = 'raise InputError(f"X is {x}; pass y instead.")\nname = "a plain text"\ndef f():\n    """Use it."""\n'
    texts = list(literals(ast.parse(source)))
    assert texts == ["X is {}; pass y instead.", "a plain text"]
    assert [text for text in texts if ADVICE.search(text)] == ["X is {}; pass y instead."]

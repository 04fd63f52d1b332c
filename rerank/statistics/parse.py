"""Names of rank statistics: reading ``"dcg@10"``, and saying what was meant when a name is not one."""

from __future__ import annotations

import difflib
import re
from typing import Any

from rerank.errors import InputError
from rerank.statistics import kinds as st

KINDS: dict[str, type[st.RankStatistic]] = {
    kind.stem: kind
    for kind in (st.AUC, st.PartialAUC, st.WinnerTakesAll, st.Precision, st.MRR, st.DCG, st.NDCG, st.PNorm)
}
ALIASES = {
    "wrs": "auc",
    "p": "precision",
    "prec": "precision",
    "rocauc": "auc",
    "winnertakesall": "wta",
    "partialauc": "pauc",
}

# What each argument after "@" is called, in the sentence that asks for it; statistics not listed take none.
EXAMPLES = {
    "pauc": "pauc@10",
    "precision": "precision@10",
    "dcg": "dcg@10",
    "ndcg": "ndcg@10",
    "pnorm": "pnorm@4",
}

# Average precision and its kin pay an item by where the other relevant items stand: no a_l does that.
_NOT_BY_RANK = "is not a conditional linear rank statistic (it looks beyond each item's own rank)"
REFUSED = {
    "map": f"average precision {_NOT_BY_RANK}; fit mrr or dcg@10 and measure average_precision afterwards.",
    "rr": f"the reciprocal rank of the first hit {_NOT_BY_RANK}; fit mrr or wta instead.",
    "postop": f"Pos@Top {_NOT_BY_RANK}; fit pnorm@8 or dcg@10 and measure pos_at_top afterwards.",
    "err": f"expected reciprocal rank {_NOT_BY_RANK}; fit ndcg@10 or mrr instead.",
    "recall": "recall@N is hits in the top N over a constant; fit precision@N, it has the same best orders.",
}
REFUSED |= {"ap": REFUSED["map"], "averageprecision": REFUSED["map"]}
REFUSED |= {"reciprocalrank": REFUSED["rr"], "pos": REFUSED["postop"]}


def parse(statistic: object) -> st.RankStatistic:
    """The statistic meant by a name, an array ``a_1..a_n``, a callable ``a(l, n)``, or a statistic itself.

    Raises
    ------
    InputError
        For an unknown name, with the nearest known one.
    """
    if isinstance(statistic, st.RankStatistic):
        return statistic
    if isinstance(statistic, str):
        return _from_text(statistic)
    return st.Custom(statistic)  # type: ignore[arg-type]


def _from_text(text: str) -> st.RankStatistic:
    word = text.strip().lower()
    if word.startswith("custom"):
        return _custom(word)
    stem, at, argument = word.partition("@")
    stem = re.sub(r"[\s_-]", "", stem)
    stem = ALIASES.get(stem, stem)
    if stem in REFUSED:
        raise InputError(f"{text!r}: {REFUSED[stem]}")
    if stem not in KINDS:
        nearest = _nearest(stem, argument)
        raise InputError(
            f"Unknown statistic {text!r}; did you mean {nearest!r}? Known: {', '.join(known())}."
        )
    if not at:
        if stem in ("pauc", "precision", "pnorm"):
            raise InputError(f"{text!r} needs a number after '@', for example {EXAMPLES[stem]!r}.")
        return KINDS[stem]()
    if stem not in EXAMPLES:
        raise InputError(f"{text!r}: {stem} takes no number; write {stem!r}.")
    return KINDS[stem](_number(text, stem, argument))  # type: ignore[call-arg]


def known() -> list[str]:
    """Every name, with N for a number of places and P for a power."""
    return ["auc", "pauc@N", "wta", "precision@N", "mrr", "dcg", "dcg@N", "ndcg", "ndcg@N", "pnorm@P"]


def _number(text: str, stem: str, argument: str) -> Any:
    try:
        return float(argument) if stem == "pnorm" else int(argument)
    except ValueError:
        kind = "a power" if stem == "pnorm" else "a whole number"
        raise InputError(f"{text!r}: {argument!r} is not {kind}; write {EXAMPLES[stem]!r}.") from None


def _nearest(stem: str, argument: str) -> str:
    # "dcg10" is the commonest slip, so digits at the end are read as a cut-off before names are compared.
    letters = stem.rstrip("0123456789")
    number = stem[len(letters) :] or argument
    close = difflib.get_close_matches(ALIASES.get(letters, letters), [*KINDS, *ALIASES], n=1, cutoff=0.0)[0]
    close = ALIASES.get(close, close)
    if close not in EXAMPLES:
        return close
    return f"{close}@{number}" if number.isdigit() and int(number) else EXAMPLES[close]


def _custom(word: str) -> st.Custom:
    inside = re.fullmatch(r"custom\[(.*)\]", word)
    try:
        return st.Custom(tuple(float(value) for value in inside.group(1).split(",")))  # type: ignore[union-attr]
    except (AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{word!r}: a custom statistic is written custom[a_1,...,a_n] with numbers; one made of a "
            "function cannot be read back from its name, give the function itself."
        ) from None

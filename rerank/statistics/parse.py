"""Reading a name such as ``"dcg@10"``: :func:`parse`."""

import re

from rerank.errors import InputError, similar, unknown
from rerank.statistics.base import Number, RankStatistic
from rerank.statistics.catalogue import MRR, NAMED, ReciprocalRank, Window
from rerank.statistics.custom import Custom
from rerank.statistics.derived import InLists, Share

_BY_NAME = {name: kind for kind in NAMED for name in (kind.stem, *kind.aliases)}

_IN_LISTS = re.compile(r"(.+) in lists of (\d+)")
_THINNED = re.compile(r"(.+) thinned to [0-9.e-]+")  # a name that earlier versions read

_REFUSED = {
    # It depends on the order of the relevant items among themselves.
    "err": "expected reciprocal rank is neither a conditional linear rank statistic nor one of the measures ap, rr, "
    "success@N and pos@top; fit ndcg@10, rbp@0.8 or rr instead."
}
_REFUSED["infap"] = "this measure is not offered; leave it out, or take it from trec_eval."
_REFUSED |= dict.fromkeys(
    ("rprec", "bpref", "judged"), "this measure is for rerank evaluate and is not fitted; fit ap or ndcg@10 instead."
)


def parse(statistic: object) -> RankStatistic:
    """The statistic meant by a name, an array ``a_1..a_n``, a callable ``a(l, n)``, or a statistic itself.

    Raises
    ------
    InputError
        For an unknown name, with the nearest known one.
    """
    if isinstance(statistic, RankStatistic):
        return statistic
    if isinstance(statistic, str):
        return _from_text(statistic)
    return Custom(statistic)  # type: ignore[arg-type]


def known() -> list[str]:
    """Every name, with N for a number of places and P for a power."""
    names = []
    for kind in NAMED:
        if kind.number is None or kind.number.optional:
            names.append(kind.stem)
        if kind.number is not None:
            names.append(f"{kind.stem}@{kind.number.letter}")
    return names


def _from_text(text: str) -> RankStatistic:
    word = text.strip().lower()
    if (match := _THINNED.fullmatch(word)) is not None:
        raise InputError(f"{text!r}: there is no thinning any more; write {match[1]!r}.")
    if (match := _IN_LISTS.fullmatch(word)) is not None:
        inside = _from_text(match[1])
        if inside.counts_pairs:
            raise InputError(f"{text!r}: {inside} is the same in lists of every length; write {inside.name!r}.")
        return InLists(inside, int(match[2]))
    if word.startswith(Custom.stem):
        return Custom.read(word)
    if word.endswith("%"):
        return _of_share(text, word[:-1])
    plain = re.sub(r"[\s_-]", "", word)
    stem, at, argument = (plain, "", "") if plain in _BY_NAME else word.partition("@")
    stem = re.sub(r"[\s_-]", "", stem)
    if stem == MRR.stem and at:
        raise InputError(
            f"{text!r}: mrr is the sum over all relevant items and takes no number; write "
            f"{_named(ReciprocalRank, argument)!r} for the reciprocal rank of the first one in the top places."
        )
    if stem.startswith("window"):
        return Window.read(stem, argument)
    if stem in _REFUSED:
        raise InputError(f"{text!r}: {_REFUSED[stem]}")
    if stem not in _BY_NAME:
        raise unknown("statistic", text, known(), _meant(stem, argument))
    kind = _BY_NAME[stem]
    if at:
        return kind(_number(text, kind, argument))  # type: ignore[call-arg]
    if kind.number is not None and not kind.number.optional:
        raise InputError(f"{text!r} needs a number after '@', for example {_example(kind, kind.number)!r}.")
    return kind()


def _of_share(text: str, word: str) -> RankStatistic:
    """Such as "precision@2%"."""
    name, _, percent = word.partition("@")
    try:
        share = float(percent)
    except ValueError:
        raise InputError(f"{text!r}: {percent!r} is no share of a list; write 'precision@2%'.") from None
    try:
        return Share(_from_text(f"{name}@1"), share)
    except InputError as error:  # which names what was written, and not the number that stands for it here
        raise InputError(str(error).replace("@1'", f"@{percent}%'")) from None


def _number(text: str, kind: type[RankStatistic], argument: str) -> float:
    if kind.number is None:
        raise InputError(
            f"{text!r}: {kind.stem} takes no number, and without one it is another measure; a cut-off is read after "
            "dcg, ndcg, precision, recall, ap, rr and success."
        )
    try:
        return kind.number.read(argument)
    except ValueError:
        raise InputError(
            f"{text!r}: {argument!r} is not {kind.number.kind}; write one, such as in {_example(kind, kind.number)!r}."
        ) from None


def _meant(stem: str, argument: str) -> str:
    """The known name nearest to one that is not known; empty where none is near."""
    # "dcg10" is the commonest slip, so digits at the end are read as a cut-off before names are compared.
    letters = stem.rstrip("0123456789")
    number = stem[len(letters) :] or argument
    near = similar(letters, _BY_NAME, most=1, cutoff=0.6)
    if not near:
        return ""
    kind = _BY_NAME[near[0]]
    if number and kind is MRR:  # with a number the field means the first relevant item
        kind = ReciprocalRank
    return kind.stem if kind.number is None or (kind.number.optional and not number) else _named(kind, number)


def _named(kind: type[RankStatistic], number: str) -> str:
    """The name with this number if it is one, else with that of the example."""
    assert kind.number is not None
    try:
        return kind(kind.number.read(number)).name  # type: ignore[call-arg]
    except ValueError:
        return _example(kind, kind.number)


def _example(kind: type[RankStatistic], number: Number) -> str:
    return f"{kind.stem}@{number.example}"

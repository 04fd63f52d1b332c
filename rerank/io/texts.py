"""Many short texts in one buffer: cut out of a file, compared and hashed without an object for each."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]
Sizes = NDArray[np.intp] | NDArray[np.int32]
Keys = NDArray[np.uint64]

_BLOCK = 2**16  # rows whose words stay in the cache
_FIRST = np.array([2 ** (8 * k) - 1 for k in range(9)], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # multipliers that mix well
_SHIFT = np.uint64(32)


def padded(raw: bytes) -> NDArray[np.uint8]:
    """A buffer for texts: its last word may end behind the last text."""
    return np.frombuffer(raw + bytes(8), dtype=np.uint8)


class Texts:
    """Texts of UTF-8, by where each begins in a buffer and how many bytes it has; words of 8 bytes are compared."""

    def __init__(self, raw: bytes | NDArray[np.uint8], start: Indices, size: Sizes) -> None:
        if isinstance(raw, bytes):
            raw = padded(raw)
        self.raw, self.start, self.size = raw, start, size
        # Every byte begins a word: NumPy reads these where they stand.
        self._word = np.ndarray((raw.size - 7,), dtype="<u8", buffer=raw.data, strides=(1,))

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """Texts given one by one."""
        each = [text.encode("utf-8", "surrogatepass") for text in texts]
        size = np.fromiter(map(len, each), dtype=np.intp, count=len(each))
        return cls(b"".join(each), np.cumsum(size) - size, size)

    def __len__(self) -> int:
        return int(self.size.size)

    def some(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Texts":
        """Some of the texts, in the same buffer."""
        return Texts(self.raw, self.start[rows], self.size[rows])

    def tolist(self) -> list[str]:
        """The texts as Python has them."""
        begin, end = int(self.start.min(initial=self.raw.size)), int((self.start + self.size).max(initial=0))
        raw = self.raw[begin:end].tobytes()
        places = zip((self.start - begin).tolist(), (self.start + self.size - begin).tolist())
        if raw.isascii():
            text = raw.decode("ascii")
            return [text[first:last] for first, last in places]
        return [raw[first:last].decode("utf-8", "surrogatepass") for first, last in places]

    def _words(self, rows: slice = slice(None)) -> Iterator[tuple[Indices | slice, Keys]]:
        """Places in ``rows`` and the next 8 bytes there, with zeros behind the end of a text."""
        start, size = self.start[rows], self.size[rows]
        left, part = size, 0
        where: Indices | slice = slice(None)
        while left.size:
            yield where, self._word[start + 8 * part] & _FIRST[np.minimum(left, 8)]
            part += 1
            some = np.flatnonzero(size > 8 * part)
            where, start, left = some, self.start[rows][some], size[some] - 8 * part

    def changes(self) -> Indices:
        """Places of the texts that differ from the one before; the first does."""
        new, every = np.ones(len(self), dtype=bool), np.arange(len(self))
        new[1:] = self.size[1:] != self.size[:-1]
        for where, word in self._words():
            new[every[where][1:][word[1:] != word[:-1]]] = True
        return np.flatnonzero(new)

    def keys(self, lists: Indices) -> Keys:
        """A number for each text and its list: equal for equal ones, and rarely for others."""
        found = np.empty(len(self), dtype=np.uint64)
        for begin in range(0, len(self), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            own = (self.size[rows].astype(np.uint64) << _SHIFT) ^ lists[rows].astype(np.uint64)
            own = _mixed(own, 0)
            for where, word in self._words(rows):
                own[where] = _mixed(own[where] ^ word, 1)
            found[rows] = _mixed(own, 0)
        return found

    def padded(self, most: int) -> NDArray[np.bytes_] | None:
        """The bytes of each text, with zeros behind them; None if one has more than ``most``."""
        longest = int(self.size.max(initial=1))
        if longest > most:
            return None
        found = np.zeros((len(self), -(-longest // 8)), dtype="<u8")
        for part, (where, word) in enumerate(self._words()):
            found[where, part] = word
        return found.view(f"S{8 * found.shape[1]}").ravel()

    def equal(self, others: "Texts") -> NDArray[np.bool_]:
        """Whether each text is the one of the same number among others."""
        same = self.size == others.size
        mine, theirs = self.some(same), others.some(same)
        alike = np.ones(len(mine), dtype=bool)
        for (where, word), (_, other) in zip(mine._words(), theirs._words()):
            alike[where] &= word == other
        same[same] = alike
        return same


def _mixed(keys: Keys, k: int) -> Keys:
    keys = keys * _ODD[k]
    keys ^= keys >> _SHIFT
    return keys

"""How the work of a search is shared between boxes and lines: by what each of them brings."""

from __future__ import annotations

from dataclasses import dataclass

LEAST, MOST = 1 / 15, 4.0
"""Between which the share of lines stays, whatever they bring."""


@dataclass
class Share:
    """Work of a job that follows lines, as a part of the work on all boxes.

    Attributes
    ----------
    now : float
        The share.
    judged : float
        Work on boxes when it was last judged.
    by_lines, by_boxes : float
        By how much lines raised the value since then, and boxes closed the gap.
    """

    now: float
    judged: float = 0.0
    by_lines: float = 0.0
    by_boxes: float = 0.0

    def judge(self, done: float, least: float, blind: bool) -> None:
        """Judge anew whenever the work on boxes has doubled, and at first after the ``least`` work."""
        if done >= 2.0 * self.judged + least:
            self.now = following(self.now, self.by_lines, self.by_boxes, blind)
            self.judged, self.by_lines, self.by_boxes = done, 0.0, 0.0


def following(share: float, by_lines: float, by_boxes: float, blind: bool) -> float:
    """The share of lines after a period in which lines raised the value, and boxes closed the gap, by so much.

    It is doubled where the work on lines brought more and halved where that on boxes did.  It stays where neither
    brought anything, unless boxes are ``blind``: their bound is still that of the ideal lists after much work.
    """
    if by_lines > share * by_boxes or (by_boxes <= 0.0 and blind):
        return max(share, min(2.0 * share, MOST))
    return share if by_boxes <= 0.0 else min(share, max(0.5 * share, LEAST))

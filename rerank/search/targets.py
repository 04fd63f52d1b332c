"""Targets: boxes are explored down to a bound above the best value first, and then to lower ones.

Only boxes whose bound is above the target are split; the others are set aside.  When none is left, the target bounds
every value, and the next pass over all boxes has a lower target.  The passes together cost little more than the last:
the number of boxes grows about exponentially with what the target is lowered by.  Without targets a search that has no
time to close has boxes of every bound left, and mostly one that bounds nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, floor, inf, log

from rerank.search.boxes.open import OpenBoxes

MANY = 12  # features beyond which boxes prove nothing in practice
FIRST = 0.7  # of the gap that the first target leaves, and the second of what the first left
GROWTH = 4.0  # of the work from pass to pass
LEAST, MOST = 0.1, 0.5  # of the gap that a target is lowered by
CLOSE = 8.0  # the last pass may take so many times the work of the one before
SHARE = 0.6  # of the work that is left, for one pass
TOO_MUCH = 5.0  # times the work that was expected of a pass, after which a higher target is tried
FIRST_WORK = 2e8  # evaluations of a pair that the first pass may take,
FIRST_WORK_ROWS = 4e7  # or of a row
REST = 1.5  # times the time that screening takes, for what it leaves open, too
FIRST_SHARE = 0.3  # of the time that is left, for the first pass over many supports
FALL, HIGHEST = 4.0, 0.9  # work falls by about e^-FALL from the best value to the ideal one; the highest first target
FAILURES, FAILURES_OF_MANY = 3, 1  # passes given up before the first that ends, then there are no more targets


@dataclass(eq=False)
class Targets:
    """The target of each pass, chosen by what earlier passes took."""

    begun: bool = False  # whether there was a pass
    passes: int = 0  # that reached their end,
    failures: int = 0  # and that were given up
    most_failures: int = FAILURES
    target: float = 0.0  # of the last two passes that reached their end
    work: float = 1.0
    target_before: float = 0.0
    work_before: float = 1.0
    start: float = 0.0  # work before this pass,
    expected: float = 0.0  # and what it may take

    @property
    def failed(self) -> bool:
        """Whether there are no more targets, since not even the first pass ended."""
        return not self.passes and self.failures >= self.most_failures

    def first(self, boxes: OpenBoxes, done: float) -> None:
        """Begin the first pass."""
        self.begun = True
        self.most_failures = FAILURES_OF_MANY if boxes.domain.n_features > MANY else FAILURES
        self.expected = (FIRST_WORK_ROWS if boxes.tables.by_rows else FIRST_WORK) / TOO_MUCH
        self._begin(boxes, done, _between(boxes, boxes.value, FIRST))

    def aim(self, boxes: OpenBoxes, done: float, left: float, blind: Callable[[], bool]) -> None:
        """Take up targets where boxes have brought nothing, or another one where a pass takes too long."""
        if self.begun:
            self.give_up(boxes, done)
        elif len(boxes.columns) > 1:
            self._first_of_many(boxes, done, left)
        elif blind():
            self.first(boxes, done)

    def _first_of_many(self, boxes: OpenBoxes, done: float, left: float) -> None:
        """Begin the first pass over many supports if too little time is left to do without. Until all of them are
        screened no bound but the ideal value is known.
        """
        unscreened = boxes.unexplored.unscreened
        needed = REST * done * unscreened / max(len(boxes.columns) - unscreened, 1)
        if needed > left > 0:
            self.begun, self.expected = True, SHARE * left / TOO_MUCH
            share = log(needed / (FIRST_SHARE * left)) / FALL
            self._begin(boxes, done, _between(boxes, boxes.value, min(max(share, LEAST), HIGHEST)))

    def next(self, boxes: OpenBoxes, done: float, left: float) -> None:
        """Begin the next pass after one that reached its end, with so much work ``left``."""
        self.passes += 1
        self.target_before, self.work_before = self.target, self.work
        self.target, self.work = boxes.target, max(done - self.start, 1.0)
        boxes.reached()
        gap, growth = self.target - boxes.value, GROWTH
        lower = FIRST * gap
        if self.passes > 1:
            rate = max(log(self.work / self.work_before), 0.1) / (self.target_before - self.target)
            growth = max(min(GROWTH, SHARE * left / self.work), 1.1)
            lower = gap - min(max(log(growth) / rate, LEAST * gap), MOST * gap)
            if self.work * exp(min(rate * gap, 99.0)) < min(CLOSE * self.work, left):
                lower = 0.0
        self.expected = self.work * growth
        self._begin(boxes, done, boxes.value + lower)

    def give_up(self, boxes: OpenBoxes, done: float) -> None:
        """Begin again with a target between this one and the bound if this pass takes too long."""
        if boxes.target == -inf or done - self.start < TOO_MUCH * self.expected:
            return
        self.failures += 1
        self.expected *= 2.0
        self._begin(boxes, done, -inf if self.failed else _between(boxes, boxes.target, 0.5))

    def _begin(self, boxes: OpenBoxes, done: float, target: float) -> None:
        """Restart the boxes with a target; one that is not above the value stands for none."""
        if boxes.tables.integral and not boxes.prices.any() and target > -inf:
            target = float(floor(target))
        self.start = done
        boxes.target = target if target > boxes.value + boxes.slack else -inf
        boxes.restart(boxes.axes.whitened)


def _between(boxes: OpenBoxes, low: float, share: float) -> float:
    return low + share * (min(boxes.cap, boxes.tables.ideal) - low)

"""The branch and bound itself: :meth:`BranchAndBound.explore` is the loop, the rest of the file is one round of it.

A round consists of a fixed number of jobs, whatever the number of workers: most explore boxes, some follow lines.
Every job begins with what was known when the round began, and the results are merged in the order of the jobs.  Jobs
are sized by the work they do and not by the clock, so until the time runs out the search takes the same steps with
any number of workers and on any joblib backend.  Jobs that are not begun by then are given back.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import takewhile
from math import inf
from typing import Any

from rerank.errors.stops import current
from rerank.search.boxes.axes import whitened_basis
from rerank.search.boxes.open import OpenBoxes
from rerank.search.boxes.vertices import fathom_unresolved
from rerank.search.jobs import explore_batches, follow_lines, screen_supports
from rerank.search.lines.search import ClimbState
from rerank.search.run import SearchRun
from rerank.search.targets import Targets
from rerank.search.workers import Job, SearchWorkers

JOBS = 16  # of a round; the last to end keeps the other workers waiting for a part of one job in so many
ALONE = 0.02  # seconds of exploring before work is shared out; waking a thread takes some 1e-4 s
FIRST_WORK = 2e5  # evaluations of a pair by a job of the first round, doubled from round to round
MOST_WORK = 8e6  # some hundredths of a second
OWN_AXES, OWN_AXES_ROWS = 1e7, 4e6  # evaluations of a pair, and of a row, before a whitened basis is tried
LEAST = 4.0  # evaluations of every pair by a job; with fewer, setting it up would dominate
OPEN = 0.5  # of the first gap that is left after
BLIND, BLIND_ROWS = 1e8, 2e7  # evaluations of a pair, and of a row, before targets are taken up,
FEW, PATIENCE, PATIENCE_LINEAR = 8, 10.0, 4.0  # times as many up to so many features: boxes mostly close then
IN_A_PASS = 0.25  # share of lines at most beside boxes with a target, of which nothing shows before the pass ends
AHEAD = 0.3  # share of lines from which they do not wait for the boxes' work
A_SPLIT = 5e-6  # seconds to make a proof, for each split, which are kept for it


@dataclass(eq=False)
class BranchAndBound:
    """The loop over open boxes."""

    run: SearchRun
    workers: SearchWorkers
    node_limit: int | None = None  # boxes after which to stop, at the end of a round
    targets: Targets = field(default_factory=Targets)
    gave_up: bool = False  # whether what is open stays so, whatever the time
    done: float = 0.0  # evaluations of a pair
    tried: bool = False  # whether a whitened basis was considered
    work: float = 0.0
    busy: float = 0.0
    speed: float = 5e7
    owed: float = 0.0

    @property
    def boxes(self) -> OpenBoxes:
        """Those of the run."""
        return self.run.boxes

    def explore(self, *reports: Callable[[OpenBoxes], None]) -> bool:
        """Explore until every box is fathomed (True), or a limit or Ctrl-C says stop (False). The ``reports`` are
        called after each round, when ``boxes`` holds all that is open.
        """
        boxes, stop, most = self.boxes, current(), inf if self.node_limit is None else self.node_limit

        def after(boxes: OpenBoxes) -> None:
            for report in reports:
                report(boxes)

        with self.workers:
            while True:
                while boxes.drop_fathomed():
                    if boxes.boxes >= most or stop.now or stop.left < A_SPLIT * boxes.n_splits:
                        return False
                    if self._own_axes_are_slow():
                        boxes.restart(whitened=True)
                    if not self._screen():
                        self._explore(stop.left)
                    self.targets.aim(boxes, *self._work_done(), self._blind)
                    after(boxes)
                if fathom_unresolved(boxes, self.run.exact, self.run.offer_scaled, after):
                    if boxes.open_bound() <= boxes.value + boxes.slack:
                        return True
                    self.targets.next(boxes, *self._work_done())
                elif boxes.axes.whitened and not stop.now:
                    boxes.restart(whitened=False)  # exact arithmetic is for boxes of weights only
                elif not boxes.heap:
                    self.gave_up = not stop.now
                    return False

    def _work_done(self) -> tuple[float, float]:
        """Work so far and work that is left: evaluations, but of many supports seconds of the rounds."""
        left = current().left
        return (self.busy, left) if len(self.boxes.columns) > 1 else (self.done, self.speed * left)

    def counters(self) -> dict[str, tuple[Any, str]]:
        """What the steps to come depend on, beside boxes and lines: numbers, each an attribute of an object."""
        own: dict[str, tuple[Any, str]] = {name: (self, name) for name in ("done", "tried", "work", "owed", "busy")}
        parts = ("", self.run.share), ("pass ", self.targets)
        return own | {f"{title}{each.name}": (part, each.name) for title, part in parts for each in fields(part)}

    def _own_axes_are_slow(self) -> bool:
        """Whether to go on in a whitened basis: one support, features correlated, no proof asked for; asked once. A
        proof is about boxes of weights, so its search keeps to the features' own axes.
        """
        if self.tried or self.done < (OWN_AXES_ROWS if self.boxes.tables.by_rows else OWN_AXES):
            return False
        self.tried = True
        boxes = self.boxes
        if len(boxes.columns) > 1 or boxes.record or boxes.domain.signed.any():
            return False
        return whitened_basis(boxes.tables.covariance, boxes.tables.epsilon) is not None

    def _blind(self) -> bool:
        """Whether boxes have brought little: most of the gap is still open."""
        boxes = self.boxes
        most = boxes.value + OPEN * (boxes.tables.ideal - boxes.value)
        patience = PATIENCE_LINEAR if boxes.tables.linear else PATIENCE
        work = (BLIND_ROWS if boxes.tables.by_rows else BLIND) * (patience if boxes.domain.n_features <= FEW else 1.0)
        return self.done > work and boxes.largest_bound() >= most

    def _screen(self) -> bool:
        """Fathom many supports at a time; False if it is not their turn."""
        began = time.perf_counter()
        jobs = [(screen_supports, given) for given in self.boxes.screening_shares(JOBS)]
        if jobs:
            results = self.workers.run(jobs, alone=self.busy < ALONE)
            self.boxes.merge_screened(takewhile(lambda found: found is not None, results))
            self.busy += time.perf_counter() - began
        return bool(jobs)

    def _explore(self, left: float) -> None:
        """One round: explore the batches of largest bound, and follow lines beside them."""
        boxes, share, count = self.boxes, self.run.share, JOBS - len(self.run.states)
        size = boxes.tables.size
        self.work = min(max(2 * self.work, FIRST_WORK, 16.0 * size), max(MOST_WORK, 60.0 * size))
        each = min(self.work, max(self.speed * max(left, 0.02) / JOBS, LEAST * size))
        began, gap = time.perf_counter(), boxes.open_bound() - boxes.value
        picked = boxes.pick(count)
        try:
            jobs: list[Job] = [(explore_batches, given) for given in boxes.shares(picked, count, each)]
            part = share.now if boxes.target == -inf else min(share.now, IN_A_PASS)
            ahead = part * each * len(jobs) if part >= AHEAD else 0.0
            self.owed += ahead
            lines = self._line_jobs(left)
            results = self.workers.run([*lines, *jobs], alone=self.busy < ALONE)
        except BaseException:
            boxes.put_back(picked)
            raise
        explorations = results[len(lines) :]
        for i, job in enumerate(explorations):
            if job is None:
                boxes.put_back(picked[i::count])
        explored = boxes.merge(found for job in explorations for found in job or ())
        by_boxes = boxes.value
        self._merge_lines(results[: len(lines)])
        for corner in boxes.corners():
            self.run.offer(corner)
        share.by_lines += boxes.value - by_boxes
        share.by_boxes += max(gap - (boxes.open_bound() - by_boxes), 0.0)
        spent = time.perf_counter() - began
        self.done += explored
        self.owed += part * explored - ahead
        if boxes.target == -inf:
            share.judge(self.done, FIRST_WORK, self._blind())
        self.busy += spent
        self.speed = 0.5 * self.speed + 0.5 * explored / max(spent, 1e-6)

    def _line_jobs(self, left: float) -> list[Job]:
        """Lines for a share of the work done on boxes, once that is enough for one line."""
        lines, states = self.run.lines, self.run.states
        if not states or self.owed < lines.cost:
            return []
        work, self.owed = self.owed, 0.0
        return [(follow_lines, (lines.tables, lines.domain, state, self.boxes.best, work, left)) for state in states]

    def _merge_lines(self, results: Sequence[ClimbState | None]) -> None:
        """Offer the points that the lines found, and give the best points of all to each of them."""
        states = [new or old for new, old in zip(results, self.run.states, strict=False)]
        self.run.states = states or self.run.states
        best = [point for state in states for point in state.elite]
        for state in states:
            if state.found is not None:
                self.run.offer(state.found)
            state.remember(best)

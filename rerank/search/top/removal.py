r"""Which rows must leave so that some weights put all positives that stay ahead of all negatives that stay, compiled.

Weights under which ``j`` positives lose at most ``l`` pairs each are weights that order all rows but ``n+ - j``
positives and ``l`` negatives.  Several such demands at once are blocks of the same rows, and a row may leave any of
them.  A *conflict* is a set of rows that no weights order by the margin
(:mod:`rerank.search.top.simplex`): one of them has to leave.  The search removes a row of a conflict or keeps it,
depth first, until every conflict known is met; then the rows left are in order, or they contain a new conflict.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.search.compiled import inner, kernel
from rerank.search.top.simplex import shares, widest

REFUTED, REACHED, PAUSED, UNKNOWN = 0, 1, 2, 3
OUTCOMES = {REFUTED: False, REACHED: True}
FREE, GONE, KEPT = 0, 1, 2


class Conflicts(NamedTuple):
    """Conflicts, one a line: rows, their shares of the positives or negatives, and how many rows there are."""

    members: Any  # int64 (M, m)
    shares: Any  # float64 (M, m)
    size: Any  # int64 (M,)
    count: Any  # int64 (1,)


class RemovalState(NamedTuple):
    """Where the search stands: which rows have left."""

    status: Any  # FREE, GONE or KEPT, by row
    dropped: Any  # bool, by row
    spare: Any  # int64 (2 B,): negatives and positives that may still leave each block
    often: Any  # conflicts not met that hold a row
    mark: Any
    trail: Any  # rows decided, in order; ``-1 - e`` for a row that had to follow another
    at: Any  # int64 (3,): how many these are, nodes so far, and looks at conflicts and at numbers of programs
    after: Any  # the same row in the block that it leaves with this one, or -1
    ahead: Any  # the row that this one follows, or -1


def beginning(positive: NDArray[np.bool_], spare: Sequence[int]) -> RemovalState:
    """No row has left, and so many negatives and positives of each block may leave at most. Demands grow from block to
    block: a positive that leaves a block leaves those before it, a negative those after it.
    """
    blocks = len(spare) // 2
    n = positive.size // blocks
    number = np.arange(positive.size)
    other = np.where(positive, number - n, number + n), np.where(positive, number + n, number - n)
    after, ahead = (np.where((x >= 0) & (x < positive.size), x, -1) for x in other)
    status, often, mark, trail = (np.zeros(positive.size, np.int64) for _ in range(4))
    dropped = np.zeros(positive.size, np.bool_)
    left = np.array(spare, np.int64)
    return RemovalState(status, dropped, left, often, mark, trail, np.zeros(3, np.int64), after, ahead)


@inner()
def kind(e: int, given: Any) -> int:
    """The number of a row's block and class, by which rows that may still leave are counted."""
    return 2 * given.block[e] + (1 if given.positive[e] else 0)


@inner()
def _may_leave(e: int, given: Any, state: Any) -> bool:
    if state.status[e] != FREE:
        return False
    while e >= 0 and state.status[e] != GONE:
        if given.copies[e] > state.spare[kind(e, given)]:
            return False
        e = state.after[e]
    return True


@inner()
def _urgent(given: Any, conflicts: Any, state: Any, turn: int) -> int:
    """The conflict not met in which the fewest rows may leave; -1 if all are met, -2 if they cannot all be met."""
    which = -1
    fewest = given.copies.size + 1
    apart = 0
    for e in range(given.copies.size):
        state.often[e] = 0
    for c in range(conflicts.count[0]):
        met, choices, alone = False, 0, True
        for q in range(conflicts.size[c]):
            e = conflicts.members[c, q]
            if state.status[e] == GONE:
                met = True
                break
            if _may_leave(e, given, state):
                choices += 1
                alone = alone and state.mark[e] != turn
        if met:
            continue
        if choices == 0:
            return -2
        if choices < fewest:
            fewest, which = choices, c
        apart += 1 if alone else 0
        for q in range(conflicts.size[c]):
            e = conflicts.members[c, q]
            if _may_leave(e, given, state):
                state.often[e] += 1
                if alone:
                    state.mark[e] = turn
    for x in state.spare:
        apart -= x
    # Conflicts that share no row that may leave need a row each.
    return -2 if apart > 0 else which


@inner()
def _decide(e: int, status: int, given: Any, state: Any) -> None:
    """Let a row leave, with those that follow it, or keep it, with those that it would follow."""
    entry = e
    while e >= 0 and state.status[e] == FREE:
        state.status[e] = status
        state.dropped[e] = status == GONE
        if status == GONE:
            state.spare[kind(e, given)] -= given.copies[e]
        state.trail[state.at[0]] = entry
        state.at[0] += 1
        e = state.after[e] if status == GONE else state.ahead[e]
        entry = -1 - e


@inner()
def _branch(c: int, given: Any, conflicts: Any, state: Any) -> None:
    """Remove the row of a conflict that meets the most conflicts."""
    which = -1
    for q in range(conflicts.size[c]):
        e = conflicts.members[c, q]
        if _may_leave(e, given, state) and (which < 0 or state.often[e] > state.often[which]):
            which = e
    _decide(which, GONE, given, state)


@inner()
def _back(given: Any, state: Any) -> bool:
    """Keep the last row that was chosen to leave; False if there is none."""
    while state.at[0] > 0:
        state.at[0] -= 1
        entry = state.trail[state.at[0]]
        e = entry if entry >= 0 else -1 - entry
        left = state.status[e] == GONE
        if left:
            state.spare[kind(e, given)] += given.copies[e]
        state.status[e] = FREE
        state.dropped[e] = False
        if left and entry >= 0:
            _decide(e, KEPT, given, state)
            return True
    return False


@inner()
def _added(given: Any, conflicts: Any, basis: Any) -> bool:
    """Keep the rows of the basis as a conflict, if rounding does not forbid that or memory end."""
    at = conflicts.count[0]
    if at == conflicts.size.size:
        return False
    share = conflicts.shares[at]
    if shares(given, basis, share) >= given.below:
        return False
    n = 0
    for q in range(share.size):
        if share[q] > 0.0:
            conflicts.members[at, n] = basis.column[q]
            share[n] = share[q]
            n += 1
    conflicts.size[at] = n
    conflicts.count[0] = at + 1
    return True


@kernel()
def removal(given: Any, conflicts: Any, state: Any, basis: Any, programs: int, nodes: int, steps: int) -> int:
    """``REFUTED`` or ``REACHED``: whether so few rows can leave that the others are in order; or left open.

    ``given`` are Blocks. Conflicts found are added to those known; ``state`` is from :func:`beginning`, or as an
    earlier call left it; ``basis`` is memory of the programs, and holds weights that put the rows left in order. It
    pauses after so many linear programs and ``nodes``; rounding, memory, or ``steps`` of the simplex method may leave
    the answer open.
    """
    until = state.at[1] + nodes
    while state.at[1] < until and programs > 0:
        state.at[1] += 1
        state.at[2] += conflicts.count[0]
        c = _urgent(given, conflicts, state, state.at[1])
        if c == -1:
            programs -= 1
            state.at[2] += given.rows.size
            margin = widest(given, state.dropped, basis, steps)
            if margin >= given.epsilon:
                return REACHED
            if not _added(given, conflicts, basis):
                return UNKNOWN
        elif c >= 0:
            _branch(c, given, conflicts, state)
        elif not _back(given, state):
            return REFUTED
    return PAUSED

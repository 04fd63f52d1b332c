"""How many 95 % intervals of risks hold on rows to come: of the rows of each total, of those of its pool, by refits.

``python -m benchmarks.card_intervals`` draws tables of normal columns with logistic labels, of 200, 400 and 1,000 rows,
fits cards of three to five questions, and counts the totals whose true risk, on 100,000 rows more, is in the interval;
with ``--refits`` also those of ``validation="bootstrap"``. ``docs/cards-measured.md`` has what it prints.
"""

import argparse

import numpy as np

from rerank.scorecard import Scorecard
from rerank.scorecard.card import risks

TO_COME, FEWEST = 100_000, 200  # rows to come, and those of a total that is counted


def counted(seed: int, refits: bool) -> list[list[float]]:
    """For each total of a card of a drawn table: whether each interval holds, and how wide it is."""
    rng = np.random.default_rng(seed)
    n, d, k = (int(rng.choice(own)) for own in ((200, 400, 1000), (5, 10), (3, 4, 5)))
    weights, offset = rng.normal(size=d) * rng.choice([0.3, 0.7]), rng.choice([-2, -1, 0])
    X, more = (rng.normal(size=(rows, d)).round(1) for rows in (n, TO_COME))
    risk, true = (1 / (1 + np.exp(-(own @ weights + offset))) for own in (X, more))
    y = rng.random(n) < risk
    if not 10 <= y.sum() <= n - 10:
        return []
    validation = "bootstrap" if refits else None
    card = Scorecard(n_questions=k, points=3, validation=validation, time_limit=60).fit(X, y).card_
    counts = card.total(X), y * 1.0, 1.0 - y
    every = [risks(*counts, pooled=True), risks(*counts), *([card.totals] if refits else [])]
    totals, found = card.total(more), []
    for each in zip(*every):
        own = totals == each[0].total
        if own.sum() >= FEWEST:
            share = true[own].mean()
            found.append([float(one.low <= share <= one.high) for one in each] + [one.high - one.low for one in each])
    return found


def main() -> None:
    """Count, table by table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--refits", action="store_true", help="also intervals by refits, forty a card")
    given = parser.parse_args()
    every = [one for seed in range(given.seed, given.seed + given.tables) for one in counted(seed, given.refits)]
    means, names = np.mean(every, axis=0), ["rows of the pool", "rows of the total", "by refits"]
    print(f"{len(every)} totals of {given.tables} tables; the interval holds, mean width:")
    for name, holds, width in zip(names, *np.split(means, 2)):
        print(f"{name:18}{100 * holds:.1f} %  {width:.3f}")


if __name__ == "__main__":
    main()

"""How many 95 % intervals of risks hold on rows to come: of a card as if it had been given, and by refits.

``python -m benchmarks.card_intervals`` draws tables of normal columns with logistic labels, of 200, 400 and 1,000 rows,
fits cards of three to five questions, and counts the totals whose true risk, on 100,000 rows more, is in the interval.
``docs/cards-measured.md`` has what it prints.
"""

import argparse

import numpy as np

from rerank.scorecard import Scorecard

TO_COME, FEWEST = 100_000, 200  # rows to come, and those of a total that is counted


def counted(seed: int) -> list[tuple[bool, bool, float, float]]:
    """For each total of a card of a drawn table: whether either interval holds, and how wide it is."""
    rng = np.random.default_rng(seed)
    n, d, k = (int(rng.choice(own)) for own in ((200, 400, 1000), (5, 10), (3, 4, 5)))
    weights, offset = rng.normal(size=d) * rng.choice([0.3, 0.7]), rng.choice([-2, -1, 0])
    X, more = (rng.normal(size=(rows, d)).round(1) for rows in (n, TO_COME))
    risk, true = (1 / (1 + np.exp(-(own @ weights + offset))) for own in (X, more))
    y = rng.random(n) < risk
    if not 10 <= y.sum() <= n - 10:
        return []
    card = Scorecard(n_questions=k, points=3, validation="bootstrap", time_limit=60).fit(X, y).card_
    plain = card.with_totals(card.total(X), y * 1.0, 1.0 - y)
    totals, found = card.total(more), []
    for refitted, given in zip(card.totals, plain.totals):
        own = totals == given.total
        if own.sum() >= FEWEST:
            share = true[own].mean()
            holds = [one.low <= share <= one.high for one in (given, refitted)]
            found.append((*holds, given.high - given.low, refitted.high - refitted.low))
    return found


def main() -> None:
    """Count, table by table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    every = [one for seed in range(given.seed, given.seed + given.tables) for one in counted(seed)]
    plain, refitted, width, wider = np.mean(every, axis=0)
    print(f"{len(every)} totals of {given.tables} tables; the interval holds, mean width:")
    print(f"card as if given  {100 * plain:.1f} %  {width:.3f}")
    print(f"by refits         {100 * refitted:.1f} %  {wider:.3f}")


if __name__ == "__main__":
    main()

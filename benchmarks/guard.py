"""Guarded fits of made-up machines, draw after draw: ``python -m benchmarks.guard [--draws N] [--rule mean]``.

The machines are those of ``rerank demo`` with other seeds. For each draw the guarded fit is judged on the same fifty
lists to come, and its mean lead over logistic regression is printed with a 95 % interval.
"""

from __future__ import annotations

import argparse

from rerank.cli.demo import TOP, guarded


def main() -> None:
    """Print a line for each draw, and how many the guarded fit gained, lost and left alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rule", choices=("strict", "mean"), default="strict", help="rule of RerankerCV")
    asked = parser.parse_args()
    draws = asked.draws
    for ways in (2, 1):
        print(f"Machines with {ways} way{'s' if ways > 1 else ''} to fail: hits among the first {TOP} of lists to come")
        clear = lost = kept = 0
        leads = []
        for seed in range(1, draws + 1):
            case = guarded(seed, ways, node_limit=0, rule=asked.rule)
            mean, half = case.lead
            leads.append(mean)
            clear, lost, kept = clear + (mean - half > 0), lost + (mean + half < 0), kept + case.kept
            found = "first stage kept" if case.kept else f"lead {mean:+.2f} ({mean - half:+.2f} to {mean + half:+.2f})"
            print(f"  draw {seed:2d}: first stage {case.first.mean():.2f}, {found}", flush=True)
        print(
            f"  {draws} draws: gained on {clear}, lost on {lost} (intervals without 0), first stage kept on {kept}; "
            f"mean lead {sum(leads) / draws:+.2f}"
        )


if __name__ == "__main__":
    main()

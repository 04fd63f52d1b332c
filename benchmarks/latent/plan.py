"""What the law says of many machines and longer logs: calculated tables, and a picture beside what was measured.

Printed by ``python -m benchmarks.latent --scaling``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.latent.law import Constants, Size, epoch, machine_gb

TEN_GBIT = 1.25e9
EPOCHS = 40
PLANS = ((1, 1, 2), (1, 4, 8), (10, 4, 16), (10, 16, 8), (100, 16, 16), (100, 64, 4))  # times, machines, cores


def tables(size: Size, k: Constants, samples: int) -> None:
    """The law for 4 to 64 machines."""
    one = epoch(size, k, 1).total
    print(f"\nCalculated: seconds of an epoch of the Million Song log, samples of {samples} items in the xi-step")
    print("machines  cores  compute  scans  copies    deal    wire  latency  driver   epoch", end="")
    print("  at 10 Gbit/s  speed-up  efficiency")
    for machines, cores in [(1, 1), *((m, 1) for m in (4, 8, 16, 32, 64)), (4, 16), (16, 16)]:
        e = epoch(size, k, machines, cores)
        fast = epoch(size, replace(k, wire=TEN_GBIT), machines, cores)
        speed = one / e.total
        print(
            f"{machines:8d} {cores:6d} {e.compute:8.2f} {e.scans:6.2f} {e.copies:7.2f} {e.deal:7.2f} {e.wire:7.2f} "
            f"{e.latency:8.2f} {e.driver:7.2f} {e.total:7.2f} {fast.total:13.2f} {speed:9.1f} "
            f"{speed / (machines * cores):11.0%}"
        )


def plan(size: Size, k: Constants, samples: int) -> None:
    """Machines, memory and hours for longer logs."""
    print(f"\nCalculated: longer logs, {EPOCHS} epochs, samples of {samples} items in the xi-step")
    print("times  records  machines  cores  GB a machine  GB of the driver  epoch s  scans s  driver s   hours")
    for factor, machines, cores in PLANS:
        large = size.times(factor)
        e = epoch(large, k, machines, cores)
        gb, driver = machine_gb(large, machines, cores)
        print(
            f"{factor:5d} {large.records / 1e6:6.0f} M {machines:9d} {cores:6d} {gb:13.1f} {driver:17.1f} "
            f"{e.total:8.1f} {e.scans:8.1f} {e.driver:9.1f} {EPOCHS * e.total / 3600:7.2f}"
        )


def picture(size: Size, constants: dict[int, Constants], seconds: dict[tuple[str, int], float], path: str) -> None:
    """Speed-up against shards: measured points, calculated lines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shards = 2 ** np.arange(0, 9)
    figure, axes = plt.subplots(figsize=(6.4, 4.4), constrained_layout=True)
    axes.loglog(shards, shards, color="0.7", lw=1, base=2)
    axes.annotate("as many times as shards", (64, 96), rotation=35, color="0.45", ha="center", va="center")
    styles = {(min(constants), 1): "-", (min(constants), 100): "--", (max(constants), 1): ":"}
    for (samples, factor), style in styles.items():
        large, k = size.times(factor), constants[samples]
        ratio = [epoch(large, k, 1).total / epoch(large, k, int(p)).total for p in shards]
        label = f"calculated, {samples} items a sample" + (f", log times {factor}" if factor > 1 else "")
        axes.plot(shards, ratio, style, color="C0", label=label)
    for name, marker in (("local", "o"), ("ray", "s")):
        ratio = [seconds["local", 1] / seconds[name, p] for p in (1, 2)]
        axes.plot(
            (1, 2), ratio, marker, color="C3", mfc="none", ms=8, label=f"measured, {name}, a small part of the log"
        )
    axes.set(xlabel="shards, a core and a machine each", ylabel="times as fast as one", ylim=(0.35, 300))
    axes.set(xticks=shards, xticklabels=map(str, shards), yticks=shards, yticklabels=map(str, shards))
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)

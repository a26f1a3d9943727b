#!/usr/bin/env python3
"""Medians of the rounds of bench/overhead: lines SIDE SAMPLES_PER_SECOND CPU_NS_PER_SAMPLE CHECKSUM on standard input."""

import statistics
import sys

rounds = {"all": [], "bare": [], "trace": []}
sums = set()
for line in sys.stdin:
    side, speed, cpu, checksum = line.split()
    rounds[side].append((float(speed), float(cpu)))
    sums.add(checksum)
if len(sums) != 1:
    sys.exit("overhead: the sides gave different batches")


def ratio(side, figure):
    """Of a side to the bare one: the median over rounds, each against its neighbor in time."""
    return statistics.median(a[figure] / b[figure] for a, b in zip(rounds[side], rounds["bare"]))


print(f"{'':8}{'Msamples/s':>12}{'cpu ns/sample':>15}")
for side, laps in rounds.items():
    print(f"{side:8}{statistics.median(s for s, _ in laps) / 1e6:12.2f}{statistics.median(c for _, c in laps):15.2f}")
print(
    f"RESULT overhead all={1 - ratio('all', 0):.4f} all_cpu={ratio('all', 1) - 1:.4f} "
    f"trace={1 - ratio('trace', 0):.4f} trace_cpu={ratio('trace', 1) - 1:.4f} rounds={len(rounds['all'])}"
)

#!/usr/bin/env python3
"""Padding that Grain's best-fit packing leaves of the same lengths.

  grain_best_fit.py ROW BINS FILE…      lengths as uint32 in each FILE; prints: NAME padding % and seconds
"""

import sys
import time
from pathlib import Path

import grain
import numpy
from grain.experimental import BestFitPackIterDataset


def main() -> int:
    row, bins = int(sys.argv[1]), int(sys.argv[2])
    for path in sys.argv[3:]:
        lengths = numpy.fromfile(path, dtype=numpy.uint32)
        texts = [{"tokens": numpy.ones(n, dtype=numpy.int8)} for n in lengths]
        begun = time.monotonic()
        packed = BestFitPackIterDataset(
            grain.MapDataset.source(texts).shuffle(seed=1).to_iter_dataset(), length_struct={"tokens": row}, num_packing_bins=bins)
        rows = tokens = 0
        for one in packed:
            rows += 1
            tokens += int((one["tokens_segment_ids"] != 0).sum())
        seconds = time.monotonic() - begun
        assert tokens == int(lengths.sum()), "grain lost tokens"
        print(f"{Path(path).name} {100 * (1 - tokens / (rows * row)):.4f} {seconds:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

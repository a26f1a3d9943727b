"""What every peer of this benchmark does: tell that it is ready, then run turns as it is asked on standard input.

A peer is a script NAME.py WORKLOAD FOLDER WORKERS that calls serve() with a function batches(workload, folder, workers):
an endless generator of how many pictures each batch has. A second generator function, pictures(folder, workers), gives
val's pictures in the order of the sorted files, for the pixel error. Where whole_epochs is set, batches() says how many
each epoch had, and nothing is fetched ahead between two of them: that is how bench/cache asks.

    run N       at least N pictures in the steady state: answers "PICTURES WALL_SECONDS CPU_SECONDS"
    pixels FILE the first pictures of val as raw bytes [N, 224, 224, 3]: answers "N"
"""

import glob
import itertools
import os
import sys
import time

BATCH = 64
SIZE = 224
PIXELS = 64  # pictures whose pixels are compared
WARM = 4  # batches before the clock: what was fetched ahead is gone by then


class Missing(Exception):
    """This peer can't do that workload; the text says why."""


def files_of(folder):
    """Paths and labels, by class and name, as wick::image_folder has them."""
    classes = sorted(e.name for e in os.scandir(folder) if e.is_dir())
    return [(f, label) for label, c in enumerate(classes) for f in sorted(glob.glob(os.path.join(folder, c, "*.jpg")))]


def _cpu_seconds():
    """Of this process and all below it, also while they run."""
    group, ticks = os.getpgid(0), 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                fields = f.read().rsplit(b")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def serve(batches, about, pictures=None, whole_epochs=False):
    workload, folder, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # a library's own printing must not be taken for an answer
    try:
        begun = time.monotonic()
        stream = batches(workload, folder, workers)
        next(stream)
        answers.write(f"ready {about()}; first {'epoch' if whole_epochs else 'batch'} after {time.monotonic() - begun:.1f} s\n")
    except (Missing, ImportError, OSError, RuntimeError) as e:
        answers.write(f"missing {str(e).splitlines()[0][:200]}\n")
        return
    for line in sys.stdin:
        words = line.split()
        if words[0] == "run":
            for _ in range(0 if whole_epochs else WARM):
                next(stream)
            wanted, seen = int(words[1]), 0
            cpu, wall = _cpu_seconds(), time.monotonic()
            while seen < wanted:
                seen += next(stream)
            answers.write(f"{seen} {time.monotonic() - wall:.6f} {_cpu_seconds() - cpu:.6f}\n")
        elif words[0] == "pixels":
            n = 0
            with open(words[1], "wb") as out:
                if pictures is not None:
                    for picture in itertools.islice(pictures(folder, workers), PIXELS):
                        assert picture.shape == (SIZE, SIZE, 3) and picture.dtype == "uint8", picture.shape
                        out.write(picture.tobytes())
                        n += 1
            answers.write(f"{n}\n")
    os._exit(0)

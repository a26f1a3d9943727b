#!/usr/bin/env python3
"""Kills processes that write one cache on disk, and checks that the next ones get every sample as it is.

cache.py PROGRAM [KILLS] [--full N] [--seed N]

Two processes run over the same files with one cache, in orders of their own, and are killed with SIGKILL at a random moment:
one, or both. Then two run to their end. Their batches, as fingerprints with content, must be those of a run without a cache.
Now and then a file is changed, a byte of the cache is overwritten, or the cache is removed, between two runs. N of the rounds
have a cache on a file system that is too small for it (tmpfs, in a namespace of its own; without the right to mount, by a limit
on the size of files).
"""

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 300
SMALL = 256 * 1024  # bytes: a third of the files
PATIENCE = 120


def content(rng):
    return rng.randbytes(rng.randrange(5_000))


def start(program, data, cache, workers, seed, most=0, limit=None):
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return subprocess.Popen(
        [program, data, cache, str(most), str(workers), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    )


def end(process, what):
    out, err = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        sys.exit(f"cache.py: {what}: ended with {process.returncode}: {err}")
    words = out.split(" ", 2)
    return words[:2], words[2].strip() if len(words) > 2 else ""


def mounted(at):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", at], capture_output=True, check=False).returncode == 0


def kill_all(args, rng, data, cache, small, limit):
    kills = full = served = changed = 0
    for i in range(FILES):
        (data / f"{i:04}.bin").write_bytes(content(rng))
    expected = {}
    while kills < args.kills:
        is_full = full < args.full and rng.random() < 1.5 * args.full / args.kills
        at = small if is_full else cache
        bounds = (1 << 40, limit) if is_full else ()  # more than there is
        what = f"seed {args.seed}, kill {kills}{', full' if is_full else ''}"
        pair = [start(args.program, data, at, rng.choice([1, 2, 3]), seed, *bounds) for seed in (1, 2)]
        time.sleep(rng.random() * 0.04)
        victims = pair if rng.random() < 0.5 else [rng.choice(pair)]
        at_work = [process for process in victims if process.poll() is None]
        for process in victims:
            process.kill()
        kills += bool(at_work)
        full += is_full and bool(at_work)
        for process in pair:
            if process in victims:
                process.communicate()
            else:
                end(process, what)
        if rng.random() < 0.1:
            victim = rng.choice(sorted(data.iterdir()))
            time_of = victim.stat().st_mtime_ns
            victim.write_bytes(content(rng))
            os.utime(victim, ns=(time_of + 1, time_of + 1))
            expected, changed = {}, changed + 1
        segments = [f for f in at.glob("*/*") if f.stat().st_size > 0 and f.name != "in-use"]
        if segments and rng.random() < 0.2:
            with contextlib.suppress(OSError), open(rng.choice(segments), "r+b") as f:  # a hole needs room, too
                f.seek(rng.randrange(os.fstat(f.fileno()).st_size))
                f.write(b"?")
        if rng.random() < 0.05:
            for f in at.iterdir():
                shutil.rmtree(f)
        if not expected:
            expected = {seed: end(start(args.program, data, "-", 2, seed), what)[0] for seed in (1, 2)}
        pair = [(seed, start(args.program, data, at, rng.choice([1, 2, 3]), seed, *bounds)) for seed in (1, 2)]
        for seed, process in pair:
            prints, note = end(process, what)
            if prints != expected[seed]:
                sys.exit(f"cache.py: {what}: batches differ from those without a cache: {prints}, not {expected[seed]}; {note}")
            if "keeps 0 of" not in note:
                served += 1
    print(f"RESULT cache_kills kills={kills} full={full} changed_files={changed} runs_served={served} seed={args.seed}")
    if served < kills:  # of twice as many
        sys.exit("cache.py: the cache kept next to nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("kills", nargs="?", type=int, default=200)
    parser.add_argument("--full", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--in-namespace", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.seed is None:
        args.seed = time.time_ns() % 1_000_000
    if not args.in_namespace and shutil.which("unshare"):
        for options in (["--mount"], ["--mount", "--map-root-user"]):
            if subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0:
                os.execvp("unshare", ["unshare", *options, sys.executable, __file__, *sys.argv[1:], "--seed", str(args.seed), "--in-namespace"])

    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        data, cache, small = Path(folder, "data"), Path(folder, "cache"), Path(folder, "small")
        data.mkdir(), cache.mkdir(), small.mkdir()
        limit = None if mounted(small) else SMALL
        try:
            kill_all(args, rng, data, cache, small, limit)
        finally:
            if limit is None:
                subprocess.run(["umount", "-l", small], check=False)


main()

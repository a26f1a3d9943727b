#!/usr/bin/env python3
"""Makes workers share more, in one way after the other, and sees that the gate of bench/sharing finds each.

planted.py [--only TEXT] [--list | --check]

Works on a copy of what git tracks, in build/planted. A change is a file, what stands there, and what stands there instead; with
16 workers, `bench/run.sh sharing --check` must fail then. It compiles the engine for each: half an hour in all.

--only TEXT  those whose name contains it
--list       print their names
--check      only see that each finds what it would change, once
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build/planted"
SCHEDULER = "include/wick/loader/impl/scheduler.ipp"
RUNNER = "include/wick/loader/impl/sample_runner.ipp"

PLANTED = [
    ("each run fetches the lines of its batch", SCHEDULER, "  if (claimed.count == claimed.job->count) fetch_lines(", "  fetch_lines("),
    ("each sample writes the count of its batch", RUNNER, "          return mine.mark.ended(sequence, ended);", "          j.unfinished.fetch_add(0);\n          return mine.mark.ended(sequence, ended);"),
    ("each sample that may suspend is a coroutine", RUNNER, "run_.facts.tries_at_once && !mine.many_suspend", "false"),
    ("no bytes of the memory bound are kept", "include/wick/pipeline/impl/budget.ipp", "++fitted_ == 256", "++fitted_ == 1u << 31"),
    ("samples are finished one by one", "include/wick/loader/impl/sample_runner.ipp", "  owner_.finish_some(j, good);", "  for (auto left = good; left != 0; --left) owner_.finish_some(j, 1);"),
    ("the length of samples is written after each run", "include/wick/async/detail/grain.hpp", "> before / 8) {", "!= before) {"),
    ("the prefetch depths are written after each run", "include/wick/loader/detail/prefetch_choice.hpp", "if (before != 0 && (now < before ?", "if (false && (now < before ?"),
    ("claims share the line of virtual calls", "include/wick/loader/detail/batch_job.hpp", "  alignas(64) std::atomic<std::uint64_t> left{0};", "  std::atomic<std::uint64_t> left{0};"),
    ("a cache in memory has one counter of hits", "include/wick/cache/detail/memory_cache.hpp", "counters_[lane % counters_.size()]", "counters_[0 * lane]"),
    ("runs are a quarter as long", "include/wick/loader/detail/scheduler.hpp", "runner_.grain().run_length(longest_run_)", "(runner_.grain().run_length(longest_run_) + 3) / 4"),
]


def copy() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    (TREE / "build").mkdir()
    (TREE / "build" / "arrow-venv").symlink_to(ROOT / "build" / "arrow-venv")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for path in filter(None, tracked.decode().split("\0")):
        if not (ROOT / path).is_file():
            continue
        (TREE / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, TREE / path)


def gate() -> tuple[bool, str]:
    command = ["bash", "bench/run.sh", "sharing", "--check", "--workers", "16"]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)
    found = [line for line in done.stderr.splitlines() if line.startswith("bench/sharing: ") and "before" in line]
    if done.returncode == 0 and "RESULT sharing " not in done.stdout:
        print(done.stdout, end="")
        sys.exit(0)  # not on this machine
    if done.returncode not in (0, 1) or (done.returncode == 1 and not found):
        sys.exit(f"planted.py: the gate didn't run\n{done.stderr[-2000:]}")
    return done.returncode == 1, found[0].removeprefix("bench/sharing: ") if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    o = parser.parse_args()
    chosen = [p for p in PLANTED if o.only in p[0]]
    if not chosen:
        sys.exit(f"planted.py: no change's name contains {o.only!r}")
    if o.list:
        print("\n".join(name for name, *_ in chosen))
        return 0
    stale = [name for name, path, old, _ in chosen if (ROOT / path).read_text(encoding="utf-8").count(old) != 1]
    for name in stale:
        print(f"planted.py: {name}: what it would change isn't there once", file=sys.stderr)
    if stale or o.check:
        return 1 if stale else 0
    copy()
    missed = 0
    for i, (name, path, old, new) in enumerate([("nothing", "README.md", "", ""), *chosen]):
        begun = time.monotonic()
        text = (TREE / path).read_text(encoding="utf-8")
        if old:
            (TREE / path).write_text(text.replace(old, new), encoding="utf-8")
        found, why = gate()
        (TREE / path).write_text(text, encoding="utf-8")
        wrong = found != bool(old)
        missed += wrong
        if wrong and not old:
            sys.exit(f"planted.py: the gate fails without a change: {why}")
        print(f"{i} of {len(chosen)}: {name}: {'found' if found else 'not found'}{': ' + why if why else ''}, {time.monotonic() - begun:.0f} s"
              f"{' (WRONG)' if wrong else ''}", flush=True)
    print(f"RESULT sharing_planted found={len(chosen) - missed} of={len(chosen)}")
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

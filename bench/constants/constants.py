"""Builds a benchmark with a constant as it is, halved and doubled, runs the three in turns, and prints the ratios."""

import argparse
import concurrent.futures
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

# name, header, the constant's text there with {} for its value, the value, benchmark
TINY = ("tiny", ["--only", "wick", "--rounds", "3"], r"^wick, \d+ workers +([\d.]+)", 1)
SPAWN = ("engine", ["--only", "wick", "--case", "spawn", "--rounds", "5"], r"cpu_ns\w*=([\d.]+)", -1)
FIB = ("engine", ["--only", "wick", "--case", "fib", "--rounds", "5"], r"cpu_ns\w*=([\d.]+)", -1)
SHORT = ("engine", ["--only", "wick", "--case", "few_spawns", "--rounds", "5"], r"cpu_ns\w*=([\d.]+)", -1)
GRAIN, QUEUES = "async/detail/grain.hpp", "async/detail/run_queues.hpp"
CONSTANTS = [
    ("run_ticks", GRAIN, "run_ticks = {};", 40000, TINY),
    ("max_run", GRAIN, "max_run = {};", 4096, TINY),
    ("ticks of a short sample", GRAIN, "load(std::memory_order_relaxed) < {} &&", 25000, TINY),
    ("ticks not worth a wake", GRAIN, "samples < {} / each", 30000, TINY),
    ("ticks of a slow sample", GRAIN, "load(std::memory_order_relaxed) > {};", 10000, TINY),
    ("away_ticks", "loader/detail/worker_jobs.hpp", "away_ticks = {};", 500000, TINY),
    ("MiB of cheap blocks", "batch/detail/slab.hpp", "cheap = std::size_t{{{}}} << 20", 16, TINY),
    ("batches ahead, at least", "loader/impl/scheduler.ipp", "on_.workers() < 8 ? {} :", 4, TINY),
    ("batches ahead, at most", "loader/impl/scheduler.ipp", "most_(options.prefetch.value_or({}))", 8, TINY),
    ("runs between two tries of a depth", "loader/detail/prefetch_choice.hpp", "try_every = {};", 64, TINY),
    ("period of slab sizes", "batch/detail/slab.hpp", "period = {};", 256, TINY),
    ("tries of a brief lock", "base/detail/brief_lock.hpp", "tries = {};", 100, TINY),
    ("bytes of a small column", "batch/detail/collate.hpp", "few_bytes = {};", 4096, TINY),
    ("frames in a list", "async/detail/frame_pool.hpp", "list_length = {},", 64, SPAWN),
    ("jobs taken at a time", QUEUES, "max_taken = {};", 8, FIB),
    ("naps in vain", QUEUES, "max_empty_naps = {};", 4, SHORT),
    ("µs worth a wake", "async/detail/sharing_record.hpp", "microseconds({}), worth_a_move", 20, SHORT),
    ("ns worth a move", "async/detail/sharing_record.hpp", "worth_a_move{{{}}}", 250, SHORT),
    ("µs of the shortest nap", "async/detail/sharing_record.hpp", "shortest_nap = std::chrono::microseconds({})", 100, SHORT),
    ("tasks on top of one another", "async/detail/resume.hpp", "max_depth = {};", 48, FIB),
]


def fail(text):
    sys.exit(f"bench/constants: {text}")


def spelled(value, text):
    """The value as the header writes it, with or without digit separators."""
    for form in (str(value), f"{value:,}".replace(",", "'")):
        if text.format(form) in HEADER:
            return form
    return None


def build(root, tree, benchmark, to):
    """Builds the benchmark in a tree, and keeps the program at `to`."""
    log = tree.parent / f"{tree.name}.log"
    with open(log, "w", encoding="utf-8") as out:
        for command in (
            ["cmake", "--preset", "release", "-S", tree, "-B", tree / "build", "-DWICK_BUILD_TESTS=OFF", "-DWICK_BUILD_EXAMPLES=OFF"],
            ["cmake", "--build", tree / "build", "--target", f"bench_{benchmark}"],
        ):
            if subprocess.run(command, cwd=tree, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                fail(f"a build failed; log: {log.relative_to(root)}")
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(tree / "build" / "bench" / f"bench_{benchmark}", to)
    return to


def write_tree(root, tree, files, changed=None, content=""):
    for f in files:
        if not (root / f).is_file() or f.startswith("tests/"):
            continue
        to = tree / f
        to.parent.mkdir(parents=True, exist_ok=True)
        wanted = content.encode() if f == changed else (root / f).read_bytes()
        if not to.is_file() or to.read_bytes() != wanted:
            to.write_bytes(wanted)


def build_all(root, folder, files, chosen):
    """The programs of each constant: as it is, with half its value, with twice."""
    global HEADER
    programs = {}
    now = {}
    for n, (name, header, text, value, (benchmark, *_)) in enumerate(chosen):
        HEADER = (root / "include" / "wick" / header).read_text(encoding="utf-8")
        form = spelled(value, text)
        if form is None:
            fail(f"{header} has no '{text.format(value)}' any more; mend the list in bench/constants/constants.py")
        if benchmark not in now:
            write_tree(root, folder / "tree0", files)
            now[benchmark] = build(root, folder / "tree0", benchmark, folder / "now" / benchmark)
        trees = []
        for i, v in ((1, value // 2), (2, value * 2)):
            write_tree(root, folder / f"tree{i}", files, f"include/wick/{header}", HEADER.replace(text.format(form), text.format(v)))
            trees.append((folder / f"tree{i}", folder / str(n) / ("half", "twice")[i - 1]))
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            others = list(both.map(lambda t: build(root, t[0], benchmark, t[1]), trees))
        programs[name] = [now[benchmark], *others]
        print(f"built: {name}", file=sys.stderr, flush=True)
    return programs


def measure(program, arguments, pattern):
    out = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    found = [float(m) for m in re.findall(pattern, out.stdout, re.MULTILINE)]
    if out.returncode != 0 or not found:
        fail(f"{program.name} {' '.join(arguments)} gave no figure:\n{out.stdout}{out.stderr}")
    return statistics.geometric_mean(found) if min(found) > 0 else found[0]


def main():
    parser = argparse.ArgumentParser(prog="bash bench/run.sh constants", description=__doc__)
    parser.add_argument("root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each value (5)")
    parser.add_argument("--build-only", action="store_true", help="build the programs and stop")
    parser.add_argument("--only", default="", metavar="TEXT", help="only constants whose names begin with TEXT")
    options = parser.parse_args()
    root = options.root
    folder = root / "build" / "constants"
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    files = [f for f in files if f]
    chosen = [c for c in CONSTANTS if c[0].startswith(options.only)]
    if not chosen:
        fail(f"no constant's name begins with {options.only!r}; there are: " + ", ".join(c[0] for c in CONSTANTS))
    programs = build_all(root, folder, files, chosen)
    if options.build_only:
        return
    results = []
    print(f"{'constant':36} {'value':>9} {'half':>7} {'twice':>7}   speed as a multiple of now", flush=True)
    for name, _, _, value, (benchmark, arguments, pattern, sign) in chosen:
        figures = [[], [], []]
        for r in range(options.rounds):
            for i in range(3):
                at = (i + r) % 3
                figures[at].append(measure(programs[name][at], arguments, pattern))
        ratio = [statistics.median(f / n for f, n in zip(figures[i], figures[0])) ** sign for i in (1, 2)]
        print(f"{name:36} {value:>9} {ratio[0]:7.3f} {ratio[1]:7.3f}   {benchmark} {' '.join(arguments[:4])}", flush=True)
        results.append(min(ratio))
    shutil.rmtree(folder, ignore_errors=True)
    if results:
        print(f"RESULT constants worst={min(results):.3f} constants={len(results)} rounds={options.rounds}")


main()

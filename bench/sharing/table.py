#!/usr/bin/env python3
"""Runs the pipelines of bench/sharing and prints a table: see run.sh, which calls this."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

FIGURES = Path(__file__).parent / "figures.json"
COUNTED = ("moves", "atomics", "locks", "hottest")
NOISE = 0.02  # two more in a hundred samples
# Which objects share the hottest line changes with each address. Half of the moves of rows are of blocks of batches: so does
# which worker gets which block.
ALLOWED = {"hottest": 2.00, "rows": 1.30}
A_TENTH = 1.10
LONGEST = 900  # seconds


def run(program: str, folder: Path, name: str, workers: int, move: int, where: bool) -> tuple:
    """Returns counts per sample, and the lines about places."""
    # Neither the environment, which lies on the stack, nor the names of files depend on where this is.
    command = ["env", "-i", "WICK_SHARING_FOLDER=.", program, name, str(workers), str(move), *(["--where"] if where else [])]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        sys.exit(f"bench/sharing: {name} with {workers} workers took longer than {LONGEST} s")
    if done.returncode != 0:
        sys.exit(f"bench/sharing: {name} with {workers} workers ended with {done.returncode}\n{done.stderr}")
    first, *places = done.stdout.splitlines()
    counts = {key: int(value) for key, value in (part.split("=") for part in first.split()[2:])}
    return {key: counts[key] / counts["samples"] for key in (*COUNTED, "ns")}, places


def number(least: int, most: int):
    def read(text: str) -> int:
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' isn't a number from {least} to {most}")
        return int(text)

    return read


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.sh sharing")
    parser.add_argument("program")
    for flag in ("--check", "--update", "--list", "--quick", "--where"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--workers", type=number(1, 256), action="append")
    parser.add_argument("--move", type=number(1, 10_000), default=100)
    o = parser.parse_args()
    if (o.check or o.update) and (o.move != 100 or o.where):
        parser.error("figures are of --move 100, and without --where, which changes addresses")
    if o.quick and o.workers:
        parser.error("--quick means --workers 2")
    return o


def main() -> int:
    o = options()
    program = str(Path(o.program).resolve())
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    known = dict(line.split("\t") for line in listed.splitlines())
    if o.list:
        print("\n".join(f"{name:8} {about}" for name, about in known.items()))
        return 0
    if o.only and o.only not in known:
        sys.exit(f"bench/sharing: no pipeline {o.only}; there are: {', '.join(known)}")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads take turns, which is faster on one processor
    folder = Path(program).parent / "records"
    folder.mkdir(exist_ok=True)
    # By a process of its own, since what it leaves in memory would change the addresses of what is counted.
    subprocess.run(["env", "-i", "WICK_SHARING_FOLDER=.", program, "--files"], cwd=folder, check=True)
    if "parquet" not in known:
        print("rows of Parquet aren't counted: no Arrow for C++ was found", file=sys.stderr)
    then = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    now, faults = {}, []
    heads = f"{'moves':>8} {'atomics':>8} {'locks':>6} {'hottest line':>12} {'full at':>9}   a sample"
    print(f"{'':8} {'workers':>7} {'M samples/s':>11} {heads}")
    for name in [o.only] if o.only else known:
        alone = None  # time per sample and worker with hardly any sharing
        for workers in [2] if o.quick else o.workers or [2, 16, 64]:
            each, places = run(program, folder, name, workers, o.move, o.where)
            alone = alone or (each["ns"] * workers if workers <= 2 else None)
            full = f"{alone / (each['hottest'] * o.move):.0f} w" if alone and each["hottest"] else "-"
            counts = f"{each['moves']:8.2f} {each['atomics']:8.2f} {each['locks']:6.2f} {each['hottest']:12.3f}"
            print(f"{name:8} {workers:7} {1000 / each['ns']:11.2f} {counts} {full:>9}", flush=True)
            print("\n".join(places), end="\n" if places else "")
            key = f"{name} {workers}"
            now[key] = {counted: round(each[counted], 3) for counted in COUNTED}
            if o.check and not set(COUNTED) <= set(then.get(key, ())):
                faults.append(f"{key}: figures.json has not all figures; --update writes them")
            for counted in (c for c in COUNTED if o.check and c in then.get(key, ())):
                allowed = max(ALLOWED.get(of, A_TENTH) for of in (counted, name))
                if each[counted] > then[key][counted] * allowed + NOISE:
                    what = "moves of the hottest line" if counted == "hottest" else counted
                    faults.append(f"{key}: {each[counted]:.2f} {what} a sample, {then[key][counted]:.2f} before")
    if o.update:
        both = then | now
        names = [*known, *sorted({key.split()[0] for key in both} - set(known))]
        kept = {key: both[key] for name in names for key in sorted(both, key=lambda k: int(k.split()[1])) if key.split()[0] == name}
        lines = ",\n".join(f' "{key}": {json.dumps(value)}' for key, value in kept.items())
        FIGURES.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    for fault in faults:
        print(f"bench/sharing: {fault}", file=sys.stderr)
    print("RESULT sharing " + " ".join(f"{key.replace(' ', '_')}={value['moves']}" for key, value in now.items()))
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

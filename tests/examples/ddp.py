#!/usr/bin/env python3
"""Trains examples/15_ddp on several ranks, kills them, resumes on others, and has wick-audit compare.

ddp.py PROGRAM AUDIT DATA SCRATCH [--times N] [--seed N] [--torchrun PATH]

A training begins on 2 ranks. One of them is killed with SIGKILL at a random batch, and the training starts again on 3, 1
and 4 ranks; all but the last are killed as well. wick-audit must find each sample of the data exactly once in each epoch,
and the fingerprints, which cover the samples' bytes, must be those of one rank that was never killed. That N times. Then a
line is taken out of a log, and wick-audit must miss it.

With --torchrun (or WICK_TORCHRUN) the ranks are started by it, else with the variables that it sets.
"""

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

EPOCHS, BATCH, BATCHES, EVERY = 3, 250, 40, 7  # of 10,000 samples; steps between two checkpoints


def free_port(rng):
    """Below those that the system gives to whoever asks for any."""
    while True:
        with socket.socket() as probe:
            port = rng.randrange(20_000, 32_000)
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue


class Attempt:
    def __init__(self, setup, folder: Path, world: int, rng):
        command = [setup.program, setup.data, "--epochs", str(EPOCHS), "--batch", str(BATCH), "--every", str(EVERY)]
        self.torchrun, self.log = None, folder / f"output.{len(list(folder.glob('output.*')))}"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "STORE_PORT": str(free_port(rng))}
        output = self.log.open("w")
        if setup.torchrun:
            command = [setup.torchrun, "--standalone", "--nproc-per-node", str(world), "--no-python", *command]
            self.torchrun = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
            self.ranks = [self.torchrun]
            return
        self.ranks = [
            subprocess.Popen(
                command,
                cwd=folder,
                env={
                    **environment,
                    "RANK": str(rank),
                    "LOCAL_RANK": str(rank),
                    "WORLD_SIZE": str(world),
                    "MASTER_ADDR": "127.0.0.1",
                },
                stdout=output,
                stderr=output,
            )
            for rank in range(world)
        ]

    def kill_one(self, rng):
        if self.torchrun is None:
            rng.choice(self.ranks).kill()
            return
        if self.torchrun.poll() is not None:
            return
        children = Path(f"/proc/{self.torchrun.pid}/task/{self.torchrun.pid}/children").read_text().split()
        if children:
            os.kill(int(rng.choice(children)), signal.SIGKILL)

    def over(self):
        return any(p.poll() is not None for p in self.ranks)

    def finish(self):
        """The exit codes. When one has failed, the others get no answer any more: torchrun ends them as well."""
        until = time.monotonic() + 600
        while any(p.poll() is None for p in self.ranks) and time.monotonic() < until:
            if self.torchrun is None and any(p.poll() not in (None, 0) for p in self.ranks):
                break
            time.sleep(0.01)
        for p in self.ranks:
            if p.poll() is None:
                p.kill()
        return [p.wait() for p in self.ranks]


def lines(log: Path):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def audit(setup, log: Path):
    done = subprocess.run([setup.audit, "--each-once", log], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def train(setup, folder: Path, worlds, rng):
    """What wick-audit prints of the training."""
    folder.mkdir()
    log = folder / "deliveries.log"
    for i, world in enumerate(worlds):
        attempt = Attempt(setup, folder, world, rng)
        if i + 1 < len(worlds):
            # Three attempts may be some batches late each, and a training has 120.
            wanted = lines(log) + world * rng.randrange(5, 25)
            while lines(log) < wanted and not attempt.over():
                time.sleep(0.001)
            attempt.kill_one(rng)
        codes = attempt.finish()
        if (i + 1 == len(worlds)) != (set(codes) == {0}):
            sys.exit(f"attempt {i} on {world} ranks ended with {codes}:\n{attempt.log.read_text()}")
    code, text = audit(setup, log)
    if code != 0:
        sys.exit(f"wick-audit of a training on {worlds} ranks: {code}\n{text}")
    return text


def resumed(text):
    """Each attempt begins at the last checkpoint: it makes what one rank had after it again, and no more."""
    again = [int(n) for n in re.findall(r"ranks?: (\d+) batch(?:es)? again$", text, re.MULTILINE)]
    if any(n > EVERY + 1 for n in again):
        sys.exit(f"an attempt didn't begin at the last checkpoint:\n{text}")


def epochs(text):
    found = re.findall(r"^epoch .*$", text, re.MULTILINE)
    assert len(found) == EPOCHS, text
    assert all(f"{BATCHES} batches, {BATCH * BATCHES} samples, each of the source exactly once" in e for e in found), text
    return found


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "audit", "data", "scratch"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--torchrun", default=os.environ.get("WICK_TORCHRUN"))
    setup = parser.parse_args()
    seed = random.randrange(2**32) if setup.seed is None else setup.seed
    rng = random.Random(seed)
    print(f"seed {seed}, ranks by {setup.torchrun or 'their environment'}", flush=True)

    whole = epochs(train(setup, setup.scratch / "whole", [1], rng))
    again = 0
    for i in range(setup.times):
        text = train(setup, setup.scratch / f"killed{i}", [2, 3, 1, 4], rng)
        resumed(text)
        if epochs(text) != whole:
            sys.exit(f"not the epochs of one rank:\n{text}\n" + "\n".join(whole))
        again += int((re.search(r"; (\d+) batch", text) or [0, 0])[1])
    print(text, end="")
    print(f"{setup.times} trainings were killed 3 times each; {again} batches were made again, and are the same")

    log = setup.scratch / "killed0" / "deliveries.log"
    kept = log.read_text().splitlines(keepends=True)
    log.write_text("".join(kept[: len(kept) // 2] + kept[len(kept) // 2 + 1 :]))
    code, text = audit(setup, log)
    if code != 1 or "lines are missing" not in text:
        sys.exit(f"a line is missing, and wick-audit says {code}:\n{text}")


main()

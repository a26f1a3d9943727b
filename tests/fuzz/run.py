#!/usr/bin/env python3
"""run.py PROGRAM FOLDER SEEDS: fuzzes PROGRAM for WICK_FUZZ_SECONDS (60) from what the script SEEDS makes, under FOLDER.
What it finds is left there as finding-…, to be given to PROGRAM as its argument."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
program, folder, seeds = (Path(argument).resolve() for argument in sys.argv[1:4])
seconds = os.environ.get("WICK_FUZZ_SECONDS", "60")

shutil.rmtree(folder, ignore_errors=True)
(folder / "found").mkdir(parents=True)
for python in sys.executable, "/usr/bin/python3":  # Debian's Pillow is Debian's python's
    code = subprocess.run([python, seeds, folder / "seeds"]).returncode
    if code != 77:
        break
if code == 77:
    print("skipped: no Pillow for python3 here (apt-get install python3-pil)")
if code != 0:
    sys.exit(code)
# A round takes milliseconds; one that takes minutes hangs, even on a machine that is stopped now and then.
command = [program, f"-max_total_time={seconds}", "-timeout=300", "-rss_limit_mb=4096", "-max_len=6000", "-print_final_stats=1",
           f"-artifact_prefix={folder}/finding-", folder / "found", folder / "seeds"]
words = here / (program.name.removeprefix("wick_fuzz_") + ".dict")
if words.exists():
    command.append(f"-dict={words}")
done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
lines = done.stdout.splitlines()
print("\n".join(lines if done.returncode != 0 else lines[-12:]))
sys.exit(1 if done.returncode != 0 else 0)

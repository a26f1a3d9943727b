#!/usr/bin/env python3
"""Compiles one program of this folder with one compiler and runs it. Exit status: that of the program, or 1.

run.py SOURCE [--arguments "…"] -- PREFIX… COMPILER FLAG…

What stands before the compiler (setarch …) is put before the program as well. A source that has `#ifdef PITFALL` holds
code that some compilers don't even compile: it is compiled and run once more with PITFALL defined, and the result is
printed, but is no failure. A source with a line `// Assembly: REGEX` has to be compiled to assembly that matches it, too.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# A chain of a million frames must not be kept in quarantine, nor each frame's allocation with its call stack.
ENVIRONMENT = {
    "ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=2:detect_leaks=1:detect_stack_use_after_return=0",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def run(command: list, limit: int):
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env={**os.environ, **ENVIRONMENT}, errors="replace"
        )
        return done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        return -1, f"not done after {limit} seconds"


def in_assembly(wanted: str, command: list, source: Path, folder: str) -> bool:
    out = Path(folder) / "assembly.s"
    run([*command, "-S", str(source), "-o", str(out)], 300)
    code = (line.split("#")[0] for line in out.read_text().splitlines())
    return any(re.match(rf"\s+({wanted})", line) for line in code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--arguments", default="", help="for the program")
    before, _, command = " ".join(map(shlex.quote, sys.argv[1:])).partition(" -- ")
    options = parser.parse_args(shlex.split(before))
    command = shlex.split(command)
    if not command:
        parser.error("no compiler after --")
    prefix = []
    text = options.source.read_text()
    wanted = re.search(r"^// Assembly: (.+)$", text, re.MULTILINE)
    while command and Path(command[0]).name in ("setarch",):
        prefix, command = command[:3], command[3:]

    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / options.source.stem)
        for line in text.splitlines():
            if not line.startswith("//"):
                break
            print(line.removeprefix("//").strip())
        print("$", shlex.join([*command, str(options.source)]), flush=True)
        status, said = run([*command, str(options.source), "-o", program], 300)
        if said:
            print(said)
        if status != 0:
            print(f"FAILED: it does not compile ({status})")
            return 1
        if wanted and not in_assembly(wanted[1], command, options.source, folder):
            print(f"FAILED: no {wanted[1]} in the assembly")
            return 1
        status, said = run([*prefix, program, *shlex.split(options.arguments)], 300)
        print(said)
        if status != 0:
            print(f"FAILED: exit status {status}")
            return 1
        if "#ifdef PITFALL" in text:
            status, said = run([*command, "-DPITFALL", str(options.source), "-o", program], 300)
            if status != 0:
                first = next((l for l in said.splitlines() if "error" in l or "internal" in l), said[:200])
                print(f"this compiler HAS the pitfall: it does not compile it: {first}")
            else:
                status, said = run([*prefix, program], 300)
                print(said)
                if status != 0:
                    print(f"this compiler HAS the pitfall: the program ends with {status}")
                if wanted and not in_assembly(wanted[1], [*command, "-DPITFALL"], options.source, folder):
                    print(f"this compiler HAS the pitfall: no {wanted[1]} in the assembly")
    return 0


if __name__ == "__main__":
    sys.exit(main())

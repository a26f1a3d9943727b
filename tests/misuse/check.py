#!/usr/bin/env python3
"""Compiles one file that misuses wick and judges what the compiler says.

check.py CASE.cpp -- COMPILER FLAG…

The file must not compile; its output must contain every text that a line `// expect: TEXT` of the file names, exactly
one failed static assertion, and no more than three lines with `error:` in all: one readable message, not a page.
A line `// expect first: TEXT` says what is in the compiler's first error. A file that has only such lines has an error of the
user's own in it, and no assertion of wick's fails. (g++ says no more; clang repeats that the call did not compile.)
A file whose name starts with an underscore must compile: it shows that the mistakes in the others are what fails.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MAX_ERRORS = 3


def main() -> int:
    split = sys.argv.index("--")
    case = Path(sys.argv[1:split][0])
    command = sys.argv[split + 1 :] + [str(case)]
    run = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    output = re.sub(r"\bwick::v\d+_\d+::", "wick::", run.stdout)  # g++ names the inline namespace of the version, clang does not
    errors = [line for line in output.splitlines() if re.search(r"\berror:", line)]
    text = case.read_text(encoding="utf-8")
    expected = re.findall(r"^\s*// expect: (.*\S)\s*$", text, re.MULTILINE)
    first = re.findall(r"^\s*// expect first: (.*\S)\s*$", text, re.MULTILINE)

    faults = []
    if case.stem.startswith("_"):
        if run.returncode != 0:
            faults.append("does not compile, and should")
    else:
        if run.returncode == 0:
            faults.append("compiles, and should not")
        if not expected and not first:
            faults.append("has no `// expect: TEXT` line")
        for text in first:
            if not errors or text not in errors[0]:
                faults.append(f"the compiler's first error is not of: {text}")
        for text in expected:
            if text not in output:
                faults.append(f"the compiler does not say: {text}")
        if run.returncode != 0:
            asserts = [e for e in errors if re.search(r"static assertion failed|static_assert", e)]
            wanted = 1 if expected else 0
            if len(asserts) != wanted:
                faults.append(f"{len(asserts)} failed static assertions instead of {wanted}")
            if len(errors) > MAX_ERRORS:
                faults.append(f"{len(errors)} errors; at most {MAX_ERRORS} can be read")

    for fault in faults:
        print(f"{case.name}: {fault}")
    if faults:
        print(f"$ {' '.join(command)}\n{output}")
        return 1
    print(f"{case.name}: {errors[0] if errors else 'compiles'}")
    return 0


sys.exit(main())

#!/usr/bin/env python3
"""Writes single_include/wick/wick.hpp: include/wick/wick.hpp with every <wick/…> header in the place where it's first included.

  amalgamate.py                write it
  amalgamate.py --check        exit 1 where it can't be written, or is of another version
  amalgamate.py --output FILE  write it elsewhere

It is written when a version is made, so that a change of ten lines is ten lines to read. The tests write the present one into their
build. The same headers give the same bytes: no date, no commit, no formatter. Conditional blocks stay as they are; a header of
the standard library or of another project that was included above, outside any condition, isn't included again.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE_DIR = ROOT / "include"
START = "wick/wick.hpp"
TARGET = ROOT / "single_include" / "wick" / "wick.hpp"

INCLUDE = re.compile(r"^\s*#\s*include\s*(<([^>]+)>|\"([^\"]+)\")")
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")


class Amalgamation:
    def __init__(self):
        self.lines = []
        self.inlined = {}  # wick's headers that are above: the conditions they are under
        self.system = set()  # other headers that are above, outside any condition

    def add(self, name: str, conditions: tuple, trail: tuple):
        """Appends the header `name`, which the last of `trail` includes under `conditions`."""
        path = INCLUDE_DIR / name
        if not path.is_file():
            sys.exit(f"amalgamate: {trail[-1] if trail else ''} includes <{name}>, which does not exist")
        self.inlined[name] = conditions
        self.lines.append(f"// ==== {name}")

        in_comment, blank = False, True
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not in_comment:
                if PRAGMA_ONCE.match(line):
                    continue
                condition = CONDITION.match(line)
                if condition:
                    # A branch is known by where it starts; an #else starts another one.
                    if not condition.group(1).startswith("if"):
                        conditions = conditions[:-1]
                    if condition.group(1) != "endif":
                        conditions += (f"{name}:{number}",)
                include = INCLUDE.match(line)
                if include and self.include(include, f"{name}:{number}", conditions, trail + (name,)):
                    continue
            in_comment = self.ends_in_comment(line, in_comment)
            # One empty line where the includes of headers that are above have left several.
            if line.strip() or not blank:
                self.lines.append(line.rstrip())
            blank = not line.strip()
        while not self.lines[-1]:
            self.lines.pop()
        self.lines.append("")

    def include(self, include: re.Match, where: str, conditions: tuple, trail: tuple) -> bool:
        """True when the line of the include is done with: the header is in its place, or above already."""
        target = include.group(2) or include.group(3)
        if include.group(3):
            sys.exit(f'amalgamate: {where}: "{target}"; write <wick/…>')
        if not target.startswith("wick/"):
            above = target in self.system
            if not conditions:
                self.system.add(target)
            return above
        if target in trail:
            sys.exit(f"amalgamate: {where}: <{target}> includes itself")
        if target in self.inlined:
            under = self.inlined[target]
            if conditions[: len(under)] != under:
                sys.exit(f"amalgamate: {where}: <{target}> is above only under the condition at {under[-1]}")
            return True
        self.add(target, conditions, trail)
        return True

    @staticmethod
    def ends_in_comment(line: str, inside: bool) -> bool:
        """Whether a /* comment is open at the end of `line`."""
        line = re.sub(r'"(\\.|[^"\\])*"', '""', line) if not inside else line
        position = 0
        while True:
            if inside:
                position = line.find("*/", position)
                if position < 0:
                    return True
                inside, position = False, position + 2
            else:
                slash = line.find("//", position)
                star = line.find("/*", position)
                if star < 0 or 0 <= slash < star:
                    return False
                inside, position = True, star + 2


def version() -> str:
    text = (INCLUDE_DIR / "wick" / "version.hpp").read_text(encoding="utf-8")
    return re.search(r'version = "([^"]+)"', text).group(1)


def amalgamate() -> str:
    terms = (ROOT / "LICENSE").read_text(encoding="utf-8").strip().splitlines()
    head = [
        f"// wick {version()}: input pipelines for LibTorch, in a single header. https://opensource.org/license/mit",
        "//",
        "// Define WICK_IMPLEMENTATION in exactly one file before including it: that file gets all that is no template, and",
        "// needs stb_image.h (https://github.com/nothings/stb) on its include path.",
        "// Written by single_include/amalgamate.py from include/wick: change the headers there, not this file.",
        "//",
        *(f"// {line}".rstrip() for line in terms),
        "#pragma once",
        "",
    ]
    body = Amalgamation()
    body.add(START, (), ())
    return "\n".join(head + body.lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when it can't be written or is of another version")
    parser.add_argument("--output", type=Path, default=TARGET, help="the file to write or check")
    arguments = parser.parse_args()

    wanted = amalgamate()
    if not arguments.check:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(wanted, encoding="utf-8")
        return 0

    first = wanted.split(":", 1)[0]  # "// wick VERSION"
    there = arguments.output.read_text(encoding="utf-8") if arguments.output.is_file() else ""
    if there.startswith(first + ":"):
        return 0
    print(f"{arguments.output}: is not of this version, {first[3:]}; run: python3 single_include/amalgamate.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())

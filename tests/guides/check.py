#!/usr/bin/env python3
"""The guides show code that is compiled: each block of C++ in them and in the tutorial is in a program that it names.

check.py ROOT
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^The program of this (?:guide|part) is \[([^\]]+)\]\(([^)]+)\)", re.MULTILINE)


def without_blanks(text: str) -> str:
    """A guide may break its lines where they read best."""
    return re.sub(r"\s+", "", text)


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    faults, blocks = [], 0
    guides = [root / "docs/tutorial.md", *sorted((root / "docs/guides").glob("*.md"))]
    for guide in guides:
        text = guide.read_text(encoding="utf-8")
        name = guide.relative_to(root)
        named = PROGRAM.findall(text)
        if not named:
            faults.append(f"{name}: names no program; write \"The program of this guide is [PATH](LINK).\"")
            continue
        code = ""
        for path, link in named:
            program = (guide.parent / link).resolve()
            if program.is_file() and program == (root / path).resolve():
                code += without_blanks(program.read_text(encoding="utf-8"))
            else:
                faults.append(f"{name}: {path} is not there, or the link leads elsewhere")
        for block in BLOCK.findall(text):
            blocks += 1
            if without_blanks(block) not in code:
                faults.append(f"{name}: in none of its programs:\n{block}")
    for fault in faults:
        print(fault)
    print(f"{len(guides)} guides, {blocks} blocks, {len(faults)} faults")
    return 1 if faults or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The documentation, and the messages and comments of the headers, avoid the words below; the README and the architecture
stay short. A line per fault.

words.py ROOT

Code, inline code and quoted text (program output, titles) may have any word. docs/words.md has the words of this project.
"""

import re
import sys
from pathlib import Path

FILES = ("README.md", "HACKING.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/decisions/*.md", "docs/guides/*.md")
EXCEPT = {"names.md"}  # of docs/
# The most words of a page, and where more belongs.
MAX_WORDS = {
    "README.md": (1000, "move details to a guide"),
    "docs/architecture.md": (2500, "move reasons to docs/decisions/"),
}

# What to say instead. A phrase may break over lines.
AVOIDED = {
    "told": "name the subject and what it does: throws, returns, prints",
    "nobody": "name the thread or the process: no worker, no other rank",
    "somebody": "name the thread, the process or the reader",
    "whoever": "name the thread, the process or the reader",
    "the one who": "name the thread, the process or the reader",
    "those who": "name them: threads, ranks, samples",
    "anew": "again, or new",
    "go on": "continue, or resume",
    "goes on": "continues, or resumes",
    "gone on": "continued, or resumed",
    "going on": "continuing, or resuming",
    "in silence": "silently, or without an error",
    "at hand": "available",
    "for ever": "without an end",
    "as of old": "as before",
    "as ever": "as before",
    "what was": "the noun: the cause, the finding, the prefetched batches",
    "what were": "the noun: the samples, the entries",
    "what came": "the noun: the item, the later events",
    "what comes": "the noun: the item, the next batches",
    "what has been": "the noun: the delivered batches",
    "what had been": "the noun: the delivered batches",
}
CODE = (
    re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL),
    re.compile(r"`[^`]+`"),
    re.compile(r'"[^"\n]+"'),  # on one line
)


def pattern(phrase: str) -> str:
    return r"\s+".join(map(re.escape, phrase.split()))


WORDS = re.compile(r"\b(?:" + "|".join(map(pattern, AVOIDED)) + r")\b", re.IGNORECASE)


def prose(text: str) -> str:
    """The text with its code and quotes struck out, so that each word stays on its line."""
    for code in CODE:
        text = code.sub(lambda m: re.sub(r"[^\n]", "~", m.group()), text)
    return text


COMMENT = re.compile(r"//.*")
MESSAGE = re.compile(r'"(?:[^"\\\n]|\\.)*"')
TOKEN = re.compile(rf"{COMMENT.pattern}|{MESSAGE.pattern}|'(?:[^'\\\n]|\\.)'")


def messages(code: str) -> str:
    """The literals of a header, as one text where they follow each other, so that each word stays on its line."""
    code = COMMENT.sub(lambda m: " " * len(m.group()), code)
    out, end = [], 0
    for literal in MESSAGE.finditer(code):
        between = code[end : literal.start()]
        out.append(re.sub(r"[^\n]", " " if not between.strip() else "~", between) + " " + literal.group()[1:-1] + " ")
        end = literal.end()
    return "".join(out)


def comments(code: str) -> str:
    """The comments of a header, as one text where their lines follow each other, so that each word stays on its line."""
    out, block, end = [], [], 0
    for token in TOKEN.finditer(code):
        if not token.group().startswith("//"):
            continue
        between = code[end : token.start()]
        if between.strip() or between.count("\n") > 1:  # a quote or inline code that isn't closed ends here, too
            out.append(prose("".join(block)))
            block = []
        block.append(re.sub(r"[^\n]", "~" if between.strip() else " ", between))
        block.append(re.sub(r"^/+", lambda m: " " * len(m.group()), token.group()))
        end = token.end()
    return "".join(out) + prose("".join(block))


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    files = [f for glob in FILES for f in sorted(root.glob(glob)) if f.parent.name != "docs" or f.name not in EXCEPT]
    files += sorted((root / "include").rglob("*.hpp"))
    faults = []
    for file in files:
        name, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
        checked = [messages(text), comments(text)] if file.suffix == ".hpp" else [prose(text)]
        for each in checked:
            for found in WORDS.finditer(each):
                word = " ".join(found.group().lower().split())
                faults.append(f"{name}:{each.count(chr(10), 0, found.start()) + 1}: {word}: {AVOIDED[word]}")
        most, remedy = MAX_WORDS.get(name, (None, None))
        if most and len(text.split()) > most:
            faults.append(f"{name}:1: {len(text.split())} words: at most {most}; {remedy}")
    for fault in faults:
        print(fault)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The documentation, and the messages and comments of the code, avoid the words below and keep the rules of Google's
developer documentation style that a program can check; the README and the architecture stay short. A line per fault.

words.py ROOT

Code, inline code and quoted text (program output, titles) may have any word. docs/words.md has the words of this project.
"""

import functools
import multiprocessing
import re
import sys
from pathlib import Path

FILES = ("README.md", "HACKING.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/decisions/*.md", "docs/guides/*.md")
EXCEPT = {"names.md"}  # of docs/
PROGRAMS = ("bench", "examples", "python", "tests", "tools")  # their comments, and the messages of all but bench and tests
# The most words of a page, and where more belongs.
MAX_WORDS = {
    "README.md": (700, "move details to a guide"),
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

DOCS, MESSAGES, COMMENTS = "documentation", "messages", "comments"
EVERYWHERE = (DOCS, MESSAGES, COMMENTS)

# https://developers.google.com/style: its rules on words, punctuation and headings that a pattern can find; where each is
# checked, and a line that breaks it. Messages show code, where an ellipsis stands for what the user writes.
RULES = tuple(
    (r"\b" + r"\s+".join(map(re.escape, phrase.split())) + r"\b", remedy, EVERYWHERE, phrase)
    for phrase, remedy in AVOIDED.items()
) + (
    (
        r"\b(?:e\.g\.|i\.e\.|etc\b|viz\.|vs\b|ergo\b|ad hoc\b)",
        "for example, that is, and so on, or, as needed", EVERYWHERE, "a file, e.g. a tar",
    ),
    (r"\bvia\b(?! integer)", "by, through, or with", EVERYWHERE, "sent via a socket"),
    (r"\b(?:will|won't|shall)\b|\w'll\b", "the present tense", EVERYWHERE, "it will throw"),
    (r"\b(?:we|we're|we've|us(?!-(?:east|west))|our|ours|let's)\b", "wick, the loader, or you", EVERYWHERE, "we read it"),
    (r"\b(?:he|she|him|her|his|hers|s/he)\b", "they, or the noun", EVERYWHERE, "the user and his file"),
    (
        r"\b(?:please|simply|simple to|easily|of course|obviously|basically|actually|quite)\b",
        "leave it out", EVERYWHERE, "simply call it",
    ),
    (r"\band/or\b", "one of the two", EVERYWHERE, "a file and/or a folder"),
    (r"\b(?:in order to|so as to)\b", "to", EVERYWHERE, "in order to read"),
    (r"\b(?:leverage[sd]?|utili[sz]e[sd]?)\b", "use", EVERYWHERE, "it utilizes a thread and leverages a pool"),
    (r"\bfunctionality\b", "the feature's name", EVERYWHERE, "the functionality of it"),
    (r"\b(?:allow|enable|let)s? you to\b", "you can", EVERYWHERE, "it allows you to read"),
    (
        r"\b(?:prior to|due to the fact|at this time|in the event)\b",
        "before, because, now, or if", EVERYWHERE, "prior to that",
    ),
    (r"\b(?:black-?list|white-?list)\w*", "deny list or allow list", EVERYWHERE, "a whitelisted path"),
    (r"\b(?:master|slave|sanity|crippled?|crazy)\b", "primary, replica, or check", EVERYWHERE, "a sanity check"),
    (
        r"\b(?:click on|check out|kick off|tons of|under the hood|out of the box)\b",
        "plain words", EVERYWHERE, "check out the guide",
    ),
    (
        r"\b(?:higher|newer) versions?\b|\bversions? (?:above|and up|or higher)\b",
        "later", EVERYWHERE, "version 3 or higher: newer versions",
    ),
    (
        r"\b(?:lower|older) versions?\b|\bversions? (?:below|or lower)\b",
        "earlier", EVERYWHERE, "older versions",
    ),
    (r"\b(?:regex(?:es)?|repo|admin)\b", "the whole word", EVERYWHERE, "a regex"),
    (r"\b(?:e-mail|web site|time-outs?)\b", "email, website, or timeout", EVERYWHERE, "a time-out"),
    (r"\b\w+\(e?s\)", "the plural", EVERYWHERE, "the file(s)"),
    (r"\b\d*(?:1st|2nd|3rd)\b|\b\d+th\b", "first, second, third, or one in 32", EVERYWHERE, "the 32nd byte"),
    (r"\b(?:from|between) \d+ ?[-\u2013] ?\d+", "from 1 to 2, or 1-2", EVERYWHERE, "from 1-2 s"),
    (r"\w\s[\u2013\u2014]\s\w", "a dash without spaces, or a colon", (DOCS, MESSAGES), "a file \u2014 or two"),
    (
        r"[^\s,]+, [\w'-]+ (?:and|or) [\w'-]+[.?!](?=\s)",
        "a comma before the last of three", (DOCS, MESSAGES), "a file, tar or list. ",
    ),
    (r"\b\w+!(?=\s|$)", "a period", (DOCS,), "It reads! "),
    (r"(?-i:[a-z][.?!] {2,}[A-Z])", "one space between sentences", (DOCS,), "It reads.  It writes."),
    (r"\.\.\.|\u2026", "what is left out", (DOCS,), "files, tars \u2026"),
    (r"(?m)^#+ .*[.:!]$", "no mark at the end of a heading", (DOCS,), "## Install:"),
    (r"(?m)^#+ (?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)+)$", "one capital in a heading", (DOCS,), "## Read Files"),
)


def filler(mark: str, text: str) -> str:
    """A mark in each line of what is struck out, so that each word stays on its line."""
    return re.sub(r"[^\n]+", mark, text)


CODE = (
    re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL),
    re.compile(r"`[^`]+`"),
    re.compile(r'"[^"\n]+"'),  # on one line
)


def prose(text: str) -> str:
    """The text with its code and quotes struck out, so that each word stays on its line."""
    for code in CODE:
        text = code.sub(lambda m: filler("~", m.group()), text)
    return text


COMMENT = re.compile(r"//.*")
MESSAGE = re.compile(r'"(?:[^"\\\n]|\\.)*"')
TOKEN = re.compile(rf"{COMMENT.pattern}|{MESSAGE.pattern}|'(?:[^'\\\n]|\\.)'")


def messages(code: str) -> str:
    """The literals of a header, as one text where they follow each other, so that each word stays on its line."""
    code = COMMENT.sub(" ", code)
    out, end = [], 0
    for literal in MESSAGE.finditer(code):
        between = code[end : literal.start()]
        out.append(filler(" " if not between.strip() else "~", between) + " " + literal.group()[1:-1] + " ")
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
        block.append(filler("~" if between.strip() else " ", between))
        block.append(re.sub(r"^/+", " ", token.group()))
        end = token.end()
    return "".join(out) + prose("".join(block))


@functools.cache
def compiled() -> list:
    return [(re.compile(pattern, re.IGNORECASE), *rest) for pattern, *rest in RULES]


def faults_of(root: Path, file: Path) -> list:
    faults = []
    name, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        checked = {DOCS: prose(text)}
    elif name.startswith(("bench/", "tests/")):  # the messages of tests are those of the headers
        checked = {COMMENTS: comments(text)}
    else:
        checked = {MESSAGES: messages(text), COMMENTS: comments(text)}
    for kind, each in checked.items():
        for rule, instead, where, _ in compiled():
            for found in rule.finditer(each) if kind in where else ():
                line = each.count(chr(10), 0, found.start()) + 1
                faults.append(f"{name}:{line}: {' '.join(found.group().split())}: {instead}")
    most, remedy = MAX_WORDS.get(name, (None, None))
    if most and len(text.split()) > most:
        faults.append(f"{name}:1: {len(text.split())} words: at most {most}; {remedy}")
    return faults


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    files = [f for glob in FILES for f in sorted(root.glob(glob)) if f.parent.name != "docs" or f.name not in EXCEPT]
    files += sorted((root / "include").rglob("*.[hi]pp"))
    files += [f for folder in PROGRAMS for f in sorted((root / folder).rglob("*")) if f.suffix in (".cpp", ".hpp")]
    faults = []
    for rule, _, _, broken in compiled():
        if not rule.search(broken):
            faults.append(f"tests/words.py: '{broken}' does not break {rule.pattern}")
    with multiprocessing.Pool() as pool:
        for found in pool.imap(functools.partial(faults_of, root), files, chunksize=16):
            faults += found
    for fault in faults:
        print(fault)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

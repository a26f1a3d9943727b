#!/usr/bin/env python3
"""The public names of wick: everything in namespace wick itself, each with its first sentence, a table a room.

  public_names.py            write docs/names.md
  public_names.py --check    exit 1 and say what differs when that file isn't what it would write
  public_names.py --count    print how many there are

What a program of a user's may not need lies in wick::detail. A new name here is a decision: see CONTRIBUTING.md.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "wick"
TARGET = ROOT / "docs" / "names.md"
ROOMS = ["sample", "order", "pipeline", "read", "pixels", "codec", "image", "batch", "torch", "loader", "failure", "resume",
         "observe", "run", "resample", "system", ""]

STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.[0-7]*|[^\'\\])\'')


def declarations(text):
    """(declaration, comment) of each thing declared directly in namespace wick, in the order of the text."""
    depth, inside, statement, comment, kept = 0, [], "", [], ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        if stripped.startswith("///"):
            if not statement.strip() and depth == len(inside):
                comment.append(stripped.lstrip("/").strip())
            continue
        code = re.sub(r"//.*", "", STRING.sub('""', line))
        for c in code:
            if c == "{":
                opens = re.match(r"\s*(?:inline\s+)?namespace\s+([\w:]*)\s*$", statement)
                if opens and depth == len(inside):
                    inside.append(opens.group(1))
                    statement, comment = "", []
                elif depth == len(inside):
                    kept = statement
                depth += 1
                continue
            if c == "}":
                depth -= 1
                if depth < len(inside):
                    inside.pop()
                    statement, comment = "", []
                elif depth == len(inside):
                    if inside == ["wick"]:
                        yield kept, " ".join(comment)
                    # `struct x {…} y;` and `auto f = […] {…};` end at the semicolon, functions here.
                    statement, comment = "", []
                continue
            if depth == len(inside):
                if c == ";":
                    if inside == ["wick"] and statement.strip():
                        yield statement, " ".join(comment)
                    statement, comment = "", []
                else:
                    statement += c
        if depth == len(inside):
            statement += " "


def name_of(declaration):
    """The name that a declaration brings; None for what brings none (a deduction guide, a specialization, an operator)."""
    text = re.sub(r"\s+", " ", declaration).strip()
    while text.startswith("template"):
        level, end = 0, 0
        for end, c in enumerate(text):
            level += (c == "<") - (c == ">" and text[end - 1] != "-")
            if c == ">" and level == 0:
                break
        text = text[end + 1 :].strip()
        text = re.sub(r"^requires .*?(?=(class|struct|inline|constexpr|auto|void|task|\w+ \w+\())", "", text)
    text = re.sub(r"\[\[.*?\]\]|alignas\(\w+\)", "", text).strip()
    if "->" in text and re.match(r"^(explicit )?[\w:]+\s*\(", text):
        return None  # a deduction guide
    if text.startswith(("static_assert", "friend", "using namespace", "extern template")) or "operator" in text:
        return None
    m = re.match(r"^(?:class|struct|enum class|enum|union|concept)\s+([\w:]+)\s*(<)?", text)
    if m:
        return None if m.group(2) or "::" in m.group(1) else m.group(1)
    m = re.match(r"^using\s+(\w+)\s*=", text) or re.match(r"^namespace\s+(\w+)\s*=", text)
    if m:
        return m.group(1)
    m = re.match(r"^using\s+[\w:]+::(\w+)$", text)
    if m:
        return m.group(1)
    head = re.split(r"[=({]", text, maxsplit=1)[0].strip() if "(" in text or "=" in text or "{" in text else text
    m = re.search(r"([\w:~]+)\s*(?:<[^<>]*>)?$", head)
    if not m or "::" in m.group(1):
        return None  # a member's definition
    return m.group(1)


def first_sentence(comment):
    comment = re.sub(r"\s*\\(file|throws|param).*", "", comment).strip()
    m = re.match(r"(.*?[.!?:])(?=\s|$)", comment)
    return (m.group(1) if m else comment).rstrip(":")


def names():
    found = {}
    for header in sorted(HEADERS.rglob("*.hpp")):
        path = header.relative_to(HEADERS).as_posix()
        if path.endswith("_implementation.hpp"):
            continue
        for declaration, comment in declarations(header.read_text(encoding="utf-8")):
            name = name_of(declaration)
            if name is None:
                continue
            known = found.get(name)
            forward = re.match(r"\s*(template\s*<[^;]*>\s*)?(class|struct)\s+\w+\s*$", declaration) is not None
            if known is None or (not known[1] and comment) or (known[2] and not forward):
                found[name] = (path, first_sentence(comment) or (known[1] if known else ""), forward)
    return {n: (p, c) for n, (p, c, _) in found.items()}


def page():
    all_names = names()
    lines = ["# Public names", "",
             f"Everything in namespace `wick` itself: {len(all_names)} names. `docs/public_names.py` writes this page from the headers.", ""]
    for room in ROOMS:
        mine = sorted((n, p, c) for n, (p, c) in all_names.items() if (p.split("/")[0] if "/" in p else "") == room)
        if not mine:
            continue
        lines += [f"## {room or 'At the top'}", "", "| name | header | |", "|---|---|---|"]
        lines += [f"| `{n}` | `{p}` | {c.replace('|', chr(92) + '|')} |" for n, p, c in mine]
        lines.append("")
    return "\n".join(lines)


def main():
    if sys.argv[1:] == ["--count"]:
        print(len(names()))
        return 0
    text = page()
    if sys.argv[1:] == ["--check"]:
        there = TARGET.read_text(encoding="utf-8") if TARGET.is_file() else ""
        if there == text:
            return 0
        mine, theirs = set(text.splitlines()), set(there.splitlines())
        for line in sorted(mine - theirs):
            print("missing in docs/names.md:", line)
        for line in sorted(theirs - mine):
            print("only in docs/names.md:", line)
        print("python3 docs/public_names.py writes it; is each new name one that a user's program needs?")
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


sys.exit(main())

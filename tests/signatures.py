#!/usr/bin/env python3
"""Compiles every signature in docs/reference where a user's program has it: functions and classes after `using namespace wick`, members
in a class that is derived from theirs.

Each page becomes a file of C++ with the page's lines. Pages leave out `detail::`, so the names of wick::detail are known, too. Whether a
signature is that of the header is for `docs/reference.py --check`.
"""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # next to what is imported from here
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from declarations import headers_of, parse

CLASS = re.compile(r"(?:template <(.*)>(?:\n  requires.*)?\n)?(?:class|struct) (\w+)( final)?(?: : .*)?;")
# Types of a class template that its members name, which a class derived from it has to name.
MEMBER_TYPES = {"loader": ["epoch_range"], "progress": ["iterator", "value_type"], "task": ["promise_type"]}


class Page:
    """`lines` of C++, and how many signatures they have."""

    def __init__(self, text):
        self.lines, self.count, self.within = [], 0, False
        synopsis = None
        for line in text.splitlines():
            now = ""
            if line.startswith("// <wick/"):
                now, synopsis = self.close() + self.open(), []
            elif synopsis is not None and line == "```":
                text, synopsis = "\n".join(synopsis), None
                now = "}" + self.open_class(text)
                self.count += len(re.findall(r";(?=\n[^\s}]|$)", text))
            elif synopsis is not None:
                synopsis.append(line)
                now = self.declaration(line)
            elif line.startswith(("#", "**")):
                now = self.close()
            elif self.within and re.match(r"- (Also )?`|  `.*`<br>$", line):
                # What a virtual function throws isn't printed; that of a derived class must throw no more.
                found = [re.sub(r"^virtual (.*?)( = 0)?$", r"virtual \1 noexcept\2", s) for s in re.findall("`([^`]*)`", line)]
                now = " ".join(s + ";" for s in found)
                self.count += len(found)
            self.lines.append(now)
        self.lines.append(self.close())

    def declaration(self, line):
        """A line of a synopsis: variables and specializations are only named, and a class that has a base is defined."""
        if line == "template <>":
            return ""
        line = re.sub(r"^(?:struct|class) (\w+<.*>);$", rf"using special{len(self.lines)} = all::\1;", line)
        line = re.sub(r"^((?!struct |class )(?:const )?[\w:]+(?:<.*>)? \w+(?:<.*>)?;)$", r"extern \1", line)
        return re.sub(r"^((?:class|struct) .* : .*);", r"\1 {};", line)

    def open(self, name="declarations"):
        return f"namespace {name}{len(self.lines)} {{ using namespace all; "

    def open_class(self, synopsis):
        """Of members, where this declares one class."""
        found = CLASS.fullmatch(synopsis)
        if not found:
            return ""
        parameters, name, final = found.groups()
        arguments = [re.sub(r"^\S+?(\.*) (\w+).*", r"\2\1", p) for p in parameters.split(", ")] if parameters else []
        base = f"{name}<{', '.join(arguments)}>" if arguments else name
        head = f"template <{parameters}> " if parameters else ""
        types = " ".join(f"using typename all::{base}::{t};" for t in MEMBER_TYPES.get(name, []))
        self.within = True
        return f"{self.open('members')}{head}struct {name}{'' if final else f' : all::{base}'} {{ {types}"

    def close(self):
        closed, self.within = "}; }" if self.within else "", False
        return closed


def main():
    pages = {page: Page(page.read_text(encoding="utf-8")) for page in sorted((ROOT / "docs" / "reference").glob("*.md"))}
    base = ROOT / "include" / "wick"
    files = [(f"{base}/all.hpp", "namespace all { using namespace wick; using namespace wick::ext; using namespace wick::detail; using namespace wick::python; }\n")]
    files += [(str(path), "\n".join(page.lines) + "\n") for path, page in pages.items()]
    parse(base, headers_of(base, {"detail"}), files)
    if empty := [path.name for path, page in pages.items() if page.count == 0 and path.stem not in ("index", "version")] or not pages:
        sys.exit(f"tests/signatures.py: no signature found in {empty or 'docs/reference'}; it must know how docs/reference.py writes them")
    print(f"{sum(page.count for page in pages.values())} signatures compile")


if __name__ == "__main__":
    sys.exit(main())

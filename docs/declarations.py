"""What the headers declare, as far as documents need it: read(base) gives each header's tree of namespaces, classes, functions, ….

libclang parses the headers. A declaration is shown as it is written there, with its comment: lines of `///` directly above it, `///<`
after it. LibTorch, nanobind, and zlib needn't be installed: docs/stand_ins.hpp declares what the headers use of them.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

KINDS = {
    "namespace": "NAMESPACE",
    "class": "CLASS_DECL STRUCT_DECL UNION_DECL CLASS_TEMPLATE CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
    "enum": "ENUM_DECL",
    "enumerator": "ENUM_CONSTANT_DECL",
    "function": "FUNCTION_DECL FUNCTION_TEMPLATE CXX_METHOD CONSTRUCTOR DESTRUCTOR CONVERSION_FUNCTION",
    "variable": "VAR_DECL FIELD_DECL UNEXPOSED_DECL",  # the last: a variable template
    "alias": "TYPE_ALIAS_DECL TYPE_ALIAS_TEMPLATE_DECL",
    "concept": "CONCEPT_DECL",
    "import": "USING_DECLARATION",
}
sys.path.insert(0, "/usr/lib/python3/dist-packages")  # Debian's, which has clang's own headers, for any python3
try:
    from clang.cindex import AccessSpecifier, CursorKind, Index, TranslationUnit, conf

    KIND_OF = {getattr(CursorKind, name): kind for kind, names in KINDS.items() for name in names.split()}
    INDEX = Index.create()
    trial = [("trial.cpp", "#include <cstddef>\ntemplate <class T> concept any = true;")]
    if found := list(INDEX.parse("trial.cpp", ["-std=c++20"], trial).diagnostics):
        raise RuntimeError(found[0].spelling)
except Exception as fault:  # no module, one that is older than concepts, or no library
    sys.exit(f"docs/declarations.py: no libclang for Python ({fault}); to install it: apt-get install python3-clang-19")
del sys.path[0]

FOREIGN = re.compile(r"^#include <((?:(?:ATen|c10|nanobind|torch)/|zlib)[^>]+)>", re.MULTILINE)
TEMPLATE = re.compile(rb"template <(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
COMMENT_AFTER = re.compile(rb"[^\n]*?(///<[^\n]*(?:\n *///<[^\n]*)*)")


@dataclass
class Declaration:
    """kind: one of KINDS; declared: without comments and body."""

    kind: str
    name: str
    declared: str = ""
    template: str = ""  # "template <class T>", with its constraint
    comment: list = field(default_factory=list)  # lines
    public: bool = True
    defined: bool = True  # False: `class x;`
    special: bool = False  # a specialization of a class or variable
    within: list = field(default_factory=list)  # what a namespace, class or enum contains
    body: str = ""  # of a function that returns auto
    source: str = ""  # as it is written, for a concept
    header: str = ""  # these two are filled in by who reads several headers
    order: int = 0


class Header:
    def __init__(self, text):
        self.bytes, self.lines = text.encode(), text.splitlines()

    def tidy(self, begin, end):
        """In one line, without comments and leading attributes."""
        text = COMMENT.sub(lambda m: m.group(1) or " ", self.bytes[begin:end].decode())
        return re.sub(r"^(\[\[.*?\]\] ?)+", "", " ".join(text.split()))

    def after_template(self, cursor, begin, end):
        """Where the declaration begins after its template parameters and their constraint."""
        found = TEMPLATE.match(self.bytes, begin, end)
        begin = found.end() if found else begin
        if found and self.bytes[begin:end].lstrip().startswith(b"requires"):
            following = [c.extent for c in cursor.get_children() if c.extent.start.offset >= begin]
            begin = min(following, key=lambda extent: extent.start.offset).end.offset
        return begin

    def before_body(self, cursor, end):
        """Where the initializers or the body begin. libclang has them only of functions whose type depends on them."""
        begin = cursor.location.offset
        for child in cursor.get_children():
            if child.kind == CursorKind.PARM_DECL:
                begin = child.extent.end.offset
            elif child.kind == CursorKind.COMPOUND_STMT and self.bytes.startswith(b"{", child.extent.start.offset):
                end = child.extent.start.offset
        initializers = re.search(rb"(?<!:):(?!:)", self.bytes[begin:end])
        return begin + initializers.start() if initializers else end

    def comment(self, start, end):
        found, at = [], start.line - 2
        first = not self.lines[start.line - 1][: start.column - 1].rstrip().endswith(("{", ",", ";"))  # in its line
        while first and re.match(" *///(?!<)", self.lines[at]):
            found.insert(0, self.lines[at])
            at -= 1
        after = COMMENT_AFTER.match(self.bytes, end)
        found += after.group(1).decode().splitlines() if after else []
        return [re.sub("^ *///<?", "", line) for line in found]

    def read(self, cursors):
        out, first = [], None  # first: of `int x = 0, y = 0;`
        for cursor in cursors:
            kind, name = KIND_OF.get(cursor.kind), re.sub("(?<!operator)<.*", "", cursor.spelling)
            begin, end, at = cursor.extent.start.offset, cursor.extent.end.offset, cursor.location.offset
            if not kind or not name or cursor.is_anonymous() or self.bytes.startswith(b"extern template", begin):
                continue
            if not end:
                place = f"{cursor.location.file}:{cursor.location.line}"
                sys.exit(f"{place}: libclang doesn't say where {name}(auto) begins; write template <class T>")
            if cursor.semantic_parent.get_usr() != cursor.lexical_parent.get_usr():  # a member's definition
                continue
            if kind == "namespace" and conf.lib.clang_Cursor_isInlineNamespace(cursor):
                out += self.read(cursor.get_children())
                continue
            d = Declaration(kind, name, public=cursor.access_specifier in (AccessSpecifier.PUBLIC, AccessSpecifier.INVALID))
            out.append(d)
            if kind in ("namespace", "class", "enum"):
                d.within = self.read(cursor.get_children())
            if kind == "namespace":
                continue
            head = self.after_template(cursor, begin, end)
            d.template, d.comment = self.tidy(begin, head), self.comment(cursor.extent.start, end)
            d.special = kind in ("class", "variable") and self.bytes.startswith(b"<", at + len(name))
            if kind in ("class", "enum"):
                d.defined = cursor.is_definition()
                end = self.bytes.find(b"{", at, end) if d.defined else end
            elif kind == "function" and b"{" in self.bytes[begin:end]:
                end, whole = self.before_body(cursor, end), end
                d.body = self.tidy(end, whole)
            elif kind == "concept":
                d.source = self.bytes[begin:end].decode() + ";"
            if kind == "variable" and first and first.extent.start == cursor.extent.start:
                d.declared = self.tidy(head, first.location.offset) + " " + self.tidy(at, end)
            else:
                d.declared, first = self.tidy(head, end), cursor
        return out


def headers_of(base, left_out=()):
    """Those of this folder that have declarations, except in folders that are left out."""
    left_out = {"impl", "implementation", *left_out}
    return sorted(h.relative_to(base).as_posix() for h in base.rglob("*.hpp") if not left_out & {h.parent.name, h.stem})


def parse(base, headers, files=()):
    """What libclang makes of a program that includes these headers of the folder, then the files: [(path, text)]. Ends with its errors."""
    foreign = {name for header in base.rglob("*.hpp") for name in FOREIGN.findall(header.read_text(encoding="utf-8"))}
    included = [f'"{Path(__file__).parent}/stand_ins.hpp"', *(f"<wick/{name}>" for name in headers), *(f'"{path}"' for path, _ in files)]
    main = f"{base}/main.cpp", "".join(f"#include {name}\n" for name in included)
    options = ["-std=c++20", f"-I{base.parent}", "-ferror-limit=0"]
    files = [main, *((f"{base.parent}/{name}", "") for name in foreign), *files]
    unit = INDEX.parse(main[0], options, files, TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    errors = [f"{d.location.file}:{d.location.line}: {d.spelling}" for d in unit.diagnostics if d.severity >= d.Error]
    if errors:
        sys.exit("\n".join(errors))
    return unit


def read(base, left_out=()):
    """{header: [Declaration]}"""
    headers, cursors = headers_of(base, left_out), {}
    for cursor in parse(base, headers).cursor.get_children():
        cursors.setdefault(str(cursor.location.file), []).append(cursor)
    return {name: Header((base / name).read_text(encoding="utf-8")).read(cursors.get(f"{base}/{name}", [])) for name in headers}

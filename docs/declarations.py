"""What the headers declare, as far as documents need it: read(text) gives a tree of namespaces, classes, functions, ….

This is no C++ parser. It knows the declarations that wick's headers have, and the comments that belong to them: `///` above
a declaration, `///<` behind a member.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<behind>///<[^\n]*) | (?P<doc>///(?!/)[^\n]*) | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      | (?P<word>[A-Za-z_]\w*) | (?P<number>\d(?:[eEpP][+-]|['\w.])*)
      | (?P<sign>::|->|<<|\.\.\.|&&|\|\||==|!=|<=|>=|[^\s\w]) | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
CLOSES = {"(": ")", "[": "]", "{": "}"}
KEYED = {"class": "class", "struct": "class", "union": "class", "enum": "enum", "concept": "concept"}
NO_NAME = {"alignas", "decltype", "noexcept", "requires", "explicit", "static_assert"}


@dataclass
class Declaration:
    """kind: namespace, class, enum, enumerator, function, variable, alias, concept, import; declared: without comments and body."""

    kind: str
    name: str
    declared: str = ""
    template: str = ""  # "template <class T>", with its constraint
    comment: list = field(default_factory=list)  # lines
    public: bool = True
    defined: bool = True  # False: `class x;`
    special: bool = False  # a specialization: `class x<int> {…};`
    within: list = field(default_factory=list)  # what a namespace, class or enum contains
    body: str = ""  # of a function
    source: str = ""  # as it is written, for a concept
    header: str = ""  # these two are filled in by who reads several headers
    order: int = 0


@dataclass
class Part:
    """A token of a statement, or a bracketed group of them."""

    text: str
    kind: str
    spaced: bool  # whitespace comes before it
    at: int = 0  # in the header


def text_of(parts):
    out = ""
    for part in parts:
        out += (" " if out and part.spaced else "") + part.text
    return out


class Reader:
    def __init__(self, text):
        self.text, self.tokens, self.at = text, [], 0
        spaced = False
        for match in TOKEN.finditer(text):
            kind = match.lastgroup
            if kind in ("space", "comment"):
                spaced = True
                continue
            self.tokens.append(Part(match.group(), kind, spaced, match.start()))
            spaced = False

    def group(self):
        """The bracketed group that begins here, as one part."""
        first = self.tokens[self.at]
        close = CLOSES[first.text]
        inner, self.at = [Part(first.text, "sign", False)], self.at + 1
        while self.tokens[self.at].text != close:
            token = self.tokens[self.at]
            if token.kind in ("doc", "behind", "directive"):
                self.at += 1
            elif token.text in CLOSES and token.kind == "sign":
                inner.append(self.group())
            else:
                inner.append(token)
                self.at += 1
        inner.append(self.tokens[self.at])
        self.at += 1
        return Part(text_of(inner), first.text, first.spaced, first.at)

    def angles(self):
        """The same for <…>."""
        first, inner, depth = self.tokens[self.at], [], 0
        while True:
            token = self.tokens[self.at]
            if token.text in CLOSES and token.kind == "sign":
                inner.append(self.group())
                continue
            depth += (token.text == "<") - (token.text == ">")
            inner.append(token)
            self.at += 1
            if depth == 0:
                return Part(text_of(inner), "<", first.spaced, first.at)

    def scope(self, public=True, inside=""):
        """The declarations up to the end of a namespace or a class (the body of which `inside` is the name)."""
        out, last, statement, comment = [], [], [], []

        def add(declarations):
            last[:] = declarations
            for declaration in declarations:
                declaration.comment, declaration.public = list(comment), public
                out.append(declaration)
            statement.clear()
            comment.clear()

        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            text = token.text
            if token.kind == "directive":
                if not statement:
                    comment.clear()
                self.at += 1
            elif token.kind == "doc":
                if not statement:
                    comment.append(text[3:])
                self.at += 1
            elif token.kind == "behind":
                for declaration in last:
                    declaration.comment.append(text[4:])
                self.at += 1
            elif token.kind in ("string", "word", "number"):
                statement.append(token)
                self.at += 1
            elif text == "}":
                self.at += 1
                return out
            elif text == ";":
                self.at += 1
                found = declarations_of(statement, inside)
                if found and found[0].kind == "concept":
                    found[0].source = self.text[statement[0].at : token.at + 1]
                add(found)
            elif text == ":" and len(statement) == 1 and statement[0].text in ("public", "private", "protected"):
                public = statement[0].text == "public"
                statement.clear()
                comment.clear()
                self.at += 1
            elif text in "([":
                statement.append(self.group())
            elif text == "<" and self.opens_arguments(statement):
                statement.append(self.angles())
            elif text == "{":
                head = split_template(statement)[1]
                first = next((p.text for p in head), "")
                if "namespace" in (first, *(p.text for p in head[1:2])):
                    named = "".join(p.text + " " * (p.text == "inline") for p in head if p.text != "namespace")
                    name = re.sub(r"::inline \w+|^inline ", "", named)  # wick::inline v0_1::detail is wick::detail
                    self.at += 1
                    found = Declaration("namespace", name)
                    add([found])
                    found.within = self.scope()
                elif self.begins_class(head):
                    found = declarations_of(statement, inside, opens=True)
                    add(found)
                    self.at += 1
                    name = found[0].name if found else ""
                    within = self.enumerators() if first == "enum" else self.scope(first != "class", name)
                    for declaration in found:
                        declaration.within = within
                    while self.tokens[self.at].text != ";":  # declarators
                        self.at += 1
                    self.at += 1
                elif self.is_initializer(statement, head):
                    statement.append(self.group())
                else:
                    body = self.group().text
                    found = declarations_of(statement, inside)
                    for declaration in found:
                        declaration.body = body
                    add(found)
            else:
                statement.append(token)
                self.at += 1
        return out

    @staticmethod
    def opens_arguments(statement):
        return bool(statement) and statement[-1].kind == "word" and not any(p.text in ("=", "operator") for p in statement)

    @staticmethod
    def begins_class(head):
        words = [p.text for p in head if p.kind != "[" and p.text != "alignas"]
        return bool(words) and KEYED.get(words[0]) in ("class", "enum") and "=" not in words

    @staticmethod
    def is_initializer(statement, head):
        """Whether a `{` opens something else than the body of a function."""
        texts = [p.text for p in statement]
        if "=" in texts and "operator" not in texts:
            return True
        before = texts[:-1] if statement and statement[-1].kind == "(" else texts
        if before[-1:] == ["requires"]:  # an expression, not a clause before a body
            return len(before) < len(texts) and before[-2:-1] in (["requires"], ["&&"], ["||"]) or len(before) == len(texts)
        parameters = [i for i, p in enumerate(head) if p.kind == "(" and i > 0 and head[i - 1].text not in NO_NAME]
        if not parameters:
            return True
        behind = [p.text for p in head[parameters[0] :]]
        return ":" in behind and statement[-1].kind in ("word", "<")

    def enumerators(self):
        out, comment, ahead = [], [], True
        while self.tokens[self.at].text != "}":
            token = self.tokens[self.at]
            if token.kind == "doc":
                comment.append(token.text[3:])
            elif token.kind == "behind":
                out[-1].comment.append(token.text[4:])
            elif token.text == ",":
                ahead = True
            elif ahead:
                out.append(Declaration("enumerator", token.text, token.text, comment=comment))
                ahead, comment = False, []
            self.at += 1
        self.at += 1
        return out


def split_template(statement):
    """(what stands before the declaration: template parameters and their constraint; the declaration)."""
    i = 0
    while i < len(statement) and statement[i].text == "template":
        i += 2
        if i < len(statement) and statement[i].text == "requires":
            i += 1
            while True:
                while i < len(statement) and statement[i].text == "!":
                    i += 1
                if i < len(statement) and statement[i].text == "requires":
                    i += 1
                    while i < len(statement) and statement[i].kind in "({":
                        i += 1
                elif i < len(statement) and statement[i].kind == "(":
                    i += 1
                else:
                    while i < len(statement) and statement[i].kind == "word":
                        i += 1
                        if i < len(statement) and statement[i].kind == "<":
                            i += 1
                        if i + 1 < len(statement) and statement[i].text == "::":
                            i += 1
                        else:
                            break
                if i < len(statement) and statement[i].text in ("&&", "||"):
                    i += 1
                    continue
                break
    return statement[:i], statement[i:]


def declarations_of(statement, inside, opens=False):
    """What a statement declares, up to its `;` or `{`; nothing for what brings no name."""
    before, head = split_template(statement)
    while head and head[0].kind == "[":  # an attribute
        head = head[1:]
    words = [p.text for p in head]
    if not words or words[0] in ("static_assert", "friend", "asm") or words[:2] in (["using", "namespace"], ["extern", "template"]):
        return []

    def made(kind, name, parts=head, defined=True):
        return [Declaration(kind, name, text_of(parts), text_of(before), defined=defined)]

    if words[0] == "using" and "=" not in words:
        return [] if "operator" in words else made("import", words[-1])
    if words[0] in ("using", "namespace"):
        return made("alias", words[1])
    if words[0] in KEYED:
        named = [p for p in head[1:] if p.kind not in ("[", "(") and p.text not in ("class", "struct", "alignas")]
        if not named or len(named) > 1 and named[1].text == "::":
            return []  # a member's definition
        out = made(KEYED[words[0]], named[0].text, defined=opens or words[0] == "concept")
        out[0].special = len(named) > 1 and named[1].kind == "<"
        return out
    if "operator" in words:
        return made("function", "operator" + "".join(words[words.index("operator") + 1 :][:1]))
    equals = words.index("=") if "=" in words else len(words)
    pointer = next((re.match(r"\(\*(\w+)\)$", p.text) for p in head if p.kind == "("), None)
    if pointer:
        return made("variable", pointer.group(1))  # `void (*name)(int)`
    for i in range(1, equals):
        if head[i].kind != "(" or head[i - 1].kind != "word" or words[i - 1] in NO_NAME:
            continue
        tilde = i > 1 and words[i - 2] == "~"
        if i == 1 and (words[0] != inside or "->" in words) or "::" in words[i - 3 if tilde else i - 2 : i - 1]:
            return []  # a deduction guide, a member's definition
        initializers = words.index(":") if ":" in words[i:] else len(words)
        return made("function", "~" * tilde + words[i - 1], head[:initializers])
    out, kind_of = [], []  # `int x = 0, y = 0;` is two
    while head:
        comma = next((i for i, p in enumerate(head) if p.text == ","), len(head))
        one, head = kind_of + head[:comma], head[comma + 1 :]
        equals = next((i for i, p in enumerate(one) if p.text == "="), len(one))
        at = next((i for i in reversed(range(equals)) if one[i].kind == "word"), None)
        if at is None or at > 0 and one[at - 1].text == "::" or at + 1 < len(one) and one[at + 1].kind == "<":
            break
        out += made("variable", one[at].text, one)
        kind_of = kind_of or one[:at]
    return out


def read(text):
    return Reader(text).scope()

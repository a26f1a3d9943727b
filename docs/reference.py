#!/usr/bin/env python3
"""Writes docs/names.md and docs/reference/ from the headers: what there is in namespace wick, and what its comments say.

What a user's program needs is in namespace wick, everything else in wick::detail.
"""

import argparse
import difflib
import functools
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # next to what is imported from here
from declarations import read

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "wick"
NAMES = ROOT / "docs" / "names.md"
PAGES = ROOT / "docs" / "reference"

# room: (title, what a reader should know before the first name, guides)
ROOMS = {
    "sources": (
        "Sources",
        "A pipeline begins with a source. It knows the number and the places of the samples, but reads none of them. "
        "[read()](io.md#read) does that later in the pipeline, on the loader's workers and I/O threads. A type of your own is a source "
        "if it has `size()` and `at(i)`: see [source](ext.md#source).",
        ["records", "record_files", "lists", "series", "changing_data", "from_python_dataloader", "from_torch_data"],
    ),
    "tables": (
        "Tables",
        "Tables of rows and columns as sources, and as lists of files with their labels. `parquet` needs the CMake target `wick::arrow`, "
        "and its header is not in `<wick/wick.hpp>`.",
        ["lists", "parquet"],
    ),
    "stores": (
        "Servers",
        "Files and shards on web servers and in buckets, by URL instead of path. URLs need the CMake target `wick::curl` and the header "
        "`<wick/stores/remote.hpp>`, which `<wick/wick.hpp>` doesn't include.",
        ["servers"],
    ),
    "text": (
        "Text",
        "Lines and documents of text files as samples, in any order. A tokenizer is a callable that takes a "
        "`std::string_view`.",
        ["text"],
    ),
    "io": (
        "Reading",
        "`read()` turns the place of a sample into its bytes. It reads cached bytes at once, and suspends the sample if it would have to "
        "wait for a disk.",
        ["records"],
    ),
    "sampling": (
        "Sampling and order",
        "The order of the samples in an epoch. These stages come directly after the source and work on positions; they read nothing. "
        "An order is computed from the seed and the epoch, so it takes no memory and is the same on every machine. `concat()`, "
        "`mix()`, and `zip()` make one source from several.",
        ["from_python_dataloader"],
    ),
    "pipeline": (
        "Pipelines and samples",
        "`source | stage | stage` is a value: copy it, name it, give it to several loaders. A stage is one of wick's, or any callable. "
        "Stages without a source can be joined, too, and put into several pipelines: `auto augment = random_resized_crop(224) | "
        "random_horizontal_flip();`. Nothing runs before a [loader](loader.md) has the pipeline. For types of "
        "your own, see [sources and stages](ext.md).",
        ["from_python_dataloader", "from_torch_data"],
    ),
    "image": (
        "Images",
        "Decoding, and the parts that follow an image's geometry: masks, boxes, keypoints, and polygons. Decoding is lazy: crops, "
        "resizes, and flips are only planned. They run in one pass, when the image's slot in the batch is known. A stage of your own that "
        "takes a [`wick::image`](pixels.md#image) gets the pixels after the earlier stages.",
        ["parts", "from_python_dataloader"],
    ),
    "transforms": (
        "Transforms",
        "Stages on images, with the definitions and the defaults of torchvision. Sizes are height, then width. Geometry stages also "
        "transform the masks, boxes, keypoints, and polygons of the same sample; color stages change only images. Stages whose name begins "
        "with `random_` draw whether and how much. `mixup()`, `cutmix()`, and `mosaic()` make images from several samples of an epoch.",
        ["parts", "mixing", "from_python_dataloader"],
    ),
    "pixels": (
        "Pixels",
        "An image in memory, and how its pixels are resampled.",
        [],
    ),
    "cache": (
        "Caches",
        "A cache keeps results that don't change from epoch to epoch. It can be anywhere before `batch()`: after `read()`, it keeps files, "
        "and after `decode()`, pixels. Stages that draw random numbers come after it.",
        ["caching"],
    ),
    "batch": (
        "Batches",
        "How samples become batches, without Torch: [batch()](torch.md#batch) does the same and makes tensors. Each field of a sample "
        "becomes a column, with one more dimension.",
        ["series", "any_length", "from_torch_data"],
    ),
    "torch": (
        "Torch",
        "Batches of tensors, pinned memory, transfer to a device, tensors as a source, and other features that need LibTorch. Only "
        "`<wick/wick.hpp>` and `<wick/torch.hpp>` include them; `<wick/core.hpp>` needs no LibTorch.",
        ["series", "from_torch_data", "from_python_dataloader", "checkpoint"],
    ),
    "python": (
        "Python",
        "Pipelines as functions of a Python module, in namespace `wick::python`. `<wick/wick.hpp>` doesn't include these headers, which need "
        "nanobind.",
        ["python"],
    ),
    "loader": (
        "The loader",
        "A loader runs a pipeline, on its own threads or on a shared [executor](async.md#executor), and delivers batches in order, epoch "
        "after epoch.",
        ["two_loaders", "checkpoint", "bad_samples", "changing_data", "changing_mixture", "seek", "hanging"],
    ),
    "failures": (
        "Bad samples",
        "A failing sample fails its batch, or is skipped or replaced. The loader's log lists the failures.",
        ["bad_samples"],
    ),
    "resume": (
        "Checkpoints",
        "The state of a [loader](loader.md#loader) in a file.",
        ["checkpoint"],
    ),
    "profile": (
        "The report",
        "Where the time went, what to change, and the progress of an epoch.",
        ["tracing"],
    ),
    "tools": (
        "Whole passes",
        "Functions that run a pipeline from end to end: its speed without a training step, the lengths of its samples, its tokens in a file.",
        ["text", "any_length"],
    ),
    "ext": (
        "For authors of stages, sources, and codecs",
        "Names in namespace `wick::ext`: those of `slot`, `record_frame`, `has_no_parts`, `environment`, `stop_token`, and `sync_wait()` are on the "
        "pages that they belong to. The requirements for a source or a stage, and the traits of a stage that the engine uses. The decoders that "
        "[decode()](image.md#decode) uses, and how to write your own.",
        ["formats", "changing_data"],
    ),
    "async": (
        "Coroutines",
        "Threads that run coroutines. A stage that has to wait for something is a coroutine that returns a `wick::task`, and awaits "
        "one of the operations here; a worker never blocks.",
        ["two_loaders"],
    ),
    "": ("Version", "", []),
}
PAGE_OF = {room: f"{room or 'version'}.md" for room in ROOMS}
MACROS = {
    "WICK_IMPLEMENTATION": "define it in one file before it includes `<wick/wick.hpp>`, in a program that is built without wick's CMake: "
    "non-template code is compiled there, with the decoders. Compile that file with `-ffp-contract=off`, so that pixels are the same "
    "with every instruction set",
    "WICK_JPEG_STB": "define it with `WICK_IMPLEMENTATION` to decode progressive JPEGs without libjpeg-turbo even if it is installed",
    "WICK_PNG_LIBDEFLATE": "define it with `WICK_IMPLEMENTATION` to inflate PNGs with libdeflate, and link `-ldeflate`",
}


class House:
    """All declarations, by where they lie."""

    def __init__(self):
        self.public = {}  # name: [declaration]
        self.hidden = {}  # the same for wick::detail: classes only
        self.hooks, self.seen = [], 0
        self.purpose = {}  # header: its first comment
        declared = read(HEADERS)
        texts = {path: (HEADERS / path).read_text(encoding="utf-8") for path in declared}
        for path, text in texts.items():
            about = re.match(r"((?://.*\n)*)", text)
            self.purpose[path] = " ".join(line[2:].strip() for line in about.group(1).splitlines())
            self.add(declared[path], (), self.told_as(path, texts))
        for name, found in list(self.public.items()):
            # A class may be declared, and only a specialization of it defined; that of a misfit only says what is wrong.
            whole = [d for d in found if d.defined and not d.special]
            self.public[name] = whole or [d for d in found if d.defined and "misfit" not in d.declared]
            if not self.public[name]:
                del self.public[name]

    @staticmethod
    def told_as(path, texts):
        """The header that a program includes: for one in a detail/ folder that which includes it."""
        room = path.split("/")[0]
        by = [p for p, text in texts.items() if f"<wick/{path}>" in text and p.startswith(room + "/") and "/detail/" not in p]
        return by[0] if "/detail/" in path and by else path

    def add(self, declarations, within, path):
        for d in declarations:
            # What takes a mistake only says what is wrong.
            d.within = [m for m in d.within if not re.search(r"\bdetail::(misfit|almost_)", m.template)]
            self.seen += 1
            d.header, d.order = path, self.seen
            if d.kind == "namespace":
                self.add(d.within, within + tuple(d.name.split("::")), path)
            elif d.name.startswith("operator"):
                pass
            elif within in (("wick",), ("wick", "ext"), ("wick", "python")):
                d.scope = "::".join(within)
                self.public.setdefault(d.name, []).append(d)
            elif within == ("wick", "detail") and d.kind == "class" and d.defined and not d.special:
                self.hidden.setdefault(d.name, d)
            elif within == ("wick", "hook"):
                self.hooks.append(d)

    def room_of(self, declaration):
        return declaration.header.split("/")[0] if "/" in declaration.header else ""

    def takes(self, options):
        """The function that first takes these options; None where it is a name of its own."""
        if not options.endswith("_options"):
            return None
        room = self.room_of(self.main(options))
        found = [(d.header, d.order, name) for name, ds in self.public.items() for d in ds
                 if name != options and self.room_of(d) == room and d.kind == "function" and re.search(rf"\b{options}\b", d.declared)]
        return min(found)[2] if found else None

    def main(self, name):
        """The declaration by which a name is listed: that of the most general room."""
        order = list(ROOMS)
        rooms = {self.room_of(d) for d in self.public[name]}
        room = "pipeline" if "pipeline" in rooms else min(rooms - {"torch"} or rooms, key=order.index)
        return next(d for d in self.public[name] if self.room_of(d) == room)


# ---- comments ----


def blocks(comment):
    """[(kind, text)]: "text", "code", "throws", "param"."""
    out, was_code, fresh = [], False, True
    for line in comment:
        body = line[1:] if line.startswith(" ") else line
        if not body.strip():
            fresh = True
            was_code = was_code and None
            continue
        if body.startswith("    ") and (fresh or was_code):
            if was_code and out:
                out[-1] = ("code", out[-1][1] + "\n" + body[4:])
            else:
                out.append(("code", body[4:]))
            was_code, fresh = True, False
            continue
        was_code = False
        pieces = re.split(r"(\\throws|\\param)\s*", body.strip())
        if pieces[0].strip():
            if fresh or not out or out[-1][0] == "code":
                out.append(("text", pieces[0].strip()))
            else:
                out[-1] = (out[-1][0], out[-1][1] + " " + pieces[0].strip())
        for tag, text in zip(pieces[1::2], pieces[2::2]):
            out.append((tag[1:], text.strip()))
        fresh = False
    return out


def first_sentence(comment):
    texts = [text for kind, text in blocks(comment) if kind == "text"]
    if not texts:
        return ""
    texts[0] = texts[0][:1].upper() + texts[0][1:]
    ends = [m.start() for m in re.finditer(r"\.(?=\s|$)", texts[0]) if texts[0][: m.start()].count("`") % 2 == 0]
    sentence = texts[0][: ends[0]] if ends else texts[0].rstrip(":.")
    colon = re.search(r"(?<!`): ", sentence)
    if len(sentence) > 120 and colon and colon.start() > 20 and sentence[: colon.start()].count("`") % 2 == 0:
        sentence = sentence[: colon.start()]
    return sentence


class Writer:
    def __init__(self, house, room):
        self.house, self.room, self.shown = house, room, {}

    def link(self, name):
        """To the section of a public name."""
        room = self.room
        if room is None or all(self.house.room_of(d) != room for d in self.house.public[name]):
            room = self.house.room_of(self.house.main(name))
        return f"{'' if room == self.room else PAGE_OF[room]}#{name}"

    def prose(self, text, own=""):
        """A comment as Markdown: names in code, those of public things linked."""
        out = []
        for i, piece in enumerate(re.split(r"(`[^`]*`)", text)):
            if i % 2:
                name = re.fullmatch(r"`(?:wick::)?(?:ext::)?(\w+)(?:\(\))?`", piece)
                known = name and name.group(1) in self.house.public and name.group(1) != own and ("(" in piece or "wick::" in piece)
                out.append(f"[{piece}]({self.link(name.group(1))})" if known else piece)
                continue
            at = 0
            for m in re.finditer(r"(?<![\w.:/<])(wick::(?:ext::)?)?(\w+)((?:(?:::|\.)[a-z_]\w*)*)(\(\)|<[^<>]*>)?", piece):
                scoped, name, members, call = m.groups()
                if not (call or scoped or members.startswith("::")) or name == "std" and not members:
                    continue
                out.append(escape(piece[at : m.start()]))
                shown = f"`{m.group()}`"
                if name in self.house.public and name != own:
                    shown = f"[{shown}]({self.link(name)})"
                out.append(shown)
                at = m.end()
            out.append(escape(piece[at:]))
        return "".join(out)

    def comment(self, comment, own="", indent=""):
        """Paragraphs, code, what is thrown."""
        lines = []
        for kind, text in blocks(comment):
            if lines:
                lines.append("")
            if kind == "text":
                lines.append(indent + self.prose(text, own))
            elif kind == "code":
                lines += [indent + "```cpp", *(indent + line for line in text.splitlines()), indent + "```"]
            elif kind == "throws":
                lines.append(indent + "Throws " + self.prose(sentence(text), own))
            elif kind == "param":
                name, _, meaning = text.partition(" ")
                lines.append(indent + f"`{name}`: " + self.prose(meaning.strip(), own))
        return lines

    def inline(self, comment, own=""):
        """The same in one line, for a table."""
        out = []
        for kind, text in blocks(comment):
            if kind == "throws":
                text = "Throws " + sentence(text)
            out.append("`" + text + "`" if kind == "code" else self.prose(text, own))
        return " ".join(out).replace("|", "\\|")

    # ---- declarations ----

    def kind_of(self, name):
        """How a type of wick::detail is called where a function returns it."""
        d = self.house.hidden.get(name)
        if d is None:
            return None
        traits = next((m for m in d.within if m.name == "traits"), None)
        if traits is not None:
            return "order_stage auto" if "stage_kind::order" in traits.declared + (traits.body or "") else "stage auto"
        members = {m.name for m in d.within}
        return "source auto" if {"size", "at"} <= members else None

    def result(self, d):
        """The detail class that a function gives; None where it is something else."""
        before = d.declared.split(d.name + "(")[0]
        text = before if not re.search(r"\bauto\b", before) else d.body
        m = re.search(r"\bdetail::(\w+)", text)
        return m.group(1) if m and m.group(1) in self.house.hidden else None

    def signature(self, d, wrap=True):
        text = re.sub(r"\[\[.*?\]\] ?", "", d.declared)
        text = re.sub(r"\b(inline|constexpr|consteval|friend) ", "", text)
        if d.kind == "function":
            text = re.sub(r"\)((?: const)?(?: &&?)?)(?: noexcept(?:\(.*\))?)(?: override)?$", r")\1", text)
            result = self.result(d)
            kind = self.kind_of(result) if result else None
            text = re.sub(r"\S+_awaiter (?=" + re.escape(d.name) + r"\()", "auto ", text)
            if kind:
                at = text.index(d.name + "(")
                text = kind + " " + text[at:]
        if d.kind == "variable":
            text = re.sub(r" = .*|\{.*\}$", "", text)
        text = re.sub(r" : (public )?detail::\w+(<[\w, .]*>)?$", "", text)  # a base that is the engine's half
        text = re.sub(rf"\bwick::(?!{re.escape(d.name)}\b)", "", text.replace("detail::", ""))  # `wick::report report()` needs it
        template = d.template.replace("detail::", "")
        if not wrap:  # among others in a list: without constraints
            template = re.sub(r"^(template <(?:[^<>]|<[^<>]*>)*>).*", r"\1", template)
        else:
            template = re.sub(r"(?<=>) requires", "\n  requires", template)
        return (template + "\n" if template else "") + (wrapped(text) if wrap else text)

    def synopsis(self, declarations):
        of_ext = ", namespace wick::ext" if getattr(declarations[0], "scope", "") == "wick::ext" else ""
        lines = [f"// <wick/{declarations[0].header}>{of_ext}"] if declarations[0].header else []
        for d in declarations:
            if d.kind == "concept":
                lines += d.source.splitlines()
            else:
                lines += (self.signature(d) + ";").splitlines()
        return ["```cpp", *lines, "```"]

    def variables(self, d):
        return [m for m in d.within if m.kind == "variable" and m.public and (m.comment or not m.declared.startswith(("static ", "stage_list<")))]

    def table(self, d):
        """The data members of a struct that users fill or read."""
        rows, before = [], (None,)
        for m in self.variables(d):
            declared = re.sub(r"\b(mutable|constexpr) ", "", m.declared)
            if m.declared.startswith("static "):  # a name for a value, which is no default of it
                declared = declared.partition("{")[0]
            type_and_name, _, default = declared.partition(" = ")
            if not default:
                brace = re.match(r"(.*\b" + m.name + r")\s*\{(.*)\}$", declared)
                type_and_name, default = (brace.group(1), brace.group(2)) if brace else (type_and_name, None)
            kind = tidy_type(re.sub(r"\b" + m.name + r"\b\s*(?=\)|$)", "", type_and_name).strip())
            meaning = self.inline(m.comment, d.name)
            default = None if default is None else tidy_type(default.replace("\n", " ")) or "{}"
            now = (m.comment, kind, default)
            if rows and m.comment and now == before:
                rows[-1][0] += f", `{m.name}`"
            else:
                rows.append([f"`{m.name}`", f"`{kind}`", default, meaning])
            before = now
        if not rows:
            return []
        for row in rows:
            row[1] = row[1].replace("|", "\\|")
        with_default = any(row[2] not in (None, "{}") for row in rows)
        lines = ["| member | type | default | |", "|---|---|---|---|"] if with_default else ["| member | type | |", "|---|---|---|"]
        for name, kind, default, meaning in rows:
            value = f" `{default}` |" if default not in (None, "{}") else " |"
            lines.append(f"| {name} | {kind} |{value if with_default else ''} {meaning} |")
        return lines

    def functions(self, d, of_result=False):
        """The public member functions and types that users call, a list item each."""
        told, untold = [], []
        group = None
        for m in d.within:
            if not m.public or m.kind not in ("function", "class", "enum") or not self.of_use(d, m):
                continue
            if m.kind != "function":
                if m.comment and m.defined:
                    told.append(([m], m.comment))
                group = None
            elif of_result and m.name == d.name:
                group = None
            elif m.comment:
                group = ([m], m.comment)
                told.append(group)
            elif group is not None and group[0][-1].name == m.name:
                if m.declared.replace("const ", "").replace(" const", "") not in (
                    x.declared.replace("const ", "").replace(" const", "") for x in group[0]
                ):
                    group[0].append(m)
            else:
                group = None
                untold.append(m)
        lines = []
        for members, comment in told:
            if members[0].kind == "function":
                lines += ["- " + self.inline_code(members[0])]
                lines += ["  " + self.inline_code(m) for m in members[1:]]
                for i in range(len(lines) - len(members), len(lines)):
                    lines[i] += "<br>"
                lines += self.comment(comment, d.name, "  ")
            else:
                lines += [f"- `{'enum class' if members[0].kind == 'enum' else 'class'} {members[0].name}`<br>"]
                lines += self.comment(comment, d.name, "  ")
                if members[0].kind != "enum":
                    lines += ["  " + line for line in self.table(members[0]) + [""] + self.functions(members[0])]
        seen = []
        for m in untold:
            text = self.inline_code(m)
            if text not in seen and not (of_result and m.name not in ("size", "at")):
                seen.append(text)
        if seen:
            lines += [("- Also " if told else "- ") + ", ".join(seen)]
        return lines

    def inline_code(self, m):
        text = self.signature(m, wrap=False).replace("\n", " ")
        return "`" + re.sub(r"\s+", " ", text) + "`"

    def of_use(self, d, m):
        if blocks(m.comment) and blocks(m.comment)[0][1].startswith(("For the loader", "For who")):
            return False
        if m.kind != "function":
            return not m.name.endswith("_awaiter") and m.name not in ("iterator", "promise_type")
        if m.name.startswith("~") or m.name.startswith("await_") or re.search(r"= (delete|default)$", m.declared):
            return False
        if m.name.startswith("operator") and m.name not in ("operator()", "operator[]"):
            return False
        if m.declared.startswith("virtual"):  # for a user's class to override
            return True
        private = re.findall(r"detail::(\w+)", re.sub(r"std::vector<detail::\w+>", "", m.declared))
        result = self.result(m)
        if result and self.kind_of(result):  # shown as a source or a stage
            private.remove(result)
        if not all(t.endswith("_options") for t in private):
            return False
        if m.name == d.name:  # a constructor
            inner = m.declared[m.declared.index("(") :]
            if re.match(r"\((?:const )?" + d.name + r"\s*&&?\s*\w*\)", inner):
                return False
        return True

    @functools.cache
    def told(self):
        """The types of what public functions return."""
        return {self.result(f) for fs in self.house.public.values() for f in fs if f.kind == "function"}

    def fillings(self, declarations):
        """What users put into the parameters of these functions, or get from them, that has no name in wick itself."""
        out, todo = [], []
        for d in declarations:
            if d.kind == "function" and "(" in d.declared:
                todo += re.findall(r"detail::(\w+)", d.declared[d.declared.index(d.name + "(") :])
                result = self.result(d)
                if result and not result.endswith("_awaiter") and self.kind_of(result) in (None, "source auto"):
                    todo.append(result)
            elif d.kind == "class":
                for m in d.within:
                    if m.public and m.kind == "function" and self.of_use(d, m):
                        which = r"\w+" if m.declared.startswith("virtual") else r"\w+_options"
                        todo += re.findall(r"detail::(" + which + r")\b|std::vector<detail::(\w+)>", m.declared)
                    elif m.public and m.kind == "variable":
                        todo += [t for t in re.findall(r"detail::(\w+)\b(?! ?\*)", m.declared) if t not in self.told()]
            elif d.kind == "variable":
                todo += re.findall(r"detail::(\w+)", d.declared)
        todo = [name if isinstance(name, str) else name[0] or name[1] for name in todo]
        while todo:
            name = todo.pop(0)
            d = self.house.hidden.get(name)
            if d is None or d in out:
                continue
            out.append(d)
            for m in self.variables(d):
                if name.endswith("_options"):
                    todo += [w for w in re.findall(r"\w+", m.declared.split(" = ")[0]) if w in self.house.hidden]
        return [d for d in out if self.worth_telling(d)]

    def worth_telling(self, d):
        return bool(self.table(d)) or bool(d.comment)

    def filling(self, d, own):
        if d.name in self.shown:
            return ["", f"`{d.name}`: see [{self.shown[d.name]}](#{self.shown[d.name]})."]
        self.shown[d.name] = own
        source = self.kind_of(d.name) == "source auto"
        title = f"`{d.name}`"
        if source:
            title = "The source that it gives"
        lines = ["", f"**{title}**", ""]
        about = self.comment(d.comment, own)
        lines += about + ([""] if about else [])
        table = self.table(d)
        members = self.functions(d, of_result=source)
        lines += table + ([""] if table and members else []) + members
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def section(self, name):
        mine = [d for d in self.house.public[name] if self.house.room_of(d) == self.room]
        lines = [f"## {name}", ""]
        groups = []
        for d in mine:
            if groups and not d.comment:
                groups[-1][0].append(d)
            else:
                groups.append(([d], d.comment))
        for members, comment in groups:
            lines += self.synopsis(members) + [""]
            about = self.comment(comment, name)
            lines += about + ([""] if about else [])
        for d in mine:
            if d.kind == "class":
                table, members = self.table(d), self.functions(d)
                lines += table + ([""] if table else []) + members + ([""] if members else [])
            elif d.kind == "enum":
                if not any(e.comment for e in d.within):
                    lines += [", ".join(f"`{e.name}`" for e in d.within) + ".", ""]
                    continue
                lines += ["| value | |", "|---|---|"]
                lines += [f"| `{e.name}` | {self.inline(e.comment, name)} |" for e in d.within] + [""]
        if name == "hooks":
            lines += ["| hook | what the stage has |", "|---|---|"]
            lines += [f"| `hook::{h.name}` | {self.inline(h.comment, name)} |" for h in self.house.hooks] + [""]
        for d in self.fillings(mine):
            lines += self.filling(d, name)[1:] + [""]
        return lines

    def page(self):
        title, purpose, guides = ROOMS[self.room]
        names = self.names()
        lines = [f"# {title}", ""] + ([purpose, ""] if purpose else [])
        if guides:
            titles = {g: (ROOT / "docs" / "guides" / f"{g}.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ") for g in guides}
            lines += ["Guides: " + ", ".join(f"[{titles[g]}](../guides/{g}.md)" for g in guides) + ".", ""]
        lines += ["| header | what it is for | names | |", "|---|---|---|---|"]
        headers = sorted({d.header for n in names for d in self.house.public[n] if self.house.room_of(d) == self.room})
        for header in headers:
            here = [n for n in names if any(d.header == header for d in self.house.public[n]) and not self.house.takes(n)]
            test = "tests/" + header.replace(".hpp", ".cpp")
            linked = f"[test](../../{test})" if (ROOT / test).is_file() else ""
            lines.append(
                f"| [{header}](../../include/wick/{header}) | {self.inline([' ' + self.house.purpose[header]])} | "
                + ", ".join(f"[`{n}`](#{n})" for n in here)
                + f" | {linked} |"
            )
        lines.append("")
        for name in names:
            lines += self.section(name)
        return tidy(lines)

    def names(self):
        """In the order of the headers, and within one in that of the text; options after the function that takes them."""
        out = []
        for name, found in self.house.public.items():
            if any(self.house.room_of(d) == self.room for d in found):
                out.append(name)

        def place(name):
            taker = self.house.takes(name) if self.house.room_of(self.house.main(name)) == self.room else None
            header, order = min((d.header, d.order) for d in self.house.public[taker or name] if self.house.room_of(d) == self.room)
            return header, order, bool(taker)

        return sorted(out, key=place)


def escape(text):
    return re.sub(r"([<*])|(?<!\w)(_)|(_)(?!\w)", lambda m: "&lt;" if m.group() == "<" else "\\" + m.group(), text)


def sentence(text):
    text = text.strip()
    return text if text.endswith((".", ":", "…")) else text + "."


def tidy_type(text):
    return text.replace("detail::", "").replace("wick::", "").strip()


def wrapped(text, width=100):
    """A signature, a parameter a line where it is too long for one."""
    if len(text) <= width or "(" not in text:
        return text
    at = text.index("(")
    depth, parameters, one, end = 0, [], "", len(text)
    for i, c in enumerate(text[at:], at):
        depth += (c in "([{<") - (c in ")]}>" and text[i - 1] != "-")
        if depth == 0:
            parameters.append(one)
            end = i
            break
        if c == "," and depth == 1:
            parameters.append(one)
            one = ""
        elif i > at:
            one += c
    return text[: at + 1] + "".join("\n    " + p.strip() + "," for p in parameters)[:-1] + text[end:]


def tidy(lines):
    out = []
    for line in lines:
        line = line.rstrip()
        if line or out and out[-1]:
            out.append(line)
    while out and not out[-1]:
        out.pop()
    return "\n".join(out) + "\n"


def names_page(house):
    writer = Writer(house, None)
    lines = ["# Public names", "",
             f"Everything in namespaces `wick`, `wick::ext`, and `wick::python`: {sum(not house.takes(n) for n in house.public)} names, without "
             "the structs of options that functions take, which [the reference](reference/index.md) shows after the functions that take them. `docs/reference.py` writes both from the headers.", ""]
    for room, (title, _, _) in ROOMS.items():
        mine = [n for n in sorted(house.public) if house.room_of(house.main(n)) == room and not house.takes(n)]
        lines += [f"## {title}", "", "| name | header | |", "|---|---|---|"]
        for n in mine:
            d = house.main(n)
            about = writer.prose(first_sentence(summary_of(house, n)), n).replace("|", "\\|")
            about = re.sub(r"\]\((?=\w+\.md)", "](reference/", about)
            scope = "ext::" if d.scope == "wick::ext" else ""
            lines.append(f"| [`{scope}{n}`](reference/{writer.link(n)}) | `{d.header}` | {about} |")
        lines.append("")
    lines += ["## Macros", "", "| name | |", "|---|---|"]
    lines += [f"| `{n}` | {about} |" for n, about in MACROS.items()]
    return tidy(lines)


def summary_of(house, name):
    """The comment of a name: that of its first overload that has one."""
    first = house.main(name)
    return first.comment or next((d.comment for d in house.public[name] if d.comment), [])


def index_page(house):
    writer = Writer(house, None)
    lines = ["# Reference", "",
             "Every public name of wick, from the comments in its headers. `#include <wick/wick.hpp>` has all of them; "
             "`<wick/core.hpp>` those that need no LibTorch. `<wick/vision.hpp>`, `<wick/text.hpp>`, `<wick/series.hpp>`, and "
             "`<wick/tables.hpp>` have those of one domain, and compile faster.", "",
             "In signatures, `stage auto`, `order_stage auto` and `source auto` are types that model the concept of that name and have "
             "no public name of their own. Options such as `read_options` can be written in place: `read({.max_bytes = 1 << 20})`. They "
             "follow the function that takes them.", ""]
    for room, (title, _, _) in ROOMS.items():
        mine = [n for n in sorted(house.public) if house.room_of(house.main(n)) == room and not house.takes(n)]
        lines += [f"## [{title}]({PAGE_OF[room]})", ""]
        for n in mine:
            scope = "ext::" if house.main(n).scope == "wick::ext" else ""
            lines.append(f"- [`{scope}{n}`]({writer.link(n)}): {writer.prose(first_sentence(summary_of(house, n)), n)}")
        lines.append("")
    return tidy(lines)


def faults(house):
    out = []
    for name in house.public:
        room = house.room_of(house.main(name))
        if room not in ROOMS:
            out.append(f"wick::{name} lies in {room}/, which has no page; give it one in ROOMS of docs/reference.py")
        elif not first_sentence(summary_of(house, name)):
            out.append(f"include/wick/{house.main(name).header}: wick::{name} has no /// comment")
    return out


def main():
    arguments = argparse.ArgumentParser(description="Writes docs/names.md and docs/reference from the headers.")
    arguments.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is not as it would be written")
    arguments.add_argument("--count", action="store_true", help="only print how many names there are")
    options = arguments.parse_args()
    house = House()
    if options.count:
        print(len(house.public))
        return 0
    found = faults(house)
    for fault in found:
        print(fault)
    if found and options.check:
        return 1
    wanted = {NAMES: names_page(house), PAGES / "index.md": index_page(house)}
    for room in ROOMS:
        if any(house.room_of(d) == room for all_of in house.public.values() for d in all_of):
            wanted[PAGES / PAGE_OF[room]] = Writer(house, room).page()
    old = [p for p in sorted(PAGES.glob("*.md")) if p not in wanted]
    if options.check:
        differs = False
        for page, text in [*wanted.items(), *((p, "") for p in old)]:
            there = page.read_text(encoding="utf-8") if page.is_file() else ""
            name = page.relative_to(ROOT).as_posix()
            would_be = name + " as it would be written"
            for line in difflib.unified_diff(there.splitlines(), text.splitlines(), name, would_be, lineterm="", n=1):
                print(line)
            if page in old:
                print(f"{name}: there is no such room, or it has no public names")
            differs = differs or there != text or page in old
        if differs:
            print("\nThe headers say something else than these pages. This writes them anew: python3 docs/reference.py")
        return 1 if differs else 0
    PAGES.mkdir(exist_ok=True)
    for page in old:
        page.unlink()
    for page, text in wanted.items():
        page.write_text(text, encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

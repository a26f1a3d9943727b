#!/usr/bin/env python3
"""Checks the shape of the house: which header may include which, and what each must be. A line per violation.

structure.py ROOT             the checks
structure.py ROOT --figures   lines and files of each room, public names, and public signatures that use wick::detail

The arrows run one way as ARROWS says, and docs/architecture.md says the same; there is no circle, only torch/ and wick.hpp see
LibTorch, all names are in the version's inline namespace, what users include stays cheap, what is compiled once has a file
that compiles it, every public header has a public name and a test, no two headers have one file name, what users read or call
names no wick::detail, a body includes nothing that its header includes, the documentation of the code names headers that exist, and what
git tracks is text.
"""

import collections
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # next to what is imported from here
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
from declarations import read

# The rooms that a room's headers may include, beside itself. The table of rooms in docs/architecture.md is compared with this.
ARROWS = {
    "base": set(),
    "async": {"base"},
    "pipeline": {"async", "base"},
    "sampling": {"pipeline"},
    "io": {"async", "base", "pipeline"},
    "sources": {"async", "base", "io", "pipeline", "sampling"},
    "stores": {"async", "base", "io", "pipeline", "sources"},
    "tables": {"async", "base", "batch", "io", "pipeline", "sources"},
    "text": {"io", "pipeline", "sources"},
    "cache": {"async", "base", "batch", "io", "pipeline"},
    "batch": {"base", "pipeline"},
    "pixels": {"pipeline"},
    "codec": {"pipeline", "pixels"},
    "image": {"batch", "codec", "io", "pipeline", "pixels"},
    "transforms": {"batch", "image", "pipeline", "pixels"},
    "profile": {"async", "base", "io", "pipeline"},
    "resume": {"base", "batch", "io", "pipeline"},
    "failures": {"base", "batch", "io", "pipeline", "profile", "resume"},
    "loader": {"async", "base", "batch", "failures", "io", "pipeline", "profile", "resume", "sampling"},
    "tools": {"async", "base", "batch", "failures", "io", "loader", "pipeline", "profile", "resume", "text"},
    "python": {"async", "base", "batch", "failures", "loader", "pipeline", "profile"},
    "torch": {"async", "base", "batch", "pipeline", "resume", "sources", "transforms"},
}
# ext/ is for authors of stages, sources, and codecs. Each of its headers belongs to the room that is asked for its arrows.
HOME_OF = {
    "ext/stage.hpp": "pipeline",
    "ext/source.hpp": "pipeline",
    "ext/fingerprint.hpp": "pipeline",
    "ext/file_range.hpp": "io",
    "ext/file_stamp.hpp": "io",
    "ext/cache_bytes.hpp": "pipeline",
    "ext/codec.hpp": "codec",
    "ext/row_sink.hpp": "pixels",
    "ext/slab_memory.hpp": "batch",
}
# What is in a CMake target of its own, beside core.hpp and wick.hpp, since it needs another library.
OWN_TARGETS = {"sources/lmdb.hpp", "tables/parquet.hpp"}
OWN_ROOMS = {"stores"}
# The namespaces in wick that have public names: for authors of stages and sources, and for extensions of Python.
INNER = ("ext", "python")
MOST_NAMES = 200
# Headers at the top that any room may include, and those that gather the rooms.
SHARED = {"version.hpp"}
WITH_TORCH = {"wick.hpp", "torch.hpp"}
GATHERING = WITH_TORCH | {"core.hpp", "common.hpp", "vision.hpp", "text.hpp", "series.hpp", "tables.hpp", "implementation.hpp"}
# Standard headers that no user of a core header should pay for; what is compiled once may have the second kind.
COSTLY = {"ranges", "iostream", "functional", "future", "regex", "condition_variable"}
FOR_BODIES = {"chrono", "cmath", "filesystem", "fstream", "sstream"}
TORCH = re.compile(r"(torch|ATen|c10)/")

ROW = re.compile(r"^\| `(\w+)/` \|.*\|([^|]*)\|$", re.MULTILINE)  # of the table of rooms: its name, what it includes
NAMESPACE = re.compile(r"^namespace (wick\b[^{]*?) *\{", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def room_of(path: str) -> str:
    return HOME_OF[path] if path in HOME_OF else path.split("/")[0] if "/" in path else ""


def missing_headers(page: str, headers: list) -> list:
    """The headers that a page names and that don't exist."""
    named = set(re.findall(r"`((?:\w+/)+\w+\.[hi]pp)`", page))
    return [f"there is no {name}" for name in sorted(named - set(headers)) if not name.startswith("tests/")]


def told_otherwise(architecture: str) -> list:
    """Where the table of rooms says something else than ARROWS."""
    told = {room: set(re.findall(r"`(\w+)/`", includes)) for room, includes in ROW.findall(architecture)}
    faults = []
    for room in sorted(ARROWS.keys() | told.keys()):
        if room not in told:
            faults.append(f"{room}/ is missing in the table of rooms")
        elif room not in ARROWS:
            faults.append(f"the table of rooms has {room}/, and tests/structure.py has not")
        elif told[room] != ARROWS[room]:
            names = lambda rooms: ", ".join(sorted(rooms)) or "none"
            faults.append(f"{room}/ includes {names(told[room])}; tests/structure.py lets it include {names(ARROWS[room])}")
    return faults


def circles(graph: dict) -> list:
    """The include circles of headers or rooms, each once, starting from its alphabetically first."""
    found, state = set(), {}

    def visit(node, trail):
        state[node] = "open"
        for following in graph.get(node, []):
            if state.get(following) == "open":
                ring = trail[trail.index(following) :] if following in trail else [following]
                least = ring.index(min(ring))
                found.add(tuple(ring[least:] + ring[:least]))
            elif following not in state:
                visit(following, trail + [following])
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            visit(node, [node])
    return sorted(found)


def public_names(declarations: list, within: str = "") -> list:
    """The names that a header declares in namespace wick, outside wick::detail; those of wick::ext as ext::name."""
    found = []
    for d in declarations:
        if d.kind == "namespace":
            found += public_names(d.within, f"{within}::{d.name}")
        elif "detail" not in within.split("::"):
            inner = [n for n in within.split("::") if n in INNER]
            found.append("::".join([*inner, d.name or ""]))
    return found


def by_use(names: set) -> dict:
    """Public names by who uses them: docs/decisions/names.md."""
    names = {n for n in names if n.split("::")[-1] and not n.split("::")[-1].startswith("operator")}
    groups = {inner: {n for n in names if n.startswith(f"{inner}::")} for inner in INNER}
    own = {n for n in names if "::" not in n}
    groups["options"] = {n for n in own if n.endswith("_options")}
    groups["programs"] = own - groups["options"]
    return groups


def signatures_with_detail(declarations: list, within: tuple = ()) -> list:
    """Public functions whose parameters, and public variables whose types, are of wick::detail."""
    found = []
    for d in declarations:
        if d.kind == "namespace":
            found += signatures_with_detail(d.within, (*within, *d.name.split("::")))
        elif "detail" in within:
            continue
        elif d.kind == "class":
            found += signatures_with_detail([m for m in d.within if m.public], (*within, d.name))
        elif d.kind in ("function", "variable"):
            # What a function returns may have no public name: a stage, an awaitable. Its mistakes' overloads have none to show.
            shown = d.declared[d.declared.find("(") :] if d.kind == "function" else d.declared
            if re.search(r"\bdetail::(?!written_at|misfit|almost_|chain\b)", shown):
                found.append("::".join((*within, d.name)))
    return found


OPTIONS = re.compile(r"^struct (\w+_options) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"((?:^ *///.*\n)*)^  (\S.*?) (\w+) = (.*?);(.*)$", re.MULTILINE)


def options_that_guess(text: str) -> list:
    """Options whose comment says what 0 or -1 stands for, and times that are numbers: docs/decisions/options.md."""
    found = []
    for struct, members in OPTIONS.findall(text):
        for above, kind, name, _, behind in OPTION.findall(members):
            comment = above + behind
            if re.search(r"(?<![\w.])(0|-1): ", comment):
                found.append(f"{struct}::{name} has a number that means something else; make it a std::optional")
            if kind in ("double", "float", "int") and re.search(r"\bin (milli)?seconds\b|^ *///\W*Seconds\b", comment, re.MULTILINE):
                found.append(f"{struct}::{name} is a time; make it a std::chrono::nanoseconds")
    return found


def figures(base: Path, headers: list) -> None:
    """Prints what there is, room by room."""
    declared = read(base)
    rooms, names, signatures = collections.defaultdict(lambda: [0, 0, 0, 0]), set(), []
    for header in headers:
        text = (base / header).read_text(encoding="utf-8")
        parts = Path(header).parts
        row = rooms[parts[0] if len(parts) > 1 else "(top)"]
        row[("detail" in parts) + 2 * ("impl" in parts)] += 1
        row[3] += text.count("\n")
        if "impl" not in parts:
            names.update(public_names(declared.get(header, [])))
        if not {"detail", "impl"} & set(parts):
            signatures += [f"{header}: {s}" for s in signatures_with_detail(declared.get(header, []))]
    print(f"{'room':12} {'public':>7} {'detail':>7} {'bodies':>7} {'lines':>7}")
    for room, row in sorted(rooms.items()):
        print(f"{room:12} {row[0]:7} {row[1]:7} {row[2]:7} {row[3]:7}")
    total = [sum(row[i] for row in rooms.values()) for i in range(4)]
    print(f"{'all':12} {total[0]:7} {total[1]:7} {total[2]:7} {total[3]:7}")
    for signature in signatures:
        print(f"of wick::detail: {signature}")
    groups = by_use(names)
    print(
        f"public names: {len(groups['programs'])} that programs write, {len(groups['options'])} structs of options, "
        f"{len(groups['ext'])} in wick::ext, {len(groups['python'])} in wick::python"
    )
    print(f"{len(signatures)} public signatures with wick::detail")


def said_twice(base: Path, headers: list) -> list:
    """What a body includes though its own header does."""
    faults = []
    for body in (h for h in headers if h.endswith(".ipp")):
        for own in (body.replace("/impl/", "/detail/")[:-4] + ".hpp", body.replace("/impl/", "/")[:-4] + ".hpp"):
            if own in headers and f"<wick/{own}>" in (base / body).read_text(encoding="utf-8"):
                of_both = [set(INCLUDE.findall((base / name).read_text(encoding="utf-8"))) for name in (body, own)]
                faults += [f"include/wick/{body}: includes <{t}>, as its header does" for _, t in sorted(of_both[0] & of_both[1])]
    return faults


def namesakes(headers: list) -> list:
    """Headers that share a file name. A body has that of its header, or one of its own."""
    by_name = collections.defaultdict(list)
    for header in headers:
        by_name[Path(header).stem].append(header)
    faults = []
    for name, found in sorted(by_name.items()):
        rooms = {room_of(h) for h in found}
        if len(rooms) > 1 or any(sum(h.endswith(kind) for h in found) > 1 for kind in (".hpp", ".ipp")):
            faults.append(f"{' and '.join(found)} have one name; give each its own")
    return faults


def shared_names(root: Path) -> list:
    """Tests without a namespace of their own. Several files of a room are compiled together."""
    faults = []
    for test in sorted(p for room in ARROWS for p in (root / "tests" / room).glob("*.cpp")):
        own = f"namespace wick_test::{test.stem}_tests {{"
        if "TEST_CASE" in (text := test.read_text(encoding="utf-8")) and own not in text:
            faults.append(f"{test.relative_to(root).as_posix()}: has no `{own}`; names of other files could clash")
    return faults


def reached(graph: dict, roots: list) -> set:
    """These headers and all that they include."""
    found, open_ends = set(roots), list(roots)
    while open_ends:
        new = set(graph.get(open_ends.pop(), [])) - found
        found |= new
        open_ends += new
    return found


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "--figures"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent)
    base = root / "include" / "wick"
    headers = sorted(p.relative_to(base).as_posix() for p in base.rglob("*.[hi]pp"))
    if "--figures" in sys.argv[1:]:
        figures(base, headers)
        return 0
    version = re.search(r'version = "([^"]+)"', (base / "version.hpp").read_text(encoding="utf-8")).group(1)
    inner_namespace = "v" + "_".join(version.split(".")[:2])
    faults, graph, costly = [], {}, []
    declared = read(base, {"detail"})

    for header in headers:
        text = (base / header).read_text(encoding="utf-8")
        room = room_of(header)
        name = f"include/wick/{header}"
        say = lambda fault: faults.append(f"{name}: {fault}")

        if "#pragma once" not in text:
            say("has no #pragma once")
        if room and room not in ARROWS:
            say(f"there is no room {room}/")
            continue

        graph[header] = []
        for quote, target in INCLUDE.findall(without_comments(text)):
            if quote == '"':
                say(f'includes "{target}"; write <wick/…>')
            if target.startswith("wick/"):
                inner = target[len("wick/") :]
                graph[header].append(inner)
                if inner not in headers:
                    say(f"includes <{target}>, which does not exist")
                other = room_of(inner)
                if header in GATHERING:
                    if header not in WITH_TORCH and (other == "torch" or inner in WITH_TORCH):
                        say(f"includes <{target}>; only {' and '.join(sorted(WITH_TORCH))} need LibTorch")
                elif other == room or inner in SHARED:
                    pass
                elif not other:
                    say(f"includes <{target}>, which gathers the rooms; include the one header that is needed")
                elif other not in ARROWS.get(room, set()):
                    say(f"includes <{target}>; {room or 'it'}/ may include only {', '.join(sorted(ARROWS.get(room, set()) | {room}))}")
            elif TORCH.match(target) and room != "torch" and header != "wick.hpp":
                say(f"includes <{target}>; only torch/ and wick.hpp may include LibTorch")
            elif target in COSTLY and room != "torch" and header != "wick.hpp":
                say(f"includes <{target}>, which is too costly for a core header")
            elif target in FOR_BODIES and Path(header).name != "duration.hpp":
                costly.append((header, target))

        for namespace in NAMESPACE.findall(text):
            if not re.fullmatch(rf"wick::inline {inner_namespace}(::\w+)*", namespace):
                say(f"opens namespace {namespace}; write namespace wick::inline {inner_namespace}, by which versions of wick are told apart")

        public = room and not {"detail", "impl"} & set(Path(header).parts)
        test = f"tests/{room}/{Path(header).stem}.cpp"
        if public and not (root / test).is_file():
            say(f"has no test {test}")
        if public and not public_names(declared.get(header, [])):
            say("declares no public name; it belongs in detail/")
        if public:
            for fault in options_that_guess(text):
                say(fault)
            for signature in signatures_with_detail(declared.get(header, [])):
                say(f"{signature} takes or is something of wick::detail, which users can't name")

    written = by_use({n for h in headers if "impl" not in Path(h).parts for n in public_names(declared.get(h, []))})["programs"]
    if len(written) > MOST_NAMES:
        faults.append(f"namespace wick has {len(written)} names that programs write, over {MOST_NAMES}: docs/decisions/names.md")
    faults += namesakes(headers) + said_twice(base, headers) + shared_names(root)
    told = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    faults += [f"docs/architecture.md: {fault}" for fault in told_otherwise(told)]
    decisions = sorted((root / "docs" / "decisions").glob("*.md"))
    for page in [root / "HACKING.md", root / "docs" / "architecture.md", root / "docs" / "testing.md", *decisions]:
        name = page.relative_to(root).as_posix()
        faults += [f"{name}: {fault}" for fault in missing_headers(page.read_text(encoding="utf-8"), headers)]
        if page in decisions and f"(decisions/{page.name})" not in told:
            faults.append(f"{name}: is missing in the list of decisions in docs/architecture.md")
    # What is compiled once is compiled by CMake, and by who has the single header.
    sources = "".join(p.read_text(encoding="utf-8") for p in sorted((root / "cmake").glob("*.cpp")))
    by_cmake = reached(graph, [t[len("wick/") :] for _, t in INCLUDE.findall(sources) if t.startswith("wick/")])
    by_macro = reached(graph, ["wick.hpp"])
    own = {h for h in graph for public in OWN_TARGETS if room_of(h) == room_of(public) and Path(h).stem.startswith(Path(public).stem)}
    own |= {h for h in graph if room_of(h) in OWN_ROOMS}
    for header in sorted(graph):
        if header in own and header in by_macro:
            faults.append(f"include/wick/{header}: is included by include/wick/wick.hpp, which does without what it needs")
        elif "impl" in Path(header).parts and header not in by_cmake & (by_macro | own):
            where = "cmake/*.cpp" if header in by_macro else "include/wick/wick.hpp"
            faults.append(f"include/wick/{header}: is not compiled by {where}; include it in include/wick/implementation.hpp")
    users = reached(graph, ["core.hpp"] + [h for h in graph if re.fullmatch(r"torch/\w+\.hpp", h)])
    for header, target in costly:
        if header in users:
            faults.append(f"include/wick/{header}: includes <{target}>, which is too costly for what users compile; move the body to {room_of(header)}/impl/")
    for ring in circles(graph) + circles(ARROWS):
        faults.append("include circle: " + " -> ".join(ring + ring[:1]))

    # What users read names no wick::detail; install.md quotes a linker that does.
    shown = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs" / "guides").glob("*.md")]
    shown += [*(root / "examples").glob("*.cpp"), *(root / "tests" / "guides").glob("*.cpp")]
    for page in sorted(shown):
        if page.name not in {"architecture.md", "testing.md", "install.md"} and re.search(r"\bdetail::", page.read_text(encoding="utf-8")):
            faults.append(f"{page.relative_to(root).as_posix()}: names wick::detail, which is for wick alone")
    for header in sorted(graph):
        text = without_comments((base / header).read_text(encoding="utf-8"))
        for line in re.findall(r'^.*"[^"\n]*wick::detail[^"\n]*".*$', text, re.MULTILINE):
            faults.append(f"include/wick/{header}: a message names wick::detail: {line.strip()}")

    port = json.loads((root / "ports" / "wick" / "vcpkg.json").read_text(encoding="utf-8"))
    if port["version-semver"] != version:
        faults.append(f"ports/wick/vcpkg.json: version {port['version-semver']}; include/wick/version.hpp says {version}")

    # What is generated or from another project (a wheel, a library, a picture) has no place here. Nothing is said without git.
    listed = b""
    if shutil.which("git"):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False).stdout
    for name in filter(None, listed.decode().split("\0")):
        file = root / name
        if file.is_file() and b"\0" in file.read_bytes():
            faults.append(f"{name}: is tracked, and no text")

    for fault in faults:
        print(fault)
    print(f"{len(headers)} headers, {len(faults)} violations")
    return 1 if faults or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

"""Hook of mkdocs.yml: README.md is the home page, and what pages link to outside docs/ becomes pages of the site.

So one text serves the repository and the site, and the site needs no network.
"""

import html
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")
ESCAPED = "\\|"  # in code in a table, as GitHub wants it; Python-Markdown would show both characters
PIPES = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
MARKS = {ord(c): f"&#{ord(c)};" for c in "|[]*_\\"}  # in HTML, Python-Markdown would take a lambda's [](…) for a link
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".sh": "bash", ".py": "python", ".yml": "yaml", ".json": "json"}
TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "HACKING.md": "hacking.md",
    "SECURITY.md": "security.md",
}

path_of = {}  # page of the site: where it is from, below ROOT


def page_of(path: str) -> str:
    """The page of a file or folder, both as they are named below ROOT and below docs/."""
    if path in TOP:
        return TOP[path]
    inside = path.startswith("docs/")
    if (ROOT / path).is_dir():
        return f"{path[len('docs/'):] if inside else 'source/' + path}/index.md"
    return path[len("docs/") :] if inside else f"source/{path}.md"


def target_of(link: str, path: str) -> str | None:
    """What a link in the file `path` leads to, below ROOT; None where there is no such file."""
    found = Path(os.path.normpath(ROOT / Path(path).parent / link))
    return found.relative_to(ROOT).as_posix() if found.exists() and found.is_relative_to(ROOT) else None


def title_of(file: Path) -> str:
    return re.search(r"^# (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)[1]


def made_page(path: str) -> str:
    """A file as a page of code, a folder as a list of what it has."""
    at = ROOT / path
    if path.startswith("docs/"):
        pages = sorted(at.glob("*.md"), key=title_of)
        return f"# {at.name.capitalize()}\n\n" + "".join(f"- [{title_of(f)}]({f.name})\n" for f in pages)
    head = f"---\ntitle: {path}\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n"
    if at.is_dir():
        inside = [f for f in sorted(at.rglob("*")) if f.is_file() and "__pycache__" not in f.parts]
        names = [f.relative_to(at).as_posix() for f in inside]
        return head + "\n".join(f"- [`{name}`]({name})" for name in names) + "\n"
    text = at.read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text) or [""]))
    return f"{head}{fence}{LANGUAGES.get(at.suffix, 'text')}\n{text}\n{fence}\n"


def on_files(files, config):
    for path, page in TOP.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
        path_of[page] = path
    for file in files.documentation_pages():
        path_of.setdefault(file.src_uri, f"docs/{file.src_uri}")
    waiting = list(path_of)
    while waiting:
        page = waiting.pop()
        if is_code(page):
            continue
        text = files.get_file_from_path(page).content_string
        for link, _ in LINK.findall(text):
            target = target_of(link, linking(page))
            if target is None or page_of(target) in path_of or (ROOT / target).suffix == ".svg":
                continue
            new = page_of(target)
            path_of[new] = target
            files.append(File.generated(config, new, content=made_page(target)))
            waiting.append(new)
    return files


def is_code(page: str) -> bool:
    return page.startswith("source/") and not page.endswith("/index.md")


def linking(page: str) -> str:
    """Links of the page are relative to this file."""
    return f"{path_of[page]}/index.md" if (ROOT / path_of[page]).is_dir() else path_of[page]


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    if is_code(here):
        return markdown

    def rewritten(match):
        target = target_of(match[1], linking(here))
        if target is None:
            return match[0]
        return f"]({os.path.relpath(page_of(target), os.path.dirname(here) or '.')}{match[2] or ''})"

    return PIPES.sub(lambda m: f"<code>{html.escape(m[1].replace(ESCAPED, '|')).translate(MARKS)}</code>", LINK.sub(rewritten, markdown))

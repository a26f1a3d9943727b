#!/usr/bin/env python3
"""Opens a report's page in Chromium, without a network, and compares all that it shows with the report's JSON.

report_page_check.py PAGE JSON

Prints "skipped: why" where there is no browser that runs.
"""

import html.parser
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

UNITS = {"": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60, "h": 3600, "%": 1e-2, "bytes": 1, "KiB": 2**10, "MiB": 2**20,
         "GiB": 2**30, "TiB": 2**40}
FIGURE = re.compile(r"(-?\d+(?:\.\d+)?)(?: (ns|µs|ms|s|min|h|%|bytes|KiB|MiB|GiB|TiB)(?!\w))?")
ELEMENTS = set("html head meta title style body section h1 h2 p bdi div b span small i table thead tbody tr th td svg g path rect text "
               "tspan".split())


class Page(html.parser.HTMLParser):
    """What is shown: texts and paths by the member of the JSON that they are of, links, and elements."""

    def __init__(self):
        super().__init__()
        self.texts, self.paths, self.shares, self.links, self.elements = {}, [], {}, [], []
        self.group, self.now = None, None

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.elements.append(tag)
        self.links += [a[k] for k in ("src", "href", "xlink:href", "action") if k in a]
        self.links += [k for k in a if k.startswith("on")]
        if tag == "g":
            self.group = a
        if tag == "path" and "data-json" in a:
            self.paths.append((a["data-json"], self.group, re.findall(r"(?:M[\d.]+ |V)([\d.]+)H", a["d"])))
        elif "data-json" in a:
            self.now = self.texts.setdefault(a["data-json"], [])
            self.now.append("")
        elif "data-share" in a:
            self.now = self.shares.setdefault(int(a["data-share"]), [""])

    def handle_endtag(self, tag):
        self.now = None
        if tag == "g":
            self.group = None

    def handle_data(self, data):
        if self.now is not None:
            self.now[-1] += data


def fail(*what):
    print(*what)
    sys.exit(1)


def require_figure(where, text, value):
    """A figure that was rounded: half of its last digit may be missing."""
    shown = FIGURE.fullmatch("0" if text == "–" else text)
    if not shown:
        fail(f"{where}: {text!r} is no figure")
    number, unit = shown.groups()
    step = 10.0 ** -len(number.partition(".")[2]) * UNITS[unit or ""]
    if not math.isclose(float(number) * UNITS[unit or ""], value, rel_tol=1e-6, abs_tol=0.51 * step):
        fail(f"{where}: {text} instead of {value}")


def printable(text):
    return re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c.group()):02x}", text)


def dom_of(path):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return "there is no Chromium"
    with tempfile.TemporaryDirectory() as profile:
        try:
            dom = subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND",
                 f"--user-data-dir={profile}", "--dump-dom", pathlib.Path(path).resolve().as_uri()],
                capture_output=True, timeout=120, encoding="utf-8").stdout
        except (OSError, subprocess.TimeoutExpired) as e:
            return str(e)
    return dom if "<html" in dom else "Chromium does not run here"


def main():
    path, report = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    dom = dom_of(path)
    skipped = "<html" not in dom
    if skipped:
        print("skipped:", dom)
        dom = open(path, encoding="utf-8").read()
    page = Page()
    page.feed(dom)
    if page.links or "://" in dom:
        fail("needs something from outside, or runs something", page.links)
    if set(page.elements) - ELEMENTS:
        fail("has elements that are none of its own:", set(page.elements) - ELEMENTS)

    for member, texts in page.texts.items():
        what = report
        for name in member.split("."):
            what = what[int(name)] if isinstance(what, list) else what[name]
        for text in texts:
            if isinstance(what, str):
                if text != printable(what):
                    fail(f"{member}: {text!r} instead of {what!r}")
            elif not isinstance(what, dict):
                require_figure(member, text, what)
    wanted = {"bound.text"} | {f"stages.{i}.{k}" for i in range(len(report["stages"]))
                               for k in ("name", "count", "busy", "processor", "median", "p99", "slowest", "blocked", "failed")}
    wanted |= {f"timeline.{i}" for i in range(len(report["timeline"]))}
    if report["iterations"]:
        wanted |= {"samples_per_second", "wait_mean", "waiting.mean", "waiting.p99", "step.mean"}
    if wanted - page.texts.keys():
        fail("not shown:", wanted - page.texts.keys())
    busy = sum(s["busy"] for s in report["stages"])
    for i, s in enumerate(report["stages"]):
        require_figure(f"share of {i}", page.shares[i][0], s["busy"] / busy if busy else 0)

    # What is written at each place of the timeline, and what is drawn there.
    pieces = report["timeline"]
    for i, p in enumerate(pieces):
        begin = p["begin"] - pieces[0]["begin"]
        values = (begin, begin + p["seconds"], p["iterations"], p["waiting"], p["longest_wait"], p["step"], p["ready"], p["in_flight"],
                  p["bytes"])
        figures = [m.group() for m in FIGURE.finditer(page.texts[f"timeline.{i}"][0])]
        if len(figures) != len(values):
            fail("a place of the timeline", page.texts[f"timeline.{i}"])
        for figure, value in zip(figures, values):
            require_figure(f"timeline.{i}", figure, value)
    for member, group, ends in page.paths:
        if len(ends) != len(pieces):
            fail(f"{member}: {len(ends)} places are drawn of {len(pieces)}")
        for end, p in zip(map(float, ends), pieces):
            if group is None:  # the first panel
                of = 1 if member == "step" else p["waiting"] / ((p["waiting"] + p["step"]) or 1)
                height, base = 90, 117
            elif "data-top" in group:
                of, height, base = p[member] / float(group["data-top"]), 54, float(group["data-base"])
            else:
                low, high = float(group["data-low"]), float(group["data-high"])
                of = (math.log10(p[member]) - low) / (high - low) if p[member] > 0 else 0
                height, base = 24 * (high - low), float(group["data-base"])
            if abs(base - height * min(max(of, 0), 1) - end) > 0.1:
                fail(f"{member}: drawn at {end} instead of {base - height * of}")
    print(f"{sum(map(len, page.texts.values()))} figures and {len(page.paths)} lines are the report's")


main()

#!/usr/bin/env python3
"""Opens a report's page in Chromium, without a network, and compares all that it shows with the report's JSON.

report_page_check.py PAGE JSON

Prints "skipped: why" where there is no browser that runs.
"""

import html.parser
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "%": 1e-2,
         "/s": 1, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


class Page(html.parser.HTMLParser):
    """What is shown: figures (path, value, text), bars, and text of elements with an id."""

    def __init__(self):
        super().__init__()
        self.figures, self.bars, self.texts, self.links, self.now = [], [], {}, [], None

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.links += [a[k] for k in ("src", "href", "xlink:href") if k in a]
        self.now = None
        if "data-path" in a:
            self.figures.append([a["data-path"], a["data-value"], ""])
            self.now = self.figures[-1]
        elif "id" in a:
            self.texts[a["id"]] = self.now = ["", "", ""]
        if tag == "rect":
            self.bars.append(a)

    def handle_endtag(self, tag):
        self.now = None

    def handle_data(self, data):
        if self.now is not None:
            self.now[2] += data


def fail(*what):
    print(*what)
    sys.exit(1)


def close(a, b, by=1e-6):
    return math.isclose(a, b, rel_tol=by, abs_tol=1e-9)


def main():
    path, report = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("skipped: there is no chromium")
        return
    with tempfile.TemporaryDirectory() as profile:
        try:
            dom = subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND",
                 f"--user-data-dir={profile}", "--dump-dom", f"file://{path}"],
                capture_output=True, timeout=120, encoding="utf-8").stdout
        except (OSError, subprocess.TimeoutExpired) as e:
            print("skipped:", e)
            return
    if "<html" not in dom:
        print("skipped: chromium does not run here")
        return
    page = Page()
    page.feed(dom)
    if page.links or "http" in re.sub(r"http://www.w3.org/2000/svg", "", dom):
        fail("needs something from outside", page.links)

    if page.texts["advice"][2] != report["bound"]["text"]:
        fail("advice", page.texts["advice"], report["bound"])
    seen = set()
    for figure, value, text in page.figures:
        what = report
        for name in figure.split("."):
            what = what[int(name)] if isinstance(what, list) else what[name]
        seen.add(figure)
        if isinstance(what, str):
            if not value == text == what:
                fail(figure, value, text, what)
            continue
        number, _, unit = text.partition(" ")
        if float(value) != what or not close(float(number) * UNITS[unit], what, 0.006):
            fail(f"{figure}: {text} ({value}) instead of {what}")
    wanted = {"samples_per_second", "samples", "batches", "wait_mean", "waiting.mean", "waiting.p99", "worked", "workers"}
    wanted |= {f"stages.{i}.{k}" for i, s in enumerate(report["stages"]) for k in s
               if k not in ("processor", "held", "slowest_key", "of_batches", "part", "waits")}
    if wanted - seen:
        fail("not shown:", wanted - seen)

    timeline = json.loads(page.texts["timeline"][2])
    if json.loads(page.texts["report"][2]) != report:
        fail("the page's data is not the report")
    if not 1 <= len(timeline) <= 128:
        fail(len(timeline), "pieces")
    if sum(p["iterations"] for p in timeline) != report["iterations"]:
        fail("iterations")
    if not close(sum(p["waiting"] for p in timeline), report["waiting"]["mean"] * report["iterations"], 1e-3):
        fail("waiting")
    end = 0.0
    for p in timeline:
        if not close(p["begin"], end, 1e-6):
            fail("a gap", p)
        end = p["begin"] + p["seconds"]
    # What is drawn: the areas of a stage's bars are its work.
    scale = {}
    for i, stage in enumerate(report["stages"]):
        if not close(sum(p["stages"][i] for p in timeline), stage["busy"]):
            fail(stage["name"], "busy")
        area = sum(float(b["width"]) * float(b["height"]) for b in page.bars if b.get("data-stage") == str(i))
        if stage["busy"] > 0.01:
            scale[stage["name"]] = area / stage["busy"]
    if scale and max(scale.values()) > 1.01 * min(scale.values()):
        fail("bars of stages", scale)
    for i, worker in enumerate(report["each_worker"]):
        if not close(sum(p["workers"][i] for p in timeline), worker["busy"]):
            fail("worker", i)
    for kind in ("data-worker", "data-mean"):
        print(kind, sum(kind in b for b in page.bars))
    print(f"{len(page.figures)} figures and {len(page.bars)} bars are the report's")


main()

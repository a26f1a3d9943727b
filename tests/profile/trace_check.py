#!/usr/bin/env python3
"""Checks a trace of wick's strictly, and prints what is in it: "NAME NUMBER", a line each.

trace_check.py FILE closed|cut|open STAGE…

cut: the last event is missing, as when the disk is full. open: of a process that was killed; what it wrote last, which ends with
counters, may be torn. STAGE…: the names that spans of stages may have.
"""

import json
import re
import sys
from collections import Counter, defaultdict


def fail(text, event=None):
    print(f"{text}: {json.dumps(event)}" if event is not None else text)
    sys.exit(1)


def nanoseconds(text):
    """Of "12.345" microseconds, exactly."""
    whole, _, rest = str(text).partition(".")
    return int(whole) * 1000 + int((rest + "000")[:3])


def main():
    path, state, stages = sys.argv[1], sys.argv[2], set(sys.argv[3:])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if state == "open":
        try:
            json.loads(text)
        except ValueError:
            end = text.rindex("\n", 0, text.rindex('"bytes in flight"'))
            text = text[: text.index("}}", end) + 2] + "]"
    try:
        events = json.loads(text, parse_float=str)
    except ValueError as e:
        fail(f"not JSON: {e}")

    # A sample that fails or is cancelled before its first stage has a span of its source's.
    known = {"stage": stages | {"source"}, "call": stages, "batch stage": stages, "wait": stages, "loop": {"step", "waiting"},
             "batch": {"batch", "being made", "ready"}}
    counts, spans, ends, flows = Counter(), defaultdict(list), {}, defaultdict(list)
    pieces, counters, named, io, last = defaultdict(list), {}, set(), set(), {}
    if events[0]["name"] != "wick_trace_begins":
        fail("does not begin with what it is")
    for e in events:
        phase = e["ph"]
        if phase == "M":
            if e["name"] == "thread_name":
                named.add(e["tid"])
                if "I/O" in e["args"]["name"]:
                    io.add(e["tid"])
            if e["name"] == "wick_trace_ends":
                last = e["args"]
            continue
        e["ts"] = nanoseconds(e["ts"])
        if e["ts"] < 0 or e["pid"] != events[0]["pid"]:
            fail("a time before the beginning, or another process", e)
        if e["tid"] not in named:
            fail("a track without a name", e)
        if phase == "X":
            e["dur"] = nanoseconds(e["dur"])
            if e["dur"] < 0 or e["name"] not in known[e["cat"]]:
                fail("no duration, or an unknown name", e)
            if e["ts"] + e["dur"] < ends.get(e["tid"], 0) and e["tid"] not in io:
                fail("ends before the one before it on its track", e)
            ends[e["tid"]] = e["ts"] + e["dur"]
            spans[e["tid"]].append(e)
            counts[e["cat"].replace(" ", "_")] += 1
            counts["keys"] += "key" in e.get("args", {})
            counts["in_source"] += e["name"] == "source"
        elif phase in "stf":
            flows[e["id"]].append(e)
            counts["flow_" + phase] += 1
        elif phase in "be":
            pieces[(e["cat"], e["id"])].append(e)
            if e["name"] not in known[e["cat"]]:
                fail("an unknown name", e)
        elif phase == "C":
            if e["ts"] <= counters.get(e["name"], 0) or not isinstance(e["args"]["value"], int):
                fail("a counter that goes back in time, or is no number", e)
            counters[e["name"]] = e["ts"]
            counts["counters"] += 1
            counts["most " + e["name"]] = max(counts["most " + e["name"]], e["args"]["value"])
        else:
            fail("an unknown kind of event", e)

    for track in spans.values():
        track.sort(key=lambda e: (e["ts"], -e["dur"]))
        around = []
        for e in track:
            while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
                around.pop()
            if around and e["ts"] + e["dur"] > around[-1]["ts"] + around[-1]["dur"]:
                fail(f"neither in nor after {json.dumps(around[-1])}", e)
            around.append(e)
    for flow in flows.values():
        flow.sort(key=lambda e: e["ts"])
        phases = "".join(e["ph"] for e in flow)
        # A sample may have begun before the trace, or its first span may be written too late for it.
        counts["flows_without_a_beginning"] += phases[0] != "s"
        # One that is tried again begins again.
        if not re.fullmatch(r"(s?t*f?)(st*f?)*", phases):
            fail("a flow that does not begin with its beginning, or has no end at its end", flow)
    places = {tid: [(e["ts"], e["ts"] + e["dur"]) for e in track] for tid, track in spans.items()}
    for flow in flows.values():
        for e in flow:
            if e["tid"] not in places:
                fail("a flow on no track", e)
    for tid, of in places.items():
        # Both rise: one walk finds for each event of a flow whether a span is around it.
        here = sorted(e["ts"] for flow in flows.values() for e in flow if e["tid"] == tid)
        at, reach = 0, -1
        for ts in here:
            while at < len(of) and of[at][0] <= ts:
                reach = max(reach, of[at][1])
                at += 1
            if ts > reach:
                fail(f"a flow on track {tid} at {ts} that goes through no span")
    for piece in pieces.values():
        if state == "closed" and len(piece) % 2 != 0:
            fail("what began has no end", piece)
        begun = defaultdict(list)
        for e in piece:  # an end follows its beginning in the file
            if e["ph"] == "b":
                begun[e["name"]].append(e["ts"])
            elif not begun[e["name"]] or begun[e["name"]].pop() > e["ts"]:
                fail("ends before it began", e)
        counts[{"batch": "batches", "wait": "waits", "batch stage": "batch_waits"}[piece[0]["cat"]]] += 1
    if counts["flows_without_a_beginning"] > 64 and last.get("dropped") == 0 and not last["full"]:
        fail(f"{counts['flows_without_a_beginning']} flows without a beginning", last)
    if state == "closed":
        if not last or events[-1]["args"] is not last:
            fail("does not end with what is in it")
        counts.update({k: int(v) for k, v in last.items()})
    counts["tracks"] = len(spans)
    counts["io_tracks"] = len(io & spans.keys())
    for name, number in sorted(counts.items()):
        print(name.replace(" ", "_"), number)


main()

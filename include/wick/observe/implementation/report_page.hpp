/// \file
/// The report as a page for a browser. Included in exactly one file of a program.
#pragma once

#include <string>
#include <string_view>

#include <wick/observe/report.hpp>
#include <wick/system/detail/json.hpp>

namespace wick::detail {

std::string report_json(const timeline_piece& t) {
  const auto number = [](double n) {
    const std::string member = json_object().add("", n).text();  // {"":N}
    return member.substr(4, member.size() - 5);
  };
  json_object out;
  out.add("begin", t.begin).add("seconds", t.seconds).add("iterations", t.iterations);
  out.add("waiting", t.waiting).add("longest_wait", t.longest_wait);
  out.add("ready", t.ready).add("in_flight", t.in_flight).add("bytes", t.bytes);
  return out.raw("stages", json_array(t.stages, number)).raw("workers", json_array(t.workers, number)).text();
}

/// Nothing in a script's data ends it.
void append_data(std::string& to, std::string_view json) {
  for (const char c : json) {
    if (c == '<')
      to += "\\u003c";
    else
      to += c;
  }
}

namespace {

constexpr std::string_view page_begin = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>wick: where the time went</title>
<style>
:root {
  --page: #f7f7f5; --card: #fff; --ink: #1c1c1a; --soft: #62625d; --line: #dededa; --bar: #2a78d6;
  --c0: #2a78d6; --c1: #1baf7a; --c2: #eda100; --c3: #008300; --c4: #4a3aa7; --c5: #e34948; --c6: #e87ba4; --c7: #8a8a84;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131312; --card: #1d1d1b; --ink: #ecece8; --soft: #a3a39c; --line: #383835; --bar: #3987e5;
    --c0: #3987e5; --c1: #199e70; --c2: #c98500; --c3: #2f9a2f; --c4: #9085e9; --c5: #e66767; --c6: #d55181; --c7: #77776f;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1100px; background: var(--page); color: var(--ink);
  font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0 0 8px; }
h2 { font-size: 15px; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 16px; margin: 16px 0; }
.figures { display: flex; flex-wrap: wrap; gap: 8px 32px; }
.figures div { color: var(--soft); }
.figures b { display: block; font-size: 20px; font-weight: 600; color: var(--ink); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 8px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { text-align: left; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--soft); }
.axis { stroke: var(--line); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; color: var(--soft); margin: 0 0 8px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.note { color: var(--soft); margin: 0; }
</style>
</head>
<body>
<h1>Where the time went</h1>
<p id="advice"></p>
<main></main>
<script type="application/json" id="report">)page";

constexpr std::string_view page_end = R"page(</script>
<script>
"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const timeline = JSON.parse(document.getElementById("timeline").textContent);
const main = document.querySelector("main");
const digits = n => n === 0 ? "0" : n >= 100 ? n.toFixed(0) : n.toPrecision(3);
const units = (n, names, step) => {
  let i = 0;
  while (n >= step * 0.9995 && i + 1 < names.length) { n /= step; ++i; }
  return (digits(n) + " " + names[i]).trim();
};
const show = {
  time: s => s === 0 ? "0 s" : s >= 0.9995 ? digits(s) + " s" : s >= 9.995e-4 ? digits(s * 1e3) + " ms"
    : s >= 9.995e-7 ? digits(s * 1e6) + " µs" : digits(s * 1e9) + " ns",
  share: x => digits(100 * x) + " %",
  count: n => n < 100000 ? String(Math.round(n)) : units(n, ["", "k", "M", "G", "T"], 1000),
  rate: n => units(n, ["/s", "k/s", "M/s", "G/s"], 1000),
  bytes: n => units(n, ["B", "KiB", "MiB", "GiB", "TiB"], 1024),
};
const at = path => path.split(".").reduce((of, name) => of[name], report);
const make = (name, attributes, text) => {
  const svg = ["svg", "rect", "line", "text", "title", "g", "path"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  return e;
};
const add = (to, name, attributes, text) => to.appendChild(make(name, attributes, text));
const figure = (to, name, path, how) =>
  add(to, name, {"data-path": path, "data-value": at(path)}, show[how](at(path)));
const section = title => { const s = add(main, "section"); add(s, "h2", {}, title); return s; };

document.getElementById("advice").textContent = report.bound.text;
{
  const s = add(main, "section", {class: "figures"});
  for (const [name, path, how] of [["samples a second", "samples_per_second", "rate"], ["samples", "samples", "count"],
      ["batches", "batches", "count"], ["of the loop's time waiting", "wait_mean", "share"],
      ["waiting, mean", "waiting.mean", "time"], ["waiting, p99", "waiting.p99", "time"],
      ["iteration, mean", "iteration.mean", "time"], ["taken", "taking", "time"], ["workers", "workers", "count"],
      ["worked, summed over workers", "worked", "time"], ["memory, peak", "memory.peak", "bytes"],
      ["samples failed", "failures", "count"]]) {
    const d = add(s, "div");
    figure(d, "b", path, how);
    d.append(name);
  }
}

const left = 64, width = 1000 - left;
const whole = timeline.length ? timeline[timeline.length - 1].begin + timeline[timeline.length - 1].seconds : 0;
const x = t => left + width * t / whole;
const when = p => show.time(p.begin) + " – " + show.time(p.begin + p.seconds);
// A frame with an axis of time; `top` is what the upper edge stands for.
const chart = (to, height, top, how, name) => {
  const svg = add(to, "svg", {viewBox: `0 0 1000 ${height + 24}`, role: "img", "aria-label": name});
  if (how) {
    add(svg, "text", {x: left - 8, y: 12, "text-anchor": "end"}, how(top));
    add(svg, "text", {x: left - 8, y: height, "text-anchor": "end"}, "0");
  }
  add(svg, "line", {class: "axis", x1: left, x2: 1000, y1: height + 0.5, y2: height + 0.5});
  for (let i = 0; i <= 4; ++i)
    add(svg, "text", {x: left + width * i / 4, y: height + 18,
      "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle"}, show.time(whole * i / 4));
  return svg;
};
const rect = (svg, p, y, height, color, text, more) => {
  const r = add(svg, "rect", {x: x(p.begin).toFixed(3), width: (width * p.seconds / whole).toFixed(3), y: y.toFixed(3),
    height: Math.max(0, height).toFixed(3), fill: color, "shape-rendering": "crispEdges", ...more});
  add(r, "title", {}, text);
};
const most = values => Math.max(...values, 0);

if (whole > 0) {
  // Seven colors, and one for the rest.
  const order = report.stages.map((s, i) => i).sort((a, b) => report.stages[b].busy - report.stages[a].busy);
  const color = report.stages.map((s, i) => `var(--c${Math.min(order.indexOf(i), 7)})`);
  {
    const s = section("Stages: workers busy with each"), legend = add(s, "div", {class: "legend"});
    const total = p => p.stages.reduce((a, b) => a + b, 0) / p.seconds;
    const top = Math.max(report.workers, most(timeline.map(total))), height = 180;
    report.stages.forEach((stage, i) => {
      if (order.indexOf(i) > 7) return;
      const l = add(legend, "span");
      add(l, "i", {style: `background: ${color[i]}`});
      l.append(order.indexOf(i) === 7 && order.length > 8 ? "others" : stage.name);
    });
    const svg = chart(s, height, top, digits, "workers busy with each stage, over time");
    for (const p of timeline) {
      let y = height;
      p.stages.forEach((busy, i) => {
        const h = height * busy / p.seconds / top;
        if (busy === 0) return;
        y -= h;
        rect(svg, p, y, h, color[i], `${report.stages[i].name}\n${show.time(busy)} of work\n${when(p)}`,
          {"data-stage": i, "data-height": h});
      });
    }
  }
  if (report.each_worker.length) {
    const s = section("Workers: share of their time busy"), row = Math.max(4, Math.min(22, 320 / report.each_worker.length));
    const height = row * report.each_worker.length, svg = chart(s, height, 1, null, "how busy each worker was, over time");
    report.each_worker.forEach((w, i) => {
      if (row >= 14) add(svg, "text", {x: left - 8, y: i * row + row / 2 + 4, "text-anchor": "end"}, "worker " + i);
      for (const p of timeline)
        rect(svg, p, i * row, row - 2, "var(--bar)", `worker ${i}: ${show.share(p.workers[i] / p.seconds)}\n${when(p)}`,
          {"data-worker": i, "fill-opacity": (0.06 + 0.94 * Math.min(1, p.workers[i] / p.seconds)).toFixed(3)});
    });
  }
  {
    const s = section("The training loop: waiting for data, an iteration"), height = 120;
    add(s, "p", {class: "note"}, "Bars: mean; lines: the longest.");
    const top = most(timeline.map(p => p.longest_wait)) || 1e-6;
    const svg = chart(s, height, top, show.time, "waiting of an iteration, over time");
    for (const p of timeline) {
      if (!p.iterations) continue;
      const mean = p.waiting / p.iterations, text = `mean ${show.time(mean)}, longest ${show.time(p.longest_wait)}\n` +
        `${p.iterations} iterations\n${when(p)}`;
      rect(svg, p, height - height * mean / top, height * mean / top, "var(--bar)", text, {"data-mean": mean});
      rect(svg, p, height - height * p.longest_wait / top, 2, "var(--c5)", text, {});
    }
  }
  for (const [title, member, how] of [["Batches ready", "ready", show.count], ["Samples in flight", "in_flight", show.count],
      ["Memory of samples in flight", "bytes", show.bytes]]) {
    const values = timeline.map(p => p[member]), top = most(values);
    if (top === 0 && member !== "ready") continue;
    const s = section(title), height = 64, svg = chart(s, height, Math.max(top, 1), how, title);
    for (const p of timeline)
      rect(svg, p, height - height * p[member] / Math.max(top, 1), height * p[member] / Math.max(top, 1), "var(--bar)",
        `${how(p[member])}\n${when(p)}`, {["data-" + member.replace("_", "-")]: p[member]});
  }
}
{
  const s = section("Stages"), wide = add(s, "div", {class: "wide"}), t = add(wide, "table");
  const head = add(add(t, "thead"), "tr"), body = add(t, "tbody");
  const columns = [["count", "count", "count"], ["busy", "busy", "time"], ["processor", "processor", "time"],
    ["blocked", "blocked", "time"], ["median", "median", "time"], ["p90", "p90", "time"], ["p99", "p99", "time"],
    ["slowest", "slowest", "time"], ["failed", "failed", "count"], ["bytes", "bytes", "bytes"]];
  for (const name of ["stage", ...columns.map(c => c[0])]) add(head, "th", {scope: "col"}, name);
  report.stages.forEach((stage, i) => {
    const row = add(body, "tr");
    add(row, "td", {"data-path": `stages.${i}.name`, "data-value": stage.name}, stage.name);
    for (const [, member, how] of columns) figure(row, "td", `stages.${i}.${member}`, how);
  });
  add(s, "p", {class: "note"}, "Busy: on workers, summed over them. Blocked: suspended, summed over samples. Median to " +
    "slowest: of single samples, waiting included.");
}
if (report.outcomes.length) {
  const s = section("Samples that failed");
  for (const o of report.outcomes) add(s, "p", {class: "note"}, `${o.stage}: ${o.count} ${o.outcome}`);
}
if (report.notes.length) {
  const s = section("Notes");
  for (const n of report.notes) add(s, "p", {class: "note"}, n);
}
</script>
</body>
</html>
)page";

}  // namespace

}  // namespace wick::detail

namespace wick {

std::string report::to_html() const {
  std::string out(detail::page_begin);
  detail::append_data(out, to_json());
  out += "</script>\n<script type=\"application/json\" id=\"timeline\">";
  detail::append_data(out, detail::json_array(timeline, [](const detail::timeline_piece& t) {
                        return detail::report_json(t);
                      }));
  out += detail::page_end;
  return out;
}

}  // namespace wick

// The report as an HTML page: text, a table and charts, without scripts. Included in exactly one file of a
// program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <wick/base/detail/html_text.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

/// With at most `decimals` decimals, in any locale.
std::string decimal(double n, int decimals = 1) {
  if (!std::isfinite(n)) n = 0;
  char text[512];
  const auto end = std::to_chars(text, text + sizeof(text), n, std::chars_format::fixed, decimals).ptr;
  std::string out(text, end);
  if (out.find('.') == std::string::npos) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

/// The page's contents, and their positions in units of the chart.
class report_page {
 public:
  explicit report_page(const report& r) : r_(r) {
    if (r.timeline.empty()) return;
    begin_ = r.timeline.front().begin;
    whole_ = std::max(r.timeline.back().begin + r.timeline.back().seconds - begin_, 1e-9);
    for (const time_unit& u :
         {time_unit{1e-3, "ms"}, time_unit{1, "s"}, time_unit{60, "min"}, time_unit{3600, "h"}})
      if (whole_ >= (u.seconds > 1 ? 10 : 1) * u.seconds) unit_ = u;
  }
  std::string text();

 private:
  static constexpr double left = 66, right = 930, line = 18;
  struct time_unit {
    double seconds;
    const char* name;
  };

  static std::string_view part(std::string_view text) { return text; }
  static std::string part(double n) { return decimal(n); }
  static std::string part(std::uint64_t n) { return std::to_string(n); }
  template <class... Parts>
  void add(const Parts&... parts) {
    ((out_ += part(parts)), ...);
  }
  static std::string number(double n) { return decimal(n, n < 100 ? 1 : 0); }
  /// For tables with many zeros.
  static std::string or_dash(bool some, const std::string& text) { return some ? text : "–"; }
  /// The smallest of 1, 2, 4, 5, 8 times a power of ten that is at least `n`.
  static double rounded_up(double n) {
    const double power = std::pow(10, std::floor(std::log10(n)));
    for (const double f : {1.0, 2.0, 4.0, 5.0, 8.0})
      if (f * power >= n * (1 - 1e-9)) return f * power;
    return 10 * power;
  }
  /// Since the first iteration.
  std::string moment(double t) const { return decimal(t / unit_.seconds, 2) + " " + unit_.name; }
  double x(double t) const { return left + (right - left) * std::clamp((t - begin_) / whole_, 0.0, 1.0); }
  double end_of(const report::timeline_piece& p) const {
    return std::max(x(p.begin + p.seconds), std::min(x(p.begin) + 1, right));
  }

  void begin_panel(std::string_view title, double height) {
    add("<text class=\"title\" x=\"", left, "\" y=\"", base_ + 2 * line, "\">", title, "</text>\n");
    base_ += 2.5 * line + height;
    height_ = height;
  }
  /// `share`: of the panel's height.
  void grid(double share, const std::string& label) {
    const double y = base_ - height_ * share;
    add("<path class=\"grid\" d=\"M", left, " ", y, "H", right, "\"/><text x=\"", left - 8, "\" y=\"", y + 4,
        "\" text-anchor=\"end\">", label, "</text>\n");
  }
  /// `share(piece)`: of the panel's height. `how`: an area or a line.
  template <class Share>
  void draw(const char* name, std::string_view how, Share share) {
    add("<path data-json=\"", name, "\" class=\"", how, "\" d=\"");
    const bool area = how.starts_with("area");
    const std::string bottom = decimal(base_);
    double before = -1;
    for (const report::timeline_piece& p : r_.timeline) {
      const double s = share(p), y = base_ - height_ * (std::isfinite(s) ? std::clamp(s, 0.0, 1.0) : 0);
      const bool continues = before >= 0 && x(p.begin) <= before + 1;
      if (area && before >= 0 && !continues) add("V", bottom, "Z");
      if (!continues) add("M", x(p.begin), " ", area ? bottom : decimal(y));
      if (continues || area) add("V", y);
      before = end_of(p);
      add("H", before);
    }
    add(area ? "V" + bottom + "Z" : "", "\"/>\n");
  }
  void shares();
  void times();
  void depths(const char* name, const char* title, double report::timeline_piece::*member, double unit,
              std::string (*label)(double));
  void timeline();
  void stages();
  void figure(const char* path, const std::string& text, const char* what) {
    add("<div><b data-json=\"", path, "\">", text, "</b>", what, "</div>\n");
  }
  void paragraph(const report_line& l) {
    add("<p>", html_text(l.lead), "<bdi>", html_text(l.text), "</bdi></p>\n");
  }

  const report& r_;
  std::string out_;
  double begin_ = 0, whole_ = 1;
  time_unit unit_{1e-6, "µs"};        // of the time axis
  double base_ = -line, height_ = 0;  // of the panel
};

constexpr std::string_view page_head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>wick: where the time went</title>
<style>
:root { --page: #f6f6f4; --card: #fff; --ink: #1b1b19; --soft: #5f5f5a; --rule: #e0e0db; --wait: #d9620b; --step: #7aa7dc;
  --most: #55554f; --depth: #2c8f72; --over: #0000001a; }
@media (prefers-color-scheme: dark) { :root { --page: #121211; --card: #1c1c1a; --ink: #ecece8; --soft: #a5a59e;
  --rule: #363633; --wait: #f08a3c; --step: #3b6ea8; --most: #c9c9c2; --depth: #45b493; --over: #ffffff26; } }
* { box-sizing: border-box; overflow-wrap: anywhere; }
body { margin: 0 auto; padding: 24px; max-width: 1080px; background: var(--page); color: var(--soft); font: 14px/1.5 system-ui, sans-serif; }
h1, h2 { font-size: 14px; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 16px; margin: 16px 0 0; }
p { margin: 0 0 4px; }
.verdict { font-size: 18px; line-height: 1.4; color: var(--ink); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 16px; }
.figures b { display: block; font-size: 22px; line-height: 1.3; color: var(--ink); }
.wide { overflow-x: auto; }
svg { display: block; min-width: 720px; font-size: 12px; fill: var(--soft); }
.title { fill: var(--ink); }
.wait { color: var(--wait); } .step { color: var(--step); } .most { color: var(--most); } .depth { color: var(--depth); }
.area, tspan { fill: currentColor; } .line { fill: none; stroke: currentColor; stroke-width: 2; } .line.most { stroke-width: 1; }
.grid { stroke: var(--rule); } .piece { fill: transparent; } .piece:hover { fill: var(--over); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; vertical-align: top; padding: 5px 0 5px 16px; white-space: nowrap; }
thead th { font-weight: 400; }
tbody th, tbody td { color: var(--ink); border-top: 1px solid var(--rule); }
th:first-child { text-align: left; padding-left: 0; white-space: normal; min-width: 120px; }
small { display: block; color: var(--soft); max-width: 220px; overflow: hidden; text-overflow: ellipsis; }
i { display: block; height: 4px; min-width: 80px; margin-top: 3px; border-radius: 2px;
  background: linear-gradient(to right, var(--depth) var(--part), var(--rule) var(--part)); }
</style>
</head>
<body>
<h1>wick: where the time went</h1>
)";

/// The share of the loop's time that it waits.
void report_page::shares() {
  begin_panel(R"(The training loop: <tspan class="wait">■</tspan> waiting for data
<tspan class="step">■</tspan> its step)",
              90);
  draw("step", "area step", [](const report::timeline_piece&) { return 1.0; });
  draw("waiting", "area wait",
       [](const report::timeline_piece& p) { return p.waiting / (p.waiting + p.step); });
  grid(0, "0 %");
  grid(0.5, "50 %");
  grid(1, "100 %");
}

/// The times of an iteration, on a logarithmic scale.
void report_page::times() {
  double least = 1e300, most = 0;
  for (const report::timeline_piece& p : r_.timeline) {
    for (const double t : {p.waiting, p.longest_wait, p.step}) {
      if (!std::isfinite(t) || t <= 0) continue;
      least = std::min(least, t);
      most = std::max(most, t);
    }
  }
  if (most <= 0) least = 1e-6, most = 1e-3;
  const double high = std::ceil(std::log10(most) - 1e-9);
  const double low = std::clamp(std::floor(std::log10(least)), high - 5, high - 1);
  begin_panel(R"(One iteration: <tspan class="wait">━</tspan> waiting, mean
<tspan class="most">━</tspan> the longest wait <tspan class="step">━</tspan> step, mean)",
              24 * (high - low));
  for (int i = 0; i <= static_cast<int>(high - low); ++i) {
    const double power = low + i;
    std::string label = format_duration(std::pow(10, power) * (1 + 1e-9));
    if (const auto zeros = label.find(".0"); zeros != std::string::npos)
      label.erase(zeros, label.find(' ') - zeros);
    grid((power - low) / (high - low), power == low ? "≤ " + label : label);
  }
  const auto scale = [&](double t) { return t > 0 ? (std::log10(t) - low) / (high - low) : 0; };
  add("<g data-low=\"", low, "\" data-high=\"", high, "\" data-base=\"", base_, "\">\n");
  draw("step", "line step", [&](const report::timeline_piece& p) { return scale(p.step); });
  draw("longest_wait", "line most", [&](const report::timeline_piece& p) { return scale(p.longest_wait); });
  draw("waiting", "line wait", [&](const report::timeline_piece& p) { return scale(p.waiting); });
  add("</g>\n");
}

/// `unit`: the unit of round numbers on the axis.
void report_page::depths(const char* name, const char* title, double report::timeline_piece::*member,
                         double unit, std::string (*label)(double)) {
  double most = 0;
  for (const report::timeline_piece& p : r_.timeline)
    if (std::isfinite(p.*member)) most = std::max(most, p.*member);
  while (most >= 1024 * unit && unit > 1) unit *= 1024;
  const double top = unit * rounded_up(std::max(most / unit, 1.0));
  begin_panel(title, 54);
  grid(0, label(0));
  grid(1, label(top));
  add("<g data-top=\"", top, "\" data-base=\"", base_, "\">\n");
  draw(name, "area depth", [&](const report::timeline_piece& p) { return p.*member / top; });
  add("</g>\n");
}

void report_page::timeline() {
  add("<section><h2>Timeline</h2>\n");
  const auto& pieces = r_.timeline;
  if (pieces.empty()) return add("<p>No iteration of the training loop was measured.</p></section>\n");
  const std::size_t picture = out_.size();
  shares();
  times();
  depths("ready", "Batches ready when the loop takes one", &report::timeline_piece::ready, 1, number);
  depths("in_flight", "Samples in flight", &report::timeline_piece::in_flight, 1, number);
  if (std::any_of(pieces.begin(), pieces.end(), [](const report::timeline_piece& p) { return p.bytes > 0; }))
    depths("bytes", "Memory of samples in flight", &report::timeline_piece::bytes, 1024, format_bytes);
  const double step = rounded_up(whole_ / unit_.seconds / 8) * unit_.seconds;
  for (int i = 0; i <= 8 && i * step <= whole_ * (1 + 1e-9); ++i)
    add("<text x=\"", x(begin_ + i * step), "\" y=\"", base_ + 1.2 * line, "\" text-anchor=\"middle\">",
        moment(i * step), "</text>\n");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const report::timeline_piece& p = pieces[i];
    const double from = x(p.begin), begin = p.begin - begin_;
    add("<rect class=\"piece\" x=\"", from, "\" width=\"", end_of(p) - from, "\" height=\"", base_,
        "\"><title data-json=\"timeline.", std::uint64_t{i}, "\">", moment(begin), " to ",
        moment(begin + p.seconds), "\n", p.iterations, p.iterations == 1 ? " iteration" : " iterations",
        "\nwaiting ", format_duration(p.waiting), ", longest ", format_duration(p.longest_wait), "\nstep ",
        format_duration(p.step), "\n", number(p.ready), " batches ready\n", number(p.in_flight),
        " samples in flight\n", format_bytes(p.bytes), "</title></rect>\n");
  }
  add("</svg></div>\n<p>Time since the first iteration. Point at a place for its figures.</p></section>\n");
  out_.insert(
      picture,
      R"(<div class="wide"><svg role="img" aria-label="The training loop over time" viewBox="0 0 960 )" +
          decimal(base_ + 2 * line) + "\">\n");
}

void report_page::stages() {
  if (r_.stages.empty()) return;
  add("<section><h2>Stages</h2>\n<div class=\"wide\"><table>\n<thead><tr>");
  for (const char* const name :
       {"stage", "samples", "busy", "share", "CPU", "median", "p99", "slowest", "waited", "failed"})
    add("<th scope=\"col\">", name, "</th>");
  add("</tr></thead>\n<tbody>\n");
  const double all = r_.busy();
  for (std::size_t i = 0; i < r_.stages.size(); ++i) {
    const report::stage& s = r_.stages[i];
    const std::string path = "stages." + std::to_string(i) + ".";
    const auto cell = [&](const char* member, const std::string& text, const std::string& more = {}) {
      add("<td><span data-json=\"", path, member, "\">", text, "</span>", more, "</td>");
    };
    const auto time = [&](const char* member, double t, const std::string& more = {}) {
      cell(member, or_dash(t > 0, format_duration(t)), more);
    };
    add("<tr><th scope=\"row\"><bdi data-json=\"", path, "name\">", html_text(s.name), "</bdi></th>");
    cell("count", std::to_string(s.count), s.of_batches ? " batches" : "");
    time("busy", s.busy);
    const double share = all > 0 ? s.busy / all : 0;
    add("<td data-share=\"", std::uint64_t{i}, "\">", format_percent(share),
        "<i style=\"--part: ", 100 * share, "%\"></i></td>");
    time("processor", s.processor);
    time("median", s.median);
    time("p99", s.p99);
    const std::string key = html_text(s.slowest_key);
    std::string slowest;
    if (!key.empty()) {
      slowest.append("<small title=\"").append(key).append("\"><bdi data-json=\"").append(path);
      slowest.append("slowest_key\">").append(key).append("</bdi></small>");
    }
    time("slowest", s.slowest, slowest);
    time("blocked", s.blocked);
    cell("failed", or_dash(s.failed != 0, std::to_string(s.failed)));
    add("</tr>\n");
  }
  add("</tbody></table></div>\n<p>Busy: on workers, summed over them. Waited: suspended, summed over "
      "samples. "
      "Median to slowest: of single samples, waiting included.</p></section>\n");
}

std::string report_page::text() {
  const report_lines said(r_);
  add(page_head, "<p class=\"verdict\" data-json=\"bound.text\">", html_text(said.before[0].text), "</p>\n");
  if (r_.batches != 0 || r_.iterations != 0) {
    add("<section><div class=\"figures\">\n");
    figure("samples_per_second", number(r_.samples_per_second()), "samples a second");
    figure("wait_mean", format_percent(r_.wait_mean), "of the time waiting");
    figure("waiting.mean", format_duration(r_.waiting.mean), "waiting, mean");
    figure("waiting.p99", format_duration(r_.waiting.p99), "waiting, p99");
    figure("step.mean", format_duration(r_.step.mean), "step, mean");
    const auto peak = static_cast<double>(r_.memory_peak);
    if (peak > 0) figure("memory.peak", format_bytes(peak), "in flight at most");
    add("</div></section>\n");
  }
  timeline();
  stages();
  add("<section><h2>More</h2>\n");
  for (std::size_t i = 1; i < said.before.size(); ++i) paragraph(said.before[i]);
  for (const report_line& l : said.after) paragraph(l);
  add("</section>\n</body>\n</html>\n");
  return std::move(out_);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

std::string report::to_html() const { return detail::report_page(*this).text(); }

}  // namespace wick

#!/usr/bin/env python3
"""What goes with what: compiles a loader of each pair of public stages, and writes the table.

  pairs.py --compiler C++ [--flag FLAG…] --features core,torch,… [--only KIND…] [--jobs N] [--list] check
  pairs.py … write

Each pair of the catalog below becomes a whole pipeline, in which the other stages are the usual ones. The pair either
compiles, or is refused by exactly one sentence of wick's. `check` compares that with table.json, and fails where a pair has
changed, where a refusal has no sentence, or where the compiler says more than the sentence. `write` writes table.json and
docs/combinations.md, of what this compiler finds.
"""

import argparse
import concurrent.futures
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "table.json"
PAGE = ROOT / "docs" / "combinations.md"

# ---- the catalog ----
#
# Worlds, what an item is: unread (as the source gives it), bytes, image, parts (an image with a mask, boxes, and keypoints),
# numbers (of one shape), ragged (vectors). A stage says what it takes and gives; `any`: whatever comes, and the same.

# name: (expression, {world: stages that turn the source's item into it}, feature)
SOURCES = {
    "std::vector": ("from(std::vector<sample<std::array<float, 4>>>(10))", {"numbers": ""}, "core"),
    "in_memory(items)": ("in_memory(std::vector<sample<std::vector<std::int64_t>>>(10))", {"ragged": ""}, "core"),
    "in_memory(array)": ("in_memory(std::vector<float>(40), {4}, std::vector<std::int64_t>(10))", {"numbers": ""}, "core"),
    "a source of your own": ("from(own_source{})", {"numbers": ""}, "core"),
    "files": ('files("*.jpg")', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "image_folder": ('image_folder("photos")', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "class_folder": ('class_folder("sounds")', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "csv::files": ('csv("train.csv").files("path")', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "tar": ('tar("*.tar")', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "tar(members)": ('tar("*.tar", {"txt", "cls"})', {}, "core"),
    "records<T>": ('records<move>(files("*.bin"))', {"bytes": "read()", "numbers": "read() | decode_raw<move>()"}, "core"),
    "records(framing)": ('records(files("*.bin"), 4, frame{})', {"bytes": "read()"}, "core"),
    "tfrecords": ('tfrecords("*.tfrecord")', {"bytes": "read()"}, "core"),
    "npy": ('npy("x.npy")', {"numbers": ""}, "core"),
    "safetensors": ('safetensors("x.safetensors", "x")', {"numbers": ""}, "core"),
    "idx": ('idx("images", "labels")', {"image": "to_image()"}, "core"),
    "windows(memory)": ("windows(std::vector<float>(400), {4}, 10)", {"numbers": ""}, "core"),
    "windows(files)": ('windows(files("*.f32"), {.row_bytes = 64}, 10)', {"bytes": "read()", "numbers": "read() | decode_raw<float>({10, 16})"}, "core"),
    "lines": ('lines("*.txt")', {"bytes": "read()", "ragged": "read() | from_text{}"}, "core"),
    "documents": ('documents("*.txt")', {"bytes": "read()", "ragged": "read() | from_text{}"}, "core"),
    "tokens": ('tokens("*.bin") | chunks(128)', {"bytes": "read()", "numbers": "read()"}, "core"),
    "tokens with segments": ('tokens("*.bin") | chunks(128, {.segments = 1})', {"bytes": "read()", "numbers": "read()"}, "core"),
    "replay_buffer": ("replay_buffer<move>(100).samples()", {"numbers": ""}, "core"),
    "concat": ('concat(files("a/*.jpg"), files("b/*.jpg"))', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "zip": ('zip(files("a/*.jpg"), in_memory(std::vector<std::int64_t>(10)))', {"image": "read() | decode()"}, "core"),
    "mix": ('mix(weighted_source{files("a/*.jpg"), 0.5}, weighted_source{files("b/*.jpg"), 0.5})', {"bytes": "read()", "image": "read() | decode()"}, "core"),
    "lmdb": ('lmdb("train.lmdb")', {"bytes": "read()", "image": "read() | decode()"}, "lmdb"),
    "parquet": ('parquet<row>("*.parquet", {"values", "label"})', {"numbers": "read()"}, "parquet"),
    "remote": ('files("s3://bucket/photos/*.jpg")', {"bytes": "read()", "image": "read() | decode()"}, "curl"),
    "tensor_dataset": ("tensor_dataset(torch::zeros({10, 3, 8, 8}), torch::zeros({10}))", {"numbers": ""}, "torch"),
    "windows(tensor)": ("windows(torch::zeros({400, 4}), 10)", {"numbers": ""}, "torch"),
    "torch_data": ("torch_data(example_set())", {"numbers": "read()"}, "torch"),
}
BRIDGES = {"bytes": "as_bytes{}", "image": "as_image{}", "parts": "as_parts{}", "numbers": "as_numbers{}", "ragged": "as_ragged{}"}

ORDERS = {
    "shuffle": "shuffle()",
    "shuffle_once": "shuffle_once(1)",
    "block_shuffle": "block_shuffle(4, 16)",
    "weighted(list)": "weighted(std::vector<double>(10, 1))",
    "weighted(weights)": "weighted(weights(std::vector<double>(10, 1)))",
    "subset(list)": "subset({0, 1, 2})",
    "subset(predicate)": "subset(keep_all{})",
    "take": "take(5)",
    "skip": "skip(5)",
    "repeat": "repeat(2)",
    "bucket": "bucket({.lengths = std::vector<std::uint32_t>(10, 3)})",
    "shard": "shard(0, 1)",
}

# name: (expression, takes, gives, whether it stands for its family with sources and other stages of samples)
SAMPLES = {
    "read": ("read()", "unread", "bytes", True),
    "decode": ("decode()", "bytes", "image", True),
    "decode_mask": ("decode_mask()", "bytes", "image", False),
    "decode_depth": ("decode_depth()", "bytes", "image", False),
    "decode_raw": ("decode_raw<float>({4})", "bytes", "numbers", False),
    "decode_raw<T>": ("decode_raw<move>()", "bytes", "numbers", False),
    "decode_tf_example": ("decode_tf_example()", "bytes", "tf_example", False),
    "to_image": ("to_image()", "array", "image", False),
    "a callable": ("[]<class T>(T x) { return x; }", "any", "any", True),
    "map": ('map("same", []<class T>(T x) { return x; })', "any", "any", False),
    "a coroutine": ("own_coroutine{}", "any", "any", True),
    "per_worker": ("per_worker([] { return 1; }, with_state{})", "any", "any", True),
    "filter": ("filter(keep_all{})", "any", "any", True),
    "with_others, join": ("with_others(1) | join(first_of{})", "any", "any", True),
    "with_index": ("with_index()", "any", "any", True),
    "mixup": ("mixup(10)", "image", "image", True),
    "cutmix": ("cutmix(10)", "image", "image", False),
    "mosaic": ("mosaic(32)", "parts", "parts", True),
    "center_crop": ("center_crop(4)", "image", "image", False),
    "random_crop": ("random_crop(4)", "image", "image", False),
    "random_resized_crop": ("random_resized_crop(4)", "image", "image", True),
    "resize": ("resize(4)", "image", "image", False),
    "letterbox": ("letterbox(8)", "image", "image", False),
    "pad": ("pad(1)", "image", "image", False),
    "random_horizontal_flip": ("random_horizontal_flip()", "image", "image", True),
    "random_vertical_flip": ("random_vertical_flip()", "image", "image", False),
    "affine": ("affine({.angle = 10})", "image", "image", False),
    "rotate": ("rotate(10)", "image", "image", False),
    "random_rotation": ("random_rotation(10)", "image", "image", False),
    "random_affine": ("random_affine(10)", "image", "image", False),
    "random_perspective": ("random_perspective()", "image", "image", False),
    "random_iou_crop": ("random_iou_crop()", "parts", "parts", True),
    "sanitize_boxes": ("sanitize_boxes()", "parts", "parts", True),
    "color_jitter": ("color_jitter(0.4, 0.4)", "image", "image", True),
    "grayscale": ("grayscale()", "image", "image", False),
    "random_grayscale": ("random_grayscale()", "image", "image", False),
    "gaussian_blur": ("gaussian_blur(3, 1)", "image", "image", False),
    "random_erasing": ("random_erasing()", "image", "image", False),
    "rand_augment": ("rand_augment()", "image", "image", False),
    "auto_augment": ("auto_augment()", "image", "image", False),
    "trivial_augment_wide": ("trivial_augment_wide()", "image", "image", False),
    "five_crop": ("five_crop(4)", "image", "images", False),
    "multi_crop": ("multi_crop<2, 3>(random_resized_crop(8), random_resized_crop(4))", "image", "images", True),
    "to_float": ("to_float()", "image", "image", False),
    "normalize": ("normalize(0.5, 0.5)", "image", "image", True),
}
CACHES = {"cache_in_memory": "cache_in_memory()", "cache_on_disk": 'cache_on_disk("cache")'}

# name: (expression, what it takes, feature)
BATCHES = {
    "none": ("", {"numbers", "image", "parts", "ragged", "images", "tf_example"}, "core"),
    "array_batch": ("array_batch(4)", {"numbers", "image", "images"}, "core"),
    "array_batch, padded": ("array_batch(4, {.ragged = pad_with(0)})", {"ragged", "numbers", "image", "parts", "images"}, "core"),
    "array_batch, concatenated": ("array_batch(4, {.ragged = concatenated})", {"ragged", "numbers", "image", "parts", "images"}, "core"),
    "array_pack": ("array_pack(2, 8, {.lengths = std::vector<std::uint32_t>(10, 3)})", {"ragged"}, "core"),
    "group": ("group(4)", {"numbers", "image", "parts", "ragged", "images", "tf_example"}, "core"),
    "batch": ("batch(4)", {"numbers", "image", "images"}, "torch"),
    "batch, channels_last": ("batch(4, {.layout = layout::channels_last})", {"numbers", "image", "images"}, "torch"),
    "batch, padded": ("batch(4, {.ragged = pad_with(0)})", {"ragged", "numbers", "image", "parts", "images"}, "torch"),
    "batch, concatenated": ("batch(4, {.ragged = concatenated})", {"ragged", "numbers", "image", "parts", "images"}, "torch"),
    "pack": ("pack(2, 8, {.lengths = std::vector<std::uint32_t>(10, 3)})", {"ragged"}, "torch"),
}
# name: (expression, feature)
DEVICES = {
    "pin": ("pin()", "torch"),
    "transfer": ("transfer(torch::kCUDA)", "torch"),
    "pin, transfer": ("pin() | transfer(torch::kCUDA)", "torch"),
    "a callable for batches": ("own_batch_stage{}", "core"),
    "a coroutine for batches": ("own_coroutine{}", "core"),
}

KINDS = {"source": SOURCES, "order": ORDERS, "sample": SAMPLES, "cache": CACHES, "batch": BATCHES, "device": DEVICES}
# The pairs of kinds, in the order of a pipeline; those of one kind, in both orders. A landing compiles those marked.
TABLES = [
    ("source", "order", False),
    ("source", "sample", False),
    ("source", "cache", True),
    ("source", "batch", False),
    ("source", "device", False),
    ("order", "order", False),
    ("order", "sample", False),
    ("order", "cache", True),
    ("order", "batch", True),
    ("order", "device", False),
    ("sample", "sample", False),
    ("sample", "cache", True),
    ("cache", "sample", True),
    ("sample", "batch", False),
    ("sample", "device", False),
    ("cache", "cache", True),
    ("cache", "batch", True),
    ("cache", "device", True),
    ("batch", "device", True),
]


def feature_of(kind, name):
    if kind == "source":
        return SOURCES[name][2]
    if kind == "batch":
        return BATCHES[name][2]
    if kind == "device":
        return DEVICES[name][1]
    return "core"


def pipeline_of(table, first, second, torch):
    """The pipeline of a pair, with the usual stages in the other places."""
    kinds = [(table[0], first), (table[1], second)]
    chosen = {"source": [], "order": [], "samples": [], "batch": [], "device": []}
    for kind, name in kinds:
        chosen["samples" if kind in ("sample", "cache") else kind].append((kind, name))
    wants_ragged = any(kind == "batch" and "ragged" in BATCHES[name][1] and "image" not in BATCHES[name][1] for kind, name in kinds)
    bucketed = ("order", "bucket") in kinds
    batch = chosen["batch"][0][1] if chosen["batch"] else ("batch" if torch else "array_batch")
    if chosen["source"]:
        source, paths, _ = SOURCES[chosen["source"][0][1]]
    else:
        source, paths, _ = SOURCES["in_memory(items)" if wants_ragged or bucketed else "image_folder"]
    text = [source]
    text += [ORDERS[name] for _, name in chosen["order"]]
    world = "unread"

    def go_to(wanted):
        nonlocal world
        if world == wanted or wanted == "any":
            return
        if world == "unread" and wanted in paths:
            if paths[wanted]:
                text.append(paths[wanted])
        elif wanted in BRIDGES:
            text.append(BRIDGES[wanted])
        world = wanted

    accepted = BATCHES[batch][1]
    usual = next((w for w in ("image", "numbers", "ragged") if w in paths and w in accepted), None)
    if usual is None:
        usual = "ragged" if wants_ragged or "ragged" in accepted and len(accepted) == 1 else "numbers"
    samples = chosen["samples"]
    for kind, name in samples:
        if kind == "cache":
            if samples[0] == (kind, name) or len(samples) == 1:
                go_to(usual if len(samples) == 1 or samples[1][0] == "cache" else SAMPLES[samples[1][1]][1] if SAMPLES[samples[1][1]][1] in BRIDGES else usual)
            text.append(CACHES[name])
            continue
        expression, takes, gives, _ = SAMPLES[name]
        if takes == "any":
            if world == "unread":
                go_to(usual)
        elif takes in ("unread", "array"):
            pass
        elif takes == "image" and world in ("parts", "images"):
            pass  # as they come
        else:
            go_to(takes)
        text.append(expression)
        world = world if gives == "any" else gives
    if not samples:
        go_to(usual)
    if world not in accepted:
        world = "other"
        go_to(usual)
    if BATCHES[batch][0]:
        text.append(BATCHES[batch][0])
    text += [DEVICES[name][0] for _, name in chosen["device"]]
    return " | ".join(text)


def all_pairs(features, only_landing):
    torch = "torch" in features
    out = []
    for a, b, landing in TABLES:
        if only_landing and not landing:
            continue
        for first in KINDS[a]:
            for second in KINDS[b]:
                if not {feature_of(a, first), feature_of(b, second)} <= features:
                    continue
                if (a, b) == ("sample", "sample") and not (SAMPLES[first][3] and SAMPLES[second][3]):
                    continue
                if (a, b) == ("source", "sample") and not SAMPLES[second][3]:
                    continue
                out.append(((a, b), first, second, pipeline_of((a, b), first, second, torch)))
    return out


# ---- compiling ----


KEYWORDS = """alignas alignof and asm auto bool catch char co_await co_return co_yield const constexpr decltype defined delete double
    else explicit float for if int long new noexcept not offsetof operator or requires return short sizeof static_assert switch this
    throw typeid unsigned void volatile while xor bitand""".split()


def functions_of_users():
    """Function templates named as all functions that wick calls without a namespace, but for those that the standard library or
    the table calls so."""
    called = re.compile(r"(?<![\w:.>~])([a-z][a-z0-9_]*)\s*\(")
    names = set()
    for file in (ROOT / "include" / "wick").rglob("*.?pp"):
        code = re.sub(r'//.*|"(\\.|[^"\\\n])*"', "", file.read_text(encoding="utf-8"))
        names.update(called.findall(code))
    names -= set(re.findall(r"\w+", (HERE / "catalog.hpp").read_text(encoding="utf-8")))
    names -= set(re.findall(r"(\w+)\s*[(<{]", Path(__file__).read_text(encoding="utf-8")))
    names -= set(KEYWORDS) | {"begin", "data", "end", "get", "size", "swap"}
    lines = []
    for name in sorted(names):
        lines.append(f"template <class... T> void {name}(T&&...) = delete;")
        for count in range(1, 5):
            types = ", ".join(f"class T{i}" for i in range(count))
            for first in ("{}&&", "{}&", "const {}&"):
                other = first if first.startswith("const") else "{}&&"
                arguments = [(other if i else first).format(f"T{i}") for i in range(count)]
                lines.append(f"template <{types}> void {name}({', '.join(arguments)}) = delete;")
    return "namespace pairs::user {\n" + "\n".join(lines) + "\n}\n"


class compiler:
    def __init__(self, command, features, folder):
        self.folder = Path(folder)
        self.verbose = False
        self.command = command + ["-std=c++20", "-w", "-fsyntax-only", f"-I{ROOT / 'include'}", f"-I{HERE}"]
        self.command += [f"-DWICK_PAIRS_{f.upper()}" for f in features if f != "core"]
        self.clang = "clang" in subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
        header = self.folder / "precompiled.hpp"
        header.write_text('#include "catalog.hpp"\n' + functions_of_users())
        out = self.folder / ("precompiled.hpp.pch" if self.clang else "precompiled.hpp.gch")
        make = [c for c in self.command if c != "-fsyntax-only"] + ["-x", "c++-header", str(header), "-o", str(out)]
        run = subprocess.run(make, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"pairs: the catalog itself does not compile:\n{run.stdout}{run.stderr}")
        self.use = ["-include-pch", str(out)] if self.clang else ["-include", str(header)]

    def diagnose(self, name, pipelines):
        """The errors of each of several pipelines: {number: [messages]}; None stands for errors outside of any."""
        text = ["namespace pairs {"]
        for number, pipeline in pipelines:
            text += [f'#line {number + 1} "pair"', f"void pair_{number}() {{ check<{number}>({pipeline}); }}"]
        text.append("}")
        file = self.folder / f"{name}.cpp"
        file.write_text("\n".join(text) + "\n")
        limit = ["-ferror-limit=0", "-ftemplate-backtrace-limit=0"] if self.clang else ["-fmax-errors=0", "-ftemplate-backtrace-limit=0"]
        run = subprocess.run(self.command + self.use + limit + [str(file)], capture_output=True, text=True, errors="replace")
        file.unlink()
        return self.parse(run.stderr)

    def parse(self, output):
        found = {}
        here, waiting = None, None
        for line in output.splitlines():
            at = re.search(r"\bpair:(\d+):", line)
            error = re.search(r"\b(?:fatal )?error: (.*)", line)
            if self.clang:
                if error:
                    if waiting:
                        found.setdefault(None, []).append(waiting)
                    waiting = error.group(1)
                if at and waiting:
                    found.setdefault(int(at.group(1)) - 1, []).append(waiting)
                    waiting = None
            else:
                if at:
                    here = int(at.group(1)) - 1
                if error:
                    found.setdefault(here, []).append(error.group(1))
        if waiting:
            found.setdefault(None, []).append(waiting)
        return found


def sentences(messages):
    """wick's own sentences among the compiler's messages."""
    out = []
    for m in messages:
        said = re.search(r"wick: .*", m)
        if said and "pairs: refused" not in m:
            out.append(re.sub(r'"$', "", said.group(0)).replace('" "', ""))
    return out


def judge(pairs, tool, jobs, known, alone):
    """{pair: None where it compiles, or its sentence}, and the faults. `alone`: each refusal is compiled by itself."""
    verdicts, faults, suspects = {}, [], []
    chunk = 36
    start = printed = time.monotonic()
    # Those that table.json refuses stand together, so that the others compile once.
    numbered = list(enumerate(pairs))
    refused_before = [p for p in numbered if known.get(key(p[1]))]
    groups = [[p for p in numbered if p not in refused_before], refused_before]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [group[i : i + chunk] for group in groups for i in range(0, len(group), chunk)]
        work, made, done = {}, 0, 0
        while waiting or work:
            while waiting and len(work) < 2 * jobs:
                c = waiting.pop(0)
                made += 1
                work[pool.submit(tool.diagnose, f"chunk{made}", [(i, p[3]) for i, p in c])] = c
            each = next(concurrent.futures.as_completed(work))
            c, result = work.pop(each), each.result()
            if None in result and tool.verbose:
                print("pairs: errors outside of pairs:", result[None][:3], flush=True)
            if None in result and len(c) > 1:  # an error that no pair is named for
                waiting[:0] = [c[: len(c) // 2], c[len(c) // 2 :]]
                continue
            # A compiler says each error once: beside a pair that is refused, another may be refused unseen.
            refused = [p for p in c if p[0] in result or None in result]
            clean = [p for p in c if p not in refused]
            for i, pair in refused:
                verdict = None if alone or None in result else one_sentence(result[i])
                if verdict:
                    verdicts[i] = verdict
                else:
                    suspects.append(i)
            done += len(refused)
            if refused and clean:
                waiting[:0] = [clean]
                continue
            done += len(clean)
            verdicts.update((i, None) for i, _ in clean)
            if time.monotonic() - printed > 5:
                printed = time.monotonic()
                rest = (printed - start) / done * (len(pairs) - done)
                print(f"pairs: {done} of {len(pairs)} compiled, about {rest:.0f} s left", flush=True)
        # Those whose errors among others aren't one sentence, each by itself.
        work = {pool.submit(tool.diagnose, f"one{i}", [(i, pairs[i][3])]): i for i in suspects}
        for n, each in enumerate(concurrent.futures.as_completed(work)):
            i = work[each]
            messages = [m for all_of in each.result().values() for m in all_of]
            said = sentences(messages)
            verdicts[i] = None
            if messages:
                verdicts[i] = one_sentence(messages) or (said[0] if said else "no sentence: " + messages[0])
                if len(set(said)) != 1:
                    faults.append(f"{title(pairs[i])}: refused by {len(set(said))} sentences: {(said or messages)[:2]}\n    {pairs[i][3]}")
                elif not one_sentence(messages):
                    faults.append(f"{title(pairs[i])}: the compiler says more than the sentence: {beside(messages)[0]}")
            if time.monotonic() - printed > 5:
                printed = time.monotonic()
                print(f"pairs: {n + 1} of {len(suspects)} refusals looked at", flush=True)
    return {key(pairs[i]): verdict for i, verdict in sorted(verdicts.items())}, faults


def beside(messages):
    return [m for m in messages if "wick: " not in m and "pairs: refused" not in m]


def one_sentence(messages):
    """The sentence, where the compiler says one, and at most one line beside it; else None."""
    said = set(sentences(messages))
    return said.pop() if len(said) == 1 and len(beside(messages)) <= 1 else None


def key(pair):
    (a, b), first, second, _ = pair
    return f"{a} {b}: {first} | {second}"


def title(pair):
    return f"{pair[1]} | {pair[2]}"


# ---- the page ----

TITLES = {"source": "sources", "order": "order stages", "sample": "stages of samples", "cache": "caches", "batch": "kinds of batches", "device": "stages of batches"}


def page(table):
    notes, lines = [], []
    refused = sum(1 for v in table.values() if v)
    lines += [
        "# What goes with what",
        "",
        "[tests/pairs](../tests/pairs/pairs.py) writes this page: it compiles a loader for each pair of public stages. Each pair compiles, or the",
        "compiler refuses it with one sentence.",
        f"The table has {len(table)} pairs: {len(table) - refused} compile, and {refused} are refused. A cell is ✓ for a pair that compiles, or the number of its sentence below.",
        "Where an item has another type than a stage takes, a callable of your own converts it: `| [](Item item) { return …; }`.",
        "",
    ]
    for a, b, _ in TABLES:
        rows = {}
        for k, verdict in table.items():
            kinds, names = k.split(": ", 1)
            if kinds == f"{a} {b}":
                first, second = names.split(" | ")
                rows.setdefault(first, {})[second] = verdict
        if not rows:
            continue
        columns = list(dict.fromkeys(c for row in rows.values() for c in row))
        lines += [f"## {TITLES[a].capitalize()}, then {TITLES[b]}", ""]
        if not any(v for row in rows.values() for v in row.values()):
            lines += [f"All {sum(map(len, rows.values()))} pairs compile.", ""]
            continue
        turned = len(columns) > 12
        if turned:
            rows, columns = {c: {r: rows[r][c] for r in rows if c in rows[r]} for c in columns}, list(rows)
        if len(columns) > 14:  # too wide for a page: the refusals as a list
            for name, row in rows.items():
                for other, verdict in row.items():
                    if verdict:
                        if verdict not in notes:
                            notes.append(verdict)
            lines += ["All pairs compile but these:", ""]
            for name, row in rows.items():
                by_note = {}
                for other, verdict in row.items():
                    if verdict:
                        by_note.setdefault(notes.index(verdict) + 1, []).append(other)
                for note, others in by_note.items():
                    pair = f"{', '.join(f'`{o}`' for o in others)}, then `{name}`" if turned else f"`{name}`, then {', '.join(f'`{o}`' for o in others)}"
                    lines.append(f"- {pair}: [{note}](#sentences)")
            lines.append("")
            continue
        lines += ["| | " + " | ".join(f"`{c}`" for c in columns) + " |", "|---|" + "---|" * len(columns)]
        for name, row in rows.items():
            cells = []
            for c in columns:
                verdict = row.get(c)
                if c not in row:
                    cells.append("")
                elif verdict is None:
                    cells.append("✓")
                else:
                    if verdict not in notes:
                        notes.append(verdict)
                    cells.append(f"[{notes.index(verdict) + 1}](#sentences)")
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## Sentences", ""]
    # Code at a sentence's end, such as a callable to write, is shown as code.
    shown = [re.sub(r"(?<!`)(\| \[\]\(.*\})$", r"`\1`", note.removeprefix("wick: ")) for note in notes]
    lines += [f"{n}. {note}" for n, note in enumerate(shown, 1)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "write", "page"])
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--features", default="core")
    parser.add_argument("--landing", action="store_true", help="only the tables that a landing compiles")
    parser.add_argument("--only", default="", help="a regular expression of pairs, as in table.json")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print each pipeline, and compile none")
    args = parser.parse_args()
    if args.what == "page":
        PAGE.write_text(page(json.loads(TABLE.read_text(encoding="utf-8"))), encoding="utf-8")
        return 0
    features = set(args.features.split(",")) | {"core"}
    pairs = [p for p in all_pairs(features, args.landing) if re.search(args.only, key(p))]
    if args.list:
        for p in pairs:
            print(f"{key(p)}\n    {p[3]}")
        return 0
    before = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        found, faults = judge(pairs, compiler([args.compiler] + args.flag, sorted(features), folder), args.jobs, before, not args.landing)
    if args.what == "write":
        known = dict(before) if args.only or args.landing else {}
        known.update(found)
        order = [key(p) for p in all_pairs({"core", "torch", "parquet", "lmdb", "curl"}, False)]
        known = {k: known[k] for k in order if k in known}
        TABLE.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PAGE.write_text(page(known), encoding="utf-8")
    else:
        known = before
        for k, verdict in found.items():
            if k not in known:
                faults.append(f"{k}: not in table.json; run pairs.py write")
            elif known[k] != verdict:
                faults.append(f"{k}: table.json says {known[k] or 'it compiles'!r}, and the compiler {verdict or 'that it compiles'!r}")
    for f in faults:
        print("pairs:", f)
    refused = sum(1 for v in found.values() if v)
    print(f"pairs: {len(found)} pairs, {len(found) - refused} compile, {refused} refused by {len({v for v in found.values() if v})} sentences, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

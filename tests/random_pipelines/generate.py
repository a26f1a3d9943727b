#!/usr/bin/env python3
"""Writes random pipelines as C++ programs: generate.py --seed S --count N [--features lmdb,curl,arrow,torch] FOLDER

Each file has one pipeline of three to eight stages from the grammar below, and registers it; main.cpp draws parameters,
runs each on a loader in many ways, and compares it with a plain loop (reference.hpp). The same seed and features give the
same files. With torch, batches are tensors.
"""

import argparse
import random
import re
from pathlib import Path

# Sources by the items that they give, and the stages from the source to that item.
SOURCES = {
    "cell": [
        ("cells{p.samples}", []),
        ("in_memory(items_of(cells{p.samples}))", []),
        ("cell_records(p)", ["read()", "decode_raw<bytes_of_cell>()", "to_cell"]),
        ("concat(cells{p.samples}, cells{3})", []),
        ("zip(cells{p.samples}, texts{p.samples})", ["first_of_two"]),
    ],
    "text": [
        ("texts{p.samples}", []),
        ("text_lines(p)", ["read()", "parse_line{}"]),
        ("member_shard(p)", ["read()", "parse_members{}"]),
        ("framed_texts(p)", ["read()", "parse_line{}"]),
    ],
    "photo": [
        ("photos{p.samples}", []),
        ("photo_files(p)", ["read()", "decode()", "to_photo"]),
        ("photo_folder(p)", ["read()", "decode()"]),
        ("photo_shard(p)", ["read()", "png_of", "decode()", "to_photo"]),
    ],
    "outer": [("outers{p.samples}", [])],
    "scene": [
        ("scenes{p.samples}", []),
        ("scene_files(p)", ["read()", "decode()", "decode_mask()"]),
    ],
    "boxed": [("many_boxed{p.samples}", [])],
    "tokens": [("token_chunks(p)", ["read()"])],
    "array": [
        ("npy_file(p)", []),
        ("safetensors_file(p)", []),
        ("idx_files(p)", []),
    ],
}
# Those that need a library: outside.hpp, torch_stages.hpp.
OPTIONAL = {
    "lmdb": {"text": [("text_database(p)", ["read()", "parse_line{}"])]},
    "curl": {
        "text": [("served_texts(p)", ["read()", "parse_line{}"])],
        "cell": [("served_cells(p)", ["read()", "decode_raw<bytes_of_cell>()", "to_cell"])],
        "photo": [("served_photos(p)", ["read()", "decode()", "to_photo"]), ("served_shard(p)", ["read()", "png_of", "decode()", "to_photo"])],
    },
    "arrow": {"cell": [("table_rows(p)", ["read()", "cell_of_row"])]},
    "torch": {
        "array": [("rows_of_tensors(p)", []), ("strided_rows(p)", []), ("tensor_windows(p)", [])],
        "tensor": [("examples(p)", ["read()"]), ("cells{p.samples}", ["to_tensor"]), ("cell_records(p)", ["read()", "decode_raw<bytes_of_cell>()", "to_cell", "to_tensor"])],
    },
}
MEMORY_ONLY = {"examples(p)"}  # a data set of one's own, of which a cache on disk can't see that it has changed
# Stages that draw nothing, which may stand before a cache, and those that draw.
FIXED = {
    "any": ["fails{p.damaged}", "filter(keeps{p.filtered})", "waits{p.damaged}",
            "per_worker([] { return std::uint64_t{0}; }, with_counter{})", "same{}", "map(\"same\", same{})"],
    "cell": ["doubled{}"],
    "text": ["doubled{}"],
    "outer": ["doubled{}"],
    "photo": ["resize(8, 9)", "center_crop(6)", "pad(1)", "grayscale(3)", "invert()"],
}
RANDOM = {
    "cell": ["noise{}"],
    "text": ["noise{}"],
    "outer": ["noise{}"],
    "photo": ["random_resized_crop(6)", "random_horizontal_flip()", "random_crop(5)", "color_jitter(0.4, 0.3)",
              "random_erasing({.p = 0.5})", "random_rotation(20)", "rand_augment()", "random_vertical_flip(0.3)"],
}
for world in ("scene", "boxed"):
    FIXED[world] = ["resize(8, 9)", "center_crop(6)", "pad(1)", "invert()"]
    RANDOM[world] = RANDOM["photo"][:-2] + ["random_affine(10)", "random_vertical_flip(0.3)"]
RANDOM["boxed"].remove("random_erasing({.p = 0.5})")
LAST = {"scene": ["resize(5, 5)", "random_resized_crop(5)"], "photo": ["resize(5, 5)", "random_resized_crop(5)", "resize(5, 5) | normalize(0.5, 0.25)", "resize(5, 5) | to_float()"]}
BATCHES = {
    "cell": ["array_batch(p.batch, p.batching())", "group(p.batch, p.batching())", "", "with_index() | array_batch(p.batch, p.batching())"],
    "text": ["array_batch(p.batch, {.drop_last = p.drop_last, .pad_last = p.pad_last, .ragged = pad_with(-1)})",
             "array_batch(p.batch, {.drop_last = p.drop_last, .pad_last = p.pad_last, .ragged = concatenated})", "group(p.batch, p.batching())", ""],
    "outer": ["array_batch(p.batch, {.drop_last = p.drop_last, .pad_last = p.pad_last, .ragged = pad_with(0)})",
              "array_batch(p.batch, {.drop_last = p.drop_last, .pad_last = p.pad_last, .ragged = concatenated})", "group(p.batch, p.batching())"],
    "photo": ["array_batch(p.batch, p.batching())", "group(p.batch, p.batching())", "",
              "array_batch(p.batch, {.drop_last = p.drop_last, .layout = layout::channels_last, .pad_last = p.pad_last})"],
    "scene": ["array_batch(p.batch, p.batching())", "group(p.batch, p.batching())", ""],
    "boxed": ["group(p.batch, p.batching())", ""],
    "tokens": ["array_batch(p.batch, p.batching())"],
    "array": ["array_batch(p.batch, p.batching())"],
    "tensor": ["array_batch(p.batch, p.batching())"],
}
# After batches whose rows are all of one shape; those of tensors.
BEHIND = ["marked{}", "same{}", "waits{0}"]
BEHIND_TENSORS = ["squared", "same{}", "waits{0}", "pin()", "pin() | transfer(torch::kCUDA)"]
ORDERS = ["shuffle()", "shuffle_once(9)", "take(p.take)", "skip(p.skip)", "repeat(2)", "block_shuffle(3, 7)",
          "subset(every_second(p.samples))"]


# Order stages that keep the samples of an epoch, before shuffle() and bucket().
KEEP = ["shuffle_once(9)", "take(p.take)", "skip(p.skip)", "subset(every_second(p.samples))", "subset([](const auto&) { return true; })"]
JOINED = ["array_batch(p.batch, p.batching())", "group(p.batch, p.batching())"]


def some(draw, among, most):
    return [draw.choice(among) for _ in range(draw.randint(0, most))]


def program(draw, features):
    """The call that runs it, and its text."""
    kind = draw.random()
    if kind < 0.1:
        return with_others(draw)
    if kind < 0.25:
        return by_lengths(draw)
    worlds = ["cell", "cell", "text", "text", "photo", "photo", "scene", "boxed", "outer", "tokens", "array"]
    world = draw.choice(worlds + ["array", "tensor", "tensor"] if "torch" in features else worlds)
    source, stages = draw.choice(SOURCES[world])
    orders = []
    if draw.random() < 0.15:
        orders.append("subset([](const auto&) { return true; })")
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        orders.append(draw.choice(ORDERS[:-1] if orders else ORDERS))
    fixed = stages + some(draw, FIXED["any"] + FIXED.get(world, []) * 3, 2)
    after = some(draw, FIXED["any"] + FIXED.get(world, []) + RANDOM.get(world, []) * 4, 2)
    if world in LAST:
        after.append(draw.choice(LAST[world]))
    batch = draw.choice(BATCHES[world])
    if "array_batch" in batch and "ragged" not in batch and draw.random() < 0.3:
        batch += " | " + draw.choice(BEHIND_TENSORS if "torch" in features else BEHIND)
    text = " | ".join([source] + orders + ["shard"] + fixed + ["cache"] + after + ([batch] if batch else []))
    on_disk = world != "array" and source not in MEMORY_ONLY
    return f"t.run<{'true' if on_disk else 'false'}>({made(text)});", text


def with_others(draw):
    source, stages = draw.choice(SOURCES["cell"])
    orders = some(draw, ORDERS[:-1], 2)
    fixed = stages + some(draw, FIXED["any"] + FIXED["cell"], 1)
    after = some(draw, ["noise{}"] + FIXED["any"], 2) + [draw.choice(["with_others(2)", "with_others(1, {.p = 0.5})"]), "join(joined{})"]
    text = " | ".join([source] + orders + ["shard"] + fixed + ["cache"] + after + [draw.choice(JOINED)])
    return f"t.agree<true>({made(text)}, [](const params&) {{}});", text


def by_lengths(draw):
    source, stages = draw.choice(SOURCES["text"])
    keep = some(draw, KEEP, 1)
    shuffled = ["shuffle()"] if draw.random() < 0.7 else []
    fixed = stages + some(draw, FIXED["any"] + FIXED["text"], 1)
    after = some(draw, FIXED["any"] + FIXED["text"], 1)
    plain = " | ".join([f"from({source})"] + keep + fixed + after)
    if draw.random() < 0.5:
        shuffled.append(draw.choice(["bucket({.lengths = lengths_of_texts(p)})", "bucket({.tokens = 12, .lengths = lengths_of_texts(p)})"]))
        batch = draw.choice(["array_batch(p.batch, {.ragged = pad_with(-1)})", "array_batch(p.batch, {.ragged = concatenated})", "group(p.batch)"])
    else:
        batch = "array_pack(p.batch, 7, {.lengths = lengths_of_texts(p)})"
        plain = ""  # a row has several samples
    text = " | ".join([source] + keep + shuffled + ["shard"] + fixed + ["cache"] + after + [batch])
    same = f"[]([[maybe_unused]] const params& p) {{ return {plain}; }}" if plain else "[](const params&) {}"
    return f"t.agree<true>({made(text)}, {same});", text


def made(text):
    return f"[]([[maybe_unused]] const params& p, auto shard, auto cache) {{ return {text}; }}"


def file_of(number, call, text, features):
    if "torch" in features:
        call, text = (re.sub(r"\barray_(batch|pack)\(", r"\1(", t) for t in (call, text))
    return f"""// Written by generate.py.
#include "{'torch_stages' if 'torch' in features else 'stages'}.hpp"

namespace {{

using namespace random_pipelines;  // NOLINT
using namespace wick;              // NOLINT

const registered registered_{number}("program {number}", {quoted(text)}, [](trial& t) {{
  {call}
}});
}}  // namespace
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--features", default="", help="of lmdb, curl, arrow, torch: what this build has")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    features = [f for f in args.features.split(",") if f]
    for feature in features:
        for world, sources in OPTIONAL[feature].items():
            SOURCES.setdefault(world, []).extend(sources)
    args.folder.mkdir(parents=True, exist_ok=True)
    for number in range(args.count):
        file = args.folder / f"program_{number}.cpp"
        code = file_of(number, *program(random.Random(f"{args.seed} {number}"), features), features)
        if not file.exists() or file.read_text(encoding="utf-8") != code:
            file.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()

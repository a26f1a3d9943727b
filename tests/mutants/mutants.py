#!/usr/bin/env python3
"""Breaks rules of wick's, one at a time, and sees that a test of each rule fails.

mutants.py [--only TEXT] [--list | --check]

Works on a copy of what git tracks, in build/mutants. A mutant is a file, what stands there, what stands there instead, and
the tests of which one at least must fail then: a test that fails without a mutant, and a mutant that no test finds, are
failures. The tests of the table are run once unbroken, first.

--only TEXT  those whose name, or whose test's name, contains it
--list       print their names
--check      only see that each finds what it would change, once
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE, BUILD = ROOT / "build/mutants/tree", ROOT / "build/mutants/build"

TRANSFER = "include/wick/torch/impl/transfer.ipp"
NORMALIZE = "include/wick/torch/impl/normalize_tensors.ipp"
KEPT = "include/wick/pipeline/detail/kept_value.hpp"
AUDIT = "include/wick/tools/impl/audit.ipp"
LOG = "include/wick/resume/impl/delivery_log.ipp"
DELIVERY = "include/wick/loader/impl/delivery.ipp"
ANSWER = "include/wick/stores/impl/http_answer.ipp"
REQUEST = "include/wick/stores/impl/http_request.ipp"
JPEG_DECODER = "include/wick/codec/impl/jpeg_decoder.ipp"
JPEG_WALK = "include/wick/codec/detail/jpeg_walk.hpp"
TRANSFERS = "include/wick/stores/impl/http_transfers.ipp"
PACE = "include/wick/stores/impl/http_pace.ipp"
SECOND = "include/wick/stores/impl/http_second_requests.ipp"
MIX = "include/wick/sampling/mix.hpp"
SOURCE = "include/wick/ext/source.hpp"
PLANS = "include/wick/loader/impl/epoch_plans.ipp"
STATE = "include/wick/resume/impl/state.ipp"
INDEX_LOCK = "include/wick/io/impl/index_lock.ipp"
PIPELINE = "include/wick/loader/detail/typed_pipeline.hpp"
ERASED = "include/wick/loader/detail/erased_pipeline.hpp"
GROUPS = "include/wick/sampling/detail/group_plan.hpp"
ORDERS = "include/wick/loader/detail/epoch_orders.hpp"
STANDING = "include/wick/loader/detail/progress_state.hpp"
COLUMN = "include/wick/batch/impl/memory_column.ipp"
RUN = "include/wick/loader/impl/pipeline_run.ipp"
CONTEXT = "include/wick/pipeline/context.hpp"
IN_MEMORY = "include/wick/cache/cache_in_memory.hpp"
ON_DISK = "include/wick/cache/cache_on_disk.hpp"

# Engine, caches, and resume, against the random pipelines of a landing.
RANDOM = ("random_pipelines", "random_pipelines/landing")
PLANTED = [
    ("two samples exchange their slots", PIPELINE, "j.columns.put(slot, to_rvalue(", "j.columns.put((slot ^ 1) < j.count ? slot ^ 1 : slot, to_rvalue("),
    ("the last batch is lost", RUN, "if (pad_last) positions_ = batches_ * batch_size_;", "if (batches_ > 1) --batches_;"),
    ("a rank's share begins one late", GROUPS, "const std::uint64_t from = count * shard.rank / shard.world;", "const std::uint64_t from = std::min(count, count * shard.rank / shard.world + (shard.rank != 0 ? 1 : 0));"),
    ("what pads the last batch is one on", ERASED, "positions[i] %= ordered_;", "positions[i] = positions[i] >= ordered_ ? (positions[i] + 1) % ordered_ : positions[i];"),
    ("random numbers are those of the index", CONTEXT, "random_stream(where_.seed ^ where_.drawn, where_.epoch, where_.position, stage_)", "random_stream(where_.seed ^ where_.drawn, where_.epoch, where_.index, stage_)"),
    ("an epoch that was prepared has the order of the one before", ORDERS, "prepared_ = expected_->order(seed_, expected_epoch_);", "prepared_ = expected_->order(seed_, expected_epoch_ - 1);"),
    ("a resume begins one batch late", STANDING, "left = by.batches() - (from ? from->batch : 0);", "left = by.batches() - (from && from->batch + 1 < by.batches() ? from->batch + 1 : 0);"),
    ("a gap is closed by one sample too few", COLUMN, "(to - from) * stride_);", "(to - from - 1) * stride_);"),
    ("a failure is noted one position on", RUN, "f.position = c.position();", "f.position = c.position() + 1;"),
    ("the cache in memory gives a neighbor's sample", IN_MEMORY, "cache_->find(c.index(), lane_of(c))", "cache_->find(c.index() & ~std::uint64_t{1}, lane_of(c))"),
    ("the cache on disk gives a neighbor's sample", ON_DISK, "if (!cache_->find(c.index(), where)", "if (!cache_->find(c.index() & ~std::uint64_t{1}, where)"),
]

# name, file, what stands there, what stands there instead, the program, its test
MUTANTS = [
    # transfer(): streams, events, memory
    ("the taking stream does not wait", TRANSFER, "c.done->block(current);", "", "torch", "torch/transfer"),
    ("copies block the worker", TRANSFER, "/*non_blocking=*/true", "/*non_blocking=*/false", "torch", "torch/transfer"),
    ("the source of a copy goes at once", TRANSFER, "out->made.from.push_back(*t);", "", "torch", "torch/(transfer|pin)"),
    (
        "device memory is used again before its stream is done",
        TRANSFER,
        "guard.recordDataPtrOnStream(t->storage().data_ptr(), current);",
        "static_cast<void>(guard);",
        "torch",
        "torch/transfer",
    ),
    ("the end does not wait for copies", TRANSFER, "while (!c.done->query()) {", "while (false) {", "torch", "torch/transfer"),
    ("the end waits for ever", TRANSFER, "std::chrono::steady_clock::now() >= until", "false", "torch", "torch/transfer"),
    (
        "memory is given back under a copy that never ends",
        TRANSFER,
        "static_cast<void>(shared_.release());",
        "",
        "torch",
        "torch/transfer",
    ),
    (
        "copies of a failed batch are forgotten",
        TRANSFER,
        "if (!copies.made.from.empty()) remember(copies);",
        "static_cast<void>(copies);",
        "torch",
        "torch/transfer",
    ),
    (
        "the event is of another stream",
        TRANSFER,
        "done->record(shared_->stream);",
        "done->record(c10::impl::VirtualGuardImpl(to_.type()).getDefaultStream(to_));",
        "torch",
        "torch/transfer",
    ),
    (
        "loaders share the default stream",
        TRANSFER,
        "guard.getStreamFromGlobalPool(to_, /*isHighPriority=*/true)",
        "guard.getDefaultStream(to_)",
        "torch",
        "torch/transfer",
    ),
    ("copies have no priority", TRANSFER, "/*isHighPriority=*/true", "/*isHighPriority=*/false", "torch", "torch/transfer"),
    ("memory counts as read at once", TRANSFER, "c.read || !c.done->query()", "c.read", "torch", "torch/(transfer|pin)"),
    ("any batch has any event", TRANSFER, "if (!c.is(batch)) continue;", "", "torch", "torch/transfer"),
    ("the loop runs ahead without end", TRANSFER, "while (!event->query())", "while (false)", "torch", "torch/transfer"),
    ("a missing device is the CPU", TRANSFER, "if (devices != 0 && to.index() >= devices) {", "if (false) {", "torch", "torch/transfer"),
    # normalize() on a device: its constants
    ("constants of another stream are read", NORMALIZE, "k.stream == stream && ", "", "torch", "torch/normalize_on_device"),
    ("constants of another type are taken", NORMALIZE, "k.unit == unit && ", "", "torch", "torch/normalize_on_device"),
    ("constants of another shape are taken", NORMALIZE, "k.shape == shape;", "true;", "torch", "torch/normalize_on_device"),
    ("constants are copied for each batch", KEPT, "value == nullptr || ", "true || ", "torch", "torch/normalize_on_device"),
    ("a worker waits for the constants", NORMALIZE, "/*non_blocking=*/true", "/*non_blocking=*/false", "torch", "torch/normalize_on_device"),
    # the delivery log and its audit
    ("a jump has no first line", LOG, "begins = next_ != place ||", "begins = !next_ ||", "tools", "tools/audit"),
    ("the log counts failed batches as whole", "include/wick/loader/impl/loader_core.ipp", "if (!there) b.samples =", "if (false) b.samples =", "tools", "tools/audit"),
    ("substitutes are not counted", DELIVERY, "!= f.slot) ++out.replaced;", "!= f.slot) continue;", "tools", "tools/audit"),
    ("gaps count as samples", DELIVERY, "if (gap != gaps.end() && *gap == slot)", "if (false)", "tools", "tools/audit"),
    ("ranks that lack a batch are not missed", AUDIT, "if (s.complete()) return &s;", "return &s;", "tools", "tools/audit"),
    ("lines that are missing are not missed", AUDIT, "if (here != by.next) {", "if (false) {", "tools", "tools/audit"),
    ("what is made again is not compared", AUDIT, "if (!share->second.same_samples(b)) {", "if (false) {", "tools", "tools/audit"),
    ("numbers of ranks are not compared", AUDIT, "if (!before->same_samples(now)) {", "if (false) {", "tools", "tools/audit"),
    ("the source's samples are not compared", AUDIT, "samples_hash == hash_of_all(any->source);", "true;", "tools", "tools/audit"),
    ("other data are not found", AUDIT, "of.data != by.is.data || of.source != by.is.source", "false", "tools", "tools/audit"),
    # what changes under a loader
    ("a mix keeps its first sizes", MIX, "if (!same) go_by(std::move(next));", "", "loader", "loader/changed_source"),
    ("sources put together are not refreshed", SOURCE, "static_cast<void>(s.refresh());", ";", "sources", "sources/replay_rounds"),
    ("an epoch goes by the weights before a change", PLANS, "(*planned_ < weights_.from) == (epoch < weights_.from)", "(true || epoch != 0)", "loader", "loader/mix_weights"),
    ("a refused state leaves its weights", PLANS, "if (!changed_ || kept_) return;", "if (true || kept_) return;", "loader", "loader/mix_weights"),
    ("a rank takes another's samples", STATE, "if (!mine.batched && saved.rank != mine.rank", "if (false && saved.rank != mine.rank", "resume", "resume/state"),
    # servers: what is checked, retried, shown
    ("servers: another part than asked for is taken", ANSWER, "first == from && end <= to", "true", "stores", "stores/remote"),
    ("servers: a changed object is read", REQUEST, "before != answer.version", "false", "stores", "stores/remote"),
    ("servers: a busy one is an error at once", ANSWER, "status == 503 ||", "", "stores", "stores/remote"),
    (
        "servers: one that is gone is asked for ever",
        TRANSFERS,
        "now - r.begun >= options.give_up_after",
        "false",
        "stores",
        "stores/remote",
    ),
    (
        "servers: one that is down gets all requests",
        PACE,
        "return failures_.load(std::memory_order_relaxed) >= std::max<std::size_t>(8, limit());",
        "return false;",
        "stores",
        "stores/remote",
    ),
    ("servers: each thread asks one that is down", PACE, "compare_exchange_strong(none, thread + 1", "compare_exchange_strong(none, 0", "stores", "stores/remote"),
    ("servers: each thread has all requests at a time", PACE, "(limit() + n - 1 - thread) / n", "limit()", "stores", "stores/remote"),
    ("servers: one thread gets all requests", "include/wick/stores/impl/http_client.ipp", "pace.used()", "1", "stores", "stores/remote"),
    ("servers: no request is sent twice", SECOND, "return options.hedge &&", "return false &&", "stores", "stores/remote"),
    (
        "servers: a silent one keeps the loader",
        "include/wick/stores/impl/http_client.ipp",
        "by.any_called_off = true;",
        "",
        "stores",
        "stores/remote",
    ),
    (
        "servers: one error waits for the other objects",
        "include/wick/io/impl/object_store.ipp",
        "const bool failed = failed_ != nullptr;",
        "const bool failed = false;",
        "stores",
        "stores/sources",
    ),
    (
        "servers: a silent one can't be interrupted",
        "include/wick/io/impl/object_store.ipp",
        "        check_interruption();",
        "",
        "stores",
        "stores/sources",
    ),
    ("indexes: each process makes its own", INDEX_LOCK, "LOCK_EX | LOCK_NB", "LOCK_SH | LOCK_NB", "text", "text/lines"),
    ("indexes: processes that waited wait for each other", INDEX_LOCK, "if (waited) release();", "", "io", "io/index_lock"),
    ("servers: headers go to other hosts", REQUEST, "follows ? 1L : 0L", "1L", "stores", "stores/remote"),
    (
        "servers: queries are shown",
        "include/wick/io/impl/object_store.ipp",
        'url.substr(0, url.find_first_of("?#"))',
        "url",
        "stores",
        "stores/remote",
    ),
    ("servers: headers have no end", ANSWER, "if (bytes > most_bytes) return false;", "", "stores", "stores/remote"),
    # JPEGs
    (
        "JPEG: a row of MCUs is shown before its end was reached",
        JPEG_DECODER,
        "return step_over(columns_ - 1 - last_column_);",
        "return true;",
        "codec",
        "codec/crop_index",
    ),
    (
        "JPEG: a walk starts where a restart marker hides that the place is wrong",
        JPEG_WALK,
        " && restarts_behind(nearest)",
        " && false",
        "codec",
        "codec/crop_index",
    ),
    (
        "JPEG: unwanted MCUs are passed before the next place has shown that the last one was right",
        JPEG_WALK,
        " && (walked_ != asked_ || walked_column_ % stride == 0)",
        "",
        "codec",
        "codec/crop_index",
    ),
    (
        "JPEG: colors at the border are mixed with what encoders leave beyond it",
        JPEG_DECODER,
        "at[p.width - start] = at[p.width - start - 1];",
        "at[p.width - start] = 0;",
        "codec",
        "codec/jpeg",
    ),
    (
        "JPEG: a part has no color from beside it",
        JPEG_DECODER,
        "!gray && wider_ == 2 ? 1 : 0",
        "0",
        "codec",
        "codec/jpeg",
    ),
    (
        "JPEG: damage is left as it comes",
        "include/wick/codec/impl/jpeg.ipp",
        "if ((*decoder).decode(*frame, encoded, with, sink)) return;",
        "(*decoder).decode(*frame, encoded, with, sink); return;",
        "codec",
        "codec/jpeg",
    ),
    # places in JPEGs
    (
        "crop index: a wrong place is not seen",
        "include/wick/codec/detail/jpeg_walk.hpp",
        "scan_.here() == places_[place] ? outcome::good : outcome::misplaced",
        "outcome::good",
        "codec",
        "codec/crop_index",
    ),
    (
        "crop index: it starts at the last place",
        "include/wick/codec/detail/jpeg_walk.hpp",
        "std::max<std::size_t>(places_.size(), 2) - 2",
        "std::max<std::size_t>(places_.size(), 1) - 1",
        "codec",
        "codec/crop_index",
    ),
]


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


MUTANTS += [(*bug, *RANDOM) for bug in PLANTED]


def copy_tree():
    """What git tracks, as it is now; unchanged files keep their times, so that they are not compiled again."""
    names = run(["git", "-C", str(ROOT), "ls-files", "-z"]).stdout.split("\0")[:-1]
    for name in names:
        old, new = ROOT / name, TREE / name
        if not old.exists():
            continue
        if new.exists() and new.read_bytes() == old.read_bytes():
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old, new)
    kept = set(names)
    for file in TREE.rglob("*"):
        if file.is_file() and str(file.relative_to(TREE)) not in kept:
            file.unlink()


def build(programs):
    done = run(["cmake", "--build", str(BUILD), "--target", *("wick_random_pipelines" if p == RANDOM[0] else f"wick_test_{p}" for p in programs)])
    return done.returncode == 0, done.stdout


def passes(test):
    """One that hangs does not pass."""
    command = ["ctest", "--test-dir", str(BUILD), "-R", f"^{test}$", "--no-tests=error"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        text = running.communicate(timeout=150)[0]
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        text = running.communicate()[0] + "it took more than 150 s"
    return running.returncode == 0, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if arguments.only in m[0] or arguments.only in m[5]]
    if arguments.list:
        print("\n".join(m[0] for m in chosen))
        return
    if not chosen:
        sys.exit(f"mutants: none has {arguments.only!r} in its name or its test")
    if arguments.check:
        lost = [m for m in chosen if (ROOT / m[1]).read_text(encoding="utf-8").count(m[2]) != 1]
        if lost:
            sys.exit("\n".join(f"mutants: {m[0]}: {m[1]} should have once: {m[2]}" for m in lost))
        return

    copy_tree()
    configured = run(["cmake", "--preset", "debug", "-B", str(BUILD)], cwd=TREE)
    built, text = build(sorted({m[4] for m in chosen}))
    if configured.returncode != 0 or not built:
        sys.exit(f"mutants: wick itself does not build:\n{(configured.stdout if configured.returncode else text)[-3000:]}")
    for test in sorted({m[5] for m in chosen}):
        good, text = passes(test)
        if not good:
            sys.exit(f"mutants: {test} fails without a mutant:\n{text[-3000:]}")

    missed = []
    for name, file, before, after, program, test in chosen:
        path = TREE / file
        text = path.read_text(encoding="utf-8")
        if text.count(before) != 1:
            missed.append(name)
            print(f"{name}: {file} has {text.count(before)} times: {before}", flush=True)
            continue
        begun = time.monotonic()
        path.write_text(text.replace(before, after), encoding="utf-8")
        try:
            built, output = build([program])
            found = built and not passes(test)[0]
        finally:
            path.write_text(text, encoding="utf-8")
        took = f"{time.monotonic() - begun:.0f} s"
        if not built:
            print(f"{name}: does not compile ({took}):\n{output[-1500:]}", flush=True)
        else:
            print(f"{name}: {'found' if found else 'NOT FOUND'} ({took})", flush=True)
        if not found:
            missed.append(name)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} mutants were found")
    if missed:
        sys.exit("mutants: not found: " + "; ".join(missed))


if __name__ == "__main__":
    main()

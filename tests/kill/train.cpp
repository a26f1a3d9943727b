// A training that can be killed at any moment: one process a rank. It reads real files, writes down each
// batch's samples before it takes the next one, and now and then a checkpoint. tests/kill/kill.py starts
// it, kills it, and checks these records.
//
//   wick_resume_train STREAM DATA RUN ATTEMPT RANK WORLD WORKERS PREFETCH EVERY EPOCHS KILL_AT
//
// DATA/*.bin are the samples. STREAM is what is made of them: plain, bucketed (batches by length), packed
// (rows in which samples follow one another), filtered (some are left out), mixed (three sources by
// weight), changing (the same, whose weights change), or stored (plain, from the bucket of
// DATA's name on the server in AWS_ENDPOINT_URL). RUN/checkpoint is replaced every
// EVERY steps by rank 0, when all ranks have written that step down: "ATTEMPT STEPS\n", how many steps of
// which attempt count, and the loader's state. RUN/ATTEMPT.RANK.WORLD.log has "from ATTEMPT STEPS" (of the
// checkpoint that it began from), then a line a step: its epoch and the samples, and a dot when the line is
// whole. At the KILL_AT-th of the moments that are counted here it kills itself; 0: never.
//
// WICK_RESUME_FAULT makes it do wrong, to see that it is found: late, again, order, draw; leak (filtered:
// nothing is left out any more), forget (edited: no edit is made any more), all of them after a resume.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <linux/futex.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/core.hpp>
#ifdef WICK_TEST_CURL
#include <wick/stores/remote.hpp>
#endif

namespace {

namespace fs = std::filesystem;
using row = std::array<std::int64_t, 3>;  // its number, its contents, the number drawn for it

std::atomic<std::int64_t> moments_left{0};
/// Something is about to happen: a good moment to be killed.
void moment() {
  if (moments_left.load(std::memory_order_relaxed) > 0 && moments_left.fetch_sub(1) == 1)
    ::kill(::getpid(), SIGKILL);
}

bool fault(std::string_view name) {
  const char* const chosen = std::getenv("WICK_RESUME_FAULT");
  return chosen != nullptr && name == chosen;
}

/// All ranks of an attempt meet here after each step, as they would at an all-reduce.
class barrier {
 public:
  barrier(const fs::path& path, std::uint32_t world) : world_(world) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || ::ftruncate(file, 4096) != 0) throw std::runtime_error("barrier: " + path.string());
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (page == MAP_FAILED) throw std::runtime_error("barrier: no memory");
    word_ = static_cast<std::uint32_t*>(page);
  }
  void meet() {
    const std::atomic_ref<std::uint32_t> arrived(*word_);
    arrived.fetch_add(1);
    ::syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    for (++met_;;) {
      const std::uint32_t seen = arrived.load();
      if (seen >= met_ * world_) return;
      ::syscall(SYS_futex, word_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
  }

 private:
  std::uint32_t* word_ = nullptr;
  std::uint32_t world_, met_ = 0;
};

class log_file {
 public:
  explicit log_file(const fs::path& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw std::runtime_error("log: " + path.string());
  }
  /// On the disk, whole, when this returns.
  void line(const std::string& text) {
    if (::write(file_, text.data(), text.size()) != static_cast<::ssize_t>(text.size()) ||
        ::fdatasync(file_) != 0) {
      throw std::runtime_error("log: can't be written");
    }
  }

 private:
  int file_;
};

/// "17:…" is sample 17, with whatever else.
row parse(const wick::bytes& content, wick::context& c) {
  moment();
  row r{};
  std::from_chars(content.text().data(), content.text().data() + content.size(), r[0]);
  r[1] = static_cast<std::int64_t>(
      wick::ext::fingerprint_hash().add(content.data(), content.size()).value() >> 1);
  r[2] = static_cast<std::int64_t>(c.random().below(1'000'000));
  return r;
}

/// Some files are read again on an I/O thread and leave the page cache, so that the next epoch must wait for
/// them: the sample suspends here, and in read() then.
wick::task<row> read_again(row r, wick::context& c, const std::string* folder) {
  if (c.random().below(3) != 0) co_return r;
  const std::string path = *folder + "/" + std::to_string(r[0]) + ".bin";
  auto blocking = c.run_blocking([path] {
    moment();
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char number[32] = {};
    const auto got = ::pread(file, number, sizeof number - 1, 0);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
    return got > 0 ? std::atoll(number) : -1LL;
  });
  const long long number = co_await blocking;
  if (number != r[0]) throw wick::error("it is " + std::to_string(number) + " now");
  r[2] += 1'000'000 * static_cast<std::int64_t>(c.random().below(1000));
  co_return r;
}

// ---- texts: samples of any length, of which each value is known ----

using text = wick::sample<std::vector<std::int64_t>>;
constexpr std::int64_t no_text = -7;  // what stands where none is
constexpr std::size_t batch_size = 24, pack_rows = 12, row_length = 512;

std::uint32_t text_length(std::uintmax_t bytes) { return static_cast<std::uint32_t>(3 + bytes / 64); }

text parse_text(const wick::bytes& content, wick::context& c) {
  const row r = parse(content, c);
  text out{std::vector<std::int64_t>(r.begin(), r.end()), r[0]};
  for (std::size_t j = out.data.size(); j < text_length(content.size()); ++j)
    out.data.push_back(1000 * r[0] + static_cast<std::int64_t>(j));
  return out;
}
/// A text as it came, in one row of numbers: `where` it lay is in the row as its contents are.
row told(const std::int64_t* values, std::size_t length, std::uint64_t where) {
  wick::ext::fingerprint_hash h;
  h.add(where).add(std::uint64_t{length});
  for (std::size_t j = 0; j < length; ++j) {
    if (j != 2) h.add(static_cast<std::uint64_t>(values[j]));
  }
  return {values[0], static_cast<std::int64_t>(h.value() >> 1), values[2]};
}
void require_padding(const std::int64_t* from, const std::int64_t* to) {
  if (std::any_of(from, to, [](std::int64_t v) { return v != no_text; }))
    throw std::runtime_error("something stands where no text is");
}

wick::task<text> read_text_again(text t, wick::context& c, const std::string* folder) {
  auto reading = read_again({t.data[0], t.data[1], t.data[2]}, c, folder);
  const row r = co_await reading;
  t.data[2] = r[2];
  co_return t;
}

// ---- what a batch has, sample by sample ----

std::vector<row> rows_of(const wick::array& batch) {
  std::vector<row> out(static_cast<std::size_t>(batch.extents()[0]));
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t f = 0; f < 3; ++f) out[i][f] = batch.as<std::int64_t>()[i * 3 + f];
  return out;
}
template <class Batch>
  requires requires(const Batch& b) { b.data.lengths; }
std::vector<row> rows_of(const Batch& batch) {
  std::vector<row> out;
  const std::int64_t width = batch.data.values.extents()[1];
  for (std::int64_t i = 0; i < batch.data.values.extents()[0]; ++i) {
    const std::int64_t* const values = batch.data.values.template as<std::int64_t>() + i * width;
    const std::int64_t length = batch.data.lengths.template as<std::int64_t>()[i];
    require_padding(values + length, values + width);
    out.push_back(told(values, static_cast<std::size_t>(length), 0));
  }
  return out;
}
template <class Batch>
  requires requires(const Batch& b) { b.cu_seqlens; }
std::vector<row> rows_of(const Batch& batch) {
  std::vector<row> out;
  const auto* const values = batch.values.data.template as<std::int64_t>();
  const auto* const segments = batch.segments.template as<std::int32_t>();
  const auto* const borders = batch.cu_seqlens.template as<std::int32_t>();
  for (std::int64_t s = 0; s + 1 < batch.cu_seqlens.extents()[0]; ++s) {
    const std::int32_t from = borders[s], to = borders[s + 1];
    if (from == to) continue;
    if (segments[from] == 0)
      require_padding(values + from, values + to);
    else
      out.push_back(told(values + from, static_cast<std::size_t>(to - from),
                         static_cast<std::uint64_t>(segments[from]) * row_length +
                             static_cast<std::uint64_t>(from) % row_length));
  }
  return out;
}

// ---- the training ----

struct arguments {
  std::string stream;
  fs::path data, run;
  std::uint64_t attempt, rank, world, workers, prefetch, every, epochs, kill_at;
};

/// Weights of the mix in the epochs after this one.
std::vector<wick::source_weight> weights_after(std::uint64_t epoch) {
  switch (epoch) {
    case 0:
      return {{"threes", 2}};
    case 1:
      return {{"twos", 0}};
    case 2:
      return {{"twos", 1}, {"threes", 0}};
    default:
      return {{"threes", 3}, {"ones", 1.25}};
  }
}

template <bool Changing = false, class Pipeline>
int train(const arguments& a, Pipeline pipeline, std::atomic<bool>& resumed) {
  wick::loader_options options{.seed = 2024, .workers = a.workers};
  if (a.prefetch != 0) options.prefetch = a.prefetch;
  wick::loader batches(std::move(pipeline), options);

  const std::string name =
      std::to_string(a.attempt) + "." + std::to_string(a.rank) + "." + std::to_string(a.world);
  log_file log(a.run / (name + ".log"));
  barrier all(a.run / ("barrier." + std::to_string(a.attempt)), static_cast<std::uint32_t>(a.world));
  const fs::path checkpoint = a.run / "checkpoint";
  std::uint64_t number = 0;  // of the next batch in its epoch
  if (fs::exists(checkpoint)) {
    const std::vector<std::byte> saved = wick::read_state(checkpoint);
    const std::string_view text(reinterpret_cast<const char*>(saved.data()), saved.size());
    const std::size_t head = text.find('\n') + 1;
    batches.load_state(std::span(saved).subspan(head));
    number = wick::detail::loader_state::from_bytes(std::span(saved).subspan(head)).batch;
    log.line("from " + std::string(text.substr(0, head)));
    resumed = true;
  } else {
    log.line("from nothing\n");
  }

  std::uint64_t steps = 0;
  bool late = resumed && fault("late");
  const bool forgets = resumed && fault("forget");
  const std::uint64_t change_at = std::array<std::uint64_t, 3>{0, 2, 7}[a.attempt % 3];
  std::vector<std::byte> state_before = batches.state();
  for (std::uint64_t epoch = batches.current_epoch(); epoch < a.epochs; ++epoch, number = 0) {
    batches.epoch(epoch);
    if (std::exchange(late, false)) (void)batches.next();
    bool changed = false;
    for (;; ++number) {
      if constexpr (Changing) {
        if (!forgets && !changed && number >= change_at) {
          moment();
          batches.set_mix_weights(weights_after(epoch));  // once more where the state has them
          moment();
          changed = true;
        }
      }
      const auto batch = batches.next();
      if (!batch) break;
      std::vector<row> rows = rows_of(*batch);
      if (resumed && rows.size() > 1 && fault("order")) std::swap(rows[0], rows[1]);
      if (resumed && !rows.empty() && fault("draw")) ++rows[0][2];
      std::string line = std::to_string(epoch);
      for (const row& r : rows) {
        line += ' ' + std::to_string(r[0]) + ':' + std::to_string(r[1]) + ':' + std::to_string(r[2]);
      }
      moment();
      log.line(line + " .\n");
      moment();
      all.meet();
      moment();
      if (++steps % a.every == 0 && a.rank == 0) {
        const std::vector<std::byte> state = fault("again") ? state_before : batches.state();
        if (state.size() > 4096) throw std::runtime_error("a state of more than 4 KiB");
        const std::string head = std::to_string(a.attempt) + " " + std::to_string(steps) + "\n";
        std::vector<std::byte> whole;
        for (const char letter : head) whole.push_back(static_cast<std::byte>(letter));
        whole.insert(whole.end(), state.begin(), state.end());
        moment();
        wick::write_state(checkpoint, whole);
        moment();
      }
      if (fault("again")) state_before = batches.state();
    }
  }
  log.line("end\n");
  return 0;
}

int train(const arguments& a) {
  moments_left = static_cast<std::int64_t>(a.kill_at);
  const std::string folder = a.data.string();
  std::atomic<bool> resumed = false;
  const auto source = wick::files(folder + "/*.bin");
  const auto rows =
      wick::read() | wick::map("parse", parse) |
      wick::map("read_again", [&folder](row r, wick::context& c) { return read_again(r, c, &folder); });
  const auto shard = wick::shard(a.rank, a.world);
  const auto batch = wick::array_batch(batch_size);
#ifdef WICK_TEST_CURL
  if (a.stream == "stored") {
    return train(
        a,
        wick::files("s3://" + a.data.filename().string() + "/*.bin") | wick::shuffle() | shard | rows | batch,
        resumed);
  }
#endif
  if (a.stream == "plain") return train(a, source | wick::shuffle() | shard | rows | batch, resumed);
  if (a.stream == "filtered") {
    return train(a, source | wick::shuffle() | shard | rows | wick::filter([&resumed](const row& r) {
                      return (resumed && fault("leak")) || (r[0] % 3 != 1 && r[2] % 8 != 0);
                    }) | batch,
                 resumed);
  }
  const auto three = [&](double ones, double threes) {
    const auto numbered = [&](const char* pattern) {
      return wick::files(folder + "/" + pattern) | wick::shuffle();
    };
    return wick::mix(wick::mix_until::all_exhausted,
                     wick::weighted_source{numbered("[01]*.bin"), ones, "ones"},
                     wick::weighted_source{numbered("2*.bin"), 1, "twos"},
                     wick::weighted_source{numbered("[3-9]*.bin"), threes, "threes"}) |
           shard | rows | batch;
  };
  if (a.stream == "mixed") return train(a, three(3, 2), resumed);
  if (a.stream == "changing") return train<true>(a, three(2, 0), resumed);
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t i = 0; i < source.size(); ++i)
    lengths.push_back(text_length(fs::file_size(source.path(i))));
  const auto texts = wick::read() | wick::map("parse", parse_text) |
                     wick::map("read_again", [&folder](text t, wick::context& c) {
                       return read_text_again(std::move(t), c, &folder);
                     });
  if (a.stream == "bucketed") {
    return train(a,
                 source | wick::shuffle() |
                     wick::bucket({.tokens = 4800, .multiple = 12, .lengths = lengths}) | shard | texts |
                     wick::array_batch(batch_size, {.ragged = wick::pad_with(no_text)}),
                 resumed);
  }
  if (a.stream == "packed") {
    return train(
        a,
        source | wick::shuffle() | shard | texts |
            wick::array_pack(pack_rows, row_length, {.pad = wick::pad_with(no_text), .lengths = lengths}),
        resumed);
  }
  throw std::runtime_error("no stream is called " + a.stream);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 12) {
    std::fprintf(stderr,
                 "%s: STREAM DATA RUN ATTEMPT RANK WORLD WORKERS PREFETCH EVERY EPOCHS KILL_AT; see "
                 "tests/kill/kill.py\n",
                 argv[0]);
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  try {
    return train({argv[1], argv[2], argv[3], number(4), number(5), number(6), number(7), number(8), number(9),
                  number(10), number(11)});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wick_resume_train, rank %s of %s: %s\n", argv[5], argv[6], e.what());
    return 1;
  }
}

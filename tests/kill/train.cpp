// A training that can be killed at any moment: one process a rank. It reads real files, writes down each
// batch's samples before it takes the next one, and now and then a checkpoint. tests/kill/kill.py starts
// it, kills it, and checks what was written down.
//
//   wick_resume_train DATA RUN ATTEMPT RANK WORLD WORKERS PREFETCH EVERY EPOCHS KILL_AT
//
// DATA/*.bin are the samples. RUN/checkpoint is replaced every EVERY steps by rank 0, when all ranks have
// written that step down: "ATTEMPT STEPS\n", how many steps of which attempt count, and the loader's state.
// RUN/ATTEMPT.RANK.WORLD.log has "from ATTEMPT STEPS" (of the checkpoint that it began from), then a line a
// step: its epoch and the samples, and a dot when the line is whole. At the KILL_AT-th of the moments that
// are counted here it kills itself; 0: never.
//
// WICK_RESUME_FAULT makes it do wrong, to see that it is found: late, again, order, draw.
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

namespace {

namespace fs = std::filesystem;
using row = std::array<std::int64_t, 3>;  // its number, its contents, what was drawn for it

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
  r[1] = static_cast<std::int64_t>(wick::fingerprint_hash().add(content.data(), content.size()).value() >> 1);
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

struct arguments {
  fs::path data, run;
  std::uint64_t attempt, rank, world, workers, prefetch, every, epochs, kill_at;
};

int train(const arguments& a) {
  moments_left = static_cast<std::int64_t>(a.kill_at);
  const std::string folder = a.data.string();
  wick::loader batches(
      wick::files(folder + "/*.bin") | wick::shuffle() | wick::shard(a.rank, a.world) | wick::read() |
          wick::map("parse", parse) |
          wick::map("read_again", [&folder](row r, wick::context& c) { return read_again(r, c, &folder); }) |
          wick::array_batch(24),
      {.seed = 2024, .workers = a.workers, .prefetch = a.prefetch});

  const std::string name =
      std::to_string(a.attempt) + "." + std::to_string(a.rank) + "." + std::to_string(a.world);
  log_file log(a.run / (name + ".log"));
  barrier all(a.run / ("barrier." + std::to_string(a.attempt)), static_cast<std::uint32_t>(a.world));
  const fs::path checkpoint = a.run / "checkpoint";
  bool resumed = false;
  if (fs::exists(checkpoint)) {
    const std::vector<std::byte> saved = wick::read_state(checkpoint);
    const std::string_view text(reinterpret_cast<const char*>(saved.data()), saved.size());
    const std::size_t head = text.find('\n') + 1;
    batches.load_state(std::span(saved).subspan(head));
    log.line("from " + std::string(text.substr(0, head)));
    resumed = true;
  } else {
    log.line("from nothing\n");
  }

  std::uint64_t steps = 0;
  bool late = resumed && fault("late");
  std::vector<std::byte> state_before = batches.state();
  for (std::uint64_t epoch = batches.current_epoch(); epoch < a.epochs; ++epoch) {
    batches.epoch(epoch);
    if (std::exchange(late, false)) (void)batches.next();
    while (const auto batch = batches.next()) {
      std::vector<row> rows(static_cast<std::size_t>(batch->extents()[0]));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t f = 0; f < 3; ++f) rows[i][f] = batch->as<std::int64_t>()[i * 3 + f];
      }
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 11) {
    std::fprintf(
        stderr,
        "%s: DATA RUN ATTEMPT RANK WORLD WORKERS PREFETCH EVERY EPOCHS KILL_AT; see tests/kill/kill.py\n",
        argv[0]);
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  try {
    return train({argv[1], argv[2], number(3), number(4), number(5), number(6), number(7), number(8),
                  number(9), number(10)});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wick_resume_train, rank %s of %s: %s\n", argv[4], argv[5], e.what());
    return 1;
  }
}

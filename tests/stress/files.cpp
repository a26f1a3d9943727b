// Loaders over real files in bad weather: a small memory bound, few descriptors, files and shards that are
// replaced, rewritten, cut and removed while they are read, disks that are full now and then, signals all the
// time.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/own_mounts.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include "world.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/executor.hpp>
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/resume/state_file.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/tar.hpp>

namespace wick_stress {
namespace {

namespace fs = std::filesystem;
using wick::task;
using namespace std::chrono_literals;

// ---- what lies in the files ----

/// Its size, its id, its version, and bytes that follow from these.
std::string content_of(std::uint64_t id, std::uint64_t version, std::size_t size) {
  std::string out(std::max<std::size_t>(size, 24), '\0');
  const std::uint64_t head[3] = {out.size(), id, version};
  std::memcpy(out.data(), head, sizeof head);
  dice bytes(id * 1'000'003 + version);
  for (std::size_t i = sizeof head; i < out.size(); i += 8) {
    const std::uint64_t some = bytes.next();
    std::memcpy(out.data() + i, &some, std::min<std::size_t>(8, out.size() - i));
  }
  return out;
}

struct label {
  std::uint64_t id = ~std::uint64_t{0}, version = 0;
};
/// What the bytes say they are; nothing when they are not the whole of it.
std::optional<label> label_of(std::string_view bytes) {
  std::uint64_t head[3];
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(head, bytes.data(), sizeof head);
  if (head[0] != bytes.size() || bytes != content_of(head[1], head[2], bytes.size())) return std::nullopt;
  return label{head[1], head[2]};
}

// ---- the weather ----

/// Does something again and again on a thread of its own, at random intervals, until it is dropped.
class repeatedly {
 public:
  repeatedly(dice random, int most_microseconds, std::function<void(dice&)> what)
      : thread_([this, random, most_microseconds, what = std::move(what)]() mutable {
          std::unique_lock lock(mutex_);
          while (!over_) {
            const auto pause = std::chrono::microseconds(random.between(10, most_microseconds));
            if (changed_.wait_for(lock, pause, [&] { return over_; })) return;
            what(random);
          }
        }) {}
  ~repeatedly() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

std::atomic<std::uint64_t> signals_on_our_threads{0}, signals{0};
extern "C" void on_signal(int) {
  const int before = errno;
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  signals.fetch_add(1, std::memory_order_relaxed);
  if (std::strncmp(name, "wick-", 5) == 0) signals_on_our_threads.fetch_add(1, std::memory_order_relaxed);
  errno = before;
}

/// SIGUSR1 to the whole process.
class signal_rain {
 public:
  explicit signal_rain(dice random) {
    struct sigaction how = {};
    how.sa_handler = on_signal;  // without SA_RESTART: calls are interrupted
    ::sigaction(SIGUSR1, &how, &before_);
    rain_.emplace(random, 1500, [](dice&) { ::kill(::getpid(), SIGUSR1); });
  }
  ~signal_rain() {
    rain_.reset();
    // The last one may be on its way still, and no handler would catch it: what is ignored is dropped.
    ::signal(SIGUSR1, SIG_IGN);
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
  std::optional<repeatedly> rain_;
};

/// There are `most` descriptors more than are open now.
class few_descriptors {
 public:
  explicit few_descriptors(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    ::rlimit few = before_;
    few.rlim_cur = std::min(static_cast<rlim_t>(next) + most, before_.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  ::rlimit before_ = {};
};

/// Takes all descriptors that are left, now and then, and gives them back.
class hunger {
 public:
  explicit hunger(dice random)
      : taking_(std::in_place, random, 2000, [this](dice&) {
          if (!taken_.empty()) return give_back();
          since_ = std::chrono::steady_clock::now();
          for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
        }) {}
  /// Whether its thread was without a processor for so long that a read may have given up waiting.
  bool held_long() const noexcept { return long_; }
  ~hunger() {
    taking_.reset();
    give_back();
  }

 private:
  void give_back() {
    if (!taken_.empty() && std::chrono::steady_clock::now() - since_ > 200ms) long_ = true;
    for (const int fd : taken_) ::close(fd);
    taken_.clear();
  }
  std::vector<int> taken_;
  std::chrono::steady_clock::time_point since_{};
  std::atomic<bool> long_{false};
  std::optional<repeatedly> taking_;
};

std::size_t open_descriptors() {
  std::size_t n = 0;
  for (int fd = 0; fd < 1024; ++fd) n += ::fcntl(fd, F_GETFD) >= 0;
  return n;
}

void evict(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

/// Puts `content` at `path` at once; no reader sees a part of it.
void replace(const fs::path& path, const std::string& content) {
  fs::path next = path;
  next += ".next";
  {
    std::ofstream out(next, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out.flush()) return;
  }
  std::error_code ignored;
  fs::rename(next, path, ignored);
}

// ---- what stages do ----

/// Bytes where wick does not find them.
class document {
 public:
  explicit document(wick::bytes b) : text_(std::make_shared<wick::bytes>(std::move(b))) {}
  std::string_view text() const { return text_->text(); }

 private:
  std::shared_ptr<wick::bytes> text_;
};

struct scene {
  world* w;
  std::vector<fs::path> paths = {};
  wick::async_semaphore lock{1};
  std::mutex mutex = {};
  std::vector<wick::bytes> kept = {};  // without an end, as far as the loader can know
};

struct reads_again {
  scene* s;
  bool locked;
  task<document> operator()(wick::bytes first, wick::context& c) const {
    return run(s, locked, std::move(first), &c);
  }
  static task<document> run(scene* s, bool locked, wick::bytes first, wick::context* c) {
    const live here(s->w->alive);
    wick::async_semaphore::permits key;
    if (locked) {
      auto locking = s->lock.acquire(*c);
      key = co_await locking;
    }
    const fs::path& other = s->paths[c->random().below(s->paths.size())];
    auto reading = wick::read()(wick::ext::file_range{other.c_str()}, *c);
    try {
      wick::bytes second = co_await reading;
      s->w->expect(label_of(second.text()).has_value(), "a file that was read again is whole", other,
                   second.size());
      if (c->random().below(8) == 0) {
        const std::lock_guard lock(s->mutex);
        s->kept.push_back(std::move(second));
      }
    } catch (const wick::error&) {  // it was taken away, or is a pipe just now
    }
    co_return document(std::move(first));
  }
};

wick::loader_options draw_options(world& w, std::uint64_t seed) {
  static constexpr std::size_t bounds[] = {1, 20'000, std::size_t{1} << 20};
  static constexpr std::optional<std::size_t> in_flight[] = {{}, 1, 100}, prefetch[] = {{}, 1, 2, 3};
  return {.seed = seed,
          .workers = w.workers(),
          .io_threads = static_cast<std::size_t>(w.random.between(1, 6)),
          .prefetch = prefetch[w.random.below(4)],
          .memory = bounds[w.random.below(3)],
          .in_flight = in_flight[w.random.below(3)],
          .prefetch_next_epoch = w.random.one_in(2)};
}

std::size_t draw_size(dice& random) {
  if (random.one_in(60)) return 1'500'000;  // more than the bound
  return random.below(random.one_in(4) ? 60'000 : 2'000);
}

/// Takes single samples to the end of the epoch, or `most`; how many were given or reported as failed.
template <class Loader, class Take>
std::uint64_t take_singles(Loader& l, std::uint64_t most, Take&& given) {
  std::uint64_t n = 0;
  for (; n < most; ++n) {
    try {
      auto one = l.next();
      if (!one) return n;
      given(*one);
    } catch (const wick::sample_error&) {
    }
  }
  return n;
}

// ---- files ----

/// Files by their paths: replaced as a whole, removed, in their place a pipe, a folder, a link to itself.
void files(world& w) {
  const wick_test::temp_dir dir;
  scene s{&w};
  std::vector<std::size_t> sizes;
  const std::size_t count = w.random.below(60) + 20;
  for (std::size_t i = 0; i < count; ++i) {
    sizes.push_back(draw_size(w.random));
    s.paths.push_back(dir.write("f" + std::to_string(i), content_of(i, 0, sizes[i])));
    if (w.random.one_in(2)) evict(s.paths.back());
  }
  const bool again = w.random.one_in(2), locked = w.random.one_in(2), changing = !w.random.one_in(3);
  const std::uint64_t seed = w.random.next();
  const std::size_t descriptors = open_descriptors();
  {
    const few_descriptors few(w.random.below(40) + 1);
    const signal_rain rain(w.random.fork());
    std::optional<hunger> hungry;
    if (w.random.one_in(2)) hungry.emplace(w.random.fork());
    std::optional<repeatedly> changes;
    if (changing) {
      changes.emplace(w.random.fork(), 3000, [&](dice& random) {
        const std::size_t i = random.below(count);
        std::error_code ignored;
        switch (random.below(8)) {
          case 0:
            fs::remove_all(s.paths[i], ignored);
            break;
          case 1:
            fs::remove_all(s.paths[i], ignored);
            (void)::mkfifo(s.paths[i].c_str(), 0600);
            break;
          case 2:
            fs::remove_all(s.paths[i], ignored);
            fs::create_directory(s.paths[i], ignored);
            break;
          case 3:
            fs::remove_all(s.paths[i], ignored);
            fs::create_symlink(s.paths[i].filename(), s.paths[i], ignored);
            break;
          default:
            if (!fs::is_regular_file(fs::symlink_status(s.paths[i], ignored)))
              fs::remove_all(s.paths[i], ignored);
            replace(s.paths[i], content_of(i, random.below(1000), sizes[i]));
            if (random.one_in(2)) evict(s.paths[i]);
        }
      });
    }
    const auto options = draw_options(w, seed);
    const auto check = [&](const document& d) {
      const auto found = label_of(d.text());
      w.expect(found && found->id < count, "the bytes of a sample are a whole file of the set",
               d.text().size());
      return found ? found->id : 0;
    };
    const auto run = [&](auto&& pipeline) {
      wick::loader l(std::move(pipeline), options);
      for (std::uint64_t epoch = 0; epoch < w.random.below(3) + 1; ++epoch) {
        std::vector<int> seen(count);
        std::uint64_t good = 0;
        l.epoch(epoch);
        const std::uint64_t most = w.random.one_in(4) ? w.random.below(count) : count + 1;
        const std::uint64_t n = take_singles(l, most, [&](const document& d) {
          ++seen[check(d)];
          ++good;
        });
        w.expect(n == std::min<std::uint64_t>(most, count), "each sample is given, or told to have failed", n,
                 most, count);
        for (std::size_t i = 0; i < count; ++i) w.expect(seen[i] <= 1, "no sample twice", i, seen[i]);
        w.expect(changing || good == n || (hungry && hungry->held_long()), "no file that stays fails", good,
                 n, l.failure_log().total());
      }
    };
    if (again)
      run(wick::files(s.paths) | wick::shuffle() | wick::read() |
          wick::map("again", reads_again{&s, locked}));
    else
      run(wick::files(s.paths) | wick::shuffle() | wick::read() |
          [](wick::bytes b) { return document(std::move(b)); });
  }
  w.expect(open_descriptors() == descriptors, "all descriptors are closed", open_descriptors(), descriptors);
  w.expect(signals_on_our_threads.load() == 0, "no handler runs on a thread of wick's",
           signals_on_our_threads.load());
}

// ---- shards ----

struct shard_set {
  std::vector<fs::path> paths;
  std::vector<std::vector<std::pair<std::uint64_t, std::size_t>>> members;  // id and size

  std::string bytes(std::size_t shard, std::uint64_t version) const {
    wick_test::tar_writer writer;
    for (const auto& [id, size] : members[shard]) {
      writer.add("k" + std::to_string(id) + ".bin", content_of(id, version, size));
      writer.add("k" + std::to_string(id) + ".txt", std::to_string(id));
    }
    return writer.done();
  }
};

/// Shards are replaced, overwritten in place, or cut: what is given is as in the index, all else is an error.
void shards(world& w) {
  const wick_test::temp_dir dir;
  shard_set set;
  std::uint64_t count = 0;
  const bool big = w.random.one_in(2);  // so that a read takes long enough for others to write meanwhile
  for (std::uint64_t shard = 0, n = w.random.below(big ? 6 : 30) + 1; shard < n; ++shard) {
    auto& members = set.members.emplace_back();
    for (std::uint64_t m = w.random.below(20) + 1; m > 0; --m)
      members.emplace_back(count++, w.random.below(big ? 200'000 : 9000));
    set.paths.push_back(dir.write("s" + std::to_string(1000 + shard) + ".tar", set.bytes(shard, 0)));
    if (w.random.one_in(2)) evict(set.paths.back());
  }
  const std::size_t descriptors = open_descriptors();
  const bool changing = !w.random.one_in(3);
  const auto policy = w.random.below(3);
  {
    const few_descriptors few(64);
    const signal_rain rain(w.random.fork());
    auto options = draw_options(w, w.random.next());
    if (policy == 1) options.on_error = wick::on_error::skip;
    if (policy == 2)
      options.on_error = wick::on_error(wick::on_error::retry(1).then(wick::on_error::replace));
    // The long one last: nothing is read of the shard after it.
    wick::loader l(
        wick::tar((dir / "s*.tar").string(), {"txt", "bin"}) | wick::shuffle() | wick::read() |
            [&w](const wick::record<wick::bytes>& r) {
              const auto found = label_of(r[1].text());
              w.expect(found.has_value() && found->version == 0 && r[0].text() == std::to_string(found->id),
                       "what is given is what was indexed", std::string(r.key), r[1].size(),
                       found ? found->version : ~std::uint64_t{0});
              return static_cast<std::int64_t>(found ? found->id : 0);
            } |
            wick::array_batch(7),
        options);
    std::this_thread::sleep_for(
        20ms);  // two changes of a file in one tick of the kernel's clock look the same
    std::optional<repeatedly> changes;
    if (changing) {
      changes.emplace(w.random.fork(), big ? 5000 : 20'000, [&](dice& random) {
        const std::size_t i = random.below(set.paths.size());
        std::error_code ignored;
        if (big) {  // reads of what is in no cache: the slow way
          for (const fs::path& path : set.paths) evict(path);
          if (!random.one_in(4)) return;
        }
        const std::string other = set.bytes(i, 1 + random.below(100));
        switch (big ? 1 : random.below(3)) {
          case 0:
            replace(set.paths[i], other);
            break;
          case 1: {
            const int fd = ::open(set.paths[i].c_str(), O_WRONLY | O_CLOEXEC);
            if (fd < 0) break;
            for (std::size_t at = 0; at < other.size();) {
              const ::ssize_t n =
                  ::pwrite(fd, other.data() + at, std::min<std::size_t>(4096, other.size() - at),
                           static_cast<::off_t>(at));
              if (n <= 0) break;
              at += static_cast<std::size_t>(n);
            }
            ::close(fd);
            break;
          }
          default:
            fs::resize_file(set.paths[i], random.below(other.size()), ignored);
        }
      });
    }
    for (std::uint64_t epoch = 0; epoch < w.random.below(3) + 1; ++epoch) {
      const std::uint64_t before = l.failure_log().total();
      std::vector<int> seen(count);
      std::uint64_t rows = 0, lost = 0, given = 0;
      l.epoch(epoch);
      for (;;) {
        try {
          const auto batch = l.next();
          if (!batch) break;
          ++given;
          rows += static_cast<std::uint64_t>(batch->extents()[0]);
          for (std::int64_t i = 0; i < batch->extents()[0]; ++i)
            ++seen[static_cast<std::size_t>(batch->template as<std::int64_t>()[i])];
        } catch (const wick::sample_error&) {
          ++lost;
        }
      }
      const std::uint64_t told = l.failure_log().total() - before;
      w.expect(given + lost == l.batches(), "each batch is given or has failed", given, lost, l.batches());
      w.expect(rows + 7 * lost + (policy == 1 ? told : 0) >= count, "each sample is given or told", rows,
               lost, told, count);
      for (std::size_t i = 0; i < count && policy != 2; ++i)
        w.expect(seen[i] <= 1, "no sample twice", i, seen[i]);
      w.expect(changing || (told == 0 && rows == count), "nothing fails that stays", rows, told, count);
    }
  }
  w.expect(open_descriptors() == descriptors, "all descriptors are closed", open_descriptors(), descriptors);
}

// ---- a full disk ----

/// How many lines of the failure log could not be written, by the loader's own words.
std::uint64_t lines_lost(const wick::report& r) {
  constexpr std::string_view before = "failure_log_file: ";
  for (const std::string& note : r.notes) {
    if (const auto at = note.find(before); at != std::string::npos)
      return std::stoull(note.substr(at + before.size()));
  }
  return 0;
}

/// State and failure log on a disk that is full now and then: the state is always a whole one, the failure
/// log has whole lines, and one for each failure but those that are said to be missing.
void full_disk_in(world& w, const fs::path& at) {
  const std::size_t count = 150;
  const auto make = [&](wick::executor& ex) {
    return wick::loader(wick::from(wick::in_memory(std::vector<std::int64_t>(count, 1))) | wick::shuffle() |
                            wick::map("choosy",
                                      [](std::int64_t, wick::context& c) -> std::int64_t {
                                        if (c.index() % 5 == 2)
                                          throw wick::error(std::string(c.index() % 3000, 'x') + " is bad");
                                        return static_cast<std::int64_t>(c.index());
                                      }) |
                            wick::array_batch(4),
                        {.seed = 5,
                         .executor = &ex,
                         .on_error = wick::on_error::skip,
                         .failure_log_file = at / "failures.jsonl"});
  };
  std::uint64_t written = 0, refused = 0, told = 0, lost = 0;
  {
    const signal_rain rain(w.random.fork());
    const repeatedly filling(w.random.fork(), 4000, [&](dice& random) {
      std::error_code ignored;
      const fs::path filler = at / ("filler" + std::to_string(random.below(3)));
      if (random.one_in(2))
        fs::remove(filler, ignored);
      else
        std::ofstream(filler, std::ios::binary) << std::string(random.below(60'000), 'f');
    });
    std::optional<std::vector<std::byte>> last;
    for (int life = 0; life < 4; ++life) {
      wick::executor ex(w.engine());
      auto l = make(ex);
      if (last) {
        try {
          const std::vector<std::byte> found = wick::read_state(at / "state");
          l.load_state(found);
        } catch (const std::exception& e) {
          w.expect(false, "a state that was written can be loaded", e.what());
        }
      }
      for (std::uint64_t n = w.random.below(30) + 1; n > 0; --n) {
        if (!l.next()) l.epoch(l.current_epoch() + 1);
        const std::vector<std::byte> state = l.state();
        try {
          wick::write_state(at / "state", state);
          last = state;
          ++written;
        } catch (const wick::error&) {
          ++refused;
        }
        if (!last) continue;
        try {
          const std::vector<std::byte> found = wick::read_state(at / "state");
          w.expect(found == *last || found == state, "the state's file is the last one, whole", found.size());
        } catch (const std::exception& e) {
          w.expect(false, "the state's file can be read", e.what());
        }
      }
      told += l.failure_log().total();
      lost += lines_lost(l.report());
    }
  }
  std::ifstream in(at / "failures.jsonl", std::ios::binary);
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    w.expect(line.starts_with("{\"epoch\":") && line.ends_with("}") && !in.eof(),
             "a line of the failure log is whole", number, line.substr(0, 60), line.size());
  }
  w.expect(number + lost == told, "a failure has a line in the failure log, or is counted as missing there",
           number, lost, told);
  w.expect(written + refused > 0, "states were written", written, refused);
}
void full_disk(world& w) {
  const wick_test::temp_dir dir;
  fs::create_directory(dir / "small");
  bool done = false;
  wick_test::with_own_mounts([&] {
    if (!wick_test::mount_small(dir / "small", 128 << 10)) return false;
    full_disk_in(w, dir / "small");
    return done = true;
  });
  if (!done) full_disk_in(w, dir / "small");  // may not mount: a disk that is never full
}

}  // namespace

std::vector<scenario> file_scenarios() {
  return {{"files",
           "files that are replaced and removed while they are read, with little memory and few descriptors",
           files},
          {"shards", "tar shards that are replaced, overwritten and cut after they were indexed", shards},
          {"full_disk", "states and failure logs on a disk that is full now and then", full_disk}};
}

}  // namespace wick_stress

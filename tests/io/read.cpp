#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/evict.hpp"
#include "support/message_of.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/tar.hpp>

namespace wick_test::read_tests {

static_assert(wick::detail::stage_of<wick::detail::read_stage, wick::ext::stage_kind::sample_or_data>);

using wick_test::contains;
using wick_test::evict;

namespace {

/// Asks the kernel to forget a file, so that reading it has to wait.
std::string content_of(std::size_t i) {
  return std::string(100 + i * 37 % 5000, static_cast<char>('a' + i % 26));
}

}  // namespace

TEST_CASE("the bytes of a file are the file, cached or not, in a loader or by a plain call") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < 40; ++i) paths.push_back(dir.write("f" + std::to_string(i), content_of(i)));
  wick::loader l(wick::files(paths) | wick::read() | [](wick::bytes b) { return std::string(b.text()); },
                 {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch % 2 == 0) {
      for (const auto& p : paths) evict(p);
    }
    std::size_t i = 0;
    for (auto& text : l.epoch(epoch)) CHECK(text == content_of(i++));
    CHECK(i == 40);
  }
  wick::context plain({});
  auto operation = wick::read()(wick::ext::file_range{paths[3].c_str()}, plain);
  REQUIRE(operation.await_ready());
  CHECK(operation.await_resume().text() == content_of(3));
}

TEST_CASE("a missing file, a folder, and one that became shorter are errors with the path and the reason") {
  const wick_test::temp_dir dir;
  const auto error_of = [&](const std::filesystem::path& path) {
    wick::loader l(wick::files({path}) | wick::read(), {.workers = 1});
    return wick_test::message_of([&] { return l.next(); });
  };
  CHECK(contains(error_of(dir / "gone.jpg"), "gone.jpg: read: can't open it: No such file"));
  std::filesystem::create_directory(dir.path() / "folder");
  CHECK(contains(error_of(dir / "folder"), "folder: read: is a folder, not a file"));

  wick_test::tar_writer writer;
  writer.add("a.jpg", std::string(4000, 'x')).add("a.cls", "1");
  const auto shard = dir.write("shard.tar", writer.done());
  auto source = wick::tar(shard.string());
  std::filesystem::resize_file(shard, 2000);
  wick::loader l(std::move(source) | wick::read(), {.workers = 1});
  CHECK(contains(wick_test::message_of([&] { return l.next(); }),
                 "shard.tar: a: read: the file was changed since it was indexed", "has 2000)"));
}

TEST_CASE("a file that may not be opened says so") {
  if (::geteuid() == 0) return;  // root may open anything
  const wick_test::temp_dir dir;
  const auto path = dir.write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  wick::loader l(wick::files({path}) | wick::read(), {.workers = 1});
  CHECK(contains(wick_test::message_of([&] { return l.next(); }),
                 "secret: read: can't open it: Permission denied"));
}

TEST_CASE("the members of a record are read together, and only those that were asked for") {
  const wick_test::temp_dir dir;
  wick_test::tar_writer writer;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "k" + std::to_string(i);
    writer.add(key + ".jpg", std::string(10'000, 'j'))
        .add(key + ".json", "{\"i\": " + std::to_string(i) + "}");
    writer.add(key + ".txt", "text " + std::to_string(i));
  }
  const auto shard = dir.write("shard.tar", writer.done());
  for (const bool cold : {true, false}) {
    if (cold) evict(shard);
    wick::loader l(wick::tar(shard.string(), {"txt", "json"}) | wick::read() |
                       [](wick::record<wick::bytes> r) {
                         return std::string(r.at("json").text()) + std::string(r[0].text());
                       },
                   {.workers = 2, .prefetch_next_epoch = false});
    int i = 0;
    for (auto& text : l.epoch(0)) {
      CHECK(text == "{\"i\": " + std::to_string(i) + "}text " + std::to_string(i));
      ++i;
    }
    CHECK(i == 50);
    CHECK(l.peak_bytes_in_flight() < 50 * 100);
  }
}

TEST_CASE("each stage runs once a sample, and a failure is tried as often as was asked, cached or not") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < 300; ++i)
    paths.push_back(dir.write(std::to_string(i) + ".bin", std::string(100, static_cast<char>(i % 7))));
  std::atomic<int> runs{0}, tries{0};
  wick::loader l(wick::files(paths) | wick::shuffle() | wick::read() |
                     wick::map("count",
                               [&runs, &tries](wick::bytes b) {
                                 const auto value = static_cast<std::int64_t>(*b.data());
                                 if (value == 3) {
                                   ++tries;
                                   throw wick::error("three");
                                 }
                                 ++runs;
                                 return value;
                               }) |
                     wick::array_batch(16),
                 {.workers = 2,
                  .prefetch_next_epoch = false,
                  .on_error = wick::on_error(wick::on_error::retry(2).then(wick::on_error::skip))});
  for (std::uint64_t e = 0; e < 4; ++e) {  // the first is read by I/O threads, as are evicted files
    if (e == 2) {
      for (std::size_t i = 0; i < paths.size(); i += 2) evict(paths[i]);
    }
    runs = tries = 0;
    std::int64_t rows = 0;
    for (const auto& batch : l.epoch(e)) rows += batch.extents()[0];
    CHECK(rows == 300 - 43);
    CHECK(runs == 300 - 43);
    CHECK(tries == 3 * 43);
  }
}

TEST_CASE("what is read stays within the memory budget, and a file larger than it still passes") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < 200; ++i) {
    paths.push_back(dir.write("f" + std::to_string(i), std::string(i == 77 ? 9000 : 700, 'x')));
  }
  wick::loader l(wick::files(paths) | wick::shuffle() | wick::read() |
                     wick::map("wait",
                               [](wick::bytes b, wick::context& c) -> wick::task<wick::bytes> {
                                 co_await c.on()->schedule();
                                 co_return b;
                               }) |
                     [](wick::bytes b) { return static_cast<std::int64_t>(b.size()); } |
                     wick::array_batch(20),
                 {.workers = 4, .memory = 4096});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const auto& p : paths) evict(p);
    std::int64_t sum = 0;
    for (auto& sizes : l.epoch(epoch)) {
      for (std::int64_t i = 0; i < sizes.extents()[0]; ++i) sum += sizes.as<std::int64_t>()[i];
    }
    CHECK(sum == 199 * 700 + 9000);
  }
  CHECK(l.peak_bytes_in_flight() <= 9000);
}

TEST_CASE("bytes that wait in a group or for their turn don't hold the memory that others need") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < 100; ++i)
    paths.push_back(dir.write("f" + std::to_string(i), std::string(700, 'x')));
  const wick::loader_options small{.workers = 4, .memory = 1500};
  for (const bool cold : {true, false}) {
    if (cold) {
      for (const auto& p : paths) evict(p);
    }
    wick::loader singles(wick::files(paths) | wick::read(), small);
    std::size_t n = 0;
    for (auto& b : singles.epoch(0)) n += b.size();
    CHECK(n == 70'000);
    wick::loader groups(
        wick::files(paths) | wick::read() |
            [](wick::bytes b) {
              return wick::sample<wick::bytes>{std::move(b), 1};
            } |
            wick::group(50),
        small);
    n = 0;
    for (auto& group : groups.epoch(0)) {
      for (auto& s : group) n += s.data.size();
    }
    CHECK(n == 70'000);
  }
}

namespace {

/// A type that keeps bytes where wick does not find them.
class document {
 public:
  explicit document(wick::bytes b) : text_(std::make_shared<wick::bytes>(std::move(b))) {}
  std::size_t size() const { return text_->size(); }

 private:
  std::shared_ptr<wick::bytes> text_;
};

std::vector<std::filesystem::path> many_files(const wick_test::temp_dir& dir, std::size_t count,
                                              std::size_t size) {
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < count; ++i)
    paths.push_back(dir.write("f" + std::to_string(i), std::string(size, 'x')));
  return paths;
}

}  // namespace

TEST_CASE(
    "bytes hidden in a type of the user's hold no memory that others need, nor outlive the loader's bound") {
  const wick_test::temp_dir dir;
  const auto paths = many_files(dir, 64, 4096);
  std::vector<std::vector<document>> kept;
  for (const bool cold : {true, false}) {
    if (cold) {
      for (const auto& p : paths) evict(p);
    }
    wick::loader l(wick::files(paths) | wick::read() | [](wick::bytes b) { return document(std::move(b)); } |
                       wick::group(8),
                   {.workers = 2, .memory = 16 << 10});
    for (auto& group : l.epoch(0)) kept.push_back(std::move(group));
    CHECK(l.peak_bytes_in_flight() <= 16 << 10);
  }
  CHECK(kept.size() == 16);
  for (const auto& group : kept) {
    for (const document& d : group) CHECK(d.size() == 4096);
  }
}

TEST_CASE("bytes that a stage keeps without an end stop no other sample") {
  const wick_test::temp_dir dir;
  const auto paths = many_files(dir, 200, 700);
  std::mutex mutex;
  std::vector<wick::bytes> cache;
  {
    wick::loader l(wick::files(paths) | wick::read() |
                       [&](wick::bytes b) {
                         const auto size = static_cast<std::int64_t>(b.size());
                         std::lock_guard lock(mutex);
                         cache.push_back(std::move(b));
                         return size;
                       } |
                       wick::array_batch(20),
                   {.workers = 2, .memory = 1000, .prefetch_next_epoch = false});
    std::int64_t n = 0;
    for (auto& sizes : l.epoch(0)) n += sizes.extents()[0];
    CHECK(n == 200);
  }
  CHECK(cache.size() == 200);
}

TEST_CASE("a stage may read again while its sample holds bytes, whatever the memory bound") {
  const wick_test::temp_dir dir;
  const auto paths = many_files(dir, 100, 700);
  struct again {
    const std::vector<std::filesystem::path>* paths;
    wick::task<std::int64_t> operator()(wick::bytes first, wick::context& c) const {
      auto reading = wick::read()(wick::ext::file_range{(*paths)[(c.index() + 1) % 100].c_str()}, c);
      wick::bytes second = co_await reading;
      co_return static_cast<std::int64_t>(first.size() + second.size());
    }
  };
  for (const std::size_t memory : {1, 700, 1000, 3000}) {
    for (const auto& p : paths) evict(p);
    wick::loader l(
        wick::files(paths) | wick::read() | wick::map("again", again{&paths}) | wick::array_batch(10),
        {.workers = 2, .memory = memory});
    std::int64_t sum = 0;
    for (auto& sizes : l.epoch(0)) {
      for (std::int64_t i = 0; i < sizes.extents()[0]; ++i) sum += sizes.as<std::int64_t>()[i];
    }
    CHECK(sum == 100 * 1400);
  }
}

TEST_CASE("samples that wait for memory have no file open") {
  const wick_test::temp_dir dir;
  const auto paths = many_files(dir, 300, 60'000);
  for (const auto& p : paths) evict(p);
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  wick::loader l(wick::files(paths) | wick::read() |
                     [](wick::bytes b) { return static_cast<std::int64_t>(b.size()); } |
                     wick::array_batch(100),
                 {.workers = 2, .io_threads = 8, .memory = 100'000, .in_flight = 200});
  ::rlimit few = before;
  few.rlim_cur = 40;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::int64_t n = 0;
  const std::string problem = wick_test::message_of([&] {
    for (auto& sizes : l.epoch(0)) n += sizes.extents()[0];
  });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(problem == "");
  CHECK(n == 300);
}

TEST_CASE("reads that find no descriptor left wait for those of the other reads") {
  const wick_test::temp_dir dir;
  const auto paths = many_files(dir, 400, 3000);
  for (const auto& p : paths) evict(p);
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  wick::loader l(wick::files(paths) | wick::read() |
                     [](wick::bytes b) { return static_cast<std::int64_t>(b.size()); } |
                     wick::array_batch(100),
                 {.workers = 2, .io_threads = 16});
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  ::rlimit few = before;
  few.rlim_cur = static_cast<::rlim_t>(next) + 2;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::int64_t n = 0;
  const std::string problem = wick_test::message_of([&] {
    for (auto& sizes : l.epoch(0)) n += sizes.extents()[0];
  });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(problem == "");
  CHECK(n == 400);
}

TEST_CASE("a file larger than max_bytes is an error of its sample, and is not read") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths = {dir.write("a.jpg", "a"), dir.write("huge.jpg", ""),
                                              dir.write("b.jpg", "bb")};
  std::filesystem::resize_file(paths[1], std::uintmax_t{20} << 30);  // sparse
  for (const bool cold : {true, false}) {
    if (cold) evict(paths[1]);
    wick::loader l(wick::files(paths) | wick::read() |
                       [](wick::bytes b) { return static_cast<std::int64_t>(b.size()); } |
                       wick::array_batch(3),
                   {.workers = 1, .on_error = wick::on_error::skip});
    auto batch = l.next();
    REQUIRE(batch);
    CHECK(batch->extents()[0] == 2);
    REQUIRE(l.failure_log().entries().size() == 1);
    CHECK(contains(l.failure_log().entries()[0].text, "has 21474836480 bytes", "1073741824", "max_bytes"));
    CHECK(l.peak_bytes_in_flight() < 100);
  }
  wick::loader l(wick::files(paths) | wick::read({.max_bytes = 1}), {.workers = 1});
  CHECK(l.next()->size() == 1);
  CHECK(contains(wick_test::message_of([&] { return l.next(); }), "huge.jpg: read: has 21474836480 bytes"));
  CHECK(
      contains(wick_test::message_of([&] { return l.next(); }), "b.jpg: read: has 2 bytes, more than the 1"));
}

TEST_CASE("the members of a record count together for max_bytes") {
  const wick_test::temp_dir dir;
  wick_test::tar_writer writer;
  writer.add("a.jpg", std::string(600, 'x')).add("a.cls", std::string(500, 'y'));
  const auto shard = dir.write("shard.tar", writer.done());
  for (const bool cold : {true, false}) {
    if (cold) evict(shard);
    wick::loader l(wick::tar(shard.string(), {"jpg", "cls"}) | wick::read({.max_bytes = 1000}),
                   {.workers = 1});
    CHECK(contains(wick_test::message_of([&] { return l.next(); }),
                   "a: read: has 1100 bytes, more than the 1000"));
    wick::loader enough(wick::tar(shard.string(), {"jpg", "cls"}) | wick::read({.max_bytes = 1100}),
                        {.workers = 1});
    CHECK(enough.next());
  }
}

TEST_CASE("a loader that is destroyed while it reads leaves no descriptor open") {
  const wick_test::temp_dir dir;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < 100; ++i) paths.push_back(dir.write("f" + std::to_string(i), content_of(i)));
  const auto open_now = [] {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
  };
  const std::size_t before = open_now();
  for (int round = 0; round < 20; ++round) {
    for (const auto& p : paths) evict(p);
    wick::loader l(wick::files(paths) | wick::read(), {.workers = 2});
    l.epoch(0);
    if (round % 2 != 0) (void)l.next();
  }
  CHECK(open_now() == before);
}

namespace {

/// A value of a store that is no file: what a source gives when its samples read themselves.
struct stored_text {
  using read_type = std::string;
  const std::vector<std::string>* from;
  std::uint64_t number;
  wick::task<std::string> read(wick::context& c, const wick::read_options& options) const {
    return look(*this, &c, options);
  }
  static wick::task<std::string> look(stored_text what, wick::context* c, wick::read_options options) {
    const std::string& text = (*what.from)[static_cast<std::size_t>(what.number)];
    wick::detail::check_size(text.size(), options);
    auto room = c->reserve(text.size());
    co_await room;
    if (text == "bad") throw wick::error("is damaged");
    auto copying = c->run_blocking([&text] { return text; });
    std::string out = co_await copying;
    co_return out;
  }
};
static_assert(wick::detail::reads_itself<stored_text>);

struct store {
  std::vector<std::string> texts;
  std::uint64_t size() const { return texts.size(); }
  stored_text at(std::uint64_t i) const { return {&texts, i}; }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(i); }
};

}  // namespace

TEST_CASE("an item that reads itself is read alone, in a sample, in a tuple, and by a plain call") {
  const store texts{{"zero", "one", "two", "three"}};
  const store others{{"a", "b", "c", "d"}};
  const auto joined = [](auto&& pipeline) {
    wick::loader l(std::move(pipeline), {.workers = 2, .memory = 6});
    std::string all;
    for (auto& text : l.epoch(0)) all += text + " ";
    return all;
  };
  CHECK(joined(texts | wick::read()) == "zero one two three ");
  CHECK(joined(wick::zip(texts, wick::in_memory(std::vector<int>{5, 6, 7, 8})) | wick::read() |
               [](wick::sample<std::string, int> s) { return s.data + std::to_string(s.target); }) ==
        "zero5 one6 two7 three8 ");
  CHECK(joined(wick::zip(wick::in_memory(std::vector<int>{5, 6, 7, 8}), texts, others) | wick::read() |
               [](std::tuple<int, std::string, std::string> t) {
                 return std::to_string(std::get<0>(t)) + std::get<1>(t) + std::get<2>(t);
               }) == "5zeroa 6oneb 7twoc 8threed ");
  wick::context plain({});
  auto reading = wick::read()(texts.at(2), plain);
  CHECK(wick::ext::sync_wait(std::move(reading)) == "two");
}

TEST_CASE("an item that reads itself fails with its key and the stage, and knows the bound of read()") {
  const store texts{{"good", "bad", "too long"}};
  wick::loader l(texts | wick::read({.max_bytes = 5}), {.workers = 1});
  CHECK(*l.next() == "good");
  CHECK(wick_test::message_of([&] { return l.next(); }) == "text 1: read: is damaged");
  CHECK(contains(wick_test::message_of([&] { return l.next(); }),
                 "text 2: read: has 8 bytes, more than the 5"));
}

}  // namespace wick_test::read_tests

// Batches are the same whatever a cache on disk keeps, whichever process has written it, and whatever became
// of its files.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cached.hpp"
#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/tar_writer.hpp"

namespace wick_test::cache_on_disk_tests {

namespace fs = std::filesystem;

namespace {

std::string notes_of(auto& loader) {
  std::string all;
  for (const std::string& note : loader.report().notes) all += note + "\n";
  return all;
}

/// The files of a cache whose names begin so.
std::vector<fs::path> files_of(const fs::path& cache, const std::string& name) {
  std::vector<fs::path> out;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(cache)) {
    if (e.is_regular_file() && e.path().filename().string().starts_with(name)) out.push_back(e.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::uint64_t size_of_folder(const fs::path& folder) {
  std::uint64_t all = 0;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder)) {
    if (e.is_regular_file()) all += e.file_size();
  }
  return all;
}

void overwrite(const fs::path& file, std::uint64_t offset, const std::string& bytes) {
  std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
  f.seekp(static_cast<std::streamoff>(offset));
  f.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(f.good());
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const all = reinterpret_cast<const std::byte*>(text.data());
  return {all, all + text.size()};
}

auto numbers_kept(const temp_dir& at, const counted& before, const wick::cache_on_disk_options& o = {}) {
  return numbers{200} | wick::shuffle() | before | wick::cache_on_disk(at.path().string(), o) |
         wick::map("draw", add_random) | wick::array_batch(16);
}

}  // namespace

TEST_CASE("what stands before it runs once a sample, for later epochs, loaders and runs") {
  const temp_dir at;
  const counted before, again;
  std::vector<batches> epochs;
  {
    wick::loader l(numbers_kept(at, before), {.seed = 2, .workers = 3, .prefetch_next_epoch = false});
    for (std::uint64_t e = 0; e < 3; ++e) epochs.push_back(targets_of(l, e));
    CHECK(*before.runs == 200);
    const auto report = l.report();
    CHECK(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
      return contains(note, "cache_on_disk keeps 200 of 200 samples", "67 % of 600 samples came from it");
    }));
    CHECK(std::any_of(report.stages.begin(), report.stages.end(), [](const auto& stage) {
      return stage.name == "cache_on_disk" && stage.count == 600;  // no sample twice
    }));
  }
  CHECK(epochs[0] != epochs[1]);
  wick::loader l(numbers_kept(at, again), {.seed = 2, .workers = 2});
  for (std::uint64_t e = 0; e < 3; ++e) CHECK(targets_of(l, e) == epochs[e]);
  CHECK(*again.runs == 0);
}

TEST_CASE("two loaders share a folder: what one has made the other reads") {
  const temp_dir at;
  const counted first, second;
  wick::loader a(numbers_kept(at, first), {.seed = 2, .workers = 2, .prefetch_next_epoch = false});
  wick::loader b(numbers_kept(at, second), {.seed = 3, .workers = 2, .prefetch_next_epoch = false});
  targets_of(a, 0);
  targets_of(b, 0);
  CHECK(*first.runs == 200);
  CHECK(*second.runs == 0);
  CHECK(files_of(at.path(), "segment-").size() == 1);
}

TEST_CASE("pictures come out the same whatever is kept, at any number of workers, and after any stage") {
  const folder of(24);
  const auto same = [](const auto& make) {
    const temp_dir none;
    const auto expected = prints(make(none.path().string(), nothing), {.workers = 1});
    CHECK(expected[0] != expected[1]);
    for (const std::optional<std::size_t> room : {std::optional<std::size_t>(), {40'000}}) {
      const temp_dir at;
      for (const std::size_t workers : {1, 2, 4})
        CHECK(prints(make(at.path().string(), room), {.workers = workers}) == expected);
    }
  };
  SUBCASE("after read()") {
    same([&](const std::string& at, std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::cache_on_disk(at, {.bytes = room}) |
             wick::decode() | wick::random_resized_crop(16) | wick::random_horizontal_flip() |
             wick::array_batch(5);
    });
  }
  SUBCASE("after decode()") {
    same([&](const std::string& at, std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::decode() |
             wick::cache_on_disk(at, {.bytes = room}) | wick::random_resized_crop(16) |
             wick::color_jitter(0.4, 0.4) | wick::array_batch(5);
    });
  }
  SUBCASE("after a resize, before mixup") {
    same([&](const std::string& at, std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::decode() | wick::resize({.max_size = 24}) |
             wick::cache_on_disk(at, {.bytes = room}) | wick::random_resized_crop(12) | wick::mixup(1) |
             wick::array_batch(5);
    });
  }
  SUBCASE("as the cache in memory") {
    const temp_dir at;
    const auto make = [&](auto cache) {
      return of.source() | wick::shuffle() | wick::read() | wick::decode() | cache |
             wick::random_resized_crop(16) | wick::array_batch(5);
    };
    CHECK(prints(make(wick::cache_on_disk(at.path().string())), {}) ==
          prints(make(wick::cache_in_memory()), {}));
  }
}

TEST_CASE("a file that was changed is made again, and the report says so") {
  const folder of(12);
  const temp_dir at;
  const auto make = [&] {
    return of.source() | wick::read() | wick::decode() | wick::cache_on_disk(at.path().string()) |
           wick::center_crop(16) | wick::array_batch(4);
  };
  const auto first = prints(make(), {.workers = 2}, 1);
  const std::string changed = of.dir.path().string() + "/a/105.png";
  const auto before = fs::last_write_time(changed);
  write_file(changed, encode_png(photo(44, 33, 3, 99)));
  fs::last_write_time(changed, before + std::chrono::seconds(1));
  wick::loader l(make(),
                 {.seed = 5, .workers = 2, .prefetch_next_epoch = false, .content_fingerprint = true});
  for (auto& batch : l.epoch(0)) static_cast<void>(batch);
  CHECK(l.fingerprint(0).value != first[0]);
  CHECK(contains(notes_of(l), "1 were made of files that have changed", "92 % of 12 samples"));
  // The same by refresh(), in a loader that has checked the file already.
  fs::last_write_time(changed, before + std::chrono::seconds(2));
  l.refresh();
  for (auto& batch : l.epoch(1)) static_cast<void>(batch);
  CHECK(contains(notes_of(l), "1 were made of files that have changed"));
}

TEST_CASE("what a sample is made of is told apart, whatever its type") {
  struct said {
    float a[9];
    void add_origin_to(wick::ext::fingerprint_hash& h) const { h.add(a, sizeof a); }
  };
  const auto differ = [](const auto& a, const auto& b) {
    return wick::detail::origin_of(a) != wick::detail::origin_of(b) &&
           wick::detail::origin_of(a) == wick::detail::origin_of(a);
  };
  using numbers = std::vector<std::int64_t>;
  CHECK(differ(fs::path("a"), fs::path("b")));
  CHECK(differ(fs::path(), fs::path("/")));
  CHECK(differ(std::pair{numbers{1, 2}, numbers{3}}, std::pair{numbers{1}, numbers{2, 3}}));
  CHECK(differ(std::vector<numbers>{{1}, {}}, std::vector<numbers>{{}, {1}}));
  CHECK(differ(std::optional<int>(), std::optional<int>(0)));
  CHECK(differ(said{{1}}, said{{2}}));

  // Paths as samples, read by a callable.
  const temp_dir at;
  const counted runs;
  for (const int round : {0, 1}) {
    wick::loader l(wick::in_memory(std::vector<fs::path>{"a", "bc"}) |
                       [](const fs::path& p) { return static_cast<std::int64_t>(p.string().size()); } | runs |
                       wick::cache_on_disk(at.path().string()) | wick::array_batch(2),
                   {.workers = 1, .prefetch_next_epoch = false});
    REQUIRE(l.next());
    CHECK(*runs.runs == 2);
    CAPTURE(round);
  }
}

TEST_CASE("a folder is the same however its path is written") {
  const folder of(6);
  const temp_dir at;
  const std::string path = of.dir.path().string(), here = fs::current_path().string();
  const auto notes = [&](const std::string& spelled) {
    wick::loader l(wick::image_folder(spelled) | wick::read() | wick::decode() |
                       wick::cache_on_disk(at.path().string()) | wick::center_crop(16) | wick::array_batch(3),
                   {.workers = 1, .prefetch_next_epoch = false});
    for (auto& batch : l.epoch(0)) static_cast<void>(batch);
    return notes_of(l);
  };
  notes(path);
  for (const std::string& spelled :
       {path + "/", "/." + path + "//.", fs::relative(path, here).string(), path}) {
    const std::string said = notes(spelled);
    CHECK(contains(said, "100 % of 6 samples"));
    CHECK(!contains(said, "changed"));
  }
}

TEST_CASE("other parameters before it, another version, and another type have sets of their own") {
  const temp_dir at;
  const folder of(6);
  const counted runs;
  const auto make = [&](int side, std::uint64_t version) {
    return of.source() | wick::read() | wick::decode() | wick::center_crop(side) | runs |
           wick::cache_on_disk(at.path().string(), {.version = version}) | wick::array_batch(3);
  };
  const auto runs_of = [&](int side, std::uint64_t version) {
    const std::uint64_t until = *runs.runs;
    prints(make(side, version), {.workers = 1, .prefetch_next_epoch = false}, 1);
    return *runs.runs - until;
  };
  CHECK(runs_of(8, 0) == 6);
  CHECK(runs_of(8, 0) == 0);
  CHECK(runs_of(9, 0) == 6);
  CHECK(runs_of(8, 1) == 6);
  CHECK(runs_of(8, 0) == 0);
  CHECK(files_of(at.path(), "index").size() == 3);
}

TEST_CASE("no more than .bytes is written, and a fixed part is kept") {
  const temp_dir at;
  const counted before;
  constexpr std::uint64_t room = 10'000;
  wick::loader l(numbers_kept(at, before, {.bytes = room}),
                 {.seed = 2, .workers = 2, .prefetch_next_epoch = false});
  std::uint64_t runs[3] = {};
  for (std::uint64_t e = 0; e < 3; ++e) {
    const std::uint64_t until = *before.runs;
    targets_of(l, e);
    runs[e] = *before.runs - until;
  }
  CHECK(runs[0] == 200);
  CHECK(runs[1] > 0);
  CHECK(runs[1] < 200);
  CHECK(runs[2] == runs[1]);
  CHECK(size_of_folder(at.path()) <= room);
  CHECK(size_of_folder(at.path()) > room / 2);
  CHECK(contains(notes_of(l), "cache_on_disk keeps " + std::to_string(200 - runs[1]) + " of 200",
                 "it is full"));
}

TEST_CASE("sets that grow at once share the room") {
  const temp_dir at;
  const counted before;
  constexpr std::uint64_t room = 20'000;
  std::vector<wick::loader<wick::sample<wick::array, wick::array>>> loaders;
  for (std::uint64_t set = 0; set < 3; ++set) {
    loaders.emplace_back(numbers_kept(at, before, {.bytes = room, .version = set}),
                         wick::loader_options{.seed = 2, .workers = 1, .prefetch_next_epoch = false});
  }
  for (bool any = true; any;) {
    any = false;
    for (auto& l : loaders) any = l.next().has_value() || any;
  }
  CHECK(size_of_folder(at.path()) <= room + room / 16);
  CHECK(size_of_folder(at.path()) > room / 2);
}

TEST_CASE("where there is no room, sets that are not in use make some, and those in use stay") {
  const temp_dir at;
  const counted runs;
  const auto with = [&](std::uint64_t version, std::optional<std::uint64_t> room) {
    return wick::loader(numbers_kept(at, runs, {.bytes = room, .version = version}),
                        {.prefetch_next_epoch = false});
  };
  std::uint64_t one = 0;
  {
    wick::loader l = with(1, {});
    targets_of(l, 0);
    one = size_of_folder(at.path());
  }
  const fs::path first = files_of(at.path(), "index").at(0);
  {
    wick::loader used = with(2, {});
    targets_of(used, 0);
    wick::loader next = with(3, 2 * one + one / 2);
    targets_of(next, 0);
    CHECK(!fs::exists(first));
    CHECK(files_of(at.path(), "index").size() == 2);
    CHECK(size_of_folder(at.path()) <= 2 * one + one / 2);
    wick::loader none = with(4, one / 2);  // all is in use
    targets_of(none, 0);
    CHECK(contains(notes_of(none), "keeps 0 of 200", "it is full"));
    targets_of(used, 1);
  }
  const std::uint64_t until = *runs.runs;
  wick::loader again = with(2, {});
  targets_of(again, 0);
  CHECK(*runs.runs == until);
}

TEST_CASE("a sample of a file that changes meanwhile is kept as one of what it was made of") {
  const temp_dir at;
  wick::detail::disk_cache cache(at.path().string(), 1, 10, 0);
  wick::detail::disk_cache::entry found;
  constexpr std::uint64_t before = 111, after = 222;
  CHECK(!cache.look(3, before, found));  // it is made now
  CHECK(!cache.look(3, after, found));   // the next epoch asks for it, and the file has changed
  cache.add(3, before, bytes_of("old"));
  CHECK(!cache.look(3, after, found));
}

namespace {

struct open_cache : wick::detail::disk_cache {
  explicit open_cache(const temp_dir& at, std::uint64_t samples = 100)
      : disk_cache(at.path().string(), 1, samples, std::nullopt) {}
  /// Whether it is to be written, unless that may be because a second has passed.
  bool fills(std::uint64_t index, std::vector<std::byte> content) {
    const bool out = add(index, 7, std::move(content));
    return out && std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(900);
  }
  bool keeps(std::uint64_t index, const std::string& content) {
    entry found;
    wick::bytes all;
    return look(index, 7, found) && read(index, found, all) &&
           content == std::string(reinterpret_cast<const char*>(all.data()), all.size());
  }

  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

}  // namespace

TEST_CASE("a sample that isn't written yet is written when it is asked for, and when the cache goes") {
  const temp_dir at;
  {
    open_cache a(at);
    CHECK(a.is_absent(1));
    CHECK_FALSE(a.fills(1, bytes_of("one")));
    CHECK_FALSE(a.fills(1, bytes_of("one")));  // it is there already
    CHECK_FALSE(a.is_absent(1));
    CHECK(open_cache(at).is_absent(1));
    CHECK(a.keeps(1, "one"));
    CHECK(open_cache(at).keeps(1, "one"));
    CHECK_FALSE(a.fills(2, bytes_of("two")));
  }
  CHECK(open_cache(at).keeps(2, "two"));
}

TEST_CASE("a sample that fills a block is to be written, and so is the last one") {
  const temp_dir at;
  open_cache a(at, 8);
  const std::vector<std::byte> quarter((std::size_t{256} << 10) / 4);
  for (const std::uint64_t i : {0u, 1u, 2u}) CHECK_FALSE(a.fills(i, quarter));
  CHECK(a.add(3, 7, quarter));
  CHECK_FALSE(a.fills(4, quarter));  // in the same block, which isn't written yet
  a.settle(3);
  CHECK(open_cache(at, 8).keeps(4, std::string(quarter.size(), '\0')));
  CHECK_FALSE(a.fills(5, bytes_of("five")));
  CHECK_FALSE(a.fills(6, bytes_of("six")));
  CHECK(open_cache(at, 8).is_absent(5));
  CHECK(a.add(7, 7, bytes_of("seven")));
  a.settle(7);
  for (const auto& [i, content] : {std::pair{5u, "five"}, {6u, "six"}, {7u, "seven"}})
    CHECK(open_cache(at, 8).keeps(i, content));
}

TEST_CASE("what another process keeps meanwhile is noticed, and isn't written twice") {
  const temp_dir at;
  open_cache a(at), b(at);
  for (const std::uint64_t i : {1u, 2u, 3u}) {
    a.add(i, 7, bytes_of("abc"));
    b.add(i, 7, bytes_of("abc"));
  }
  b.add(4, 7, bytes_of("last"));
  a.settle(1);
  CHECK_FALSE(b.is_absent(9));  // the index has records that b hasn't read
  b.settle(4);
  CHECK(b.is_absent(9));
  CHECK(b.keeps(4, "last"));
  CHECK(a.keeps(4, "last"));
  std::uintmax_t all = 0;
  for (const auto& segment : files_of(at.path(), "segment-")) all += fs::file_size(segment);
  CHECK(all == 3 * 3 + 4);
  CHECK(fs::file_size(files_of(at.path(), "index").at(0)) == 4 * wick::detail::disk_cache::record_size);
}

TEST_CASE(
    "a forked child writes nothing, and a process that ends without a word leaves what it has written") {
  const temp_dir at;
  auto a = std::make_unique<open_cache>(at);
  a->add(1, 7, bytes_of("one"));
  const pid_t forked = ::fork();
  if (forked == 0) {
    a.reset();
    ::_exit(0);
  }
  int status = 1;
  REQUIRE(::waitpid(forked, &status, 0) == forked);
  CHECK(status == 0);
  CHECK(open_cache(at).is_absent(1));
  CHECK(a->keeps(1, "one"));
  const pid_t killed = ::fork();
  if (killed == 0) {
    static open_cache own(at);
    own.add(2, 7, bytes_of("two"));
    own.settle(2);
    own.add(3, 7, bytes_of("three"));
    ::kill(::getpid(), SIGKILL);
  }
  REQUIRE(::waitpid(killed, &status, 0) == killed);
  CHECK(a->keeps(2, "two"));
  CHECK(a->is_absent(3));
}

TEST_CASE("records that got into the index before the disk was full stay, and the others are made again") {
  const temp_dir at;
  open_cache a(at);
  for (std::uint64_t i = 0; i < 10; ++i) a.add(i, 7, bytes_of(std::string(2, static_cast<char>('0' + i))));
  ::rlimit unlimited{}, little{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  little = unlimited;
  little.rlim_cur = 3 * wick::detail::disk_cache::record_size + 10;
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  a.settle(0);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  std::signal(SIGXFSZ, old);
  open_cache b(at);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::string content(2, static_cast<char>('0' + i));
    CHECK(a.keeps(i, content) == (i < 3));
    CHECK(b.keeps(i, content) == (i < 3));
  }
  CHECK(fs::file_size(files_of(at.path(), "index").at(0)) == 3 * wick::detail::disk_cache::record_size);
  CHECK(fs::file_size(files_of(at.path(), "segment-").at(0)) == 3 * 2);
  // It pauses, then continues.
  CHECK(eventually([&] {
    a.add(9, 7, bytes_of("99"));
    a.settle(9);
    return b.keeps(9, "99");
  }));
  CHECK(b.keeps(1, "11"));
}

TEST_CASE("an entry that is damaged on disk, cut off or torn is made again, never served") {
  const folder of(12);
  const temp_dir at;
  const auto make = [&] {
    return of.source() | wick::read() | wick::decode() | wick::cache_on_disk(at.path().string()) |
           wick::random_resized_crop(16) | wick::array_batch(4);
  };
  // Without the next epoch, which may make a sample a second time: what is damaged below would be no
  // sample's.
  const auto expected = prints(make(), {.workers = 2, .prefetch_next_epoch = false});
  const auto same = [&](const char* what) {
    wick::loader l(make(),
                   {.seed = 5, .workers = 2, .prefetch_next_epoch = false, .content_fingerprint = true});
    CAPTURE(what);
    for (std::uint64_t e = 0; e < 3; ++e) {
      for (auto& batch : l.epoch(e)) static_cast<void>(batch);
      CHECK(l.fingerprint(e).value == expected[e]);
    }
    return notes_of(l);
  };
  const fs::path segment = files_of(at.path(), "segment-").at(0), index = files_of(at.path(), "index").at(0);
  overwrite(segment, 1000, "damaged");
  CHECK(contains(same("a byte of a sample"), "1 were damaged on disk"));
  CHECK(!contains(same("after it was made again"), "damaged"));
  overwrite(index, 3 * 64 + 20, "damaged");
  CHECK(contains(same("a record"), "1 were damaged on disk"));
  fs::resize_file(segment, fs::file_size(segment) / 2);
  CHECK(contains(same("the end of the segment"), "were damaged on disk"));
  fs::resize_file(index, fs::file_size(index) - 13);
  same("a torn record at the end");
  CHECK(fs::file_size(index) % 64 == 0);
  fs::resize_file(index, 0);
  same("an empty index");
  fs::remove(files_of(at.path(), "segment-").at(0));
  same("no segment");
  std::ofstream(index, std::ios::binary) << std::string(6400, 'x');
  CHECK(contains(same("an index of something else"), "damaged on disk"));
}

TEST_CASE("a file that can't grow costs no sample, and the report says why") {
  const temp_dir at;
  const counted before;
  const ::rlimit unlimited = [] {
    ::rlimit now{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &now) == 0);
    return now;
  }();
  wick::loader plain(numbers_kept(at, before, {.bytes = nothing}), {.seed = 2});
  const batches expected = targets_of(plain, 0);
  ::rlimit little = unlimited;
  little.rlim_cur = 4'000;
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  {
    wick::loader l(numbers_kept(at, before), {.seed = 2, .workers = 2, .prefetch_next_epoch = false});
    CHECK(targets_of(l, 0) == expected);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    std::signal(SIGXFSZ, old);
    CHECK(contains(notes_of(l), "writing to", "File too large"));
  }
  wick::loader l(numbers_kept(at, before), {.seed = 2, .workers = 2});
  CHECK(targets_of(l, 0) == expected);
}

TEST_CASE("samples that can't be written take no room, and the cache continues when there is some again") {
  const temp_dir at;
  const counted before;
  const ::rlimit unlimited = [] {
    ::rlimit now{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &now) == 0);
    return now;
  }();
  ::rlimit little = unlimited;
  little.rlim_cur = 2'000;
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  // Room for each sample once: bytes that failed writes keep would be missing.
  wick::loader l(numbers_kept(at, before, {.bytes = 40'000}),
                 {.seed = 2, .workers = 2, .prefetch_next_epoch = false});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  for (std::uint64_t e = 0; e < 20; ++e) targets_of(l, e);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  std::signal(SIGXFSZ, old);
  CHECK(*before.runs > 200);
  std::uint64_t e = 20, until = 0;
  CHECK(eventually([&] {
    until = *before.runs;
    targets_of(l, e++);
    return *before.runs == until;
  }));
  CHECK(contains(notes_of(l), "keeps 200 of 200"));
  CHECK_FALSE(contains(notes_of(l), "failed"));
  CHECK(size_of_folder(at.path()) <= 40'000);
}

TEST_CASE("a full cache continues when another one has gone") {
  const temp_dir at;
  const counted before;
  constexpr std::uint64_t room = 24'000;
  std::optional<wick::loader<wick::sample<wick::array, wick::array>>> other(
      std::in_place, numbers_kept(at, before, {.bytes = room, .version = 1}),
      wick::loader_options{.seed = 2, .prefetch_next_epoch = false});
  targets_of(*other, 0);
  wick::loader l(numbers_kept(at, before, {.bytes = room, .version = 2}),
                 {.seed = 2, .prefetch_next_epoch = false});
  targets_of(l, 0);
  CHECK(contains(notes_of(l), "it is full"));
  other.reset();
  std::uint64_t e = 1, until = 0;
  CHECK(eventually([&] {
    until = *before.runs;
    targets_of(l, e++);
    return *before.runs == until;
  }));
}

TEST_CASE("a lock that another process keeps costs no sample") {
  const temp_dir at;
  const counted before;
  const auto make = [&] {
    return wick::from(numbers{3}) | before | wick::cache_on_disk(at.path().string()) | wick::array_batch(3);
  };
  wick::loader l(make(), {.workers = 2, .prefetch_next_epoch = false});
  const int file = ::open(files_of(at.path(), "index").at(0).c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(file, LOCK_EX) == 0);
  CHECK(targets_of(l, 0).at(0).size() == 3);
  CHECK(*before.runs == 3);
  CHECK(targets_of(l, 1).at(0).size() == 3);
  CHECK(*before.runs == 6);
  ::close(file);
  targets_of(l, 2);
  targets_of(l, 3);
  CHECK(*before.runs == 9);
}

TEST_CASE("a cache of no bytes is refused") {
  CHECK(message_of([] { return wick::cache_on_disk("cache", {.bytes = 0}).frozen(); }) ==
        "cache_on_disk: .bytes is 0, which keeps nothing; leave it out, or the stage");
}

TEST_CASE("a stage before it that draws random numbers is refused, unless it is to be frozen") {
  const temp_dir at;
  const auto make = [&](bool frozen) {
    return numbers{40} | wick::shuffle() | wick::map("draw", add_random) |
           wick::cache_on_disk(at.path().string(), {.freeze_random = frozen}) | wick::array_batch(40);
  };
  wick::loader refused(make(false));
  CHECK(contains(message_of([&] { return refused.next(); }), "cache_on_disk", "the 2nd stage",
                 "draws random numbers", "before that stage"));
  const auto sorted = [&](std::uint64_t seed, std::uint64_t e) {
    wick::loader frozen(make(true), {.seed = seed});
    for (std::uint64_t before = 0; before < e; ++before) targets_of(frozen, before);
    auto all = targets_of(frozen, e).at(0);
    std::sort(all.begin(), all.end());
    return all;
  };
  CHECK(sorted(4, 0) == sorted(4, 1));
  CHECK(sorted(4, 0) == sorted(5, 2));
}

TEST_CASE("frozen numbers end at the cache: a sample that is made draws after it as one that is read") {
  const temp_dir at;
  const auto batches_of_run = [&](std::uint64_t epoch) {
    wick::loader l(wick::from(numbers{40}) | wick::map("draw", add_random) |
                       wick::cache_on_disk(at.path().string(), {.freeze_random = true}) |
                       wick::map("again", add_random) | wick::array_batch(8),
                   {.seed = 4, .workers = 2});
    return targets_of(l, epoch);
  };
  const batches made = batches_of_run(3);
  CHECK(batches_of_run(3) == made);
  CHECK(batches_of_run(4) != made);
}

TEST_CASE("samples that fail before it are not kept, and fail again; a batch is made again to the byte") {
  const temp_dir at;
  wick::loader l(numbers{60} |
                     wick::map("broken",
                               [](cell c) {
                                 if (c.target % 10 == 3) throw wick::error("it is broken");
                                 return c;
                               }) |
                     wick::cache_on_disk(at.path().string()) | wick::map("draw", add_random) |
                     wick::array_batch(10),
                 {.workers = 2, .prefetch_next_epoch = false, .on_error = wick::on_error::skip});
  for (std::uint64_t e = 0; e < 3; ++e) {
    std::size_t samples = 0;
    for (const auto& batch : targets_of(l, e)) samples += batch.size();
    CHECK(samples == 54);
  }
  CHECK(l.failure_log().entries().size() == 18);
  const batches first = targets_of(l, 3);
  l.seek(3, 2);
  CHECK(l.next()->target.as<std::int64_t>()[0] == first[2][0]);
}

TEST_CASE("the bound on memory holds for what is read from it") {
  const temp_dir at;
  const auto make = [&] {
    return numbers{40} |
           wick::map("long",
                     [](cell c) {
                       return wick::sample<std::string, std::int64_t>{
                           std::string(10'000, static_cast<char>('a' + c.target % 26)), c.target};
                     }) |
           wick::cache_on_disk(at.path().string()) |
           wick::map("length",
                     [](wick::sample<std::string, std::int64_t> s) {
                       return wick::sample<std::int64_t, std::int64_t>{
                           static_cast<std::int64_t>(s.data.size()), s.target};
                     }) |
           wick::array_batch(8);
  };
  for (int run = 0; run < 2; ++run) {
    wick::loader l(make(), {.workers = 2, .memory = 25'000, .prefetch_next_epoch = false});
    for (std::uint64_t e = 0; e < 2; ++e) {
      std::size_t samples = 0;
      for (auto& batch : l.epoch(e)) {
        const auto n = static_cast<std::size_t>(batch.target.extents()[0]);
        samples += n;
        for (std::size_t i = 0; i < n; ++i) CHECK(batch.data.as<std::int64_t>()[i] == 10'000);
      }
      CHECK(samples == 40);
      // Written, a sample is there twice, so that no two are at a time; read, once.
      if (run == 0 && e == 0)
        CHECK(l.peak_bytes_in_flight() == 20'000);
      else
        CHECK(l.peak_bytes_in_flight() >= 10'000);
      CHECK(l.peak_bytes_in_flight() <= 25'000);
    }
  }
}

namespace {

struct scene {
  wick::lazy_image picture;
  std::vector<wick::mask> masks;
  std::optional<wick::boxes> objects;
  std::string name;
  std::array<float, 3> numbers;
  std::vector<std::string> words;
};

}  // namespace

TEST_CASE("structs, vectors and optionals of parts are written and read again") {
  scene s{photo(20, 10), {},        wick::boxes{.xyxy = {{0, 0, 2, 2}}, .labels = {7}},
          "name",        {1, 2, 3}, {"a", "", "b"}};
  for (int i = 0; i < 3; ++i) s.masks.emplace_back(wick::image(20, 10, 1));
  static_assert(wick::detail::can_be_saved<scene>());
  static_assert(!wick::detail::can_be_saved<wick::ext::file_range>());
  static_assert(!wick::detail::can_be_saved<int*>());
  wick::detail::settle(s);
  wick::ext::cache_writer out;
  wick::detail::save(s, out);
  wick::ext::cache_reader in(out.written());
  scene again{};
  wick::detail::load(again, in);
  CHECK(in.left() == 0);
  CHECK(again.picture.pixels() == s.picture.pixels());
  CHECK(again.masks.size() == 3);
  CHECK(again.masks[2].pixels() == s.masks[2].pixels());
  CHECK(again.objects == s.objects);
  CHECK(again.name == "name");
  CHECK(again.numbers == s.numbers);
  CHECK(again.words == s.words);
  for (std::size_t n = 0; n < out.written().size(); n += 7) {
    wick::ext::cache_reader less(out.written().first(n));
    CHECK_THROWS_AS(wick::detail::load(again, less), wick::ext::cache_reader::unavailable);
  }
}

TEST_CASE("records of several members are kept by both caches, with their keys and fields") {
  const temp_dir dir;
  tar_writer shard;
  for (int i = 0; i < 30; ++i) {
    const std::string key = "a/" + std::to_string(100 + i);
    shard.add(key + ".txt", std::string(static_cast<std::size_t>(i), 'x'));
    shard.add(key + (i % 2 == 0 ? ".jpg" : ".png"), "image " + std::to_string(i));
  }
  const auto path = dir.write("a.tar", shard.done()).string();
  const auto texts = [&](auto cache, std::size_t workers) {
    wick::loader l(wick::tar(wick::shard_list(path), {"txt", "jpg;png"}) | wick::shuffle() | wick::read() |
                       std::move(cache) |
                       [](const wick::record<wick::bytes>& r) {
                         return std::string(r.key) + " " + std::string(std::string_view(r.at("txt"))) + " " +
                                std::string(std::string_view(r.at("png")));
                       } |
                       wick::group(4),
                   {.seed = 3, .workers = workers});
    std::vector<std::vector<std::string>> out;
    for (std::uint64_t e = 0; e < 3; ++e)
      for (auto& batch : l.epoch(e)) out.push_back(std::move(batch));
    return out;
  };
  const auto plain = texts([](wick::record<wick::bytes> r) { return r; }, 1);
  CHECK(plain.size() == 24);
  CHECK(texts(wick::cache_in_memory(), 2) == plain);
  const std::string folder = (dir / "cache").string();
  CHECK(texts(wick::cache_on_disk(folder), 2) == plain);
  CHECK(texts(wick::cache_on_disk(folder), 1) == plain);  // all of it from the disk
}

TEST_CASE("arrays of decode_raw() are kept by both caches") {
  const temp_dir dir;
  std::string numbers;
  for (int i = 0; i < 60; ++i) {
    const auto v = static_cast<float>(i);
    numbers.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  const auto path = dir.write("x.bin", numbers).string();
  const auto values = [&](auto cache) {
    wick::loader l(wick::records(wick::files({path}), 12) | wick::shuffle() | wick::read() |
                       wick::decode_raw<float>({3}) | std::move(cache) | wick::array_batch(4),
                   {.seed = 3, .workers = 2});
    std::vector<float> out;
    for (std::uint64_t e = 0; e < 3; ++e) {
      for (const wick::array& b : l.epoch(e))
        out.insert(out.end(), b.as<float>(), b.as<float>() + b.extents().count());
    }
    return out;
  };
  const auto plain = values(counted());
  CHECK(plain.size() == 180);
  CHECK(values(wick::cache_in_memory()) == plain);
  CHECK(values(wick::cache_on_disk((dir / "cache").string())) == plain);
  CHECK(values(wick::cache_on_disk((dir / "cache").string())) == plain);
}

TEST_CASE("pictures of 16 bits and of numbers are kept as they are, and normalized ones are refused") {
  wick::context c = context_at(0);
  const std::string deep =
      make_png({.width = 2, .height = 2, .bits = 16, .color_type = 0, .rows = {1, 2, 3, 4, 5, 6, 7, 8}});
  wick::lazy_image wide = wick::decode({.type = wick::dtype::int32})(as_bytes(deep), c);
  wick::detail::settle(wide);
  wick::ext::cache_writer out;
  wide.save(out);
  wick::ext::cache_reader in(out.written());
  const wick::lazy_image again = wick::lazy_image::load(in);
  std::array<std::int32_t, 12> a{}, b{};
  wide.write_to({reinterpret_cast<std::byte*>(a.data()), false});
  again.write_to({reinterpret_cast<std::byte*>(b.data()), false});
  CHECK(a == b);
  CHECK(a[0] == 0x0102);
  wick::lazy_image normal = wick::normalize(0.5, 0.5)(wick::lazy_image(photo(4, 4)), c);
  CHECK(contains(message_of([&] {
                   normal.save(out);
                   return 0;
                 }),
                 "normalize"));
}

TEST_CASE("a folder that can't be used is an error that says so") {
  CHECK(contains(message_of([] { return wick::cache_on_disk(""); }), "no name"));
  const temp_dir at;
  write_file(at.path().string() + "/file", "x");
  CHECK(contains(message_of([&] {
                   return wick::loader(numbers{3} | wick::cache_on_disk(at.path().string() + "/file") |
                                       wick::array_batch(3));
                 }),
                 "cache_on_disk", "/file", "can't be made", "give cache_on_disk() a folder"));
}

}  // namespace wick_test::cache_on_disk_tests

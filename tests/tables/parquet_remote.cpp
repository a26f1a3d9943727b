// Parquet on a server: the rows of the disk, each row group by few requests.
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "../stores/hang_message.hpp"
#include "../stores/server.hpp"
#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/stores/remote.hpp>
#include <wick/tables/parquet.hpp>

namespace wick_test::parquet_remote_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

using row = std::tuple<std::string, std::int64_t, std::vector<float>>;
using table = wick::parquet<row>;

const wick_test::temp_dir* made() {
  static const wick_test::temp_dir dir;
  static const bool done = wick_test::run_python("pyarrow, pyarrow.parquet", dir, R"(
import os, pyarrow as pa, pyarrow.parquet as pq
for f in range(2):
    r = range(1000 * f, 1000 * f + 1000)
    pq.write_table(pa.table({
        'text': ['text %d' % (i % 37) for i in r], 'other': [os.urandom(1000) for i in r], 'n': list(r),
        'list': pa.array([[i / 2.0] * (i % 5) for i in r], pa.list_(pa.float32()))}), 'a%d.parquet' % f, row_group_size=100)
)");
  return done ? &dir : nullptr;
}

std::vector<std::string> epoch_of(const table& source) {
  wick::loader train(source | wick::block_shuffle(source.groups(), 4) | wick::read() | wick::group(10),
                     {.seed = 1, .workers = 2, .prefetch_next_epoch = false});
  std::vector<std::string> out{std::to_string(source.fingerprint())};
  for (auto& group : train.epoch(0)) {
    for (auto& [text, n, list] : group) {
      out.push_back(text + " " + std::to_string(n));
      for (const float x : list) out.back() += " " + std::to_string(x);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Parquet files on a server give the rows that they give from the disk") {
  const auto* const folder = made();
  if (folder == nullptr) return;
  const wick_test::faulty_server server(*folder);
  const auto of = [](const std::string& pattern) {
    return table(wick::files(pattern), {"text", "n", "list"}, {.kept_bytes = std::size_t{1} << 30});
  };
  const auto expected = epoch_of(of((folder->path() / "a{0..1}.parquet").string()));
  REQUIRE(expected.size() == 2001);
  server.forget();
  CHECK(epoch_of(of(server.url("ok", "a{0..1}.parquet"))) == expected);
  // A file: its size, its end. A group: a column lies between two that are wanted.
  CHECK(server.count("requests") <= 2 * 2 + 20 * 2 + 4);
  CHECK(server.count("bytes") < 1'000'000);  // without "other"
  CHECK(epoch_of(of(server.url("busy", "a{0..1}.parquet"))) == expected);
  CHECK(of(server.url("ok", "a{0..1}.parquet")).key(1001) == server.url("ok", "a1.parquet") + ", row 1");
  CHECK(contains(message_of([&] { return of(server.url("ok", "none.parquet")); }),
                 server.url("ok", "none.parquet") + ": parquet: ", "404 Not Found"));
}

TEST_CASE("a loader that is dropped does not wait for a server that is silent") {
  const auto* const folder = made();
  if (folder == nullptr) return;
  const wick_test::faulty_server server(*folder);
  const table source(wick::files(server.url("ok", "a0.parquet")), {"text", "n", "list"});
  server.pause();
  const auto begun = std::chrono::steady_clock::now();
  {
    wick::loader train(source | wick::read() | wick::group(10), {.workers = 2});
    const auto epoch = train.epoch(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it asks
  }
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));  // of 60 that it would wait
}

TEST_CASE("where a server is silent, the message tells the sample that asks from those that wait for it") {
  const auto* const folder = made();
  if (folder == nullptr) return;
  const wick_test::faulty_server server(*folder);
  const table source(wick::files(server.url("ok", "a0.parquet")), {"text", "n", "list"});
  const std::string text = wick_test::hang_message(source | wick::read() | wick::group(10), server);
  CAPTURE(text);
  CHECK(contains(text, "in a call on I/O thread wick-io-"));
  CHECK(contains(text, "waiting for what another sample reads for "));
}

}  // namespace wick_test::parquet_remote_tests

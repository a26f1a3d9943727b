#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>
#include <wick/text/lines.hpp>
#include <wick/text/tokens.hpp>
#include <wick/tools/write_tokens.hpp>

namespace wick_test::write_tokens_tests {

namespace {

namespace fs = std::filesystem;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

std::vector<std::int32_t> bytes_as_tokens(std::string_view text) {
  std::vector<std::int32_t> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

template <class T>
std::vector<T> read_tokens(const fs::path& path) {
  const std::string raw = wick_test::read_file(path);
  std::vector<T> out(raw.size() / sizeof(T));
  std::copy(raw.begin(), raw.end(), reinterpret_cast<char*>(out.data()));
  return out;
}

}  // namespace

TEST_CASE("documents become tokens in their order at any number of workers, and the end of each one more") {
  const temp_dir dir;
  std::string corpus;
  std::vector<std::uint16_t> wanted;
  for (int d = 0; d < 3000; ++d) {
    const std::string text =
        "document " + std::string(static_cast<std::size_t>(d * 37 % 900), static_cast<char>(200 + d % 50));
    corpus += text + "\n\n";
    for (const char c : text) wanted.push_back(static_cast<unsigned char>(c));
    wanted.push_back(256);
  }
  const auto source = wick::documents(dir.write("corpus.txt", corpus));
  for (const std::size_t workers : {1, 4}) {
    const auto path = dir / "train.bin";
    const std::uint64_t n = wick::write_tokens(source | wick::read() | bytes_as_tokens, path.string(),
                                               {.end_of_text = 256, .loader = {.workers = workers}});
    CHECK(n == wanted.size());
    CHECK(read_tokens<std::uint16_t>(path) == wanted);
  }
  // Chunks are made of the written tokens.
  const auto chunks = wick::tokens(dir / "train.bin") | wick::chunks(100, {.within_documents = 256});
  CHECK(chunks.size() > 3000);
}

TEST_CASE("an order, and lists of any integers, are taken as they are") {
  const temp_dir dir;
  const auto path = (dir / "t.bin").string();
  const std::vector<std::vector<std::int64_t>> lists{{1, 2}, {}, {70'000}};
  CHECK(wick::write_tokens<std::uint32_t>(wick::in_memory(lists) | wick::repeat(2), path) == 6);
  CHECK(read_tokens<std::uint32_t>(path) == std::vector<std::uint32_t>{1, 2, 70'000, 1, 2, 70'000});
}

TEST_CASE("where it fails the old file is as it was, and nothing else is left there") {
  const temp_dir dir;
  const auto path = dir.write("t.bin", "old");
  const auto all_as_before = [&] {
    CHECK(wick_test::read_file(path) == "old");
    CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
  };
  const std::vector<std::vector<std::int64_t>> lists{{1, 2}, {70'000}}, negative{{-1}}, none{{}, {}};
  const auto write = [&](const auto& of) {
    return wick::write_tokens(wick::from(wick::in_memory(of)), path.string());
  };
  CHECK(contains(message_of([&] { return write(lists); }),
                 "t.bin: write_tokens: token 70000 doesn't fit into a token of 2 bytes; write "
                 "write_tokens<std::uint32_t>"));
  all_as_before();
  CHECK(contains(message_of([&] { return write(negative); }), "token -1"));
  std::atomic<int> tokenized{0};
  const auto counted = wick::in_memory(lists) | [&](std::vector<std::int64_t> l) {
    ++tokenized;
    return l;
  };
  CHECK(contains(message_of([&] { return wick::write_tokens(counted, path.string(), {.end_of_text = -1}); }),
                 "write_tokens: .end_of_text = -1 doesn't fit into a token of 2 bytes; write "
                 "write_tokens<std::int32_t>"));
  CHECK(tokenized == 0);
  CHECK(contains(message_of([&] { return write(none); }), "no token"));
  all_as_before();
  const auto fails = wick::in_memory(lists) | [](std::vector<std::int64_t> l) {
    if (l.size() == 1) throw std::runtime_error("a bad document");
    return l;
  };
  CHECK(contains(message_of([&] { return wick::write_tokens(fails, path.string()); }), "sample 1",
                 "a bad document"));
  all_as_before();
  CHECK(wick::write_tokens(fails, path.string(), {.loader = {.on_error = wick::on_error::skip}}) == 2);
  CHECK(contains(message_of([&] { return wick::write_tokens(fails, (dir / "no/t.bin").string()); }),
                 "tokens: can't be created"));
}

TEST_CASE("a disk that is full leaves no half of a file") {
  const temp_dir dir;
  const auto path = dir.write("t.bin", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit little{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &little);
    const std::vector<std::vector<std::int32_t>> lists(60, std::vector<std::int32_t>(1000, 7));
    const std::string message =
        message_of([&] { return wick::write_tokens(wick::from(wick::in_memory(lists)), path.string()); });
    ::_exit(contains(message, "t.bin: tokens: can't be written", "the file is as it was") ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(wick_test::read_file(path) == "old");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

}  // namespace wick_test::write_tokens_tests

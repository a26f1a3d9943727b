// Pictures in steady state take no memory: every call of malloc and its kin in the program is counted,
// operator new's and libjpeg's too.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/picture.hpp"
#include <wick/core.hpp>

namespace {
constinit std::atomic<long> taken{0};
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return taken.fetch_add(1, std::memory_order_relaxed), __libc_malloc(size); }
void* calloc(std::size_t n, std::size_t size) {
  return taken.fetch_add(1, std::memory_order_relaxed), __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  return taken.fetch_add(1, std::memory_order_relaxed), __libc_realloc(p, size);
}
void* memalign(std::size_t unit, std::size_t size) {
  return taken.fetch_add(1, std::memory_order_relaxed), __libc_memalign(unit, size);
}
void* aligned_alloc(std::size_t unit, std::size_t size) { return memalign(unit, size); }
int posix_memalign(void** out, std::size_t unit, std::size_t size) {
  *out = memalign(unit, size);
  return *out == nullptr ? ENOMEM : 0;
}
}

using namespace wick_test;

namespace {

/// JPEGs of many sizes and kinds, as a data set has them.
std::vector<std::string> data_set() {
  std::vector<std::string> out;
  for (int i = 0; i < 24; ++i) {
    jpeg_kind kind;
    kind.progressive = i % 5 == 1;
    if (i % 4 == 1) kind.across = kind.down = {1, 1, 1, 1};
    if (i % 4 == 2) kind.down = {1, 1, 1, 1};
    kind.restart_blocks = i % 3 == 0 ? 4 : 0;
    const int channels = i % 7 == 3 ? 1 : i % 11 == 5 ? 4 : 3;
    out.push_back(encode_jpeg(
        photo(200 + i * 37 % 300, 150 + i * 53 % 250, channels, static_cast<std::uint64_t>(i)), kind));
  }
  return out;
}

}  // namespace

TEST_CASE("malloc is counted, and so are operator new and libjpeg's") {
  long before = taken;
  const std::vector<int> numbers(1000);
  [[maybe_unused]] const int* volatile used = numbers.data();  // else clang leaves the allocation out
  long more = taken - before;
  CHECK(more == 1);
  before = taken;
  encode_jpeg(photo(16, 16), jpeg_kind{});
  more = taken - before;
  CHECK(more > 10);
}

TEST_CASE(
    "a JPEG, from its bytes to the batch's slot, takes no memory once the thread has seen the data set") {
  const std::vector<std::string> files = data_set();
  const wick::detail::decode_stage decode = wick::decode(), exact = wick::decode({.exact = true}),
                                   gray = wick::decode({.mode = wick::color::gray});
  auto crop = wick::random_resized_crop(96);
  auto flip = wick::random_horizontal_flip();
  std::vector<std::byte> slot(96 * 96 * 3);
  long worst = 0;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      wick::bytes encoded = as_bytes(files[i]);
      wick::context context =
          context_at(i, 1, static_cast<std::uint64_t>(epoch % 2));  // the same crops every other epoch
      const wick::detail::decode_stage& how = i % 3 == 0 ? exact : i % 3 == 1 ? gray : decode;
      const long before = taken;
      {
        wick::lazy_image picture = how(std::move(encoded), context);
        crop(flip(std::move(picture), context), context).write_to({slot.data(), i % 2 == 0});
      }
      if (epoch >= 2) worst = std::max(worst, taken - before);
    }
  }
  CHECK(worst == 0);
}

TEST_CASE("a loader takes memory for what it reads, and nothing more that grows with the samples") {
  const std::vector<std::string> files = data_set();
  constexpr long samples = 480, batch = 16;
  std::vector<std::int64_t> indices(samples);
  std::iota(indices.begin(), indices.end(), 0);
  wick::executor workers({.workers = 2});
  wick::loader train(wick::in_memory(indices) |
                         [&](std::int64_t i) {
                           return as_bytes(files[static_cast<std::size_t>(i) % files.size()]);
                         } |  // one malloc
                         wick::decode() |
                         wick::random_resized_crop(64) | wick::random_horizontal_flip() |
                         wick::array_batch(batch),
                     {.seed = 1, .executor = &workers});
  const auto count = [&](int epoch) {
    const long before = taken;
    long seen = 0;
    for (auto& b : train.epoch(epoch)) seen += static_cast<long>(b.extents()[0]);
    CHECK(seen == samples);
    return taken - before;
  };
  for (int epoch = 0; epoch < 6; ++epoch) count(epoch);
  const long more = count(6) - samples;
  MESSAGE(more, " allocations beside the ", samples, " of the files, in ", samples / batch, " batches");
  CHECK(more <= 10 * samples / batch);
}

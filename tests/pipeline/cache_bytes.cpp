#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include <wick/ext/cache_bytes.hpp>

namespace wick_test::cache_bytes_tests {

TEST_CASE("a reader gives what a writer wrote, in its order") {
  wick::ext::cache_writer out;
  out.reserve(100);
  out.number(std::uint64_t{3});
  out.put("abc", 3);
  out.number(std::array<std::int16_t, 2>{-1, 7});
  wick::ext::cache_reader in(out.written());
  CHECK(in.left() == 8 + 3 + 4);
  REQUIRE(in.count() == 3);
  std::string text(3, '\0');
  in.take(text.data(), text.size());
  CHECK(text == "abc");
  CHECK(in.number<std::array<std::int16_t, 2>>() == std::array<std::int16_t, 2>{-1, 7});
  CHECK(in.left() == 0);
}

TEST_CASE("a reader refuses to read past the end, and counts that don't fit") {
  wick::ext::cache_writer out;
  out.number(std::uint64_t{9});
  out.put("12345678", 8);
  for (std::size_t size = 0; size < out.written().size(); ++size) {
    wick::ext::cache_reader in(out.written().first(size));
    const auto read = [&] {
      static_cast<void>(in.number<std::uint64_t>());
      static_cast<void>(in.number<std::uint64_t>());
    };
    CHECK_THROWS_AS(read(), wick::ext::cache_reader::unavailable);
  }
  wick::ext::cache_reader in(out.written());
  CHECK_THROWS_AS(in.count(), wick::ext::cache_reader::unavailable);  // 9 things in 8 bytes
}

TEST_CASE("a reader that fetches continues after its first bytes") {
  struct fetching final : wick::ext::cache_reader {
    explicit fetching(const std::vector<std::byte>& of)
        : cache_reader(std::span(of).first(3)), rest_(std::span(of).subspan(3)) {}
    std::size_t left() const noexcept override { return ready_.size() + rest_.size(); }
    void fetch(std::byte* to, std::size_t size) override {
      if (size > rest_.size()) throw unavailable();
      std::memcpy(to, rest_.data(), size);
      rest_ = rest_.subspan(size);
    }
    std::span<const std::byte> rest_;
  };
  wick::ext::cache_writer out;
  for (std::uint32_t i = 0; i < 5; ++i) out.number(i);
  const std::vector<std::byte> all(out.written().begin(), out.written().end());
  fetching in(all);
  for (std::uint32_t i = 0; i < 5; ++i) CHECK(in.number<std::uint32_t>() == i);
  CHECK_THROWS_AS(in.number<std::uint8_t>(), wick::ext::cache_reader::unavailable);
}

}  // namespace wick_test::cache_bytes_tests

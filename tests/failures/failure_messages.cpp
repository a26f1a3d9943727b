// Messages about a failed sample: they name the stage, the file, and the exception, and say what is left to
// do.
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::failure_messages_tests {

using wick::on_error;

namespace {

/// A source of texts, as read() gives them.
struct texts {
  std::vector<std::string> all;
  std::uint64_t size() const { return all.size(); }
  wick::sample<wick::bytes> at(std::uint64_t i) const {
    return {wick::bytes(all[i].data(), all[i].size()), 0};
  }
};

template <class Pipeline>
std::string first_error(Pipeline p) {
  return message_of([&] {
    wick::loader l(std::move(p), {.workers = 1});
    l.next();
  });
}

/// The text of the first entry in the failure log under a policy.
template <class Pipeline>
std::string logged(Pipeline p, const on_error& policy) {
  wick::loader l(std::move(p), {.workers = 1, .on_error = policy});
  message_of([&] {
    while (l.next()) {
    }
  });
  REQUIRE(!l.failure_log().entries().empty());
  return l.failure_log().entries()[0].text;
}

int breaks(int) { throw std::out_of_range("far out"); }
struct named_callable {
  int operator()(int) const { throw wick::error("no"); }
};
struct other_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string here(int line) { return "failure_messages.cpp:" + std::to_string(line); }

}  // namespace

TEST_CASE("a failure advises on_error::skip only where the policy in force is fail") {
  std::string cut_png = "\x89PNG\r\n\x1a\n";
  cut_png += std::string("\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\0\0\0\0", 25);
  for (const std::string& damaged : {std::string("not a picture"), cut_png, std::string("\xFF\xD8\xFF\xE0"),
                                     std::string("GIF89a\1\0\1\0\0\0\0")}) {
    CAPTURE(damaged.substr(1, 3));
    const auto pictures = [&] {
      return texts{{damaged, damaged}} | wick::decode() | wick::resize(8) | wick::array_batch(2);
    };
    CHECK(contains(logged(pictures(), on_error::fail), "set .on_error = wick::on_error::skip"));
    CHECK(contains(logged(pictures(), on_error::retry(1)), "set .on_error = wick::on_error::skip"));
    for (const on_error& policy :
         {on_error(on_error::skip), on_error(on_error::replace),
          on_error(on_error::retry(1).then(on_error::skip)), on_error().at("decode", on_error::skip)}) {
      const std::string text = logged(pictures(), policy);
      CAPTURE(text);
      CHECK(text.find("on_error") == std::string::npos);
      CHECK(text.size() > 20);
    }
  }
}

namespace app {
namespace {
struct tokenizer {
  int operator()(int) const { throw wick::error("no"); }
};
}  // namespace
}  // namespace app

TEST_CASE("an error of an unnamed callable says where it was written") {
  const auto source = [] { return wick::from(std::vector<int>{1, 2}); };
  const auto throws = [](int) -> int { throw wick::error("no"); };
  [[maybe_unused]] const std::string at_throws = here(__LINE__ - 1);
  CHECK(first_error(source() | wick::map(throws)) == "sample 0: map at " + here(__LINE__) + ": no");
  CHECK(first_error(source() | wick::map("tokenize", throws)) == "sample 0: tokenize: no");
  const auto drops = [](int) -> bool { throw wick::error("no"); };
  CHECK(first_error(source() | wick::filter(drops)) == "sample 0: filter at " + here(__LINE__) + ": no");
  const auto one = [] { return 1; };
  const auto adds = [](int, int) -> int { throw wick::error("no"); };
  const std::string of_per_worker = first_error(source() | wick::per_worker(one, adds));
  CHECK(of_per_worker == "sample 0: per_worker at " + here(__LINE__ - 1) + ": no");
#ifdef __clang__
  CHECK(first_error(source() | throws) == "sample 0: map at " + at_throws + ": no");
#else  // doesn't say on which line a lambda's type was written
  CHECK(contains(first_error(source() | throws), "sample 0: map (lambda ", "): no"));
#endif
  CHECK(first_error(source() | named_callable{}) ==
        "sample 0: map (wick_test::failure_messages_tests::named_callable): no");
  CHECK(contains(first_error(source() | app::tokenizer{}), "sample 0: map (", "app::tokenizer): no"));
  CHECK(first_error(source() | breaks) == "sample 0: map: std::out_of_range: far out");
}

TEST_CASE("the place of an unnamed callable is in no name: policies, the log, and states have \"map\"") {
  const auto throws = [](int x) -> int {
    if (x == 1) throw wick::error("no");
    return x;
  };
  const auto with = [&](auto stage) { return wick::from(std::vector<int>{1, 2}) | stage | wick::group(2); };
  wick::loader l(with(wick::map(throws)), {.on_error = on_error().at("map", on_error::skip)});
  CHECK(l.next()->size() == 1);
  CHECK(l.failure_log().entries()[0].stage == "map");
  const std::vector<std::byte> state = l.state();
  wick::loader other(with(
                         // on another line
                         wick::map(throws)),
                     {.on_error = on_error(on_error::skip)});
  other.load_state(state);
  wick::loader bare(with(throws), {.on_error = on_error(on_error::skip)});
  bare.load_state(state);
}

TEST_CASE("an exception that isn't wick's is reported with its type") {
  const auto throwing = [](auto e) {
    return first_error(wick::from(std::vector<int>{1}) | wick::map("stage", [e](int) -> int { throw e; }));
  };
  CHECK(throwing(std::out_of_range("vector::_M_range_check")) ==
        "sample 0: stage: std::out_of_range: vector::_M_range_check");
  CHECK(contains(throwing(other_error("mine")), "other_error: mine"));
  CHECK(throwing(wick::error("wick's own")) == "sample 0: stage: wick's own");
  CHECK(throwing(std::bad_cast()) == "sample 0: stage: std::bad_cast");
  CHECK(throwing(7) == "sample 0: stage: threw a value of type int, which isn't a std::exception");
}

TEST_CASE("the errors of all of a zipped sample's files name the file") {
  temp_dir dir;
  std::vector<std::string> a, b, c;
  for (const char* name : {"i3.png", "d3.png", "m3.png"}) std::ofstream(dir / name) << "text";
  a = {dir / "i3.png"}, b = {dir / "d3.png"}, c = {dir / "m3.png"};
  const auto error = [&](std::uint64_t most) {
    return first_error(wick::zip(wick::pair_by::position, wick::files(a), wick::files(b), wick::files(c)) |
                       wick::read({.max_bytes = most}));
  };
  const auto error_of_two = [&] {
    return first_error(wick::zip(wick::pair_by::position, wick::files(a), wick::files(b)) | wick::read());
  };
  const std::string keys = a[0] + " + " + b[0];
  CHECK(contains(error(2), "read: " + a[0] + ": has 4 bytes, more than the 2"));
  std::ofstream(b[0]) << "longer";
  CHECK(contains(error(5), "read: " + b[0] + ": has 6 bytes, more than the 5"));
  b[0] = dir / "gone.png";
  CHECK(contains(error(100), "read: " + b[0] + ": can't open it: No such file"));
  CHECK(contains(error_of_two(), "read: " + b[0] + ": can't open it: No such file"));
  c[0] = b[0];
  b[0] = a[0];
  CHECK(contains(error(100), "read: " + c[0] + ": can't open it: No such file"));
}

TEST_CASE("a cache names the stage before it that draws random numbers") {
  const auto draws = [](int x, wick::context& c) { return x + static_cast<int>(c.random().below(5)); };
  const auto error = [&](auto stage) {
    return first_error(wick::from(std::vector<int>{1}) | wick::take(1) | [](int x) { return x; } | stage |
                       wick::cache_in_memory());
  };
  CHECK(contains(error(wick::map("jitter", draws)), "cache_in_memory: jitter, the 3rd stage, draws random"));
  CHECK(contains(error(wick::map(draws)), "map at " + here(__LINE__) + ", the 3rd stage, draws random"));
}

}  // namespace wick_test::failure_messages_tests

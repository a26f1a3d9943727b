#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/core.hpp>
#include <wick/io/remote_list.hpp>

namespace wick_test::remote_list_tests {

namespace {

/// Objects in memory: "mem://0" is the first text.
class texts final : public wick::detail::object_store {
 public:
  explicit texts(std::vector<std::string> all) : all_(std::move(all)) {}
  void begin(wick::detail::remote_read& read) override {
    const std::string& text = all_[static_cast<std::size_t>(read.url[6] - '0')];
    read.object->size = text.size();
    for (std::size_t i = 0; i < read.count; ++i) {
      const auto& p = read.pieces[i];
      read.got = std::min(p.length, text.size() - static_cast<std::size_t>(p.offset));
      std::memcpy(p.to, text.data() + p.offset, read.got);
    }
    read.done(read);
  }
  void call_off(wick::detail::remote_read&) noexcept override {}
  std::size_t at_a_time() const noexcept override { return 1; }
  std::vector<wick::detail::remote_name> names(const std::string&) override { return {}; }
  std::string note() const override { return {}; }

 private:
  std::vector<std::string> all_;
};

}  // namespace

TEST_CASE("a list of objects is taken by files() in the place of paths") {
  wick::remote_list list;
  list.store = std::make_shared<texts>(std::vector<std::string>{"one", "", "three"});
  for (const char* url : {"mem://0", "mem://1", "mem://2"}) list.names.push_back({url});
  const wick::files source(list);
  CHECK(source.size() == 3);
  CHECK(source.key(2) == "mem://2");
  list = {};  // the source keeps the store
  wick::loader l(
      source | wick::read() | [](const wick::bytes& b) { return std::string(b.text()); } | wick::group(3),
      {.workers = 1});
  CHECK(l.next().value() == std::vector<std::string>{"one", "", "three"});
}

}  // namespace wick_test::remote_list_tests

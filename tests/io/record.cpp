#include <memory>

#include "../support/doctest.hpp"
#include <wick/io/record.hpp>

namespace wick_test::record_tests {

using wick::record;
using wick::detail::record_fields;

TEST_CASE("members of a record are found by place, by extension, and by an alternative") {
  const record_fields fields({"jpg;jpeg;png", "json"});
  record<int> r = fields.start<int>("dir/0001");
  r.push_back(10);
  r.push_back(20);
  CHECK(r.key == "dir/0001");
  CHECK(r.size() == 2);
  CHECK(r[0] == 10);
  CHECK(r.at("json") == 20);
  CHECK(r.at("png") == 10);
  int sum = 0;
  for (const int m : r) sum += m;
  CHECK(sum == 30);
}

TEST_CASE("a record of what its members became keeps key and fields, and may be move-only") {
  const record_fields fields({"jpg", "json"});
  record<int> r = fields.start<int>("k");
  r.push_back(1);
  r.push_back(2);
  record<std::unique_ptr<int>> read(r);
  CHECK(read.size() == 0);
  for (const int m : r) read.push_back(std::make_unique<int>(m));
  const record<std::unique_ptr<int>> moved = std::move(read);
  CHECK(moved.key == "k");
  CHECK(*moved.at("json") == 2);
}

TEST_CASE("a member that was not asked for is an error that names the members asked for") {
  const record_fields fields({"jpg;png", "json"});
  record<int> r = fields.start<int>("k");
  r.push_back(1);
  r.push_back(2);
  CHECK_THROWS_WITH_AS(
      r.at("txt"),
      "k: no member \"txt\" was asked for, only \"jpg;png\" \"json\"; name it in the list given to "
      "wick::tar",
      wick::error);
  CHECK_THROWS_AS(record<int>().at("jpg"), wick::error);
}

TEST_CASE("extensions are taken without dot, blanks and case") {
  const record_fields fields({".JPG; .Png", "Seg.PNG"});
  CHECK(fields.find("jpg") == 0);
  CHECK(fields.find("png") == 0);
  CHECK(fields.find("seg.png") == 1);
  CHECK(fields.find("gif") == fields.size());
}

TEST_CASE("lists of members that make no sense are refused") {
  CHECK_THROWS_WITH_AS(record_fields({}), "wick: a record has 1 to 8 members, found 0", wick::error);
  CHECK_THROWS_WITH_AS(record_fields({"a", "b", "c", "d", "e", "f", "g", "h", "i"}),
                       "wick: a record has 1 to 8 members, found 9", wick::error);
  CHECK_THROWS_WITH_AS(record_fields({"jpg;"}),
                       "wick: \"jpg;\" names an empty extension; write \"jpg\" or \"jpg;png\"", wick::error);
  CHECK_THROWS_WITH_AS(record_fields({"jpg;png", "png"}), "wick: the member \"png\" is asked for twice",
                       wick::error);
}

}  // namespace wick_test::record_tests

// Buckets of other makers than AWS: gs://, by HMAC keys and by tokens.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "s3_server.hpp"
#include "server.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/remote.hpp>

using wick_test::contains;
using wick_test::faulty_server;
using wick_test::message_of;
using wick_test::temp_dir;
using wick_test::variables;
using wick_test::write_file;
using contents = std::vector<std::string>;

namespace {

/// Ten files, each of another size: "train/f0.txt", and one beside them.
contents write_files(const temp_dir& folder, const std::string& bucket) {
  contents paths;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "f" + std::to_string(i) + ".txt";
    write_file(folder.path() / bucket / "train" / name,
               std::string(static_cast<std::size_t>(i) * 1000 + 1, static_cast<char>('a' + i)));
    paths.push_back((folder.path() / bucket / "train" / name).string());
  }
  write_file(folder.path() / bucket / "train" / "a b+c%20.txt", "odd");
  return paths;
}

template <class Source>
contents epoch_of(Source source) {
  wick::loader train(source | wick::shuffle() | wick::read() | wick::group(4), {.seed = 1, .workers = 2});
  contents out;
  for (auto& group : train.epoch(0)) {
    for (wick::bytes& b : group) out.emplace_back(b.text());
  }
  return out;
}

}  // namespace

TEST_CASE("gs:// with HMAC keys is read from a server that checks signatures") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  const contents local = epoch_of(wick::files(write_files(folder, "data")));
  const wick_test::s3_server server(folder);
  variables v;
  v.set("STORAGE_EMULATOR_HOST", server.endpoint());
  v.set("GCS_KEY", wick_test::s3_key);
  v.set("GCS_SECRET", wick_test::s3_secret);
  CHECK(epoch_of(wick::files("gs://data/train/f*.txt")) == local);
  CHECK(epoch_of(wick::files("gs://data/train/f{0..9}.txt")) == local);
  CHECK(wick::files("gs://data/train/").size() == 11);
  CHECK(wick::files("gs://data/train/f*.txt").key(0) == "gs://data/train/f0.txt");
  CHECK(wick::image_folder("gs://data/", {.extensions = {".txt"}}).classes() == contents{"train"});
  v.set("GCS_SECRET", "wrongSECRET");
  const std::string wrong = message_of([] { return wick::files("gs://data/*"); });
  CHECK(contains(wrong, "gs://data/*", "403", "credentials"));
  CHECK_FALSE(contains(wrong, "SECRET"));
}

TEST_CASE("gs:// with a token is read without a signature, by list and by name") {
  const temp_dir folder;
  const contents local = epoch_of(wick::files(write_files(folder, "data")));
  const faulty_server server(folder);
  variables v;
  v.set("STORAGE_EMULATOR_HOST", "127.0.0.1:" + std::to_string(server.port()) + "/gcs");
  v.set("GOOGLE_OAUTH_ACCESS_TOKEN", "sesame");
  CHECK(epoch_of(wick::files("gs://data/train/f*.txt")) == local);
  CHECK(epoch_of(wick::files("gs://data/train/f{0..9}.txt")) == local);
  CHECK(epoch_of(wick::files("gs://data/train/a b+c%20.txt")) == contents{"odd"});
  v.set("GOOGLE_OAUTH_ACCESS_TOKEN", "wrong");
  CHECK(contains(message_of([] { return epoch_of(wick::files("gs://data/train/f0.txt")); }),
                 "gs://data/train/f0.txt", "401", "credentials"));
  // The header of the options counts, and no other is sent beside it.
  const wick::remote_options own{.headers = {"authorization: Bearer sesame"}};
  CHECK(epoch_of(wick::files(wick::remote("gs://data/train/f*.txt", own))) == local);
  v.set("GOOGLE_OAUTH_ACCESS_TOKEN", "se\nsame");
  CHECK(contains(message_of([] { return wick::files("gs://data/*"); }), "gs://data/*",
                 "a character that none has"));
}

TEST_CASE("gs:// on a virtual machine has its service account's tokens, and others when they end") {
  const temp_dir folder;
  const contents local = epoch_of(wick::files(write_files(folder, "data")));
  const faulty_server server(folder);
  variables v;
  v.set("STORAGE_EMULATOR_HOST", server.origin() + "/gcs");
  v.set("GCE_METADATA_HOST", "127.0.0.1:" + std::to_string(server.port()));
  {
    const wick::files source("gs://data/train/f*.txt");
    for (int epoch = 0; epoch < 6; ++epoch) {  // tokens of 3 s
      CHECK(epoch_of(source) == local);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
  v.set("NO_GCE_CHECK", "true");
  CHECK(contains(message_of([] { return wick::files("gs://data/*"); }), "gs://data/*", "GCS_KEY",
                 ".anonymous = true"));
}

TEST_CASE("settings of Google's stores come from the environment, and no message has a secret") {
  using wick::detail::find_google_role, wick::detail::find_google_settings, wick::detail::parse_google_token;
  using kind = wick::detail::aws_role::kind;
  variables v;
  CHECK(find_google_role().of == kind::google_instance);
  CHECK(find_google_role().url == "http://metadata.google.internal");
  CHECK(find_google_role({.anonymous = true}).of == kind::none);
  CHECK(find_google_settings({.anonymous = true}).endpoint == "https://storage.googleapis.com");
  v.set("CLOUDSDK_AUTH_ACCESS_TOKEN", " token\n");
  CHECK(find_google_role().of == kind::none);
  CHECK(find_google_settings().is_token);
  CHECK(find_google_settings().access_key == "token");
  v.set("GCS_KEY", "hidden");
  CHECK(contains(message_of([] { return find_google_settings(); }), "GCS_SECRET is missing"));
  v.set("GCS_SECRET", "hid den");
  const std::string message = message_of([] { return find_google_settings(); });
  CHECK(contains(message, "a character that none has"));
  CHECK_FALSE(contains(message, "hid"));
  v.set("GCS_SECRET", "secret");
  CHECK_FALSE(find_google_settings().is_token);
  CHECK(find_google_settings().secret_key == "secret");
  CHECK(parse_google_token(R"({"access_token":"a.b","expires_in":3599,"token_type":"Bearer"})", 100).ends ==
        3699);
  for (const std::string_view text :
       {"", "[]", "{}", R"({"access_token":"hid\nden","expires_in":1})", R"({"access_token":7})",
        R"({"expires_in":-1,"access_token":"hidden"})"}) {
    const std::string why = message_of([&] { return parse_google_token(text, 0), 0; });
    CHECK(why != "");
    CHECK_FALSE(contains(why, "hid"));
  }
}

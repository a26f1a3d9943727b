// Buckets of other makers than AWS: gs:// by HMAC keys and by tokens, az:// by signatures.
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
#include <wick/stores/detail/azure_locator.hpp>
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

TEST_CASE("az:// is read by a signature of the environment or a SAS URL, which no message shows") {
  const temp_dir folder;
  const contents local = epoch_of(wick::files(write_files(folder, "account/data")));
  write_file(folder.path() / "account/data/odd/a&b<c>\x01.txt", "of another alphabet");
  const faulty_server server(folder);
  const std::string endpoint = server.origin() + "/az/account",
                    sas = "sv=2021-12-02&se=2999-01-01T00%3A00%3A00Z&sp=rl&sig=a%2B%2Fb%3D";
  variables v;
  v.set("AZURE_STORAGE_SERVICE_ENDPOINT", endpoint);
  v.set("AZURE_STORAGE_SAS_TOKEN", "?" + sas);
  CHECK(epoch_of(wick::files("az://data/train/f*.txt")) == local);
  CHECK(epoch_of(wick::files("az://data/train/f{0..9}.txt")) == local);
  CHECK(wick::files("az://data/train/").size() == 11);
  CHECK(epoch_of(wick::files("az://data/train/a b+c%20.txt")) == contents{"odd"});
  CHECK(epoch_of(wick::files("az://data/odd/*")) == contents{"of another alphabet"});
  CHECK(wick::files("az://data/train/f*.txt").key(0) == "az://data/train/f0.txt");
  CHECK(wick::image_folder("az://data/", {.extensions = {".txt"}}).classes() == contents{"odd", "train"});
  const auto before = wick::files("az://data/train/f*.txt").fingerprint();
  write_file(folder.path() / "account/data/train/f3.txt", "another");
  CHECK(wick::files("az://data/train/f*.txt").fingerprint() != before);
  CHECK(contains(message_of([] { return wick::files("az://data/none*"); }), "az://data/none*",
                 "matches no object"));

  v.set("AZURE_STORAGE_SAS_TOKEN", "se=2999&sig=hidden");
  for (const char* const pattern : {"az://data/train/f0.txt", "az://data/train/*"}) {
    const std::string message = message_of([&] { return epoch_of(wick::files(pattern)); });
    CHECK(contains(message, pattern, "403", "AuthenticationFailed", "AZURE_STORAGE_SAS_TOKEN"));
    CHECK_FALSE(contains(message, "hidden"));
  }
  // The options count before the environment; the SAS URL of a container names it.
  for (const char* const of : {"", "/data"}) {
    const wick::remote_options own{.endpoint = endpoint + of + "?" + sas};
    CHECK(epoch_of(wick::files(wick::remote("az://data/train/f{1,2}.txt", own))).size() == 2);
    CHECK(wick::files(wick::remote("az://data/train/*", own)).size() == 11);
  }
}

TEST_CASE("a signature that ends is replaced by that of the environment") {
  const temp_dir folder;
  write_files(folder, "account/data");
  const faulty_server server(folder);
  variables v;
  v.set("AZURE_STORAGE_SERVICE_ENDPOINT", server.origin() + "/az/account");
  v.set("AZURE_STORAGE_SAS_TOKEN", "se=2999&sig=few");
  {
    wick::loader train(wick::files("az://data/train/f{0..9}.txt") | wick::read() | wick::group(1),
                       {.workers = 1, .prefetch = 1});
    int got = 0;
    for (auto& group : train.epoch(0)) {
      CHECK(group.size() == 1);
      if (++got == 1) v.set("AZURE_STORAGE_SAS_TOKEN", "se=2999&sig=a%2B%2Fb%3D");
    }
    CHECK(got == 10);
  }
  v.set("AZURE_STORAGE_SAS_TOKEN", "se=2999&sig=few");
  CHECK(contains(message_of([] { return epoch_of(wick::files("az://data/train/f{0..9}.txt")); }), "403"));
}

TEST_CASE("settings of Azure and its addresses are checked") {
  using wick::detail::find_azure_settings, wick::detail::parse_azure_address, wick::detail::parse_azure_page;
  variables v;
  CHECK(contains(message_of([] { return find_azure_settings(""); }), "AZURE_STORAGE_ACCOUNT"));
  v.set("AZURE_STORAGE_ACCOUNT", "Mine");
  CHECK(contains(message_of([] { return find_azure_settings(""); }), "\"Mine\"", "no name of an account"));
  v.set("AZURE_STORAGE_ACCOUNT", "mine");
  CHECK(contains(message_of([] { return find_azure_settings(""); }), "AZURE_STORAGE_SAS_TOKEN",
                 ".anonymous = true"));
  CHECK(find_azure_settings("", {.anonymous = true}).origin == "https://mine.blob.core.windows.net");
  for (const char* const wrong : {"sv=2021", "sig=hid den", "sig=hidden#", "mysig=hidden"}) {
    v.set("AZURE_STORAGE_SAS_TOKEN", wrong);
    const std::string message = message_of([] { return find_azure_settings(""); });
    CHECK(contains(message, "copy AZURE_STORAGE_SAS_TOKEN again"));
    CHECK_FALSE(contains(message, "hid"));
  }
  CHECK(parse_azure_address("az://$web/a b/?#").blob == "a b/?#");
  for (const char* const wrong :
       {"az://", "az://ab/x", "az://Data/x", "az://data_1/x", "az://data@mine.blob.core.windows.net/x",
        "az://mine.blob.core.windows.net/data/x", "az://data?sig=hidden"}) {
    const std::string message = message_of([&] { return parse_azure_address(wrong); });
    CHECK(contains(message, "write az://CONTAINER/BLOB"));
  }
  for (const char* const wrong :
       {"", "<Error><Code>C</Code></Error>", "<List/>", "<EnumerationResults>",
        "<EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs></EnumerationResults>",
        "<EnumerationResults><Blobs><Blob><Name Encoded='true'>%</Name><Properties><Content-Length>1"
        "</Content-Length></Properties></Blob></Blobs></EnumerationResults>"})
    CHECK(contains(message_of([&] { return parse_azure_page(wrong, "az://data/"), 0; }), "az://data/"));
}

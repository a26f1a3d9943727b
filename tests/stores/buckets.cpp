// Buckets of other makers than AWS: gs:// by HMAC keys and by tokens, az:// by signatures, hf:// by
// tokens and redirects.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "epoch_of.hpp"
#include "s3_server.hpp"
#include "server.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/sources/tar.hpp>
#include <wick/stores/detail/azure_locator.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/detail/hub_locator.hpp>
#include <wick/stores/remote.hpp>
#include <wick/tables/csv.hpp>

namespace wick_test::buckets_tests {

using wick_test::contains;
using wick_test::contents;
using wick_test::epoch_of;
using wick_test::faulty_server;
using wick_test::message_of;
using wick_test::temp_dir;
using wick_test::variables;
using wick_test::write_file;
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
  CHECK(
      contains(message_of([] { return find_azure_settings(""); }), "\"Mine\"", "can't be an account's name"));
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
        "az://mine.blob.core.windows.net/data/x", "az://data?sig=hidden", "az://data/x?sv=1&sig=hidden"}) {
    const std::string message = message_of([&] { return parse_azure_address(wrong); });
    CHECK(contains(message, "write az://CONTAINER/BLOB"));
    CHECK_FALSE(contains(message, "hidden"));
  }
  const std::string of_list =
      message_of([] { return epoch_of(wick::files(contents{"az://data/x?sig=hidden"})); });
  CHECK(contains(of_list, "az://data/x", "has a signature"));
  CHECK_FALSE(contains(of_list, "hidden"));
  for (const char* const wrong :
       {"", "<Error><Code>C</Code></Error>", "<List/>", "<EnumerationResults>",
        "<EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs></EnumerationResults>",
        "<EnumerationResults><Blobs><Blob><Name Encoded='true'>%</Name><Properties><Content-Length>1"
        "</Content-Length></Properties></Blob></Blobs></EnumerationResults>"})
    CHECK(contains(message_of([&] { return parse_azure_page(wrong, "az://data/"), 0; }), "az://data/"));
}

TEST_CASE("hf:// is read as of one commit, by redirects that end, and the token stays with the Hub") {
  const temp_dir folder, home;
  const std::string main(40, 'a');
  const contents local = epoch_of(wick::files(write_files(folder, main)));
  write_file(folder.path() / std::string(40, 'b') / "default" / "x.txt", std::string(3000, 'x'));
  const faulty_server server(folder);
  variables v;
  v.set("HF_ENDPOINT", server.origin() + "/hub");
  v.set("HF_HOME", home.path().string());
  for (const char* const data_set : {"set", "set@main", "set@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const std::string at = std::string("hf://datasets/me/") + data_set;
    CHECK(epoch_of(wick::files(at + "/train/f*.txt")) == local);
    CHECK(epoch_of(wick::files(at + "/train/f{0..9}.txt")) == local);
    CHECK(wick::files(at + "/").size() == 11);
    CHECK(wick::files(at + "/train/f*.txt").key(3) == "hf://datasets/me/set@" + main + "/train/f3.txt");
    CHECK(wick::image_folder(at + "/", {.extensions = {".txt"}}).classes() == contents{"train"});
    const wick::files named(contents{at + "/train/f1.txt", at + "/train/f9.txt"});
    CHECK(named.key(1) == "hf://datasets/me/set@" + main + "/train/f9.txt");
    CHECK(epoch_of(named).size() == 2);
  }
  CHECK(epoch_of(wick::files("hf://datasets/me/set@refs/convert/parquet/default/*")) ==
        contents{std::string(3000, 'x')});
  CHECK(epoch_of(wick::files("hf://datasets/me/set@refs%2Fconvert%2Fparquet/default/x.txt")).size() == 1);
  CHECK(epoch_of(wick::files("hf://datasets/me/set/train/a b+c%20.txt")) == contents{"odd"});

  for (const char* const pattern :
       {"hf://datasets/me/gated/train/*", "hf://datasets/me/gated/train/f1.txt"}) {
    v.set("HF_TOKEN", "hidden");
    const std::string message = message_of([&] { return epoch_of(wick::files(pattern)); });
    CHECK(contains(message, "hf://datasets/me/gated", "401", "restricted", "HF_TOKEN"));
    CHECK_FALSE(contains(message, "hidden"));
    v.set("HF_TOKEN", "");
    write_file(home.path() / "token", "hf_sesame\n");
    CHECK(epoch_of(wick::files(pattern)).size() > 0);
    const wick::remote_options own{.headers = {"Authorization: Bearer hf_sesame"}};
    CHECK(epoch_of(wick::files(wick::remote(pattern, own))).size() > 0);
  }
  CHECK(contains(message_of([] { return wick::files("hf://datasets/me/set@no/train/*"); }),
                 "hf://datasets/me/set@no/train/*", "404", "Invalid rev id: no"));
  CHECK(contains(message_of([] { return wick::files("hf://datasets/me/none/x"); }), "Repository not found"));
  CHECK(contains(message_of([] { return epoch_of(wick::files("hf://datasets/me/set/gone.txt")); }),
                 "gone.txt", "404"));

  // A list in a table is of one commit, which is asked for once.
  write_file(home.path() / "list.csv", "name,label\ntrain/f2.txt,0\ntrain/f7.txt,1\n");
  const wick::csv list((home.path() / "list.csv").string());
  write_files(folder, std::string(40, 'c'));
  const wick::files listed = list.files("name", {.root = "hf://datasets/me/set@v1.0"});
  CHECK(server.count("/hub/api/datasets/me/set/revision/v1.0") == 1);
  CHECK(listed.key(1) == "hf://datasets/me/set@" + std::string(40, 'c') + "/train/f7.txt");
  CHECK(epoch_of(listed).size() == 2);
}

TEST_CASE("a shard on the Hub is asked for once, and its content's server for each sample until it refuses") {
  const temp_dir folder;
  wick_test::tar_writer tar;
  for (int i = 0; i < 40; ++i)
    tar.add(std::to_string(i) + ".txt", std::string(5000, static_cast<char>('a' + i % 26)));
  write_file(folder.path() / std::string(40, 'a') / "train.tar", tar.done());
  const faulty_server server(folder);
  variables v;
  v.set("HF_ENDPOINT", server.origin() + "/hub");
  v.set("HF_HOME", folder.path().string());
  wick::loader train(wick::tar("hf://datasets/me/set/train.tar", {"txt"}) | wick::read() | wick::group(1),
                     {.workers = 1, .prefetch = 1});
  for (int epoch = 0; epoch < 5; ++epoch) {  // signatures of 3 s
    server.forget();
    int got = 0;
    for (auto& group : train.epoch(epoch)) got += static_cast<int>(group.size());
    CHECK(got == 40);
    CHECK(server.count("requests") <= 40 + 12);  // not 80: some are refused, or sent twice
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  }
}

TEST_CASE("addresses, answers, and settings of the Hub are checked") {
  using wick::detail::find_hub_settings, wick::detail::parse_hub_address, wick::detail::parse_hub_revision;
  const auto full = parse_hub_address("hf://datasets/o-1/n.a_m@refs/pr/7/a b/c?.txt");
  CHECK(full.data_set == "o-1/n.a_m");
  CHECK(full.revision == "refs/pr/7");
  CHECK(full.path == "a b/c?.txt");
  CHECK(full.text() == "hf://datasets/o-1/n.a_m@refs%2Fpr%2F7/a b/c?.txt");
  CHECK(parse_hub_address("hf://datasets/o/n/x@y/z").path == "x@y/z");
  CHECK(parse_hub_address("hf://datasets/o/n/x").revision == "main");
  for (const char* const wrong :
       {"hf://", "hf://o/n/x", "hf://datasets/n", "hf://datasets/n@main/x", "hf://datasets/o/n",
        "hf://datasets/o/n@/x", "hf://datasets/o/n@main", "hf://datasets/o/n@refs/pr/7",
        "hf://datasets/o/../x", "hf://datasets//n/x", "hf://datasets/o/n@%/x", "hf://datasets/o/n?x/y"})
    CHECK(contains(message_of([&] { return parse_hub_address(wrong); }),
                   "write hf://datasets/OWNER/NAME@REVISION/PATH"));
  for (const char* const wrong :
       {"", "[]", "{}", R"({"sha":"main"})", R"({"sha":7})",
        R"({"sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","siblings":[{"size":-1}]})"})
    CHECK(message_of([&] { return parse_hub_revision(wrong), 0; }) != "");
  const temp_dir home;
  variables v;
  v.set("HF_HOME", home.path().string());
  CHECK(find_hub_settings("").origin == "https://huggingface.co");
  CHECK(find_hub_settings("").token.empty());
  write_file(home.path() / "token", "hid\nden");
  CHECK(contains(message_of([] { return find_hub_settings(""); }), "hf auth login"));
  CHECK_FALSE(contains(message_of([] { return find_hub_settings(""); }), "hid"));
  CHECK(find_hub_settings("", {.anonymous = true}).token.empty());
  write_file(home.path() / "other", " hf_x ");
  v.set("HF_TOKEN_PATH", (home.path() / "other").string());
  CHECK(find_hub_settings("").token == "hf_x");
  v.set("HF_TOKEN", "hf_y");
  CHECK(find_hub_settings("").token == "hf_y");
}

}  // namespace wick_test::buckets_tests

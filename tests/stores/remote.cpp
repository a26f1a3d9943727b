// Files and shards on real servers: the same batches as from the disk, and what becomes of each fault.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include "epoch_of.hpp"
#include "hang_message.hpp"
#include "server.hpp"
#include "support/doctest.hpp"
#include "support/in_a_child.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/tar.hpp>
#include <wick/stores/remote.hpp>

namespace wick_test::remote_tests {

using wick_test::contains;
using wick_test::contents;
using wick_test::epoch_of;
using wick_test::faulty_server;
using wick_test::message_of;
using wick_test::temp_dir;
using wick_test::write_file;

namespace {

std::string some_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(n, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

/// Names of files from empty to some hundred KB, in a folder.
std::vector<std::string> some_files(const temp_dir& folder, std::size_t n) {
  constexpr std::size_t sizes[] = {1, 1000, 131'072, 131'073, 400'000, 70'000, 0};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) {
    names.push_back("f" + std::to_string(i) + ".bin");
    write_file(folder.path() / names.back(),
               some_bytes(sizes[i % std::size(sizes)], static_cast<unsigned>(i)));
  }
  return names;
}

/// Requests fail for good after so many seconds.
wick::remote_options patient(double seconds, std::optional<std::size_t> threads = {}) {
  return {.threads = threads,
          .give_up_after = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds))};
}

/// How many threads of this process talk to servers.
std::size_t net_threads() {
  std::size_t n = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;  // empty if the thread has just ended
    std::getline(std::ifstream(task.path() / "comm"), name);
    n += name.starts_with("wick-net") ? 1u : 0u;
  }
  return n;
}

std::string read_one(const wick::files& source, std::size_t i = 0) {
  wick::context c({});
  auto reading = wick::read()(source.at(i), c);
  static_cast<void>(reading.await_ready());  // it waits, without a loader
  return std::string(reading.await_resume().text());
}
std::string read_one(const std::string& url, const wick::remote_options& options = {}) {
  return read_one(wick::files(wick::remote(url, options)));
}

}  // namespace

TEST_CASE("files on a server give the batches that they give from the disk") {
  const temp_dir folder;
  const std::vector<std::string> names = some_files(folder, 40);
  const wick_test::nginx server(folder);
  std::vector<std::string> paths, urls, secure;
  for (const std::string& n : names) {
    paths.push_back((folder.path() / n).string());
    urls.push_back(server.url(n));
    secure.push_back(server.tls_url(n));
  }
  const contents local = epoch_of(wick::files(paths));
  CHECK(epoch_of(wick::files(wick::remote(urls))) == local);
  CHECK(epoch_of(wick::files(urls)) == local);  // as they are
  CHECK(epoch_of(wick::files(server.url("f{0..39}.bin"))) == local);
  CHECK(epoch_of(wick::files(wick::remote(secure, {.ca_file = server.certificate()}))) == local);
  CHECK(wick::files(urls).fingerprint() == wick::files(paths).fingerprint());
  CHECK(
      contains(message_of([&] { return epoch_of(wick::files(wick::remote(secure))); }), "f", "certificate"));
}

TEST_CASE("shards on a server give the records that they give from the disk, one request a record") {
  const temp_dir folder;
  for (int shard = 0; shard < 3; ++shard) {
    wick_test::tar_writer tar;
    for (int i = 0; i < 20; ++i) {
      const std::string key = "k" + std::to_string(shard * 20 + i);
      tar.add(key + ".cls", std::to_string(i))
          .add(key + ".jpg", some_bytes(3000 * i, i))
          .add(key + ".json", "{}");
    }
    write_file(folder.path() / ("s" + std::to_string(shard) + ".tar"), tar.done());
  }
  const auto records = [](auto&& shards, wick::tar_options options = {}) {
    auto source = wick::tar(shards, {"jpg", "json", "cls"}, options);
    wick::loader train(source | wick::shuffle() | wick::read() | wick::group(4),
                       {.seed = 1, .workers = 2, .prefetch_next_epoch = false});
    contents out{std::to_string(source.fingerprint())};
    for (auto& group : train.epoch(0)) {
      for (auto& r : group) {
        out.emplace_back(r.key);
        for (const wick::bytes& b : r) out.emplace_back(b.text());
      }
    }
    return out;
  };
  const std::string local = (folder.path() / "s{0..2}.tar").string();
  const contents expected = records(local);
  faulty_server server(folder);
  const std::string remote = server.url("ok", "s{0..2}.tar");
  CHECK(records(wick::remote(remote)) == expected);
  CHECK(records(remote) == expected);

  SUBCASE("with an index beside the shard, which is one request more") {
    for (const std::string& shard : wick::shard_list(local).paths) CHECK(wick::write_tar_index(shard) == 60);
    server.forget();
    CHECK(records(wick::remote(remote, {.hedge = false})) == expected);
    CHECK(server.count("requests") == 3 + 60);
    CHECK(server.count("connections") <= 8 * 4 + 2);  // for the samples ahead, and those that ask here
  }
  SUBCASE("with the index kept on this machine") {
    const temp_dir cache;
    ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    CHECK(records(remote, {.keep_index = true}) == expected);
    const auto source = wick::tar(remote, {"jpg", "json", "cls"}, {.keep_index = true});
    CHECK(source.bytes_scanned() == 0);
    const auto signed_again =
        wick::tar(server.url("ok", "s0.tar?signed=2"), {"jpg", "json", "cls"}, {.keep_index = true});
    CHECK(signed_again.bytes_scanned() == 0);
    write_file(folder.path() / "s1.tar",
               wick_test::tar_writer().add("new.jpg", "1").add("new.json", "2").add("new.cls", "3").done());
    CHECK(wick::tar(remote, {"jpg", "json", "cls"}, {.keep_index = true}).size() == 41);  // it was replaced
    ::unsetenv("XDG_CACHE_HOME");
  }
  SUBCASE("of a server that doesn't tell one state of an object from the next none is kept") {
    const temp_dir cache;
    ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    for (int i = 0; i < 2; ++i) {
      const auto source =
          wick::tar(server.url("undated", "s0.tar"), {"jpg", "json", "cls"}, {.keep_index = true});
      CHECK(source.bytes_scanned() > 0);
      CHECK(contains(source.note(), "neither ETag nor Last-Modified"));
    }
    ::unsetenv("XDG_CACHE_HOME");
  }
  SUBCASE("where another user may write the index none is kept") {
    const char* const home = std::getenv("HOME");
    const std::string had = home == nullptr ? "" : home;
    const temp_dir shared;
    write_file(shared.path() / ("wick-" + std::to_string(::geteuid())));  // no folder
    ::unsetenv("HOME");
    ::setenv("TMPDIR", shared.path().c_str(), 1);
    for (int i = 0; i < 2; ++i) {
      const auto source = wick::tar(server.url("ok", "s0.tar"), {"jpg", "json", "cls"}, {.keep_index = true});
      CHECK(source.size() == 20);
      CHECK(source.bytes_scanned() > 0);
      CHECK(contains(source.note(), "HOME is not set"));
    }
    ::unsetenv("TMPDIR");
    if (home != nullptr) ::setenv("HOME", had.c_str(), 1);
  }
  CHECK(contains(message_of([&] { return wick::tar(server.url("ok", "none.tar"), {"jpg"}); }),
                 server.url("ok", "none.tar"), "tar", "404 Not Found"));
}

TEST_CASE("faults that pass change nothing") {
  const temp_dir folder;
  const std::vector<std::string> names = some_files(folder, 14);
  std::vector<std::string> paths;
  for (const std::string& n : names) paths.push_back((folder.path() / n).string());
  const contents local = epoch_of(wick::files(paths));
  const faulty_server server(folder);
  for (const char* kind : {"ok", "part200", "late", "busy", "cut", "reset", "norange", "moved", "storm"}) {
    CAPTURE(kind);
    std::vector<std::string> urls;
    for (const std::string& n : names) urls.push_back(server.url(kind, n));
    CHECK(epoch_of(wick::files(wick::remote(urls))) == local);
    server.forget();
    CHECK(epoch_of(wick::files(wick::remote(urls, {.threads = 3}))) == local);
  }
}

TEST_CASE("requests are spread over as many threads as the option says, which end with the source") {
  const temp_dir folder;
  std::vector<std::string> urls;
  const faulty_server server(folder);
  for (int i = 0; i < 60; ++i) {
    write_file(folder.path() / std::to_string(i), "content");
    urls.push_back(server.url("late", std::to_string(i)));
  }
  // Whether an epoch starts so many; those of the epoch before may just be ending.
  const auto starts = [&](std::size_t threads, const wick::remote_options& options) {
    wick::loader train(wick::files(wick::remote(urls, options)) | wick::read() | wick::group(20),
                       {.workers = 2, .prefetch_next_epoch = false});
    for (auto& group : train.epoch(0)) CHECK(group.size() == 20);
    return wick_test::eventually([&] { return net_threads() == threads; });
  };
  CHECK(starts(1, {.threads = 1}));
  CHECK(starts(3, {.threads = 3}));
  CHECK(starts(1, {.requests = 12, .threads = 3}));  // eight requests at a time for each
  server.forget();
  CHECK(starts(3, {.requests = 24, .threads = 3, .hedge = false}));
  CHECK(server.count("connections") <= 25);  // of all threads, and the one that asks this
  CHECK(wick_test::eventually([] { return net_threads() == 0; }));
}

TEST_CASE("a large answer of a server without ranges may break off") {
  const temp_dir folder;
  const std::string large = some_bytes(std::size_t{3} << 20, 1);
  write_file(folder.path() / "a.bin", large);
  const faulty_server server(folder);
  CHECK(read_one(server.url("whole_cut", "a.bin")) == large);
  CHECK(server.count("requests") == 3);
}

TEST_CASE("a server that is gone keeps no reads of another waiting") {
  for (const std::size_t threads : {1u, 3u}) {
    CAPTURE(threads);
    const temp_dir folder;
    const std::vector<std::string> names = some_files(folder, 20);
    const faulty_server server(folder);
    std::vector<std::string> urls;
    // One that is there first: else a training of which none is good would end.
    urls.push_back(server.url("ok", names[0]));
    for (int i = 0; i < 80; ++i) urls.push_back("http://127.0.0.1:1/" + std::to_string(i));
    for (std::size_t i = 1; i < names.size(); ++i) urls.push_back(server.url("ok", names[i]));
    wick::loader l(wick::files(wick::remote(urls, patient(8, threads))) | wick::read(),
                   {.prefetch = 100, .in_flight = 100, .on_error = wick::on_error::skip});
    const auto begun = std::chrono::steady_clock::now();
    l.epoch(0);
    while (server.count("requests") < 20 &&
           std::chrono::steady_clock::now() - begun < std::chrono::seconds(7))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(server.count("requests") >= 20);  // before the first of the others is given up
    std::size_t good = 0;
    while (l.next()) ++good;
    CHECK(good == 20);
    CHECK(l.failure_log().total() == 80);
    l.write_quarantine((folder.path() / "list").string());
    CHECK_FALSE(contains(wick_test::read_file(folder.path() / "list"), "index"));  // the samples may be good
    for (const auto& entry : l.failure_log().entries()) CHECK(contains(entry.text, "for 8 s"));
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(40));  // in turn: a minute
  }
}

TEST_CASE("what a server does wrong is an error of the sample that says what it is") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", some_bytes(300'000, 1));
  const faulty_server server(folder);
  const auto message = [&](const char* kind, wick::remote_options options = patient(1)) {
    const auto begun = std::chrono::steady_clock::now();
    const std::string out = message_of([&] { return read_one(server.url(kind, "a.bin"), options); });
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
    return out;
  };
  CHECK(contains(message("shifted"), "sends bytes 1 to", "for bytes 0 to"));
  CHECK(contains(message("nosay"), "206 without Content-Range"));
  CHECK(contains(message("unsized"), "doesn't say how long it is"));
  CHECK(contains(message_of([&] {
                   wick::loader l(wick::files(wick::remote(server.url("unsized", "a.bin"), patient(1))) |
                                  wick::read({.max_bytes = 0}));
                   return l.next().value().size();
                 }),
                 server.url("unsized", "a.bin")));
  CHECK(contains(message_of([&] {
                   wick::loader l(wick::files(wick::remote(server.url("norange", "a.bin"), patient(1))) |
                                  wick::read({.max_bytes = 0}));
                   return l.next().value().size();
                 }),
                 "has 300000 bytes"));
  CHECK(contains(message("changing"), "was changed on the server"));
  write_file(folder.path() / "b0.bin", some_bytes(300, 1));
  CHECK(contains(message_of([&] { return read_one(server.url("strict", "b0.bin")); }), "416"));
  CHECK(contains(message("headers"), "256 KiB of headers"));
  CHECK(contains(message("refusal"), "403 Forbidden", "no no", "check the credentials"));
  CHECK(contains(message("circle"), "redirects"));
  CHECK(contains(message("hops"), "redirects"));
  CHECK(contains(message("to_ftp"), "Protocol \"ftp\" not supported"));
  CHECK(contains(message("later"), "503", "for 1 s"));
  CHECK(message("endless") == "");
  CHECK(contains(message("slow_headers", {.give_up_after = std::chrono::seconds(2),
                                          .stalled_after = std::chrono::seconds(1)}),
                 "for 2 s"));
  CHECK(contains(
      message("hang", {.give_up_after = std::chrono::seconds(1), .stalled_after = std::chrono::seconds(1)}),
      "for 1 s"));
  CHECK(contains(
      message("drip", {.give_up_after = std::chrono::seconds(2), .stalled_after = std::chrono::seconds(1)}),
      "for 2 s"));
  CHECK(contains(message_of([&] { return read_one(server.url("ok", "b.bin")); }), "404 Not Found",
                 "check the URL"));
  CHECK(contains(message_of([&] { return read_one("http://127.0.0.1:1/a", patient(0.5)); }), "attempts"));
  CHECK(contains(
      message_of([] { return wick::tar(wick::remote("http://127.0.0.1:1/a.tar", patient(0.3)), {"jpg"}); }),
      "http://127.0.0.1:1/a.tar.wickidx", "attempts"));  // the shard is not tried for as long again
  ::setenv("http_proxy", "http://user:s3cr/et@127.0.0.1:1", 1);
  const std::string proxy = message_of([&] { return read_one("http://127.0.0.1:1/a", patient(0.3)); });
  ::unsetenv("http_proxy");
  CHECK(contains(proxy, "check http_proxy"));
  CHECK_FALSE(contains(proxy, "s3cr"));
  CHECK(contains(message_of([&] { return wick::remote("ftp://host/a"); }), "ftp://host/a", "https://",
                 "s3://"));
  CHECK(contains(message_of([&] { return wick::remote("a/b"); }), "a/b", "https://"));
  CHECK(
      contains(message_of([&] { return wick::remote("http://host/*.tar"); }), "several names", "{000..146}"));
  CHECK(contains(message_of([&] { return wick::remote(std::vector<std::string>()); }), "empty"));
}

TEST_CASE("headers are sent, to no other host, and are not shown") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const faulty_server server(folder);
  const wick::remote_options secret{.headers = {"Authorization: Bearer open sesame"}};
  CHECK(read_one(server.url("secret", "a.bin"), secret) == "content");
  CHECK(contains(message_of([&] { return read_one(server.url("secret", "a.bin")); }), "401", "credentials"));
  // Of this header curl knows that it's for one host.
  CHECK(read_one(server.url("moved", "a.bin"), secret) == "content");
  CHECK(read_one(server.url("away", "a.bin"), secret) == "content");
  const wick::remote_options key{.headers = {"Authorization: Bearer open sesame", "X-Key: open sesame"}};
  const std::string moved = message_of([&] { return read_one(server.url("moved", "a.bin"), key); });
  CHECK(contains(moved, "302", "/ok/a.bin", "no other host"));
  CHECK_FALSE(contains(moved, "sesame"));
  const std::string to_signed = message_of([&] { return read_one(server.url("signed", "a.bin"), key); });
  CHECK(contains(to_signed, "302", "/ok/a.bin"));
  CHECK_FALSE(contains(to_signed, "s3cret"));

  // After a request without headers, whose redirect is followed, on the same connection.
  const wick::files both(
      wick::remote({server.url("moved", "a.bin"), "az://container/a.bin"},
                   {.requests = 1, .endpoint = server.origin() + "/moved", .anonymous = true}));
  CHECK(read_one(both) == "content");
  CHECK(contains(message_of([&] { return read_one(both, 1); }), "302", "/ok/a.bin", "no other host"));
  CHECK(read_one(both) == "content");

  // A name and a password, and a signature in the query.
  std::string url = server.url("ok", "gone.bin?X-Signature=sesame");
  url.insert(url.find("//") + 2, "me:sesame@");
  const std::string shown = server.url("ok", "gone.bin");
  const wick::files source(wick::remote(url));
  CHECK(source.key(0) == shown);
  wick::loader train(source | wick::read() | wick::group(1));
  const std::string text = message_of([&] {
    for (auto& group : train.epoch(0)) static_cast<void>(group);
    return 0;
  });
  CHECK(contains(text, shown, "read"));
  CHECK_FALSE(contains(text, "sesame"));
  CHECK_FALSE(contains(train.report().to_json(), "sesame"));
  const std::string too_many =
      message_of([] { return wick::remote("https://me:sesame@host/{0..2000000}.jpg?sig=sesame"); });
  CHECK(contains(too_many, "https://host/{0..2000000}.jpg", "a million"));
  CHECK_FALSE(contains(too_many, "sesame"));
  // Another signature is the same data, another id is not.
  const auto fingerprint = [&](const char* query) {
    return wick::files(wick::remote(server.url("ok", std::string("a.bin") + query))).fingerprint();
  };
  CHECK(fingerprint("?sig=1&se=2026") == fingerprint("?sig=2&se=2027"));
  CHECK(fingerprint("?X-Amz-Date=1&x-amz-signature=2") == fingerprint(""));
  CHECK(fingerprint("?id=1&Signature=1") == fingerprint("?id=1&Signature=2"));
  CHECK(fingerprint("?id=1") != fingerprint("?id=2"));
  CHECK(fingerprint("?se=1") != fingerprint("?se=2"));
}

TEST_CASE("a server that is killed in mid-epoch and started again loses no sample") {
  for (const std::size_t threads : {1u, 3u}) {
    CAPTURE(threads);
    const temp_dir folder;
    const std::vector<std::string> names = some_files(folder, 60);
    std::vector<std::string> paths, urls;
    std::optional<faulty_server> server(std::in_place, folder);
    const int port = server->port();
    for (const std::string& n : names) {
      paths.push_back((folder.path() / n).string());
      urls.push_back(server->url("late", n));
    }
    const contents local = epoch_of(wick::files(paths));
    wick::loader train(wick::files(wick::remote(urls, {.threads = threads})) | wick::shuffle() |
                           wick::read() | wick::group(4),
                       {.seed = 1, .workers = 2, .prefetch = 2});
    contents got;
    for (auto& group : train.epoch(0)) {
      for (wick::bytes& b : group) got.emplace_back(b.text());
      if (got.size() == 20) {
        server.reset();
        server.emplace(folder, port);
      }
    }
    CHECK(got == local);
  }
}

TEST_CASE("a server that is gone for good is an error within the limit") {
  for (const std::size_t threads : {1u, 3u}) {
    CAPTURE(threads);
    const temp_dir folder;
    const std::vector<std::string> names = some_files(folder, 8);
    std::vector<std::string> urls;
    faulty_server server(folder);
    for (const std::string& n : names) urls.push_back(server.url("ok", n));
    wick::loader train(wick::files(wick::remote(urls, patient(1, threads))) | wick::read() | wick::group(1),
                       {.workers = 2});
    static_cast<void>(train.epoch(0));
    server.kill();
    const auto begun = std::chrono::steady_clock::now();
    const std::string text = message_of([&] {
      for (auto& group : train.epoch(1)) static_cast<void>(group);
      return 0;
    });
    CHECK(contains(text, urls[0].substr(0, urls[0].rfind('/')), "read", "for 1 s"));
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
  }
}

TEST_CASE("where the machines of a server give different ETags, the error shows both, and sizes may decide") {
  const temp_dir folder;
  const std::string content = some_bytes(300'000, 1);
  write_file(folder.path() / "a.bin", content);
  const faulty_server server(folder);
  CHECK(contains(message_of([&] { return read_one(server.url("cdn", "a.bin")); }),
                 "was changed on the server", "ETag \"machine 2\"", "it was ETag \"machine 1\"",
                 "remote_options::compare_sizes_only"));
  const wick::remote_options sizes{.compare_sizes_only = true};
  const wick::files source(wick::remote(server.url("cdn", "a.bin"), sizes));
  CHECK(read_one(source) == content);
  write_file(folder.path() / "a.bin", content + "x");
  CHECK(contains(message_of([&] { return read_one(source); }), "it had 300000 bytes, and has 300001"));

  // Of a shard whose index is kept, too.
  const temp_dir cache;
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  write_file(folder.path() / "s.tar", wick_test::tar_writer().add("k.jpg", content).add("k.cls", "1").done());
  const auto shard = [&] {
    return wick::tar(wick::remote(server.url("cdn", "s.tar"), sizes), {"jpg", "cls"}, {.keep_index = true});
  };
  CHECK(shard().bytes_scanned() > 0);
  CHECK(shard().bytes_scanned() == 0);
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("a request is sent at least three times before it is given up") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const faulty_server server(folder);
  const wick::remote_options hasty{.give_up_after = std::chrono::milliseconds(100),
                                   .stalled_after = std::chrono::seconds(1),
                                   .hedge = false};
  CHECK(read_one(server.url("lost", "a.bin"), hasty) == "content");
  CHECK(server.count("requests") == 3);
}

#ifndef WICK_TEST_TSAN
TEST_CASE("a process that is stopped for longer than give_up_after doesn't give up its requests") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  faulty_server server(folder);
  for (const char* kind : {"lost", "ok"}) {  // without an answer, and without a server for a while
    CAPTURE(kind);
    server.kill();
    if (kind[0] == 'l') server.restart();
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      std::string got;
      try {
        got = read_one(server.url(kind, "a.bin"), {.give_up_after = std::chrono::seconds(4),
                                                   .stalled_after = std::chrono::seconds(1),
                                                   .hedge = false});
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
      }
      ::_exit(got == "content" ? 0 : 1);
    }
    if (kind[0] == 'l')
      REQUIRE(wick_test::eventually([&] { return server.count("requests") >= 1; }));
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // some attempts have failed
    ::kill(child, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(6000));  // the stop has to be longer than the limit
    ::kill(child, SIGCONT);
    if (kind[0] != 'l') server.restart();
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}
#endif

TEST_CASE("a loader ends promptly while a server is silent") {
  for (const std::size_t threads : {1u, 3u}) {
    CAPTURE(threads);
    const temp_dir folder;
    write_file(folder.path() / "a.bin", "content");
    const faulty_server server(folder);
    const std::vector<std::string> urls(64, server.url("hang", "a.bin"));
    const auto begun = std::chrono::steady_clock::now();
    {
      wick::loader train(
          wick::files(wick::remote(urls, {.threads = threads})) | wick::read() | wick::group(4),
          {.workers = 2});
      static_cast<void>(train.epoch(0));
      REQUIRE(wick_test::eventually([&] { return server.count("requests") >= 4; }));
    }
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(15));
  }
}

TEST_CASE("a request that gets no answer is sent a second time, and few others are") {
  const temp_dir folder;
  std::vector<std::string> urls;
  const faulty_server server(folder);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "f" + std::to_string(i);
    write_file(folder.path() / name, some_bytes(2000, static_cast<unsigned>(i)));
    urls.push_back(
        server.url(i < 200 ? "ok" : "stuck", name));  // at first it learns how long an answer takes
  }
  const wick::files source(wick::remote(urls));
  wick::loader train(source | wick::read() | wick::group(4), {.workers = 2, .prefetch_next_epoch = false});
  std::size_t i = 0;
  for (auto& group : train.epoch(0)) {
    for (wick::bytes& b : group) CHECK(b.text() == some_bytes(2000, static_cast<unsigned>(i++)));
  }
  CHECK(i == 1000);
  CHECK(contains(source.note(), "(0 again, "));
  CHECK(contains(train.report().to_string(), "servers: "));
  CHECK(server.count("requests") <= 1031);
}

TEST_CASE("a read that is large is not sent a second time beside the first") {
  const temp_dir folder;
  const faulty_server server(folder);
  write_file(folder.path() / "small", some_bytes(2000, 1));
  for (const std::size_t size : {std::size_t{2000}, std::size_t{9} << 20}) {
    CAPTURE(size);
    const std::string name = "f" + std::to_string(size);
    write_file(folder.path() / name, some_bytes(size, 2));
    // From the others it learns how long an answer takes; a range, whose size is known.
    std::vector<std::string> urls(200, server.url("ok", "small"));
    urls.push_back(server.url("once", name));
    const wick::remote_list objects = [&] {
      auto list = wick::remote(urls, {.stalled_after = std::chrono::seconds(2)});
      list.names.back().size = size;
      return list;
    }();
    const wick::files source(objects);
    wick::loader train(source | wick::read() | wick::group(1), {.workers = 1, .prefetch_next_epoch = false});
    std::size_t samples = 0;
    for (auto& group : train.epoch(0)) {
      if (++samples == 201) CHECK(group[0].text() == some_bytes(size, 2));
    }
    CHECK(samples == 201);
    CAPTURE(source.note());
    // Else it is sent again when the first request counts as stalled.
    CHECK(contains(source.note(), size == 2000 ? "(0 again, " : "(1 again, "));
  }
}

TEST_CASE("where a server is silent, the loader's message says so") {
  const temp_dir folder;
  write_file(folder.path() / "f", "1");
  const faulty_server server(folder);
  const std::string url = server.url("ok", "f");
  CHECK(contains(wick_test::hang_message(wick::files(url) | wick::read() | wick::group(1), server),
                 url + " (position 0): in 'read', waiting for the answer of a server for "));
}

TEST_CASE("of many requests that get no answer only 3 % are sent a second time") {
  const temp_dir folder;
  std::vector<std::string> urls;
  const faulty_server server(folder);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "f" + std::to_string(i);
    write_file(folder.path() / name, name);
    urls.push_back(server.url(i < 200 ? "ok" : "unsteady", name));
  }
  const wick::files source(wick::remote(urls, {.stalled_after = std::chrono::seconds(1)}));
  wick::loader train(source | wick::read() | wick::group(4), {.workers = 2, .prefetch_next_epoch = false});
  std::size_t i = 0;
  for (auto& group : train.epoch(0)) {
    for (wick::bytes& b : group) CHECK(b.text() == "f" + std::to_string(i++));
  }
  CHECK(i == 1000);
  const std::string note = source.note();
  CAPTURE(note);
  const std::size_t at = note.find("again, ");
  REQUIRE(at != std::string::npos);
  const int twice = std::atoi(note.c_str() + at + 7);
  CHECK(twice > 3);
  CHECK(twice <= server.count("requests") * 3 / 100 + 1);
}

TEST_CASE("a server that refuses all for a while gets few requests until it answers") {
  struct way {
    std::size_t threads;
    const char* kind;
  };
  for (const auto& [threads, kind] : {way{1, "storm"}, way{3, "slow_storm"}, way{3, "short_storm"}}) {
    CAPTURE(kind);
    const bool slow = std::string_view(kind) == "slow_storm";
    const auto first = std::chrono::steady_clock::now();
    const temp_dir folder;
    std::vector<std::string> urls;
    const faulty_server server(folder);
    for (int i = 0; i < 300; ++i) {
      const std::string name = "f" + std::to_string(i);
      write_file(folder.path() / name, name);
      urls.push_back(server.url(kind, name));
    }
    wick::loader train(wick::files(wick::remote(urls, {.threads = threads})) | wick::read() | wick::group(4),
                       {.workers = 2, .prefetch = 100, .in_flight = 100, .prefetch_next_epoch = false});
    const auto started = std::chrono::steady_clock::now();
    auto epoch = train.epoch(0);
    // While it refuses all, one request at a time is sent, and the next 0.25 s after its answer at the
    // soonest.
    REQUIRE(wick_test::eventually([&] { return server.count("requests") >= 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const auto begun = std::chrono::steady_clock::now();
    const long before = server.count("requests");
    std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 2400 : 900));
    const long after = server.count("requests");
    const auto now = std::chrono::steady_clock::now();
    const double took = std::chrono::duration<double>(now - begun).count();
    if (now - started < std::chrono::milliseconds(slow ? 3900 : 1900))  // else it may have answered meanwhile
      CHECK(after - before <= took / (slow ? 0.4 : 0.25) + 1);
    std::size_t i = 0;
    for (auto& group : epoch) {
      for (wick::bytes& b : group) CHECK(b.text() == "f" + std::to_string(i++));
    }
    CHECK(i == 300);
    CHECK(std::chrono::steady_clock::now() - first < std::chrono::seconds(15));  // no one waits for 20 s
    CHECK(server.count("requests") <= 380);  // until 32 have failed, 31 more are sent; then one now and then
  }
}

TEST_CASE("no request at a time, and no thread, is refused") {
  CHECK(message_of([] { return wick::remote("https://127.0.0.1:1/a", {.requests = 0}); }) ==
        "remote: .requests is 0; it is at least 1, or left out");
  CHECK(message_of([] { return wick::remote("https://127.0.0.1:1/a", {.threads = 0}); }) ==
        "remote: .threads is 0; it is at least 1, or left out");
}

TEST_CASE("the report says whether refusals, the loader, requests, or the server set the pace") {
  struct how {
    std::optional<std::size_t> requests = {}, prefetch = {};
    int step_ms = 0, files = 200;
  };
  const auto verdict_of = [](const char* fault, how h) {
    const temp_dir folder;
    const faulty_server server(folder);
    std::vector<std::string> urls;
    for (int i = 0; i < h.files; ++i) {
      const std::string name = "f" + std::to_string(i);
      write_file(folder.path() / name, name);
      urls.push_back(server.url(fault, name));
    }
    const wick::files source(wick::remote(urls, {.requests = h.requests}));
    wick::loader train(source | wick::read() | wick::group(4),
                       {.workers = 2, .prefetch = h.prefetch, .prefetch_next_epoch = false});
    for (auto& group : train.epoch(0)) {
      CHECK(group.size() == 4);
      std::this_thread::sleep_for(std::chrono::milliseconds(h.step_ms));
    }
    return source.note();
  };
  CHECK(contains(verdict_of("busy", {}), " % of the requests are refused or broken off"));
  constexpr const char* slow_loop = "the loader asks for no more";
  std::string of_slow_loop;  // on a busy machine, the requests of a step may take all of a short one
  for (const int step_ms : {20, 100, 500})
    if (!contains(of_slow_loop, slow_loop)) of_slow_loop = verdict_of("ok", {.step_ms = step_ms});
  CHECK(contains(of_slow_loop, slow_loop));
  CHECK(contains(verdict_of("late", {.requests = 2}), "more requests wait than are sent", ".requests = 2"));
  CHECK(contains(verdict_of("narrow", {.files = 400}), "all that the loader asks for is under way",
                 ".prefetch"));
  CHECK(contains(verdict_of("narrow", {.prefetch = 100, .files = 1200}),
                 "the link or the server is the limit"));
}

TEST_CASE("an object that changes between epochs is an error of its sample") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const faulty_server server(folder);
  wick::loader train(wick::files(wick::remote(server.url("ok", "a.bin"))) | wick::read() | wick::group(1),
                     {.prefetch_next_epoch = false});
  for (auto& group : train.epoch(0)) CHECK(group[0].text() == "content");
  write_file(folder.path() / "a.bin", "another");
  CHECK(contains(message_of([&] {
                   for (auto& group : train.epoch(1)) static_cast<void>(group);
                   return 0;
                 }),
                 "was changed on the server"));
}

TEST_CASE("memory stays within the bound, and a large object is refused by its size") {
  const temp_dir folder;
  const std::vector<std::string> names = some_files(folder, 28);
  std::vector<std::string> urls;
  const faulty_server server(folder);
  for (const std::string& n : names) urls.push_back(server.url("ok", n));
  CHECK(epoch_of(wick::files(wick::remote(urls)), 0, {.seed = 1, .workers = 2, .memory = 1 << 20}).size() ==
        28);
  wick::files source(wick::remote(server.url("ok", "f4.bin")));
  wick::loader train(source | wick::read({.max_bytes = 200'000}) | wick::group(1));
  CHECK(contains(message_of([&] {
                   for (auto& group : train.epoch(0)) static_cast<void>(group);
                   return 0;
                 }),
                 "has 400000 bytes, more than the 200000"));
}

#if !defined(WICK_TEST_TSAN)
TEST_CASE("a forked child reads from servers that its parent has read from") {
  const temp_dir folder;
  write_file(folder.path() / "a.bin", "content");
  const faulty_server server(folder);
  const std::string url = server.url("ok", "a.bin");
  const wick::files parents(url);
  CHECK(read_one(parents) == "content");
  CHECK(wick_test::in_a_child([&] {
          const std::string failed = message_of([&] { CHECK(read_one(wick::files(url)) == "content"); });
          std::fputs(failed.c_str(), stderr);
          return failed.empty() ? 0 : 1;
        }) == 0);
}
#endif

}  // namespace wick_test::remote_tests

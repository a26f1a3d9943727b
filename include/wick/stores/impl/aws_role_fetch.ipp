// Fetches the keys of a role. Used only by aws_role.ipp.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <curl/curl.h>
#include <fcntl.h>
#include <memory>
#include <new>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_role.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/s3_listing.hpp>

extern "C" char** environ;

namespace wick::inline v0_1::detail {

namespace {

/// Fetches keys. For one thread, which may block.
class role_fetch {
 public:
  role_fetch(const aws_role& role, const std::atomic<bool>& stopping) : role_(role), stopping_(stopping) {}

  aws_role_keys keys() const {
    switch (role_.of) {
      case aws_role::kind::web_identity:
        return of_web_identity();
      case aws_role::kind::process:
        return parse_role_json(output_of_process());
      case aws_role::kind::container:
        return of_container();
      case aws_role::kind::google_instance:
        return of_google_instance();
      default:
        return of_instance();
    }
  }

 private:
  struct request {
    std::string url;
    const char* method = "GET";
    std::vector<std::string> headers = {};
    std::string body = {};
    long connect_ms = 2'000, ms = 10'000;
    bool proxies = false;
  };
  struct answer {
    long status = 0;
    std::string body = {};
  };

  static std::size_t on_body(char* data, std::size_t one, std::size_t size, void* to) noexcept try {
    auto& out = *static_cast<std::string*>(to);
    if (out.size() + one * size > (std::size_t{1} << 20)) return 0;
    out.append(data, one * size);
    return one * size;
  } catch (...) {
    return 0;
  }
  static int on_progress(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
  }

  answer send(const request& r) const {
    // Outside of such a machine, no user should wait long for a metadata service that doesn't exist.
    const bool on_instance =
        role_.of == aws_role::kind::instance || role_.of == aws_role::kind::google_instance;
    const int most_tries = on_instance ? 2 : 3;
    for (int tries = 1;; ++tries) {
      std::string why;
      answer out = send_once(r, why);
      const bool may_pass = out.status == 0 || out.status == 429 || out.status >= 500;
      if (stopping_) throw cancelled();
      if (!may_pass) return out;
      if (tries == most_tries) {
        if (out.status != 0) return out;
        throw passing_error(shown_url(r.url) + " doesn't answer: " + printable(why));
      }
      for (int i = 0; i < 20 * tries && !stopping_; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  answer send_once(const request& r, std::string& why) const {
    const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), &curl_easy_cleanup);
    if (easy == nullptr) throw std::bad_alloc();
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, &curl_slist_free_all);
    for (const std::string& line : r.headers) {
      curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
      if (longer == nullptr) throw std::bad_alloc();
      static_cast<void>(headers.release());
      headers.reset(longer);
    }
    answer out;
    std::array<char, CURL_ERROR_SIZE> message{};
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy.get(), option, value); };
    set(CURLOPT_URL, r.url.c_str());
    set(CURLOPT_HTTPHEADER, headers.get());
    if (std::string_view(r.method) == "POST") {
      set(CURLOPT_POSTFIELDSIZE, static_cast<long>(r.body.size()));
      set(CURLOPT_COPYPOSTFIELDS, r.body.c_str());
    } else {
      set(CURLOPT_CUSTOMREQUEST, r.method);
    }
    set(CURLOPT_ERRORBUFFER, message.data());
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&out.body));
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&stopping_)));
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, r.connect_ms);
    set(CURLOPT_TIMEOUT_MS, r.ms);
    set(CURLOPT_USERAGENT, "wick");
    if (!r.proxies) set(CURLOPT_NOPROXY, "*");
    if (!role_.ca_bundle.empty()) set(CURLOPT_CAINFO, role_.ca_bundle.c_str());
    const CURLcode code = curl_easy_perform(easy.get());
    if (code == CURLE_OK)
      curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &out.status);
    else
      why = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
    return out;
  }
  static std::string good(const request& r, answer got) {
    if (got.status == 200) return std::move(got.body);
    const s3_error said = parse_s3_error(got.body);
    throw passing_error(shown_url(r.url) + " answers " + status_text(static_cast<int>(got.status)) +
                        (said.code.empty() ? "" : " (" + said.text() + ")"));
  }

  static std::string content(const std::string& path, const char* what) {
    std::string out(std::size_t{1} << 16, '\0');
    try {
      const file_handle file = open_file(path.c_str());
      out.resize(read_up_to(file.get(), reinterpret_cast<std::byte*>(out.data()), out.size(), 0));
    } catch (const error& e) {
      throw error(printable(path) + " (" + what + "): " + e.what());
    }
    return std::string(without_blanks(out));
  }

  aws_role_keys of_web_identity() const {
    const name_values form{{"Action", "AssumeRoleWithWebIdentity"},
                           {"RoleArn", role_.arn},
                           {"RoleSessionName", role_.session},
                           {"Version", "2011-06-15"},
                           {"WebIdentityToken", content(role_.token_file, "the web identity's token")}};
    const request r{.url = role_.url + "/",
                    .method = "POST",
                    .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/xml"},
                    .body = encoded_query(form),
                    .connect_ms = 10'000,
                    .ms = 30'000,
                    .proxies = true};
    return parse_role_xml(good(r, send(r)));
  }

  aws_role_keys of_container() const {
    request r{.url = role_.url, .headers = {"Accept: application/json"}};
    const std::string token =
        role_.token_file.empty() ? role_.token : content(role_.token_file, "the container's token");
    if (token.find_first_of("\r\n") != std::string::npos)
      throw error("the container's token has a line break; check AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (!token.empty()) r.headers.push_back("Authorization: " + token);
    return parse_role_json(good(r, send(r)));
  }

  aws_role_keys of_instance() const {
    request r{.url = role_.url + "/latest/api/token",
              .method = "PUT",
              .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
              .connect_ms = 1'000,
              .ms = 2'000};
    const std::string token = good(r, send(r));
    const std::string path = role_.url + "/latest/meta-data/iam/security-credentials/";
    r = {.url = path, .headers = {"X-aws-ec2-metadata-token: " + token}, .connect_ms = 1'000, .ms = 5'000};
    const std::string names = good(r, send(r));
    const std::string name(without_blanks(std::string_view(names).substr(0, names.find('\n'))));
    if (name.empty()) throw error("the instance has no role; attach an instance profile");
    r.url = path + percent_encoded(name, slashes::encoded);
    return parse_role_json(good(r, send(r)));
  }

  aws_role_keys of_google_instance() const {
    const request r{.url = role_.url + "/computeMetadata/v1/instance/service-accounts/default/token",
                    .headers = {"Metadata-Flavor: Google"},
                    .connect_ms = 1'000,
                    .ms = 5'000};
    return parse_google_token(good(r, send(r)), static_cast<std::int64_t>(std::time(nullptr)));
  }

  /// The command's output. It gets no input, and may write messages to the terminal.
  std::string output_of_process() const {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw_io("make a pipe for", errno);
    const file_handle from(pipe[0]);
    file_handle to(pipe[1]);
    for (const int end : pipe) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, to.get(), 1);
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const char* const arguments[] = {"sh", "-c", role_.command.c_str(), nullptr};
    ::pid_t child = 0;
    const int fault =
        ::posix_spawn(&child, "/bin/sh", &actions, &attributes, const_cast<char* const*>(arguments), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    to.close();
    if (fault != 0) throw_io("start", fault);
    std::string out;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    bool ended = false, late = false;
    while (!ended && !stopping_ && !late) {
      ::pollfd ready{from.get(), POLLIN, 0};
      late = std::chrono::steady_clock::now() > give_up || out.size() > (std::size_t{1} << 20);
      if (::poll(&ready, 1, 50) <= 0) continue;
      std::array<char, 4096> some{};
      const ::ssize_t n = ::read(from.get(), some.data(), some.size());
      if (n < 0 && errno == EINTR) continue;
      ended = n <= 0;
      if (n > 0) out.append(some.data(), static_cast<std::size_t>(n));
    }
    if (!ended) ::kill(-child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (stopping_) throw cancelled();
    if (late) throw passing_error("it doesn't end within a minute");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw passing_error("it ended with " + (WIFEXITED(status)
                                                  ? "status " + std::to_string(WEXITSTATUS(status))
                                                  : "signal " + std::to_string(WTERMSIG(status))));
    }
    return out;
  }

  const aws_role& role_;
  const std::atomic<bool>& stopping_;
};

}  // namespace

}  // namespace wick::detail

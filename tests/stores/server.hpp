// Real web servers for tests: nginx, and one in Python that has faults on request.
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <optional>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace wick_test {

/// A program in the background that prints nothing, killed at the end.
class background {
 public:
  explicit background(const std::vector<std::string>& command) {
    const int output = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    std::vector<char*> arguments;
    for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ != 0) {
      ::close(output);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the test is killed
    if (output >= 0) {
      ::dup2(output, 1);
      ::dup2(output, 2);
    }
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  background(const background&) = delete;
  background& operator=(const background&) = delete;
  ~background() { kill(); }

  /// Until it is killed it does nothing any more.
  /// When this returns, all its threads stand still.
  void pause() const {
    REQUIRE(::kill(child_, SIGSTOP) == 0);
    ::siginfo_t seen{};
    while (::waitid(P_PID, static_cast<::id_t>(child_), &seen, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    REQUIRE(seen.si_code == CLD_STOPPED);
  }
  void resume() const noexcept { ::kill(child_, SIGCONT); }
  void kill() noexcept {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  ::pid_t child_ = 0;
};

/// A port that is free at this moment.
inline int free_port() {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ::socklen_t size = sizeof address;
  REQUIRE(::bind(s, reinterpret_cast<::sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(s, reinterpret_cast<::sockaddr*>(&address), &size) == 0);
  ::close(s);
  return ::ntohs(address.sin_port);
}

/// -1: no server answers there.
inline int connect_to(int port) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(static_cast<unsigned short>(port));
  if (::connect(s, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0) return s;
  ::close(s);
  return -1;
}

inline bool answers(int port) {
  const int s = connect_to(port);
  if (s >= 0) ::close(s);
  return s >= 0;
}

/// tests/stores/server.py on the files of a folder.
class faulty_server {
 public:
  explicit faulty_server(const temp_dir& folder, int port = free_port())
      : faulty_server(folder.path().string(), port) {}
  explicit faulty_server(std::string folder, int port = free_port())
      : folder_(std::move(folder)), port_(port) {
    restart();
  }
  /// "http://127.0.0.1:PORT/KIND/NAME".
  std::string url(const std::string& kind, const std::string& name) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + kind + "/" + name;
  }
  int port() const noexcept { return port_; }
  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// "requests" or "connections" so far, or the requests of a path: of those before it, a second one that
  /// came late is counted late.
  long count(const std::string& what) const {
    const std::string text = get("/log");
    const std::size_t at = text.find("\"" + what + "\": ");
    REQUIRE(at != std::string::npos);
    return std::strtol(text.c_str() + at + what.size() + 4, nullptr, 10);
  }
  void forget() const { get("/again"); }
  void pause() const { python_->pause(); }
  void resume() const noexcept { python_->resume(); }
  void kill() noexcept { python_.reset(); }
  /// On the same port.
  void restart() {
    python_.reset();
    python_.emplace(std::vector<std::string>{"python3", WICK_TEST_SOURCE_DIR "/tests/stores/server.py",
                                             folder_, std::to_string(port_)});
    REQUIRE(eventually([this] { return answers(port_); }));
  }

 private:
  std::string get(const std::string& path) const {
    const int s = connect_to(port_);
    REQUIRE(s >= 0);
    const std::string request = "GET " + path + " HTTP/1.0\r\nConnection: close\r\n\r\n";
    REQUIRE(::write(s, request.data(), request.size()) == static_cast<::ssize_t>(request.size()));
    std::string text(1 << 20, '\0');
    std::size_t size = 0;
    for (::ssize_t n; (n = ::read(s, text.data() + size, text.size() - size)) > 0;)
      size += static_cast<std::size_t>(n);
    ::close(s);
    text.resize(size);
    return text;
  }

  std::string folder_;
  int port_;
  std::optional<background> python_;
};

/// nginx on the files of a folder, with and without TLS.
class nginx {
 public:
  explicit nginx(const temp_dir& folder) : port_(free_port()), tls_port_(free_port()) {
    const std::string at = own_.path().string();
    REQUIRE(std::system(("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
                         "subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
                         at + "/key.pem -out " + at + "/cert.pem 2>/dev/null")
                            .c_str()) == 0);
    write_file(own_.path() / "nginx.conf",
               "daemon off; master_process off; pid " + at + "/pid; error_log " + at +
                   "/error.log;\nevents { worker_connections 1024; }\nhttp { access_log off; root " +
                   folder.path().string() + "; client_body_temp_path " + at + "/t1; proxy_temp_path " + at +
                   "/t2; fastcgi_temp_path " + at + "/t3; uwsgi_temp_path " + at + "/t4; scgi_temp_path " +
                   at + "/t5;\nserver { listen 127.0.0.1:" + std::to_string(port_) +
                   "; }\nserver { listen 127.0.0.1:" + std::to_string(tls_port_) +
                   " ssl http2; ssl_certificate " + at + "/cert.pem; ssl_certificate_key " + at +
                   "/key.pem; } }\n");
    process_.emplace(
        std::vector<std::string>{program(), "-e", at + "/error.log", "-p", at, "-c", at + "/nginx.conf"});
    REQUIRE(eventually([this] { return answers(port_) && answers(tls_port_); }));
  }
  std::string url(const std::string& name) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + name;
  }
  std::string tls_url(const std::string& name) const {
    return "https://127.0.0.1:" + std::to_string(tls_port_) + "/" + name;
  }
  std::string certificate() const { return own_.path().string() + "/cert.pem"; }

 private:
  static std::string program() {
    return ::access("/usr/sbin/nginx", X_OK) == 0 ? "/usr/sbin/nginx" : "nginx";
  }

  temp_dir own_;
  int port_, tls_port_;
  std::optional<background> process_;
};

}  // namespace wick_test

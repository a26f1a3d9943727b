// A peer that runs in Python, in a process of its own: started once, then asked for one turn after the
// other, and stopped in between so that what it fetches ahead costs the others nothing.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/timing.hpp"

namespace wick_bench {

class python_peer {
 public:
  /// Starts `python script arguments…`, which answers with a line "ready …" or "missing …"; `about()` is the
  /// rest of it. \throws std::runtime_error when it can't be started
  python_peer(const std::string& python, const std::string& script,
              const std::vector<std::string>& arguments) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("no process");
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setpgid(0, 0);
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      if (const int log = ::open((script_log(script)).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644); log >= 0)
        ::dup2(log, 2);
      std::vector<std::string> words{python, script};
      words.insert(words.end(), arguments.begin(), arguments.end());
      std::vector<char*> argv;
      for (std::string& w : words) argv.push_back(w.data());
      argv.push_back(nullptr);
      ::execv(python.c_str(), argv.data());
      ::_exit(127);
    }
    ::setpgid(child_, child_);
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = from[0];
    const std::string line = answer(300'000);
    ready_ = line.starts_with("ready");
    about_ = line.substr(line.find(' ') == std::string::npos ? line.size() : line.find(' ') + 1);
    if (line.empty()) about_ = "it ended before it was ready, see " + script_log(script);
    if (ready_) pause();
  }
  python_peer(const python_peer&) = delete;
  python_peer& operator=(const python_peer&) = delete;
  ~python_peer() {
    ::kill(-child_, SIGKILL);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(in_);
    ::close(out_);
  }

  bool ready() const noexcept { return ready_; }
  const std::string& about() const noexcept { return about_; }

  /// A turn of at least `count` samples. Answers with how long as many took as it really did,
  /// scaled to `count`. \throws std::runtime_error when the peer is gone
  lap run(std::size_t count) {
    const std::string line = ask("run " + std::to_string(count), 120'000);
    double samples = 0;
    lap took;
    if (std::sscanf(line.c_str(), "%lf %lf %lf", &samples, &took.wall, &took.cpu) != 3 || samples <= 0)
      throw std::runtime_error("peer: " + (line.empty() ? std::string("gone") : line));
    const double by = static_cast<double>(count) / samples;
    return {took.wall * by, took.cpu * by};
  }
  std::string ask(const std::string& command, int patience_ms) {
    ::kill(-child_, SIGCONT);
    const std::string text = command + "\n";
    if (::write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return {};
    std::string line = answer(patience_ms);
    pause();
    return line;
  }

 private:
  static std::string script_log(const std::string& script) {
    return "/tmp/wick-bench-" + script.substr(script.rfind('/') + 1) + ".log";
  }
  void pause() { ::kill(-child_, SIGSTOP); }
  std::string answer(int patience_ms) {
    std::string line;
    for (;;) {
      pollfd wait{out_, POLLIN, 0};
      char c = 0;
      if (::poll(&wait, 1, patience_ms) <= 0 || ::read(out_, &c, 1) != 1) return {};
      if (c == '\n') return line;
      line += c;
    }
  }

  pid_t child_ = -1;
  int in_ = -1, out_ = -1;
  bool ready_ = false;
  std::string about_;
};

}  // namespace wick_bench

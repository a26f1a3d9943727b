// Ranges of 100 KB of shards on a server, shuffled: without limits, and over a link of 50 ms and 1 Gbit/s;
// wick and peers. And ranges of 4 KB, with one and with four threads: requests a second.
//
// nginx serves the shards. Over the link, bytes come 25 ms later each way, and 125 MB of them a second. The
// peers in Python ask for the same ranges, in the same order, with as many requests under way as give them
// most.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "stores/relay.hpp"
#include "support/options.hpp"
#include "support/python_peer.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>
#include <wick/stores/remote.hpp>

namespace {

constexpr std::size_t shards = 16, range_bytes = 100'000, small_bytes = 4096;

/// Tar shards of one member a sample, with their indexes.
void make_shards(const std::filesystem::path& folder, std::size_t samples, std::size_t bytes) {
  std::filesystem::create_directories(folder);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> words(bytes / 8);
  const std::string zeros(1024, '\0');
  for (std::size_t s = 0; s < shards; ++s) {
    const std::string path = (folder / std::to_string(s).append(".tar")).string();
    std::ofstream out(path, std::ios::binary);
    for (std::size_t i = s; i < samples; i += shards) {
      char header[512] = {};
      std::snprintf(header, 100, "k%zu.bin", i);
      std::snprintf(header + 100, 8, "0000644");
      std::snprintf(header + 124, 12, "%011o", static_cast<unsigned>(bytes));
      std::snprintf(header + 136, 12, "%011o", 0U);
      header[156] = '0';
      std::copy_n("ustar", 6, header + 257);
      std::copy_n("00", 2, header + 263);
      std::fill_n(header + 148, 8, ' ');
      unsigned sum = 0;
      for (const char c : header) sum += static_cast<unsigned char>(c);
      std::snprintf(header + 148, 8, "%06o", sum);
      out.write(header, sizeof header);
      for (std::uint64_t& w : words) w = random();
      out.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(bytes));
      out.write(zeros.data(), static_cast<std::streamsize>(511 - (bytes + 511) % 512));
    }
    out.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    out.close();
    if (!out) throw std::runtime_error("stores: " + path + " can't be written; is the disk full?");
    wick::write_tar_index(path);
  }
}

class nginx {
 public:
  explicit nginx(const std::filesystem::path& folder) {
    const int probe = wick_bench::loopback_socket(0, true);
    ::sockaddr_in a{};
    ::socklen_t size = sizeof a;
    ::getsockname(probe, reinterpret_cast<::sockaddr*>(&a), &size);
    port_ = ::ntohs(a.sin_port);
    ::close(probe);
    const std::string at = folder.string(), file = at + "/nginx.conf";
    std::ofstream(file)
        << "daemon off; master_process off; pid " << at << "/pid; error_log " << at
        << "/error.log;\nevents { worker_connections 1024; }\nhttp { access_log off; sendfile on; "
           "keepalive_requests 1000000; root "
        << at << "; client_body_temp_path " << at << "/t1; proxy_temp_path " << at
        << "/t2; fastcgi_temp_path " << at << "/t3; uwsgi_temp_path " << at << "/t4; scgi_temp_path " << at
        << "/t5;\nserver { listen 127.0.0.1:" << port_ << "; if (-f " << at << "/busy) { return 503; } } }\n";
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (const char* program : {"/usr/sbin/nginx", "nginx"})
        ::execlp(program, program, "-e", (at + "/error.log").c_str(), "-p", at.c_str(), "-c", file.c_str(),
                 nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 500; ++i) {
      const int s = wick_bench::loopback_socket(port_, false);
      if (s >= 0) {
        ::close(s);
        return;
      }
      ::usleep(10'000);
    }
    throw std::runtime_error("stores: nginx doesn't start: apt-get install nginx-light");
  }
  nginx(const nginx&) = delete;
  nginx& operator=(const nginx&) = delete;
  ~nginx() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  int port() const noexcept { return port_; }

 private:
  int port_ = 0;
  ::pid_t child_ = -1;
};

std::string address(int port) { return "http://127.0.0.1:" + std::to_string(port); }

/// Reads all samples of a server in a shuffled order, epoch after epoch.
class reader {
 public:
  reader(int port, std::size_t workers, const wick::remote_options& options = {},
         const std::string& folder = "")
      : source_(wick::tar(wick::remote(address(port) + folder + "/{0..15}.tar", options), {"bin"})),
        train_(source_ | wick::shuffle() | wick::read() | wick::group(16),
               {.seed = 7, .workers = workers, .prefetch = 16}) {}

  std::uint64_t bytes = 0;
  wick_bench::lap run() {
    const wick_bench::stopwatch took;
    wick_bench::stopwatch waiting;
    for (auto& group : train_.epoch(epoch_++)) {
      waits.push_back(waiting.seconds());
      if (watch != nullptr) arrivals.push_back(watch->seconds());
      for (auto& r : group) bytes += r[0].size();
      waiting = {};
    }
    return took.read();
  }
  const wick_bench::stopwatch* watch = nullptr;
  std::vector<double> arrivals;  // of batches, by it
  std::uint64_t requests() const {
    unsigned long long n = 0;
    const std::string text = note();
    std::sscanf(text.c_str() + text.find("MB/s; ") + 6, "%llu", &n);
    return n;
  }
  std::vector<double> waits;  // for each batch, in seconds
  double p99_wait() const {
    std::vector<double> sorted = waits;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() * 99 / 100];
  }
  std::string note() const { return source_.note(); }

 private:
  wick::detail::tar_records source_;
  decltype(wick::loader(std::declval<wick::detail::tar_records>() | wick::shuffle() | wick::read() |
                        wick::group(16))) train_;
  int epoch_ = 0;
};

/// Refusals of the server for some seconds, in the middle of reading: when its speed is back, and how many
/// requests that takes.
std::string storm(const std::filesystem::path& folder, int port, const wick_bench::options& o) {
  const double lasts = o.quick ? 2 : 20, before = o.quick ? 2 : 10;
  reader wick(port, o.workers);
  wick.run();
  wick.arrivals.clear();
  const wick_bench::stopwatch watch;
  wick.watch = &watch;
  std::thread switches([&] {
    const auto wait_until = [&](double time) {
      while (watch.seconds() < time) ::usleep(1000);
    };
    wait_until(before);
    std::ofstream(folder / "busy") << "1";
    wait_until(before + lasts);
    std::filesystem::remove(folder / "busy");
  });
  const std::uint64_t asked = wick.requests(), bytes = wick.bytes;
  while (watch.seconds() < before + lasts + 10) wick.run();
  switches.join();
  const auto rate = [&](double from, double to) {
    const auto in = [&](double t) { return t >= from && t < to; };
    return static_cast<double>(std::count_if(wick.arrivals.begin(), wick.arrivals.end(), in)) / (to - from);
  };
  const double usual = rate(1, before), end = before + lasts;
  double back = 0;
  while (back < 10 && rate(end + back, end + back + 1) < 0.95 * usual) back += 0.1;
  const double ideal = static_cast<double>(wick.bytes - bytes) / range_bytes;
  const double times = static_cast<double>(wick.requests() - asked) / ideal;
  std::printf(
      "%.0f s of refusals (503): 95 %% of the speed is back after %.1f s; %.3f times the requests that were "
      "needed\n\n",
      lasts, back, times);
  char text[96];
  std::snprintf(text, sizeof text, " storm_back_s=%.1f storm_requests=%.3f", back, times);
  return text;
}

/// Small ranges, with one thread and with four. These need more processors than two to be faster.
std::string small_ranges(const std::filesystem::path& folder, int port, const wick_bench::options& o) {
  const std::size_t samples = o.quick ? 2'000 : 20'000;
  make_shards(folder / "small", samples, small_bytes);
  reader one(port, o.workers, {.threads = 1}, "/small"), four(port, o.workers, {.threads = 4}, "/small");
  const auto units = static_cast<double>(samples);
  std::vector<wick_bench::contestant> all{{"1 thread", units, [&] { return one.run(); }},
                                          {"4 threads", units, [&] { return four.run(); }}};
  for (auto& c : all) c.run();
  if (one.bytes != samples * small_bytes || four.bytes != one.bytes)
    throw std::runtime_error("stores: wick read another number of bytes");
  wick_bench::run_in_turns(all, o.rounds);
  std::printf("4 KB\n");
  wick_bench::print_table(all, "requests/s", 1, "CPU us/request", 1e6);
  std::printf("4 threads: %s\n\n", four.note().c_str());
  char text[128];
  std::snprintf(text, sizeof text, " small_requests_s=%.0f small_4_to_1=%.3f small_cpu_us=%.1f",
                all[0].units_per_second(), wick_bench::ratio(all[1], all[0]), 1e6 * all[0].cpu_per_unit());
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto o = wick_bench::options::parse(argc, argv, "ranges of 100 KB from a web server",
                                            {wick_bench::options::case_option});
  const std::size_t samples = o.quick ? 320 : 4096;
  const wick_bench::temp_folder folder;
  make_shards(folder.path(), samples, range_bytes);
  const nginx server(folder.path());
  const wick_bench::relay link(server.port(), std::chrono::milliseconds(25), 125e6);
  const wick_bench::relay slow(server.port(), std::chrono::milliseconds(25), 125e6, 100);
  const char* const peers = std::getenv("WICK_PEERS");
  const std::string python = peers == nullptr ? "" : std::string(peers) + "/bin/python";
  const double megabytes = static_cast<double>(samples * range_bytes) / 1e6;

  std::string result;
  for (const auto& [name, port] : {std::pair("loopback", server.port()), std::pair("link", link.port())}) {
    if (!o.which.empty() && !std::string_view(name).starts_with(o.which)) continue;
    reader wick(port, o.workers);
    std::vector<wick_bench::contestant> all{{"wick", megabytes, [&] { return wick.run(); }}};
    std::vector<std::unique_ptr<wick_bench::python_peer>> others;
    for (const char* way : {"awscrt", "obstore", "fsspec"}) {
      if (python.empty()) break;
      others.push_back(std::make_unique<wick_bench::python_peer>(
          python, std::string(WICK_BENCH_DIR) + "/stores/peer.py",
          std::vector<std::string>{way, address(port), std::to_string(samples)}));
      wick_bench::python_peer& peer = *others.back();
      if (!peer.ready()) {
        std::printf("without %s: %s\n", way, peer.about().c_str());
        continue;
      }
      all.push_back({way, megabytes, [&peer, samples, megabytes] {
                       const wick_bench::lap took = peer.run(samples);
                       return took;
                     }});
    }
    for (auto& c : all) c.run();  // connections, and how many requests at a time
    if (wick.bytes != samples * range_bytes)
      throw std::runtime_error("stores: wick read another number of bytes");
    wick_bench::run_in_turns(all, o.rounds);
    std::printf("%s\n", name);
    wick_bench::print_table(all, "MB/s", 1, "CPU ms/MB", 1e3);
    std::printf("wick: %s\n\n", wick.note().c_str());
    const auto add = [&](const char* what, const std::string& of, double value) {
      char text[96];
      std::snprintf(text, sizeof text, " %s_%s%s=%.3f", name, what, of.c_str(), value);
      result += text;
    };
    add("mb_s", "", all[0].units_per_second());
    add("gb_s_core", "", 1e-3 / all[0].cpu_per_unit());
    for (std::size_t i = 1; i < all.size(); ++i) {
      add("to_", all[i].name, wick_bench::ratio(all[0], all[i]));
      add("cpu_to_", all[i].name, wick_bench::cpu_ratio(all[0], all[i]));
    }
  }
  if (o.which.empty() || std::string_view("slow").starts_with(o.which)) {
    reader hedged(slow.port(), o.workers), plain(slow.port(), o.workers, {.hedge = false});
    for (reader* r : {&hedged, &plain}) {
      r->run();
      r->waits.clear();
    }
    for (int round = 0; round < o.rounds; ++round) {
      hedged.run();
      plain.run();
    }
    std::printf(
        "one request in 100 slow by 2 s: waits for a batch, p99\n  %.0f ms, and %.0f ms without second "
        "requests\n  %s\n\n",
        1e3 * hedged.p99_wait(), 1e3 * plain.p99_wait(), hedged.note().c_str());
    char text[96];
    std::snprintf(text, sizeof text, " slow_p99_ms=%.1f slow_p99_ratio=%.3f", 1e3 * hedged.p99_wait(),
                  hedged.p99_wait() / plain.p99_wait());
    result += text;
  }
  if (o.which.empty() || std::string_view("storm").starts_with(o.which))
    result += storm(folder.path(), link.port(), o);
  if (o.which.empty() || std::string_view("small").starts_with(o.which))
    result += small_ranges(folder.path(), server.port(), o);
  std::printf("RESULT stores%s\n", result.c_str());
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

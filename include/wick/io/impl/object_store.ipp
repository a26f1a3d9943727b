// Implements io/detail/object_store.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstring>
#include <optional>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/interruption.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/async/executor.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/remote_wait.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/read.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The first request for an object of unknown length: most pictures fit in it.
constexpr std::size_t first_look = std::size_t{128} << 10;
/// A gap between two pieces that is read and dropped, since that is cheaper than a request.
constexpr std::uint64_t widest_gap = std::uint64_t{64} << 10;

void rethrow_first(std::span<const remote_read> reads) {
  for (const remote_read& r : reads) {
    if (r.failed) std::rethrow_exception(r.failed);
  }
}

}  // namespace

/// Awaits all reads. Calls them off if the loader stops.
class remote_awaiter : job {
 public:
  remote_awaiter(std::span<remote_read> reads, executor& on, stop_token stop) noexcept
      : reads_(reads), on_(on), stop_(stop) {}
  bool await_ready() const noexcept { return reads_.empty(); }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    execute = [](job* j) noexcept { resume(static_cast<remote_awaiter*>(j)->handle_); };
    wait_.begin(wait_for::server);
    on_.set_store_reads(reads_.front().object->store->at_a_time());
    for (remote_read& r : reads_) {
      r.owner = this;
      r.done = [](remote_read& read) noexcept {
        auto* const self = static_cast<remote_awaiter*>(read.owner);
        if (!self->last()) return;
        self->wait_.now(wait_for::worker);
        self->on_.post(self);
      };
      left_.fetch_add(1, std::memory_order_relaxed);
      try {
        r.object->store->begin(r);
      } catch (...) {
        r.failed = std::current_exception();
        left_.fetch_sub(1, std::memory_order_relaxed);  // await_suspend's own count remains
      }
    }
    if (stop_.stop_possible()) calling_off_.emplace(stop_, on_stop{this});
    return !last();
  }
  void await_resume() {
    calling_off_.reset();
    wait_.end();
    rethrow_first(reads_);
  }

 private:
  struct on_stop {
    remote_awaiter* self;
    void operator()() const noexcept {
      for (remote_read& r : self->reads_) r.object->store->call_off(r);
    }
  };
  bool last() noexcept { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  std::span<remote_read> reads_;
  executor& on_;
  stop_token stop_;
  std::atomic<std::size_t> left_{1};  // reads, plus one for await_suspend
  std::coroutine_handle<> handle_;
  noted_wait wait_;
  std::optional<stop_callback<on_stop>> calling_off_;
};

namespace {

bool is_whole(const file_range& where) noexcept { return where.length == file_range::whole; }

/// Reads of the first bytes of parts that reach to the end of an object of unknown length.
std::vector<remote_read> first_looks(std::span<range_part> parts, std::uint64_t max_bytes) {
  std::vector<remote_read> out;
  for (range_part& p : parts) {
    const file_range& w = p.where;
    if (!is_whole(w) || w.remote->size.load(std::memory_order_acquire) != remote_object::unknown) continue;
    p.content = bytes(static_cast<std::size_t>(std::clamp<std::uint64_t>(max_bytes, 1, first_look)));
    remote_read& r = out.emplace_back();
    r.url = w.path;
    r.object = w.remote;
    r.pieces[0] = {w.offset, p.content.size(), p.content.data()};
    r.count = 1;
    r.may_end_early = true;
  }
  return out;
}

/// Sets the parts' lengths, once their objects' sizes are known. Returns their sum. \throws wick::error
std::uint64_t set_lengths(std::span<range_part> parts) {
  std::uint64_t sum = 0;
  for (range_part& p : parts) {
    file_range& w = p.where;
    if (is_whole(w)) {
      const std::uint64_t size = w.remote->size.load(std::memory_order_acquire);
      if (w.offset > size) {
        throw error("has " + std::to_string(size) + " bytes, and byte " + std::to_string(w.offset) +
                    " is where the sample is said to begin; the source is wrong about it");
      }
      w.length = size - w.offset;
    }
    sum = w.length > ~sum ? ~std::uint64_t{0} : sum + w.length;
  }
  return sum;
}

/// Reads of the missing bytes of the parts, whose lengths are set.
std::vector<remote_read> reads_of(std::span<range_part> parts) {
  std::vector<range_part*> in_order;
  for (range_part& p : parts) in_order.push_back(&p);
  std::sort(in_order.begin(), in_order.end(), [](const range_part* a, const range_part* b) {
    return std::pair(a->where.remote, a->where.offset) < std::pair(b->where.remote, b->where.offset);
  });
  std::vector<remote_read> out;
  for (range_part* const each : in_order) {
    range_part& p = *each;
    const std::size_t there = std::min(p.content.size(), static_cast<std::size_t>(p.where.length));
    if (there == p.where.length) {
      p.content.shrink(there);
      continue;
    }
    bytes all(static_cast<std::size_t>(p.where.length));
    if (there != 0) std::memcpy(all.data(), p.content.data(), there);
    p.content = std::move(all);
    const remote_read::piece piece{p.where.offset + there, p.content.size() - there,
                                   p.content.data() + there};
    remote_read* const last = out.empty() ? nullptr : &out.back();
    const bool joins = last != nullptr && last->object == p.where.remote &&
                       last->count < remote_read::max_pieces && piece.offset >= last->end() &&
                       piece.offset - last->end() <= widest_gap;
    remote_read& r = joins ? *last : out.emplace_back();
    if (!joins) {
      r.url = p.where.path;
      r.object = p.where.remote;
    }
    r.pieces[r.count++] = piece;
  }
  return out;
}

}  // namespace

bool is_url(std::string_view text) noexcept {
  const std::size_t colon = text.find("://");
  return colon != std::string_view::npos && colon != 0 &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
                  c == '-' || c == '.';
         });
}

bool is_in_bucket(std::string_view url) noexcept {
  return url.starts_with("s3://") || url.starts_with("gs://") || url.starts_with("az://") ||
         url.starts_with("hf://");
}

std::string shown_url(std::string_view url) {
  const std::size_t host = std::min(url.find("://"), url.size() - 3) + 3;
  std::size_t path = std::min(url.find('/', host), url.size());
  const std::string_view authority = url.substr(host, path - host);
  const std::size_t port = authority.rfind(':');
  if (port != std::string_view::npos && authority.find('@') == std::string_view::npos &&
      authority.back() != ']' &&
      authority.find_first_not_of("0123456789", port + 1) != std::string_view::npos)
    path = std::min(url.find_first_of("?#"), url.size());  // "name:pass/word@host"
  const std::size_t at = url.substr(0, path).rfind('@');
  std::string out(url.substr(0, host));
  url.remove_prefix(at == std::string_view::npos || at < host ? host : at + 1);
  const bool is_signed = out == "az://" && url.find("sig=") != std::string_view::npos;  // by mistake
  return out += is_in_bucket(out) && !is_signed ? url : url.substr(0, url.find_first_of("?#"));
}

void require_encoded(std::string_view url, std::string_view who) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) return;
  for (std::size_t i = 0; i < url.size(); ++i) {
    const auto c = static_cast<unsigned char>(url[i]);
    if (c == '%' && percent_decoded(url.substr(i, 3), plus_signs::kept)) continue;
    if (c > ' ' && c != '#' && c != '%' && c != 0x7F) continue;
    throw source_error(url.substr(0, std::min(url.find('?'), url.size())), who,
                       "is a URL with \"" + printable(url.substr(i, 1)) + "\" in it; write " +
                           percent_encoded(url.substr(i, 1), slashes::kept) + " in its place");
  }
}

std::string_view without_query(std::string_view url) noexcept {
  const bool on_web = url.starts_with("http") && is_url(url);
  return on_web ? url.substr(0, url.find('?')) : url;
}

namespace {

/// Whether a parameter belongs to a signature of Amazon, Google, Alibaba, a CDN, or Azure.
bool is_of_signature(std::string_view parameter, bool of_azure) noexcept {
  using namespace std::string_view_literals;
  static constexpr std::array signatures{
      "access_token"sv,   "awsaccesskeyid"sv, "expires"sv,   "googleaccessid"sv, "key-pair-id"sv,
      "ossaccesskeyid"sv, "policy"sv,         "signature"sv, "token"sv,          "x-signature"sv};
  static constexpr std::array azure{"sig"sv,   "se"sv,  "sip"sv, "ske"sv, "skoid"sv, "sks"sv, "skt"sv,
                                    "sktid"sv, "skv"sv, "sp"sv,  "spr"sv, "sr"sv,    "st"sv,  "sv"sv};
  std::array<char, 16> lower{};  // long enough for all names above
  const std::size_t n = std::min(parameter.find('='), std::min(parameter.size(), lower.size()));
  std::transform(parameter.begin(), parameter.begin() + static_cast<std::ptrdiff_t>(n), lower.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  const std::string_view name(lower.data(), n);
  const auto is = [name](std::string_view other) { return name == other; };
  return name.starts_with("x-amz-") || name.starts_with("x-goog-") || name.starts_with("x-oss-") ||
         std::any_of(signatures.begin(), signatures.end(), is) ||
         (of_azure && std::any_of(azure.begin(), azure.end(), is));
}

}  // namespace

void add_query(fingerprint_hash& h, std::string_view url) noexcept {
  std::string_view rest = url.substr(without_query(url).size());
  rest = rest.substr(0, rest.find('#'));
  const bool of_azure =
      rest.find("?sig=") != std::string_view::npos || rest.find("&sig=") != std::string_view::npos;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // "?" or "&"
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(parameter.size());
    if (!is_of_signature(parameter, of_azure)) h.add(parameter);
  }
}

std::atomic<store_opener>& url_store() noexcept {
  static constinit std::atomic<store_opener> opener{nullptr};
  return opener;
}

std::shared_ptr<object_store> store_of(std::string_view url, std::string_view who) {
  const store_opener opener = url_store().load(std::memory_order_acquire);
  if (opener == nullptr) {
    throw source_error(shown_url(url), who,
                       "is a URL, and this program reads only local files; include <wick/stores/remote.hpp> "
                       "and link wick::curl");
  }
  return opener();
}

task<void> read_remote(std::span<range_part> parts, context* c, std::uint64_t max_bytes) {
  std::vector<remote_read> reads = first_looks(parts, max_bytes);
  std::uint64_t reserved = 0;
  for (const remote_read& r : reads) reserved += r.pieces[0].length;
  if (reserved != 0) {
    auto room = c->reserve(static_cast<std::size_t>(reserved));
    co_await room;
    remote_awaiter looking(reads, *c->on(), c->stop());
    co_await looking;
  }
  const std::uint64_t total = set_lengths(parts);
  check_size(total, {.max_bytes = max_bytes});
  if (total > reserved) {
    auto room = c->reserve(static_cast<std::size_t>(total - reserved));
    co_await room;
  }
  reads = reads_of(parts);
  remote_awaiter reading(reads, *c->on(), c->stop());
  co_await reading;
}

void read_remote_now(std::span<range_part> parts, std::uint64_t max_bytes, const stop_token& stop) {
  std::vector<remote_read> reads = first_looks(parts, max_bytes);
  wait_for_remote(reads, stop);
  check_size(set_lengths(parts), {.max_bytes = max_bytes});
  reads = reads_of(parts);
  wait_for_remote(reads, stop);
}

void remote_wait::done(remote_read& read) noexcept {
  auto* const self = static_cast<remote_wait*>(read.owner);
  const std::lock_guard lock(self->mutex_);  // also while notifying: the waiter may be gone right after
  if (read.failed && self->failed_ == nullptr) self->failed_ = &read;
  if (--self->left_ == 0 || self->failed_ != nullptr) self->wake_.notify_one();
}

remote_read* remote_wait::wait(const stop_token& stop) {
  std::exception_ptr interrupted;
  bool called_off = false;
  std::unique_lock lock(mutex_);
  while (left_ != 0) {
    if (called_off || failed_ == nullptr) wake_.wait_for(lock, std::chrono::milliseconds(100));
    if (called_off || left_ == 0) continue;
    const bool failed = failed_ != nullptr;
    lock.unlock();
    if (!failed) {
      try {
        check_interruption();
        if (stop.stop_requested()) throw cancelled();
      } catch (...) {
        interrupted = std::current_exception();
      }
    }
    called_off = failed || interrupted;
    if (called_off) {
      for (remote_read* const r : reads_) r->object->store->call_off(*r);
    }
    lock.lock();
  }
  if (interrupted) std::rethrow_exception(interrupted);
  return failed_;
}

void wait_for_remote(std::span<remote_read> reads, const stop_token& stop) {
  remote_wait all(reads.size());
  for (remote_read& r : reads) all.add(r, [](remote_read& read) { read.object->store->begin(read); });
  if (const remote_read* const failed = all.wait(stop)) std::rethrow_exception(failed->failed);
}

std::size_t read_remote_up_to(const char* url, remote_object& object, std::byte* to, std::size_t size,
                              std::uint64_t offset) {
  remote_read r;
  r.url = url;
  r.object = &object;
  r.pieces[0] = {offset, size, to};
  r.count = 1;
  r.may_end_early = true;
  wait_for_remote({&r, 1});
  return r.got;
}

}  // namespace wick::detail

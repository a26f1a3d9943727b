// One read over HTTP: sends each attempt, and handles the response's bytes. Used only by http_client.ipp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <curl/curl.h>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/s3_listing.hpp>

namespace wick::inline v0_1::detail {

using http_clock = std::chrono::steady_clock;

/// The version texts of some objects, for messages.
class http_versions {
 public:
  void note(const remote_object& of, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (texts_.size() == most) texts_.clear();
    texts_.insert_or_assign(&of, text);
  }
  /// Empty if it has been dropped.
  std::string of(const remote_object& object) const {
    const std::lock_guard lock(mutex_);
    const auto at = texts_.find(&object);
    return at == texts_.end() ? std::string() : at->second;
  }

 private:
  static constexpr std::size_t most = 10'000;
  mutable std::mutex mutex_;
  std::unordered_map<const remote_object*, std::string> texts_;
};

/// A curl handle that keeps the options that most requests share, since setting all of them takes as long as
/// a small request.
struct http_handle {
  http_handle() : curl(curl_easy_init()) {
    if (curl == nullptr) throw std::bad_alloc();
  }
  http_handle(const http_handle&) = delete;
  http_handle& operator=(const http_handle&) = delete;
  ~http_handle() { curl_easy_cleanup(curl); }

  template <class T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(curl, option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  }
  /// Sets what all requests of a kind share, unless this is done already. \param follows  redirects
  void set_kind(bool is_https, bool follows, const std::string& ca_file, const remote_options& options);

  /// Forgets the last request, which may be gone when curl speaks next.
  void forget() noexcept {
    for (const CURLoption o : {CURLOPT_ERRORBUFFER, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PRIVATE})
      curl_easy_setopt(curl, o, static_cast<void*>(nullptr));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  }

  CURL* curl;

 private:
  std::string kind_;  // of the last request
};

/// A read, from begin() until it is done.
struct http_request {
  /// \param all  if not null, the whole response at this address is wanted, not a range
  http_request(remote_read& of, const http_address* all) noexcept : read(&of), whole(all), at(of.first()) {}
  /// A second request for the missing bytes of `of`, into its own memory.
  explicit http_request(http_request& of)
      : read(&copy), whole(nullptr), at(of.at), twin(&of), own(static_cast<std::size_t>(of.end() - of.at)) {
    copy.url = of.read->url;
    copy.object = of.read->object;
    copy.pieces[0] = {of.at, own.size(), own.data()};
    copy.count = 1;
    copy.may_end_early = of.read->may_end_early;
    of.twin = this;
  }
  http_request(const http_request&) = delete;
  http_request& operator=(const http_request&) = delete;
  ~http_request() { curl_slist_free_all(headers); }

  std::uint64_t end() const noexcept { return read->end(); }
  bool complete() const noexcept { return piece == read->count; }
  /// "https://host:port", or a bucket.
  std::string_view server() const noexcept {
    const std::string_view url = whole != nullptr ? std::string_view(whole->url) : read->url;
    const std::size_t host = url.find("://");
    return url.substr(0, url.find('/', host == std::string_view::npos ? 0 : host + 3));
  }
  bool second() const noexcept { return read == &copy; }
  /// Whether the response had everything that is wanted.
  bool has_all(CURLcode code) const noexcept {
    return good && (complete() || (whole != nullptr && code == CURLE_OK) ||
                    (read->may_end_early && place == read->object->size.load(std::memory_order_acquire)));
  }
  /// Makes `handle` ready for the next attempt. \throws std::bad_alloc
  void prepare(const http_address& to, const remote_options& options);
  /// Takes bytes of the object that start at `place`; drops those that no piece wants.
  void take(const char* data, std::size_t size) noexcept;
  /// Called once the response's headers are complete. Returns whether its bytes are wanted.
  bool check_head();
  /// The response's fault, and what to do.
  std::string verdict() const;
  /// Whether S3 refuses the request's time, since this machine's clock differs from the server's.
  bool clock_differs() const {
    return answer.status == 403 && !answer.date.empty() &&
           parse_s3_error(refusal).code == "RequestTimeTooSkewed";
  }
  std::string too_short(std::uint64_t size) const;
  std::string gave_up(const std::string& why, const remote_options& options) const;

  remote_read* read;
  const http_address* whole;
  std::uint64_t at;                       // the first missing byte
  std::size_t piece = 0;                  // the piece that it belongs to
  std::uint32_t attempts = 0;             // failed in a row
  http_clock::time_point begun{}, due{};  // the first attempt's start; the earliest time of the next
  bool called_off = false;                // guarded by its thread's mutex

  http_request* twin = nullptr;  // the second request for the same, or the first
  remote_read copy;              // a second request's own read, and its bytes
  std::vector<std::byte> own;

  // The attempt under way:
  http_clock::time_point sent{};
  double first_byte = 0;  // seconds until the response began
  std::unique_ptr<http_handle> handle;
  curl_slist* headers = nullptr;
  http_answer answer;
  std::uint64_t keys = 0;  // the number of the keys that sign it
  const char* advice = "";
  std::uint64_t from = 0, place = 0;  // the first byte requested; the next byte to arrive
  bool checked = false, good = false;
  std::string fault, refusal;  // the response's fault; the first bytes of an error response
  std::array<char, CURL_ERROR_SIZE> message{};
  std::string why;  // why the last attempt failed
  bool sizes_only = false;
  http_versions* versions = nullptr;
};

inline void http_request::take(const char* data, std::size_t size) noexcept {
  while (size != 0 && !complete()) {
    const remote_read::piece& p = read->pieces[piece];
    if (p.length == 0) {
      ++piece;
      continue;
    }
    if (place < p.offset + p.length && place >= p.offset) {
      const std::size_t within = static_cast<std::size_t>(place - p.offset);
      const std::size_t n = std::min(size, p.length - within);
      std::memcpy(p.to + within, data, n);
      read->got = within + n;
      data += n;
      size -= n;
      place += n;
      at = std::max(at, place);  // a server without ranges starts from the first byte
      if (within + n == p.length && ++piece != read->count) read->got = 0;
      continue;
    }
    const auto gap = static_cast<std::size_t>(std::min<std::uint64_t>(size, p.offset - place));
    data += gap;
    size -= gap;
    place += gap;
    at = std::max(at, place);
  }
}

inline bool http_request::check_head() {
  checked = true;
  fault = answer.fault(from, end(), read->first());
  const bool behind_its_end = answer.status == 416 && whole == nullptr;  // maybe it became shorter
  if (!fault.empty() && !behind_its_end) return false;
  place = answer.end != http_answer::unknown ? answer.first : 0;
  if (whole != nullptr) return good = true;
  remote_object& object = *read->object;
  const bool says_size = answer.end != http_answer::unknown || behind_its_end;
  const std::uint64_t size = says_size ? answer.size : answer.length;
  std::uint64_t before = remote_object::unknown;
  if (size != http_answer::unknown &&
      !object.size.compare_exchange_strong(before, size, std::memory_order_acq_rel) && before != size) {
    fault = "was changed on the server: it had " + std::to_string(before) + " bytes, and has " +
            std::to_string(size) + "; let its writer end, and make the loader again";
    return false;
  }
  if (behind_its_end) return false;
  if (sizes_only) answer.version = size != http_answer::unknown ? version_of_size(size) : 0;
  before = 0;
  if (answer.version != 0 &&
      !object.version.compare_exchange_strong(before, answer.version, std::memory_order_acq_rel) &&
      before != answer.version) {
    const std::string first = versions->of(object);
    fault = "was changed on the server since it was read first (" + printable(answer.version_text) +
            (first.empty() ? "; it was another" : "; it was " + printable(first)) +
            "). Let its writer end, and make the loader again. If it's the same, and the machines of a CDN "
            "give different ETags or dates, set remote_options::compare_sizes_only";
    return false;
  }
  if (answer.version != 0 && before == 0) versions->note(object, answer.version_text);  // the first response
  const bool part = answer.end != http_answer::unknown;  // maybe without a length: "bytes 0-99/*"
  if (size == http_answer::unknown && read->may_end_early &&
      !(part && object.size.load(std::memory_order_acquire) != remote_object::unknown)) {
    fault = "the server doesn't say how long it is; use one that sends Content-Length";
    return false;
  }
  return good = true;
}

namespace {

std::size_t on_head(char* data, std::size_t one, std::size_t size, void* to) noexcept {
  auto& r = *static_cast<http_request*>(to);
  try {
    if (r.answer.add({data, one * size})) return one * size;
    r.fault =
        "the server sends more than " + std::to_string(http_answer::most_bytes / 1024) + " KiB of headers";
  } catch (...) {
    r.message[0] = '\0';
  }
  r.checked = true;
  return 0;
}

std::size_t on_body(char* data, std::size_t one, std::size_t size, void* to) noexcept {
  constexpr std::size_t most_refusal = 4096;
  auto& r = *static_cast<http_request*>(to);
  size *= one;
  try {
    if (!r.checked) r.check_head();
    if (!r.good) {  // an error response: a short one is read to its end, to keep the connection
      r.place += size;
      r.refusal.append(data, std::min(size, most_refusal - std::min(most_refusal, r.refusal.size())));
      return r.place - r.from > (std::uint64_t{64} << 10) ? 0 : size;
    }
  } catch (...) {
    return 0;
  }
  const bool over = r.complete();
  r.take(data, size);
  return over ? 0 : size;  // a server that ignores ranges sends more
}

/// Whether the next attempt may succeed.
bool may_pass(CURLcode code) noexcept {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

}  // namespace

inline std::string http_request::verdict() const {
  std::string text = fault;
  const s3_error s3 = parse_s3_error(refusal);
  if (!s3.code.empty())
    text += " (" + s3.text() + ")";
  else if (!refusal.empty() && answer.status / 100 > 3)  // a redirect's body shows its target with the query
    text += " (" + printable(std::string_view(refusal).substr(0, 200)) + ")";
  const bool of_region = answer.status / 100 == 3 || answer.status == 400;
  const std::string& region = s3.region.empty() && of_region ? answer.region : s3.region;
  if (!region.empty()) {
    return text + "; the bucket is in the region " + printable(region) +
           ": set remote_options::region, or AWS_REGION";
  }
  if (!answer.location.empty() && answer.status / 100 == 3) {
    const std::string_view to = answer.location;  // may be relative
    text +=
        "; it redirects to " +
        printable(is_url(to) ? shown_url(to) : std::string(to.substr(0, to.find_first_of("?#")))) +
        ", and headers of a request go to no other host (but for Authorization, which is left out there): "
        "give that URL";
  } else if (answer.status == 404) {
    text += "; check the URL";
  } else if (answer.status == 401 || answer.status == 403) {
    text.append("; ").append(advice);
  }
  return text;
}

inline std::string http_request::too_short(std::uint64_t size) const {
  return "ends after " + std::to_string(size) + " bytes, wanted were " + std::to_string(end()) +
         "; it became shorter, or the source is wrong about it";
}

inline std::string http_request::gave_up(const std::string& why, const remote_options& options) const {
  std::array<char, 32> limit{};
  std::snprintf(limit.data(), limit.size(), "%g", 1e-9 * static_cast<double>(options.give_up_after.count()));
  return std::string("can't be read from the server for ") + limit.data() + " s (" +
         std::to_string(attempts + 1) + " attempts): " + printable(why) +
         "; remote_options::give_up_after is the limit";
}

inline void http_request::prepare(const http_address& to, const remote_options& options) {
  answer = {};
  keys = to.keys;
  advice = to.advice;
  if (whole != nullptr) at = piece = 0;  // from the start
  from = place = at;
  checked = good = false;
  fault.clear();
  refusal.clear();
  message[0] = '\0';
  curl_slist_free_all(std::exchange(headers, nullptr));
  const auto add = [this](const char* line) {
    curl_slist* const longer = curl_slist_append(headers, line);
    if (longer == nullptr) throw std::bad_alloc();
    headers = longer;
  };
  add("Accept-Encoding: identity");  // a range of compressed bytes isn't a range of the object
  for (const std::string& line : to.headers) add(line.c_str());
  // Headers may hold a secret for the first host only. curl ensures that for this header, but for no other.
  const bool follows =
      to.headers.empty() || (to.headers.size() == 1 && has_header(to.headers, "authorization"));
  http_handle& h = *handle;
  h.set_kind(to.url.starts_with("https"), follows, options.ca_file.empty() ? to.ca_file : options.ca_file,
             options);
  const std::string range = std::to_string(from) + "-" + std::to_string(end() - 1);
  h.set(CURLOPT_URL, to.url.c_str());
  h.set(CURLOPT_RANGE, whole == nullptr ? range.c_str() : nullptr);
  h.set(CURLOPT_HTTPHEADER, headers);
  h.set(CURLOPT_PRIVATE, static_cast<void*>(this));
  h.set(CURLOPT_ERRORBUFFER, message.data());
  h.set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  h.set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

inline void http_handle::set_kind(bool is_https, bool follows, const std::string& ca_file,
                                  const remote_options& options) {
  std::string kind = std::string(is_https ? "https " : "http ") + (follows ? "follows " : "stays ") + ca_file;
  if (kind == kind_) return;
  kind_.clear();
  curl_easy_reset(curl);
  set(CURLOPT_HEADERFUNCTION, &on_head);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_BUFFERSIZE, 64L << 10);
  set(CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
  set(CURLOPT_LOW_SPEED_TIME,
      std::clamp(static_cast<long>(options.stalled_after / std::chrono::seconds(1)), 1L, 1'000'000L));
  set(CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
  set(CURLOPT_USERAGENT, "wick");
#if LIBCURL_VERSION_NUM >= 0x075700
  set(CURLOPT_QUICK_EXIT, 1L);  // so that stopping doesn't wait for a name server
#endif
  set(CURLOPT_FOLLOWLOCATION, follows ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, 5L);
#if LIBCURL_VERSION_NUM >= 0x075500
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
#else
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_REDIR_PROTOCOLS,
      static_cast<long>(is_https ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);  // dots are part of an S3 key
  kind_ = std::move(kind);
}

}  // namespace wick::detail

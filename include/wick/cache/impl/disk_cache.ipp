// Implements cache/detail/disk_cache.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/cache/detail/cache_folder.hpp>
#include <wick/cache/detail/disk_cache.hpp>
#include <wick/io/detail/file_system.hpp>

namespace wick::inline v0_1::detail {

struct disk_cache::record {
  static constexpr std::uint32_t kind_of_sample = 0x6B636977;  // "wick", in this machine's byte order
  std::uint32_t kind = kind_of_sample;
  std::uint32_t segment = 0;
  std::uint64_t sample = 0, origin = 0, offset = 0, length = 0, content = 0;
  std::uint64_t set = 0;
  std::uint64_t check = 0;  // of all members before it

  std::uint64_t checksum() const noexcept {
    return content_of(reinterpret_cast<const std::byte*>(this), offsetof(record, check), 1);
  }
};

disk_cache::disk_cache(const std::string& folder, std::uint64_t set, std::uint64_t samples,
                       std::optional<std::uint64_t> most)
    : root_(folder),
      folder_(cache_folder::set_path(folder, set)),
      set_(set),
      samples_(samples),
      most_(most.value_or(0)),
      entries_(static_cast<std::size_t>(samples)) {
  std::error_code fault;
  std::filesystem::create_directories(root_, fault);
  if (fault) cache_folder::refuse(root_, "made", fault.value());
  in_use_ = cache_folder::use(folder_);
  open_set();
}

void disk_cache::open_set() {
  const std::string path = folder_ + "/index";
  index_ = file_handle(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!index_) cache_folder::refuse(path, "opened", errno);
  local_ = is_local(index_.get());
  const std::scoped_lock lock(index_mutex_);
  bytes_ = cache_folder::size_of_set(folder_);
  count_others();
  if (most_ == 0) {
    struct ::statvfs about {};
    if (::statvfs(root_.c_str(), &about) == 0)
      most_ = (std::uint64_t{about.f_bavail} * about.f_frsize + used()) / 2;
  }
  block_limit_ = std::clamp<std::uint64_t>(most_ / 64, 1, block_bytes);
  const std::uint64_t bytes = bytes_;
  read_index();
  bytes_ = bytes;  // the files counted above contain the indexed samples
}

/// The bytes of an index that are whole records.
std::uint64_t whole_records(std::int64_t size) noexcept {
  return static_cast<std::uint64_t>(size) / disk_cache::record_size * disk_cache::record_size;
}

void disk_cache::read_index() {
  struct ::stat about {};
  if (::fstat(index_.get(), &about) != 0) return;
  const std::uint64_t end = whole_records(about.st_size);
  std::uint64_t read_to = read_to_.load(std::memory_order_relaxed);
  if (read_to >= end) return;
  std::vector<record> some(
      static_cast<std::size_t>(std::min<std::uint64_t>(1024, (end - read_to) / record_size)));
  while (read_to < end) {
    const std::size_t n =
        static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), (end - read_to) / record_size));
    if (!cache_folder::read_all(index_.get(), reinterpret_cast<std::byte*>(some.data()), n * record_size,
                                read_to))
      return;
    read_to += n * record_size;
    for (std::size_t i = 0; i < n; ++i) take(some[i]);
    read_to_.store(read_to, std::memory_order_release);
  }
}

void disk_cache::take(const record& r) {
  if (r.kind != record::kind_of_sample || r.set != set_ || r.check != r.checksum() || r.sample >= samples_) {
    damaged_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (r.segment != own_) bytes_ += r.length + record_size;  // its own are counted in write_some()
  std::uint64_t& end = ends_[r.segment];
  end = std::max(end, r.offset + r.length);
  const int file = segment(r.segment);
  if (file < 0) return;
  const std::scoped_lock lock(lock_of(r.sample));
  entry& e = at(r.sample);
  if (e.file < 0) kept_.fetch_add(1, std::memory_order_relaxed);
  // The last counts: earlier ones may be damaged.
  e = {r.origin, r.offset, r.length, r.content, file, false, e.block};
}

int disk_cache::segment(std::uint32_t number) {
  const auto found = segments_.find(number);
  if (found != segments_.end()) return found->second;
  file_handle file(::open(cache_folder::segment_path(folder_, number).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return -1;
  files_.push_back(std::move(file));
  return segments_[number] = files_.back().get();
}

bool disk_cache::find(std::uint64_t index, entry& out) const noexcept {
  if (index >= samples_ || !local_) return false;
  const std::scoped_lock lock(lock_of(index));
  const entry& e = entries_[static_cast<std::size_t>(index)];
  if (!e.checked) return false;
  out = e;
  return true;
}

bool disk_cache::is_absent(std::uint64_t index) noexcept {
  if (index >= samples_ || !local_) return false;
  const std::uint64_t read_to = read_to_.load(std::memory_order_acquire);
  {
    const std::scoped_lock lock(lock_of(index));
    const entry& e = at(index);
    if (e.file >= 0 || e.block != 0) return false;
  }
  struct ::stat about {};
  return ::fstat(index_.get(), &about) == 0 && whole_records(about.st_size) <= read_to;
}

bool disk_cache::look(std::uint64_t index, std::uint64_t origin, entry& out) {
  if (index >= samples_) return false;
  settle(index);
  const auto known = [&] {
    const std::scoped_lock lock(lock_of(index));
    entry& e = at(index);
    if (e.file < 0) return false;
    if (e.origin == origin) {
      out = e;
      return true;
    }
    forget(e);  // the sample is made again
    kept_.fetch_sub(1, std::memory_order_relaxed);
    stale_.fetch_add(1, std::memory_order_relaxed);
    return false;
  };
  if (known()) return true;
  {
    const std::scoped_lock lock(index_mutex_);
    read_index();
  }
  return known();  // even if nothing was new, another thread may have read the index in the meantime
}

bool disk_cache::read(std::uint64_t index, const entry& where, bytes& out) {
  out = bytes(static_cast<std::size_t>(where.length));
  const bool whole = cache_folder::read_all(where.file, out.data(), out.size(), where.offset) &&
                     content_of(out.data(), out.size(), 0) == where.content;
  const std::scoped_lock lock(lock_of(index));
  entry& e = at(index);
  if (e.file != where.file || e.offset != where.offset) return whole;  // replaced in the meantime
  if (whole) {
    e.checked = true;
    return true;
  }
  forget(e);
  kept_.fetch_sub(1, std::memory_order_relaxed);
  damaged_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

namespace {

std::int64_t steady_now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void disk_cache::pause(std::int64_t seen, int fault) noexcept {
  const std::int64_t pause = pause_.load(std::memory_order_relaxed);
  // If several threads find it full at once, only one reports it.
  if (!full_until_.compare_exchange_strong(seen, steady_now() + pause, std::memory_order_relaxed)) return;
  fault_.store(fault, std::memory_order_relaxed);
  pause_.store(std::min(2 * pause, longest_pause), std::memory_order_relaxed);
}

void disk_cache::take_back(const record& r) noexcept {
  bytes_ -= std::min<std::uint64_t>(bytes_, record_size);
  if (r.segment != own_ || end_ != r.offset + r.length) return;  // another sample was written after it
  bytes_ -= std::min(bytes_, r.length);
  end_ = r.offset;
  static_cast<void>(::ftruncate(segments_.at(own_), static_cast<::off_t>(end_)));
}

bool disk_cache::add(std::uint64_t index, std::uint64_t origin, std::vector<std::byte> sample) noexcept try {
  if (index >= samples_) return false;
  const std::int64_t full_until = full_until_.load(std::memory_order_relaxed), now = steady_now();
  if (full_until != 0 && now < full_until) return false;
  record r;
  r.set = set_;
  r.sample = index;
  r.origin = origin;
  r.length = sample.size();
  r.content = content_of(sample.data(), sample.size(), 0);
  const std::scoped_lock lock(block_mutex_);
  {
    const std::scoped_lock own(lock_of(index));
    entry& e = at(index);
    if (e.block != 0 || (e.file >= 0 && e.origin == origin)) return false;
    block_.records.push_back(r);
    try {
      block_.samples.push_back(std::move(sample));
    } catch (...) {
      block_.records.pop_back();
      throw;
    }
    e.block = block_.number;
  }
  constexpr std::int64_t second = 1'000'000'000;
  if (block_.samples.size() == 1) block_.begun = now;
  const std::uint64_t filled = block_.bytes / block_limit_;
  block_.bytes += r.length + record_size;
  unwritten_ += r.length + record_size;
  ++unwritten_samples_;
  const bool late = now - block_.begun > second;
  if (late) block_.begun = now;  // one sample is enough to write it
  return late || block_.bytes / block_limit_ != filled || unwritten_ > most_unwritten || is_last_block();
} catch (const std::exception&) {  // out of memory: the caller still has the sample
  fault_.store(ENOMEM, std::memory_order_relaxed);
  return false;
}

void disk_cache::write() noexcept {
  for (bool again = true; again;) {
    block now;
    {
      const std::scoped_lock lock(block_mutex_);
      now.number = block_.number == 65'535 ? 1 : static_cast<std::uint16_t>(block_.number + 1);
      std::swap(now, block_);
    }
    const std::uint64_t samples = now.records.size();
    if (samples == 0) return;
    std::vector<record> records = std::move(now.records);  // write() leaves some out
    try {
      now.records = records;
      write(now);
    } catch (const std::exception&) {
      fault_.store(ENOMEM, std::memory_order_relaxed);
    }
    for (const record& r : records) {
      const std::scoped_lock lock(lock_of(r.sample));
      if (at(r.sample).block == now.number) at(r.sample).block = 0;
    }
    const std::scoped_lock lock(block_mutex_);
    unwritten_ -= now.bytes;
    unwritten_samples_ -= samples;
    written_.notify_all();
    again = !block_.samples.empty() && is_last_block();
  }
}

void disk_cache::settle(std::uint64_t index) noexcept {
  if (index >= samples_) return;
  for (;;) {
    {
      std::unique_lock lock(block_mutex_);
      std::uint16_t block = 0;
      {
        const std::scoped_lock own(lock_of(index));
        block = at(index).block;
      }
      if (block == 0) return;
      // Another thread writes it, or so much that this block may grow meanwhile.
      if (block != block_.number || unwritten_ - block_.bytes > most_unwritten) {
        written_.wait(lock);
        continue;
      }
    }
    write();
  }
}

disk_cache::~disk_cache() {
  if (!born_.elsewhere()) write();
}

bool disk_cache::is_known(const record& r) noexcept {
  const std::scoped_lock own(lock_of(r.sample));
  const entry& e = at(r.sample);
  return e.file >= 0 && e.origin == r.origin;
}

void disk_cache::leave_out_known(block& b) {
  read_index();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < b.records.size(); ++i) {
    if (is_known(b.records[i])) continue;
    if (kept != i) b.records[kept] = b.records[i], b.samples[kept] = std::move(b.samples[i]);
    ++kept;
  }
  b.records.resize(kept);
  b.samples.resize(kept);
}

/// Writes small samples together.
bool disk_cache::write_content(int file, std::span<const std::vector<std::byte>> samples,
                               std::uint64_t offset) {
  std::vector<std::byte> together;
  const auto flush = [&] {
    const bool written = cache_folder::write_all(file, together, offset);
    offset += together.size();
    together.clear();
    return written;
  };
  for (const std::vector<std::byte>& sample : samples) {
    if (sample.size() >= block_bytes / 4) {
      if (!flush() || !cache_folder::write_all(file, sample, offset)) return false;
      offset += sample.size();
      continue;
    }
    together.insert(together.end(), sample.begin(), sample.end());
    if (together.size() >= block_bytes && !flush()) return false;
  }
  return flush();
}

/// Samples that came while the block waited are written after its limit, so that other processes see what is
/// used in steps of the limit.
void disk_cache::write(block& b) {
  {
    const std::scoped_lock lock(index_mutex_);
    leave_out_known(b);
  }
  for (std::size_t first = 0, end = 0; first < b.records.size(); first = end) {
    for (std::uint64_t bytes = 0; end < b.records.size() && bytes < block_limit_; ++end)
      bytes += b.records[end].length + record_size;
    if (!write_some(b, first, end - first)) return;
  }
}

bool disk_cache::write_some(block& b, std::size_t first, std::size_t count) {
  const std::int64_t full_until = full_until_.load(std::memory_order_relaxed);
  std::span<record> records = std::span(b.records).subspan(first, count);
  std::uint64_t offset = 0;
  int file = -1;
  bool all_fit = true;
  {
    const std::scoped_lock lock(index_mutex_);
    std::uint64_t bytes = 0;
    for (const record& r : records) bytes += r.length + record_size;
    if (used() + bytes > count_again_ || used() + bytes > most_) count_others();
    if (used() + bytes > most_ && !make_room(bytes)) {
      all_fit = false;
      while (!records.empty() && used() + bytes > most_) {
        bytes -= records.back().length + record_size;
        records = records.first(records.size() - 1);
      }
      if (records.empty()) return pause(full_until, 0), false;
    }
    if (own_ == 0 && !open_own_segment()) return pause(full_until, errno), false;
    offset = end_;
    for (record& r : records) {
      r.segment = own_;
      r.offset = end_;
      end_ += r.length;
    }
    bytes_ += bytes;
    file = segments_.at(own_);
  }
  int fault = 0;
  std::size_t done = 0;
  try {
    if (write_content(file, std::span(b.samples).subspan(first, records.size()), offset))
      done = append(records);
    fault = done == records.size() ? 0 : errno;
  } catch (const std::bad_alloc&) {
    fault = ENOMEM;
  }
  if (fault == 0) {
    if (!all_fit) return pause(full_until, 0), false;
    if (full_until == 0) return true;
    full_until_.store(0, std::memory_order_relaxed);  // there is room again
    pause_.store(first_pause, std::memory_order_relaxed);
    fault_.store(0, std::memory_order_relaxed);
    return true;
  }
  {
    const std::scoped_lock lock(index_mutex_);
    for (std::size_t i = records.size(); i-- > done;) take_back(records[i]);
  }
  if (fault == ENOSPC || fault == EDQUOT || fault == EFBIG || fault == EROFS)
    pause(full_until, fault);
  else
    fault_.store(fault, std::memory_order_relaxed);
  return false;
}

bool disk_cache::open_own_segment() {
  // Takes over a segment that another process has left, after the bytes in the index; else makes a new one.
  const auto writable = [&](std::uint32_t number, int how) {
    file_handle file(
        ::open(cache_folder::segment_path(folder_, number).c_str(), O_RDWR | O_CLOEXEC | how, 0666));
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
    read_index();  // including its writer's last records
    const std::uint64_t end = ends_[number];
    if (::ftruncate(file.get(), static_cast<::off_t>(end)) != 0) return false;
    own_ = number;
    end_ = end;
    files_.push_back(std::move(file));
    segments_[number] = files_.back().get();  // entries may use another descriptor, which stays open
    return true;
  };
  std::error_code fault;
  for (std::filesystem::directory_iterator i(folder_, fault), end; !fault && i != end; i.increment(fault)) {
    const std::uint32_t number = cache_folder::segment_number(i->path().filename().string());
    if (number != 0 && writable(number, 0)) return true;
  }
  for (;;) {
    std::uint32_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return false;
    number >>= 1;
    if (number == 0) continue;
    if (writable(number, O_CREAT | O_EXCL)) return true;
    if (errno != EEXIST && errno != EWOULDBLOCK) return false;  // another process has it: try the next number
  }
}

std::size_t disk_cache::append(std::span<const record> records) {
  const std::scoped_lock lock(index_mutex_);
  if (!cache_folder::lock(index_.get(), LOCK_EX, 200)) return 0;
  struct unlocking {
    int file;
    ~unlocking() {
      const int fault = errno;
      ::flock(file, LOCK_UN);
      errno = fault;
    }
  } const unlock{index_.get()};
  read_index();
  std::vector<record> new_ones;
  std::vector<std::size_t> places;
  new_ones.reserve(records.size());
  places.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (is_known(records[i])) continue;
    new_ones.push_back(records[i]);
    new_ones.back().check = records[i].checksum();
    places.push_back(i);
  }
  struct ::stat about {};
  if (::fstat(index_.get(), &about) != 0) return 0;
  // Overwrite any partial record that a killed writer or a full disk has left.
  const std::uint64_t end = whole_records(about.st_size);
  std::size_t in_index = new_ones.size();
  int fault = 0;
  if (!cache_folder::write_all(index_.get(), std::as_bytes(std::span(new_ones)), end)) {
    fault = errno;
    // Other processes may have read those that got in: they stay, as do their bytes.
    in_index =
        ::fstat(index_.get(), &about) == 0
            ? static_cast<std::size_t>((std::max(whole_records(about.st_size), end) - end) / record_size)
            : 0;
    static_cast<void>(::ftruncate(index_.get(), static_cast<::off_t>(end + in_index * record_size)));
  }
  // Including these records. Without memory for it, the next call reads them.
  try {
    read_index();
  } catch (const std::bad_alloc&) {
  }
  const std::size_t done = in_index == new_ones.size() ? records.size() : places[in_index];
  // The bytes of those that another process has kept first are of no use.
  for (std::size_t i = done; i-- > 0;) {
    if (!std::binary_search(places.begin(), places.end(), i)) take_back(records[i]);
  }
  errno = fault;
  return done;
}

std::vector<std::string> disk_cache::other_sets() const {
  std::vector<std::string> out;
  std::error_code fault;
  for (std::filesystem::directory_iterator i(root_, fault), end; !fault && i != end; i.increment(fault)) {
    if (cache_folder::is_set_name(i->path().filename().string()) && i->path() != folder_)
      out.push_back(i->path().string());
  }
  return out;
}

void disk_cache::count_others() {
  others_ = 0;
  for (const std::string& set : other_sets()) others_ += cache_folder::size_of_set(set);
  count_again_ = used() + most_ / 64;  // how far each process that writes may exceed the limit
}

bool disk_cache::make_room(std::uint64_t bytes) {
  using time = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::pair<time, std::string>> sets;  // time of last use, folder
  for (std::string& set : other_sets()) {
    struct ::stat about {};
    if (::stat((set + "/in-use").c_str(), &about) == 0)
      sets.emplace_back(time{about.st_mtim.tv_sec, about.st_mtim.tv_nsec}, std::move(set));
  }
  std::sort(sets.begin(), sets.end());
  for (const auto& [used_last, folder] : sets) {
    const std::uint64_t size = cache_folder::size_of_set(folder);
    if (!cache_folder::remove_set(folder)) continue;
    others_ -= std::min(others_, size);
    if (used() + bytes <= most_) return true;
  }
  return used() + bytes <= most_;
}

std::string disk_cache::note() const {
  std::uint64_t hits = 0, misses = 0;
  for (const counters& c : counters_) {
    hits += c.hits.load(std::memory_order_relaxed);
    misses += c.misses.load(std::memory_order_relaxed);
  }
  if (hits + misses == 0) return {};
  char text[256];
  std::snprintf(text, sizeof text,
                "cache_on_disk keeps %" PRIu64 " of %" PRIu64 " samples; %.0f %% of %" PRIu64
                " samples came from it, and the stages before it ran for the others",
                kept_.load(std::memory_order_relaxed), samples_,
                100.0 * static_cast<double>(hits) / static_cast<double>(hits + misses), hits + misses);
  std::string out = text;
  if (const std::uint64_t stale = stale_.load(std::memory_order_relaxed); stale != 0)
    out += "; " + std::to_string(stale) + " were made of files that have changed, and were made again";
  if (const std::uint64_t damaged = damaged_.load(std::memory_order_relaxed); damaged != 0)
    out += "; " + std::to_string(damaged) + " were damaged on disk, and were made again";
  const int fault = fault_.load(std::memory_order_relaxed);
  if (fault != 0)
    out += "; writing to " + cache_folder::in_quotes(folder_) +
           " failed: " + std::generic_category().message(fault);
  else if (full_until_.load(std::memory_order_relaxed) != 0)
    out += "; it is full: give it more .bytes, or cache smaller samples";
  return out;
}

cached_file_reader::cached_file_reader(const disk_cache::entry& where) noexcept
    : cache_reader({}), file_(where.file), offset_(where.offset), rest_(where.length) {
  const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(head_.size(), rest_));
  if (n == 0) return;
  const ::ssize_t got = cache_folder::read_cached(file_, head_.data(), n, offset_);
  if (got <= 0) return;
  ready_ = {head_.data(), static_cast<std::size_t>(got)};
  offset_ += static_cast<std::uint64_t>(got);
  rest_ -= static_cast<std::uint64_t>(got);
}

void cached_file_reader::fetch(std::byte* to, std::size_t size) {
  if (size > rest_) throw unavailable();
  while (size != 0) {
    const ::ssize_t n = cache_folder::read_cached(file_, to, size, offset_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw unavailable();
    to += n;
    size -= static_cast<std::size_t>(n);
    offset_ += static_cast<std::uint64_t>(n);
    rest_ -= static_cast<std::uint64_t>(n);
  }
}

}  // namespace wick::detail

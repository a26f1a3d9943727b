#include "fake_device.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <ATen/ops/addcmul.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "../support/doctest.hpp"
#include "fake_pinned.hpp"

namespace wick_test::fake {
namespace {

constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;
constexpr int devices = 2;
constexpr std::int64_t unlimited = -1;

struct queue {
  explicit queue(c10::Stream s) : stream(s), thread([this] { work(); }) {}
  ~queue() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    permit([](std::int64_t) { return unlimited; });
    thread.join();
  }
  void put(std::function<void()> op) {
    {
      std::lock_guard lock(mutex);
      ops.push_back(std::move(op));
    }
    changed.notify_all();
  }
  template <class F>
  void permit(F&& change) {
    {
      std::lock_guard lock(mutex);
      permits = change(permits);
    }
    changed.notify_all();
  }
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopping || (!ops.empty() && permits != 0); });
      if (ops.empty()) return;
      std::function<void()> op = std::move(ops.front());
      ops.pop_front();
      if (permits > 0) --permits;
      busy = true;
      lock.unlock();
      op();
      op = nullptr;
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
  bool is_idle() {
    std::lock_guard lock(mutex);
    return ops.empty() && !busy;
  }
  bool wait_idle(std::chrono::seconds at_most) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, at_most, [&] { return ops.empty() && !busy; });
  }

  const c10::Stream stream;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> ops;
  std::int64_t permits = unlimited;
  bool busy = false, stopping = false;
  std::thread thread;
};

struct event {
  const std::uint64_t number = made.fetch_add(1) + 1;
  static inline std::atomic<std::uint64_t> made{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, happened = 0;
};
using event_handle = std::shared_ptr<event>;

struct memory_block {
  void* data;
  std::size_t bytes;
  std::vector<c10::Stream> streams;  // the first is where it was allocated
};

struct span {
  const std::byte* from;
  const std::byte* to;
};

struct machine {
  machine() {
    for (int d = 0; d < devices; ++d) {
      queues.push_back(
          std::make_unique<queue>(c10::Stream(c10::Stream::UNSAFE, device(d), c10::StreamId{0})));
    }
  }

  /// Stream 0 of a device is its default stream, all others have numbers of their own.
  queue& of(c10::Stream s) {
    std::lock_guard lock(mutex);
    return *queues[s.id() == 0 ? static_cast<std::size_t>(s.device_index())
                               : static_cast<std::size_t>(s.id()) + devices - 1];
  }
  c10::Stream make_stream(c10::Device on) {
    std::lock_guard lock(mutex);
    const c10::Stream s(c10::Stream::UNSAFE, on, static_cast<c10::StreamId>(queues.size() - devices + 1));
    queues.push_back(std::make_unique<queue>(s));
    return s;
  }
  void note(entry e) {
    std::lock_guard lock(mutex);
    entries.push_back(e);
  }
  /// Puts work on a stream, at the same place there as in the log.
  void put(c10::Stream s, entry e, std::function<void()> op) {
    queue& q = of(s);
    std::lock_guard lock(mutex);
    entries.push_back(e);
    q.put(std::move(op));
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<queue>> queues;
  std::vector<entry> entries;
  std::vector<span> reads;
  std::atomic<std::uint64_t> queries{0};
  std::atomic<std::size_t> live{0};
  std::atomic<bool> refuses_streams{false}, last_is_urgent{false};
  std::atomic<bool> is_broken{false};
};

machine& the_machine() {
  static machine m;
  return m;
}

thread_local c10::DeviceIndex current_device = 0;
thread_local c10::StreamId current_streams[devices] = {};

void host_waits_for(c10::Stream s) {
  the_machine().note({.kind = what::host_wait, .stream = s.id()});
  (void)the_machine().of(s).wait_idle(std::chrono::seconds(60));
}

// A base of its own, without `override`: Torch 2 asks for these, 1.13 does not know them.
struct later_interface : c10::impl::DeviceGuardImplInterface {
  virtual void synchronizeEvent(void* e) const {
    event& what_for = **static_cast<event_handle*>(e);
    the_machine().note({.kind = what::host_wait, .event = what_for.number});
    std::unique_lock lock(what_for.mutex);
    what_for.changed.wait(lock, [&] { return what_for.happened == what_for.recorded; });
  }
  virtual void synchronizeDevice(c10::DeviceIndex) const {
    the_machine().note({.kind = what::host_wait});
    (void)finish_all();
  }
};

struct guard_impl final : later_interface {
  c10::DeviceType type() const override { return device_type; }
  c10::Device exchangeDevice(c10::Device d) const override {
    const c10::Device before = getDevice();
    current_device = d.index();
    return before;
  }
  c10::Device getDevice() const override { return {device_type, current_device}; }
  void setDevice(c10::Device d) const override { current_device = d.index(); }
  void uncheckedSetDevice(c10::Device d) const noexcept override { current_device = d.index(); }
  c10::DeviceIndex deviceCount() const noexcept override { return devices; }

  c10::Stream getStream(c10::Device d) const noexcept override {
    const c10::DeviceIndex i = d.has_index() ? d.index() : current_device;
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, i), current_streams[i]);
  }
  c10::Stream getDefaultStream(c10::Device d) const override {
    return c10::Stream(c10::Stream::UNSAFE, d, c10::StreamId{0});
  }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool high_priority = false) const override {
    TORCH_CHECK(!the_machine().refuses_streams.load(), "the fake device has no streams to give away");
    the_machine().last_is_urgent = high_priority;
    return the_machine().make_stream(d);
  }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override {
    const c10::Stream before = getStream(s.device());
    current_streams[s.device_index()] = s.id();
    return before;
  }
  bool queryStream(const c10::Stream& s) const override { return the_machine().of(s).is_idle(); }
  void synchronizeStream(const c10::Stream& s) const override { host_waits_for(s); }

  void record(void** e, const c10::Stream& s, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*e == nullptr) *e = new event_handle(std::make_shared<event>());
    const event_handle mine = *static_cast<event_handle*>(*e);
    std::uint64_t version;
    {
      std::lock_guard lock(mine->mutex);
      version = ++mine->recorded;
    }
    const entry said{.kind = what::record, .stream = s.id(), .event = mine->number, .version = version};
    the_machine().put(s, said, [mine, version] {
      {
        std::lock_guard lock(mine->mutex);
        mine->happened = std::max(mine->happened, version);
      }
      mine->changed.notify_all();
    });
  }
  void block(void* e, const c10::Stream& s) const override {
    const event_handle mine = *static_cast<event_handle*>(e);
    std::uint64_t version;
    {
      std::lock_guard lock(mine->mutex);
      version = mine->recorded;
    }
    const entry said{.kind = what::wait, .stream = s.id(), .event = mine->number, .version = version};
    the_machine().put(s, said, [mine, version] {
      std::unique_lock lock(mine->mutex);
      mine->changed.wait(lock, [&] { return mine->happened >= version; });
    });
  }
  bool queryEvent(void* e) const override {
    event& mine = **static_cast<event_handle*>(e);
    the_machine().queries.fetch_add(1);
    TORCH_CHECK(!the_machine().is_broken.load(), "the fake device is broken");
    std::lock_guard lock(mine.mutex);
    return mine.happened == mine.recorded;
  }
  void destroyEvent(void* e, const c10::DeviceIndex) const noexcept override {
    delete static_cast<event_handle*>(e);
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& s) const override;
};

// ---- memory

/// Goes back when all streams that it was used on have come to this point.
void release(void* context) {
  auto* const b = static_cast<memory_block*>(context);
  const std::vector<c10::Stream> streams = b->streams;
  auto left = std::make_shared<std::atomic<std::size_t>>(streams.size());
  for (const c10::Stream s : streams) {
    the_machine().put(s, {.kind = what::free, .stream = s.id()}, [b, left] {
      if (left->fetch_sub(1) != 1) return;
      std::memset(b->data, 0xDB, b->bytes);
      ::operator delete(b->data);
      delete b;
      --the_machine().live;
    });
  }
}

void guard_impl::recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& s) const {
  the_machine().note({.kind = what::used_on, .stream = s.id(), .data = data.get()});
  if (data.get_deleter() == &release) static_cast<memory_block*>(data.get_context())->streams.push_back(s);
}

at::Tensor allocate(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType type, c10::Device on) {
  std::size_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) elements = 0;
    if (elements != 0) elements += static_cast<std::size_t>((sizes[i] - 1) * strides[i]);
  }
  const std::size_t bytes = elements * c10::elementSize(type);
  auto* const b = new memory_block{::operator new(bytes + 1), bytes, {}};
  b->streams.push_back(c10::impl::VirtualGuardImpl(device_type).getStream(on));
  ++the_machine().live;
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(b->data, b, &release, on),
                       nullptr, false);
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                          c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                          c10::scalarTypeToTypeMeta(type));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return t;
}

// c10::optional in 1.13, std::optional in 2.x.
using maybe_type = decltype(c10::optTypeMetaToScalarType(std::declval<c10::TensorOptions>().dtype_opt()));
using maybe_layout = decltype(std::declval<c10::TensorOptions>().layout_opt());
using maybe_device = decltype(std::declval<c10::TensorOptions>().device_opt());
using maybe_bool = decltype(std::declval<c10::TensorOptions>().pinned_memory_opt());
using maybe_format = decltype(std::declval<c10::TensorOptions>().memory_format_opt());

c10::Device device_or_current(const maybe_device& d) {
  return d && d->has_index() ? *d : device(current_device);
}

at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, maybe_type type, maybe_layout,
                         maybe_device d, maybe_bool) {
  return allocate(sizes, strides, type.value_or(at::kFloat), device_or_current(d));
}

at::Tensor empty(c10::IntArrayRef sizes, maybe_type type, maybe_layout, maybe_device d, maybe_bool,
                 maybe_format f) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t n = 1;
  for (std::size_t i = sizes.size(); i-- > 0; n *= sizes[i]) strides[i] = n;
  at::Tensor t = allocate(sizes, strides, type.value_or(at::kFloat), device_or_current(d));
  if (f && *f == c10::MemoryFormat::ChannelsLast) {
    t.unsafeGetTensorImpl()->empty_tensor_restride(c10::MemoryFormat::ChannelsLast);
  }
  return t;
}

// ---- work

/// Where a tensor lies, without a share in its memory: nothing that is put on a stream keeps memory alive.
struct place {
  explicit place(const at::Tensor& t)
      : data(t.data_ptr()), sizes(t.sizes().vec()), strides(t.strides().vec()), type(t.scalar_type()) {}
  at::Tensor on_cpu() const { return at::from_blob(data, sizes, strides, at::TensorOptions().dtype(type)); }
  span bytes() const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      last += static_cast<std::size_t>((sizes[i] - 1) * strides[i]);
    const auto* const from = static_cast<const std::byte*>(data);
    return {from, from + (last + 1) * c10::elementSize(type)};
  }
  void* data;
  std::vector<std::int64_t> sizes, strides;
  c10::ScalarType type;
};

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const at::Tensor& there = to.device().type() == device_type ? to : from;
  const c10::Stream s = c10::impl::VirtualGuardImpl(device_type).getStream(there.device());
  machine& m = the_machine();
  if (to.numel() != 0) {
    const place source(from), target(to);
    const span read = source.bytes();
    if (from.device().is_cpu()) {
      std::lock_guard lock(m.mutex);
      m.reads.push_back(read);
    }
    const entry said{.kind = what::copy, .stream = s.id(), .data = to.data_ptr()};
    // As Torch's copy between CUDA and the host does, for page-locked memory alone: copy_kernel_cuda in
    // Copy.cu.
    const at::Tensor& host = from.device().is_cpu() ? from : to;
    if (non_blocking && host.device().is_cpu()) {
      (void)record_copy(host.data_ptr(), host.storage().data_ptr().get_context(), s);
    }
    m.put(s, said, [&m, source, target, read, on_host = from.device().is_cpu()] {
      target.on_cpu().copy_(source.on_cpu());
      if (!on_host) return;
      std::lock_guard lock(m.mutex);
      m.reads.erase(
          std::find_if(m.reads.begin(), m.reads.end(), [&](const span& r) { return r.from == read.from; }));
    });
  }
  if (!non_blocking) host_waits_for(s);
  return to;
}

/// out = f(in), where `in` may be `out`.
template <class F>
at::Tensor& launch(const at::Tensor& in, at::Tensor& out, F f) {
  const c10::Stream s = c10::impl::VirtualGuardImpl(device_type).getStream(out.device());
  the_machine().put(s, {.kind = what::kernel, .stream = s.id(), .data = out.data_ptr()},
                    [f, from = place(in), to = place(out)] { to.on_cpu().copy_(f(from.on_cpu())); });
  return out;
}

at::Tensor& write_product(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  if (self.device().is_cpu()) return write_product(other, self, out);
  return launch(self, out, [by = other.item<double>()](const at::Tensor& t) { return t.mul(by); });
}
at::Tensor& write_difference(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                             at::Tensor& out) {
  return launch(self, out,
                [by = other.item<double>() * alpha.toDouble()](const at::Tensor& t) { return t.sub(by); });
}
at::Tensor& mul_(at::Tensor& self, const at::Tensor& other) { return write_product(self, other, self); }
at::Tensor& sub_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  return write_difference(self, other, alpha, self);
}

/// One kernel: out = self + value * a * b, computed in floats, in out's type.
at::Tensor& write_sum_with_product(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                                   const at::Scalar& value, at::Tensor& out) {
  return launch(a, out, [add = place(self), by = place(b), value](const at::Tensor& t) {
    return at::addcmul(add.on_cpu(), t.to(at::kFloat), by.on_cpu(), value);
  });
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, guard_impl)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("_copy_from", &copy_from);
  m.impl("mul.out", &write_product);
  m.impl("mul_.Tensor", &mul_);
  m.impl("sub.out", &write_difference);
  m.impl("sub_.Tensor", &sub_);
  m.impl("addcmul.out", &write_sum_with_product);
}

}  // namespace

// ---- what tests see ----

c10::Device device(int index) { return {device_type, static_cast<c10::DeviceIndex>(index)}; }

std::vector<entry> log() {
  std::lock_guard lock(the_machine().mutex);
  return the_machine().entries;
}
void forget_log() {
  std::lock_guard lock(the_machine().mutex);
  the_machine().entries.clear();
}
std::size_t count(what kind) {
  const std::vector<entry> all = log();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const entry& e) { return e.kind == kind; }));
}
std::uint64_t queries() { return the_machine().queries.load(); }
std::size_t live_blocks() { return the_machine().live.load(); }

bool will_read(const void* data, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  std::lock_guard lock(the_machine().mutex);
  const auto& reads = the_machine().reads;
  return std::any_of(reads.begin(), reads.end(),
                     [&](const span& r) { return r.from < from + bytes && from < r.to; });
}

c10::StreamId written_on(const at::Tensor& t) {
  c10::StreamId last = -1;
  for (const entry& e : log()) {
    if ((e.kind == what::copy || e.kind == what::kernel) && e.data == t.data_ptr()) last = e.stream;
  }
  return last;
}
bool waits_for(c10::Stream by, const at::Tensor& t) {
  const std::vector<entry> all = log();
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const entry& e) {
    return (e.kind == what::copy || e.kind == what::kernel) && e.data == t.data_ptr();
  });
  if (last == all.rend()) return false;
  for (auto r = last.base(); r != all.end(); ++r) {
    if (r->kind != what::record || r->stream != last->stream) continue;
    for (auto w = r; w != all.end(); ++w) {
      if (w->kind == what::wait && w->stream == by.id() && w->event == r->event && w->version == r->version)
        return true;
    }
  }
  return false;
}

namespace {
bool is_work(const entry& e, c10::Stream s) {
  return e.stream == s.id() && e.kind != what::used_on && e.kind != what::host_wait;
}
}  // namespace

void put_free(c10::Stream s, std::function<void()> op) {
  the_machine().put(s, {.kind = what::free, .stream = s.id()}, std::move(op));
}

std::size_t work(c10::Stream s) {
  const std::vector<entry> all = log();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const entry& e) { return is_work(e, s); }));
}
std::size_t work_before(c10::Stream by, c10::Stream s) {
  const std::vector<entry> all = log();
  const auto wait = std::find_if(all.rbegin(), all.rend(),
                                 [&](const entry& e) { return e.kind == what::wait && e.stream == by.id(); });
  if (wait == all.rend()) return 0;
  std::size_t n = 0;
  for (const entry& e : all) {
    n += is_work(e, s);
    if (e.kind == what::record && e.event == wait->event && e.version == wait->version) break;
  }
  return n;
}

c10::Stream current_stream(int index) {
  return c10::impl::VirtualGuardImpl(device_type).getStream(device(index));
}
c10::Stream make_stream(int index) { return the_machine().make_stream(device(index)); }
c10::Stream last_stream() {
  std::lock_guard lock(the_machine().mutex);
  return the_machine().queues.back()->stream;
}
bool last_is_urgent() { return the_machine().last_is_urgent; }
bool idle(c10::Stream s) { return the_machine().of(s).is_idle(); }
bool finish(c10::Stream s) { return the_machine().of(s).wait_idle(std::chrono::seconds(60)); }
bool finish_all() {
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0;; ++i) {
      queue* q = nullptr;
      {
        std::lock_guard lock(the_machine().mutex);
        if (i < the_machine().queues.size()) q = the_machine().queues[i].get();
      }
      if (q == nullptr) break;
      if (!q->wait_idle(std::chrono::seconds(60))) return false;
    }
  }
  return true;
}

at::Tensor read_later(const at::Tensor& t) {
  at::Tensor host = at::empty_strided(t.sizes(), t.strides(), at::TensorOptions().dtype(t.scalar_type()));
  std::memset(host.data_ptr(), 0xEE, host.nbytes());
  host.copy_(t, /*non_blocking=*/true);
  return host;
}
at::Tensor read(const at::Tensor& t) {
  at::Tensor host = at::empty_strided(t.sizes(), t.strides(), at::TensorOptions().dtype(t.scalar_type()));
  if (t.numel() != 0) host.copy_(place(t).on_cpu());
  return host;
}

gate::gate(c10::Stream s) : stream_(s) {
  the_machine().of(s).permit([](std::int64_t) { return std::int64_t{0}; });
}
void gate::let(std::size_t n) {
  the_machine().of(stream_).permit(
      [n](std::int64_t p) { return p == unlimited ? p : p + static_cast<std::int64_t>(n); });
}
void gate::open() {
  the_machine().of(stream_).permit([](std::int64_t) { return unlimited; });
}

no_streams::no_streams() { the_machine().refuses_streams = true; }
no_streams::~no_streams() { the_machine().refuses_streams = false; }
broken::broken() { the_machine().is_broken = true; }
broken::~broken() { the_machine().is_broken = false; }

}  // namespace wick_test::fake

// ---- is it one? ----

namespace wick_test::fake_device_tests {

TEST_CASE("the fake device copies when its stream comes to it, not when it is asked to") {
  const at::Tensor a = at::full({5}, 7, at::kFloat);
  const c10::Stream s = fake::make_stream();
  fake::gate gate(s);
  const c10::StreamGuard guard(s);
  const at::Tensor b = a.to(fake::device(0), /*non_blocking=*/true);
  const at::Tensor c = fake::read_later(b);
  CHECK(b.device() == fake::device(0));
  CHECK_FALSE(fake::idle(s));
  CHECK(fake::will_read(a.data_ptr(), 1));
  a.fill_(8);
  gate.open();
  REQUIRE(fake::finish(s));
  CHECK_FALSE(fake::will_read(a.data_ptr(), 1));
  CHECK(c.equal(a));  // the 8, which was there when the copy happened
}

TEST_CASE("a stream of the fake device waits for an event, the host need not") {
  const c10::Stream s = fake::make_stream(), t = fake::make_stream();
  fake::gate gate(s);
  const std::size_t before = fake::count(fake::what::host_wait);
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
  void* e = nullptr;
  guard.record(&e, s, 0, c10::EventFlag::PYTORCH_DEFAULT);
  guard.block(e, t);
  CHECK_FALSE(guard.queryEvent(e));
  CHECK_FALSE(fake::idle(t));
  gate.let(1);
  REQUIRE(fake::finish(t));
  CHECK(guard.queryEvent(e));
  guard.destroyEvent(e, 0);
  CHECK(fake::count(fake::what::host_wait) == before);
}

TEST_CASE("a blocking copy from the fake device is a wait of the host") {
  const std::size_t before = fake::count(fake::what::host_wait);
  const at::Tensor a = at::full({3}, 2, at::kLong).to(fake::device(1));
  CHECK(a.cpu().equal(at::full({3}, 2, at::kLong)));
  CHECK(fake::count(fake::what::host_wait) >= before + 2);
}

TEST_CASE("memory of the fake device goes back when its streams are done with it") {
  REQUIRE(fake::finish_all());
  const std::size_t before = fake::live_blocks();
  const c10::Stream s = fake::make_stream();
  fake::gate gate(s);
  at::Tensor a = at::empty({4}, at::TensorOptions().device(fake::device(0)));
  c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).recordDataPtrOnStream(a.storage().data_ptr(), s);
  a.reset();
  REQUIRE(fake::finish(fake::current_stream()));
  CHECK(fake::live_blocks() == before + 1);
  gate.open();
  REQUIRE(fake::finish_all());
  CHECK(fake::live_blocks() == before);
}

}  // namespace wick_test::fake_device_tests

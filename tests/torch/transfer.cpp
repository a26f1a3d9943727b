#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>

#include "../support/doctest.hpp"
#include "../support/eventually.hpp"
#include "../support/message_of.hpp"
#include "../support/work_for.hpp"
#include "fake_device.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/processor_time.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sources/memory.hpp>
#include <wick/torch/normalize_tensors.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>

namespace wick_test::transfer_tests {

static_assert(wick::detail::stage_of<wick::detail::transfer_stage, wick::ext::stage_kind::batch>);

namespace {

namespace fake = wick_test::fake;
using fake::what;
using wick_test::contains;
using wick_test::message_of;
using batch_type = wick::sample<at::Tensor, at::Tensor>;

/// Row i is eight bytes i % 251, its target i.
auto rows(std::size_t n) {
  std::vector<std::uint8_t> values(n * 8);
  std::vector<std::int64_t> targets(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(i * 8), 8, static_cast<std::uint8_t>(i % 251));
    targets[i] = static_cast<std::int64_t>(i);
  }
  return wick::in_memory(std::move(values), {2, 2, 2}, std::move(targets));
}

/// Whether `data` and `target`, on the host, are rows `first` and following.
bool are_rows(const at::Tensor& data, const at::Tensor& target, std::int64_t first) {
  if (data.dim() != 4 || target.dim() != 1 || data.size(0) != target.size(0)) return false;
  const auto* const bytes = static_cast<const std::uint8_t*>(data.data_ptr());
  const auto* const labels = static_cast<const std::int64_t*>(target.data_ptr());
  for (std::int64_t i = 0; i < target.size(0); ++i) {
    if (labels[i] != first + i) return false;
    for (int b = 0; b < 8; ++b) {
      if (bytes[i * 8 + b] != (first + i) % 251) return false;
    }
  }
  return true;
}
bool are_rows(const batch_type& batch, std::int64_t first) {
  return are_rows(fake::read(batch.data), fake::read(batch.target), first);
}

/// Ordinary memory that knows of blocks which go back before the device has read them.
class watched_memory final : public wick::ext::slab_memory {
 public:
  wick::ext::memory_block allocate(std::size_t bytes) override {
    const wick::ext::memory_block inner = host_.allocate(bytes);
    return {inner.data, new piece{this, inner, bytes}, [](void* context) {
              const std::unique_ptr<piece> p(static_cast<piece*>(context));
              if (fake::will_read(p->inner.data, p->bytes)) ++p->of->too_early;
              ++p->of->released;
              p->inner.free(p->inner.context);
            }};
  }
  std::atomic<int> too_early{0}, released{0};

 private:
  struct piece {
    watched_memory* of;
    wick::ext::memory_block inner;
    std::size_t bytes;
  };
  wick::detail::host_slab_memory host_;
};
struct watch {
  static constexpr wick::ext::stage_traits traits{
      .name = "watch", .kind = wick::ext::stage_kind::batch, .has_slab_memory = true};
  std::shared_ptr<watched_memory> memory;
  std::shared_ptr<wick::ext::slab_memory> slab_memory() const { return memory; }
  template <class Batch>
  Batch operator()(Batch batch, wick::context&) const {
    return batch;
  }
};

/// Destroys it on a thread of its own, waits until that thread waits for the device, and says whether it did.
template <class Loader>
bool destruction_waits(std::unique_ptr<Loader>& loader, fake::gate& gate) {
  std::atomic<bool> gone{false};
  const std::uint64_t before = fake::queries() + fake::count(what::host_wait);
  std::thread destroyer([&] {
    loader.reset();
    gone = true;
  });
  // Workers that end their batches ask a few times; who waits asks without end.
  while (!gone && fake::queries() + fake::count(what::host_wait) < before + 1000) std::this_thread::yield();
  const bool waited = !gone;
  gate.open();
  destroyer.join();
  return waited;
}

}  // namespace

TEST_CASE("batches come to the device in order, with the bytes, shapes and strides that they had") {
  for (const std::size_t workers : {1, 2, 3}) {
    wick::loader loader(rows(103) | wick::batch(10) | wick::transfer(fake::device(1)), {.workers = workers});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::int64_t first = 0;
      for (auto& batch : loader.epoch(epoch)) {
        CHECK(batch.data.device() == fake::device(1));
        CHECK(batch.target.device() == fake::device(1));
        CHECK((batch.data.sizes() == at::IntArrayRef({first == 100 ? 3 : 10, 2, 2, 2})));
        CHECK(batch.data.is_contiguous());
        REQUIRE(fake::finish_all());
        CHECK(are_rows(batch, first));
        first += batch.data.size(0);
      }
      CHECK(first == 103);
    }
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("a batch stage that suspends may stand before transfer()") {
  const auto slow = [](batch_type batch, wick::context& c) -> wick::task<batch_type> {
    auto waiting = c.run_blocking([] {});
    co_await waiting;
    co_return std::move(batch);
  };
  for (const std::size_t workers : {1, 3}) {
    wick::loader loader(rows(103) | wick::batch(10) | slow | wick::transfer(fake::device(1)),
                        {.workers = workers});
    std::int64_t first = 0;
    for (auto& batch : loader.epoch(0)) {
      CHECK(batch.data.device() == fake::device(1));
      REQUIRE(fake::finish_all());
      CHECK(are_rows(batch, first));
      first += batch.data.size(0);
    }
    CHECK(first == 103);
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("no thread waits for slow copies: five batches are handed out while the device has not begun") {
  wick::loader loader(rows(1000) | wick::batch(10) | wick::pin() | wick::transfer(fake::device()),
                      {.workers = 2, .prefetch = 3});
  fake::gate gate(fake::last_stream());
  const std::size_t waits = fake::count(what::host_wait);
  std::vector<batch_type> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(loader.next().value());
  CHECK(fake::count(what::host_wait) == waits);
  CHECK_FALSE(fake::idle(fake::last_stream()));
  for (const batch_type& b : taken) CHECK(fake::waits_for(fake::current_stream(), b.data));
  gate.open();
  REQUIRE(fake::finish_all());
  CHECK(fake::count(what::host_wait) == waits);
  for (std::size_t i = 0; i < taken.size(); ++i) CHECK(are_rows(taken[i], static_cast<std::int64_t>(i) * 10));
}

TEST_CASE("a loop that launches far ahead of the device waits, and doesn't fill it with batches") {
  constexpr std::size_t prefetch = 3, ahead = 4;
  wick::loader loader(rows(1000) | wick::batch(10) | wick::transfer(fake::device()),
                      {.workers = 2, .prefetch = prefetch});
  REQUIRE(fake::finish_all());
  const std::size_t before = fake::live_blocks();
  fake::gate gate(fake::current_stream());  // the model is slow
  std::atomic<std::size_t> taken{0};
  std::thread loop([&] {
    while (loader.next()) ++taken;
  });
  CHECK(wick_test::eventually([&] { return taken == ahead; }));
  const std::uint64_t asked = fake::queries();
  CHECK(wick_test::eventually([&] { return fake::queries() > asked + 100; }));
  CHECK(taken == ahead);
  CHECK(fake::live_blocks() - before <= 2 * (prefetch + ahead + 1));  // of data and of targets
  gate.let(1);
  CHECK(wick_test::eventually([&] { return taken == ahead + 1; }));
  gate.open();
  loop.join();
  CHECK(taken == 100);
  REQUIRE(fake::finish_all());
}

TEST_CASE("memory is not written again before the device has read it") {
  // Each batch has other bytes: a slot that is filled again too early gives the later batch's bytes.
  const auto memory = std::make_shared<watched_memory>();
  {
    wick::loader loader(rows(240) | wick::batch(10) | watch{memory} | wick::transfer(fake::device()),
                        {.workers = 2, .prefetch = 2});
    fake::gate gate(fake::last_stream());
    std::vector<batch_type> taken;
    loader.epoch(0);
    while (taken.size() < 5) taken.push_back(loader.next().value());
    CHECK(loader.slab_allocations() >= 10);  // none could be used twice
    gate.open();
    while (auto batch = loader.next()) taken.push_back(std::move(*batch));
    REQUIRE(taken.size() == 24);
    REQUIRE(fake::finish_all());
    for (std::size_t i = 0; i < 24; ++i) CHECK(are_rows(taken[i], static_cast<std::int64_t>(i) * 10));
    taken.clear();

    // Afterwards it is: a device that keeps up needs no more memory.
    std::uint64_t allocated = 0;
    for (std::uint64_t epoch = 1; epoch < 4; ++epoch) {
      if (epoch == 2) allocated = loader.slab_allocations();
      for (auto& batch : loader.epoch(epoch)) {
        REQUIRE(fake::finish_all());
        CHECK(batch.data.defined());
      }
    }
    CHECK(loader.slab_allocations() == allocated);
  }
  CHECK(memory->too_early == 0);
}

TEST_CASE("the stream that uses a batch waits for its copies, and not for those of later batches") {
  wick::loader loader(rows(100) | wick::batch(10) | wick::transfer(fake::device()),
                      {.workers = 2, .prefetch = 4});
  fake::gate gate(fake::last_stream());
  const c10::Stream side = fake::last_stream(), user = fake::make_stream();
  fake::forget_log();
  std::size_t done = 0;
  for (std::int64_t first = 0; first < 50; first += 10) {
    const c10::StreamGuard on(user);
    const batch_type batch = loader.next().value();
    const at::Tensor data = fake::read_later(batch.data), target = fake::read_later(batch.target);
    const std::size_t awaited = fake::work_before(user, side);
    if (awaited > done) {  // else it was copied before a batch that was taken before
      CHECK_FALSE(fake::idle(user));
      CHECK(static_cast<const std::uint8_t*>(data.data_ptr())[0] == 0xEE);
      gate.let(awaited - done);
      done = awaited;
    }
    CHECK(fake::finish(user));
    CHECK(are_rows(data, target, first));
    // There are batches after this one, and their copies are still to come.
    REQUIRE(wick_test::eventually([&] { return fake::work(side) > done; }));
    CHECK_FALSE(fake::idle(side));
  }
  gate.open();
  REQUIRE(fake::finish_all());
}

TEST_CASE("a thread that takes a batch finds its own current stream waiting already") {
  wick::loader loader(rows(400) | wick::batch(10) | wick::transfer(fake::device()), {.workers = 2});
  const c10::Stream mine = fake::make_stream();
  fake::forget_log();
  for (int i = 0; i < 40; ++i) {
    const bool on_mine = i % 3 == 0;
    const c10::StreamGuard on(on_mine ? mine : fake::current_stream());
    const batch_type batch = loader.next().value();
    CHECK(fake::waits_for(fake::current_stream(), batch.data));
    CHECK(fake::waits_for(fake::current_stream(), batch.target));
  }
  const auto me = std::this_thread::get_id();
  for (const fake::entry& e : fake::log()) {
    if (e.kind == what::wait) CHECK(e.thread == me);
    if (e.kind == what::record && e.stream == mine.id()) CHECK(e.thread == me);
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("a coroutine that takes a batch finds the stream of its worker waiting") {
  wick::loader loader(rows(100) | wick::batch(10) | wick::transfer(fake::device()), {.workers = 2});
  auto take = [](decltype(loader)* from) -> wick::task<int> {
    int waited = 0;
    for (;;) {
      auto batch = co_await from->next_async();
      if (!batch) co_return waited;
      waited += fake::waits_for(fake::current_stream(), batch->data);
    }
  };
  CHECK(wick::ext::sync_wait(take(&loader)) == 10);
  REQUIRE(fake::finish_all());
}

TEST_CASE("a loader that seeks gives batches on the device, and the consumer's stream waits for them") {
  wick::loader loader(rows(100) | wick::batch(10) | wick::pin() | wick::transfer(fake::device()),
                      {.workers = 2});
  loader.next();
  for (const std::int64_t number : {7, 8, 3, 0, 9}) {
    loader.seek(1, static_cast<std::uint64_t>(number));
    const batch_type again = loader.next().value();
    CHECK(fake::waits_for(fake::current_stream(), again.data));
    REQUIRE(fake::finish_all());
    CHECK(are_rows(again, 10 * number));
  }
}

TEST_CASE("each batch is waited for by its own event, however often epochs are left early") {
  // Batches that no loop took are dropped; the memory of what described them is given to new ones.
  wick::loader loader(rows(200) | wick::batch(10) | wick::transfer(fake::device()),
                      {.workers = 2, .prefetch = 3});
  for (std::uint64_t round = 0; round < 150; ++round) {
    fake::forget_log();
    std::uint64_t take = round % 4 + 1;
    for (auto& batch : loader.epoch(round % 5)) {
      CHECK(fake::waits_for(fake::current_stream(), batch.data));
      CHECK(fake::waits_for(fake::current_stream(), batch.target));
      if (--take == 0) break;
    }
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE(
    "the memory of a batch is known to be used on the consumer's stream, and stays until that is done") {
  REQUIRE(fake::finish_all());
  const std::size_t before = fake::live_blocks();
  const c10::Stream user = fake::make_stream();
  fake::gate gate(user);
  const c10::StreamGuard on(user);
  std::optional<batch_type> batch;
  {
    wick::loader loader(rows(100) | wick::batch(10) | wick::transfer(fake::device()));
    fake::forget_log();
    batch = loader.next();
  }
  std::set<const void*> used;
  for (const fake::entry& e : fake::log()) {
    if (e.kind == what::used_on && e.stream == user.id()) used.insert(e.data);
  }
  CHECK(used == std::set<const void*>{batch->data.data_ptr(), batch->target.data_ptr()});
  const at::Tensor data = fake::read_later(batch->data), target = fake::read_later(batch->target);
  batch.reset();
  REQUIRE(fake::finish(fake::last_stream()));
  CHECK(fake::live_blocks() == before + 2);
  gate.open();
  REQUIRE(fake::finish_all());
  CHECK(are_rows(data, target, 0));
  CHECK(fake::live_blocks() == before);
}

TEST_CASE(
    "a loader that is destroyed while copies are under way waits for them, and nothing is left behind") {
  REQUIRE(fake::finish_all());
  const std::size_t before = fake::live_blocks();
  const auto memory = std::make_shared<watched_memory>();
  {
    auto pipe = rows(1000) | wick::batch(10) | watch{memory} | wick::transfer(fake::device());
    auto loader = std::make_unique<decltype(wick::loader(pipe))>(
        std::move(pipe), wick::loader_options{.workers = 2, .prefetch = 4});
    fake::gate gate(fake::last_stream());
    const batch_type first = loader->next().value();
    const batch_type second = loader->next().value();
    CHECK(destruction_waits(loader, gate));
    REQUIRE(fake::finish_all());
    CHECK(are_rows(first, 0));
    CHECK(are_rows(second, 10));
  }
  REQUIRE(fake::finish_all());
  CHECK(fake::live_blocks() == before);
  CHECK(memory->too_early == 0);
  CHECK(memory->released > 0);
  CHECK(memory.use_count() == 1);
}

TEST_CASE("when a stage after transfer() fails, the copies that had begun are still waited for") {
  REQUIRE(fake::finish_all());
  const std::size_t before = fake::live_blocks();
  const auto memory = std::make_shared<watched_memory>();
  {
    auto fail = [](at::Tensor t) -> at::Tensor {
      if (t.size(0) == 10) throw std::runtime_error("no such kernel");
      return t;
    };
    auto pipe = rows(40) | wick::batch(10) | watch{memory} | wick::transfer(fake::device()) | fail;
    auto loader = std::make_unique<decltype(wick::loader(pipe))>(
        std::move(pipe), wick::loader_options{.workers = 1, .prefetch = 1, .prefetch_next_epoch = false});
    fake::gate gate(fake::last_stream());
    for (int i = 0; i < 4; ++i) {
      CHECK(contains(message_of([&] { return loader->next(); }), "batch " + std::to_string(i) + ": map",
                     ": std::runtime_error: no such kernel"));
    }
    CHECK_FALSE(loader->next());
    CHECK(destruction_waits(loader, gate));
  }
  REQUIRE(fake::finish_all());
  CHECK(memory->too_early == 0);
  CHECK(fake::live_blocks() == before);
}

TEST_CASE("a device that is broken does not end the program when the loader goes") {
  auto pipe = rows(40) | wick::batch(10) | wick::transfer(fake::device());
  auto loader =
      std::make_unique<decltype(wick::loader(pipe))>(std::move(pipe), wick::loader_options{.workers = 1});
  const batch_type first = loader->next().value();
  REQUIRE(fake::finish_all());
  {
    const fake::broken now;
    loader.reset();
  }
  REQUIRE(fake::finish_all());
  CHECK(are_rows(first, 0));
}

TEST_CASE("stages after transfer() run on its stream, those before it and the loop on theirs") {
  struct seen {
    std::mutex mutex;
    std::set<c10::StreamId> before, behind;
  } ids;
  auto note = [&](std::set<c10::StreamId>& where) {
    std::lock_guard lock(ids.mutex);
    where.insert(fake::current_stream(1).id());
  };
  wick::loader loader(
      rows(200) | wick::batch(10) | [&](const batch_type&) { note(ids.before); } |
          wick::transfer(fake::device(1)) | [&](const batch_type&) { note(ids.behind); },
      {.workers = 2});
  const c10::Stream side = fake::last_stream();
  CHECK(side.device() == fake::device(1));
  for (auto& batch : loader.epoch(0)) {
    CHECK(fake::current_stream(1).id() == 0);
    CHECK(batch.data.defined());
  }
  REQUIRE(fake::finish_all());
  CHECK(ids.before == std::set<c10::StreamId>{0});
  CHECK(ids.behind == std::set<c10::StreamId>{side.id()});
}

TEST_CASE(
    "normalize() after transfer() computes on the device, on the side stream, before the consumer's stream "
    "continues") {
  wick::loader loader(
      rows(60) | wick::batch(10) | wick::transfer(fake::device()) | wick::normalize(0.25, 2.0),
      {.workers = 1, .prefetch = 2});
  fake::gate gate(fake::last_stream());
  const c10::Stream side = fake::last_stream();
  fake::forget_log();
  const std::size_t waits = fake::count(what::host_wait);
  const batch_type batch = loader.next().value();
  CHECK((batch.data.scalar_type() == at::kFloat));
  CHECK(fake::waits_for(fake::current_stream(), batch.data));
  const at::Tensor data = fake::read_later(batch.data);
  CHECK_FALSE(fake::idle(fake::current_stream()));
  CHECK(fake::count(what::kernel) >= 1);
  for (const fake::entry& e : fake::log()) {
    if (e.kind == what::kernel) CHECK(e.stream == side.id());
  }
  CHECK(fake::count(what::host_wait) == waits);
  gate.open();
  REQUIRE(fake::finish_all());
  const auto* const value = static_cast<const float*>(data.data_ptr());
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 8; ++k)
      CHECK(value[i * 8 + k] == doctest::Approx((i / 255.0 - 0.25) / 2.0).epsilon(1e-5));
  }
}

TEST_CASE("loaders have side streams of their own, also those of one pipeline") {
  const auto pipe = rows(20) | wick::batch(10) | wick::transfer(fake::device());
  wick::loader a(pipe), b(pipe);
  wick::loader c(rows(20) | wick::batch(10) | wick::transfer(fake::device()));
  std::set<c10::StreamId> streams;
  for (auto* const one : {&a, &b, &c}) {
    while (auto batch = one->next())
      streams.insert({fake::written_on(batch->data), fake::written_on(batch->target)});
  }
  CHECK(streams.size() == 3);
  CHECK(streams.count(0) == 0);
  REQUIRE(fake::finish_all());
}

TEST_CASE("all tensors of a batch travel, whatever holds them") {
  struct thing {
    std::int64_t id;
    std::pair<float, std::array<int, 2>> more;
    std::string name;
  };
  struct number {
    std::uint64_t size() const { return 6; }
    std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  };
  wick::loader loader(wick::from(number()) | [](std::int64_t i) {
    return thing{i, {0.5f * static_cast<float>(i), {static_cast<int>(i), 7}}, "n" + std::to_string(i)};
  } | wick::batch(3) | wick::transfer(fake::device()));
  fake::forget_log();
  auto batch = loader.next().value();
  auto& [id, more, name] = batch;
  REQUIRE(fake::finish_all());
  for (const at::Tensor* t : {&id, &std::get<0>(more), &std::get<1>(more)}) {
    CHECK(t->device() == fake::device());
    CHECK(fake::waits_for(fake::current_stream(), *t));
  }
  CHECK(static_cast<std::int64_t*>(fake::read(id).data_ptr())[2] == 2);
  CHECK(static_cast<float*>(fake::read(std::get<0>(more)).data_ptr())[2] == 1.0f);
  CHECK(static_cast<int*>(fake::read(std::get<1>(more)).data_ptr())[4] == 2);
  CHECK(name == std::vector<std::string>{"n0", "n1", "n2"});
  REQUIRE(fake::finish_all());
}

TEST_CASE("a stage after transfer() may put the tensors together in a new way") {
  const at::Tensor constant = at::full({1}, 1, at::kLong).to(fake::device());
  struct example {  // torch::data::Example is such a class
    example(at::Tensor d, at::Tensor t) : data(std::move(d)), target(std::move(t)) {}
    at::Tensor data, target;
  };
  SUBCASE("as a vector") {
    wick::loader loader(rows(60) | wick::batch(10) | wick::transfer(fake::device()) | [](batch_type b) {
      return std::vector<at::Tensor>{b.target, b.data};
    });
    fake::forget_log();
    while (auto batch = loader.next()) {
      CHECK(fake::waits_for(fake::current_stream(), (*batch)[1]));
      CHECK(fake::count(what::used_on) >= 2);
    }
  }
  SUBCASE("as a class with data and target") {
    wick::loader loader(rows(60) | wick::batch(10) | wick::transfer(fake::device()) |
                        [](batch_type b) { return example(b.data, b.target); });
    fake::forget_log();
    while (auto batch = loader.next()) {
      CHECK(fake::waits_for(fake::current_stream(), batch->data));
      CHECK(fake::count(what::used_on) >= 2);
    }
  }
  SUBCASE("after one that all batches share") {
    wick::loader loader(rows(60) | wick::batch(10) | wick::transfer(fake::device()) |
                        [&](batch_type b) { return std::tuple(constant, b.data); });
    fake::forget_log();
    while (auto batch = loader.next()) CHECK(fake::waits_for(fake::current_stream(), std::get<1>(*batch)));
  }
  SUBCASE("where wick does not see them") {
    class hidden {
     public:
      explicit hidden(batch_type b) : batch_(std::move(b)) {}
      const batch_type& get() const { return batch_; }

     private:
      batch_type batch_;
    };
    wick::loader loader(rows(50) | wick::batch(10) | wick::transfer(fake::device()) |
                        [](batch_type b) { return hidden(std::move(b)); });
    fake::gate gate(fake::last_stream());
    fake::forget_log();
    while (auto batch = loader.next()) CHECK(fake::waits_for(fake::current_stream(), batch->get().data));
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("without such a device batches stay on the CPU, and the report says so") {
  const auto check = [](c10::Device to, const std::string& note) {
    wick::loader loader(rows(30) | wick::batch(10) | wick::pin() | wick::transfer(to));
    std::int64_t first = 0;
    for (auto& batch : loader.epoch(0)) {
      CHECK(batch.data.device().is_cpu());
      CHECK(are_rows(batch, first));
      first += 10;
    }
    CHECK(first == 30);
    CHECK(contains(loader.report().to_string(), note));
  };
  CHECK(wick::transfer(c10::kCPU).note().empty());
  check(c10::Device(c10::DeviceType::FPGA), "transfer: Torch has no fpga here; batches stay on the CPU");
  const auto* const cuda =
      c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)].load();
  if (cuda == nullptr || cuda->deviceCount() == 0) {
    check(c10::Device(c10::kCUDA), "transfer: Torch has no cuda here; batches stay on the CPU");
    CHECK(wick::transfer(c10::kCUDA).device().is_cpu());
  }
}

TEST_CASE("a device index that is not there is an error that says how many there are") {
  const std::string text = message_of([] { return wick::transfer(fake::device(7)).device(); });
  CHECK(contains(text, "transfer: there is no privateuseone:7: this process sees 2, numbered from 0",
                 "LOCAL_RANK"));
  CHECK(message_of([] { return wick::transfer(fake::device(2)).device(); }) != "");
  CHECK(wick::transfer(fake::device(1)).device() == fake::device(1));
}

TEST_CASE("copies are on a stream of high priority") {
  wick::loader loader(rows(30) | wick::batch(10) | wick::transfer(fake::device()));
  CHECK(fake::last_is_urgent());
}

TEST_CASE(
    "a device that never ends a copy holds up the end of a loader for the limit, and keeps the memory") {
  const auto before = wick::detail::transfer_stage::longest_wait;
  wick::detail::transfer_stage::longest_wait = std::chrono::milliseconds(300);
  {
    auto pipe = rows(40) | wick::batch(10) | wick::transfer(fake::device());
    auto loader =
        std::make_unique<decltype(wick::loader(pipe))>(std::move(pipe), wick::loader_options{.workers = 1});
    fake::gate closed(fake::last_stream());
    const batch_type first = loader->next().value();
    const auto begun = std::chrono::steady_clock::now();
    loader.reset();
    const auto took = std::chrono::steady_clock::now() - begun;
    CHECK(took >= std::chrono::milliseconds(300));
    CHECK(took < std::chrono::seconds(30));
    closed.open();
    REQUIRE(fake::finish_all());  // the copies read memory that is still there
    CHECK(are_rows(first, 0));
  }
  wick::detail::transfer_stage::longest_wait = before;
}

namespace {

/// How far the workers of a loader are below this thread.
template <class Pipeline>
int workers_below(Pipeline pipe, const wick::loader_options& options) {
  const auto own = [] { return ::getpriority(PRIO_PROCESS, static_cast<::id_t>(::syscall(SYS_gettid))); };
  auto seen = std::make_shared<std::atomic<int>>(-100);
  wick::loader loader(
      std::move(pipe) |
          [=](batch_type b) {
            seen->store(own());
            return b;
          },
      options);
  loader.epoch(0);  // workers make the first batches; this thread would help in next()
  CHECK(wick_test::eventually([&] { return seen->load() != -100; }));
  return seen->load() - own();
}

}  // namespace

TEST_CASE("workers that feed a device have a lower priority than the loop that launches its operations") {
  const auto plain = [] { return rows(40) | wick::batch(10); };
  const auto fed = [&] { return plain() | wick::transfer(fake::device()); };
  CHECK(workers_below(plain(), {.workers = 1}) == 0);
  CHECK(workers_below(plain() | wick::transfer(c10::kCPU), {.workers = 1}) == 0);
  CHECK(workers_below(fed(), {.workers = 1}) == 15);
  CHECK(workers_below(fed(), {.workers = 1, .nice = 0}) == 0);
  CHECK(workers_below(plain(), {.workers = 1, .nice = 7}) == 7);
  CHECK(contains(message_of([&] { return wick::loader(plain(), {.nice = 20}).samples(); }), ".nice is 20",
                 "from 0 to 19"));
  CHECK(contains(message_of([&] { return wick::loader(plain(), {.nice = -2}).samples(); }), ".nice is -2"));
  wick::executor on(1);
  CHECK(contains(message_of([&] { return wick::loader(plain(), {.nice = 3, .executor = &on}).samples(); }),
                 ".nice is given"));
  REQUIRE(fake::finish_all());
}

TEST_CASE("the report says when the loop waits for a processor, where it feeds a device") {
  // A thread that computes has the loop's processor half of the time.
  const std::vector<int> cpus = wick::detail::cpu_set::of_this_thread().numbers();
  const wick::detail::cpu_set before = wick::detail::cpu_set::of_this_thread(),
                              one = wick::detail::cpu_set::of(cpus.front());
  std::atomic<bool> stop{false};
  std::thread rival([&] {
    one.apply();
    while (!stop.load(std::memory_order_relaxed)) {
    }
  });
  const auto delay = [&](auto pipe, bool noted) {
    wick::loader loader(std::move(pipe), {.workers = 1, .nice = 0});
    loader.epoch(0);
    one.apply();
    while (loader.next()) {
      wick_test::work_for(std::chrono::milliseconds(10));
    }
    before.apply();
    const wick::report r = loader.report();
    CHECK(noted == std::any_of(r.notes.begin(), r.notes.end(), [](const std::string& note) {
            return contains(note, "for a processor that other threads have");
          }));
    return r.step_delay;
  };
  if (wick::detail::delay_of_this_thread() != 0) {  // else the system doesn't say
    CHECK(delay(rows(600) | wick::batch(10) | wick::transfer(fake::device()), true) > 0.1);
    CHECK(delay(rows(600) | wick::batch(10), false) > 0.1);
  }
  stop = true;
  rival.join();
  REQUIRE(fake::finish_all());
}

TEST_CASE("transfer() without an index goes to the current device of the thread that writes it") {
  CHECK(wick::transfer(c10::DeviceType::PrivateUse1).device() == fake::device(0));
  const c10::DeviceGuard on(fake::device(1));
  CHECK(wick::transfer(c10::DeviceType::PrivateUse1).device() == fake::device(1));
  CHECK(wick::transfer(fake::device(0)).device() == fake::device(0));
}

TEST_CASE(
    "a device that has no streams to give still gets the batches, and the report says that copies are waited "
    "for") {
  const fake::no_streams here;
  wick::loader loader(rows(30) | wick::batch(10) | wick::transfer(fake::device()));
  std::int64_t first = 0;
  for (auto& batch : loader.epoch(0)) {
    CHECK(batch.data.device() == fake::device());
    CHECK(are_rows(batch, first));
    first += 10;
  }
  CHECK(first == 30);
  CHECK(contains(loader.report().to_string(), "transfer: privateuseone:0 has no streams"));
  REQUIRE(fake::finish_all());
}

TEST_CASE("samples on a device are refused, with what to write instead") {
  struct number {
    std::uint64_t size() const { return 4; }
    std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
    std::string key(std::uint64_t i) const { return "row-" + std::to_string(i); }
  };
  wick::loader loader(wick::from(number()) | [](std::int64_t i) {
    return at::full({2}, i, at::kFloat).to(fake::device());
  } | wick::batch(2));
  const std::string text = message_of([&] { return loader.next(); });
  CHECK(contains(text, "row-0: batch: a tensor on privateuseone:0 can't be batched",
                 "transfer() after batch()"));
}

}  // namespace wick_test::transfer_tests

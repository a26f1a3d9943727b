// Moves batches to a device with Python's PyTorch: for pipelines without LibTorch.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Memory of batches that can be page-locked, so that a device copies from it while the host computes.
/// Workers allocate it without the GIL; the thread that takes batches locks each block on its first use.
class lockable_memory final : public slab_memory {
 public:
  lockable_memory() = default;
  lockable_memory(const lockable_memory&) = delete;
  lockable_memory& operator=(const lockable_memory&) = delete;

  memory_block allocate(std::size_t bytes) override {
    auto made = make_owned<block>(block{this, nullptr, bytes});
    made->data = ::operator new(bytes, alignment);
    const std::lock_guard lock(mutex_);
    try {
      blocks_.emplace(made->data, made.get());
    } catch (...) {
      ::operator delete(made->data, alignment);
      throw;
    }
    auto* const data = static_cast<std::byte*>(made->data);
    return {data, made.release(), [](void* context) {
              const owned<block> gone(static_cast<block*>(context));
              gone->of->free(*gone);
            }};
  }

  /// Unlocks and frees locked blocks that have returned. \param unlock  called with the memory
  template <class Unlock>
  void free_returned(Unlock unlock) {
    std::map<void*, block*> returned;
    {
      const std::lock_guard lock(mutex_);
      returned.swap(returned_);
    }
    for (const auto& [data, gone] : returned) {
      unlock(data);
      ::operator delete(data, alignment);
    }
  }
  /// If `data` is the beginning of a block, calls `lock` with it and its bytes, once per block.
  template <class Lock>
  void lock_once(void* data, Lock lock) {
    block* found = nullptr;
    {
      const std::lock_guard held(mutex_);
      const auto at = blocks_.find(data);
      if (at == blocks_.end() || at->second->locked) return;
      found = at->second;  // it stays alive: the caller has a batch in it
    }
    lock(data, found->bytes);
    const std::lock_guard held(mutex_);
    found->locked = true;
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct block {
    lockable_memory* of;
    void* data;
    std::size_t bytes;
    bool locked = false;
  };
  /// On any thread. A locked block waits for the thread that can unlock it.
  void free(const block& b) noexcept {
    const std::lock_guard lock(mutex_);
    auto place = blocks_.extract(b.data);
    if (b.locked)
      returned_.insert(std::move(place));
    else
      ::operator delete(b.data, alignment);
  }

  std::mutex mutex_;
  std::map<void*, block*> blocks_;
  std::map<void*, block*> returned_;  // of blocks that are gone
};

/// Copies each batch to a device on a separate stream. The stream that is current when the loop takes the
/// batch waits for the copy; the loop doesn't. Always with the GIL.
class device_copies {
 public:
  /// \param device  anything torch.device() accepts: "cuda", "cuda:1", a torch.device \throws wick::error
  ///   when PyTorch has no such device
  explicit device_copies(const nanobind::object& device) {
    using nanobind::module_;
    torch_ = module_::import_("torch");
    device_ = torch_.attr("device")(device);
    streams_ = nanobind::cast<std::string>(device_.attr("type")) == "cuda";  // includes ROCm
    if (!streams_) return;
    cuda_ = torch_.attr("cuda");
    const auto devices = nanobind::cast<int>(cuda_.attr("device_count")());
    if (device_.attr("index").is_none() && devices > 0)
      device_ = torch_.attr("device")("cuda", cuda_.attr("current_device")());
    if (devices == 0 || nanobind::cast<int>(device_.attr("index")) >= devices) {
      throw error("device=\"" + name_of(device) + "\": PyTorch sees " + std::to_string(devices) +
                  " of its kind here, numbered from 0; write device=\"cpu\" where there is none, and with "
                  "torchrun the number in LOCAL_RANK");
    }
    memory_ = std::make_shared<lockable_memory>();
    stream_ = cuda_.attr("Stream")(device_, /*priority=*/-1);
    runtime_ = cuda_.attr("cudart")();
  }
  device_copies(const device_copies&) = delete;
  device_copies& operator=(const device_copies&) = delete;
  /// After the loader is gone: only copies in progress still use blocks.
  ~device_copies() {
    try {
      for (const under_way& c : copies_) c.done.attr("synchronize")();
      copies_.clear();
      if (memory_ != nullptr) free_returned();
    } catch (nanobind::python_error& e) {  // the device is broken, or Python is shutting down
      e.discard_as_unraisable("wick: device");
    }
  }

  static std::string name_of(const nanobind::object& device) { return nanobind::str(device).c_str(); }
  /// For the loader's batches; null if copies need no special memory.
  const std::shared_ptr<lockable_memory>& memory() const noexcept { return memory_; }

  /// Before a batch is taken. A loop far ahead of the device would fill it with batches, so this waits while
  /// the loop is four ahead. \throws nanobind::python_error for Ctrl-C
  void stay_near() {
    if (!streams_) return;
    nanobind::object& event = taken_[takes_ % taken_.size()];
    if (event.is_valid()) {
      while (!nanobind::cast<bool>(event.attr("query")())) {
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        const nanobind::gil_scoped_release released;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  /// Moves a batch of PyTorch tensors, in tuples, lists, and dicts, to the device.
  nanobind::object operator()(const nanobind::object& batch) {
    if (!streams_) return moved(batch, [this](const nanobind::handle& t) { return t.attr("to")(device_); });
    take_finished();
    const nanobind::object current = cuda_.attr("current_stream")(device_);
    taken_[takes_++ % taken_.size()] = current.attr("record_event")();
    const on_stream side(cuda_, stream_);
    const auto remember = [&] { copies_.push_back({batch, stream_.attr("record_event")()}); };
    nanobind::object out;
    try {
      out = moved(batch, [&](const nanobind::handle& t) { return copied(t, current); });
    } catch (...) {
      remember();  // some of its tensors may be in transit
      throw;
    }
    remember();
    current.attr("wait_event")(copies_.back().done);
    return out;
  }

 private:
  /// A batch that the device is reading, and the event after its copy.
  struct under_way {
    nanobind::object from, done;
  };
  /// `with torch.cuda.stream(s):`, which also makes the stream's device current.
  class on_stream {
   public:
    on_stream(const nanobind::object& cuda, const nanobind::object& stream)
        : context_(cuda.attr("stream")(stream)) {
      context_.attr("__enter__")();
    }
    on_stream(const on_stream&) = delete;
    on_stream& operator=(const on_stream&) = delete;
    ~on_stream() {
      try {
        context_.attr("__exit__")(nanobind::none(), nanobind::none(), nanobind::none());
      } catch (nanobind::python_error& e) {
        e.discard_as_unraisable("wick: device");
      }
    }

   private:
    nanobind::object context_;
  };

  template <class Move>
  nanobind::object moved(nanobind::handle of, const Move& move) {
    if (nanobind::isinstance(of, torch_.attr("Tensor"))) return move(of);
    if (PyTuple_CheckExact(of.ptr()) || PyList_CheckExact(of.ptr())) {
      nanobind::list out;
      for (const nanobind::handle each : of) out.append(moved(each, move));
      return PyTuple_CheckExact(of.ptr()) ? nanobind::object(nanobind::tuple(out)) : out;
    }
    if (PyDict_CheckExact(of.ptr())) {
      nanobind::dict out;
      for (const auto& [name, each] : nanobind::borrow<nanobind::dict>(of)) out[name] = moved(each, move);
      return out;
    }
    return nanobind::borrow(of);
  }

  nanobind::object copied(const nanobind::handle& tensor, const nanobind::object& current) {
    void* const data = reinterpret_cast<void*>(nanobind::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
    memory_->lock_once(data, [&](void* at, std::size_t bytes) {
      const auto fault = nanobind::cast<int>(
          nanobind::int_(runtime_.attr("cudaHostRegister")(reinterpret_cast<std::uintptr_t>(at), bytes, 0)));
      if (fault != 0) {
        throw error("device: " + std::to_string(bytes) +
                    " bytes of a batch can't be page-locked, CUDA's error " + std::to_string(fault) +
                    "; give a smaller prefetch or batch");
      }
    });
    nanobind::object there =
        tensor.attr("to")(nanobind::arg("device") = device_, nanobind::arg("non_blocking") = true);
    there.attr("record_stream")(current);
    return there;
  }
  void take_finished() {
    while (!copies_.empty() && nanobind::cast<bool>(copies_.front().done.attr("query")()))
      copies_.pop_front();
    free_returned();
  }
  void free_returned() {
    memory_->free_returned(
        [&](void* at) { runtime_.attr("cudaHostUnregister")(reinterpret_cast<std::uintptr_t>(at)); });
  }

  nanobind::object torch_, device_, cuda_, stream_, runtime_;
  bool streams_ = false;
  std::shared_ptr<lockable_memory> memory_;
  std::deque<under_way> copies_;
  /// Events that the loop's stream recorded when it took the last batches.
  std::array<nanobind::object, 4> taken_;
  std::size_t takes_ = 0;
};

}  // namespace wick::detail

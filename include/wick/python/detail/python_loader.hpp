// A loader for Python: an iterable of batches whose type only C++ knows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/base/detail/single_user.hpp>
#include <wick/loader/loader.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/python/detail/python_ranks.hpp>
#include <wick/python/detail/to_device.hpp>
#include <wick/python/to_python.hpp>

namespace wick::inline v0_1::detail {

/// One pass over the data.
class python_range {
 public:
  python_range() = default;
  python_range(const python_range&) = delete;
  python_range& operator=(const python_range&) = delete;
  virtual ~python_range() = default;

  /// The next batch. \throws nanobind::stop_iteration after the last, nanobind::python_error for Ctrl-C,
  /// after which the same batch is still the next
  virtual nanobind::object next() = 0;
  /// Batches left.
  virtual std::uint64_t left() = 0;

  nanobind::object loader;  ///< kept alive
};

/// The thread that is currently using a Python loader. It may call the loader during another call: a signal
/// handler does so while a loop waits for a batch.
class python_user {
 public:
  class hold {
   public:
    /// \throws std::logic_error when another thread is in a call of the loader
    hold(python_user& of, const char* call) : of_(of) {
      const void* user = nullptr;
      outer_ = of.thread_.compare_exchange_strong(user, &thread_mark, std::memory_order_acquire);
      if (!outer_ && user != &thread_mark) single_user::refuse(call);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ~hold() {
      if (outer_) of_.thread_.store(nullptr, std::memory_order_release);
    }

   private:
    python_user& of_;
    bool outer_;
  };

 private:
  std::atomic<const void*> thread_{nullptr};  // its thread_mark
};

/// A loader of any batch type, under one Python class. Calls that may take long release the GIL. Like
/// wick::loader, it is for one thread at a time; a second one gets a RuntimeError.
class python_loader {
 public:
  python_loader() = default;
  python_loader(const python_loader&) = delete;
  python_loader& operator=(const python_loader&) = delete;
  virtual ~python_loader() = default;

  /// The given epoch, or the next one. The range refers to the loader.
  virtual std::unique_ptr<python_range> begin(std::optional<std::uint64_t> epoch) = 0;
  virtual void seek(std::uint64_t epoch, std::uint64_t batch) = 0;

  virtual std::uint64_t batches() const = 0;
  virtual std::uint64_t samples() const = 0;
  virtual std::uint64_t current_epoch() const = 0;
  virtual std::vector<std::byte> state() const = 0;
  virtual void load_state(std::span<const std::byte> bytes) = 0;
  virtual wick::report report() = 0;
  virtual std::vector<failure_log::entry> failures() const = 0;
  virtual void write_quarantine(const std::string& path) const = 0;
  virtual epoch_fingerprint fingerprint(std::uint64_t epoch) const = 0;
  virtual void trace(const std::string& path) = 0;
  virtual void stop_trace() = 0;
  /// "<Loader of image_folder: 1000 samples, 4 batches>"
  virtual std::string description() const = 0;
  /// The callable that batches are passed to. For Python's garbage collector, since it may refer to the
  /// loader.
  virtual nanobind::object& into() noexcept = 0;
};

/// How a batch becomes a Python object, and how the loader is named.
struct python_delivery {
  python::tensors as;
  std::shared_ptr<device_copies> device;  ///< null: batches stay on the CPU, or where the pipeline puts them
  nanobind::object into;                  ///< called with each batch; None: batches stay as they are
  std::optional<process_ranks> ranks;     ///< the rank that shard() took
  bool by_argument = false;               ///< rank=…, world_size=…
  std::string name;                       ///< of the function that made the loader

  template <class Batch>
  nanobind::object operator()(Batch&& batch) const {
    nanobind::object out = python::to_python<std::remove_cvref_t<Batch>>::make(std::move(batch), as);
    return device != nullptr ? (*device)(out) : out;
  }
  /// Calls into Python, which may use the loader.
  nanobind::object give(nanobind::object out) const {
    if (into.is_none()) return out;
    if (nanobind::isinstance<nanobind::dict>(out)) return into(**nanobind::borrow<nanobind::kwargs>(out));
    if (nanobind::isinstance<nanobind::tuple>(out)) return into(*nanobind::borrow<nanobind::args>(out));
    return into(out);
  }
};

template <class Batch>
class typed_python_range final : public python_range {
 public:
  /// Without a number, the next epoch begins when its first batch is requested: trainers create iterators
  /// that they never use (Lightning's setup).
  typed_python_range(wick::loader<Batch>& loader, std::optional<std::uint64_t> epoch,
                     const python_delivery& deliver, python_user& user)
      : loader_(loader), deliver_(deliver), user_(user) {
    if (epoch) begin(*epoch);
  }

  nanobind::object next() override { return deliver_.give(next_batch()); }
  std::uint64_t left() override {
    const python_user::hold mine(user_, "len()");
    return begun().items_left();
  }

 private:
  void begin(std::uint64_t epoch) {
    const nanobind::gil_scoped_release released;
    of_.emplace(loader_.epoch(epoch));
  }
  typename wick::loader<Batch>::epoch_range& begun() {
    if (!of_) begin(loader_.next_epoch());
    return *of_;
  }
  nanobind::object next_batch() {
    const python_user::hold mine(user_, "next()");
    if (deliver_.device != nullptr) deliver_.device->stay_near();
    std::optional<Batch> batch = take();
    if (!batch) throw nanobind::stop_iteration();
    return deliver_(std::move(*batch));
  }
  std::optional<Batch> take() {
    bool raised = false;
    typename wick::loader<Batch>::epoch_range& of = begun();
    try {
      const nanobind::gil_scoped_release released;
      return of.next([&raised] {
        const nanobind::gil_scoped_acquire held;
        raised = PyErr_CheckSignals() != 0;
        return !raised;
      });
    } catch (const cancelled&) {
      if (raised) throw nanobind::python_error();
      throw;
    }
  }

  wick::loader<Batch>& loader_;
  std::optional<typename wick::loader<Batch>::epoch_range> of_;
  const python_delivery& deliver_;
  python_user& user_;
};

template <class Batch>
class typed_python_loader final : public python_loader {
 public:
  template <class Pipeline>
  typed_python_loader(Pipeline&& what, loader_options options, python_delivery deliver)
      : deliver_(std::move(deliver)) {
    const nanobind::gil_scoped_release released;
    loader_ = loader<Batch>(std::forward<Pipeline>(what), std::move(options));
  }
  ~typed_python_loader() override {
    const nanobind::gil_scoped_release released;  // it waits for the samples that its workers have begun
    loader_ = {};
  }

  std::unique_ptr<python_range> begin(std::optional<std::uint64_t> epoch) override {
    const python_user::hold mine(user_, "epoch()");
    if (!deliver_.by_argument) require_same_ranks(deliver_.ranks);
    return std::make_unique<typed_python_range<Batch>>(loader_, epoch, deliver_, user_);
  }
  void seek(std::uint64_t epoch, std::uint64_t batch) override {
    const python_user::hold mine(user_, "seek()");
    const nanobind::gil_scoped_release released;
    loader_.seek(epoch, batch);
  }

  std::uint64_t batches() const override { return loader_.batches(); }
  std::uint64_t samples() const override { return loader_.samples(); }
  std::uint64_t current_epoch() const override {
    const python_user::hold mine(user_, "current_epoch");
    return loader_.current_epoch();
  }
  std::vector<std::byte> state() const override {
    const python_user::hold mine(user_, "state()");
    const nanobind::gil_scoped_release released;
    return loader_.state();
  }
  void load_state(std::span<const std::byte> bytes) override {
    const python_user::hold mine(user_, "load_state()");
    const nanobind::gil_scoped_release released;
    loader_.load_state(bytes);
  }
  wick::report report() override {
    const python_user::hold mine(user_, "report()");
    const nanobind::gil_scoped_release released;
    return loader_.report();
  }
  std::vector<failure_log::entry> failures() const override {
    const python_user::hold mine(user_, "failures");
    const nanobind::gil_scoped_release released;
    return loader_.failure_log().entries();
  }
  void write_quarantine(const std::string& path) const override {
    const python_user::hold mine(user_, "write_quarantine()");
    const nanobind::gil_scoped_release released;
    loader_.write_quarantine(path);
  }
  epoch_fingerprint fingerprint(std::uint64_t epoch) const override {
    const python_user::hold mine(user_, "fingerprint()");
    const nanobind::gil_scoped_release released;
    return loader_.fingerprint(epoch);
  }
  void trace(const std::string& path) override {
    const python_user::hold mine(user_, "trace()");
    const nanobind::gil_scoped_release released;
    loader_.trace(path);
  }
  void stop_trace() override {
    const python_user::hold mine(user_, "stop_trace()");
    const nanobind::gil_scoped_release released;
    loader_.stop_trace();
  }

  std::string description() const override {
    std::string out = "<Loader of " + deliver_.name + ": " + std::to_string(loader_.samples()) +
                      " samples, " + std::to_string(loader_.batches()) + " batches";
    if (deliver_.ranks && deliver_.ranks->world > 1) out += ", " + words_of(*deliver_.ranks);
    return out + ">";
  }

  nanobind::object& into() noexcept override { return deliver_.into; }

 private:
  loader<Batch> loader_;
  mutable python_user user_;
  python_delivery deliver_;
};

}  // namespace wick::detail

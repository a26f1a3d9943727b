/// \file
/// A loader as Python sees it: an iterable of batches whose type is known in C++ alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/loader/loader.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/python/to_python.hpp>

namespace wick::detail {

/// Any loader behind one Python class. Calls that may take long release the GIL. Like wick::loader it is for
/// one thread at a time; a second one gets a RuntimeError.
class python_loader {
 public:
  python_loader() = default;
  python_loader(const python_loader&) = delete;
  python_loader& operator=(const python_loader&) = delete;
  virtual ~python_loader() = default;

  /// The given epoch, or the next one; returns which pass over the data that is.
  virtual std::uint64_t begin(std::optional<std::uint64_t> epoch) = 0;
  /// The next batch of that pass. \throws nanobind::stop_iteration behind the last,
  /// nanobind::python_error for Ctrl-C, after which the same batch is the next
  virtual nanobind::object next(std::uint64_t pass) = 0;
  virtual std::uint64_t batches_left(std::uint64_t pass) const = 0;
  virtual nanobind::object replay(std::uint64_t epoch, std::uint64_t batch) = 0;

  virtual std::uint64_t batches() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t current_epoch() const = 0;
  virtual std::vector<std::byte> state() const = 0;
  virtual void load_state(std::span<const std::byte> bytes) = 0;
  virtual wick::report report() = 0;
  virtual const wick::failure_log& failure_log() const = 0;
  virtual epoch_fingerprint fingerprint(std::uint64_t epoch) const = 0;
  virtual void trace(const std::string& path) = 0;
  virtual void stop_trace() = 0;
};

/// `into`: what each batch is given to, as Python's keyword arguments of a dict, else as positional ones of a
/// tuple; None: batches stay as they are.
template <class Batch>
class typed_python_loader final : public python_loader {
 public:
  template <class Pipeline>
  typed_python_loader(Pipeline&& what, loader_options options, python::tensors as, nanobind::object into)
      : as_(as), into_(std::move(into)) {
    const nanobind::gil_scoped_release released;
    loader_ = loader<Batch>(std::forward<Pipeline>(what), std::move(options));
  }
  ~typed_python_loader() override {
    const nanobind::gil_scoped_release released;  // it waits for what its workers have begun
    loader_ = {};
  }

  std::uint64_t begin(std::optional<std::uint64_t> epoch) override {
    const nanobind::gil_scoped_release released;
    const std::uint64_t next = begun_ ? loader_.current_epoch() + 1 : loader_.current_epoch();
    range_.emplace(loader_.epoch(epoch.value_or(next)));
    begun_ = true;
    return ++pass_;
  }
  nanobind::object next(std::uint64_t pass) override {
    require(pass);
    std::optional<Batch> batch = take();
    if (!batch) throw nanobind::stop_iteration();
    return deliver(std::move(*batch));
  }
  std::uint64_t batches_left(std::uint64_t pass) const override {
    return pass == pass_ && range_ ? range_->items_left() : 0;
  }
  nanobind::object replay(std::uint64_t epoch, std::uint64_t batch) override {
    std::optional<Batch> again;
    {
      const nanobind::gil_scoped_release released;
      again.emplace(loader_.replay(epoch, batch));
    }
    return deliver(std::move(*again));
  }

  std::uint64_t batches() const override { return loader_.batches(); }
  std::uint64_t size() const override { return loader_.size(); }
  std::uint64_t current_epoch() const override { return loader_.current_epoch(); }
  std::vector<std::byte> state() const override { return loader_.state(); }
  void load_state(std::span<const std::byte> bytes) override {
    const nanobind::gil_scoped_release released;
    loader_.load_state(bytes);
    begun_ = false;
  }
  wick::report report() override { return loader_.report(); }
  const wick::failure_log& failure_log() const override { return loader_.failure_log(); }
  epoch_fingerprint fingerprint(std::uint64_t epoch) const override { return loader_.fingerprint(epoch); }
  void trace(const std::string& path) override { loader_.trace(path); }
  void stop_trace() override { loader_.stop_trace(); }

 private:
  void require(std::uint64_t pass) const {
    if (pass == pass_) return;
    throw std::logic_error(
        "wick: another epoch was begun since this iterator was made; one epoch is under way at a time: use a "
        "second loader for a loop inside a loop");
  }
  std::optional<Batch> take() {
    bool raised = false;
    try {
      const nanobind::gil_scoped_release released;
      return range_->next([&raised] {
        const nanobind::gil_scoped_acquire held;
        raised = PyErr_CheckSignals() != 0;
        return !raised;
      });
    } catch (const cancelled&) {
      if (raised) throw nanobind::python_error();
      throw;
    }
  }
  nanobind::object deliver(Batch&& batch) const {
    nanobind::object out = python::to_python<Batch>::make(std::move(batch), as_);
    if (into_.is_none()) return out;
    if (nanobind::isinstance<nanobind::dict>(out)) return into_(**nanobind::borrow<nanobind::kwargs>(out));
    if (nanobind::isinstance<nanobind::tuple>(out)) return into_(*nanobind::borrow<nanobind::args>(out));
    return into_(out);
  }

  loader<Batch> loader_;
  std::optional<typename loader<Batch>::epoch_range> range_;
  std::uint64_t pass_ = 0;
  bool begun_ = false;
  python::tensors as_;
  nanobind::object into_;
};

}  // namespace wick::detail

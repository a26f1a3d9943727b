// The part of a loader that programs compile, whatever its batches are. The rest is in
// loader/detail/loader_core.hpp, which only the engine's implementation files include.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/single_user.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/loader_options.hpp>

namespace wick::inline v0_1::detail {

struct batch_job;
class loader_core;

/// Asked now and then while a thread waits for a batch: false ends the wait. It throws nothing.
struct wait_check {
  bool (*keep)(void* of);
  void* of;
};

/// Reports the use of an empty loader. \throws std::logic_error
[[noreturn]] void refuse_empty_loader();

/// Owns the core. The typed loader (loader_of) derives from it, and keeps the taken batch.
class loader_shell {
 public:
  /// \param own  the loader's executor; null if the options name another
  loader_shell(owned<executor> own, owned<erased_pipeline> what, const loader_options& options);
  loader_shell(const loader_shell&) = delete;
  loader_shell& operator=(const loader_shell&) = delete;
  virtual ~loader_shell();

  loader_core& core() const noexcept { return *core_; }

  // ---- for the typed loader and its ranges ----

  void epoch(std::uint64_t e);
  /// Takes the next batch (without batch(): sample), if there is one; it is slot() of the taken job. The
  /// caller holds user() until it has the batch. \throws wick::cancelled when the check returns false;
  /// nothing is taken then
  bool next(const wait_check* check);
  static task<bool> next_async(loader_shell* self);
  /// Takes the next sample of a group; false when the group has no more.
  bool next_in_group();
  /// Without batch(): whether the group that was taken has samples left, some of which may be left out.
  bool is_ready() const noexcept;
  std::size_t slot() const noexcept { return slot_; }
  single_user& user() noexcept { return user_; }
  /// \throws std::logic_error on the executor's own threads
  void require_outside(const char* call, const char* instead) const;

  /// The number of times an epoch was begun: distinguishes ranges.
  std::uint64_t pass() const noexcept { return pass_.load(std::memory_order_relaxed); }
  /// \throws std::logic_error when another epoch has been begun since
  void require_pass(std::uint64_t pass) const {
    if (pass != this->pass()) refuse_outrun();
  }
  /// The remaining batches; without batch(), samples, some of which may be left out.
  std::uint64_t items_left() const noexcept;
  std::uint64_t samples_taken() const noexcept;

 protected:
  friend loader_core;
  /// take() moves the content out of a finished batch, and returns whether there is a batch. drop_taken()
  /// drops that content.
  virtual bool take(batch_job& j) = 0;
  virtual void drop_taken() noexcept = 0;
  /// Prepares the taken batch on the consumer's thread.
  virtual void deliver() = 0;
  /// Whether the taken group has a sample in that slot.
  virtual bool has(std::size_t slot) const noexcept = 0;

 private:
  [[noreturn]] static void refuse_outrun();

  single_user user_;
  std::atomic<std::uint64_t> pass_{0};  // a range reads it before it knows who else uses the loader
  std::size_t slot_ = 0;
  owned<loader_core> core_;  // last: it refers to all of these
};

}  // namespace wick::detail

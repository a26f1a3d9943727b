// The parts of a loader that depend on the type of its batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/single_user.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/loader_shell.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/version.hpp>

namespace wick::inline v0_1::detail {

/// Holds the batch, or the group of samples, that was taken but not yet handed over.
template <class Batch>
class loader_of final : public loader_shell {
 public:
  loader_of(owned<executor> own, owned<pipeline_of<Batch>> what, const loader_options& options)
      : loader_of(std::move(own), what.release(), options) {
    compiled_for_these_headers::here();
  }

  std::optional<Batch> next_value(const wait_check* check = nullptr) {
    // For most samples, a hold and a check of the thread would cost more than handing one over; both were
    // done for the group.
    if (user().still_this_thread() && next_in_group()) return hand_over();
    require_outside("next()", "co_await next_async()");
    single_user::hold mine(user(), "next()");
    if (!next(check)) return std::nullopt;
    if (is_ready()) mine.remember_thread();
    return hand_over();
  }
  template <class Keep>
  std::optional<Batch> next_value_while(Keep& keep) {
    const wait_check check{[](void* of) { return static_cast<bool>((*static_cast<Keep*>(of))()); }, &keep};
    return next_value(&check);
  }
  static task<std::optional<Batch>> next_value_async(loader_of* self) {
    const single_user::hold mine(self->user(), "next_async()");
    task<bool> taking = next_async(self);
    const bool there = co_await taking;
    if (!there) co_return std::nullopt;
    co_return self->hand_over();
  }

  std::optional<Batch> current;  ///< the batch of a range's iterators

 private:
  loader_of(owned<executor> own, pipeline_of<Batch>* what, const loader_options& options)
      : loader_shell(std::move(own), owned<erased_pipeline>(what), options), pipeline_(*what) {
    taken_.reserve(1);  // so that handing over a batch needs no memory
  }

  std::optional<Batch> hand_over() { return std::exchange(taken_[slot()], std::nullopt); }

  bool take(batch_job& j) override {
    static_cast<batch_of<Batch>&>(j).take(taken_);
    return !taken_.empty() && taken_.front();
  }
  void drop_taken() noexcept override { taken_.clear(); }
  void deliver() override { pipeline_.deliver(*taken_.front()); }
  bool has(std::size_t slot) const noexcept override {
    return slot < taken_.size() && taken_[slot].has_value();
  }

  pipeline_of<Batch>& pipeline_;
  std::vector<std::optional<Batch>> taken_;
};

}  // namespace wick::detail

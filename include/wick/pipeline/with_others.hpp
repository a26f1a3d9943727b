// with_others(n) and join(f): one sample made of several of the same epoch. mixup(), cutmix(), and mosaic()
// are built on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/written_at.hpp>
#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

/// A sample, and other samples of its epoch that went through the same stages. with_others() returns it.
template <class Item>
struct sample_with_others {
  using other = detail::materialized_t<Item>;

  Item own;  ///< the sample at this position
  /// Images among them are decoded. Empty if with_others() left the sample alone, by its probability.
  std::vector<other> others;
};

/// Options of with_others().
struct with_others_options {
  double p = 1;  ///< probability that a sample gets others, 0 to 1
};

namespace detail {

class with_others_stage {
 public:
  static constexpr stage_traits traits{
      .name = "with_others", .kind = stage_kind::sample, .has_fingerprint = true, .gathers_others = true};

  with_others_stage(std::size_t count, const with_others_options& options);
  std::size_t count() const noexcept { return count_; }
  double probability() const noexcept { return options_.p; }
  std::uint64_t fingerprint() const noexcept;

  /// Serves only for its type: the loader gathers the others instead. Without a loader there are no others.
  template <class Item>
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): the sample outlives it
  task<sample_with_others<Item>> operator()(Item& item, context&) const {
    sample_with_others<Item> alone{std::move(item), {}};
    co_return std::move(alone);
  }

 private:
  std::size_t count_;
  with_others_options options_;
};

/// Draws the others of a sample, by its place and its index: a substitute gets its own others, and a retry
/// gets the same ones.
struct other_draws {
  static constexpr std::uint32_t most_left_out = 64;

  other_draws(const place& into, std::uint32_t stage) noexcept;
  /// The place of the next other, with its own random streams.
  place next(std::uint64_t index) noexcept;
  /// Counts an other that filter() leaves out, or that is known to have failed here; it is drawn again.
  /// \throws wick::error if there are too many of them
  void leave_out();
  /// \throws failed_other, with the innermost other that failed, or cancelled if the loader is stopping
  void failed(const std::exception_ptr& cause, std::uint64_t index, std::uint32_t in_stage);

  place base;
  random_stream stream;
  std::uint64_t salt;
  std::uint64_t number = 0;
  std::uint32_t left_out = 0;
};

/// A user's callable that makes one item of several.
template <class F>
class join_stage {
 public:
  static constexpr stage_traits traits{
      .name = "join", .kind = stage_kind::sample, .has_label = true, .has_fingerprint = true};
  join_stage(std::string label, F f, written_at at) : label_(std::move(label)), f_(std::move(f)), at_(at) {}
  std::string_view label() const noexcept { return label_; }
  const written_at& written() const noexcept { return at_; }
  std::uint64_t fingerprint() const {
    if constexpr (traits_of<F>.has_fingerprint)
      return f_.fingerprint();
    else
      return 0;
  }
  template <class Item>
  auto operator()(sample_with_others<Item>& all, context& c) {
    constexpr bool with_context = std::is_invocable_v<F&, Item, decltype(all.others)&, context&>;
    constexpr bool without = std::is_invocable_v<F&, Item, decltype(all.others)&>;
    static_assert(with_context || without,
                  "wick: join() takes a callable of the item and the others: "
                  "[](Item own, std::vector<Item>& others) { return …; }, with a context& if it wants; "
                  "pictures among the others are decoded: wick::image");
    if constexpr (with_context)
      return f_(std::move(all.own), all.others, c);
    else
      return f_(std::move(all.own), all.others);
  }

 private:
  std::string label_;
  F f_;
  written_at at_;
};

}  // namespace detail

/// Gives each sample n others of the same epoch. They are drawn with replacement from the samples that the
/// order stages leave (subset and weights apply to them), and each goes through all stages before this one
/// with its own random numbers. The draw depends on the seed, the epoch, the position, and the index alone,
/// so batches are the same with any number of workers and ranks, and after a resume. A sample may draw
/// itself. Returns sample_with_others<Item>; write join(f) after it.
///
/// Where filter() drops an other, another one is drawn. An other that fails is logged under its own key,
/// together with the sample that needed it. If on_error skips or replaces, that sample draws again, up to
/// error_options::substitutes times; after that the sample itself is skipped, or its batch fails. The bytes
/// that others read count toward the sample's memory. Can't be used with bucket() or pack(). \throws
/// wick::error when n is 0 or more than 64, or p isn't in [0, 1]
detail::with_others_stage with_others(std::size_t n, const with_others_options& options = {});

/// Makes one item of a sample and its others: `with_others(1) | join([](Item own, std::vector<Item>& others)
/// { … })`. f may take a `context&` as well, for random numbers. All workers call it at once, even for a
/// sample without others.
template <class F>
detail::join_stage<std::decay_t<F>> join(F&& f, detail::written_at at = detail::written_at::here()) {
  return {"join", std::forward<F>(f), at};
}
/// The same with a name for errors and the report.
template <class F>
detail::join_stage<std::decay_t<F>> join(std::string name, F&& f) {
  return {std::move(name), std::forward<F>(f), {}};
}

}  // namespace wick

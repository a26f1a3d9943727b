/// \file
/// What a loader does for edits of its mixture.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/resume/mixture.hpp>

namespace wick::detail {

template <class Loader>
struct loader_edits {
  using place = typename Loader::place;
  static constexpr bool editable =
      std::remove_cvref_t<decltype(std::declval<const typename Loader::feed_type&>().plan())>::editable;

  static void change(Loader& l, const std::vector<source_weight>& weights, const edit_options& at) {
    l.feed_->on().require_workers();
    if (auto e = journal(l).resolve(weights, at, place::next(l), l.feed_->path().shard().world == 1))
      l.edits_.add(*l.feed_, std::move(*e), {place::next(l), l.current_epoch(), l.left_, l.sought_});
  }
  static void replay(Loader& l, const std::string& file) {
    for (const mixture_edit& e : journal(l).read(file))
      change(l, journal(l).weights_of(e), {e.epoch, e.batch});
  }
  static std::vector<source_weight> now(const Loader& l) {
    require_editable_mix<editable>();
    return l.edits_.at(*l.feed_, place::next(l));
  }
  /// From the beginning those of this file hold.
  static void go_on_with(Loader& l, const std::string& file) {
    if constexpr (editable) {
      for (mixture_edit& e : journal(l).open(file))
        l.edits_.add(*l.feed_, std::move(e), {place::next(l), 0, l.left_, l.sought_}, false);
    } else {
      refuse_journal_file();
    }
  }
  /// Before batches() is asked for another epoch.
  static void plan_for(Loader& l, std::uint64_t e) {
    if constexpr (editable) {
      if (l.edits_.plan_for(*l.feed_, e)) l.sought_ = l.left_ == 0;
    }
  }

 private:
  static mixture_journal& journal(Loader& l) {
    require_editable_mix<editable>();
    return l.edits_.open(*l.feed_, [&] { return l.identity(); });
  }
};

}  // namespace wick::detail

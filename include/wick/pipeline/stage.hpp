/// \file
/// What makes a type a stage, and of which kind.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace wick::inline v0_1 {

/// The kind of a stage that maps positions to indexes of the source, before anything is read: see
/// order_stage.
struct on_order {};
/// The kind of a stage that takes the whole item: `operator()(item)` or `operator()(item, context&)`.
struct on_sample {};
/// The kind of a stage that takes the item's `data` (or the item itself, when it is no `sample<>`), and
/// leaves its `target` alone.
struct on_data {};

namespace detail {

/// The item or its data, whichever it takes: what a callable becomes, and a stage that knows samples of
/// parts.
struct on_sample_or_data {};
struct on_batching {};  ///< makes batches of samples

}  // namespace detail

/// The kind of a stage that takes a whole batch, behind batch().
struct on_batch {};

/// What makes a type a stage: it has a name, which errors and the report show, and says its kind:
/// `static constexpr std::string_view name = "crop"; using stage_kind = wick::on_data;`. The kind says what
/// its call operator takes. A callable becomes a stage by itself and needs none of this.
template <class S>
concept stage = requires {
  typename std::remove_cvref_t<S>::stage_kind;
  { std::remove_cvref_t<S>::name } -> std::convertible_to<std::string_view>;
};

namespace detail {

template <class S, class Kind>
concept stage_of = stage<S> && std::same_as<typename std::remove_cvref_t<S>::stage_kind, Kind>;

}  // namespace detail

class executor;

/// What a stage may have beside its call operator. A stage lists the hooks that it has:
/// `using stage_hooks = wick::hooks<wick::hook::fingerprint, wick::hook::note>;`. A hook that is listed and
/// missing, misspelt or of another type is a compile error, and so is a member of a hook's name that is not
/// listed.
template <class... H>
struct hooks {};

namespace hook {
/// `std::string_view label() const`: its name in messages and reports, in place of `name`.
struct label {};
/// `std::uint64_t fingerprint() const`: of the parameters that change its samples. A state is refused where
/// it differs.
struct fingerprint {};
/// `std::string note() const`: a line for the report; an empty one is left out.
struct note {};
/// `void attach(executor&)`: called once, by the loader that takes the stage over.
struct attach {};
/// `template <class Came, class... Before> static consteval bool check()`: whether it fits behind these
/// stages, which give it a Came; where it doesn't, a static_assert in it says why.
struct check {};
/// `std::shared_ptr<slab_memory> slab_memory()`, of a batch stage: where batches lie.
struct slab_memory {};
/// `auto around(Batch batch, Rest&& rest) const`, of a batch stage: it calls the stages behind it itself, by
/// `rest(batch)`.
struct around {};
/// `void deliver(Batch&) const`, of a batch stage: called by the thread that takes the batch.
struct deliver {};
/// `void refresh()` or `void refresh(const Source&)`: takes again what it keeps of data that changes. Called
/// when the loader is made and by loader.refresh(), while no worker looks at the stage.
struct refresh {};
}  // namespace hook

namespace detail {

template <class S>
struct hooks_of {
  using type = hooks<>;
};
template <class S>
  requires requires { typename S::stage_hooks; }
struct hooks_of<S> {
  using type = typename S::stage_hooks;
};
template <class H, class List>
inline constexpr bool is_listed = false;
template <class H, class... L>
inline constexpr bool is_listed<H, hooks<L...>> = (std::same_as<H, L> || ...);

template <class S, class H>
concept has_hook = is_listed<H, typename hooks_of<std::remove_cvref_t<S>>::type>;

// The member that a hook asks for. `named`: whether a class has a member of that name, whatever it is: looked
// up beside another one of the name it is ambiguous. `fits`: whether it can be called as it is to be; where
// the types of that call are not known yet, any member of the name fits.
template <class S, class Twin>
struct beside : S, Twin {};
struct any_member {
  template <class>
  static constexpr bool fits = true;
};
template <class H>
struct hook_member;
template <>
struct hook_member<hook::label> {
  struct twin {
    int label;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::label; };
  template <class S>
  static constexpr bool fits = requires(const S& s) {
    { s.label() } -> std::convertible_to<std::string_view>;
  };
};
template <>
struct hook_member<hook::fingerprint> {
  struct twin {
    int fingerprint;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::fingerprint; };
  template <class S>
  static constexpr bool fits = requires(const S& s) {
    { s.fingerprint() } -> std::convertible_to<std::uint64_t>;
  };
};
template <>
struct hook_member<hook::note> {
  struct twin {
    int note;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::note; };
  template <class S>
  static constexpr bool fits = requires(const S& s) {
    { s.note() } -> std::convertible_to<std::string>;
  };
};
template <>
struct hook_member<hook::attach> {
  struct twin {
    int attach;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::attach; };
  template <class S>
  static constexpr bool fits = requires(S& s, executor& on) { s.attach(on); };
};
template <>
struct hook_member<hook::check> : any_member {
  struct twin {
    int check;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::check; };
};
template <>
struct hook_member<hook::slab_memory> : any_member {
  struct twin {
    int slab_memory;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::slab_memory; };
};
template <>
struct hook_member<hook::around> : any_member {
  struct twin {
    int around;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::around; };
};
template <>
struct hook_member<hook::deliver> : any_member {
  struct twin {
    int deliver;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::deliver; };
};
template <>
struct hook_member<hook::refresh> : any_member {
  struct twin {
    int refresh;
  };
  template <class S>
  static constexpr bool named = !requires { &beside<S, twin>::refresh; };
};
using all_hooks = hooks<hook::label, hook::fingerprint, hook::note, hook::attach, hook::check,
                        hook::slab_memory, hook::around, hook::deliver, hook::refresh>;

template <class S, class Hook>
consteval bool check_hook() {
  constexpr bool listed = has_hook<S, Hook>;
  constexpr bool named = [] {
    if constexpr (std::is_final_v<S>)
      return listed;  // it can't be found out
    else
      return hook_member<Hook>::template named<S>;
  }();
  constexpr bool there = !listed || (named && hook_member<Hook>::template fits<S>);
  static_assert(
      there,
      "wick: stage_hooks of this stage lists a hook (Hook, in the lines beside this), and its member is "
      "missing, misspelt "
      "or of another type; write it as the comment at wick::hook says, or take the hook off the list");
  constexpr bool known = listed || !named;
  static_assert(known,
                "wick: this stage has a member of a hook's name (Hook, in the lines beside this) and does "
                "not list the hook; add it "
                "to stage_hooks, or give the member another name");
  return there && known;
}

/// Whether the hooks of a stage are listed, and are what they should be; says so where not.
template <class S>
consteval bool check_hooks() {
  constexpr bool known = []<class... H>(hooks<H...>) {
    return (is_listed<H, all_hooks> && ...);
  }(typename hooks_of<S>::type{});
  static_assert(known,
                "wick: stage_hooks of this stage lists a type that is no hook; see namespace wick::hook");
  return known && []<class... H>(hooks<H...>) { return (check_hook<S, H>() && ...); }(all_hooks{});
}

}  // namespace detail

/// An order stage says how many positions it leaves of n. `prepare(n, seed, epoch, stage)` gives for one
/// epoch a function from its positions to those before it; a worker calls it ahead of the epoch, or the
/// consumer does, perhaps at the same time. All batches of the epoch share the function, and all workers call
/// it. One that is faster for many positions has `map(std::uint64_t* positions, std::size_t count)` too,
/// which changes them in place. `std::uint64_t fingerprint() const` covers the parameters that decide what
/// stands where, so that a resume with others is refused.
template <class S>
concept order_stage = detail::stage_of<S, on_order> && requires(const S& s, std::uint64_t n) {
  { s.size(n) } -> std::convertible_to<std::uint64_t>;
  { s.prepare(n, n, n, std::uint32_t{})(n) } -> std::convertible_to<std::uint64_t>;
};

}  // namespace wick

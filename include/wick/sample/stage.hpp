/// \file
/// What makes a type a stage, and of which kind.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace wick {

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
/// `void refresh()` or `void refresh(const Source&)`, of an order stage: takes anew what it keeps of data
/// that changes. Called when the loader is made and by loader.refresh(), while no worker looks at the stage.
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

// Whether a class has a member of a name, whatever it is: looked up beside another one of that name it is
// ambiguous.
struct member_label {
  int label;
};
template <class S>
struct beside_label : S, member_label {};
template <class S>
concept names_label = !std::is_final_v<S> && !requires { &beside_label<S>::label; };
struct member_fingerprint {
  int fingerprint;
};
template <class S>
struct beside_fingerprint : S, member_fingerprint {};
template <class S>
concept names_fingerprint = !std::is_final_v<S> && !requires { &beside_fingerprint<S>::fingerprint; };
struct member_note {
  int note;
};
template <class S>
struct beside_note : S, member_note {};
template <class S>
concept names_note = !std::is_final_v<S> && !requires { &beside_note<S>::note; };
struct member_attach {
  int attach;
};
template <class S>
struct beside_attach : S, member_attach {};
template <class S>
concept names_attach = !std::is_final_v<S> && !requires { &beside_attach<S>::attach; };
struct member_check {
  int check;
};
template <class S>
struct beside_check : S, member_check {};
template <class S>
concept names_check = !std::is_final_v<S> && !requires { &beside_check<S>::check; };
struct member_slab_memory {
  int slab_memory;
};
template <class S>
struct beside_slab_memory : S, member_slab_memory {};
template <class S>
concept names_slab_memory = !std::is_final_v<S> && !requires { &beside_slab_memory<S>::slab_memory; };
struct member_around {
  int around;
};
template <class S>
struct beside_around : S, member_around {};
template <class S>
concept names_around = !std::is_final_v<S> && !requires { &beside_around<S>::around; };
struct member_deliver {
  int deliver;
};
template <class S>
struct beside_deliver : S, member_deliver {};
template <class S>
concept names_deliver = !std::is_final_v<S> && !requires { &beside_deliver<S>::deliver; };

struct member_refresh {
  int refresh;
};
template <class S>
struct beside_refresh : S, member_refresh {};
template <class S>
concept names_refresh = !std::is_final_v<S> && !requires { &beside_refresh<S>::refresh; };

/// Whether the hooks of a stage are listed, and are what they should be; says so where not.
template <class S>
consteval bool check_hooks() {
  constexpr bool known = []<class... H>(hooks<H...>) {
    return (is_listed<H, hooks<hook::label, hook::fingerprint, hook::note, hook::attach, hook::check,
                               hook::slab_memory, hook::around, hook::deliver, hook::refresh>> &&
            ...);
  }(typename hooks_of<S>::type{});
  static_assert(known,
                "wick: stage_hooks of this stage lists a type that is no hook; see namespace wick::hook");
  constexpr bool label_there = !has_hook<S, hook::label> || requires(const S& s) {
    { s.label() } -> std::convertible_to<std::string_view>;
  };
  static_assert(label_there,
                "wick: stage_hooks of this stage lists hook::label, and there is no `std::string_view "
                "label() const`; write it, or take the hook off the list");
  constexpr bool label_listed = has_hook<S, hook::label> || !names_label<S>;
  static_assert(label_listed,
                "wick: this stage has a member label and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::label>;`, or give the member another name");
  constexpr bool fingerprint_there = !has_hook<S, hook::fingerprint> || requires(const S& s) {
    { s.fingerprint() } -> std::convertible_to<std::uint64_t>;
  };
  static_assert(fingerprint_there,
                "wick: stage_hooks of this stage lists hook::fingerprint, and there is no `std::uint64_t "
                "fingerprint() const`; write it, or take the hook off the list");
  constexpr bool fingerprint_listed = has_hook<S, hook::fingerprint> || !names_fingerprint<S>;
  static_assert(fingerprint_listed,
                "wick: this stage has a member fingerprint and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::fingerprint>;`, or give the member another name");
  constexpr bool note_there = !has_hook<S, hook::note> || requires(const S& s) {
    { s.note() } -> std::convertible_to<std::string>;
  };
  static_assert(note_there,
                "wick: stage_hooks of this stage lists hook::note, and there is no `std::string note() "
                "const`; write it, or take the hook off the list");
  constexpr bool note_listed = has_hook<S, hook::note> || !names_note<S>;
  static_assert(note_listed,
                "wick: this stage has a member note and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::note>;`, or give the member another name");
  constexpr bool attach_there = !has_hook<S, hook::attach> || requires(S& s, executor& on) { s.attach(on); };
  static_assert(attach_there,
                "wick: stage_hooks of this stage lists hook::attach, and there is no `void "
                "attach(wick::executor&)`; write it, or take the hook off the list");
  constexpr bool attach_listed = has_hook<S, hook::attach> || !names_attach<S>;
  static_assert(attach_listed,
                "wick: this stage has a member attach and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::attach>;`, or give the member another name");
  constexpr bool check_there = !has_hook<S, hook::check> || names_check<S>;
  static_assert(check_there,
                "wick: stage_hooks of this stage lists hook::check, and it has no member check; write it, or "
                "take the hook off the list");
  constexpr bool check_listed = has_hook<S, hook::check> || !names_check<S>;
  static_assert(check_listed,
                "wick: this stage has a member check and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::check>;`, or give the member another name");
  constexpr bool slab_memory_there = !has_hook<S, hook::slab_memory> || names_slab_memory<S>;
  static_assert(slab_memory_there,
                "wick: stage_hooks of this stage lists hook::slab_memory, and it has no member slab_memory; "
                "write it, or take the hook off the list");
  constexpr bool slab_memory_listed = has_hook<S, hook::slab_memory> || !names_slab_memory<S>;
  static_assert(slab_memory_listed,
                "wick: this stage has a member slab_memory and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::slab_memory>;`, or give the member another name");
  constexpr bool around_there = !has_hook<S, hook::around> || names_around<S>;
  static_assert(around_there,
                "wick: stage_hooks of this stage lists hook::around, and it has no member around; write it, "
                "or take the hook off the list");
  constexpr bool around_listed = has_hook<S, hook::around> || !names_around<S>;
  static_assert(around_listed,
                "wick: this stage has a member around and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::around>;`, or give the member another name");
  constexpr bool deliver_there = !has_hook<S, hook::deliver> || names_deliver<S>;
  static_assert(deliver_there,
                "wick: stage_hooks of this stage lists hook::deliver, and it has no member deliver; write "
                "it, or take the hook off the list");
  constexpr bool deliver_listed = has_hook<S, hook::deliver> || !names_deliver<S>;
  static_assert(deliver_listed,
                "wick: this stage has a member deliver and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::deliver>;`, or give the member another name");
  constexpr bool refresh_there = !has_hook<S, hook::refresh> || names_refresh<S>;
  static_assert(refresh_there,
                "wick: stage_hooks of this stage lists hook::refresh, and it has no member refresh; write "
                "it, or take the hook off the list");
  constexpr bool refresh_listed = has_hook<S, hook::refresh> || !names_refresh<S>;
  static_assert(refresh_listed,
                "wick: this stage has a member refresh and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::refresh>;`, or give the member another name");
  return known && label_there && label_listed && fingerprint_there && fingerprint_listed && note_there &&
         note_listed && attach_there && attach_listed && check_there && check_listed && slab_memory_there &&
         slab_memory_listed && around_there && around_listed && deliver_there && deliver_listed &&
         refresh_there && refresh_listed;
}

}  // namespace detail

/// An order stage says how many positions it leaves of n, and gives for one epoch a function from its
/// positions to those before it. The function is copied into each batch and called by all workers. One that
/// is faster for many positions has `map(std::uint64_t* positions, std::size_t count)` too, which does them
/// in place. Parameters that decide what stands where are told by `std::uint64_t fingerprint() const`, so
/// that a resume with others is refused.
template <class S>
concept order_stage = detail::stage_of<S, on_order> && requires(const S& s, std::uint64_t n) {
  { s.size(n) } -> std::convertible_to<std::uint64_t>;
  { s.prepare(n, n, n, std::uint32_t{})(n) } -> std::convertible_to<std::uint64_t>;
  requires std::default_initializable<decltype(s.prepare(n, n, n, std::uint32_t{}))>;
};

}  // namespace wick

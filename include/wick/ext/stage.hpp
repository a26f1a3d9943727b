// The traits of a stage, one struct per stage: all that the engine knows about it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wick::inline v0_1::ext {

/// The argument of a stage's call operator.
enum class stage_kind : std::uint8_t {
  order,           ///< positions, before anything is read: see order_stage
  sample,          ///< the whole item
  data,            ///< the item's `data`, or the item if it isn't a `sample<>`; the `target` is left alone
  sample_or_data,  ///< the item or its data, whichever it accepts, as any callable does
  batching,        ///< nothing: it makes batches of samples
  batch,           ///< a batch, after batch()
};

/// The work that a stage leaves to the slot of the batch, where an image is decoded, resized, and colored in
/// one pass. The report charges that time to the stage.
enum class slot_phase : std::uint8_t { decode, resize, color, none };

/// All that the engine knows about a stage, besides its call operator. A type becomes a stage by a member
/// `static constexpr wick::ext::stage_traits traits{.name = "crop", .has_fingerprint = true};`, and by
/// nothing else: the engine calls only the members that its traits announce, and a callable without traits
/// may have members of any name. Every field has a default.
struct stage_traits {
  std::string_view name = "map";  ///< in errors, the report, and the identity of the pipeline
  stage_kind kind = stage_kind::sample_or_data;

  // ---- members that it has ----

  /// `std::string_view label() const`: its name, in place of `name`.
  bool has_label = false;
  /// `std::uint64_t fingerprint() const`: a hash of the parameters that change its samples. A state is
  /// refused if it differs.
  bool has_fingerprint = false;
  /// `std::string note() const`: a line for the report; an empty one is left out.
  bool has_note = false;
  /// `void attach(executor&)`: called once, by the loader that takes ownership of the stage.
  bool has_attach = false;
  /// `template <class Item, class... Before> static consteval bool check()`: whether it fits after the stages
  /// `Before`, which give it an `Item`. If it doesn't fit, a static_assert in it says why.
  bool has_check = false;
  /// `void refresh()` or `void refresh(const Source&)`: reloads the values that it keeps of changing data.
  /// The loader calls it when it is made and in loader.refresh(), while no worker uses the stage.
  bool has_refresh = false;
  /// It contains a callable, which is called instead: `callable_type`, and `callable_type& callable()`.
  bool has_callable = false;
  /// `apply_stage(stage&, item, context&)`, found by argument-dependent lookup, takes more types of items.
  bool has_apply_stage = false;

  // ---- members of batch stages ----

  /// `std::shared_ptr<ext::slab_memory> slab_memory()`: the memory that batches are made in.
  bool has_slab_memory = false;
  /// `auto around(Batch batch, Rest&& rest) const`: calls the stages after this one, by `rest(batch)`.
  bool has_around = false;
  /// `void deliver(Batch&) const`: called by the thread that takes the batch.
  bool has_deliver = false;
  /// `bool feeds_device() const`: whether batches go to a device.
  bool has_feeds_device = false;

  // ---- what it does ----

  /// An order stage that gives the same samples in every epoch, in any order.
  bool fixed_samples = false;
  /// An order stage that mixes sources with weights: names(), weights(), set_weights(), size_in().
  bool mixes = false;
  /// Leaves out samples, by detail::drop().
  bool drops_samples = false;
  /// Gives samples others of their epoch: count(), probability(). The loader makes them.
  bool gathers_others = false;
  /// Keeps samples for later epochs: `find<Item>(context)` returns one or null; frozen().
  bool caches = false;
  /// A cache that may have to wait for one: `open<Item>(source, before)`, `find<Item>(context&, reserved)`,
  /// and an awaitable `ask<Item>(self, source, context, reserved)`.
  bool lookup_suspends = false;
  /// A batching stage that puts several samples into a row.
  bool packs = false;
  /// A batching stage that leaves samples where they are, as group() does: it makes no blocks of memory.
  bool keeps_objects = false;
  slot_phase in_slot = slot_phase::none;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

template <class S>
concept announces_traits =
    requires { requires std::same_as<std::remove_cv_t<decltype(S::traits)>, stage_traits>; };

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

/// A type with a static constexpr member `traits` of type stage_traits. A callable needs none of this: it
/// becomes a stage by itself.
template <class S>
concept stage = detail::announces_traits<std::remove_cvref_t<S>>;

}  // namespace wick::ext

namespace wick::inline v0_1 {
class executor;
}  // namespace wick

namespace wick::inline v0_1::detail {

/// The traits of a stage, or the defaults for any other type.
template <class S>
inline constexpr stage_traits traits_of{};
template <stage S>
inline constexpr stage_traits traits_of<S> = std::remove_cvref_t<S>::traits;

template <class S, stage_kind Kind>
concept stage_of = stage<S> && traits_of<S>.kind == Kind;

/// Whether a stage has the members that its traits announce; the compiler says which is missing.
template <class S>
consteval bool check_traits() {
  constexpr stage_traits t = traits_of<S>;
  constexpr bool label = !t.has_label || requires(const S& s) {
    { s.label() } -> std::convertible_to<std::string_view>;
  };
  constexpr bool fingerprint = !t.has_fingerprint || requires(const S& s) {
    { s.fingerprint() } -> std::convertible_to<std::uint64_t>;
  };
  constexpr bool note = !t.has_note || requires(const S& s) {
    { s.note() } -> std::convertible_to<std::string>;
  };
  constexpr bool attach = !t.has_attach || requires(S& s, executor& on) { s.attach(on); };
  constexpr bool memory = !t.has_slab_memory || requires(S& s) { s.slab_memory(); };
  constexpr bool device = !t.has_feeds_device || requires(const S& s) {
    { s.feeds_device() } -> std::convertible_to<bool>;
  };
  constexpr bool of_batches = t.kind == stage_kind::batch ||
                              !(t.has_slab_memory || t.has_around || t.has_deliver || t.has_feeds_device);
  constexpr bool of_order = t.kind == stage_kind::order || !(t.fixed_samples || t.mixes);
  constexpr bool of_batching = t.kind == stage_kind::batching || !(t.packs || t.keeps_objects);
  static_assert(label,
                "wick: the traits of this stage ('S', in the lines beside this) say has_label; give it "
                "std::string_view label() const");
  static_assert(fingerprint,
                "wick: the traits of this stage ('S', in the lines beside this) say has_fingerprint; give it "
                "std::uint64_t fingerprint() const");
  static_assert(note,
                "wick: the traits of this stage ('S', in the lines beside this) say has_note; give it "
                "std::string note() const");
  static_assert(attach,
                "wick: the traits of this stage ('S', in the lines beside this) say has_attach; give it "
                "void attach(wick::executor&)");
  static_assert(memory,
                "wick: the traits of this stage ('S', in the lines beside this) say has_slab_memory; give it "
                "std::shared_ptr<wick::ext::slab_memory> slab_memory()");
  static_assert(device,
                "wick: the traits of this stage ('S', in the lines beside this) say has_feeds_device; give "
                "it bool feeds_device() const");
  static_assert(
      of_batches,
      "wick: has_slab_memory, has_around, has_deliver, and has_feeds_device are for stages of "
      "batches; write .kind = wick::ext::stage_kind::batch in the traits of this stage ('S', in the "
      "lines beside this)");
  static_assert(
      of_order,
      "wick: fixed_samples and mixes are for order stages; write .kind = wick::ext::stage_kind::order "
      "in the traits of this stage ('S', in the lines beside this)");
  static_assert(of_batching,
                "wick: packs and keeps_objects are for stages that make batches, which are wick's own; leave "
                "them out of the traits of this stage ('S', in the lines beside this)");
  return label && fingerprint && note && attach && memory && device && of_batches && of_order && of_batching;
}

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

/// `size(n)` of an order stage says how many of n positions it leaves. For one epoch, `prepare(n, seed,
/// epoch, stage)` returns a function from its positions to those before it. A worker calls prepare() ahead of
/// the epoch, or the consumer does, perhaps at the same time. All batches of the epoch share the function,
/// and all workers call it. A function that is faster for many positions also has `map(std::uint64_t*
/// positions, std::size_t count)`, which changes them in place. The stage's `fingerprint()` covers the
/// parameters that decide the order, so that a resume with other values is refused.
template <class S>
concept order_stage = detail::stage_of<S, stage_kind::order> && requires(const S& s, std::uint64_t n) {
  { s.size(n) } -> std::convertible_to<std::uint64_t>;
  { s.prepare(n, n, n, std::uint32_t{})(n) } -> std::convertible_to<std::uint64_t>;
};

}  // namespace wick::ext

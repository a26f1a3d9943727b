// A source and its stages as the engine sees them: tables of functions that it calls without their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <wick/async/executor.hpp>
#include <wick/ext/slab_memory.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/written_at.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// The functions of a type of stage; null for those that it doesn't have.
struct stage_functions {
  std::string_view (*name)(const void*) = nullptr;
  std::string (*written)(const void*) = nullptr;
  std::uint64_t (*fingerprint)(const void*) = nullptr;
  std::string (*note)(const void*) = nullptr;
  void (*attach)(void*, executor&) = nullptr;
  std::shared_ptr<slab_memory> (*memory)(void*) = nullptr;
  bool (*feeds_device)(const void*) = nullptr;
  bool has_refresh = false, shards = false;
};

template <class S>
concept says_where_written = requires(const S& s, const written_at*& at) { at = &s.written(); };

template <class S>
struct functions_of_stage {
  static const S& of(const void* s) noexcept { return *static_cast<const S*>(s); }
  static std::string_view name(const void* s) { return detail::stage_name(of(s)); }
  static std::string written(const void* s) { return of(s).written().text(); }
  static std::uint64_t fingerprint(const void* s) { return of(s).fingerprint(); }
  static std::string note(const void* s) { return of(s).note(); }
  static void attach(void* s, executor& on) { static_cast<S*>(s)->attach(on); }
  static std::shared_ptr<slab_memory> memory(void* s) { return static_cast<S*>(s)->slab_memory(); }
  static bool feeds_device(const void* s) { return of(s).feeds_device(); }

  static consteval stage_functions all() {
    constexpr stage_traits t = traits_of<S>;
    stage_functions out{.name = name, .has_refresh = t.has_refresh, .shards = std::is_same_v<S, shard_stage>};
    if constexpr (says_where_written<S>) out.written = written;
    if constexpr (t.has_fingerprint) out.fingerprint = fingerprint;
    if constexpr (t.has_note) out.note = note;
    if constexpr (t.has_attach) out.attach = attach;
    if constexpr (t.has_slab_memory) out.memory = memory;
    if constexpr (t.has_feeds_device) out.feeds_device = feeds_device;
    return out;
  }
  static constexpr stage_functions table = all();
};

struct stage_ref {
  const stage_functions* call = nullptr;
  void* stage = nullptr;
};
template <class S>
stage_ref ref_to(S& s) noexcept {
  return {&functions_of_stage<S>::table, std::addressof(s)};
}

/// The functions of a type of source.
struct source_functions {
  std::uint64_t (*samples)(const void*);
  std::string (*key)(const void*, std::uint64_t index);
  std::uint64_t (*fingerprint)(const void*);
  std::string (*note)(const void*);
  void (*prefetch)(const void*, std::uint64_t index, std::size_t bytes) noexcept;
};

template <class S>
struct functions_of_source {
  static const S& of(const void* s) noexcept { return *static_cast<const S*>(s); }
  static std::uint64_t samples(const void* s) { return detail::samples_of(of(s)); }
  static std::string key(const void* s, std::uint64_t index) { return detail::key_of(of(s), index); }
  static std::uint64_t fingerprint(const void* s) { return detail::fingerprint_of(of(s)); }
  static std::string note(const void* s) { return detail::note_of(of(s)); }
  static void prefetch(const void* s, std::uint64_t index, std::size_t bytes) noexcept {
    detail::prefetch_sample(of(s), index, bytes);
  }
  static constexpr source_functions table{samples, key, fingerprint, note, prefetch};
};

struct source_ref {
  const source_functions* call = nullptr;
  const void* source = nullptr;
};
template <class S>
source_ref ref_to_source(const S& s) noexcept {
  return {&functions_of_source<S>::table, std::addressof(s)};
}

}  // namespace wick::detail

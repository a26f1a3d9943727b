// A loader's state inside a torch archive: one checkpoint file for model, optimizer, and data.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1 {

namespace detail {
// torch::serialize::OutputArchive and InputArchive, without their headers: a program that has an
// archive has included them.
template <class A>
concept output_archive =
    requires(A& a, const std::string& key, const at::Tensor& t) { a.write(key, t, true); };
template <class A>
concept input_archive = requires(A& a, const std::string& key, at::Tensor& t) {
  { a.try_read(key, t, true) } -> std::convertible_to<bool>;
};

/// A copy of the state, as a row of bytes.
at::Tensor tensor_of_state(std::span<const std::byte> state);
/// The state in the tensor that read_state() found under `key`, if any. \throws wick::error as read_state()
/// does
std::vector<std::byte> state_of_tensor(const at::Tensor& saved, bool found, const std::string& key);
}  // namespace detail

/// Writes a state to an archive, as a buffer of bytes named `key`:
/// `wick::write_state(archive, train.state()); archive.save_to("checkpoint.pt");`
template <detail::output_archive Archive>
void write_state(Archive& to, std::span<const std::byte> state, const std::string& key = "wick") {
  to.write(key, detail::tensor_of_state(state), /*is_buffer=*/true);
}

/// Reads the state that write_state() wrote: `train.load_state(wick::read_state(archive))`. load_state()
/// checks it. The archive may have been loaded to a device. \throws wick::error when there is no state under
/// `key`, or the tensor there can't be one
template <detail::input_archive Archive>
std::vector<std::byte> read_state(Archive& from, const std::string& key = "wick") {
  at::Tensor saved;
  bool found = false;
  try {
    found = from.try_read(key, saved, /*is_buffer=*/true);
  } catch (const c10::Error&) {  // another kind of entry; some releases throw, some report none
  }
  return detail::state_of_tensor(saved, found, key);
}

}  // namespace wick

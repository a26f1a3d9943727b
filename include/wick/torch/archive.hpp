/// \file
/// A loader's state inside a torch archive: one checkpoint file for model, optimizer and data.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <wick/resume/state.hpp>
#include <wick/sample/error.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

namespace detail {
// torch::serialize::OutputArchive and InputArchive, without their headers: who has an archive has included
// them.
template <class A>
concept output_archive =
    requires(A& a, const std::string& key, const at::Tensor& t) { a.write(key, t, true); };
template <class A>
concept input_archive = requires(A& a, const std::string& key, at::Tensor& t) {
  { a.try_read(key, t, true) } -> std::convertible_to<bool>;
};
}  // namespace detail

/// Puts a state into an archive, as a buffer of bytes named `key`:
/// `wick::write_state(archive, train.state()); archive.save_to("checkpoint.pt");`
template <detail::output_archive Archive>
void write_state(Archive& to, std::span<const std::byte> state, const std::string& key = "wick") {
  const at::Tensor view =
      at::from_blob(const_cast<std::byte*>(state.data()), {static_cast<std::int64_t>(state.size())},
                    at::TensorOptions().dtype(at::kByte));
  to.write(key, view.clone(), /*is_buffer=*/true);
}

/// What write_state() put there: `train.load_state(wick::read_state(archive))`, which checks it. The archive
/// may have been loaded to a device. \throws wick::error when there is none under `key`, or what is there
/// can't be a state
template <detail::input_archive Archive>
std::vector<std::byte> read_state(Archive& from, const std::string& key = "wick") {
  at::Tensor saved;
  bool found = false;
  try {
    found = from.try_read(key, saved, /*is_buffer=*/true);
  } catch (const c10::Error&) {  // of something else; some releases throw, some say that there is none
  }
  const std::string where = "read_state: the archive's \"" + detail::printable(key) + "\" ";
  if (!found || !saved.defined()) {
    throw error("read_state: the archive has no tensor \"" + detail::printable(key) +
                "\"; give the key that it was written with, or begin the training without a state");
  }
  if (saved.scalar_type() != at::kByte || saved.dim() != 1) {
    throw error(where + "is a tensor of " + std::string(c10::toString(saved.scalar_type())) + " " +
                to_string(detail::shape_of(saved)) +
                ", and a state is a row of bytes; give the key that it was written with");
  }
  if (saved.numel() > static_cast<std::int64_t>(detail::loader_state::max_bytes)) {
    throw error(where + "has " + std::to_string(saved.numel()) + " bytes, and a state has at most " +
                std::to_string(detail::loader_state::max_bytes) + "; give the key that it was written with");
  }
  const at::Tensor row = saved.cpu().contiguous();
  std::vector<std::byte> out(static_cast<std::size_t>(row.numel()));
  if (!out.empty()) std::memcpy(out.data(), row.data_ptr(), out.size());
  return out;
}

}  // namespace wick

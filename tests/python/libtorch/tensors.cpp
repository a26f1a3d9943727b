// Batches of tensors, for torch_tensors.py.
#include <array>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <vector>

#include <torch/version.h>

#include <wick/python/add_loader.hpp>
#include <wick/wick.hpp>

namespace nb = nanobind;

namespace {

using numbers = std::array<float, 3>;

auto rows(std::int64_t count) {
  std::vector<wick::sample<numbers>> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back({{static_cast<float>(i), 1, 2}, i});
  return wick::in_memory(std::move(all));
}

}  // namespace

NB_MODULE(wick_torch_bridge, m) {
  m.attr("libtorch") = TORCH_VERSION;
  wick::python::add_loader(
      m, "rows",
      [](std::int64_t count, std::size_t batch) {
        return rows(count) | wick::shuffle() | wick::batch(batch) | wick::pin();
      },
      nb::arg("count"), nb::arg("batch"));
  wick::python::add_loader(m, "turned", [] {
    return rows(4) | wick::batch(2) | [](wick::tensor_batch b) {
      b.data = b.data.t();
      return b;
    };
  });
  wick::python::add_loader(
      m, "halves",
      [](bool brain) {
        return rows(2) | wick::batch(2) |
               [brain](wick::tensor_batch b) { return b.data.to(brain ? at::kBFloat16 : at::kHalf); };
      },
      nb::arg("brain"));
  wick::python::add_loader(m, "nowhere", [] {
    return rows(2) | wick::batch(2) | [](wick::tensor_batch b) { return b.data.to(at::kMeta); };
  });
  wick::python::add_loader(m, "negated", [] {
    return rows(2) | wick::batch(2) | [](wick::tensor_batch b) { return b.data.slice(1, 1, 3)._neg_view(); };
  });
  // With the address of the numbers.
  wick::python::add_loader(m, "addressed", [] {
    return rows(2) | wick::batch(2) | [](wick::tensor_batch b) {
      const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.data.data_ptr()));
      return wick::sample<at::Tensor, std::int64_t>{b.data, address};
    };
  });
}

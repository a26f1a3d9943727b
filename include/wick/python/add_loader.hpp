// A pipeline as a function of a Python module. The function returns an iterable of batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/python/detail/module_types.hpp>
#include <wick/python/detail/python_loader.hpp>
#include <wick/python/path.hpp>

namespace wick::inline v0_1::detail {

template <class F>
struct call_of;
template <class R, class F, class... A>
struct call_of<R (F::*)(A...) const> {
  using arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <class R, class F, class... A>
struct call_of<R (F::*)(A...)> : call_of<R (F::*)(A...) const> {};
template <class R, class... A>
struct call_of<R (*)(A...)> {
  using arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <class F>
auto arguments_of() {
  if constexpr (std::is_pointer_v<F>)
    return std::type_identity<typename call_of<F>::arguments>();
  else
    return std::type_identity<typename call_of<decltype(&F::operator())>::arguments>();
}

/// The return type of add_loader()'s function: a pipeline, or a std::variant of several.
template <class Pipeline>
struct python_pipeline;
template <class Source, class... S>
struct python_pipeline<pipeline<Source, S...>> {
  using batch = typename pipeline_types<Source, S...>::delivered;
  static python_loader* run(pipeline<Source, S...>&& what, loader_options&& options,
                            python_delivery&& deliver) {
    return new typed_python_loader<batch>(std::move(what), std::move(options), std::move(deliver));
  }
};
template <class... P>
struct python_pipeline<std::variant<P...>> {
  static python_loader* run(std::variant<P...>&& any, loader_options&& options, python_delivery&& deliver) {
    return std::visit(
        [&](auto&& what) {
          return python_pipeline<std::remove_cvref_t<decltype(what)>>::run(
              std::move(what), std::move(options), std::move(deliver));
        },
        std::move(any));
  }
};

}  // namespace wick::detail

namespace wick::inline v0_1::python {

/// Adds the function `name` to a Python module:
///
///     NB_MODULE(my_data, m) {
///       wick::python::add_loader(
///           m, "train",
///           [](const std::string& folder, std::size_t batch) {
///             return wick::image_folder(folder) | wick::shuffle() | wick::read() | wick::decode() |
///                    wick::random_resized_crop(224) | wick::array_batch(batch);
///           },
///           nanobind::arg("folder"), nanobind::arg("batch") = 256);
///     }
///
/// In Python: `for images, labels in my_data.train("photos", seed=42):`. `make` returns a pipeline, or a
/// std::variant of pipelines. Its parameters are those of the Python function, each named by a nanobind::arg.
/// After them, the function takes a loader's options as keywords: seed, workers, io_threads, prefetch,
/// memory, on_error, failure_log, delivery_log, quarantine, and hang_after. It also takes tensors ("torch" or
/// "numpy"; by default "torch" if PyTorch is installed); device, where PyTorch's tensors go ("cpu", "cuda", a
/// torch.device); `into`, a dataclass or another callable that gets each batch; and rank and world_size, by
/// default those of torch.distributed if it is initialized, else ranks().
template <class Make, class... Extra>
void add_loader(nanobind::module_& m, const char* name, Make make, const Extra&... extra) {
  detail::add_module_types(m);
  [&]<class... A>(std::type_identity<std::tuple<A...>>) {
    m.def(
        name,
        [make, name = std::string(name)](
            A... arguments, std::uint64_t seed, std::optional<std::size_t> workers,
            std::optional<std::size_t> io_threads, std::optional<std::size_t> prefetch, std::size_t memory,
            const std::string& on_error, const path& failure_log, const path& delivery_log,
            const std::vector<path>& quarantine, double hang_after, const std::string& tensors,
            const nanobind::object& device, nanobind::object into, std::optional<std::uint64_t> rank,
            std::optional<std::uint64_t> world_size) -> detail::python_loader* {
          detail::python_delivery deliver = detail::delivery_of(tensors, device, std::move(into));
          deliver.name = name;
          detail::ranks_scope ranks(detail::ranks_of_python(rank, world_size));
          auto what = make(std::move(arguments)...);
          deliver.ranks = ranks.taken();
          deliver.by_argument = rank.has_value();
          if (rank && !deliver.ranks)
            throw error(
                "rank=…, world_size=…: this pipeline has no shard(), which would give a rank its share");
          loader_options options{.seed = seed,
                                 .workers = workers,
                                 .nice = deliver.device != nullptr ? std::optional(15) : std::nullopt,
                                 .io_threads = io_threads,
                                 .prefetch = prefetch,
                                 .memory = memory,
                                 .on_error = detail::error_policy(on_error),
                                 .failure_log_file = failure_log.text,
                                 .delivery_log_file = delivery_log.text,
                                 .quarantine = {},
                                 .hang_after = detail::seconds_of(hang_after)};
          for (const path& p : quarantine) options.quarantine.push_back(p.text);
          if (deliver.device != nullptr) options.batch_memory = deliver.device->memory();
          return detail::python_pipeline<decltype(what)>::run(std::move(what), std::move(options),
                                                              std::move(deliver));
        },
        extra..., nanobind::kw_only(), nanobind::arg("seed") = 0, nanobind::arg("workers") = nanobind::none(),
        nanobind::arg("io_threads") = nanobind::none(), nanobind::arg("prefetch") = nanobind::none(),
        nanobind::arg("memory") = loader_options().memory, nanobind::arg("on_error") = "fail",
        nanobind::arg("failure_log") = path(), nanobind::arg("delivery_log") = path(),
        nanobind::arg("quarantine") = std::vector<path>(), nanobind::arg("hang_after") = 120.0,
        nanobind::arg("tensors") = "auto", nanobind::arg("device") = "cpu",
        nanobind::arg("into") = nanobind::none(), nanobind::arg("rank") = nanobind::none(),
        nanobind::arg("world_size") = nanobind::none(), nanobind::rv_policy::take_ownership);
  }(detail::arguments_of<Make>());
}

}  // namespace wick::python

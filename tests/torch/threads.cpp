#include <ATen/Parallel.h>

#include "support/doctest.hpp"
#include <wick/base/detail/cpus.hpp>
#include <wick/torch/threads.hpp>

namespace wick_test::threads_tests {

TEST_CASE("Torch gets the processors that the workers leave, and never none") {
  const int before = at::get_num_threads();
  const std::size_t all = wick::detail::available_cpus();
  {
    wick::executor one(1);
    const std::size_t left = all > 1 ? all - 1 : 1;
    CHECK(wick::limit_torch_threads(one) == left);
    CHECK(static_cast<std::size_t>(at::get_num_threads()) == left);
  }
  {
    wick::executor as_many(all);
    CHECK(wick::limit_torch_threads(as_many) == 1);
    CHECK(at::get_num_threads() == 1);
    CHECK(wick::limit_torch_threads(as_many, 3) == 3);
    CHECK(at::get_num_threads() == 3);
  }
  at::set_num_threads(before);
}

}  // namespace wick_test::threads_tests

#include <stdexcept>
#include <string>
#include <type_traits>

#include "../support/doctest.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/environment.hpp>
#include <wick/pipeline/context.hpp>

namespace wick_test::environment_tests {

using wick::ext::environment;

TEST_CASE("an executor alone is an environment that is never stopped") {
  wick::executor ex(1);
  const environment env = ex;
  CHECK(&env.on() == &ex);
  CHECK_FALSE(env.stop().stop_possible());
}

TEST_CASE("an executor and a token, a scope, and a stage's context are environments") {
  wick::executor ex(1);
  wick::detail::stop_source stop;
  wick::detail::scope s(ex);
  const wick::context c({}, &ex, nullptr, stop.token());
  const environment written{ex, stop.token()}, of_scope = s, of_context = c;
  stop.request_stop();
  CHECK(written.stop().stop_requested());
  CHECK(of_context.stop().stop_requested());
  CHECK(&of_context.on() == &ex);
  CHECK(&of_scope.on() == &ex);
  CHECK_FALSE(of_scope.stop().stop_requested());
  s.request_stop();
  CHECK(of_scope.stop().stop_requested());
  s.wait();
}

TEST_CASE("a context without an executor is refused, with what to do") {
  const wick::context by_hand({});
  std::string text;
  try {
    static_cast<void>(environment(by_hand));
  } catch (const std::logic_error& e) {
    text = e.what();
  }
  CHECK(text.find("wick: this context has no executor") == 0);
  CHECK(text.find("give the context a wick::executor") != std::string::npos);
}

TEST_CASE("copies are the same, and other things are no environment") {
  wick::executor ex(1);
  environment env = ex;
  environment copy = env;  // from a non-const one
  CHECK(&copy.on() == &ex);
  CHECK_FALSE(std::is_convertible_v<int, environment>);
  CHECK_FALSE(std::is_convertible_v<wick::detail::stop_source&, environment>);
}

}  // namespace wick_test::environment_tests

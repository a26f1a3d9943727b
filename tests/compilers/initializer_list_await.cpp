// Pitfall: a co_await in a braced initializer: g++ has crashed on it, evaluated it in another order, and lost
// the temporaries of the list. (What does not even compile is reported by run.py, which compiles this with
// PITFALL defined too.) Way around: variables with names first, then the list.
#include <string>
#include <vector>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

struct word {
  std::string text;
  pitfall::counted here{};
};

int order = 0;
wick::task<word> say(int place, const char* text) {
  if (++order != place) order = 100;
  co_return word{text};
}

wick::task<std::vector<word>> in_statements() {
  const word a = co_await say(1, "one");
  const word b = co_await say(2, "two");
  std::vector<word> both{a, b};
  co_return both;
}

#ifdef PITFALL
wick::task<std::vector<word>> in_braces() {
  std::vector<word> both{co_await say(1, "one"), co_await say(2, "two")};
  co_return both;
}
#endif

template <class F>
bool right(F f) {
  order = 0;
  bool texts = false;
  const bool balanced = pitfall::balanced([&] {
    const auto words = wick::ext::sync_wait(f());
    texts = words.size() == 2 && words[0].text == "one" && words[1].text == "two";
  });
  return balanced && texts && order == 2;
}

}  // namespace

int main() {
  pitfall::expect(right(in_statements), "in statements: in their order, each once");
#ifdef PITFALL
  pitfall::found(!right(in_braces),
                 "in braces: another order, a wrong value, or an object not destroyed once");
#endif
  return pitfall::result();
}

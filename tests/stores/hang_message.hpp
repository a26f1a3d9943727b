// What a loader says of a server that is silent.
#pragma once

#include <chrono>
#include <future>
#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "server.hpp"
#include <wick/loader/loader.hpp>

namespace wick_test {

/// The message of the first batch, which the server keeps waiting until the message is there.
template <class Pipeline>
std::string hang_message(const Pipeline& pipeline, const faulty_server& server) {
  server.pause();
  std::promise<std::string> message;
  wick::loader train(pipeline, {.workers = 1,
                                .prefetch_next_epoch = false,
                                .hang_after = std::chrono::seconds(1),
                                .on_hang = [&](const std::string& text) {
                                  message.set_value(text);
                                  server.resume();
                                }});
  CHECK(message_of([&] { return train.next().has_value(); }) == "");
  auto coming = message.get_future();
  REQUIRE(coming.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  return coming.get();
}

}  // namespace wick_test

// 03: a source and a coroutine stage of your own.
//
// Teaches: any type with size() and at(i) is a source; a stage that has to wait is a coroutine and never
// blocks a worker; it waits for two things at once; it makes no more calls at a time than a server allows; a
// stage object lives as long as the loader, so what it keeps in the first epoch is there in the second.
//
// Each sample is a customer's number. What is known of the customer lies in two slow stores (here files, read
// by a call that blocks); the stage looks it up once and remembers it. A linear model learns the customer's
// score.
//
//   03_coroutine_stage [--customers N] [--epochs N] [--workers N]
//
// Expected:
//   epoch 1: loss …, 4000 look-ups in the stores
//   epoch 2: loss …, 0 look-ups in the stores
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

using facts = std::array<float, 2>;
using features = std::array<float, 4>;

/// A store: a file of fixed records. get() blocks, as a database client would.
class store {
 public:
  store(std::uint64_t customers, std::uint64_t seed) : file_(std::tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("can't make a temporary file");
    for (std::uint64_t i = 0; i < customers; ++i) {
      wick::random_stream random(seed, 0, i, 0);
      facts f;
      for (float& x : f) x = static_cast<float>(random.normal());
      if (std::fwrite(&f, sizeof(f), 1, file_) != 1) throw std::runtime_error("can't write the store");
    }
  }
  ~store() { std::fclose(file_); }
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  facts get(std::uint64_t customer) {
    const std::lock_guard lock(mutex_);
    facts f;
    if (std::fseek(file_, static_cast<long>(customer * sizeof(f)), SEEK_SET) != 0 ||
        std::fread(&f, sizeof(f), 1, file_) != 1) {
      throw std::runtime_error("the store has no customer " + std::to_string(customer));
    }
    ++gets_;
    return f;
  }
  std::uint64_t gets() const { return gets_; }

 private:
  std::FILE* file_;
  std::mutex mutex_;
  std::uint64_t gets_ = 0;
};

/// The source: it knows every sample and reads none.
struct customers {
  std::uint64_t count;
  std::uint64_t size() const { return count; }
  std::uint64_t at(std::uint64_t i) const { return i; }
  std::string key(std::uint64_t i) const { return "customer " + std::to_string(i); }
};

/// The stage. All workers call it at once: what it keeps is guarded, and no lock is held over a co_await.
class look_up {
 public:
  look_up(store& orders, store& visits) : state_(std::make_unique<state>(orders, visits)) {}

  wick::task<wick::sample<features, float>> operator()(std::uint64_t customer, wick::context& context) {
    features found;
    if (!remembered(customer, found)) {
      auto permit = co_await state_->connections.acquire(context);  // the worker does other samples meanwhile
      auto of_orders = context.run_blocking([this, customer] { return state_->orders.get(customer); });
      auto of_visits = context.run_blocking([this, customer] { return state_->visits.get(customer); });
      auto both = co_await wick::when_all(std::move(of_orders), std::move(of_visits));
      const auto& [orders, visits] = both;
      found = {orders[0], orders[1], visits[0], visits[1]};
      remember(customer, found);
    }
    const float score = 0.5f * found[0] - 2.0f * found[1] + found[2] + 0.25f;
    const float noise = 0.01f * static_cast<float>(context.random().normal());
    co_return wick::sample<features, float>{found, score + noise};
  }

 private:
  struct state {
    state(store& o, store& v) : orders(o), visits(v) {}
    store& orders;
    store& visits;
    wick::async_semaphore connections{8};  // what the stores allow at a time
    std::mutex mutex;
    std::unordered_map<std::uint64_t, features> known;
  };
  bool remembered(std::uint64_t customer, features& found) {
    const std::lock_guard lock(state_->mutex);
    const auto it = state_->known.find(customer);
    if (it == state_->known.end()) return false;
    found = it->second;
    return true;
  }
  void remember(std::uint64_t customer, const features& found) {
    const std::lock_guard lock(state_->mutex);
    state_->known.emplace(customer, found);
  }
  std::unique_ptr<state> state_;
};

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "", {{"customers", 2000}, {"epochs", 3}, {"workers", {}}});
  torch::manual_seed(1);
  const auto count = static_cast<std::uint64_t>(args["customers"]);
  store orders(count, 98), visits(count, 99);
  const auto look_ups = [&] { return orders.gets() + visits.gets(); };

  wick::loader train(wick::from(customers{count}) | wick::shuffle() |
                         wick::map("look_up", look_up(orders, visits)) | wick::batch(50),
                     {.seed = 1, .workers = args.count("workers"), .prefetch_next_epoch = false});

  torch::nn::Linear model(4, 1);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1));
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    const std::uint64_t before = look_ups();
    double total = 0;
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      optimizer.zero_grad();
      const auto loss = torch::mse_loss(model->forward(batch.data).squeeze(1), batch.target);
      loss.backward();
      optimizer.step();
      total += loss.item<double>();
    }
    std::printf("epoch %lld: loss %.5f, %llu look-ups in the stores\n", static_cast<long long>(epoch + 1),
                total / static_cast<double>(train.batches()),
                static_cast<unsigned long long>(look_ups() - before));
  }
  std::cout << train.report();
} catch (const std::exception& e) {
  std::cerr << "03_coroutine_stage: " << e.what() << "\n";
  return 1;
}

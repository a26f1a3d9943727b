// 07: what becomes of damaged files, and how the next run leaves them out.
//
// Teaches: on_error says it in one place; every failure has an entry in the failure log and a line of JSON in
// a file; limits end a training that has lost its disk; a quarantine list keeps known bad samples from being
// tried again, with the same batches.
//
//   07_bad_samples FOLDER [--epochs N] [--batch N] [--size N] [--workers N]
//
// FOLDER has a folder of pictures for each class. Writes failures.jsonl and bad.quarantine into the current
// folder.
//
// Expected: a line for each sample that was replaced, with its stage, reason and substitute; then how many of
// what.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER", {{"epochs", 1}, {"batch", 32}, {"size", 64}, {"workers", {}}});
  const int size = static_cast<int>(args["size"]);
  const std::filesystem::path quarantine = "bad.quarantine";
  std::vector<std::string> known;
  if (std::filesystem::exists(quarantine)) known.push_back(quarantine);

  using namespace std::chrono_literals;
  wick::loader train(wick::image_folder(args.positional()) | wick::shuffle() | wick::read() | wick::decode() |
                         wick::random_resized_crop(size) |
                         wick::batch(static_cast<std::size_t>(args["batch"])),
                     {.seed = 42,
                      .workers = args.count("workers"),
                      // Another sample comes in its place, drawn by the seed. Reading is tried three times
                      // more, 100, 200 and 400 ms later. More than 10 % of an epoch, or 100 one after
                      // another, end the training with wick::too_many_errors.
                      .on_error = wick::on_error(wick::on_error::replace, {.rate = 0.1, .consecutive = 100})
                                      .at("read", wick::on_error::retry(3, 100ms)),
                      .failure_log_file = "failures.jsonl",
                      .quarantine = known});

  std::size_t reported = 0;
  for (std::uint64_t epoch = 0; epoch < static_cast<std::uint64_t>(args["epochs"]); ++epoch) {
    std::int64_t samples = 0;
    for (auto& batch : train.epoch(epoch)) samples += batch.target.size(0);
    for (; reported < train.failure_log().entries().size(); ++reported) {
      const wick::failure_log::entry& e = train.failure_log().entries()[reported];
      std::cout << e.key << ": " << e.stage << ": " << e.text << "; in its place: " << e.substitute << "\n";
    }
    std::cout << "epoch " << epoch << ": " << samples << " samples, " << train.failure_log().total()
              << " failures so far\n";
  }
  train.write_quarantine(quarantine);
} catch (const std::exception& e) {
  std::cerr << "07_bad_samples: " << e.what() << "\n";
  return 1;
}

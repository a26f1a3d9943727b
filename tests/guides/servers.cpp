// The code of docs/guides/servers.md. Compiled; a test compares the two.
#include <string>

#include <torch/torch.h>

#include <wick/stores/remote.hpp>
#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void examples(const std::string& token, const std::string& sas_url) {
  wick::loader train(wick::tar("https://data.example.org/train-{000..146}.tar") | wick::shuffle() |
                         wick::read() | wick::decode() | wick::random_resized_crop(224) | wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch;

  wick::loader cached(wick::tar(wick::remote("https://data.example.org/train-{000..146}.tar",
                                             {.headers = {"Authorization: Bearer " + token}})) |
                          wick::shuffle() | wick::read() | wick::cache_on_disk("/var/cache/train") |
                          wick::decode() | wick::random_resized_crop(224) | wick::batch(256),
                      {.seed = 42});
  for (auto& batch : cached.epoch(0)) (void)batch;

  const wick::files pictures(wick::remote("s3://photos/train/**.jpg", {.endpoint = "http://localhost:9000"}));
  (void)pictures;
  const auto blobs = wick::tar(wick::remote("az://data/train-*.tar", {.endpoint = sas_url}));
  (void)blobs;
  const auto shards = wick::tar("hf://datasets/owner/name@v1.0/train-*.tar", {"jpg", "cls"});
  (void)shards;
}

}  // namespace

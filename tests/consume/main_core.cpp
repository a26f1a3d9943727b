// wick without LibTorch: the same loader, with batches in memory of wick's own. Says who decodes what wick
// does not decode itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <wick/core.hpp>

// The smallest baseline JPEG: 8 x 8 gray pixels, all alike. Each Huffman table has one code, a single 0: "the
// average does not differ from the middle", and "no other frequency".
std::string gray_jpeg() {
  std::string out("\xFF\xD8\xFF\xDB\x00\x43\x00", 7);
  out.append(64, '\x01');                                                  // quantization
  out.append("\xFF\xC0\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00", 13);  // frame
  for (const char table : {'\x00', '\x10'}) {
    out.append("\xFF\xC4\x00\x14", 4);
    out += table;
    out += '\x01';
    out.append(16, '\x00');
  }
  out.append("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00", 10);  // scan
  return out.append("\x3F\xFF\xD9", 3);
}

int main() {
  const std::string file = gray_jpeg();

  std::vector<std::int64_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  wick::loader train(wick::in_memory(numbers) |
                     [&](std::int64_t) { return wick::bytes(file.data(), file.size()); } |
                     wick::decode({.mode = wick::color::gray}) | wick::array_batch(128));
  std::int64_t samples = 0, batches = 0;
  bool gray = true;
  for (auto& batch : train.epoch(0)) {
    ++batches;
    samples += static_cast<std::int64_t>(batch.extents()[0]);
    gray = gray && std::all_of(batch.data(), batch.data() + batch.bytes(),
                               [](std::byte level) { return level == std::byte{128}; });
  }
  std::string progressive = file;  // by its header
  progressive[file.find("\xFF\xC0") + 1] = '\xC2';
  std::printf(
      "wick %s: %lld samples in %lld batches, progressive JPEG by %s\n", wick::version,
      static_cast<long long>(samples), static_cast<long long>(batches),
      std::string(wick::ext::codecs().probe(std::as_bytes(std::span(progressive))).decoder->name).c_str());
  return samples == 1000 && gray ? 0 : 1;
}

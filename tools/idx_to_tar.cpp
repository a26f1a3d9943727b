// Writes the pictures of two idx files as PNGs into tar shards, KEY.png beside KEY.cls as WebDataset has
// them.

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include <wick/sources/idx.hpp>

namespace {

constexpr const char* help =
    R"(Usage: idx_to_tar IMAGES LABELS OUT_PREFIX [--shards N]

Writes the pictures of an idx file (MNIST, Fashion-MNIST; plain or gzip-compressed) as gray PNGs into tar shards,
each with its label as text: 0000042.png, 0000042.cls. The same input always gives the same bytes.

  IMAGES      idx file of [N, height, width] uint8
  LABELS      idx file of [N] integers
  OUT_PREFIX  shards are OUT_PREFIX-000000.tar, OUT_PREFIX-000001.tar, …; the folder is made if need be
  --shards N  spread the samples over N shards, in order (default 1, at most 1000000)
  -h, --help  print this

Each shard is written as OUT_PREFIX-NNNNNN.tar.tmp and renamed when all of it is there; one that exists is replaced.
Read them back with: wick::tar("OUT_PREFIX-*.tar")
)";

struct arguments {
  std::string images, labels, prefix;
  std::uint64_t shards = 1;
};

/// Wrong use of the command line: exit code 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

arguments parse(const std::vector<std::string_view>& given) {
  arguments out;
  std::vector<std::string> names;
  bool options = true;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string_view a = given[i];
    if (!options || !a.starts_with('-') || a == "-") {
      names.emplace_back(a);
    } else if (a == "--") {
      options = false;
    } else if (a == "--shards" || a.starts_with("--shards=")) {
      if (a == "--shards" && i + 1 == given.size()) throw usage_error("--shards needs a number");
      const std::string_view number = a == "--shards" ? given[++i] : a.substr(9);
      const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), out.shards);
      if (code != std::errc() || end != number.data() + number.size() || out.shards < 1 ||
          out.shards > 1'000'000) {
        throw usage_error("--shards is a number from 1 to 1000000, found \"" +
                          wick::detail::printable(number) + "\"");
      }
    } else {
      throw usage_error("unknown option \"" + wick::detail::printable(a) + "\"");
    }
  }
  if (names.size() != 3) {
    throw usage_error("IMAGES, LABELS and OUT_PREFIX are needed, found " + std::to_string(names.size()) +
                      " names");
  }
  out.images = names[0], out.labels = names[1], out.prefix = names[2];
  return out;
}

/// Encodes gray 8-bit pictures of one size. PNG specification, W3C, third edition.
class png_encoder {
 public:
  png_encoder(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {
    if (::deflateInit(&z_, Z_DEFAULT_COMPRESSION) != Z_OK)
      throw wick::error("zlib cannot start (out of memory?)");
  }
  png_encoder(const png_encoder&) = delete;
  png_encoder& operator=(const png_encoder&) = delete;
  ~png_encoder() { ::deflateEnd(&z_); }

  const std::string& encode(const std::uint8_t* pixels) {
    filter(pixels);
    ::deflateReset(&z_);
    packed_.resize(::deflateBound(&z_, filtered_.size()));
    z_.next_in = filtered_.data();
    z_.avail_in = static_cast<uInt>(filtered_.size());
    z_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    z_.avail_out = static_cast<uInt>(packed_.size());
    if (::deflate(&z_, Z_FINISH) != Z_STREAM_END) throw wick::error("zlib cannot compress a picture");
    packed_.resize(z_.total_out);

    out_ = "\x89PNG\r\n\x1A\n";
    chunk("IHDR", big_endian(width_) + big_endian(height_) + std::string("\x08\0\0\0\0", 5));  // 8 bits, gray
    chunk("IDAT", packed_);
    chunk("IEND", {});
    return out_;
  }

 private:
  /// Each row as itself, or as differences to the left or above: whichever has the least sum of absolute
  /// values.
  void filter(const std::uint8_t* pixels) {
    filtered_.clear();
    std::vector<std::uint8_t> best, row(width_);
    for (std::uint32_t y = 0; y < height_; ++y, pixels += width_) {
      std::uint64_t least = ~std::uint64_t{0};
      std::uint8_t kind = 0;
      for (std::uint8_t k = 0; k < 3; ++k) {  // none, sub, up
        std::uint64_t sum = 0;
        for (std::uint32_t x = 0; x < width_; ++x) {
          const int before = k == 1 && x > 0   ? pixels[x - 1]
                             : k == 2 && y > 0 ? pixels[static_cast<std::ptrdiff_t>(x) - width_]
                                               : 0;
          row[x] = static_cast<std::uint8_t>(pixels[x] - before);
          sum += static_cast<std::uint64_t>(row[x] < 128 ? row[x] : 256 - row[x]);
        }
        if (sum < least) least = sum, kind = k, best = row;
      }
      filtered_.push_back(kind);
      filtered_.insert(filtered_.end(), best.begin(), best.end());
    }
  }

  static std::string big_endian(std::uint32_t v) {
    return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
            static_cast<char>(v)};
  }

  void chunk(std::string_view type, std::string_view data) {
    out_ += big_endian(static_cast<std::uint32_t>(data.size()));
    const std::size_t first = out_.size();
    out_.append(type).append(data);
    out_ += big_endian(static_cast<std::uint32_t>(::crc32(
        0, reinterpret_cast<const Bytef*>(out_.data() + first), static_cast<uInt>(out_.size() - first))));
  }

  std::uint32_t width_, height_;
  ::z_stream z_{};
  std::vector<std::uint8_t> filtered_;
  std::string packed_, out_;
};

/// One ustar archive. It has its name only after finish().
class shard_writer {
 public:
  explicit shard_writer(std::string path)
      : path_(std::move(path)), out_(path_ + ".tmp", std::ios::binary | std::ios::trunc) {
    if (!out_)
      throw wick::error(wick::detail::printable(path_) +
                        ".tmp: cannot be created; may you write to that folder?");
  }
  shard_writer(const shard_writer&) = delete;
  shard_writer& operator=(const shard_writer&) = delete;
  ~shard_writer() {
    if (finished_) return;
    out_.close();
    std::error_code ignored;
    std::filesystem::remove(path_ + ".tmp", ignored);
  }

  /// No owner and no time, so that the same samples are the same bytes.
  void add(std::string_view name, std::string_view content) {
    std::array<char, 512> header{};
    std::snprintf(header.data(), 100, "%.*s", static_cast<int>(name.size()), name.data());
    std::snprintf(header.data() + 100, 412, "0000644%c0000000%c0000000%c%011llo%c00000000000%c        0", 0,
                  0, 0, static_cast<unsigned long long>(content.size()), 0, 0);
    std::snprintf(header.data() + 257, 9, "ustar%c00", 0);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(header.data() + 148, 8, "%06o", sum);
    out_.write(header.data(), 512);
    out_.write(content.data(), static_cast<std::streamsize>(content.size()));
    pad((512 - content.size() % 512) % 512);
  }

  void finish() {
    pad(1024);
    out_.close();
    if (!out_)
      throw wick::error(wick::detail::printable(path_) + ".tmp: cannot be written; is the disk full?");
    std::filesystem::rename(path_ + ".tmp", path_);
    finished_ = true;
  }

 private:
  void pad(std::size_t count) {
    static constexpr std::array<char, 1024> zeros{};
    out_.write(zeros.data(), static_cast<std::streamsize>(count));
  }

  std::string path_;
  std::ofstream out_;
  bool finished_ = false;
};

std::string shard_path(const std::string& prefix, std::uint64_t shard) {
  char number[32];
  std::snprintf(number, sizeof number, "-%06llu.tar", static_cast<unsigned long long>(shard));
  return prefix + number;
}

void convert(const arguments& args) {
  const wick::idx source(args.images, args.labels);
  const wick::detail::row_format& format = source.format();
  if (format.type != wick::dtype::uint8 || format.extents.rank() != 2) {
    throw wick::error(wick::detail::printable(args.images) + ": rows are " + wick::to_string(format.extents) +
                      " " + std::string(wick::to_string(format.type)) +
                      "; gray pictures are [height, width] uint8");
  }
  if (args.shards > source.size()) {
    throw wick::error("--shards " + std::to_string(args.shards) + " is more than the " +
                      std::to_string(source.size()) + " samples");
  }
  const std::filesystem::path folder = std::filesystem::path(args.prefix).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  // A pattern over the prefix would take in what an earlier run left.
  if (const std::string more = shard_path(args.prefix, args.shards); std::filesystem::exists(more)) {
    throw wick::error(wick::detail::printable(more) +
                      ": is left from a run with more shards; remove it first");
  }

  png_encoder png(static_cast<std::uint32_t>(format.extents[1]),
                  static_cast<std::uint32_t>(format.extents[0]));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::uint64_t bytes = 0;
  for (std::uint64_t s = 0, i = 0; s < args.shards; ++s) {
    shard_writer shard(shard_path(args.prefix, s));
    const std::uint64_t end = (s + 1) * source.size() / args.shards;
    for (; i < end; ++i) {
      char key[32];
      std::snprintf(key, sizeof key, "%07llu", static_cast<unsigned long long>(i));
      const auto sample = source.at(i);
      const std::string& picture = png.encode(sample.data.as<std::uint8_t>());
      shard.add(std::string(key) + ".png", picture);
      shard.add(std::string(key) + ".cls", std::to_string(sample.target));
      bytes += picture.size();
      if (terminal && i % 1000 == 0) {
        std::fprintf(stderr, "\r%llu of %llu pictures", static_cast<unsigned long long>(i),
                     static_cast<unsigned long long>(source.size()));
      }
    }
    shard.finish();
  }
  if (terminal) std::fputs("\r\x1B[K", stderr);
  std::printf("%llu pictures, %.1f MB of PNG, in %s%s%s\n", static_cast<unsigned long long>(source.size()),
              static_cast<double>(bytes) / 1e6, shard_path(args.prefix, 0).c_str(),
              args.shards > 1 ? " … " : "",
              args.shards > 1 ? shard_path(args.prefix, args.shards - 1).c_str() : "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> given(argv + 1, argv + argc);
  for (const std::string_view a : given) {
    if (a == "--") break;
    if (a == "-h" || a == "--help") return std::fputs(help, stdout) < 0;
  }
  try {
    convert(parse(given));
    return 0;
  } catch (const usage_error& e) {
    std::fprintf(stderr, "idx_to_tar: %s; see idx_to_tar --help\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "idx_to_tar: %s\n", e.what());
    return 1;
  }
}

// A pipeline as a plain loop: each position of an epoch, one after the other, through the stages, with no
// engine, no workers, and no cache. A loader of the same pipeline must deliver the same rows, byte for byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/picture.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include "support/tf_record.hpp"
#include <wick/core.hpp>

namespace random_pipelines {

// ---- parameters that are drawn while a program runs ----

struct params {
  std::uint64_t samples = 0, batch = 1, seed = 0, epoch = 0;
  bool drop_last = false, pad_last = false;
  std::uint64_t damaged = 0;   ///< one sample in so many fails; 0: none
  std::uint64_t filtered = 0;  ///< one sample in so many is filtered
  std::uint64_t take = 0, skip = 0;
  std::uint64_t ranks = 1;
  std::string folder;

  wick::batch_options batching() const { return {.drop_last = drop_last, .pad_last = pad_last}; }
  std::string text() const {
    std::ostringstream out;
    out << samples << " samples, batches of " << batch << (drop_last ? ", drop_last" : "")
        << (pad_last ? ", pad_last" : "") << ", seed " << seed << ", epoch " << epoch << ", one in "
        << damaged << " fails, one in " << filtered << " is filtered, take " << take << ", skip " << skip
        << ", " << ranks << " ranks";
    return out.str();
  }
};

inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// ---- items ----

using cell = wick::sample<std::array<float, 3>>;
using text = wick::sample<std::vector<std::int64_t>>;
using photo = wick::sample<wick::image>;
using scene = wick::sample<wick::image, wick::mask>;
using boxed = wick::sample<wick::image, wick::boxes>;

/// Plain structs, nested.
struct inner {
  std::array<std::int32_t, 2> pair;
  float weight;
};
struct outer {
  inner first;
  std::vector<float> values;
  std::int64_t label;
};

inline cell make_cell(std::uint64_t i) {
  return {{static_cast<float>(i), static_cast<float>(mixed(i) % 1000), -1.0f}, static_cast<std::int64_t>(i)};
}
inline text make_text(std::uint64_t i) {
  text out{{}, static_cast<std::int64_t>(i)};
  for (std::uint64_t k = 0; k < mixed(i) % 6; ++k) out.data.push_back(static_cast<std::int64_t>(i * 10 + k));
  return out;
}
inline photo make_photo(std::uint64_t i) {
  return {wick_test::photo(9 + static_cast<int>(i % 5), 8 + static_cast<int>(i % 3), 3, i),
          static_cast<std::int64_t>(i)};
}
/// Not as many numbers as colors, so that one that was blended is another number.
inline wick::image make_numbers(std::uint64_t i) {
  const photo of = make_photo(i);
  wick::image out = wick_test::flat(of.data.width(), of.data.height(), 1, 0);
  for (int y = 0; y < out.height(); ++y)
    for (int x = 0; x < out.width(); ++x)
      out.row(y)[x] =
          static_cast<std::uint8_t>(50 * (mixed(i * 31 + static_cast<unsigned>(y / 2 * 8 + x / 2)) % 5));
  return out;
}
inline scene make_scene(std::uint64_t i) { return {make_photo(i).data, wick::mask(make_numbers(i))}; }
inline boxed make_boxed(std::uint64_t i) {
  boxed out{make_photo(i).data, {}};
  for (std::uint64_t k = 0; k < mixed(i) % 4; ++k) {
    const auto left = static_cast<float>(k), size = static_cast<float>(2 + mixed(i + k) % 4);
    out.target.xyxy.push_back({left, 1, left + size, 1 + size});
    out.target.labels.push_back(static_cast<std::int64_t>(k));
  }
  return out;
}
inline outer make_outer(std::uint64_t i) {
  outer out{
      {{static_cast<std::int32_t>(i), 7}, 0.5f * static_cast<float>(i)}, {}, static_cast<std::int64_t>(i)};
  for (std::uint64_t k = 0; k < mixed(i) % 4; ++k) out.values.push_back(static_cast<float>(k + i));
  return out;
}

template <class Item, Item (*Make)(std::uint64_t)>
struct made {
  std::uint64_t n;
  std::uint64_t size() const { return n; }
  Item at(std::uint64_t i) const { return Make(i); }
};
using cells = made<cell, make_cell>;
using texts = made<text, make_text>;
using photos = made<photo, make_photo>;
using outers = made<outer, make_outer>;
using scenes = made<scene, make_scene>;
using many_boxed = made<boxed, make_boxed>;
inline std::vector<std::uint32_t> lengths_of_texts(const params& p) {
  std::vector<std::uint32_t> out;
  for (std::uint64_t i = 0; i < p.samples; ++i)
    out.push_back(static_cast<std::uint32_t>(make_text(i).data.size()));
  return out;
}

// ---- sources in files ----

inline wick_test::fs::path in(const params& p, const char* name) {
  return wick_test::fs::path(p.folder) / name;
}

/// The pipeline is made many times, while other loaders read the files.
inline wick_test::fs::path write_once(const wick_test::fs::path& path, std::string_view content) {
  return wick_test::fs::exists(path) ? path : wick_test::write_file(path, content);
}
struct bytes_of_cell {
  std::array<float, 4> values;
};
inline auto cell_records(const params& p) {
  std::string all;
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const float values[4] = {static_cast<float>(i), static_cast<float>(mixed(i) % 1000), 2, 3};
    all.append(reinterpret_cast<const char*>(values), sizeof values);
  }
  return wick::records<bytes_of_cell>(wick::files({write_once(in(p, "cells.bin"), all).string()}));
}
inline std::string line_of(std::uint64_t i) {
  std::string out = std::to_string(i);
  for (const std::int64_t v : make_text(i).data) out += ' ' + std::to_string(v);
  return out;
}
inline auto text_lines(const params& p) {
  std::string all;
  for (std::uint64_t i = 0; i < p.samples; ++i) all += line_of(i) + '\n';
  return wick::lines({write_once(in(p, "lines.txt"), all).string()});
}
/// The numbers of a line; the first one is the label.
struct parse_line {
  text operator()(std::string_view line) const {
    text out;
    std::istringstream from{std::string(line)};
    from >> out.target;
    for (std::int64_t v = 0; from >> v;) out.data.push_back(v);
    return out;
  }
};
inline auto photo_files(const params& p) {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const photo one = make_photo(i);
    std::string encoded = i % 2 != 0 ? wick_test::encode_png(one.data) : wick_test::encode_bmp(one.data);
    if (p.damaged != 0 && mixed(i + 99) % p.damaged == 0) encoded.resize(encoded.size() / 3);
    paths.push_back(write_once(in(p, "photos") / (std::to_string(i) + ".img"), encoded).string());
  }
  return wick::files(paths);
}
/// A picture and its mask, each a file.
inline auto scene_files(const params& p) {
  std::vector<std::string> pictures, masks;
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const std::string name = std::to_string(i) + ".png";
    std::string encoded = wick_test::encode_png(make_numbers(i));
    if (p.damaged != 0 && mixed(i + 97) % p.damaged == 0) encoded.resize(encoded.size() / 3);
    pictures.push_back(
        write_once(in(p, "pictures") / name, wick_test::encode_png(make_photo(i).data)).string());
    masks.push_back(write_once(in(p, "masks") / name, encoded).string());
  }
  return wick::zip(wick::files(pictures), wick::files(masks));
}
inline auto photo_folder(const params& p) {
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const std::string name = (i % 3 != 0 ? "a/" : "b/") + std::to_string(1000 + i) + ".png";
    std::string encoded = wick_test::encode_png(make_photo(i).data);
    if (p.damaged != 0 && mixed(i + 98) % p.damaged == 0) encoded.resize(encoded.size() / 3);
    write_once(in(p, "folder") / name, encoded);
  }
  return wick::image_folder(in(p, "folder").string());
}
inline std::string shard_of_photos(const params& p) {
  wick_test::tar_writer out;
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const std::string key = std::to_string(1000 + i);
    out.add(key + ".png", wick_test::encode_png(make_photo(i).data)).add(key + ".cls", std::to_string(i % 7));
  }
  return write_once(in(p, "photos.tar"), out.done()).string();
}
inline auto photo_shard(const params& p) {
  return wick::tar(wick::shard_list(shard_of_photos(p)), {"png", "cls"});
}
inline auto member_shard(const params& p) {
  wick_test::tar_writer out;
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    const std::string key = std::to_string(1000 + i);
    out.add(key + ".txt", line_of(i)).add(key + ".cls", std::to_string(i % 7));
  }
  return wick::tar(wick::shard_list(write_once(in(p, "members.tar"), out.done()).string()), {"txt", "cls"});
}
/// A text and a class, as the members of a sample in a shard.
struct parse_members {
  text operator()(const wick::record<wick::bytes>& r) const { return parse_line{}(std::string_view(r[0])); }
};
inline auto framed_texts(const params& p) {
  std::string all;
  for (std::uint64_t i = 0; i < p.samples; ++i) all += wick_test::tf_record(line_of(i));
  return wick::tfrecords(wick::files({write_once(in(p, "texts.tfrecord"), all).string()}));
}
inline auto token_chunks(const params& p) {
  std::string all;
  for (std::uint64_t i = 0; i < p.samples * 3 + 1; ++i) {
    const auto t = static_cast<std::uint16_t>(mixed(i) % 5000 + 1);
    all.append(reinterpret_cast<const char*>(&t), sizeof t);
  }
  return wick::tokens({write_once(in(p, "tokens.bin"), all).string()}) | wick::chunks(3);
}
inline std::string big_endian(std::uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
          static_cast<char>(v)};
}
inline auto idx_files(const params& p) {
  const auto n = static_cast<std::uint32_t>(p.samples);
  std::string data = std::string("\0\0\x08\x03", 4) + big_endian(n) + big_endian(4) + big_endian(5);
  std::string labels = std::string("\0\0\x08\x01", 4) + big_endian(n);
  for (std::uint64_t i = 0; i < p.samples; ++i) {
    for (std::uint64_t k = 0; k < 20; ++k) data += static_cast<char>(mixed(i * 20 + k));
    labels += static_cast<char>(i % 10);
  }
  return wick::idx(write_once(in(p, "data.idx"), data).string(),
                   write_once(in(p, "labels.idx"), labels).string());
}
inline auto npy_file(const params& p) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(p.samples) + ", 3), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string all = std::string("\x93NUMPY\x01\x00", 8) + wick_test::little_endian(header.size(), 2) + header;
  for (std::uint64_t i = 0; i < p.samples * 3; ++i) {
    const float v = static_cast<float>(mixed(i) % 100000);
    all.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  return wick::npy(write_once(in(p, "x.npy"), all).string());
}
inline auto safetensors_file(const params& p) {
  const std::size_t bytes = p.samples * 3 * sizeof(float);
  std::string header = R"({"x":{"dtype":"F32","shape":[)" + std::to_string(p.samples) +
                       R"(,3],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  while (header.size() % 8 != 0) header += ' ';
  std::string all = wick_test::little_endian(header.size(), 8) + header;
  for (std::uint64_t i = 0; i < p.samples * 3; ++i) {
    const float v = static_cast<float>(mixed(i) % 100000);
    all.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  return wick::safetensors(write_once(in(p, "x.safetensors"), all).string(), "x");
}

// ---- stages ----

/// In a pipeline without a cache, in the cache's place.
struct same {
  template <class Item>
  Item operator()(Item item) const {
    return item;
  }
};
/// Some samples fail, always the same.
struct fails {
  std::uint64_t one_in;
  template <class Item>
  Item operator()(Item item, wick::context& c) const {
    if (one_in != 0 && mixed(c.index() + 5) % one_in == 0) throw wick::error("damaged");
    return item;
  }
};
struct keeps {
  std::uint64_t one_in;
  template <class Item>
  bool operator()(const Item&, wick::context& c) const {
    return one_in == 0 || mixed(c.index() + 6) % one_in != 0;
  }
};
/// Fails after it has suspended, which a stage that reads does.
struct waits {
  std::uint64_t one_in;
  template <class Item>
  wick::task<Item> operator()(Item item, wick::context& c) const {
    if (c.on() != nullptr) co_await c.on()->schedule();
    if (one_in != 0 && mixed(c.index() + 7) % one_in == 0) throw wick::error("damaged while it waited");
    co_return std::move(item);
  }
};
/// Whether this thread runs plain loops. Their noise comes from a stream of their own, keyed by seed, epoch,
/// position, and stage, so that a loader that keys its own otherwise differs.
inline bool& in_plain_loop() {
  thread_local bool runs = false;
  return runs;
}
struct noise {
  template <class Item>
  void operator()(Item& x, wick::context& c) const {
    if (in_plain_loop()) {
      wick::random_stream own(c.seed(), c.epoch(), c.position(), c.stage());
      add(x, own);
    } else {
      add(x, c.random());
    }
  }

 private:
  static void add(cell& x, wick::random_stream& random) {
    x.data[2] += static_cast<float>(random.below(1000));
  }
  static void add(text& x, wick::random_stream& random) {
    for (std::int64_t& v : x.data) v += static_cast<std::int64_t>(random.below(3));
  }
  static void add(outer& x, wick::random_stream& random) {
    x.first.weight += static_cast<float>(random.below(9));
  }
};
struct doubled {
  void operator()(cell& x) const { x.data[1] *= 2; }
  void operator()(text& x) const { x.target *= 2; }
  void operator()(outer& x) const { x.first.pair[1] *= 2; }
};
struct with_counter {
  template <class Item>
  Item operator()(std::uint64_t& calls, Item item) const {
    ++calls;
    return item;
  }
};
/// After batch(): the first byte of each element of the arrays.
struct marked {
  template <class Batch>
  Batch operator()(Batch batch) const {
    mark(batch);
    return batch;
  }

 private:
  template <class T>
  static void mark(T& x) {
    if constexpr (std::is_same_v<T, wick::array>) {
      const std::size_t size = wick::detail::size_of(x.type());
      for (std::int64_t i = 0; i < x.extents().count(); ++i)
        x.data()[static_cast<std::size_t>(i) * size] ^= std::byte{1};
    } else if constexpr (wick::detail::composite<T>) {  // not the keys of with_index()
      wick::detail::for_each_inside(x, [](auto& each) { mark(each); });
    }
  }
};
struct joined {
  cell operator()(cell own, std::vector<cell>& others) const {
    for (const cell& o : others) own.data[0] = own.data[0] * 100 + o.data[0];
    return own;
  }
};

// ---- rows ----

template <class T>
void add_raw(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void add_row(std::string& to, const T& batch, std::size_t row);

/// The elements of a row, in C's order, whatever the strides.
inline void add_elements(std::string& to, const wick::array& a, std::size_t row, std::int64_t most = -1) {
  const std::size_t size = wick::detail::size_of(a.type());
  const auto copy = [&](const auto& self, std::size_t dimension, std::int64_t at) -> void {
    if (dimension == a.extents().rank()) {
      to.append(reinterpret_cast<const char*>(a.data()) + static_cast<std::size_t>(at) * size, size);
      return;
    }
    const std::int64_t n =
        dimension == 1 && most >= 0 ? std::min(most, a.extents()[1]) : a.extents()[dimension];
    for (std::int64_t i = 0; i < n; ++i) self(self, dimension + 1, at + i * a.strides()[dimension]);
  };
  copy(copy, 1, static_cast<std::int64_t>(row) * a.strides()[0]);
}

/// A tensor of Torch's, which this file doesn't include.
template <class T>
concept tensor = requires(const T& t) { t.contiguous().nbytes(), t.size(0); };
template <class T>
concept padded_tensors = requires(const T& t) { t.values, t.lengths.contiguous().nbytes(); };
template <class T>
concept jagged_tensors = requires(const T& t) { t.values, t.offsets.contiguous().nbytes(); };

template <class T>
void add_value(std::string& to, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    add_raw(to, value);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, wick::bytes>) {
    add_raw(to, std::uint64_t{value.size()});
    to.append(reinterpret_cast<const char*>(value.data()), value.size());
  } else if constexpr (std::is_same_v<T, wick::image>) {
    add_raw(to, value.width());
    add_raw(to, value.height());
    for (int y = 0; y < value.height(); ++y)
      to.append(reinterpret_cast<const char*>(value.row(y)),
                static_cast<std::size_t>(value.width()) * static_cast<std::size_t>(value.channels()));
  } else if constexpr (std::is_same_v<T, wick::mask>) {
    add_value(to, value.pixels());
  } else if constexpr (std::is_same_v<T, wick::boxes>) {
    add_value(to, value.xyxy);
    add_value(to, value.labels);
    add_value(to, value.visible);
  } else if constexpr (std::is_same_v<T, wick::memory_view>) {
    to.append(reinterpret_cast<const char*>(value.data()),
              static_cast<std::size_t>(value.extents().count()) * wick::detail::size_of(value.type()));
  } else if constexpr (wick::detail::container_like<T>) {
    add_raw(to, std::uint64_t{value.size()});
    for (const auto& each : value) add_value(to, each);
  } else {
    wick::detail::for_each_inside(value, [&](const auto& each) { add_value(to, each); });
  }
}
template <class T>
void add_row(std::string& to, const T& batch, std::size_t row) {
  if constexpr (std::is_same_v<T, wick::array>) {
    add_elements(to, batch, row);
  } else if constexpr (tensor<T>) {
    const auto one = batch.select(0, static_cast<std::int64_t>(row)).contiguous();
    to.append(static_cast<const char*>(one.data_ptr()), one.nbytes());
  } else if constexpr (padded_tensors<T>) {
    const std::int64_t length = batch.lengths.template data_ptr<std::int64_t>()[row];
    add_raw(to, length);
    const auto one = batch.values.select(0, static_cast<std::int64_t>(row)).narrow(0, 0, length).contiguous();
    to.append(static_cast<const char*>(one.data_ptr()), one.nbytes());
  } else if constexpr (jagged_tensors<T>) {
    const std::int64_t* ends = batch.offsets.template data_ptr<std::int64_t>() + row;
    add_raw(to, ends[1] - ends[0]);
    const auto own = batch.values.narrow(0, ends[0], ends[1] - ends[0]).contiguous();
    to.append(static_cast<const char*>(own.data_ptr()), own.nbytes());
  } else if constexpr (requires { batch.values, batch.lengths; }) {
    std::int64_t length = 0;
    std::memcpy(&length, batch.lengths.data() + row * sizeof length, sizeof length);
    add_raw(to, length);
    add_elements(to, batch.values, row, length);
  } else if constexpr (requires { batch.values, batch.offsets; }) {
    std::int64_t ends[2];
    std::memcpy(ends, batch.offsets.data() + row * sizeof ends[0], sizeof ends);
    add_raw(to, ends[1] - ends[0]);
    for (std::int64_t i = ends[0]; i < ends[1]; ++i)
      add_elements(to, batch.values, static_cast<std::size_t>(i));
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    add_value(to, batch[row]);
  } else if constexpr (wick::detail::container_like<T>) {
    add_value(to, batch[row]);
  } else {
    wick::detail::for_each_inside(batch, [&](const auto& each) { add_row(to, each, row); });
  }
}
template <class T>
std::size_t rows_of(const T& batch) {
  if constexpr (std::is_same_v<T, wick::array>) {
    return static_cast<std::size_t>(batch.extents()[0]);
  } else if constexpr (tensor<T>) {
    return static_cast<std::size_t>(batch.size(0));
  } else if constexpr (requires { batch.values, batch.lengths; }) {
    return rows_of(batch.lengths);
  } else if constexpr (requires { batch.values, batch.offsets; }) {
    return rows_of(batch.offsets) - 1;
  } else if constexpr (wick::detail::container_like<T>) {
    return batch.size();
  } else {
    std::optional<std::size_t> n;
    wick::detail::for_each_inside(batch, [&](const auto& each) {
      const std::size_t here = rows_of(each);
      if (n && *n != here) throw std::runtime_error("columns of a batch have different numbers of rows");
      n = here;
    });
    return n.value_or(0);
  }
}

using rows = std::vector<std::string>;

struct epoch_of {
  std::vector<rows> batches;          ///< without batch(): one, of all samples
  std::vector<std::string> failures;  ///< "position stage", sorted
  bool empty = true;                  ///< no sample was kept, on any rank
};

// ---- the plain loop ----

/// Applies a stage that suspends.
template <class S, class Item>
wick::task<wick::detail::next_item<S, Item>> applied(S* s, Item item, wick::context* c) {
  using how = wick::detail::application<S, Item>;
  using next = typename how::type;
  auto prepared = how::prepare(std::move(item));
  auto operation = wick::detail::call(*s, how::argument(prepared), *c);
  if constexpr (std::is_void_v<wick::detail::value_once_awaited_t<typename how::raw>>) {
    co_await std::move(operation);
    co_return next(std::move(prepared));
  } else {
    auto result = co_await std::move(operation);
    co_return wick::detail::rebuild<next>(std::move(prepared), std::move(result));
  }
}

template <class Pipeline>
struct plain_loop;
template <class Source, class... S>
struct plain_loop<wick::pipeline<Source, S...>> {
  using types = wick::detail::pipeline_types<Source, S...>;
  wick::pipeline<Source, S...>& p;
  wick::executor* on;

  template <std::size_t I = 0>
  void refresh() {
    if constexpr (I < types::order_end) {
      auto& s = wick::detail::get_stage<I>(p.stages);
      if constexpr (wick::detail::traits_of<decltype(s)>.has_refresh) {
        if constexpr (requires { s.refresh(std::as_const(p.origin)); })
          s.refresh(std::as_const(p.origin));
        else
          s.refresh();
      }
      refresh<I + 1>();
    }
  }
  template <std::size_t I = 0>
  std::uint64_t size_after(std::uint64_t n) const {
    if constexpr (I == types::order_end)
      return n;
    else
      return size_after<I + 1>(wick::detail::get_stage<I>(p.stages).size(n));
  }
  /// The index in the source of a position after I order stages, of n there were before each.
  template <std::size_t I>
  std::uint64_t index_of(std::uint64_t position, std::uint64_t seed, std::uint64_t epoch) const {
    if constexpr (I == 0) {
      return position;
    } else {
      std::uint64_t before = p.origin.size();
      [&]<std::size_t... J>(std::index_sequence<J...>) {
        ((before = wick::detail::get_stage<J>(p.stages).size(before)), ...);
      }(std::make_index_sequence<I - 1>{});
      const auto f = wick::detail::get_stage<I - 1>(p.stages).prepare(before, seed, epoch,
                                                                      static_cast<std::uint32_t>(I - 1));
      return index_of<I - 1>(f(position), seed, epoch);
    }
  }
  template <std::size_t I, class Item>
  static wick::task<std::string> through(plain_loop* self, Item item, wick::context* c) {
    c->enter(static_cast<std::uint32_t>(I));
    std::string out;
    if constexpr (I == types::size && types::batched) {
      add_row(out, item, 0);
      co_return std::move(out);
    } else if constexpr (I == types::size) {
      const auto whole = wick::detail::materialized<Item>::make(std::move(item));
      add_value(out, whole);
      co_return std::move(out);
    } else if constexpr (I == types::batching) {
      auto& batching = wick::detail::get_stage<I>(self->p.stages);
      typename types::columns one;
      one.begin(
          1, batching.order(),
          std::make_shared<wick::detail::slab_pool>(std::make_shared<wick::detail::host_slab_memory>(), 1));
      one.put(0, std::move(item));
      one.seal(1);
      wick::task<std::string> rest = through<I + 1>(self, one.finish(1), c);
      out = co_await rest;
      co_return std::move(out);
    } else {
      using stage = typename types::template stage_at<I>;
      if constexpr (wick::detail::is_async<stage, Item>) {
        wick::task<wick::detail::next_item<stage, Item>> one =
            applied(&wick::detail::get_stage<I>(self->p.stages), std::move(item), c);
        auto next = co_await one;
        wick::task<std::string> rest = through<I + 1>(self, std::move(next), c);
        out = co_await rest;
      } else {
        auto next = wick::detail::apply(wick::detail::get_stage<I>(self->p.stages), std::move(item), *c);
        wick::task<std::string> rest = through<I + 1>(self, std::move(next), c);
        out = co_await rest;
      }
      co_return std::move(out);
    }
  }

  epoch_of run(const params& with, std::uint64_t epoch, std::uint64_t rank, std::uint64_t world) {
    refresh();
    wick::detail::for_each_stage(p.stages, [&](auto& stage) {
      if constexpr (wick::detail::traits_of<decltype(stage)>.has_attach) stage.attach(*on);
    });
    return wick::ext::sync_wait(epoch_on_worker(this, &with, epoch, rank, world));
  }
  /// On a worker, where per_worker() has its states.
  static wick::task<epoch_of> epoch_on_worker(plain_loop* self, const params* given, std::uint64_t epoch,
                                              std::uint64_t rank, std::uint64_t world) {
    co_await self->on->schedule();
    in_plain_loop() = true;
    const params& with = *given;
    const wick::detail::sample_names names{&self->p.origin, [](const void* source, std::uint64_t index) {
                                             return wick::detail::key_of(*static_cast<const Source*>(source),
                                                                         index);
                                           }};
    epoch_of out;
    const std::uint64_t ordered = self->size_after(self->p.origin.size());
    std::uint64_t positions = ordered, size = with.batch;
    constexpr bool batched = types::batched;
    if (!batched) size = 16 * world;
    std::uint64_t batches = (positions + size - 1) / size;
    if (batched && with.drop_last) batches = positions / size;
    if (batched && with.pad_last) positions = batches * size;
    if (!batched) out.batches.emplace_back();
    for (std::uint64_t b = 0; b < batches; ++b) {
      if (batched) out.batches.emplace_back();
      const std::uint64_t count = std::min(size, positions - b * size);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t position = b * size + k;
        const std::uint64_t index = self->template index_of<types::order_end>(
            position >= ordered ? position % ordered : position, with.seed, epoch);
        const bool mine = k >= count * rank / world && k < count * (rank + 1) / world;
        wick::context c(
            wick::detail::place{.seed = with.seed, .epoch = epoch, .position = position, .index = index},
            nullptr, nullptr, {}, 0, &names);
        c.enter(types::order_end);
        try {
          auto item = std::remove_cvref_t<decltype(self->p.origin.at(index))>(self->p.origin.at(index));
          wick::task<std::string> one = through<types::order_end>(self, std::move(item), &c);
          std::string row = co_await one;
          out.empty = false;
          if (mine) out.batches.back().push_back(std::move(row));
        } catch (...) {
          if (std::current_exception() != wick::detail::dropped() && mine)
            out.failures.push_back(std::to_string(position) + " " + std::to_string(c.stage()));
        }
      }
    }
    std::sort(out.failures.begin(), out.failures.end());
    co_return std::move(out);
  }
};

// ---- what a loader delivers ----

/// Rows of several samples: two entries, for the rows, and for what a sample has once.
template <class Batch>
void collect_packed(epoch_of& out, const Batch& batch) {
  out.batches.emplace_back();
  for (std::size_t r = 0; r < rows_of(batch.segments); ++r) {
    std::string row;
    add_row(row, batch.segments, r);
    add_row(row, batch.positions, r);
    add_row(row, batch.values.data, r);
    out.batches.back().push_back(std::move(row));
  }
  out.batches.emplace_back();
  for (std::size_t r = 0; r < rows_of(batch.values.target); ++r) {
    std::string row;
    add_row(row, batch.values.target, r);
    out.batches.back().push_back(std::move(row));
  }
}

template <class Batch, bool Batched>
void collect(epoch_of& out, const Batch& batch) {
  if constexpr (requires { batch.cu_seqlens; }) {
    collect_packed(out, batch);
  } else if constexpr (!Batched) {
    if (out.batches.empty()) out.batches.emplace_back();
    std::string row;
    add_value(row, batch);
    out.batches.back().push_back(std::move(row));
  } else {
    out.batches.emplace_back();
    for (std::size_t r = 0; r < rows_of(batch); ++r) {
      std::string row;
      add_row(row, batch, r);
      out.batches.back().push_back(std::move(row));
    }
  }
}

template <class Loader>
std::vector<std::string> failures_of(const Loader& l, std::uint64_t epoch) {
  std::vector<std::string> out;
  for (const auto& e : l.failure_log().entries()) {
    if (e.epoch == epoch) out.push_back(std::to_string(e.position) + " " + e.stage);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Draws parameters, and compares.
class trial {
 public:
  trial(std::string name, std::uint64_t seed, unsigned rounds)
      : name_(std::move(name)), seed_(seed), rounds_(rounds) {}

  /// `make(params, shard, cache)` gives the pipeline. Views of arrays in memory have no cache on disk.
  template <bool OnDisk, class Make>
  void run(Make make) {
    for (unsigned round = 0; round < rounds_; ++round) {
      const wick_test::temp_dir dir;
      params p = drawn(round);
      p.folder = (dir / "data").string();
      now_ = p.text();
      compare(p, make, same{}, "no cache");
      compare(p, make, wick::cache_in_memory(), "cache_in_memory()");
      if constexpr (OnDisk)
        compare(p, make, wick::cache_on_disk((dir / "cache").string()), "cache_on_disk()");
    }
  }

  /// For what the plain loop can't do: others of the epoch, and batches that the samples' lengths make. All
  /// loaders must agree with one of one worker, one rank, and no cache. What that one delivers must be the
  /// samples of the plain loop over `plain(params)`, in any order; nothing is compared where it gives void.
  template <bool OnDisk, class Make, class Plain>
  void agree(Make make, Plain plain) {
    for (unsigned round = 0; round < rounds_; ++round) {
      const wick_test::temp_dir dir;
      params p = drawn(round);
      p.folder = (dir / "data").string();
      now_ = p.text();
      compare_loaders(p, make, plain, same{}, "no cache");
      compare_loaders(p, make, plain, wick::cache_in_memory(), "cache_in_memory()");
      if constexpr (OnDisk)
        compare_loaders(p, make, plain, wick::cache_on_disk((dir / "cache").string()), "cache_on_disk()");
    }
  }

 private:
  std::uint64_t next() { return mixed(seed_ += 0x9E3779B97F4A7C15u); }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  params drawn(unsigned round) {
    params p;
    p.samples = round == 0 ? 1 : 1 + below(below(3) == 0 ? 6 : 60);
    p.batch = 1 + below(9);
    p.seed = below(1000);
    p.epoch = below(3);
    p.drop_last = below(3) == 0;
    p.pad_last = !p.drop_last && below(4) == 0;
    p.damaged = below(2) == 0 ? 0 : 2 + below(12);
    p.filtered = below(2) == 0 ? 0 : 2 + below(6);
    p.take = 1 + below(p.samples);
    p.skip = below(p.samples);
    p.ranks = p.batch >= 2 ? 1 + below(2) : 1;
    return p;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_ + ": " + what + "\n  with " + now_);
  }
  void same_epochs(const epoch_of& is, const epoch_of& should, const std::string& where,
                   std::size_t from) const {
    if (is.batches.size() + from != should.batches.size())
      fail(where + ": " + std::to_string(is.batches.size() + from) + " batches where there should be " +
           std::to_string(should.batches.size()));
    for (std::size_t b = 0; b < is.batches.size(); ++b) {
      const rows &got = is.batches[b], &wanted = should.batches[b + from];
      if (got.size() != wanted.size())
        fail(where + ": batch " + std::to_string(b + from) + " has " + std::to_string(got.size()) +
             " rows where there should be " + std::to_string(wanted.size()));
      for (std::size_t r = 0; r < got.size(); ++r) {
        if (got[r] == wanted[r]) continue;
        const auto other = std::find(wanted.begin(), wanted.end(), got[r]) - wanted.begin();
        fail(where + ": batch " + std::to_string(b + from) + ", row " + std::to_string(r) +
             (static_cast<std::size_t>(other) < wanted.size() ? " is that of row " + std::to_string(other)
                                                              : " has other bytes"));
      }
    }
  }

  template <class Make, class Cache>
  void compare(const params& p, const Make& make, Cache cache, const std::string& with_cache) {
    using reference_type = decltype(make(p, wick::shard(0, 1), same{}));
    constexpr bool batched = reference_type_of<reference_type>::types::batched;
    const std::vector<std::uint64_t> epochs{p.epoch, p.epoch + 1};
    for (std::uint64_t rank = 0; rank < p.ranks; ++rank) {
      std::vector<epoch_of> expected;
      auto plain = make(p, wick::shard(rank, p.ranks), same{});
      plain_loop<reference_type> loop{plain, &executor_};
      for (const std::uint64_t e : epochs) expected.push_back(loop.run(p, e, rank, p.ranks));
      for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        const std::string where = with_cache + ", " + std::to_string(workers) + " workers, rank " +
                                  std::to_string(rank) + " of " + std::to_string(p.ranks);
        wick::loader_options options{.seed = p.seed, .workers = workers, .on_error = wick::on_error::skip};
        options.prefetch = 1 + below(4);
        std::optional<std::string> refused;
        std::vector<std::string> named;
        try {
          wick::loader l(make(p, wick::shard(rank, p.ranks), cache), options);
          const std::uint64_t middle = below(l.batches() + 1);
          std::vector<std::byte> state;
          for (std::size_t i = 0; i < epochs.size(); ++i) {
            epoch_of got;
            std::uint64_t taken = 0;
            if (i == 0 && middle == 0) state = first_state(make, p, rank, cache, options);
            for (auto& batch : l.epoch(epochs[i])) {
              collect<std::remove_cvref_t<decltype(batch)>, batched>(got, batch);
              if (i == 0 && ++taken == middle && batched) state = l.state();
            }
            if (!batched && got.batches.empty()) got.batches.emplace_back();
            got.failures = failures_of(l, epochs[i]);
            same_epochs(got, expected[i], where + ", epoch " + std::to_string(epochs[i]), 0);
            check_failures(got, expected[i], where, names_of(make(p, wick::shard(rank, p.ranks), cache)));
          }
          if (!state.empty())
            resume<batched>(p, make, cache, rank, workers, state, middle, expected, where, epochs);
        } catch (const wick::error& e) {
          refused = e.what();
        }
        if (refused) {
          // An epoch of which nothing is left is refused, on each rank, and nothing else is.
          const bool nothing = std::any_of(expected.begin(), expected.end(),
                                           [](const epoch_of& e) { return e.batches.empty() || e.empty; });
          if (!nothing) fail(where + ": " + *refused);
        }
      }
    }
  }
  template <class Loader>
  static std::optional<epoch_of> delivered(Loader& l, std::uint64_t epoch) {
    epoch_of out;
    try {
      for (auto& batch : l.epoch(epoch)) collect<std::remove_cvref_t<decltype(batch)>, true>(out, batch);
    } catch (const wick::error&) {
      return std::nullopt;
    }
    out.failures = failures_of(l, epoch);
    return out;
  }
  template <class Make, class Plain, class Cache>
  void compare_loaders(const params& p, const Make& make, const Plain& plain, Cache cache,
                       const std::string& with_cache) {
    const auto options = [&](std::size_t workers) {
      wick::loader_options out{.seed = p.seed, .workers = workers, .on_error = wick::on_error::skip};
      out.prefetch = 1 + below(4);
      return out;
    };
    const auto refused = [&](auto in_place_of_cache) {
      try {
        const wick::loader l(make(p, wick::shard(0, 1), in_place_of_cache), options(1));
        return false;
      } catch (const wick::error&) {  // too few samples for a batch
        return true;
      }
    };
    if (refused(same{})) {
      if (!refused(cache)) fail(with_cache + ": isn't refused, as it is without a cache");
      return;
    }
    wick::loader first(make(p, wick::shard(0, 1), same{}), options(1));
    const std::uint64_t batches = first.batches();
    std::vector<epoch_of> expected;
    for (const std::uint64_t e : {p.epoch, p.epoch + 1}) {
      std::optional<epoch_of> one = delivered(first, e);
      if (!one) return;  // no sample was kept
      expected.push_back(std::move(*one));
    }
    if constexpr (!std::is_void_v<decltype(plain(p))>) same_samples(p, plain(p), expected);
    const std::uint64_t middle = below(batches + 1);
    for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
      const std::string where =
          with_cache + ", " + std::to_string(workers) + " workers, " + std::to_string(p.ranks) + " ranks";
      std::vector<epoch_of> got(2), resumed(1);
      for (std::uint64_t rank = 0; rank < p.ranks; ++rank) {
        wick::loader l(make(p, wick::shard(rank, p.ranks), cache), options(workers));
        if (l.batches() != batches) fail(where + ": other batches() than on one rank");
        for (std::size_t i = 0; i < 2; ++i) add_rank(got[i], delivered(l, p.epoch + i), where);
        wick::loader stopped(make(p, wick::shard(rank, p.ranks), cache), options(workers));
        std::uint64_t taken = 0;
        stopped.epoch(p.epoch);
        std::vector<std::byte> state = stopped.state();
        for ([[maybe_unused]] auto& batch : stopped.epoch(p.epoch)) {
          if (taken == middle) break;
          if (++taken == middle) state = stopped.state();
        }
        wick::loader again(make(p, wick::shard(rank, p.ranks), cache), options(workers == 1 ? 4 : 1));
        again.load_state(state);
        if (again.current_epoch() != p.epoch + (middle == batches ? 1 : 0))
          fail(where + ": resumed in another epoch");
        add_rank(resumed[0], delivered(again, again.current_epoch()), where);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        same_epochs(got[i], expected[i], where + ", epoch " + std::to_string(p.epoch + i), 0);
        for (epoch_of* e : {&got[i], &expected[i]}) {
          std::sort(e->failures.begin(), e->failures.end());
          e->failures.erase(std::unique(e->failures.begin(), e->failures.end()), e->failures.end());
        }
        if (got[i].failures != expected[i].failures)
          fail(where + ": the failure log has " + joined_text(got[i].failures) + " where it should have " +
               joined_text(expected[i].failures));
      }
      const std::uint64_t entries = batches == 0 ? 1 : expected[0].batches.size() / batches;
      const bool at_end = middle == batches;
      same_epochs(resumed[0], expected[at_end ? 1 : 0],
                  where + ", resumed at batch " + std::to_string(middle), at_end ? 0 : middle * entries);
    }
  }
  /// The rows of a batch of all ranks are those of the batch of one.
  void add_rank(epoch_of& to, std::optional<epoch_of> of, const std::string& where) const {
    if (!of) fail(where + ": an epoch failed that has samples on one rank");
    to.batches.resize(std::max(to.batches.size(), of->batches.size()));
    for (std::size_t b = 0; b < of->batches.size(); ++b)
      for (std::string& row : of->batches[b]) to.batches[b].push_back(std::move(row));
    to.failures.insert(to.failures.end(), of->failures.begin(), of->failures.end());
  }
  template <class Pipeline>
  void same_samples(const params& p, Pipeline plain, const std::vector<epoch_of>& expected) {
    params whole = p;
    whole.drop_last = whole.pad_last = false;
    plain_loop<Pipeline> loop{plain, &executor_};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const epoch_of should = loop.run(whole, p.epoch + i, 0, 1);
      rows wanted, got;
      for (const rows& b : should.batches) wanted.insert(wanted.end(), b.begin(), b.end());
      for (const rows& b : expected[i].batches) got.insert(got.end(), b.begin(), b.end());
      std::sort(wanted.begin(), wanted.end());
      std::sort(got.begin(), got.end());
      if (got != wanted)
        fail("epoch " + std::to_string(p.epoch + i) + ": its " + std::to_string(got.size()) +
             " samples aren't the " + std::to_string(wanted.size()) + " of the plain loop");
      if (should.failures.size() != expected[i].failures.size())
        fail("epoch " + std::to_string(p.epoch + i) + ": " + std::to_string(expected[i].failures.size()) +
             " failures where there should be " + std::to_string(should.failures.size()));
    }
  }
  template <class Pipeline>
  struct reference_type_of;
  template <class Source, class... S>
  struct reference_type_of<wick::pipeline<Source, S...>> {
    using types = wick::detail::pipeline_types<Source, S...>;
  };
  template <class Pipeline>
  static std::vector<std::string> names_of(const Pipeline& p) {
    std::vector<std::string> out;
    wick::detail::for_each_stage(p.stages,
                                 [&](const auto& s) { out.emplace_back(wick::detail::stage_name(s)); });
    out.emplace_back("loader");  // what is decoded after all stages
    return out;
  }
  /// The plain loop has numbers of stages, the log has their names.
  void check_failures(const epoch_of& got, const epoch_of& expected, const std::string& where,
                      const std::vector<std::string>& names) const {
    std::vector<std::string> wanted;
    for (const std::string& f : expected.failures) {
      const std::size_t space = f.find(' ');
      const std::string stage = f.substr(space + 1);
      const bool number = stage.find_first_not_of("0123456789") == std::string::npos;
      wanted.push_back(f.substr(0, space + 1) + (number ? names[std::stoul(stage)] : stage));
    }
    std::sort(wanted.begin(), wanted.end());
    if (got.failures != wanted)
      fail(where + ": the failure log has " + joined_text(got.failures) + " where it should have " +
           joined_text(wanted));
  }
  static std::string joined_text(const std::vector<std::string>& all) {
    std::string out;
    for (const std::string& s : all) out += (out.empty() ? "" : ", ") + s;
    return out.empty() ? "nothing" : out;
  }
  template <class Make, class Cache>
  std::vector<std::byte> first_state(const Make& make, const params& p, std::uint64_t rank, Cache cache,
                                     const wick::loader_options& options) {
    wick::loader l(make(p, wick::shard(rank, p.ranks), cache), options);
    l.epoch(p.epoch);
    return l.state();
  }
  template <bool Batched, class Make, class Cache>
  void resume(const params& p, const Make& make, Cache cache, std::uint64_t rank, std::size_t workers,
              const std::vector<std::byte>& state, std::uint64_t middle,
              const std::vector<epoch_of>& expected, const std::string& where,
              const std::vector<std::uint64_t>& epochs) {
    if constexpr (Batched) {
      const std::size_t others = workers == 1 ? 4 : 1;
      wick::loader l(make(p, wick::shard(rank, p.ranks), cache),
                     {.seed = p.seed, .workers = others, .on_error = wick::on_error::skip});
      l.load_state(state);
      epoch_of rest;
      const bool at_end = middle == expected[0].batches.size();
      if (l.current_epoch() != (at_end ? epochs[1] : epochs[0])) fail(where + ": resumed in another epoch");
      for (auto& batch : l.epoch(l.current_epoch()))
        collect<std::remove_cvref_t<decltype(batch)>, Batched>(rest, batch);
      same_epochs(rest, expected[at_end ? 1 : 0], where + ", resumed at batch " + std::to_string(middle),
                  at_end ? 0 : middle);
    }
  }

  wick::executor executor_{{.workers = 1}};
  std::string name_, now_;
  std::uint64_t seed_;
  unsigned rounds_;
};

// ---- the programs ----

struct program {
  std::string name, text;
  std::function<void(trial&)> run;
};
inline std::vector<program>& programs() {
  static std::vector<program> all;
  return all;
}
struct registered {
  registered(std::string name, std::string text, std::function<void(trial&)> run) {
    programs().push_back({std::move(name), std::move(text), std::move(run)});
  }
};

}  // namespace random_pipelines

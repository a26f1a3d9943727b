// The Python package: the usual pipelines ready made, and torchvision's transforms by name. Pipelines of your
// own are modules of your own: see the guide python.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <wick/core.hpp>
#include <wick/python/add_loader.hpp>
#include <wick/python/path.hpp>
#ifdef WICK_PYTHON_URLS
#include <wick/stores/remote.hpp>
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// ---- transforms ----

/// One transform of a picture, chosen at run time.
struct transform {
  std::string name, arguments;
  std::uint64_t fingerprint = 0;
  std::function<wick::lazy_image(wick::lazy_image, wick::context&)> apply;
};

template <class Stage>
transform of_stage(const char* name, Stage stage) {
  wick::ext::fingerprint_hash hash;
  hash.add(Stage::traits.name);
  if constexpr (Stage::traits.has_fingerprint) hash.add(stage.fingerprint());
  return {name, "", hash.value(), [stage = std::move(stage)](wick::lazy_image picture, wick::context& c) {
            return stage(std::move(picture), c);
          }};
}

/// A list of transforms as one stage. Each draws its random numbers after those of the one before it.
class transforms_stage {
 public:
  static constexpr wick::ext::stage_traits traits{
      .name = "transforms", .kind = wick::ext::stage_kind::data, .has_fingerprint = true};

  /// \throws wick::error
  explicit transforms_stage(std::vector<transform> list) : list_(std::move(list)) {
    const auto normalize =
        std::find_if(list_.begin(), list_.end(), [](const transform& t) { return t.name == "Normalize"; });
    for (auto t = normalize; t != list_.end(); ++t) {
      if (t == normalize || t->name == "RandomErasing") continue;
      throw wick::error("transforms: " + t->name +
                        " comes after Normalize, which makes numbers of a picture; " +
                        "write Normalize last, or before RandomErasing");
    }
  }
  wick::lazy_image operator()(wick::lazy_image picture, wick::context& c) const {
    for (const transform& t : list_) picture = t.apply(std::move(picture), c);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept {
    wick::ext::fingerprint_hash hash;
    for (const transform& t : list_) hash.add(t.fingerprint);
    return hash.value();
  }

 private:
  std::vector<transform> list_;
};

using size_argument = std::variant<int, std::pair<int, int>>;  // a number, or (height, width)
using number_argument = std::variant<double, std::vector<double>>;
using range = std::pair<double, double>;

/// Calls `make` with a size, or with height and width.
template <class Make>
auto sized(const size_argument& size, Make make) {
  if (const int* const both = std::get_if<int>(&size)) return make(*both);
  const auto [height, width] = std::get<std::pair<int, int>>(size);
  return make(height, width);
}
std::array<double, 2> both(const range& r) { return {r.first, r.second}; }
wick::edges edges_of(const std::variant<int, std::vector<int>>& by) {
  if (const int* const all = std::get_if<int>(&by)) return *all;
  const auto& each = std::get<std::vector<int>>(by);
  if (each.size() == 2) return {each[0], each[1]};
  if (each.size() == 4) return {each[0], each[1], each[2], each[3]};
  throw wick::error(
      "padding: give one number, (left and right, top and bottom), or (left, top, right, bottom)");
}
wick::channel_values channels_of(const number_argument& v) {
  if (const double* const all = std::get_if<double>(&v)) return *all;
  const auto& each = std::get<std::vector<double>>(v);
  switch (each.size()) {
    case 1:
      return {each[0]};
    case 2:
      return {each[0], each[1]};
    case 3:
      return {each[0], each[1], each[2]};
    case 4:
      return {each[0], each[1], each[2], each[3]};
    default:
      throw wick::error("Normalize: give one number for all channels, or one for each of up to 4");
  }
}

void add_transforms(nb::module_& m) {
  nb::class_<transform>(m, "Transform", "A transform of a picture, for the list `transforms`.")
      .def_rw("_arguments", &transform::arguments)
      .def("__repr__", [](const transform& t) { return t.name + "(" + t.arguments + ")"; });
  m.def(
      "RandomResizedCrop",
      [](const size_argument& size, const range& scale, const range& ratio) {
        const wick::random_resized_crop_options options{.scale = both(scale), .ratio = both(ratio)};
        return of_stage("RandomResizedCrop",
                        sized(size, [&](auto... s) { return wick::random_resized_crop(s..., options); }));
      },
      "size"_a, "scale"_a = range(0.08, 1.0), "ratio"_a = range(3.0 / 4, 4.0 / 3),
      "A part of random size and place, resized to `size`.");
  m.def(
      "Resize",
      [](const size_argument& size) {
        return of_stage("Resize", sized(size, [](auto... s) { return wick::resize(s...); }));
      },
      "size"_a, "The shorter edge to `size`, or the picture to (height, width); bilinear, antialiased.");
  m.def(
      "CenterCrop",
      [](const size_argument& size) {
        return of_stage("CenterCrop", sized(size, [](auto... s) { return wick::center_crop(s...); }));
      },
      "size"_a, "The middle of the picture.");
  m.def(
      "RandomCrop",
      [](const size_argument& size, const std::variant<int, std::vector<int>>& padding, bool pad_if_needed) {
        const wick::random_crop_options options{.padding = edges_of(padding), .pad_if_needed = pad_if_needed};
        return of_stage("RandomCrop",
                        sized(size, [&](auto... s) { return wick::random_crop(s..., options); }));
      },
      "size"_a, "padding"_a = 0, "pad_if_needed"_a = false, "A part of that size at a random place.");
  m.def(
      "Pad",
      [](const std::variant<int, std::vector<int>>& padding, int fill) {
        return of_stage("Pad", wick::pad(edges_of(padding), {.fill = fill}));
      },
      "padding"_a, "fill"_a = 0, "A border around the picture.");
  m.def(
      "RandomHorizontalFlip",
      [](double p) { return of_stage("RandomHorizontalFlip", wick::random_horizontal_flip(p)); },
      "p"_a = 0.5);
  m.def(
      "RandomVerticalFlip",
      [](double p) { return of_stage("RandomVerticalFlip", wick::random_vertical_flip(p)); }, "p"_a = 0.5);
  m.def(
      "RandomRotation",
      [](const std::variant<double, range>& degrees) {
        const double* const most = std::get_if<double>(&degrees);
        const wick::degree_range by = most != nullptr ? wick::degree_range(*most)
                                                      : wick::degree_range(std::get<range>(degrees).first,
                                                                           std::get<range>(degrees).second);
        return of_stage("RandomRotation", wick::random_rotation(by));
      },
      "degrees"_a, "A turn by up to so many degrees, or within (least, most).");
  m.def(
      "ColorJitter",
      [](double brightness, double contrast, double saturation, double hue) {
        return of_stage("ColorJitter", wick::color_jitter(brightness, contrast, saturation, hue));
      },
      "brightness"_a = 0.0, "contrast"_a = 0.0, "saturation"_a = 0.0, "hue"_a = 0.0);
  m.def(
      "Grayscale", [](int channels) { return of_stage("Grayscale", wick::grayscale(channels)); },
      "num_output_channels"_a = 1);
  m.def(
      "RandomGrayscale", [](double p) { return of_stage("RandomGrayscale", wick::random_grayscale(p)); },
      "p"_a = 0.1);
  m.def(
      "GaussianBlur",
      [](int kernel_size, const range& sigma) {
        return of_stage("GaussianBlur", wick::random_gaussian_blur(kernel_size, {.sigma = both(sigma)}));
      },
      "kernel_size"_a, "sigma"_a = range(0.1, 2.0), "Blur of a random deviation, in pixels.");
  m.def("TrivialAugmentWide", [] { return of_stage("TrivialAugmentWide", wick::trivial_augment_wide()); });
  m.def(
      "RandAugment",
      [](int num_ops, int magnitude) {
        return of_stage("RandAugment", wick::rand_augment({.num_ops = num_ops, .magnitude = magnitude}));
      },
      "num_ops"_a = 2, "magnitude"_a = 9);
  m.def(
      "AutoAugment",
      [](const std::string& policy) {
        using wick::auto_augment_policy;
        constexpr std::array<std::pair<const char*, auto_augment_policy>, 3> known{
            {{"imagenet", auto_augment_policy::imagenet},
             {"cifar10", auto_augment_policy::cifar10},
             {"svhn", auto_augment_policy::svhn}}};
        for (const auto& [name, value] : known) {
          if (policy == name) return of_stage("AutoAugment", wick::auto_augment(value));
        }
        throw wick::error("AutoAugment: policy=\"" + policy +
                          "\"; it may be \"imagenet\", \"cifar10\" or \"svhn\"");
      },
      "policy"_a = "imagenet");
  m.def(
      "Normalize",
      [](const number_argument& mean, const number_argument& std) {
        return of_stage("Normalize", wick::normalize(channels_of(mean), channels_of(std)));
      },
      "mean"_a, "std"_a, "float32 (x / 255 - mean) / std, for each channel.");
  m.def(
      "RandomErasing",
      [](double p, const range& scale, const range& ratio) {
        return of_stage("RandomErasing",
                        wick::random_erasing({.p = p, .scale = both(scale), .ratio = both(ratio)}));
      },
      "p"_a = 0.5, "scale"_a = range(0.02, 0.33), "ratio"_a = range(0.3, 3.3),
      "A box of the picture becomes 0.");
}

// ---- pipelines ----

/// With or without shuffle().
template <class Source, class Rest>
auto ordered(Source&& source, bool shuffle, Rest rest) {
  using shuffled = decltype(source | wick::shuffle() | wick::shard() | rest);
  using in_order = decltype(source | wick::shard() | rest);
  using either = std::variant<shuffled, in_order>;
  return shuffle ? either(source | wick::shuffle() | wick::shard() | std::move(rest))
                 : either(source | wick::shard() | std::move(rest));
}

/// The same, or with each class drawn equally often.
template <class Source, class Rest>
auto ordered(Source&& source, bool shuffle, bool balanced, Rest rest) {
  using drawn = decltype(source | wick::weighted(std::vector<double>()) | wick::shard() | rest);
  using shuffled = decltype(source | wick::shuffle() | wick::shard() | rest);
  using in_order = decltype(source | wick::shard() | rest);
  using any = std::variant<drawn, shuffled, in_order>;
  if (balanced) {
    if (!shuffle) throw wick::error("balanced=True draws the samples at random; leave shuffle=False out");
    return any(source | wick::weighted(wick::class_weights(source)) | wick::shard() | std::move(rest));
  }
  return shuffle ? any(source | wick::shuffle() | wick::shard() | std::move(rest))
                 : any(source | wick::shard() | std::move(rest));
}

struct picture_options {
  std::size_t batch;
  std::vector<transform> transforms;
  bool shuffle, balanced, drop_last;
  std::int64_t max_pixels;
};
const std::int64_t most_pixels = wick::decode_options().max_pixels;
template <class Source>
auto pictures(Source&& source, picture_options o) {
  return ordered(std::forward<Source>(source), o.shuffle, o.balanced,
                 wick::read() | wick::decode({.max_pixels = o.max_pixels}) |
                     transforms_stage(std::move(o.transforms)) |
                     wick::array_batch(o.batch, {.drop_last = o.drop_last}));
}

using wick::python::path;
using paths = std::variant<path, std::vector<path>>;
std::vector<std::string> texts_of(const std::vector<path>& some) {
  std::vector<std::string> out;
  for (const path& p : some) out.push_back(p.text);
  return out;
}
std::vector<std::string> list_of(const paths& some) {
  if (const auto* const one = std::get_if<path>(&some)) return {one->text};
  return texts_of(std::get<std::vector<path>>(some));
}

/// One name may be a pattern.
wick::files files_of(const paths& some) {
  if (const auto* const one = std::get_if<path>(&some)) return wick::files(one->text);
  return wick::files(texts_of(std::get<std::vector<path>>(some)));
}

/// None: those of images.
wick::image_folder_options folder_options(const std::optional<std::vector<std::string>>& extensions,
                                          bool allow_empty) {
  wick::image_folder_options out;
  if (extensions) out.extensions = *extensions;
  out.allow_empty = allow_empty;
  return out;
}

wick::class_folder class_folder_of(const path& folder,
                                   const std::optional<std::vector<std::string>>& extensions,
                                   bool allow_empty) {
  return wick::class_folder(folder.text, {extensions.value_or(std::vector<std::string>()), allow_empty});
}

/// \throws wick::error for another word than those of the C++ enumeration
template <class E>
E one_of(const char* keyword, const std::string& word, std::initializer_list<std::pair<const char*, E>> all) {
  std::string words;
  for (const auto& [name, value] : all) {
    if (word == name) return value;
    words += std::string(words.empty() ? "\"" : " or \"") + name + '"';
  }
  throw wick::error(std::string(keyword) + "=\"" + word + "\"; it may be " + words);
}

// ---- arrays ----

using given_array = nb::ndarray<nb::ro, nb::device::cpu>;

wick::dtype type_of(const given_array& a, const char* name) {
  using code = nb::dlpack::dtype_code;
  const auto [kind, bits, lanes] = a.dtype();
  constexpr std::array<std::pair<std::pair<code, int>, wick::dtype>, 10> known{
      {{{code::UInt, 8}, wick::dtype::uint8},
       {{code::Int, 8}, wick::dtype::int8},
       {{code::Int, 16}, wick::dtype::int16},
       {{code::Int, 32}, wick::dtype::int32},
       {{code::Int, 64}, wick::dtype::int64},
       {{code::Float, 16}, wick::dtype::float16},
       {{code::Float, 32}, wick::dtype::float32},
       {{code::Float, 64}, wick::dtype::float64},
       {{code::Bool, 8}, wick::dtype::boolean},
       {{code::Bfloat, 16}, wick::dtype::bfloat16}}};
  for (const auto& [found, type] : known) {
    if (kind == static_cast<std::uint8_t>(found.first) && bits == found.second && lanes == 1) return type;
  }
  throw wick::error(std::string("tensors: ") + name +
                    " has a type that batches can't have; give integers with a sign, uint8, bool, or floats");
}

/// The rows of an array, which lives as long as they do.
wick::detail::array_rows rows_of(const given_array& a, const char* name) {
  if (a.ndim() == 0)
    throw wick::error(std::string("tensors: ") + name + " is a single number; give an array of rows");
  wick::shape row;
  std::int64_t packed = 1;
  bool is_packed = true;
  for (std::size_t i = a.ndim(); i-- > 0;) {
    is_packed = is_packed && (a.shape(i) == 1 || a.stride(i) == packed);
    packed *= static_cast<std::int64_t>(a.shape(i));
  }
  if (!is_packed && packed != 0) {
    throw wick::error(std::string("tensors: the numbers of ") + name +
                      " don't lie side by side; give numpy.ascontiguousarray(a), or a.contiguous()");
  }
  for (std::size_t i = 1; i < a.ndim(); ++i) row.push_back(static_cast<std::int64_t>(a.shape(i)));
  return {std::make_shared<given_array>(a), static_cast<const std::byte*>(a.data()),
          wick::detail::row_format(row, type_of(a, name)), a.shape(0)};
}

/// What f() makes, while other Python threads run: it may wait for a disk or a server.
template <class F>
auto without_gil(F f) {
  const nb::gil_scoped_release released;
  return f();
}

}  // namespace

NB_MODULE(_wick, m) {
  m.doc() = "The compiled part of wick.";
  m.attr("__version__") = wick::version;
  add_transforms(m);

  wick::python::add_loader(
      m, "image_folder",
      [](const path& folder, std::size_t batch, std::vector<transform> transforms, bool shuffle,
         bool balanced, bool drop_last, const std::optional<std::vector<std::string>>& extensions,
         bool allow_empty, std::int64_t max_pixels) {
        const auto source = [&] {
          return wick::image_folder(folder.text, folder_options(extensions, allow_empty));
        };
        return pictures(without_gil(source),
                        {batch, std::move(transforms), shuffle, balanced, drop_last, max_pixels});
      },
      "folder"_a, "batch"_a = 256, "transforms"_a = std::vector<transform>(), "shuffle"_a = true,
      "balanced"_a = false, "drop_last"_a = false, "extensions"_a = nb::none(), "allow_empty"_a = false,
      "max_pixels"_a = most_pixels,
      "Pictures in a folder a class, as for torchvision's ImageFolder, or \"s3://bucket/train/\": batches of "
      "(images, labels). The transforms must "
      "bring all pictures to one size. balanced: each class is drawn equally often. extensions=[\".jpg\"]: "
      "only such "
      "files. allow_empty: a class may have "
      "none. max_pixels: a larger picture is an error. On several ranks each gets "
      "its share of each "
      "batch.");
  m.def(
      "image_classes",
      [](const path& folder, const std::optional<std::vector<std::string>>& extensions, bool allow_empty) {
        return without_gil([&] {
          return wick::image_folder(folder.text, folder_options(extensions, allow_empty)).classes();
        });
      },
      "folder"_a, "extensions"_a = nb::none(), "allow_empty"_a = false,
      "The names of the classes of an image_folder; a label is an index into them.");
  wick::python::add_loader(
      m, "class_folder",
      [](const path& folder, std::size_t batch, bool shuffle, bool balanced, bool drop_last,
         const std::optional<std::vector<std::string>>& extensions, bool allow_empty) {
        return ordered(without_gil([&] { return class_folder_of(folder, extensions, allow_empty); }), shuffle,
                       balanced, wick::read() | wick::group(batch, {.drop_last = drop_last}));
      },
      "folder"_a, "batch"_a = 256, "shuffle"_a = true, "balanced"_a = false, "drop_last"_a = false,
      "extensions"_a = nb::none(), "allow_empty"_a = false,
      "Files of any kind in a folder a class, or \"s3://bucket/train/\": batches are lists of (bytes, "
      "label). extensions=[\".wav\"]: only such files; all by default. balanced: each class is drawn equally "
      "often. "
      "allow_empty: a class may have none.");
  m.def(
      "class_names",
      [](const path& folder, const std::optional<std::vector<std::string>>& extensions, bool allow_empty) {
        return without_gil([&] { return class_folder_of(folder, extensions, allow_empty).classes(); });
      },
      "folder"_a, "extensions"_a = nb::none(), "allow_empty"_a = false,
      "The names of the classes of a class_folder; a label is an index into them.");
  wick::python::add_loader(
      m, "tar",
      [](const paths& shards, std::size_t batch, std::vector<transform> transforms, bool shuffle,
         bool balanced, bool drop_last, bool keep_index, const std::string& missing_member,
         const std::string& key, std::int64_t max_pixels) {
        const wick::tar_options options{
            .missing_member = one_of<wick::missing_member>(
                "missing_member", missing_member,
                {{"refuse", wick::missing_member::refuse}, {"leave_out", wick::missing_member::leave_out}}),
            .keep_index = keep_index,
            .key = one_of<wick::tar_key>("key", key,
                                         {{"to_first_dot", wick::tar_key::to_first_dot},
                                          {"to_last_dot", wick::tar_key::to_last_dot}})};
        return pictures(without_gil([&] { return wick::tar(list_of(shards), options); }),
                        {batch, std::move(transforms), shuffle, balanced, drop_last, max_pixels});
      },
      "shards"_a, "batch"_a = 256, "transforms"_a = std::vector<transform>(), "shuffle"_a = true,
      "balanced"_a = false, "drop_last"_a = false, "keep_index"_a = false, "missing_member"_a = "refuse",
      "key"_a = "to_first_dot", "max_pixels"_a = most_pixels,
      "Tar shards as WebDataset writes them, of KEY.jpg (or png, …) and KEY.cls: batches of (images, "
      "labels). "
      "\"train-{000..146}.tar\", \"train-*.tar\", URLs (https://, s3://, gs://, az://, hf://), or a list. "
      "keep_index: the next start reads no shard. missing_member=\"leave_out\": without samples that lack a "
      "picture or a class. key=\"to_last_dot\": where keys have dots.");
  wick::python::add_loader(
      m, "csv",
      [](const path& table, std::size_t batch, std::vector<transform> transforms,
         const std::string& path_column, const std::string& label_column,
         const std::map<std::string, std::string>& where, const path& root, char separator, bool header,
         bool shuffle, bool balanced, bool drop_last, const std::string& prefix, const std::string& suffix,
         std::int64_t max_pixels) {
        const auto samples = [&] {
          wick::csv rows(table.text, {.separator = separator, .header = header});
          for (const auto& [column, text] : where) rows = rows.where(column, text);
          return wick::zip(rows.files(path_column, {.root = root.text, .prefix = prefix, .suffix = suffix}),
                           wick::in_memory(rows.integers(label_column)));
        };
        return pictures(without_gil(samples),
                        {batch, std::move(transforms), shuffle, balanced, drop_last, max_pixels});
      },
      "table"_a, "batch"_a = 256, "transforms"_a = std::vector<transform>(), "path_column"_a = "path",
      "label_column"_a = "label", "where"_a = std::map<std::string, std::string>(), "root"_a = path(),
      "separator"_a = ',', "header"_a = true, "shuffle"_a = true, "balanced"_a = false, "drop_last"_a = false,
      "prefix"_a = "", "suffix"_a = "", "max_pixels"_a = most_pixels,
      "A CSV list of pictures and whole numbers: batches of (images, labels). where={\"split\": \"train\"} "
      "takes the rows with that text in that column. Relative paths are below `root`, or the table's "
      "folder, after `prefix` and before `suffix`. header=False: the columns are \"0\", \"1\", and so on.");
  wick::python::add_loader(
      m, "tokens",
      [](const paths& files, std::uint64_t length, std::size_t batch, const std::string& dtype,
         std::optional<std::uint64_t> stride, std::uint64_t header, bool shuffle, bool drop_last, bool raw) {
        const wick::tokens_options options{.header = header, .raw = raw};
        const auto stream = [&] {
          if (dtype == "uint16") return wick::tokens<std::uint16_t>(files_of(files), options);
          if (dtype == "uint32") return wick::tokens<std::uint32_t>(files_of(files), options);
          if (dtype == "int32") return wick::tokens<std::int32_t>(files_of(files), options);
          throw wick::error("tokens: dtype=\"" + dtype + "\"; it may be \"uint16\", \"uint32\" or \"int32\"");
        };
        return ordered(without_gil(stream) | wick::chunks(length, {.stride = stride}), shuffle,
                       wick::read() | wick::array_batch(batch, {.drop_last = drop_last}));
      },
      "files"_a, "length"_a, "batch"_a = 32, "dtype"_a = "uint16", "stride"_a = nb::none(), "header"_a = 0,
      "shuffle"_a = true, "drop_last"_a = false, "raw"_a = false,
      "Files of token numbers, as numpy's tofile() writes them, by a pattern, URLs (https://, s3://, gs://, "
      "az://, hf://), or a "
      "list: batches of (inputs, targets), int64 [batch, length], where targets are one token further on. "
      "raw: also files that begin as another format does.");
  wick::python::add_loader(
      m, "tensors",
      [](const given_array& data, const given_array& target, std::size_t batch, bool shuffle,
         bool drop_last) {
        return ordered(wick::zip(wick::pair_by::position, rows_of(data, "data"), rows_of(target, "target")),
                       shuffle, wick::array_batch(batch, {.drop_last = drop_last}));
      },
      "data"_a, "target"_a, "batch"_a = 256, "shuffle"_a = true, "drop_last"_a = false,
      "Rows of two arrays in memory, which are not copied: batches of (data, target).");
}

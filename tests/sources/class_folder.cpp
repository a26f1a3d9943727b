#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/ext/source.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sources/class_folder.hpp>
#include <wick/sources/image_folder.hpp>

namespace wick_test::class_folder_tests {

// image_folder, which is one, has more tests: of links, names, and errors.
static_assert(wick::ext::source<wick::class_folder>);

using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

TEST_CASE("files of any kind lie in a folder a class, and are read with its number") {
  const temp_dir dir;
  dir.write("no/1.wav", "RIFF");
  dir.write("yes/2.WAV", "RIFFs");
  dir.write("yes/notes.txt", "text");
  dir.write("yes/.hidden.wav", "RIFF");
  wick::loader l(wick::class_folder(dir.path().string()) | wick::read(), {.workers = 1});
  std::vector<std::pair<std::string, std::int64_t>> got;
  for (auto& s : l.epoch(0))
    got.emplace_back(std::string(reinterpret_cast<const char*>(s.data.data()), s.data.size()), s.target);
  CHECK(got == std::vector<std::pair<std::string, std::int64_t>>{{"RIFF", 0}, {"RIFFs", 1}, {"text", 1}});
  const wick::class_folder sounds(dir.path().string(), {.extensions = {".wav"}});
  CHECK(sounds.classes() == std::vector<std::string>{"no", "yes"});
  REQUIRE(sounds.size() == 2);
  CHECK(sounds.key(1) == (dir / "yes/2.WAV").string());
}

TEST_CASE("a class_folder and an image_folder of the same files are the same data") {
  const temp_dir dir;
  for (const char* name : {"a/1.jpg", "b/2.png"}) dir.write(name);
  const wick::class_folder files(dir.path().string());
  const wick::image_folder pictures(dir.path().string());
  CHECK(files.fingerprint() == pictures.fingerprint());
  CHECK(files.key(1) == pictures.key(1));
}

TEST_CASE("errors of a class_folder speak of files, by its own name") {
  const temp_dir dir;
  dir.write("flat/1.wav");
  wick_test::fs::create_directory(dir / "empty");
  wick_test::fs::create_directories(dir / "hollow/dog");
  const auto message = [&](const char* name, wick::class_folder_options o = {}) {
    return message_of([&] { return wick::class_folder((dir / name).string(), std::move(o)); });
  };
  CHECK(contains(message("missing"), "/missing: class_folder: no such folder"));
  CHECK(contains(message("empty"), "/empty: class_folder: has no class sub-folders and no files; check"));
  CHECK(
      contains(message("flat"), "has no class sub-folders (1 files lie directly in it)", "use wick::files"));
  CHECK(contains(message("hollow"), "hollow/dog: class_folder: has no files; remove the folder"));
  CHECK(contains(message("hollow", {.extensions = {".wav"}, .allow_empty = true}),
                 "/hollow: class_folder: has no files (wanted: .wav)"));
}

}  // namespace wick_test::class_folder_tests

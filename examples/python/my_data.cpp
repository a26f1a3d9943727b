// A pipeline of your own as a Python module: packed game positions, with a stage written in C++.
//
//   pip install nanobind
//   cmake -S examples/python -B build/my_data -D CMAKE_BUILD_TYPE=Release && cmake --build build/my_data
//   PYTHONPATH=build/my_data python3 -c "import my_data; help(my_data.positions)"
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <wick/core.hpp>
#include <wick/python/add_loader.hpp>

namespace {

/// As it lies in the file.
struct position {
  std::array<std::uint64_t, 2> board;  // a bit a square: the player's pieces, the opponent's
  float score;
  std::uint32_t ply;
};

/// As a model gets it.
struct sample {
  std::array<std::array<float, 64>, 2> planes;
  float score;
};
struct batch {
  wick::array planes, score;
};

sample to_planes(const position& p) {
  sample out{{}, p.score};
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t square = 0; square < 64; ++square) {
      out.planes[side][square] = static_cast<float>(p.board[side] >> square & 1);
    }
  }
  return out;
}

}  // namespace

// The keys of the dict that a batch is in Python.
template <>
inline constexpr std::array wick::python::names<batch>{"planes", "score"};

NB_MODULE(my_data, m) {
  wick::python::add_loader(
      m, "positions",
      [](const std::string& files, std::size_t size) {
        return wick::records<position>(wick::files(files)) | wick::shuffle() | wick::shard() | wick::read() |
               wick::decode_raw<position>() | wick::map("to_planes", to_planes) |
               wick::array_batch<batch>(size);
      },
      nanobind::arg("files"), nanobind::arg("batch") = 1024, "Positions of packed files, as planes.");
}

// The names of LibTorch, nanobind, and zlib that wick's headers declare something with: docs/declarations.py
// reads the headers with these in the place of theirs, so that none has to be installed.
#include <string>
#include <vector>

struct PyObject;
using visitproc = int (*)(PyObject*, void*);
#define NB_TYPE_CASTER(...)
using gzFile = struct gzFile_s*;

namespace c10 {
enum class ScalarType { kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16 };
enum DeviceType { kCPU };
struct Device {
  Device(DeviceType);
};
struct Stream;
struct Error;
template <class T>
struct ArrayRef;
}  // namespace c10

namespace at {
using namespace c10;
using enum c10::ScalarType;
struct Tensor {
  ScalarType scalar_type() const;
  Tensor clone() const;
};
}  // namespace at

namespace nanobind {
struct handle {};
struct object : handle {};
struct bytes : object {};
struct dict : object {};
struct list : object {};
struct module_ : object {};
struct rv_policy;
}  // namespace nanobind
namespace nanobind::detail {
struct cleanup_list;
template <class T>
struct type_caster;
}  // namespace nanobind::detail
namespace nanobind::device {
struct cpu {
  static constexpr int value = 1;
};
}  // namespace nanobind::device
namespace nanobind::dlpack {
enum class dtype_code;
struct dtype {};
}  // namespace nanobind::dlpack

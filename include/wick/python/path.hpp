// A path as Python programs give it: text, a pathlib.Path, or any os.PathLike. "~" is the home folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <utility>

#include <wick/version.hpp>

namespace wick::inline v0_1::python {

/// For the parameters of add_loader()'s functions: `[](const wick::python::path& folder) { … folder.text …
/// }`. A URL or a pattern is kept as it is.
struct path {
  path() = default;
  path(std::string of) : text(std::move(of)) {}  // NOLINT(google-explicit-constructor)
  std::string text;
};

}  // namespace wick::python

namespace nanobind::detail {

template <>
struct type_caster<wick::python::path> {
  NB_TYPE_CASTER(wick::python::path, const_name("str | os.PathLike"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    try {
      object given = steal(PyOS_FSPath(from.ptr()));
      PyObject* encoded = nullptr;  // by the file system's encoding: names that aren't UTF-8 go through
      if (given.is_valid()) given = module_::import_("os.path").attr("expanduser")(given);
      if (!given.is_valid() || PyUnicode_FSConverter(given.ptr(), &encoded) == 0) {
        PyErr_Clear();
        return false;
      }
      const object kept = steal(encoded);
      value.text.assign(PyBytes_AS_STRING(encoded), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded)));
    } catch (python_error&) {
      return false;
    }
    // pathlib.Path("s3://bucket") has one slash.
    for (const std::string_view scheme : {"http:/", "https:/", "s3:/", "gs:/", "az:/", "hf:/"}) {
      if (value.text.starts_with(scheme) && value.text.compare(scheme.size(), 1, "/") != 0)
        value.text.insert(scheme.size(), 1, '/');
    }
    return true;
  }
  static handle from_cpp(const wick::python::path& from, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(from.text.data(), static_cast<Py_ssize_t>(from.text.size()));
  }
};

}  // namespace nanobind::detail

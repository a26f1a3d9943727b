// The classes and exceptions of a Python module with loaders, and the meaning of their keywords.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/async/detail/interruption.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/profile/report.hpp>
#include <wick/python/detail/python_loader.hpp>
#include <wick/python/path.hpp>
#include <wick/python/to_python.hpp>

namespace wick::inline v0_1::detail {

// ---- keywords ----

/// \throws wick::error
inline wick::on_error error_policy(const std::string& word) {
  if (word == "fail") return {};
  if (word == "skip") return wick::on_error(wick::on_error::skip);
  if (word == "replace") return wick::on_error(wick::on_error::replace);
  throw error("on_error=\"" + word + "\": it may be \"fail\", \"skip\" or \"replace\"");
}
/// \throws wick::error
inline std::chrono::nanoseconds seconds_of(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) {
    throw error("hang_after=" + std::to_string(seconds) + ": give seconds, or 0 for no message");
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}
inline bool has_torch() {
  const auto modules = nanobind::cast<nanobind::dict>(nanobind::module_::import_("sys").attr("modules"));
  if (modules.contains("torch")) return true;
  return !nanobind::module_::import_("importlib.util").attr("find_spec")("torch").is_none();
}
/// \throws wick::error
inline python::tensors tensors_of(const std::string& word) {
  if (word == "numpy") return python::tensors::numpy;
  if (word == "torch" && !has_torch())
    throw error("tensors=\"torch\", and PyTorch isn't installed; install it, or write tensors=\"numpy\"");
  if (word == "torch") return python::tensors::torch;
  if (word != "auto") throw error("tensors=\"" + word + "\": it may be \"torch\", \"numpy\" or \"auto\"");
  return has_torch() ? python::tensors::torch : python::tensors::numpy;
}
/// \throws wick::error
inline python_delivery delivery_of(const std::string& tensors, const nanobind::object& device,
                                   nanobind::object into) {
  python_delivery out{tensors_of(tensors), nullptr, std::move(into), {}, false, {}};
  const std::string name = device_copies::name_of(device);
  if (name == "cpu") return out;
  if (out.as == python::tensors::numpy)
    throw error("device=\"" + name +
                "\" is PyTorch's, and batches are NumPy's; install PyTorch, or leave "
                "tensors=\"numpy\" out");
  out.device = std::make_shared<device_copies>(device);
  return out;
}

// ---- classes ----

inline nanobind::bytes to_bytes(const std::vector<std::byte>& from) {
  return nanobind::bytes(from.data(), from.size());
}
inline void load_bytes(python_loader& into, const nanobind::bytes& from) {
  into.load_state({static_cast<const std::byte*>(from.data()), from.size()});
}
inline void load_dict(python_loader& into, const nanobind::dict& from) {
  if (!from.contains("wick") || !nanobind::isinstance<nanobind::bytes>(from["wick"])) {
    throw error(
        "load_state_dict: it has no entry 'wick' with the bytes of a loader; give what state_dict() gave");
  }
  load_bytes(into, nanobind::borrow<nanobind::bytes>(from["wick"]));
}

/// Translates a message's C++ advice to Python: ".keep_index = true" becomes keep_index=True.
inline std::string in_python(std::string text) {
  const auto replace = [&text](std::string_view there, std::string_view instead) {
    for (std::size_t at = 0; (at = text.find(there, at)) != std::string::npos; at += instead.size())
      text.replace(at, there.size(), instead);
  };
  // Things that the package has in another form.
  static constexpr std::pair<std::string_view, std::string_view> phrases[] = {
      {"; for names of classes write classes(), for fractions numbers()", "; write numbers into the table"},
      {", or read the column by numbers() with .empty_number", ""},
      {"name other extensions", "give extensions=[…]"},
      {"write wick::files", "write wick.csv"},
      {", or use wick::files", ", or use wick.csv"},
      {"wick::decode({.max_pixels = ...})", "max_pixels=…"},
      {"tokens<std::uint32_t>(…) has 4 bytes", "dtype=\"uint32\" has 4 bytes"},
      {"tokens<std::uint32_t>(\"train.bin\")", "dtype=\"uint32\""},
      {"read it by npy(path)", "load it by numpy.load(), and give it to wick.tensors()"},
      {"read an array of it by npy(path, \"name\")",
       "load it by numpy.load(), and give it to wick.tensors()"},
      {"read its members by tar(path, {\"EXTENSION\"})", "read it by wick.tar(path)"},
      {"read it as an image: files(…) | read() | decode()",
       "read images by wick.image_folder() or wick.csv()"},
      {", or give class_weights() a function that numbers the classes without a gap", ""},
      {", or give class_weights() a function that gives them a class", ""},
      {"; for other targets ask for the members by name: wick::tar(shards, {\"jpg\", \"cls\"})", ""},
      {", or write shard(rank, world)", ", or give rank=…, world_size=…"},
      {"include <wick/stores/remote.hpp> and link wick::curl", "install a build of wick with libcurl"},
  };
  for (const auto& [there, instead] : phrases) replace(there, instead);
  static constexpr std::string_view keywords[] = {
      "allow_empty", "check_versions", "extensions",     "hang_after",
      "header",      "io_threads",     "keep_index",     "key",
      "max_pixels",  "memory",         "missing_member", "on_error",
      "prefetch",    "prefix",         "quarantine",     "raw",
      "root",        "separator",      "stride",         "suffix",
      "workers"};
  for (const std::string_view keyword : keywords) {
    const std::string member = "." + std::string(keyword);
    for (std::size_t at = 0; (at = text.find(member, at)) != std::string::npos; ++at) {
      const std::size_t end = at + member.size();
      const char before = at == 0 ? ' ' : text[at - 1], after = end < text.size() ? text[end] : ' ';
      if ((before != ' ' && before != '(' && before != '{') || (after != ' ' && after != ',' && after != ';'))
        continue;
      text.erase(at, 1);
      if (text.compare(end - 1, 3, " = ") != 0) continue;
      text.replace(end - 1, 3, "=");
      if (text.compare(end, 4, "true") == 0) text[end] = 'T';
      if (text.compare(end, 5, "false") == 0) text[end] = 'F';
      if (text.compare(end, 6, "wick::") != 0) continue;
      // An enumerator: keep its last part, in quotes.
      constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_:";
      const std::size_t stop = std::min(text.find_first_not_of(letters, end), text.size());
      const std::size_t name = text.rfind(':', stop - 1) + 1;
      text.replace(end, stop - end, "\"" + text.substr(name, stop - name) + "\"");
    }
  }
  replace("wick::", "wick.");
  return text;
}

inline nanobind::list failures_of(const python_loader& of) {
  const auto text = [](std::string of_entry) {
    return python::to_python<std::string>::make(std::move(of_entry), python::tensors::numpy);
  };
  nanobind::list out;
  for (const failure_log::entry& e : of.failures()) {
    nanobind::dict one;
    one["key"] = text(e.key);
    one["stage"] = text(e.stage);
    one["epoch"] = e.epoch;
    one["position"] = e.position;
    one["text"] = text(in_python(e.text));
    one["action"] = std::string(to_string(e.action));
    one["tries"] = e.tries;
    one["substitute"] = text(e.substitute);
    out.append(one);
  }
  return out;
}

/// The page in a frame of its own, which confines its style. Byte for byte: html_text() escapes line ends.
inline std::string in_frame(const std::string& page) {
  std::string escaped;
  for (const char c : page) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return "<iframe srcdoc=\"" + escaped + "\" style=\"width: 100%; height: 40em; border: 0\"></iframe>";
}

/// For people: bytes of keys that aren't UTF-8 appear as `\xe9`, so that the text can be printed.
inline nanobind::object message_text(const std::string& text) {
  PyObject* const out =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (out == nullptr) throw nanobind::python_error();
  return nanobind::steal(out);
}

inline void add_report(nanobind::module_& m) {
  const auto text = [](const report& r) { return message_text(r.to_string()); };
  nanobind::class_<report>(m, "Report", "Where the time went since the report before: print it.")
      .def("__str__", text)
      .def("__repr__", text)
      .def("_repr_html_", [](const report& r) { return in_frame(r.to_html()); })
      .def(
          "advice", [](const report& r) { return message_text(r.advice()); },
          "The bottleneck, and what removing it gives.")
      .def("to_html", &report::to_html, "A page for a browser that needs no other file.")
      .def("to_json", &report::to_json, "All figures, times in seconds.")
      .def(
          "to_dict",
          [](const report& r) { return nanobind::module_::import_("json").attr("loads")(r.to_json()); },
          "The same as a dict.")
      .def_prop_ro("samples", [](const report& r) { return r.samples; })
      .def_prop_ro("batches", [](const report& r) { return r.batches; })
      .def_prop_ro(
          "seconds", [](const report& r) { return r.taking; }, "While an epoch was taken.")
      .def_prop_ro(
          "waiting", [](const report& r) { return r.wait_mean; },
          "The share of the loop's time that it waited for data, 0 to 1.");
}

/// For Python's garbage collector: a loader's references, and how to break a cycle.
inline int traverse_loader(::PyObject* self, ::visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (!nanobind::inst_ready(self)) return 0;
  Py_VISIT(nanobind::inst_ptr<python_loader>(self)->into().ptr());
  return 0;
}
inline int clear_loader(::PyObject* self) noexcept {
  if (nanobind::inst_ready(self)) nanobind::inst_ptr<python_loader>(self)->into() = nanobind::none();
  return 0;
}

/// Any cycle goes through a loader's references, and is broken there.
inline int traverse_range(::PyObject* self, ::visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (nanobind::inst_ready(self)) Py_VISIT(nanobind::inst_ptr<python_range>(self)->loader.ptr());
  return 0;
}
inline python_range* begin_range(nanobind::handle of, std::optional<std::uint64_t> epoch) {
  std::unique_ptr<python_range> out = nanobind::cast<python_loader&>(of).begin(epoch);
  out->loader = nanobind::borrow(of);
  return out.release();
}

inline void add_loader_class(nanobind::module_& m) {
  using nanobind::arg;
  static ::PyType_Slot of_range[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_range)},
                                     {0, nullptr}};
  static ::PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_loader)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&clear_loader)},
                                  {0, nullptr}};
  nanobind::class_<python_range>(m, "Epoch", nanobind::type_slots(of_range),
                                 "One pass over the data: an iterator of batches.")
      .def(
          "__iter__", [](nanobind::handle self) { return nanobind::borrow(self); },
          nanobind::sig("def __iter__(self) -> Epoch"))
      .def("__next__", &python_range::next, nanobind::sig("def __next__(self) -> typing.Any"))
      .def("__len__", &python_range::left, "Batches left.");
  nanobind::class_<python_loader>(
      m, "Loader", nanobind::type_slots(slots),
      "An iterable of batches. Each loop over it is the next epoch; workers, caches and open files live as "
      "long as it does, and the next epoch's first batches are made while the last of this one are used.")
      .def(
          "__iter__", [](nanobind::handle self) { return begin_range(self, std::nullopt); },
          nanobind::rv_policy::take_ownership,
          "The next epoch, which begins when its first batch is asked for; after load_state_dict() the rest "
          "of the epoch in which the state stands.")
      .def(
          "epoch", [](nanobind::handle self, std::uint64_t e) { return begin_range(self, e); }, arg("epoch"),
          nanobind::rv_policy::take_ownership, "The epoch of that number, from 0 on: its order is its own.")
      .def("__repr__", &python_loader::description)
      .def("__len__", &python_loader::batches, "Batches of an epoch.")
      .def_prop_ro("samples", &python_loader::samples,
                   "The number of samples in an epoch's batches, over all ranks.")
      .def_prop_ro("current_epoch", &python_loader::current_epoch,
                   "The epoch under way, or the one in which a loaded state stands.")
      .def(
          "state_dict",
          [](const python_loader& l) {
            nanobind::dict out;
            out["wick"] = to_bytes(l.state());
            return out;
          },
          "Where the training stands, after the last batch that was taken: at most 4 KiB, for a checkpoint.")
      .def("load_state_dict", &load_dict, arg("state_dict"),
           "Resumes there, on any number of workers and ranks with the same global batch: the next loop "
           "begins with the batch after it.")
      .def(
          "state", [](const python_loader& l) { return to_bytes(l.state()); },
          "The same as bytes: those of wick::loader::state() in C++.")
      .def("load_state", &load_bytes, arg("state"), "Resumes from state().")
      .def("seek", &python_loader::seek, arg("epoch"), arg("batch"),
           "The next loop begins with that batch of that epoch, both counted from 0.")
      .def("report", &python_loader::report, "Where the time went since the report before.")
      .def_prop_ro("failures", &failures_of,
                   "The failed samples, a dict each: key, stage, epoch, position, text, action, tries, "
                   "substitute. The first 10,000.")
      .def(
          "fingerprint",
          [](const python_loader& l, std::uint64_t epoch) { return l.fingerprint(epoch).value; },
          arg("epoch"), "A number for the samples that an epoch delivered, equal for any number of workers.")
      .def(
          "trace", [](python_loader& l, const python::path& to) { l.trace(to.text); }, arg("path"),
          "Writes a trace for Perfetto until stop_trace().")
      .def("stop_trace", &python_loader::stop_trace)
      .def(
          "write_quarantine",
          [](const python_loader& l, const python::path& to) { l.write_quarantine(to.text); }, arg("path"),
          "Writes the keys of the failed samples: the next run leaves them out by quarantine=[path].");
}

// ---- exceptions ----

/// A module's exceptions. They live as long as the process, like the translator.
struct module_errors {
  PyObject* error;
  PyObject* sample_error;
};
inline void raise(PyObject* type, const std::exception& e) {
  PyErr_SetObject(type, message_text(in_python(e.what())).ptr());
}
inline void translate(const std::exception_ptr& thrown, void* of) {
  const auto* const types = static_cast<const module_errors*>(of);
  try {
    std::rethrow_exception(thrown);
  } catch (const sample_error& e) {
    raise(types->sample_error, e);
    nanobind::python_error raised;  // takes the raised exception
    nanobind::object value = nanobind::borrow(raised.value());
    value.attr("key") = python::to_python<std::string>::make(std::string(e.key()), python::tensors::numpy);
    value.attr("stage") = e.stage();
    value.attr("epoch") = e.epoch();
    value.attr("position") = e.position();
    raised.restore();
  } catch (const error& e) {
    raise(types->error, e);
  }
}

/// Lets Ctrl-C end waits for servers while a source is made. Only Python's main thread handles signals; other
/// threads must not wait here for the GIL, which the main thread holds if a pipeline's function keeps it.
inline void hear_interrupts() {
  static std::atomic<unsigned long> main_thread;
  main_thread = nanobind::cast<unsigned long>(
      nanobind::module_::import_("threading").attr("main_thread")().attr("ident"));
  interruption().store(
      [] {
        using clock = std::chrono::steady_clock;
        static clock::time_point asked;
        // Checking may take as long as another thread's turn.
        if (PyThread_get_thread_ident() != main_thread ||
            clock::now() - asked < std::chrono::milliseconds(50))
          return;
        const nanobind::gil_scoped_acquire interpreter;
        asked = clock::now();
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      },
      std::memory_order_release);
}

/// Once per module; a second call does nothing.
inline void add_module_types(nanobind::module_& m) {
  if (nanobind::hasattr(m, "Loader")) return;
  std::string name = nanobind::cast<std::string>(m.attr("__name__"));
  // A private part of a package: users know the exceptions by the package's name.
  if (const std::size_t dot = name.rfind("._"); dot != std::string::npos) name.resize(dot);
  const auto exception = [&](const char* of, PyObject* base) {
    PyObject* const type = PyErr_NewException((name + "." + of).c_str(), base, nullptr);
    if (type == nullptr) throw nanobind::python_error();
    m.attr(of) = nanobind::borrow(type);
    return type;  // the translator keeps it
  };
  auto* const types = new module_errors{};
  types->error = exception("Error", PyExc_RuntimeError);
  types->sample_error = exception("SampleError", types->error);
  nanobind::register_exception_translator(&translate, types);
  add_report(m);
  add_loader_class(m);
  hear_interrupts();
}

}  // namespace wick::detail

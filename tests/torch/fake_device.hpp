// A device in this process's memory that behaves as an accelerator does, as DeviceType::PrivateUse1: work is
// put on streams, each a queue with a thread of its own; events are recorded and waited for on these queues;
// memory goes back in stream order. Tests hold streams to make copies slow, and read in the log the
// requests to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace wick_test::fake {

/// There are two, 0 and 1.
c10::Device device(int index = 0);

enum class what {
  copy,       // put on a stream
  kernel,     // likewise
  record,     // of an event on a stream
  wait,       // of a stream for an event
  free,       // of memory, once the stream is there
  used_on,    // memory was said to be used on a stream
  host_wait,  // a host thread waited for the device
};
struct entry {
  what kind;
  c10::StreamId stream = 0;
  const void* data = nullptr;                           // what is written to (copy, kernel) or used (used_on)
  std::uint64_t event = 0;                              // record, wait: its number, from 1 on
  std::uint64_t version = 0;                            // of the event: how often it was recorded
  std::thread::id thread = std::this_thread::get_id();  // who asked
};

/// Everything since forget_log(), in the order in which it was asked for.
std::vector<entry> log();
void forget_log();
std::size_t count(what kind);
/// How often the host asked whether an event has happened.
std::uint64_t queries();
/// Allocations of device memory that are not free again.
std::size_t live_blocks();
/// Whether a copy that has not happened yet reads host memory in [data, data + bytes).
bool will_read(const void* data, std::size_t bytes);
/// The stream of the last work that was put on one to write `t`; -1 when there is none.
c10::StreamId written_on(const at::Tensor& t);
/// Whether `by` was made to wait for the last work that was put on a stream to write `t`.
bool waits_for(c10::Stream by, const at::Tensor& t);
/// How many pieces of work were put on `s`, and how many of them up to the event for which `by` was last
/// made to wait.
std::size_t work(c10::Stream s);
std::size_t work_before(c10::Stream by, c10::Stream s);

/// The calling thread's current stream.
c10::Stream current_stream(int index = 0);
/// A new one.
c10::Stream make_stream(int index = 0);
/// The stream made last, and whether it was asked to have a high priority.
c10::Stream last_stream();
bool last_is_urgent();
/// Puts `op`, with which some memory becomes free, on a stream.
void put_free(c10::Stream s, std::function<void()> op);
/// Whether all that was put on it has happened.
bool idle(c10::Stream s);
/// Waits for that; for tests, so not in the log. False when it takes longer than a minute.
bool finish(c10::Stream s);
bool finish_all();

/// A copy of `t` in host memory that is complete when the current stream is: bytes are 0xEE until then.
at::Tensor read_later(const at::Tensor& t);
/// The same, complete now. Not in the log.
at::Tensor read(const at::Tensor& t);

/// Holds a stream: what is put on it does not happen. Declare it after what waits for the stream when it
/// goes.
class gate {
 public:
  explicit gate(c10::Stream s);
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }
  /// Lets the next `n` pieces of work happen.
  void let(std::size_t n);
  void open();

 private:
  c10::Stream stream_;
};

/// While one lives, the device has no streams to give away.
class no_streams {
 public:
  no_streams();
  no_streams(const no_streams&) = delete;
  no_streams& operator=(const no_streams&) = delete;
  ~no_streams();
};

/// While one lives, a thread that asks whether an event has happened gets an exception, as after a fault of a
/// kernel.
class broken {
 public:
  broken();
  broken(const broken&) = delete;
  broken& operator=(const broken&) = delete;
  ~broken();
};

}  // namespace wick_test::fake

// Errors, whose messages say where the error is, what is wrong, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace wick::inline v0_1 {

/// The base of wick's errors. The text says what is wrong and what to do about it.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// A base of errors that say nothing about the sample: a disk, a server, or the machine failed at the time.
class passing_failure {
 public:
  virtual ~passing_failure() = default;
};
class passing_error : public error, public passing_failure {
 public:
  using error::error;
};

/// Work that a stage deferred failed in a later stage: an image is decoded when its slot is known. Messages
/// name the stage that the work belongs to.
class late_error : public error {
 public:
  late_error(std::string stage, const std::string& text) : error(text), stage_(std::move(stage)) {}
  const std::string& stage() const noexcept { return stage_; }

 private:
  std::string stage_;
};

/// Memory ran out in a stage. The error itself allocates none.
class out_of_memory : public std::bad_alloc {
 public:
  /// \param stage  a literal
  out_of_memory(const char* stage, const char* text) noexcept : stage_(stage) {
    for (std::size_t i = 0; i + 1 < sizeof text_ && text[i] != '\0'; ++i) text_[i] = text[i];
  }
  const char* stage() const noexcept { return stage_; }
  const char* what() const noexcept override { return text_; }

 private:
  const char* stage_;
  char text_[224] = {};
};

}  // namespace detail

/// A stage failed on a sample. what() reads "KEY: STAGE: what was found; what to do"; the stage's own
/// exception is at cause().
class sample_error : public error {
 public:
  /// \param written  follows the stage in the text: " at train.cpp:42", for a stage without its own name
  sample_error(std::string key, std::string stage, std::uint64_t epoch, std::uint64_t position,
               const std::string& text, std::exception_ptr cause, const std::string& written = {});

  /// The sample's name, as its source gives it.
  const std::string& key() const noexcept { return key_; }
  /// The stage that failed.
  const std::string& stage() const noexcept { return stage_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t position() const noexcept { return position_; }
  /// The exception that the stage threw.
  const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::string key_, stage_;
  std::uint64_t epoch_, position_;
  std::exception_ptr cause_;
};

namespace detail {

/// `text` with \xNN for characters that a terminal or a log could misread (control characters, line breaks).
std::string printable(std::string_view text);

/// The end of a message about a bad sample, after its other advice.
inline constexpr const char* or_leave_it_out = ", or set .on_error = wick::on_error::skip to leave it out";
/// A message without that end, if it makes no sense: a policy has left the sample out, or there is none.
std::string without_leave_it_out(std::string text);

/// "1st", "2nd", "3rd", "4th", …, for a number counted from 0.
std::string ordinal(std::uint64_t index);

}  // namespace detail

}  // namespace wick

// Implements failures/detail/error_account.hpp. Included in exactly one file of a program.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <typeinfo>

#include <wick/failures/detail/error_account.hpp>
#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The name as written in C++, without inline namespaces of libraries.
std::string type_name(const std::type_info& type) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed), &std::free);
  std::string out = name ? name.get() : type.name();
  for (const std::string_view space : {"__cxx11::", "__1::", "(anonymous namespace)::"}) {
    for (std::size_t at = 0; (at = out.find(space)) != std::string::npos;) out.erase(at, space.size());
  }
  return out;
}

/// An exception that isn't wick's often says little without its type.
std::string with_type(const std::exception& e) {
  const std::string type = type_name(typeid(e)), text = e.what();
  return text.find(type) != std::string::npos ? text : type + ": " + text;
}

}  // namespace

void describe_cause(const std::exception_ptr& cause, failure_log::entry& to) {
  const auto is = [&](error_kind kind, std::string text) {
    to.kind = kind;
    to.text = std::move(text);
  };
  try {
    std::rethrow_exception(cause);
  } catch (const late_error& e) {
    is(error_kind::data, e.what());
    to.stage = e.stage();
  } catch (const quarantined_sample& e) {
    is(error_kind::quarantined, e.what());
  } catch (const misshapen& e) {
    is(error_kind::shape, e.what());
  } catch (const error& e) {
    is(error_kind::data, e.what());
  } catch (const std::system_error& e) {
    is(error_kind::system, with_type(e));
  } catch (const out_of_memory& e) {
    is(error_kind::memory, e.what());
    to.stage = e.stage();
  } catch (const std::bad_alloc& e) {
    is(error_kind::memory, e.what());
  } catch (const std::exception& e) {
    is(error_kind::exception, with_type(e));
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    is(error_kind::exception, "threw a value" + (type != nullptr ? " of type " + type_name(*type) : "") +
                                  ", which isn't a std::exception");
  }
  // A stage's own message may begin with its name, which needn't appear twice.
  if (to.text.starts_with(to.stage + ": ")) to.text.erase(0, to.stage.size() + 2);
}

void sort_by_slot(std::vector<reported_failure>& failures) {
  std::stable_sort(failures.begin(), failures.end(),
                   [](const reported_failure& a, const reported_failure& b) { return a.slot < b.slot; });
}

sample_error to_exception(const reported_failure& f) {
  const failure_log::entry& e = f.entry;
  return sample_error(e.key, e.stage, e.epoch, e.position, e.text, f.cause, e.written);
}

/// The stage in which each sample failed, by the sample's index.
struct error_account::bad_samples {
  std::map<std::uint64_t, std::size_t> stages;
};

error_account::error_account(const error_options& limits, const std::string& lines, const quarantine& known)
    : limits_(limits), bad_(make_owned<bad_samples>()) {
  if (!lines.empty()) file_ = make_owned<failure_log_file>(lines);
  for (const quarantine::entry& e : known.entries()) bad_->stages.emplace(e.index, e.stage);
}

error_account::error_account(error_account&& other) noexcept = default;
error_account::~error_account() = default;

void error_account::add(std::uint64_t epoch, std::uint64_t first_slot, std::uint64_t count,
                        std::uint64_t passed, std::uint64_t of_epoch,
                        const std::vector<reported_failure>& failures) {
  if (epoch != epoch_) epoch_failures_ = 0;
  epoch_ = epoch;
  std::uint64_t next = first_slot, longest = 0;
  const reported_failure* last = nullptr;
  for (const reported_failure& f : failures) {
    if (file_) file_->add(f.entry);
    remember(f);
    failure_log_.add(f.entry);
    if (f.known || f.entry.action == error_action::retry) continue;
    ++counted_;
    last = &f;
    if (!f.planned) continue;
    ++epoch_failures_;
    if (f.slot < next) continue;
    consecutive_ = f.slot == next ? consecutive_ + 1 : 1;
    longest = std::max(longest, consecutive_);
    next = f.slot + 1;
  }
  if (next < first_slot + count) consecutive_ = 0;
  if (last != nullptr) check(*last, longest, passed, of_epoch);
}

std::vector<quarantine::entry> error_account::bad() const {
  std::vector<quarantine::entry> out;
  for (const auto& [index, stage] : bad_->stages) out.push_back({index, stage});
  return out;
}

bool error_account::any_bad() const noexcept { return !bad_->stages.empty(); }

void error_account::forget_bad() noexcept { bad_->stages.clear(); }

void error_account::write(loader_state& to) const {
  to.failures = failure_log_.of_training();
  to.counted_failures = counted_;
  to.epoch_failures = epoch_failures_;
  to.consecutive_failures = consecutive_;
}

void error_account::read(const loader_state& from) {
  failure_log_.go_on_from(from.failures);
  counted_ = from.counted_failures;
  epoch_ = from.epoch;
  epoch_failures_ = from.epoch_failures;
  consecutive_ = from.consecutive_failures;
}

void error_account::begin(std::uint64_t epoch) noexcept {
  epoch_ = epoch;
  epoch_failures_ = 0;
}

namespace {

/// Whether the sample itself may be good.
bool blames_no_sample(const std::exception_ptr& cause) {
  if (cause == nullptr) return false;
  try {
    std::rethrow_exception(cause);
  } catch (const passing_failure&) {
    return true;
  } catch (const std::system_error& e) {
    const bool of_system =
        e.code().category() == std::generic_category() || e.code().category() == std::system_category();
    return of_system && may_pass(e.code().value());
  } catch (...) {
    return false;
  }
}

std::string without_zeros(double x) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%g", x);
  return out.data();
}

}  // namespace

void error_account::remember(const reported_failure& f) {
  const error_kind k = f.entry.kind;
  const bool of_the_sample =
      (k == error_kind::data || k == error_kind::exception || k == error_kind::system) &&
      !blames_no_sample(f.cause);
  if (of_the_sample && f.entry.action != error_action::retry && bad_->stages.size() < max_quarantined) {
    bad_->stages.emplace(f.index, f.stage);
  }
}

void error_account::check(const reported_failure& last, std::uint64_t longest, std::uint64_t passed,
                          std::uint64_t of_epoch) const {
  const auto beyond = [&](const std::string& what, const std::string& allowed) {
    throw too_many_errors("loader: " + what + ", and on_error allows " + allowed + "; the last was " +
                          last.entry.key + ": " + last.entry.stage + last.entry.written + ": " +
                          last.entry.text + "; loader.failure_log(), in Python loader.failures, has all");
  };
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  if (counted_ > limits_.count)
    beyond(number(counted_) + " samples failed in this training", number(limits_.count));
  if (longest > limits_.consecutive) {
    beyond(number(longest) + " samples failed one after another", number(limits_.consecutive));
  }
  const std::uint64_t of = std::max(passed, std::min<std::uint64_t>(1000, of_epoch));
  if (limits_.rate < 1 && static_cast<double>(epoch_failures_) > limits_.rate * static_cast<double>(of)) {
    beyond(number(epoch_failures_) + " samples of the first " + number(passed) + " of epoch " +
               number(epoch_) + " failed",
           "a rate of " + without_zeros(limits_.rate));
  }
}

std::vector<report::outcome> outcomes_since(const std::vector<error_count>& before,
                                            const std::vector<error_count>& now) {
  std::vector<report::outcome> out;
  for (std::size_t i = 0; i < now.size(); ++i) {  // counts are only ever added at the end
    const std::uint64_t more = now[i].count - (i < before.size() ? before[i].count : 0);
    if (more != 0) out.push_back({now[i].stage, outcome_of(now[i].action), more});
  }
  return out;
}

void fingerprint_recorder::begin(std::uint64_t epoch) {
  epochs_.reserve(max_kept);  // nothing throws after it
  std::erase_if(epochs_, [&](const entry& e) { return e.epoch == epoch; });
  if (epochs_.size() == max_kept) epochs_.erase(epochs_.begin());
  epochs_.push_back({epoch, {}});
}

void fingerprint_recorder::seal(std::uint64_t data, std::uint64_t batch) noexcept {
  for (entry& e : epochs_) {
    if (e.factor == 0) e.factor = factor_of(e.epoch, data, batch);
  }
}

// Odd, so that different sums stay different.
std::uint64_t fingerprint_recorder::factor_of(std::uint64_t epoch, std::uint64_t data,
                                              std::uint64_t batch) noexcept {
  return fingerprint_hash().add(data).add(epoch).add(batch).value() | 1;
}

epoch_fingerprint fingerprint_recorder::of(std::uint64_t epoch, std::uint64_t data,
                                           std::uint64_t batch) const noexcept {
  for (const entry& e : epochs_) {
    if (e.epoch != epoch) continue;
    epoch_fingerprint out = e.sum;
    out.value *= e.factor != 0 ? e.factor : factor_of(epoch, data, batch);  // so that sums stay sums
    return out;
  }
  return {};
}

}  // namespace wick::detail

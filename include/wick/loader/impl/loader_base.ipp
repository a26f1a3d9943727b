// Implements loader/loader_base.hpp and loader/detail/loader_shell.hpp, which pass calls on to the core.
// Included in exactly one file of a program.
#pragma once

#include <stdexcept>
#include <utility>

#include <wick/loader/detail/loader_core.hpp>
#include <wick/loader/loader_base.hpp>

namespace wick::inline v0_1 {

detail::loader_core& loader_base::core() const { return shell().core(); }

void loader_base::refresh() { core().refresh(); }
void loader_base::set_mix_weights(const std::vector<source_weight>& weights) {
  core().set_mix_weights(weights);
}
std::vector<source_weight> loader_base::mixture() const { return core().mixture(); }
std::vector<std::byte> loader_base::state() const { return core().state(); }
void loader_base::load_state(std::span<const std::byte> bytes) { core().load_state(bytes); }
std::uint64_t loader_base::current_epoch() const { return core().current_epoch(); }
std::uint64_t loader_base::next_epoch() const { return core().next_epoch(); }
void loader_base::seek(std::uint64_t epoch, std::uint64_t batch) { core().seek(epoch, batch); }
std::uint64_t loader_base::batches() const { return core().batches(); }
std::uint64_t loader_base::samples() const { return core().samples(); }
executor& loader_base::on() { return core().on(); }
std::uint64_t loader_base::filtered() const { return core().filtered(); }
const wick::failure_log& loader_base::failure_log() const { return core().failure_log(); }
epoch_fingerprint loader_base::fingerprint(std::uint64_t epoch) const { return core().fingerprint(epoch); }
void loader_base::write_quarantine(const std::string& path) const { core().write_quarantine(path); }
std::uint64_t loader_base::slab_allocations() const { return core().slab_allocations(); }
std::size_t loader_base::peak_bytes_in_flight() const { return core().peak_bytes_in_flight(); }
wick::report loader_base::report() { return core().report(); }
void loader_base::trace(const std::string& path, trace_options how) { core().trace(path, how); }
void loader_base::stop_trace() { core().stop_trace(); }

namespace detail {

void refuse_empty_loader() {
  throw std::logic_error(
      "wick::loader: it is empty: it was default-constructed or moved from; assign it a loader of a "
      "pipeline");
}

loader_shell::loader_shell(owned<executor> own, owned<erased_pipeline> what, const loader_options& options)
    : core_(make_owned<loader_core>(*this, std::move(own), std::move(what), options)) {}
loader_shell::~loader_shell() = default;

void loader_shell::epoch(std::uint64_t e) { core_->epoch(e); }
bool loader_shell::next(const wait_check* check) { return core_->next(check); }
task<bool> loader_shell::next_async(loader_shell* self) { return loader_core::next_async(self->core_.get()); }
bool loader_shell::is_ready() const noexcept { return core_->is_ready(); }
bool loader_shell::next_in_group() { return core_->next_in_group(); }
void loader_shell::require_outside(const char* call, const char* instead) const {
  core_->on().require_outside(call, instead);
}
void loader_shell::refuse_outrun() {
  throw std::logic_error(
      "wick::loader: another epoch was begun since this range was made, by epoch() or by a loop over the "
      "loader; one epoch is under way at a time: use a second loader for a loop inside a loop");
}
std::uint64_t loader_shell::items_left() const noexcept { return core_->items_left(); }
std::uint64_t loader_shell::samples_taken() const noexcept { return core_->samples_taken(); }

}  // namespace detail
}  // namespace wick

// Implements tables/detail/parquet_table.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <utility>

#include <wick/async/detail/io_pool.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/tables/detail/parquet_table.hpp>
#include <wick/tables/impl/parquet_files.ipp>
#include <wick/tables/impl/parquet_groups.ipp>

namespace wick::inline v0_1::detail {

struct parquet_table::state : parquet_files, std::enable_shared_from_this<state> {
  state(const files& of, const std::vector<std::string>& names, const std::vector<parquet_field>& fields,
        const parquet_options& how)
      : parquet_files(of, names, fields, how), kept(how.kept_bytes / 4 * 3, groups.size()) {}

  /// Work for an I/O thread. (A lambda here would cause a g++ warning.)
  struct decoder {
    state* all;
    row_group* of;
    kept_groups::claim* by;
    context* c;
    void operator()() const {
      by->run([this] { return all->decode(*of, c->stop()); });
    }
  };

  /// The same for a group that no sample waits for yet. Has no stop token, since its loader may be gone by
  /// then.
  struct ahead_job final : job {
    std::shared_ptr<state> all;
    row_group* of;
    kept_groups::claim by;

    ahead_job(std::shared_ptr<state> in, row_group& g) : all(std::move(in)), of(&g), by(all->kept, g) {
      execute = [](job* self) noexcept {
        const std::unique_ptr<ahead_job> mine(static_cast<ahead_job*>(self));
        try {
          mine->by.run([&] { return mine->all->decode(*mine->of, {}); });
        } catch (...) {  // the sample that needs it reports the error
        }
      };
    }
  };
  /// Called at the first row of a decoded group. If groups are read in order, starts decoding the next ones.
  void came_to(std::size_t number, context& c) {
    const bool follows = last.exchange(number, std::memory_order_relaxed) + 1 == number;
    const unsigned run = follows ? in_order.load(std::memory_order_relaxed) + 1 : 0;
    in_order.store(run, std::memory_order_relaxed);
    for (std::size_t next = number + 1; run >= 2 && next <= number + 2 && next < groups.size(); ++next) {
      if (room_for(*groups[next]) > kept.most() / 4) return;
      try {
        auto ahead = std::make_unique<ahead_job>(shared_from_this(), *groups[next]);
        if (!ahead->by.mine()) continue;
        c.on()->io().post(ahead.get());
        static_cast<void>(ahead.release());
      } catch (...) {  // it is decoded when a sample needs it
      }
    }
  }

  // ---- rows ----

  std::size_t group_of(std::uint64_t row) const noexcept {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), row) - begins.begin()) - 1;
  }
  loaded_row place(std::size_t number, std::uint64_t row, group_ptr in, context* c) {
    row_group& of = *groups[number];
    if (of.fresh.load(std::memory_order_relaxed) && of.fresh.exchange(false, std::memory_order_relaxed) &&
        c != nullptr)
      came_to(number, *c);
    const parquet_column* const columns_of = in->columns.data();
    return {std::move(in), columns_of, static_cast<std::size_t>(row - begins[number])};
  }
  /// The bytes of a row's texts and lists.
  std::size_t bytes_beside(const loaded_row& where) const noexcept {
    std::size_t bytes = 0;
    for (std::size_t f = 0; f < plans.size(); ++f) {
      const auto kind = plans[f].field.kind;
      if (kind == parquet_field::kinds::text || kind == parquet_field::kinds::list)
        bytes += where.columns[f].of(where.row).size();
    }
    return bytes;
  }

  kept_groups kept;
  std::atomic<std::size_t> last{0};   // the last group that samples reached
  std::atomic<unsigned> in_order{0};  // number of groups in a row so far
};

parquet_table::parquet_table(const files& of, const std::vector<std::string>& columns,
                             const std::vector<parquet_field>& fields, const parquet_options& options)
    : state_(std::make_shared<state>(of, columns, fields, options)) {}
parquet_table::~parquet_table() = default;

std::uint64_t parquet_table::size() const noexcept { return state_->begins.back(); }

std::string parquet_table::key(std::uint64_t row) const {
  const std::size_t g = state_->group_of(row);
  const row_group& in = *state_->groups[g];
  return state_->opened.paths().key(in.file) + ", row " +
         std::to_string(in.first_row + row - state_->begins[g]);
}

std::uint64_t parquet_table::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(state_->opened.paths().fingerprint()).add(state_->columns.size());
  for (std::size_t c = 0; c < state_->columns.size(); ++c)
    h.add(state_->columns[c]).add(state_->first_types[c]);
  for (const std::uint64_t begin : state_->begins) h.add(begin);
  for (const auto& g : state_->groups) h.add(g->file).add(g->first_row);
  if (state_->options.null_number) h.add(fingerprint_hash::of(*state_->options.null_number));
  return h.value();
}

void parquet_table::add_origin_to(fingerprint_hash& h, std::uint64_t row) const noexcept {
  const std::size_t g = state_->group_of(row);
  const row_group& in = *state_->groups[g];
  state_->opened.stamp(in.file).add_to(h);
  h.add(in.file).add(in.first_row + row - state_->begins[g]);
}

std::vector<std::uint64_t> parquet_table::groups() const {
  std::vector<std::uint64_t> out;
  for (std::size_t g = 0; g + 1 < state_->begins.size(); ++g)
    out.push_back(state_->begins[g + 1] - state_->begins[g]);
  return out;
}

std::uint64_t parquet_table::bytes_read() const noexcept {
  return state_->bytes_read.load(std::memory_order_relaxed);
}

std::string parquet_table::note() const {
  const kept_groups& kept = state_->kept;
  if (kept.decoded() == 0) return {};
  const auto [count, bytes] = kept.now();
  char text[256];
  std::snprintf(
      text, sizeof text,
      "parquet: %llu times one of %zu row groups was decoded; %zu are in memory, in %.1f of %.1f MB",
      static_cast<unsigned long long>(kept.decoded()), state_->groups.size(), count,
      static_cast<double>(bytes) / 1e6, static_cast<double>(kept.most()) / 1e6);
  return text;
}

bool parquet_table::find(std::uint64_t row, context& c, loaded_row& out) {
  const std::size_t number = state_->group_of(row);
  group_ptr in = state_->kept.find(*state_->groups[number], c.on()->this_slot());
  if (in == nullptr) return false;
  out = state_->place(number, row, std::move(in), &c);
  const std::size_t beside = state_->bytes_beside(out);
  return beside == 0 || c.try_reserve(beside);
}

task<loaded_row> parquet_table::fetch(std::uint64_t row, context* c) {
  state& all = *state_;  // the source outlives its samples
  const std::size_t number = all.group_of(row);
  row_group& of = *all.groups[number];
  group_ptr got = all.kept.find(of);
  while (got == nullptr) {
    kept_groups::claim claim(all.kept, of);
    group_decoding* const decoding = claim.decoding();
    if (decoding == nullptr) {
      got = all.kept.find(of);
    } else if (claim.mine()) {
      auto room = c->reserve(all.room_for(of));
      co_await room;
      auto reading = c->on()->io().run(*c->on(), state::decoder{&all, &of, &claim, c});
      co_await reading;
      got = decoding->got;
      if (got == nullptr) throw cancelled();
    } else {
      auto waiting = decoding->over.wait(*c);
      co_await waiting;
      if (decoding->failure) std::rethrow_exception(decoding->failure);
      got = decoding->got;  // null if its loader has ended
    }
  }
  loaded_row out = all.place(number, row, std::move(got), c);
  if (const std::size_t beside = all.bytes_beside(out); beside != 0) {
    auto room = c->reserve(beside);
    co_await room;
  }
  co_return out;
}

loaded_row parquet_table::read_now(std::uint64_t row) {
  const std::size_t number = state_->group_of(row);
  row_group& of = *state_->groups[number];
  group_ptr got = state_->kept.find(of);
  if (got == nullptr) {
    kept_groups::claim claim(state_->kept, of);
    if (claim.mine()) claim.run([&] { return got = state_->decode(of, {}); });
    if (got == nullptr) got = state_->decode(of, {});  // another thread is decoding it, too
  }
  return state_->place(number, row, std::move(got), nullptr);
}

void parquet_table::refuse(const loaded_row& where, std::size_t field) const {
  const state::field_plan& plan = state_->plans[field];
  const parquet_column& column = where.columns[field];
  const std::string name = "column \"" + printable(state_->columns[plan.first]) + "\" ";
  const bool lists = column.offsets != nullptr && plan.field.kind != parquet_field::kinds::text;
  const bool filled = state_->options.null_number.has_value();
  std::string what = lists && filled ? "a null list" : "a null";
  if (lists && plan.field.kind == parquet_field::kinds::array) {
    const std::size_t found = column.of(where.row).size() / column.size;
    if (found != plan.field.count() && found != 0) {
      throw error(name + "has " + std::to_string(found) + " numbers here, and its field takes " +
                  std::to_string(plan.field.count()) + "; make it a std::vector" + or_leave_it_out);
    }
    if (found == 0)
      what = "a null or an empty list";
    else if (plan.field.extents.size() > 1)
      what += ", or an inner list of another length than its field's,";
  }
  const bool fillable = plan.field.kind != parquet_field::kinds::text && !filled;
  throw error(name + "has " + what + " here; write a value into the file" +
              (fillable ? ", say {.null_number = 0} for numbers" : "") + or_leave_it_out);
}

}  // namespace wick::detail

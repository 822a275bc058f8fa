// CSV of nvidia-smi and nsys: columns by the words that their headers hold.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "hwdb/measured/csv.h"
#include "hwdb/measured/meter.h"

namespace plimsoll {
namespace {

using Row = std::vector<std::string>;

// The column whose name, but for its unit, is one of `names`.
std::optional<size_t> column(const Row& header, std::initializer_list<std::string_view> names) {
  for (size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = header[i];
    const std::string_view bare = trimmed(name.substr(0, name.find_first_of("[(")));
    if (std::find(names.begin(), names.end(), bare) != names.end()) return i;
  }
  return std::nullopt;
}

// "1234 MiB", as csv has it, or 1234, with nounits; nothing for "[N/A]".
Result<std::optional<double>> number(const std::string& cell, const Place& place) {
  const std::string_view text = trimmed(cell);
  if (text.starts_with('[')) return std::nullopt;  // "[N/A]", "[Not Supported]"
  double value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(stop, static_cast<size_t>(text.data() + text.size() - stop));
  const bool sound = fault == std::errc() && value >= 0 && value < 1e18;
  if (!sound || (!rest.empty() && rest != " MiB")) {
    return error("E512", fmt::format("a number was looked for, found \"{}\"", shortened(text, 60)),
                 place);
  }
  return value;
}

// Rows after a header that `is_header` knows; what stands before it is skipped.
template <class IsHeader, class Each>
Result<Row> walk(const ByteSource& source, const Limits& limits, std::string_view wanted,
                 IsHeader is_header, Each each) {
  CsvReader csv(source, limits);
  Row header, cells;
  const auto place = [&] { return Place{source.name(), csv.line(), 0, {}}; };
  for (int64_t rows = 0;; ++rows) {
    if (rows > limits.rows) return over_limit(limits, "rows", place());
    const auto any = csv.next(cells);
    if (!any) return tl::make_unexpected(any.error());
    if (!*any) break;
    if (header.empty()) {
      if (is_header(cells)) header = cells;
      continue;
    }
    if (cells.size() != header.size()) {
      return error("E511", fmt::format("{} fields, header has {}", cells.size(), header.size()),
                   place());
    }
    if (auto taken = each(header, cells, place()); !taken)
      return tl::make_unexpected(taken.error());
  }
  if (header.empty()) {
    return error("E531", fmt::format("no header with {}", wanted), {source.name(), 0, 0, {}},
                 "write CSV with its header: without noheader");
  }
  return header;
}

Result<MeterReading> read_nvidia_smi(const ByteSource& source, const Limits& limits) {
  const auto is_process = [](const Row& row) {
    return column(row, {"used_gpu_memory", "used_memory"});
  };
  const auto is_card = [](const Row& row) { return column(row, {"memory.used"}); };
  MeterReading reading;
  double most = 0;
  size_t missing = 0;
  std::set<std::string> owners;  // processes, or cards
  bool of_process = false;
  const auto each = [&](const Row& header, const Row& cells, const Place& place) -> Result<void> {
    const auto process = is_process(header);
    of_process = process.has_value();
    const size_t at = of_process ? *process : *is_card(header);
    const auto owner =
        of_process ? column(header, {"pid"}) : column(header, {"uuid", "gpu_uuid", "index"});
    const auto used = number(cells[at], place);
    if (!used) return tl::make_unexpected(used.error());
    if (!*used) {
      ++missing;
      return {};
    }
    if (owner) owners.emplace(trimmed(cells[*owner]));
    if (const auto name = column(header, {"name", "gpu_name"}))
      reading.device = trimmed(cells[*name]);
    most = std::max(most, **used);
    return {};
  };
  const auto header = walk(
      source, limits, "used_gpu_memory or memory.used",
      [&](const Row& row) { return is_process(row) || is_card(row); }, each);
  if (!header) return tl::make_unexpected(header.error());
  const Place place{source.name(), 0, 0, {}};
  if (owners.size() > 1) {
    return error("E532",
                 fmt::format("is of {} {}: which one is the run's?", owners.size(),
                             of_process ? "processes" : "GPUs"),
                 place, "keep the lines of one, with the header");
  }
  if (most <= 0) return error("E531", "no line says how much memory is used", place);
  reading.measured.push_back({of_process ? "nvidia_smi_mb" : "device_used_mb", most});
  if (missing > 0) {
    reading.notes.push_back(note(
        "N520", fmt::format("{} cells say that nothing was measured ([N/A])", missing), place));
  }
  return reading;
}

Result<MeterReading> read_nsys(const ByteSource& source, int64_t steps, const Limits& limits) {
  double total = 0;
  const auto is_header = [](const Row& row) {
    return column(row, {"Total Time"}) && column(row, {"Instances"});
  };
  const auto each = [&](const Row& header, const Row& cells, const Place& place) -> Result<void> {
    const auto time = number(cells[*column(header, {"Total Time"})], place);
    if (!time) return tl::make_unexpected(time.error());
    total += time->value_or(0);
    return {};
  };
  const auto header = walk(source, limits, "Total Time (ns) and Instances", is_header, each);
  if (!header) return tl::make_unexpected(header.error());
  const Place place{source.name(), 0, 0, {}};
  const std::string& time = (*header)[*column(*header, {"Total Time"})];
  if (time.find("(ns)") == time.npos) {
    return error("E531", fmt::format("times are in \"{}\", not in ns", shortened(time, 60)), place,
                 "nsys stats --timeunit ns");
  }
  if (total <= 0) return error("E531", "no kernel took any time", place);
  constexpr double kNanosecondsPerMs = 1e6;
  return MeterReading{
      .measured = {{"gpu_ms", total / kNanosecondsPerMs / static_cast<double>(steps)}},
      .device = {},
      .notes = {}};
}

}  // namespace

Result<MeterReading> read_meter_csv(const ByteSource& source, MeterForm form,
                                    std::optional<int64_t> steps, const Limits& limits) {
  if (form == MeterForm::kNvidiaSmi) return read_nvidia_smi(source, limits);
  if (steps) return read_nsys(source, *steps, limits);
  return error("E108", "nsys adds up all kernels it saw: of how many steps?",
               {source.name(), 0, 0, {}}, setting("steps", "N"));
}

}  // namespace plimsoll

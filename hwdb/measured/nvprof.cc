// CSV of nvprof: the table of kernels, by share of the GPU's time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/measured/csv.h"
#include "hwdb/measured/meter.h"

namespace plimsoll {
namespace {

using Cells = std::vector<std::string>;

// Milliseconds of a unit as nvprof writes it below its header; nothing for another word.
std::optional<double> milliseconds_of(std::string_view unit) {
  if (unit == "s") return 1e3;
  if (unit == "ms") return 1;
  if (unit == "us") return 1e-3;
  if (unit == "ns") return 1e-6;
  return std::nullopt;
}

struct KernelTable {
  std::optional<size_t> type, time, name;  // columns
  double unit = 0;                         // ms; 0: its row was not read yet
  std::map<std::string, double> ms;        // by the kernel's bare name
};

bool is_header(const Cells& row) {
  return std::ranges::find(row, "Time(%)") != row.end() &&
         std::ranges::find(row, "Name") != row.end();
}

std::optional<size_t> place_of(const Cells& row, std::string_view name) {
  const auto at = std::ranges::find(row, name);
  return at == row.end() ? std::nullopt : std::optional<size_t>(at - row.begin());
}

Result<void> add_row(const Cells& row, const Place& place, KernelTable& table) {
  const std::string& time = row[*table.time];
  if (table.unit == 0) {
    const auto unit = milliseconds_of(time);
    if (!unit) {
      return error("E531", fmt::format("times are in \"{}\"", shortened(time, 60)), place,
                   "keep the row of units below nvprof's header");
    }
    table.unit = *unit;
    return {};
  }
  // Copies and what the host calls are no kernels.
  const bool kernel =
      !row[*table.name].starts_with('[') && (!table.type || row[*table.type] == "GPU activities");
  if (!kernel) return {};
  const auto value = parse_number<double>(time);
  if (!value || !std::isfinite(*value) || *value < 0) {
    return error("E512", fmt::format("expected a number, found \"{}\"", shortened(time, 60)),
                 place);
  }
  table.ms[std::string(bare_kernel_name(row[*table.name]))] += *value * table.unit;
  return {};
}

Result<KernelTable> read_table(const ByteSource& source, const Limits& limits) {
  CsvReader csv(source, limits);
  KernelTable table;
  Cells row;
  size_t width = 0;
  for (int64_t rows = 0;; ++rows) {
    const Place place{source.name(), csv.line(), 0, {}};
    if (rows > limits.rows) return over_limit(limits, "rows", place);
    const auto any = TRY(csv.next(row));
    // Older versions write what the host calls into a second table.
    const bool ends = width > 0 && (row.size() == 1 || is_header(row));
    if (!any || ends) break;
    if (width == 0) {
      if (!is_header(row)) continue;
      width = row.size();
      table.type = place_of(row, "Type");
      table.time = place_of(row, "Time");
      table.name = place_of(row, "Name");
      if (!table.time) return error("E531", "a table without the column Time", place);
      continue;
    }
    if (row.size() != width)
      return error("E511", fmt::format("{} fields, header has {}", row.size(), width), place);
    TRY(add_row(row, place, table));
  }
  return table;
}

}  // namespace

std::string_view bare_kernel_name(std::string_view name) {
  name = name.substr(0, name.find_first_of("<("));
  if (const size_t space = name.rfind(' '); space != name.npos) name.remove_prefix(space + 1);
  if (const size_t scope = name.rfind("::"); scope != name.npos) name.remove_prefix(scope + 2);
  return name;
}

Result<MeterReading> read_nvprof(const ByteSource& source, std::optional<int64_t> steps,
                                 const Limits& limits) {
  const auto table = TRY(read_table(source, limits));
  double total = 0;
  for (const auto& [name, ms] : table.ms) total += ms;
  if (total <= 0) {
    return error("E531", "no kernel took any time", {source.name(), 0, 0, {}},
                 "nvprof --csv --print-gpu-summary writes the table");
  }
  MeterReading reading;
  if (steps) reading.measured.push_back({"gpu_ms", total / static_cast<double>(*steps)});
  for (const auto& [name, ms] : table.ms)
    reading.measured.push_back({std::string(kKernelShare) + name, 100 * ms / total});
  std::ranges::stable_sort(reading.measured.begin() + (steps ? 1 : 0), reading.measured.end(),
                           std::ranges::greater{}, &Measurement::value);
  return reading;
}

}  // namespace plimsoll

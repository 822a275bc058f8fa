// CSV of nvidia-smi and nsys: columns by the words that their headers hold.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
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
Result<std::optional<double>> number(const std::string& cell, const Place& place,
                                     std::string_view unit = "MiB") {
  const std::string_view text = trimmed(cell);
  if (text.starts_with('[')) return std::nullopt;  // "[N/A]", "[Not Supported]"
  double value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(stop, static_cast<size_t>(text.data() + text.size() - stop));
  const bool sound = fault == std::errc() && value >= 0 && value < 1e18;
  if (!sound || (!rest.empty() && trimmed(rest) != unit)) {
    return error("E512", fmt::format("expected a number, found \"{}\"", shortened(text, 60)),
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
    const auto any = TRY(csv.next(cells));
    if (!any) break;
    if (header.empty()) {
      if (is_header(cells)) header = cells;
      continue;
    }
    if (cells.size() != header.size()) {
      return error("E511", fmt::format("{} fields, header has {}", cells.size(), header.size()),
                   place());
    }
    TRY(each(header, cells, place()));
  }
  if (header.empty()) {
    return error("E531", fmt::format("no header with {}", wanted), {source.name(), 0, 0, {}},
                 "write CSV with its header: without noheader");
  }
  return header;
}

// Of a header such as "memory.used [MiB]": its unit in MiB; nothing for one nobody knows.
// nvidia-smi itself writes MiB alone.
struct HeaderUnit {
  std::string name = "MiB";
  double mebibytes = 1;
};
std::optional<HeaderUnit> unit_of(std::string_view header) {
  const size_t open = header.find_first_of("[(");
  if (open == header.npos) return HeaderUnit();
  const std::string_view name =
      trimmed(header.substr(open + 1, header.find_first_of("])", open) - open - 1));
  constexpr double kMebi = 1048576;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1 / kMebi},    {"KiB", 1024 / kMebi}, {"MiB", 1},         {"GiB", 1024},
      {"kB", 1e3 / kMebi}, {"MB", 1e6 / kMebi},   {"GB", 1e9 / kMebi}};
  for (const auto& [unit, mebibytes] : kUnits) {
    if (unit == name) return HeaderUnit{std::string(unit), mebibytes};
  }
  return std::nullopt;
}

// Lines of nvidia-smi: samples of one process or one card, or else E532.
class SmiReader {
 public:
  static std::optional<size_t> process_column(const Row& row) {
    return column(row, {"used_gpu_memory", "used_memory"});
  }
  static std::optional<size_t> card_column(const Row& row) { return column(row, {"memory.used"}); }

  Result<void> add(const Row& header, const Row& cells, const Place& place) {
    const auto process = process_column(header);
    of_process_ = process.has_value();
    const size_t at = of_process_ ? *process : *card_column(header);
    const auto unit = unit_of(header[at]);
    if (!unit) {
      return error("E531",
                   fmt::format("\"{}\" has a unit that is not known", shortened(header[at], 60)),
                   place, "nvidia-smi writes MiB");
    }
    const auto used = TRY(number(cells[at], place, unit->name));
    if (!used) {
      ++missing_;
      return {};
    }
    ++rows_;
    note_owner(header, cells);
    most_ = std::max(most_, *used * unit->mebibytes);
    return {};
  }

  Result<MeterReading> take(const Place& place) {
    if (of_process_ && processes_.size() > 1) return several(processes_.size(), "processes", place);
    if (cards_.size() > 1) return several(cards_.size(), "GPUs", place);
    if (at_once_) return several(2, "GPUs, sampled at one time", place);
    if (most_ <= 0) return error("E531", "no line has the memory in use", place);
    MeterReading reading;
    reading.device = device_;
    reading.measured.push_back({of_process_ ? "nvidia_smi_mb" : "device_used_mb", most_});
    if (missing_ > 0) {
      reading.notes.push_back(note(
          "N520", fmt::format("{} cells say that nothing was measured ([N/A])", missing_), place));
    }
    const bool processes = of_process_ && processes_.empty();
    if (rows_ > 1 && (processes || !distinct_)) {
      reading.notes.push_back(
          note("N522",
               fmt::format("no column distinguishes {}: {} lines are read as samples of one",
                           processes ? "processes" : "GPUs", rows_),
               place, of_process_ ? "ask for pid and gpu_uuid too" : "ask for index or uuid too"));
    }
    return reading;
  }

 private:
  // Every column that names a card does: a pid may be on two of them.
  void note_owner(const Row& header, const Row& cells) {
    if (const auto pid = column(header, {"pid"})) processes_.emplace(trimmed(cells[*pid]));
    std::string card;
    for (const std::string_view name : {"uuid", "gpu_uuid", "index", "gpu_index", "pci.bus_id",
                                        "gpu_bus_id", "serial", "gpu_serial"}) {
      if (const auto at = column(header, {name})) card += fmt::format("{}\n", trimmed(cells[*at]));
    }
    distinct_ = distinct_ || !card.empty();
    // Two cards of one machine may have one name.
    const auto name = column(header, {"name", "gpu_name"});
    if (name) device_ = trimmed(cells[*name]);
    if (!card.empty() || name) cards_.insert(card + device_);
    const auto time = column(header, {"timestamp"});
    if (!time || distinct_ || (of_process_ && processes_.size() > 1)) return;
    at_once_ = at_once_ || !times_.emplace(trimmed(cells[*time])).second;
  }

  static tl::unexpected<Diagnostics> several(size_t count, std::string_view of,
                                             const Place& place) {
    return error("E532", fmt::format("has {} {}; select the one of the run", count, of), place,
                 "keep the lines of one, with the header");
  }

  double most_ = 0;
  size_t missing_ = 0, rows_ = 0;
  std::set<std::string> processes_, cards_, times_;
  std::string device_;
  bool of_process_ = false, at_once_ = false, distinct_ = false;
};

Result<MeterReading> read_nvidia_smi(const ByteSource& source, const Limits& limits) {
  SmiReader reader;
  TRY(walk(
      source, limits, "used_gpu_memory or memory.used",
      [](const Row& row) { return SmiReader::process_column(row) || SmiReader::card_column(row); },
      [&](const Row& head, const Row& cells, const Place& place) {
        return reader.add(head, cells, place);
      }));
  return reader.take({source.name(), 0, 0, {}});
}

Result<MeterReading> read_nsys(const ByteSource& source, int64_t steps, const Limits& limits) {
  double total = 0;
  const auto is_header = [](const Row& row) {
    return column(row, {"Total Time"}) && column(row, {"Instances"});
  };
  const auto each = [&](const Row& header, const Row& cells, const Place& place) -> Result<void> {
    const auto time = TRY(number(cells[*column(header, {"Total Time"})], place));
    total += time.value_or(0);
    return {};
  };
  const auto header = TRY(walk(source, limits, "Total Time (ns) and Instances", is_header, each));
  const Place place{source.name(), 0, 0, {}};
  const std::string& time = header[*column(header, {"Total Time"})];
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
  return error("E108", "nsys sums over all steps that it saw: how many were there?",
               {source.name(), 0, 0, {}}, setting("steps", "N"));
}

}  // namespace plimsoll

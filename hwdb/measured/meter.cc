#include "hwdb/measured/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/measured/pickle.h"

namespace plimsoll {
namespace {

// "| Allocated memory      |   4096 KiB |  17 MiB | ...": cells between bars.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty()) {
    const std::string_view cell = trimmed(take_part(line, '|'));
    if (!cell.empty()) cells.push_back(cell);
  }
  return cells;
}

// MiB of "17 MiB", "512 B". torch/cuda/memory.py, memory_summary(), _format_size.
std::optional<double> mebibytes(std::string_view text) {
  int64_t number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || number < 0) return std::nullopt;
  const std::string_view unit(stop, static_cast<size_t>(text.data() + text.size() - stop));
  constexpr std::array<std::string_view, 6> kUnits = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  const auto at = std::find(kUnits.begin(), kUnits.end(), unit);
  if (at == kUnits.end()) return std::nullopt;
  double value = static_cast<double>(number) / 1048576.0;
  for (auto step = kUnits.begin(); step != at; ++step) value *= 1024;
  return value;
}

Result<MeterReading> read_summary(const ByteSource& source, const Limits& limits) {
  const auto text = TRY(whole_text(source, limits));
  const Place place{source.name(), 0, 0, {}};
  constexpr std::string_view kTitle = "PyTorch CUDA memory summary, device ID ";
  std::optional<double> allocated, reserved;
  std::string_view device;
  // A log may hold a summary of each epoch: peaks only grow.
  for (std::string_view rest = text; !rest.empty();) {
    const auto cells = cells_of(take_part(rest, '\n'));
    if (cells.size() == 1 && cells[0].starts_with(kTitle)) {
      const std::string_view id = cells[0].substr(kTitle.size());
      if (!device.empty() && id != device) {
        return error("E532", "has several GPUs; select the one of the run", place,
                     "keep the summary of one");
      }
      device = id;
    }
    if (cells.size() < 3) continue;
    const bool tensors = cells[0] == "Allocated memory";
    // Before PyTorch 1.4 nothing was called reserved; memory_summary() came with 1.4.
    if (!tensors && cells[0] != "GPU reserved memory") continue;
    const auto peak = mebibytes(cells[2]);
    if (!peak) {
      return error("E531", fmt::format("\"{}\" has no peak that can be read", cells[0]), place);
    }
    auto& most = tensors ? allocated : reserved;
    most = std::max(most.value_or(0), *peak);
  }
  MeterReading reading;
  if (allocated && *allocated > 0) reading.measured.push_back({"peak_allocated_mb", *allocated});
  if (reserved && *reserved > 0) reading.measured.push_back({"peak_reserved_mb", *reserved});
  if (reading.measured.empty()) {
    return error("E531", "no peak of \"Allocated memory\" or \"GPU reserved memory\"", place,
                 "print(torch.cuda.memory_summary()) writes them");
  }
  return reading;
}

}  // namespace

Result<MeterReading> read_meter(const ByteSource& source, MeterForm form,
                                std::optional<int64_t> steps, const Limits& limits) {
  TRY(refuse_pickle(source));
  if (form == MeterForm::kSnapshot) return read_snapshot(source, limits);
  if (form == MeterForm::kSummary) return read_summary(source, limits);
  if (form == MeterForm::kNvprof) return read_nvprof(source, steps, limits);
  return read_meter_csv(source, form, steps, limits);
}

}  // namespace plimsoll

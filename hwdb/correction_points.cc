// The points of a calibration's correction: lines "device,weight,features...".
#include <fmt/format.h>

#include <charconv>

#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

// The numbers of one line; empty where a word is none.
std::vector<double> numbers(std::string_view line) {
  std::vector<double> values;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    double value = 0;
    const auto [next, code] = std::from_chars(at, end, value);
    if (code != std::errc()) return {};
    values.push_back(value);
    if (next == end) return values;
    if (*next != ',') return {};
    at = next + 1;
  }
}

}  // namespace

Result<Correction> parse_correction_points(std::string_view text, Correction correction) {
  const size_t width = correction.reach.size();
  int number = 0;
  while (!text.empty()) {
    const size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::vector<double> row = numbers(line);
    const bool fits = row.size() == width + 2 && row[0] >= 0 &&
                      row[0] < static_cast<double>(correction.devices.size());
    if (!fits) {
      return error("E402",
                   fmt::format("a correction's line needs device, weight and {} features", width),
                   {.file = correction.file, .line = number, .node = {}},
                   "write the file with `plimsoll-calibrate fit`");
    }
    correction.device_of.push_back(static_cast<int>(row[0]));
    correction.weights.push_back(row[1]);
    correction.points.insert(correction.points.end(), row.begin() + 2, row.end());
  }
  return correction;
}

std::string write_correction_points(const Correction& c) {
  std::string text = "# device,weight,features... of one measured shape a line\n";
  const size_t width = c.reach.size();
  for (size_t i = 0; i < c.weights.size(); ++i) {
    text += fmt::format("{},{:.5g}", c.device_of[i], c.weights[i]);
    for (size_t f = 0; f < width; ++f) text += fmt::format(",{:.5g}", c.points[i * width + f]);
    text += '\n';
  }
  return text;
}

Result<Correction> with_points(const Correction& correction) {
  if (correction.file.empty() || !correction.weights.empty()) return correction;
  const auto text = hwdb_files().read("calibrations/corrections/" + correction.file);
  if (!text) return tl::unexpected(text.error());
  return parse_correction_points(*text, correction);
}

}  // namespace plimsoll

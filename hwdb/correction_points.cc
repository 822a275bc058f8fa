// The points of a calibration's correction: lines "device,weight,features...".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

// The number that starts at `at`, as std::from_chars() reads it: these files have few digits and no
// exponents, and such a number is an exact quotient, ten times faster.
const char* read_number(const char* at, const char* end, double& value) {
  static constexpr std::array<double, 10> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  constexpr std::ptrdiff_t kLongest = kTens.size();  // with its point
  const bool negative = at != end && *at == '-';
  const char* const first = negative ? at + 1 : at;
  const char* const last = end - first > kLongest ? first + kLongest : end;
  int64_t whole = 0;
  const auto digits = [&](const char* from) {
    for (; from != last && *from >= '0' && *from <= '9'; ++from) whole = 10 * whole + (*from - '0');
    return from;
  };
  const char* next = digits(first);
  std::ptrdiff_t count = next - first, decimals = 0;
  if (next != last && *next == '.') {
    const char* const point = next + 1;
    next = digits(point);
    decimals = next - point;
    count += decimals;
  }
  if (count == 0 || count == kLongest || (next != end && *next != ',')) {
    const auto [stop, code] = std::from_chars(at, end, value);
    return code == std::errc() ? stop : nullptr;
  }
  value = static_cast<double>(negative ? -whole : whole) / kTens[static_cast<size_t>(decimals)];
  return next;
}

// The numbers of one line into `values`; false where there are more or fewer, or a word is none, or
// not a finite one.
bool read_numbers(std::string_view line, std::span<double> values) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (size_t i = 0; i < values.size(); ++i) {
    at = read_number(at, end, values[i]);
    const bool last = i + 1 == values.size();
    if (!at || !std::isfinite(values[i])) return false;
    if ((at == end) != last || (!last && *at != ',')) return false;
    ++at;
  }
  return true;
}

size_t widest_feature(const Correction& c) {
  const size_t width = c.reach.size();
  size_t widest = 0;
  double most = 0;
  for (size_t f = 0; f < width; ++f) {
    double low = c.points[f], high = low;
    for (size_t i = f; i < c.points.size(); i += width) {
      low = std::min(low, c.points[i]);
      high = std::max(high, c.points[i]);
    }
    const double span = (high - low) / c.reach[f];
    if (span > most) {
      most = span;
      widest = f;
    }
  }
  return widest;
}

}  // namespace

Correction sorted(Correction c) {
  const size_t width = c.reach.size(), count = c.weights.size();
  if (width == 0 || count == 0) return c;
  std::vector<std::pair<double, size_t>> places;  // ties as they stood
  places.reserve(count);
  const size_t first = widest_feature(c);
  for (size_t i = 0; i < count; ++i) places.emplace_back(c.points[i * width + first], i);
  std::ranges::sort(places);
  std::vector<int> device_of;
  std::vector<double> weights, points;
  device_of.reserve(count);
  weights.reserve(count);
  points.reserve(count * width);
  for (const auto& [key, i] : places) {
    device_of.push_back(c.device_of[i]);
    weights.push_back(c.weights[i]);
    const auto point = c.points.begin() + static_cast<std::ptrdiff_t>(i * width);
    points.insert(points.end(), point, point + static_cast<std::ptrdiff_t>(width));
  }
  c.device_of = std::move(device_of);
  c.weights = std::move(weights);
  c.points = std::move(points);
  return c;
}

// Beyond it no sum of logarithms of factors means anything; those that were learnt stay below 13.
constexpr double kHeaviest = 1e6;

Result<Correction> parse_correction_points(std::string_view text, Correction correction) {
  const size_t width = correction.reach.size();
  std::vector<double> row(width + 2);
  int number = 0;
  while (!text.empty()) {
    const size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const bool fits = read_numbers(line, row) && row[0] >= 0 &&
                      row[0] < static_cast<double>(correction.devices.size()) &&
                      std::fabs(row[1]) <= kHeaviest;
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

Result<Correction> with_points(const Correction& correction, const Hwdb& hwdb) {
  if (correction.file.empty() || !correction.weights.empty()) return correction;
  const auto text = hwdb.read("calibrations/corrections/" + correction.file);
  if (!text) return tl::unexpected(text.error());
  return parse_correction_points(*text, correction);
}

}  // namespace plimsoll

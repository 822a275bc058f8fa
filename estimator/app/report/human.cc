#include "estimator/app/report/human.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace plimsoll {

std::string human_bytes(int64_t bytes) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> kUnits = {
      {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
  const auto value = static_cast<double>(bytes);
  for (const auto& [size, unit] : kUnits) {
    if (std::abs(value) >= size) return fmt::format("{:.1f} {}", value / size, unit);
  }
  return fmt::format("{} B", bytes);
}

std::string human_time(int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns >= 3600LL * 1000000000) return fmt::format("{:.1f} h", value / 3.6e12);
  if (ns >= 120LL * 1000000000) return fmt::format("{:.1f} min", value / 6e10);
  if (ns >= 1000000000) return fmt::format("{:.2f} s", value / 1e9);
  if (ns >= 1000000) return fmt::format("{:.{}f} ms", value / 1e6, ns >= 100000000 ? 0 : 1);
  return fmt::format("{:.1f} us", value / 1e3);
}

std::string human_number(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string_view human_bound(std::string_view bound_by) {
  return bound_by == "dram" ? "memory" : bound_by;
}

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

TableCell bytes_cell(int64_t bytes) { return {human_bytes(bytes), std::to_string(bytes)}; }
TableCell time_cell(int64_t ns) { return {human_time(ns), std::to_string(ns)}; }
TableCell number_cell(double value) { return {human_number(value), fmt::format("{}", value)}; }
TableCell share_cell(double share) {
  return {fmt::format("{:.0f} %", 100 * share), fmt::format("{:.4f}", share)};
}
TableCell count_cell(int64_t count) { return {std::to_string(count)}; }

}  // namespace plimsoll

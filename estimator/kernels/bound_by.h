// What a kernel's time is bound by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll {

enum class BoundBy : uint8_t { kCompute, kDram, kLatency, kHost };
inline constexpr std::array<std::string_view, 4> kBounds = {"compute", "dram", "latency", "host"};

constexpr std::string_view name(BoundBy bound_by) { return kBounds[static_cast<size_t>(bound_by)]; }

}  // namespace plimsoll

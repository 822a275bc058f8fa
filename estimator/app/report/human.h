// Quantities as people read them, and as cells of a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "estimator/app/report/table.h"

namespace plimsoll {

// "12.8 GiB", "97.5 MiB", "512 B".
std::string human_bytes(int64_t bytes);
// "176 ms", "3.42 s", "12.1 us".
std::string human_time(int64_t ns);
// Three digits or more: "0.52", "43.1", "1207".
std::string human_number(double value);

// What limits a kernel, a word of kBounds, as people call it: "memory" for "dram".
std::string_view human_bound(std::string_view bound_by);

// part / whole; 0 where there is no whole.
double share_of(int64_t part, int64_t whole);

// With the plain number as raw text: bytes, nanoseconds, a share of one.
TableCell bytes_cell(int64_t bytes);
TableCell time_cell(int64_t ns);
TableCell number_cell(double value);
TableCell share_cell(double share);  // "41 %"
TableCell count_cell(int64_t count);

}  // namespace plimsoll

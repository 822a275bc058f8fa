// Strict readers of command-line values: the whole text or an error that names the flag. Decimal
// numbers only; no sign, no exponent, no leading zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// E103 with the range where the text is not a whole number within it.
Result<int64_t> parse_count(std::string_view flag, std::string_view text, int64_t low,
                            int64_t high);
// E103 where it is not a decimal number in [low, high].
Result<double> parse_real(std::string_view flag, std::string_view text, double low, double high);
// "24GiB", "1.5GB", "512MiB"; E104 for an ambiguous or malformed size.
Result<int64_t> parse_bytes(std::string_view flag, std::string_view text);
// Splits "NAME=VALUE". E105 where there is no '=' or no name.
Result<std::pair<std::string, std::string>> parse_assignment(std::string_view flag,
                                                             std::string_view text);
// "1x3x224x224": extents from 1. E103 names the one that is none.
Result<std::vector<int64_t>> parse_extents(std::string_view flag, std::string_view text);
// "1,64,-1": what a Reshape or Slice may be told. E103 likewise.
Result<std::vector<int64_t>> parse_numbers(std::string_view flag, std::string_view text);
// The index of `text` among `words`. E106 otherwise, with the word that is `meant`, or else the
// nearest one.
Result<size_t> parse_word(std::string_view flag, std::string_view text,
                          const std::vector<std::string>& words, std::string_view meant = {});

}  // namespace plimsoll

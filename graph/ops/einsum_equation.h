// EinsumEquation: "bhid,...jd -> bhij" taken apart, for the shape rule and for what runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::ops {

struct EinsumEquation {
  std::vector<std::string> operands;
  std::optional<std::string> result;  // none: implied
};

EinsumEquation split_equation(std::string text);

// A label for each dimension: letters, and for "..." digits counted from the right, "21". None
// where the labels are no letters or are not of a tensor of that rank.
std::optional<std::string> spell_labels(std::string_view labels, size_t rank);

// The result's labels where the operands' are `spelled`. Implied: the broadcast dimensions, then
// the letters that occur once, in alphabetical order. None where it names what no operand has, or
// names it twice.
std::optional<std::string> result_labels(const EinsumEquation& equation,
                                         std::span<const std::string> spelled);

}  // namespace plimsoll::ops

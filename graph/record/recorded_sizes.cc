#include "graph/record/recorded_sizes.h"

#include <charconv>
#include <optional>

namespace plimsoll {
namespace {

constexpr int64_t kLargestPower = 4;
constexpr int64_t kLargestSize = int64_t{1} << 62;

Dim term_of(JsonObject& record, const JsonValue& value, const std::vector<Dim>& symbols) {
  const JsonValue::List* const parts = record.list_in(value, "sizes");
  if (parts == nullptr) return 0;
  if (parts->size() != symbols.size() + 1) {
    record.fail("E281", "a term has a coefficient and a power of each symbol", value);
    return 0;
  }
  Dim term = record.integer_in(parts->front(), "sizes").value_or(0);
  for (size_t i = 0; i < symbols.size(); ++i) {
    const int64_t power =
        record.integer_in((*parts)[i + 1], "sizes", {.low = 0, .high = kLargestPower}).value_or(0);
    for (int64_t n = 0; n < power; ++n) term *= symbols[i];
  }
  return term;
}

// The symbols, rounded up to multiples of what stands behind the divisor; the divisor.
int64_t head_of(JsonObject& record, const JsonValue& value, std::vector<Dim>& symbols) {
  constexpr IntegerRange kAtLeastOne = {.low = 1, .high = int64_t{1} << 32};
  const JsonValue::List* const parts = value.list();
  if (parts == nullptr) return record.integer_in(value, "sizes", {.low = 1}).value_or(1);
  if (parts->size() != symbols.size() + 1) {
    record.fail("E281", "a divisor is a number, or stands before a multiple for each symbol",
                value);
    return 1;
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const int64_t unit = record.integer_in((*parts)[i + 1], "sizes", kAtLeastOne).value_or(1);
    if (unit > 1) symbols[i] = ceil_div(symbols[i], unit) * Dim(unit);
  }
  return record.integer_in(parts->front(), "sizes", {.low = 1}).value_or(1);
}

Dim polynomial(JsonObject& record, const JsonValue& value, const std::vector<std::string>& names) {
  const JsonValue::List* const parts = record.list_in(value, "sizes");
  if (parts == nullptr || parts->empty()) return 0;
  std::vector<Dim> symbols;
  for (const std::string& name : names) symbols.push_back(Dim::symbol(name));
  const int64_t over = head_of(record, parts->front(), symbols);
  Dim sum;
  for (size_t i = 1; i < parts->size(); ++i) sum += term_of(record, (*parts)[i], symbols);
  if (over > 1) sum = floor_div(sum, over);
  return lower_bound(sum).value_or(-1) >= 0 ? sum : max(sum, 0);
}

}  // namespace

RecordedSizes::RecordedSizes(JsonObject& record, const std::vector<std::string>& symbols) {
  const auto list = record.required_list("sizes");
  sizes_.reserve(list.size());
  for (const JsonValue& value : list) sizes_.push_back(polynomial(record, value, symbols));
}

Dim RecordedSizes::at(JsonObject& record, const JsonValue& value) const {
  const std::string* const name = value.string();
  if (name == nullptr)
    return record.integer_in(value, "sizes", {.low = 0, .high = kLargestSize}).value_or(0);
  size_t number = sizes_.size();
  if (name->starts_with('#'))
    std::from_chars(name->data() + 1, name->data() + name->size(), number);
  if (number < sizes_.size()) return sizes_[number];
  record.fail("E281", "names a size that is not there", value);
  return 0;
}

}  // namespace plimsoll

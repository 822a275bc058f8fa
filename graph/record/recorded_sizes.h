// The sizes of a record: whole numbers, and polynomials of its dimensions by number ("#3").
#pragma once

#include <string>
#include <vector>

#include "graph/json/object.h"
#include "graph/symbol/dim.h"

namespace plimsoll {

class RecordedSizes {
 public:
  // Of the key "sizes": [divisor, [coefficient, power of each symbol...]...] each, where
  // [divisor, multiple of each symbol...] in the divisor's place rounds the symbols up to multiples
  // before. Faults go to `record`.
  RecordedSizes(JsonObject& record, const std::vector<std::string>& symbols);

  // Never below 0. A fault, and 0, where `value` is neither a whole number nor one of them.
  Dim at(JsonObject& record, const JsonValue& value) const;

 private:
  std::vector<Dim> sizes_;
};

}  // namespace plimsoll

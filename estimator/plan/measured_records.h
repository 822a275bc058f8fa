// Measured runs as `validate` reads them: JSON files {"source", "kind", "records": [...]} or CSV
// files whose header names the same fields. Keys that the validator does not use are notes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"

namespace plimsoll {

class MeasuredRecord {
 public:
  using Field =
      std::variant<double, std::string, bool, std::vector<double>, std::vector<std::string>>;

  std::string file;
  int64_t index = 0;  // in its file, from 0
  int line = 0;
  std::string kind;  // "kernel", "layer", "model", "memory", "scaling", "workspace"

  void set(std::string key, Field value) { fields_[std::move(key)] = std::move(value); }
  bool has(std::string_view key) const { return fields_.find(key) != fields_.end(); }
  // Nothing where the field is absent or of another type.
  std::optional<double> number(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t otherwise) const {
    return integer(key).value_or(otherwise);
  }
  std::string text(std::string_view key) const;  // empty where absent
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

 private:
  std::map<std::string, Field, std::less<>> fields_;
};

// All records of a file, in order. The JSON reader's codes; E501 where there are none, E502 for a
// file that is not a measured-run file, E511 for a CSV row with another number of fields.
Result<std::vector<MeasuredRecord>> read_records(std::string_view text, const std::string& file,
                                                 const Limits& limits = {});

}  // namespace plimsoll

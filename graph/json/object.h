// Decoding an object by consuming its keys: what is left over at finish() is an error with a
// suggestion, so a misspelt key is never ignored. Faults are collected, not thrown: a reader takes
// all it wants and looks at the faults once.
//
//   Diagnostics faults;
//   JsonObject layer(value, "net.json", faults);
//   const std::string name = layer.required_string("name");
//   const int64_t units = layer.required_integer("units", {.low = 1});
//   const bool bias = layer.optional_bool("bias").value_or(true);
//   layer.finish();
//   if (has_error(faults)) return tl::unexpected(faults);
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

bool has_error(const Diagnostics& diagnostics);

struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
};
struct RealRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

class JsonObject {
 public:
  // `value`, `file` and `faults` must outlive the reader. A value that is no object gives E311
  // (E331 where `root` says it is the whole file) and reads as an empty object that misses nothing.
  JsonObject(const JsonValue& value, std::string_view file, Diagnostics& faults, bool root = false);

  bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  const JsonValue& value() const { return *value_; }
  std::span<const JsonMember> members() const;  // none where it is no object
  std::string_view file() const { return file_; }
  Diagnostics& faults() { return *faults_; }

  // Each consumes its key. A required key that is missing is E306, a wrong kind E311, outside the
  // range E312; the result is then a default and the fault is recorded. 64.0 for a whole number is
  // taken with W301.
  std::string required_string(std::string_view key);
  std::optional<std::string> optional_string(std::string_view key);
  int64_t required_integer(std::string_view key, IntegerRange range = {});
  std::optional<int64_t> optional_integer(std::string_view key, IntegerRange range = {});
  double required_real(std::string_view key, RealRange range = {});
  std::optional<double> optional_real(std::string_view key, RealRange range = {});
  bool required_bool(std::string_view key);
  std::optional<bool> optional_bool(std::string_view key);
  // One of `allowed`; E313 lists them, the nearest first.
  std::string required_choice(std::string_view key, const std::vector<std::string>& allowed);
  std::optional<std::string> optional_choice(std::string_view key,
                                             const std::vector<std::string>& allowed);
  // Empty where missing or wrong.
  std::vector<std::string> required_strings(std::string_view key);
  std::vector<std::string> optional_strings(std::string_view key);
  std::vector<int64_t> required_integers(std::string_view key, IntegerRange range = {});
  std::optional<std::vector<int64_t>> optional_integers(std::string_view key,
                                                        IntegerRange range = {});
  // The values of a list, without looking at their kinds.
  std::span<const JsonValue> required_list(std::string_view key);
  std::span<const JsonValue> optional_list(std::string_view key);
  JsonObject required_object(std::string_view key);
  std::optional<JsonObject> optional_object(std::string_view key);
  // Any kind; null where missing.
  const JsonValue* required(std::string_view key, std::string_view example = {});
  const JsonValue* optional(std::string_view key);

  // Of a value that is the key's, or one in its list.
  std::optional<std::string> text_in(const JsonValue& value, std::string_view key);
  std::optional<bool> boolean_in(const JsonValue& value, std::string_view key);
  std::optional<int64_t> integer_in(const JsonValue& value, std::string_view key,
                                    IntegerRange range = {});
  std::optional<double> real_in(const JsonValue& value, std::string_view key, RealRange range = {});
  std::optional<std::string> choice_in(const JsonValue& value, std::string_view key,
                                       const std::vector<std::string>& allowed);
  const JsonValue::List* list_in(const JsonValue& value, std::string_view key);

  // The file's own "schema" and "version", both required: E330 for another schema or a newer
  // version. Returns the version.
  int64_t schema(std::string_view name, int64_t newest);

  // Reports every key that nobody asked for, E304.
  void finish();

  // Records a fault at a value, or at this object.
  void fail(std::string code, std::string message, const JsonValue& at, std::string help = {});
  void fail(std::string code, std::string message, std::string help = {});
  void warn(std::string code, std::string message, const JsonValue& at);

 private:
  void wrong_kind(std::string_view key, std::string_view wanted, const JsonValue& found);

  const JsonValue* value_;
  std::string_view file_;
  Diagnostics* faults_;
  bool broken_ = false;             // no object, or of another schema: told once
  std::vector<std::string> asked_;  // every key asked for, for suggestions
};

}  // namespace plimsoll

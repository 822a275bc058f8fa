// The hyper-parameters of a config: "parameters": {"hidden": 512, "heads": "hidden/64",
// "widths": [300, 100], "dropout": 0.1, "activation": {"one_of": ["relu", "tanh"]}}. Whole numbers
// become symbols of the same name; an expression over earlier parameters is a derived one; lists
// and reals are used as they are; a word, by default the first, can be the type of a layer.
// `batch` is always there (32 where the config says nothing) and always stays a symbol.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/config/expression.h"
#include "graph/json/object.h"

namespace plimsoll::config {

// NAME=VALUE pairs that replace defaults, as text: "512", "64,128", "0.1".
using Settings = std::map<std::string, std::string, std::less<>>;

class Parameters {
 public:
  // Reads `object` ("parameters", null where absent). Faults: E311 a value of another kind, E312
  // one out of range, E340 a name that is not letters, digits and '_', E343 and E344 of
  // expressions, E134 a setting that names no parameter or does not fit its kind and range. 64.0
  // for the batch is taken with W301.
  Parameters(const JsonValue* object, std::string_view file, const Settings& settings,
             Diagnostics& faults);

  struct Entry {
    std::string name;
    Value value;                       // at the defaults: every Dim is a constant
    std::string expression;            // of a derived parameter, else empty
    std::vector<std::string> choices;  // of a word
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // Defaults of all whole-number parameters.
  const Binding& defaults() const { return defaults_; }
  // Names in scope, with the symbols in `bound` replaced by their values.
  Environment environment(const std::set<std::string>& bound, Binder& binder) const;

 private:
  void add(std::string name, const JsonValue& value, JsonObject& object);
  void add_expression(std::string name, const std::string& text, const JsonValue& at,
                      JsonObject& object);
  void add_word(std::string name, const JsonValue& value, JsonObject& object);
  void add_list(std::string name, const JsonValue& value, JsonObject& object);
  void replace(const std::string& text, Diagnostics& faults);  // the default just read
  void refuse_unknown(const Settings& settings, Diagnostics& faults) const;
  void define_checked(Entry entry, const JsonValue& at, JsonObject& object);
  void define(Entry entry);

  std::vector<Entry> entries_;
  Binding defaults_;
  Environment constants_;
};

// Whether a parameter, layer, block or network may be called so.
bool is_name(std::string_view text);
inline constexpr std::string_view kNamePattern = "^[A-Za-z0-9_-]{1,128}$";  // the same

}  // namespace plimsoll::config

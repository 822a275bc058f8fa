#include "graph/family/quantization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "graph/base/escape.h"
#include "graph/base/text.h"

namespace plimsoll {
namespace {

constexpr const char* kKey = "quantization_config";

int64_t integer_of(const JsonValue& object, std::string_view key, int64_t otherwise) {
  const JsonValue* value = object.find(key);
  return value ? value->integer().value_or(otherwise) : otherwise;
}

bool is_set(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value && value->boolean().value_or(false);
}

std::string word_of(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  const std::string* word = value ? value->string() : nullptr;
  return word ? lower_case(*word) : std::string();
}

// "fp4" has the size of "nf4".
std::string bitsandbytes(const JsonValue& config) {
  if (is_set(config, "load_in_8bit")) return "int8";
  if (!is_set(config, "load_in_4bit")) return {};
  return is_set(config, "bnb_4bit_use_double_quant") ? "nf4-double" : "nf4";
}

// GPTQ's and AWQ's files have a scale and a zero point for as many elements.
std::string of_groups(const JsonValue& config) {
  if (integer_of(config, "bits", 4) != 4) return {};
  const int64_t group = integer_of(config, "group_size", 128);
  if (group < 0) return "gptq-4bit-row";
  return group == 32 || group == 64 ? fmt::format("gptq-4bit-{}", group) : "gptq-4bit";
}

// All groups are as the first.
std::string compressed_tensors(const JsonValue& config) {
  const JsonValue* groups = config.find("config_groups");
  const auto* members = groups ? groups->members() : nullptr;
  if (!members || members->empty()) return {};
  const JsonValue* weights = members->front().value.find("weights");
  if (!weights) return {};
  const bool is_float = word_of(*weights, "type") == "float";
  const int64_t bits = integer_of(*weights, "num_bits", 8);
  if (bits == 8) return is_float ? "fp8" : "int8";
  return bits == 4 && !is_float ? "gptq-4bit" : "";
}

std::string fp8(const JsonValue&) { return "fp8"; }

struct Method {
  std::string_view name;  // "quant_method"
  std::string (*row)(const JsonValue& config);
};

constexpr Method kMethods[] = {
    {"bitsandbytes", bitsandbytes},
    {"gptq", of_groups},
    {"awq", of_groups},
    {"compressed-tensors", compressed_tensors},
    {"fp8", fp8},
    {"fbgemm_fp8", fp8},
};

}  // namespace

Result<const QuantizationRow*> checkpoint_quantization(const JsonValue& config,
                                                       std::string_view file,
                                                       Diagnostics& warnings) {
  const JsonValue* given = config.find(kKey);
  if (!given || given->is_null()) return nullptr;
  const Place place{
      .file = std::string(file), .line = given->line, .column = given->column, .node = {}};
  std::string method = word_of(*given, "quant_method");
  // Of releases before the key.
  if (method.empty() && !bitsandbytes(*given).empty()) method = "bitsandbytes";
  if (method == "mxfp4") {
    warnings.push_back({"W238", Severity::kWarning,
                        "MXFP4 matrices are counted in the model's type", place,
                        "transformers does that where it trains, or has no kernels for MXFP4"});
    return nullptr;
  }
  const auto* const known = std::ranges::find(kMethods, method, &Method::name);
  const std::string row = known == std::end(kMethods) ? "" : known->row(*given);
  if (const QuantizationRow* found = find_quantization(row)) return found;
  std::vector<std::string_view> names;
  for (const Method& one : kMethods) names.push_back(one.name);
  return error("E356",
               fmt::format("\"{}\": {} is not modelled", kKey,
                           method.empty() ? "a checkpoint without \"quant_method\""
                                          : "\"" + shortened(method) + "\""),
               place,
               fmt::format("{} are, of 4 or 8 bits; without the key weights have the config's type",
                           fmt::join(names, ", ")));
}

}  // namespace plimsoll

#include "graph/family/stated_positions.h"

#include <string>
#include <string_view>

namespace plimsoll {
namespace {

std::optional<int64_t> positive(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  const auto number = value ? value->integer() : std::nullopt;
  return number && *number > 0 ? number : std::nullopt;
}

std::optional<int64_t> least_length(const JsonValue& config) {
  // Command-R's stands before the others.
  if (const auto most = positive(config, "model_max_length")) return most;
  std::optional<int64_t> least;
  for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                          "max_target_positions", "max_sequence_length", "max_seq_length"}) {
    const auto length = positive(config, key);
    if (length && (!least || *length < *least)) least = length;
  }
  return least;
}

std::string rope_type(const JsonValue& scaling) {
  for (const char* key : {"rope_type", "type"}) {
    const JsonValue* value = scaling.find(key);
    const std::string* word = value ? value->string() : nullptr;
    if (word) return *word;
  }
  return {};
}

// The rotary embeddings' scaling; where types of layers have one each, that of the first.
const JsonValue* rope_scaling(const JsonValue& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const JsonValue* scaling = config.find(key);
    const auto* members = scaling ? scaling->members() : nullptr;
    if (!members || members->empty()) continue;
    const JsonValue& first = members->front().value;
    return first.members() && rope_type(*scaling).empty() ? &first : scaling;
  }
  return nullptr;
}

}  // namespace

std::optional<int64_t> stated_positions(const JsonValue& config) {
  auto positions = least_length(config);
  const JsonValue* scaling = rope_scaling(config);
  if (!positions || !scaling) return positions;
  const JsonValue* model_type = config.find("model_type");
  const std::string* model = model_type ? model_type->string() : nullptr;
  // Of these the stated length is the scaled one.
  if (model && model->starts_with("gemma3")) return positions;
  const std::string type = rope_type(*scaling);
  if (type == "su" || type == "longrope" || type == "llama3") return positions;
  const JsonValue* by = scaling->find("factor");
  const double factor = by ? by->real().value_or(1) : 1;
  if (type == "yarn")
    positions = positive(*scaling, "original_max_position_embeddings").value_or(*positions);
  constexpr double kMost = 1e12;
  const double scaled = static_cast<double>(*positions) * factor;
  if (!(scaled >= 1 && scaled < kMost)) return positions;
  return static_cast<int64_t>(scaled);
}

}  // namespace plimsoll

#include "hwdb/measured/loose_keys.h"

#include <algorithm>
#include <string>

namespace plimsoll {
namespace {

void take_input(JsonObject& record, MeasuredRun& run) {
  const JsonValue* input = record.optional("input");
  if (input && input->string()) {
    run.input_text = *input->string();
  } else {
    run.input = record.optional_integers("input", {.low = 0}).value_or(std::vector<int64_t>());
  }
}

void take_hidden(JsonObject& record, MeasuredRun& run) {
  const JsonValue* hidden = record.optional("hidden");
  if (hidden && hidden->list()) {
    run.hidden_widths =
        record.optional_integers("hidden", {.low = 0}).value_or(std::vector<int64_t>());
  } else {
    run.hidden = record.optional_integer("hidden", {.low = 0});
  }
}

void take_dropout(JsonObject& record, MeasuredRun& run) {
  const JsonValue* dropout = record.optional("dropout");
  if (!dropout) return;
  run.has_dropout = dropout->boolean();
  if (!run.has_dropout) run.dropout = record.optional_real("dropout", {.low = 0, .high = 1});
  if (run.dropout) run.has_dropout = *run.dropout > 0;
}

// The symbol that a one-number input sets, or how long sequences are.
void take_sequence(JsonObject& record, MeasuredRun& run) {
  const JsonValue* sequence = record.optional("sequence");
  if (sequence && sequence->string()) {
    run.sequence = *sequence->string();
  } else {
    run.sequence_length = record.optional_integer("sequence", {.low = 1});
  }
  const auto tokens = record.optional_integer("seq", {.low = 1});
  if (tokens && run.sequence_length && tokens != run.sequence_length) {
    record.fail("E515", "seq and sequence say two lengths", *record.value().find("seq"));
  }
  if (tokens) run.sequence_length = tokens;
}

// cuBLAS's letters "N" and "T", or false and true.
std::optional<bool> take_transposed(JsonObject& record, std::string_view key) {
  const JsonValue* value = record.optional(key);
  if (!value || !value->string()) return record.optional_bool(key);
  const auto letter = record.optional_choice(key, {"N", "T"});
  return letter ? std::optional<bool>(*letter == "T") : std::nullopt;
}

void take_nodes(JsonObject& record, MeasuredRun& run) {
  const JsonValue* nodes = record.optional("nodes");
  if (!nodes) return;
  run.nodes = nodes->integer();
  // Gavel's "spread over several".
  const std::string* words = nodes->string();
  if (words && words->find("several") != std::string::npos && !run.nodes) run.nodes = 2;
}

constexpr std::string_view kLoose[] = {"kind", "input", "hidden", "dropout", "sequence",
                                       "seq",  "a_t",   "b_t",    "nodes"};

}  // namespace

bool is_loose_key(std::string_view key) {
  return std::find(std::begin(kLoose), std::end(kLoose), key) != std::end(kLoose);
}

void take_loose_keys(JsonObject& record, MeasuredRun& run) {
  take_input(record, run);
  take_hidden(record, run);
  take_dropout(record, run);
  take_sequence(record, run);
  run.a_t = take_transposed(record, "a_t");
  run.b_t = take_transposed(record, "b_t");
  take_nodes(record, run);
}

}  // namespace plimsoll

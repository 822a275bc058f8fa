#include "hwdb/measured/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "hwdb/measured/finetune_key.h"

namespace plimsoll {
namespace {

using R = MeasuredRun;

const MeasuredKey kKeys[] = {
    {"device", &R::device},
    {"framework", &R::framework},
    {"framework_version", &R::framework_version},
    {"cudnn", &R::cudnn},
    {"cuda", &R::cuda},
    {"library", &R::library},
    {"conv_library", &R::conv_library},
    {"dtype", &R::dtype},
    {"precision", &R::dtype},
    {"device_inferred", &R::device_inferred},
    {"op", &R::op},
    {"pass", &R::pass},
    {"variant", &R::variant},
    {"algo", &R::algo},
    {"kernel", &R::kernel},
    {"n", &R::n},
    {"c", &R::c},
    {"h", &R::h},
    {"w", &R::w},
    {"k", &R::k},
    {"r", &R::r},
    {"s", &R::s},
    {"pad_h", &R::pad_h},
    {"pad_w", &R::pad_w},
    {"stride_h", &R::stride_h},
    {"stride_w", &R::stride_w},
    {"dil_h", &R::dil_h},
    {"dil_w", &R::dil_w},
    {"group", &R::group},
    {"groups", &R::group},
    {"m", &R::m},
    {"batch_count", &R::batch_count},
    {"accumulate", &R::accumulate},
    {"cell", &R::cell},
    {"input_mode", &R::input_mode},
    {"timesteps", &R::timesteps},
    {"layers", &R::layers},
    {"input_size", &R::input_size},
    {"directions", &R::directions},
    {"form", &R::form},
    {"heads", &R::heads},
    {"kv_heads", &R::kv_heads},
    {"queries", &R::queries},
    {"keys", &R::keys},
    {"head_size", &R::head_size},
    {"value_size", &R::value_size},
    {"causal", &R::causal},
    {"masked", &R::masked},
    {"count_padding", &R::count_padding},
    {"function", &R::function},
    {"rows", &R::rows},
    {"cols", &R::cols},
    {"tensors_moved", &R::tensors_moved},
    {"read_bytes", &R::read_bytes},
    {"written_bytes", &R::written_bytes},
    {"flop", &R::flop},
    {"net", &R::net},
    {"layer", &R::layer},
    {"layer_type", &R::layer_type},
    {"conv_engine", &R::conv_engine},
    {"inplace", &R::inplace},
    {"out", &R::out},
    {"tensor", &R::tensor},
    {"model", &R::model},
    {"model_sha256", &R::model_sha256},
    {"network", &R::network},
    {"mode", &R::mode},
    {"optimizer", &R::optimizer},
    {"architecture", &R::architecture},
    {"batch", &R::batch},
    {"least_batch", &R::least_batch},
    {"dataset", &R::dataset},
    {"samples", &R::samples},
    {"batch_per_gpu", &R::batch_per_gpu},
    {"micro_batch", &R::micro_batch},
    {"accumulation", &R::accumulation},
    {"checkpoint", &R::checkpoint},
    {"finetune", &R::finetune},
    {"lora_rank", &R::lora_rank},
    {"lora_alpha", &R::lora_alpha},
    {"lora_targets", &R::lora_targets},
    {"quantize", &R::quantize},
    {"n_gpus", &R::n_gpus},
    {"linear_widths", &R::linear_widths},
    {"output", &R::output},
    {"activation", &R::activation},
    {"batchnorm", &R::batchnorm},
    {"recompute", &R::recompute},
    {"link", &R::link},
    {"memory_option", &R::memory_option},
    {"optimisation", &R::optimisation},
    {"variable_update", &R::variable_update},
    {"parallelism", &R::parallelism},
    {"layout", &R::layout},
    {"algorithm", &R::algorithm},
    {"bytes", &R::bytes},
    {"loss", &R::loss},
    {"host", &R::host},
    {"cpu", &R::cpu},
    {"workers", &R::workers},
    {"meter", &R::meter},
    {"cudnn_benchmark", &R::cudnn_benchmark},
    {"input_gradient", &R::input_gradient},
    {"input_copy", &R::input_copy},
    {"weight_decay", &R::weight_decay},
    {"compile", &R::compiled},
    {"cuda_graphs", &R::cuda_graphs},
    {"batch_statistics", &R::batch_statistics},
    {"prefetch", &R::prefetch},
    {"attention", &R::attention},
    {"zero_grad", &R::zero_grad},
    {"half_norms", &R::half_norms},
    {"exchange", &R::exchange},
    {"module_loading", &R::module_loading},
    {"cudnn_rnn", &R::cudnn_rnn},
    {"own_size", &R::own_size},
    {"retains_activations", &R::retains_activations},
    {"quantity", &R::quantity},
    {"unit", &R::unit},
    {"result", &R::result},
    {"time_is_derived", &R::time_is_derived},
    {"flags", &R::flags},
    {"time_ms", Above{}},
    {"total_ms", Above{}},
    {"gpu_ms", Above{}},
    {"forward_ms", Above{}},
    {"backward_ms", Above{}},
    {"backward_data_ms", Above{}},
    {"backward_weights_ms", Above{}},
    {"images_per_s", Above{}},
    {"sequences_per_s", Above{}},
    {"bus_bandwidth_gb_s", Above{}},
    {"nvidia_smi_mb", Above{}},
    {"device_used_mb", Above{}},
    {"host_mb", Above{}},
    {"nvidia_smi_gb", Above{}},
    {"nvidia_smi_gib", Above{}},
    {"nvidia_smi_bytes", Above{}},
    {"peak_allocated_mb", Above{}},
    {"peak_allocated_gb", Above{}},
    {"peak_allocated_gib", Above{}},
    {"peak_allocated_bytes", Above{}},
    {"peak_reserved_mb", Above{}},
    {"peak_reserved_gb", Above{}},
    {"peak_reserved_gib", Above{}},
    {"peak_reserved_bytes", Above{}},
    {"peak_memory_mb", Above{}},
    {"peak_memory_gb", Above{}},
    {"peak_memory_gib", Above{}},
    {"peak_memory_bytes", Above{}},
    {"memory_counter", &R::memory_counter},
    {"out_of_memory", &R::out_of_memory},
    {"ran", &R::ran},
    {"total_mb", Above{}},
    {"outputs_mb", Above{}},
    {"grad_inputs_mb", Above{}},
    {"internal_buffers_mb", Above{}},
    {"parameters_and_gradients_mb", Above{}},
    {"train_memory_gb", Above{}},
    {"workspace_bytes", FromZero{}},
    {"value", FromZero{}},
    {"value_mib", FromZero{}},
    {"duration_pct", FromZero{}},
    {"fp32_utilisation_pct", FromZero{}},
};

const MeasuredKey* find_key(std::string_view name) {
  const auto found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [&](const MeasuredKey& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

void take_measurement(JsonObject& record, MeasuredRun& run, std::string_view key, bool zero) {
  const auto value = record.optional_real(key);
  if (!value) return;
  const JsonValue& at = *record.value().find(key);
  if (*value < 0) {
    record.fail("E513", fmt::format("{} is negative: {}", key, at.description()), at);
  } else if (*value == 0 && !zero) {
    record.fail("E514", fmt::format("{} is 0: nothing was measured", key), at);
  } else {
    run.measured.push_back({std::string(key), *value});
  }
}

struct Take {
  JsonObject& record;
  MeasuredRun& run;
  std::string_view key;

  void operator()(std::string MeasuredRun::*member) const {
    run.*member = record.optional_string(key).value_or("");
  }
  void operator()(std::optional<int64_t> MeasuredRun::*member) const {
    run.*member = record.optional_integer(key, {.low = 0});
  }
  void operator()(std::optional<bool> MeasuredRun::*member) const {
    run.*member = record.optional_bool(key);
  }
  void operator()(std::vector<int64_t> MeasuredRun::*member) const {
    run.*member = record.optional_integers(key, {.low = 0}).value_or(std::vector<int64_t>());
  }
  void operator()(std::vector<std::string> MeasuredRun::*member) const {
    run.*member = record.optional_strings(key);
  }
  void operator()(Above) const { take_measurement(record, run, key, false); }
  void operator()(FromZero) const { take_measurement(record, run, key, true); }
};

// Takes a member over where the run has nothing there.
struct Complete {
  MeasuredRun& run;
  const MeasuredRun& defaults;

  template <class T>
  void operator()(std::vector<T> MeasuredRun::*member) const {
    if ((run.*member).empty()) run.*member = defaults.*member;
  }
  void operator()(std::string MeasuredRun::*member) const {
    if ((run.*member).empty()) run.*member = defaults.*member;
  }
  template <class T>
  void operator()(std::optional<T> MeasuredRun::*member) const {
    if (!(run.*member)) run.*member = defaults.*member;
  }
  void operator()(Above) const {}
  void operator()(FromZero) const {}
};

// A member as the value that its key had.
struct Tell {
  const MeasuredRun& run;

  std::optional<JsonValue> operator()(std::string MeasuredRun::*member) const {
    return (run.*member).empty() ? std::nullopt : std::optional(JsonValue{.data = run.*member});
  }
  std::optional<JsonValue> operator()(std::optional<int64_t> MeasuredRun::*member) const {
    if (!(run.*member)) return std::nullopt;
    const int64_t value = *(run.*member);
    return JsonValue{.data = JsonNumber{std::to_string(value), static_cast<double>(value), true}};
  }
  std::optional<JsonValue> operator()(std::optional<bool> MeasuredRun::*member) const {
    return run.*member ? std::optional(JsonValue{.data = *(run.*member)}) : std::nullopt;
  }
  template <class Other>
  std::optional<JsonValue> operator()(const Other&) const {
    return std::nullopt;  // lists and measurements are read by those who want them
  }
};

// Keys that sources write in more than one type: each in a function of its own.
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

bool is_loose(std::string_view key) {
  return std::find(std::begin(kLoose), std::end(kLoose), key) != std::end(kLoose);
}

JsonValue number_value(std::string_view text, const Place& place) {
  JsonNumber number;
  number.text = text;
  number.whole = text.find_first_of(".eE") == text.npos;
  std::from_chars(text.data(), text.data() + text.size(), number.real);
  return {place.line, place.column, number};
}

bool is_number(std::string_view text) {
  return parse_number<double>(text) && text.find_first_of("nNiI") == text.npos;
}

// "12.5 MiB" in a column that says its unit is 12.5.
std::string_view without_unit(std::string_view column, std::string_view cell) {
  const size_t blank = cell.find(' ');
  if (blank == cell.npos) return cell;
  const std::string_view unit = cell.substr(blank + 1);
  const bool same = (column.ends_with("_mb") && (unit == "MiB" || unit == "MB")) ||
                    (column.ends_with("_ms") && unit == "ms") ||
                    (column.ends_with("_pct") && unit == "%");
  return same ? cell.substr(0, blank) : cell;
}

tl::unexpected<Diagnostics> bad_cell(std::string_view column, std::string_view cell,
                                     std::string_view wanted, Place place) {
  const bool comma =
      cell.find(',') != cell.npos && cell.find_first_not_of("-0123456789,.") == cell.npos;
  return error("E512",
               fmt::format("{} must be {}, found \"{}\"", column, wanted, shortened(cell, 60)),
               std::move(place), comma ? "write a decimal point, not a comma" : "");
}

Result<std::optional<JsonValue>> list_value(std::string_view column, std::string_view cell,
                                            const Place& place) {
  JsonValue::List list;
  for (std::string_view rest = cell; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of("x "), rest.size());
    const std::string_view piece = rest.substr(0, end);
    if (!is_number(piece)) return bad_cell(column, cell, "a list like 3x224x224", place);
    list.push_back(number_value(piece, place));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return JsonValue{place.line, place.column, std::move(list)};
}

}  // namespace

std::span<const MeasuredKey> measured_keys() { return kKeys; }

void decode_run(JsonObject& record, MeasuredRun& run) {
  run.line = record.value().line;
  const JsonValue::Members* members = record.value().members();
  if (!members) return;
  // By what is there: a record has some twenty of the keys.
  for (const JsonMember& member : *members) {
    if (member.key == "finetune" && member.value.members()) {
      take_finetune(member.value, run);
    } else if (const MeasuredKey* key = find_key(member.key)) {
      std::visit(Take{record, run, key->name}, key->member);
    } else if (!is_loose(member.key) || (member.key == "nodes" && !member.value.integer())) {
      run.notes.push_back(member);
    }
  }
  take_input(record, run);
  take_hidden(record, run);
  take_dropout(record, run);
  take_sequence(record, run);
  run.a_t = take_transposed(record, "a_t");
  run.b_t = take_transposed(record, "b_t");
  take_nodes(record, run);
}

std::optional<JsonValue> value_of(const MeasuredRun& run, std::string_view key) {
  if (const MeasuredKey* known = find_key(key)) return std::visit(Tell{run}, known->member);
  const auto note = std::ranges::find(run.notes, key, &JsonMember::key);
  return note == run.notes.end() ? std::nullopt : std::optional(note->value);
}

void complete_run(MeasuredRun& run, const MeasuredRun& defaults) {
  const Complete complete{run, defaults};
  for (const MeasuredKey& key : kKeys) std::visit(complete, key.member);
  complete(&MeasuredRun::sequence);
  complete(&MeasuredRun::has_dropout);
}

Result<std::optional<JsonValue>> cell_value(std::string_view column, const std::string& cell,
                                            Place place) {
  if (cell.empty()) return std::nullopt;
  const auto text = [&] { return JsonValue{place.line, place.column, cell}; };
  if (is_loose(column)) {
    if (is_number(cell)) return number_value(cell, place);
    if (cell == "true" || cell == "false") {
      return JsonValue{place.line, place.column, cell == "true"};
    }
    const bool list = cell.find_first_not_of("0123456789x ") == cell.npos;
    return list ? list_value(column, cell, place) : text();
  }
  const MeasuredKey* key = find_key(column);
  const bool flag = key && std::holds_alternative<std::optional<bool> MeasuredRun::*>(key->member);
  if (flag) {
    if (cell == "true" || cell == "false")
      return JsonValue{place.line, place.column, cell == "true"};
    return bad_cell(column, cell, "true or false", place);
  }
  if (!key || std::holds_alternative<std::string MeasuredRun::*>(key->member)) return text();
  if (std::holds_alternative<std::vector<int64_t> MeasuredRun::*>(key->member)) {
    return list_value(column, cell, place);
  }
  if (std::holds_alternative<std::vector<std::string> MeasuredRun::*>(key->member)) {
    return JsonValue{place.line, place.column, JsonValue::List{text()}};
  }
  const std::string_view number = without_unit(column, cell);
  if (!is_number(number)) return bad_cell(column, cell, "a number", place);
  return number_value(number, place);
}

}  // namespace plimsoll

#include "estimator/model/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr const char* kAdapterName = "adapter_config.json";
constexpr uint64_t kLargestHeader = uint64_t{64} << 20;

// Of LoraConfig (peft/tuners/lora/config.py): they change neither memory nor time, or belong to how
// adapters are begun, saved or merged.
constexpr std::string_view kWithoutEffect[] = {"auto_mapping",      "base_model_name_or_path",
                                               "fan_in_fan_out",    "inference_mode",
                                               "init_lora_weights", "lora_alpha",
                                               "peft_type",         "peft_version",
                                               "revision",          "runtime_config",
                                               "task_type",         "use_rslora",
                                               "megatron_core",     "megatron_config",
                                               "loftq_config",      "eva_config",
                                               "corda_config",      "layers_pattern",
                                               "qalora_group_size"};

// Such as "use_dora": taken where it asks for nothing.
bool is_unset(const JsonValue& value) {
  if (value.is_null()) return true;
  if (const auto flag = value.boolean()) return !*flag;
  if (value.list()) return value.list()->empty();
  if (value.members()) return value.members()->empty();
  return value.string() && *value.string() == "none";
}

std::string targets_of(JsonObject& object) {
  const JsonValue* targets = object.optional("target_modules");
  if (!targets || targets->is_null()) return {};
  if (const std::string* word = targets->string()) {
    if (*word == "all-linear") return *word;
    object.fail("E356",
                fmt::format("\"target_modules\": {} is a pattern; a list of names is read",
                            targets->description()),
                *targets);
    return {};
  }
  std::string joined;
  for (const std::string& name : object.optional_strings("target_modules"))
    joined += (joined.empty() ? "" : ",") + name;
  return joined;
}

AdapterConfig adapter_of(JsonObject& object) {
  AdapterConfig adapter;
  adapter.finetune.kind = FinetuneKind::kLora;
  const JsonValue* kind = object.value().find("peft_type");
  if (kind && kind->string() && *kind->string() != "LORA")
    object.fail("E356", fmt::format("\"peft_type\": {} is not modelled", kind->description()),
                *kind);
  adapter.finetune.rank = object.optional_integer("r", {.low = 1, .high = 65536}).value_or(8);
  adapter.finetune.dropout =
      object.optional_real("lora_dropout", {.low = 0, .high = 1}).value_or(0);
  adapter.finetune.targets = targets_of(object);
  adapter.base = object.optional_string("base_model_name_or_path").value_or("");
  for (const JsonMember& member : object.members()) {
    const std::string_view key = member.key;
    if (key == "r" || key == "lora_dropout" || key == "target_modules") continue;
    if (std::ranges::find(kWithoutEffect, key) != std::end(kWithoutEffect)) continue;
    if (is_unset(member.value)) continue;
    object.fail("E355", fmt::format("nothing reads the key \"{}\"", shortened(member.key)),
                member.value, "remove it if it changes neither memory nor time");
  }
  return adapter;
}

DType dtype_named(std::string_view name) {
  if (name == "BF16") return DType::kBFloat16;
  if (name == "F16") return DType::kFloat16;
  if (name == "F32") return DType::kFloat32;
  return DType::kUndefined;
}

// The header is a JSON object of tensors behind its length in eight bytes, low ones first
// (safetensors' README, Format).
Result<std::string> header_of(const ByteSource& file) {
  std::array<std::byte, 8> length{};
  TRY(file.read(0, length));
  uint64_t size = 0;
  for (size_t i = 8; i-- > 0;) size = size << 8 | static_cast<uint64_t>(length[i]);
  if (size == 0 || size > kLargestHeader || size + 8 > file.size())
    return error("E301", "has no header of safetensors", {.file = file.name(), .node = {}});
  std::string text(size, '\0');
  TRY(file.read(8, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

Result<std::optional<AdapterConfig>> read_adapter_config(const std::string& folder,
                                                         const Limits& limits) {
  const std::string path = path_in(folder, kAdapterName);
  if (!path_exists(path)) return std::nullopt;
  const auto source = TRY(ByteSource::open(path, limits));
  const auto text = TRY(whole_text(source, limits));
  const auto root = TRY(read_json(text, source.name()));
  Diagnostics faults;
  JsonObject object(root, source.name(), faults, true);
  AdapterConfig adapter = adapter_of(object);
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  return adapter;
}

DType safetensors_dtype(const std::string& folder, const Limits& limits) {
  const std::vector<std::string> names = names_in(folder);
  const auto first = std::ranges::find_if(
      names, [](const std::string& name) { return name.ends_with(".safetensors"); });
  if (first == names.end()) return DType::kUndefined;
  const auto source = ByteSource::open(path_in(folder, *first), limits);
  if (!source) return DType::kUndefined;
  const auto text = header_of(*source);
  const auto root = text ? read_json(*text, source->name()) : Result<JsonValue>(JsonValue{});
  if (!root || !root->members()) return DType::kUndefined;
  std::map<DType, int64_t> bytes;
  for (const JsonMember& member : *root->members()) {
    const JsonValue* type = member.value.find("dtype");
    const JsonValue* at = member.value.find("data_offsets");
    if (!type || !type->string() || !at || !at->list() || at->list()->size() != 2) continue;
    const auto begin = at->list()->front().integer(), end = at->list()->back().integer();
    if (begin && end) bytes[dtype_named(*type->string())] += *end - *begin;
  }
  const auto most = std::ranges::max_element(
      bytes, {}, [](const std::pair<const DType, int64_t>& one) { return one.second; });
  return most == bytes.end() ? DType::kUndefined : most->first;
}

}  // namespace plimsoll

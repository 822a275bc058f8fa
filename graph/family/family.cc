#include "graph/family/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/family/config_values.h"
#include "graph/family/family_file.h"
#include "graph/family/head.h"
#include "graph/family/parts.h"
#include "graph/family/quantization.h"
#include "graph/family/stated_positions.h"
#include "graph/family/text_part.h"
#include "graph/json/read_object.h"

namespace plimsoll {

namespace {

FamilyRow row_of(const std::string& file, const JsonValue& root) {
  Diagnostics faults;
  JsonObject object(root, file, faults);
  FamilyRow row{.name = file.substr(0, file.size() - std::string_view(".json").size()),
                .model_types = object.required_strings("model_types"),
                .class_name = object.required_string("class"),
                .description = object.optional_string("description").value_or("")};
  return row;
}

constexpr std::string_view kModelType = "model_type";

// What transformers calls a model's type, and diffusers its class; null where there is none.
const JsonValue* type_of(const JsonValue& root) {
  for (const std::string_view key : {kModelType, std::string_view("_class_name")}) {
    const JsonValue* const type = root.find(key);
    if (type && type->string()) return type;
  }
  return nullptr;
}

constexpr std::string_view kPart = "part", kText = "text";

tl::unexpected<Diagnostics> two_parts(std::string_view model_type, Place place) {
  return error("E354",
               fmt::format("is a config of the vision-language model type \"{}\"; only its "
                           "text model is supported",
                           shortened(std::string(model_type))),
               std::move(place),
               fmt::format("{} selects its text model; for the whole model, in Python: "
                           "plimsoll.from_torch(lambda: AutoModel.from_config(config), inputs)",
                           setting_entry("set", kPart, kText)));
}

tl::unexpected<Diagnostics> unknown_type(std::string_view model_type, Place place) {
  std::vector<std::string> known;
  for (const FamilyRow& row : families()) {
    known.insert(known.end(), row.model_types.begin(), row.model_types.end());
  }
  const std::string near = nearest(model_type, known);
  return error("E354",
               fmt::format("is a config of model type \"{}\", which is not supported",
                           shortened(std::string(model_type))),
               std::move(place),
               fmt::format("{}; in Python: plimsoll.from_torch(lambda: "
                           "AutoModel.from_config(config), inputs)",
                           near.empty() ? fmt::format("'models {}' lists the supported types",
                                                      setting("families"))
                                        : fmt::format("did you mean \"{}\"?", near)));
}

DType dtype_of(const JsonValue& root) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const JsonValue* value = root.find(key);
    const std::string* word = value ? value->string() : nullptr;
    if (!word) continue;
    if (*word == "bfloat16") return DType::kBFloat16;
    if (*word == "float16") return DType::kFloat16;
    if (*word == "float32") return DType::kFloat32;
  }
  return DType::kUndefined;
}

AdapterNames adapter_names(const JsonValue& family, const std::string& file) {
  Diagnostics faults;
  JsonObject object(family, file, faults);
  AdapterNames names{
      .targets = fmt::format("{}", fmt::join(object.optional_strings("lora_targets"), ",")),
      .saved = object.optional_strings("lora_saved"),
      .unused = object.optional_strings("lora_unused"),
      .head = object.optional_bool("lora_head").value_or(false)};
  const JsonValue* stacked = family.find("lora_stacked");
  const auto* members = stacked ? stacked->members() : nullptr;
  if (!members) return names;
  for (const JsonMember& one : *members) {
    if (const std::string* parameter = one.value.string())
      names.stacked.emplace_back(one.key, *parameter);
  }
  return names;
}

// A family's default length is no more than a config has positions.
void shorten_sequence(const JsonValue& model, config::Settings& values) {
  const JsonValue* parameters = model.find("parameters");
  const JsonValue* length = parameters ? parameters->find("sequence") : nullptr;
  const auto positions = values.find("positions");
  if (!length || positions == values.end()) return;
  const auto most = parse_number<int64_t>(positions->second);
  if (most && *most < length->integer().value_or(0)) values["sequence"] = positions->second;
}

}  // namespace

std::vector<FamilyRow> families() {
  std::vector<FamilyRow> rows;
  for (const std::string& file : family_file_names()) {
    if (const auto root = read_family_file(file)) rows.push_back(row_of(file, *root));
  }
  return rows;
}

std::string family_file_of(std::string_view model_type) {
  // Most types are their family's name: no other file need be read.
  const std::string same = std::string(model_type) + ".json";
  const auto root = read_family_file(same);
  if (root && std::ranges::count(row_of(same, *root).model_types, model_type) > 0) return same;
  // Once: a search asks for the same few again and again.
  static const std::map<std::string, std::string, std::less<>> kFiles = [] {
    std::map<std::string, std::string, std::less<>> files;
    for (const FamilyRow& row : families()) {
      for (const std::string& type : row.model_types) files[type] = row.name + ".json";
    }
    return files;
  }();
  const auto found = kFiles.find(model_type);
  return found == kFiles.end() ? std::string() : found->second;
}

bool is_transformers_config(const JsonValue& root) {
  const JsonValue* const type = type_of(root);
  if (!type || root.find("schema")) return false;
  return root.find(kModelType) || !family_file_of(*type->string()).empty();
}

namespace {

// `part` of a config that has several; the whole of one that has not.
Result<FamilyModel> load_text_model(const JsonValue& root, std::string_view file_name,
                                    ConfigOptions options, Diagnostics& warnings) {
  const Place place{.file = std::string(file_name), .line = root.line, .node = {}};
  const auto part = text_part(root);
  if (options.set[std::string(kPart)] != kText || !part)
    return error("E134",
                 setting_entry("set", kPart) +
                     (part ? ": the only part is 'text'" : ": the config has no parts"),
                 place);
  options.set.erase(std::string(kPart));
  if (!is_transformers_config(*part)) return error("E354", "text_config has no model_type", place);
  warnings.push_back(warning("W355",
                             "the vision encoder and its projector are left out: the answer is for "
                             "the text model, whose sequence includes the image tokens",
                             place));
  return load_family_model(*part, file_name, options, warnings);
}

}  // namespace

Result<FamilyModel> load_family_model(const JsonValue& root, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings) {
  const JsonValue& type = *type_of(root);
  const Place place{.file = std::string(file_name), .line = type.line, .node = {}};
  if (options.set.contains(std::string(kPart)))
    return load_text_model(root, file_name, options, warnings);
  const std::string file = family_file_of(*type.string());
  if (file.empty() && has_vision_tower(root)) return two_parts(*type.string(), place);
  if (file.empty()) return unknown_type(*type.string(), place);
  auto family = TRY(read_family_file(file));
  const auto common = TRY(read_family_file(kCommonFamilyKeys));
  if (!family.find("model"))
    return error("E901", "the family's file has no model", {.file = file, .node = {}});

  config::Settings set = options.set;
  TRY(put_head(family, common, root, place, set, warnings));
  const JsonValue* model = family.find("model");
  WholeModel whole;
  if (family.find("parts")) {
    whole = TRY(put_together(root, file_name, family, common, set));
    model = &whole.model;
  } else {
    whole.values = TRY(config_values(root, file_name, family, common));
  }
  if (const JsonValue* note = family.find("note"); note && note->string())
    warnings.push_back(warning("W357", *note->string(), place));
  shorten_sequence(*model, whole.values);
  ConfigOptions model_options{.set = std::move(whole.values),
                              .symbols = std::set<std::string>{"sequence"}};
  for (const auto& [name, value] : set) model_options.set[name] = value;
  auto config = TRY(load_model_config(*model, file, model_options, warnings));
  const auto* const quantize = TRY(checkpoint_quantization(root, file_name, warnings));
  return FamilyModel{.config = std::move(config),
                     .family = file.substr(0, file.size() - std::string_view(".json").size()),
                     .dtype = dtype_of(root),
                     .lora = adapter_names(family, file),
                     .quantize = quantize,
                     .positions = stated_positions(root)};
}

}  // namespace plimsoll

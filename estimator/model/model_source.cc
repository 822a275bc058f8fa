#include "estimator/model/model_source.h"

#include <fmt/format.h>

#include "estimator/model/bind_symbols.h"
#include "estimator/model/model_folder.h"
#include "estimator/model/name_remedy.h"
#include "estimator/model/request_names.h"
#include "graph/base/byte_source.h"
#include "graph/base/embedded.h"
#include "graph/base/folder.h"
#include "graph/base/try.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"
#include "graph/json/reader.h"
#include "graph/onnx/file_type.h"
#include "graph/onnx/import.h"
#include "graph/record/record.h"

namespace plimsoll {
namespace {

constexpr std::string_view kBuiltinPrefix = "builtin:";
constexpr std::string_view kPublishedPrefix = "hf:";
constexpr std::string_view kConfigName = "config.json";

// The config in a folder of Hugging Face's; in one of a pipeline of diffusers that of the network
// that is trained. Any other path as it is.
std::string path_of(const std::string& given) {
  if (!is_folder(given)) return given;
  for (const std::string& folder : {given, path_in(given, "transformer"), path_in(given, "unet")}) {
    const std::string config = path_in(folder, kConfigName);
    if (path_exists(config)) return config;
  }
  return given;
}

ImportOptions import_options(const ModelRequest& request, bool builtin, bool inputs_only) {
  ImportOptions options;
  options.inputs_only = inputs_only;
  options.limits = request.limits;
  options.image = request.image;
  for (const auto& [name, count] : request.trips) options.trips[name] = count;
  for (const auto& [name, branch] : request.branches) options.branches[name] = branch;
  for (const auto& [name, extents] : request.shapes) options.shapes[name] = extents;
  options.assume = request.assume;
  options.bind = [&request, builtin](const Graph& graph) -> Result<Binding> {
    TRY(check_sizes(names_of_onnx(graph), request));
    std::vector<std::string> said_later;
    return bind_symbols(graph, request, builtin, said_later);
  };
  return options;
}

Result<LoadedModel> load_onnx(const ByteSource& source, const ModelRequest& request,
                              bool inputs_only, bool builtin = false) {
  LoadedModel model;
  model.from_onnx = true;
  auto graph =
      TRY(import_onnx(source, import_options(request, builtin, inputs_only), model.warnings));
  model.config.name = graph.name;
  model.config.networks.push_back({.name = "", .graph = std::move(graph), .losses = {}});
  return model;
}

// A config of Hugging Face's transformers.
Result<LoadedModel> load_family(const JsonValue& root, std::string_view file,
                                const ModelRequest& request) {
  LoadedModel model;
  ConfigOptions options;
  if (request.serving) options.set["serving"] = "1";
  for (const auto& [name, value] : request.settings) options.set[name] = value;
  auto family = TRY(load_family_model(root, file, options, model.warnings));
  model.config = std::move(family.config);
  model.facts.family = std::move(family.family);
  model.dtype = family.dtype;
  model.lora = std::move(family.lora);
  model.quantize = family.quantize;
  model.positions = family.positions;
  return model;
}

Result<LoadedModel> load_config(std::string_view text, std::string_view file,
                                const ModelRequest& request,
                                std::map<std::string, std::string, std::less<>> settings = {}) {
  const auto root = read_json(text, file);
  if (root && is_transformers_config(*root)) return load_family(*root, file, request);
  if (!root) {
    const auto python = read_json(without_infinities(text), file);
    if (python && is_transformers_config(*python)) return load_family(*python, file, request);
  }
  TRY(onnx::refuse_other_json(text, std::string(file)));
  if (!root) return tl::make_unexpected(root.error());
  LoadedModel model;
  ConfigOptions options;
  options.set.insert(settings.begin(), settings.end());
  for (const auto& [name, value] : request.settings) options.set[name] = value;
  auto config = TRY(load_model_config(*root, file, options, model.warnings));
  model.config = std::move(config);
  return model;
}

Result<LoadedModel> load_published(const std::string& name, const ModelRequest& request) {
  const auto text = TRY(published_config(name));
  const std::string file = fmt::format("{}{}", kPublishedPrefix, name);
  const auto root = TRY(read_json(text, file));
  const JsonValue* config = root.find("config");
  if (!config) return error("E901", "the published file has no config", {.file = file, .node = {}});
  auto model = load_family(*config, file, request);
  if (model) model->builtin = true;
  return model;
}

Result<LoadedModel> load_builtin(const std::string& name, const ModelRequest& request,
                                 bool inputs_only) {
  auto found = TRY(find_builtin(name));
  if (!found.published.empty()) {
    ModelRequest published = request;
    published.settings.insert(found.settings.begin(), found.settings.end());
    return load_published(found.published, published);
  }
  const std::string file = std::string(kBuiltinPrefix) + found.name;
  if (found.kind == BuiltinKind::kJson) {
    auto model = load_config(found.content, file, request, found.settings);
    if (model) model->builtin = true;
    return model;
  }
  auto model = load_onnx(ByteSource::of(file, std::move(found.bytes)), request, inputs_only, true);
  if (!model) return model;
  model->builtin = true;
  // torchvision/references/classification, timm's train.py: what their networks are published for.
  Meta& meta = model->config.meta;
  meta.sample_unit = "images";
  meta.dataset = "ImageNet-1k";
  meta.samples_per_epoch = 1281167;
  for (const char* side : {"height", "width"}) {
    model->config.networks.front().graph.defaults.try_emplace(side, found.image);
  }
  return model;
}

Result<LoadedModel> load_record(std::string_view text, const std::string& file,
                                const Limits& limits) {
  auto record = TRY(read_record(text, file, limits));
  LoadedModel model;
  model.config.name = record.name;
  model.config.networks.push_back({.name = "", .graph = record.graph, .losses = {}});
  model.record = std::make_shared<const Record>(std::move(record));
  return model;
}

// A record that somebody unpacked: what its file begins with.
bool is_record(std::string_view text) {
  constexpr size_t kBeginning = 100;
  return text.substr(0, kBeginning).find("\"plimsoll.record\"") != text.npos;
}

Result<LoadedModel> load_packed_record(const ByteSource& source, const Limits& limits) {
  const auto packed = TRY(whole_text(source, limits));
  const auto text = gunzip(packed, static_cast<size_t>(limits.json));
  if (!text) {
    Diagnostics why = text.error();
    why.front().place.file = source.name();
    return tl::make_unexpected(std::move(why));
  }
  return load_record(*text, source.name(), limits);
}

// A config begins with a brace; an ONNX file with a field tag.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool looks_like_config(const ByteSource& source) {
  std::array<std::byte, 64> head{};
  const auto read = source.read(0, head);
  if (!read) return false;
  for (size_t i = 0; i < *read; ++i) {
    const char c = static_cast<char>(head[i]);
    const bool section = c == '[' && i + 1 < *read && is_letter(static_cast<char>(head[i + 1]));
    if (c == '{' || c == '[') return !section;  // of TOML
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\xEF' && c != '\xBB' &&
        c != '\xBF')
      return false;
  }
  return false;
}

Result<LoadedModel> load_adapted(const ModelRequest& request, const AdapterConfig& adapter,
                                 bool inputs_only);

Result<LoadedModel> load_unchecked(const ModelRequest& request, bool inputs_only) {
  if (request.model.starts_with(kBuiltinPrefix)) {
    auto model = load_builtin(request.model.substr(kBuiltinPrefix.size()), request, inputs_only);
    if (model) model->facts.model = request.model;
    return model;
  }
  if (request.model.starts_with(kPublishedPrefix)) {
    auto model = load_published(request.model.substr(kPublishedPrefix.size()), request);
    if (model) model->facts.model = request.model;
    return model;
  }
  if (is_folder(request.model)) {
    const auto adapter = TRY(read_adapter_config(request.model, request.limits));
    if (adapter) return load_adapted(request, *adapter, inputs_only);
  }
  const std::string path = path_of(request.model);
  auto source = ByteSource::open(path, request.limits);
  if (!source) {
    Diagnostic& why = source.error().front();
    if (const std::string remedy = model_remedy(request.model); !remedy.empty()) why.help = remedy;
    return tl::make_unexpected(source.error());
  }
  const bool is_config = path.ends_with(".json") || looks_like_config(*source);
  Result<LoadedModel> model = [&]() -> Result<LoadedModel> {
    if (request.model.ends_with(kRecordSuffix)) return load_packed_record(*source, request.limits);
    if (!is_config) return load_onnx(*source, request, inputs_only);
    auto text = TRY(whole_text(*source, request.limits));
    if (is_record(text)) return load_record(text, source->name(), request.limits);
    return load_config(text, source->name(), request);
  }();
  if (!model) return model;
  model->facts.model = request.model;
  model->facts.path = path;
  auto hash = TRY(sha256_of(*source));
  model->facts.sha256 = hash.value_or("");
  if (path != request.model && model->dtype == DType::kUndefined)
    model->dtype = safetensors_dtype(request.model, request.limits);
  return model;
}

// Adapters in a folder of their own, or beside their model's config.
Result<LoadedModel> load_adapted(const ModelRequest& request, const AdapterConfig& adapter,
                                 bool inputs_only) {
  ModelRequest base = request;
  const std::string config = path_in(request.model, kConfigName);
  if (path_exists(config)) {
    base.model = config;
  } else if (is_folder(adapter.base)) {
    base.model = adapter.base;
  } else {
    base.model = std::string(kPublishedPrefix) + adapter.base;
  }
  auto model = load_unchecked(base, inputs_only);
  if (!model) return model;
  model->facts.model = request.model;
  model->adapters = adapter.finetune;
  return model;
}

Result<LoadedModel> load(const ModelRequest& request, bool inputs_only) {
  auto model = load_unchecked(request, inputs_only);
  if (!model) return model;
  TRY(check_names(*model, request));
  if (inputs_only) return model;
  TRY(check_assumed(*model, request));
  return model;
}

}  // namespace

Result<LoadedModel> load_model(const ModelRequest& request) { return load(request, false); }
Result<LoadedModel> load_model_inputs(const ModelRequest& request) { return load(request, true); }

}  // namespace plimsoll

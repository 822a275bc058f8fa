#include "graph/config/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/config/extent.h"
#include "graph/config/layer_list.h"
#include "graph/config/network_builder.h"
#include "graph/json/reader.h"

namespace plimsoll {

namespace config {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kMostNetworks = 16;

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Loss::kNone); ++i) {
    names.emplace_back(name(static_cast<Loss>(i)));
  }
  return names;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 1; i < kDTypeCount; ++i) {
    const std::string_view name = short_name(static_cast<DType>(i));
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::string value_text(const Value& value) {
  if (const Dim* d = std::get_if<Dim>(&value)) return d->text();
  if (const double* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  std::vector<std::string> parts;
  for (const Dim& d : std::get<std::vector<Dim>>(value)) parts.push_back(d.text());
  return fmt::format("{}", fmt::join(parts, ","));
}

// Reads one config with the parameters in `bound` as numbers. What it had to bind beyond them is in
// binder().used(): then it must be read again.
class Reader {
 public:
  Reader(const JsonValue& root, std::string_view file, const Parameters& parameters,
         const std::set<std::string>& bound, Diagnostics& faults, Diagnostics& warnings)
      : top_(root, file, faults, true),
        file_(file),
        faults_(faults),
        warnings_(warnings),
        parameters_(parameters),
        binder_(parameters.defaults(), {"batch"}),
        environment_(parameters.environment(bound, binder_)) {}

  ModelConfig read() {
    ModelConfig config;
    top_.schema("plimsoll.model-config", kVersion);
    config.name = top_.required_string("name");
    top_.optional("parameters");
    read_meta(config.meta);
    if (auto blocks = top_.optional_object("blocks")) blocks_ = &blocks->value();
    if (top_.has("networks")) {
      read_networks(config);
      read_schedule(config);
    } else {
      config.networks.push_back(read_network(top_, ""));
      config.schedule.push_back({.network = "", .forward_only = {}, .through = {}});
    }
    config.meta.host_ns = host_ns_;
    top_.finish();
    return config;
  }

  const Binder& binder() const { return binder_; }

 private:
  static constexpr int64_t kLongest = int64_t{1} << 32;

  void read_meta(Meta& meta) {
    meta.description = top_.optional_string("description").value_or("");
    meta.sources = top_.optional_strings("sources");
    auto object = top_.optional_object("meta");
    if (!object) return;
    meta.sample_unit = object->optional_string("unit").value_or("samples");
    if (const JsonValue* units = object->optional("units_per_sample")) {
      meta.units_per_sample = extent(*units, "units_per_sample", *object);
    }
    if (auto dataset = object->optional_object("dataset")) {
      meta.dataset = dataset->required_string("name");
      meta.samples_per_epoch = dataset->required_integer("samples", {.low = 1});
      dataset->finish();
    }
    if (auto longest = object->optional_object("longest")) {
      for (const auto& [name, usual] : parameters_.defaults()) {
        if (longest->has(name))
          meta.longest[name] = longest->required_integer(name, {.low = 1, .high = kLongest});
      }
      longest->finish();
    }
    if (auto recipe = object->optional_object("recipe")) {
      std::vector<std::string> names;
      for (const OptimizerRow& row : optimizers()) names.emplace_back(row.name);
      meta.optimizer = find_optimizer(recipe->required_choice("optimizer", names));
      meta.weight_decay = recipe->optional_bool("weight_decay").value_or(false);
      meta.optimizer_source = recipe->required_string("source");
      recipe->finish();
    }
    object->finish();
  }

  Dim extent(const JsonValue& value, std::string_view key, JsonObject& object, int64_t low = 1) {
    return read_extent(value, key, {.low = low, .high = kMostExtent}, environment_, binder_,
                       object);
  }

  void read_inputs(JsonObject& object, NetworkBuilder& builder, Scope& scope) {
    for (const JsonValue& value : object.required_list("inputs")) {
      JsonObject input(value, file_, faults_);
      const std::string name = input.required_string("name");
      const std::string dtype = input.optional_choice("dtype", dtype_names()).value_or("f32");
      Shape shape;
      for (const JsonValue& d : input.required_list("shape"))
        shape.push_back(extent(d, "shape", input, 0));  // infer() refuses what is read and empty
      input.finish();
      if (shape.size() > 64) input.fail("E804", "has more than 64 extents");
      if (has_error(faults_)) return;
      if (!is_name(name) || name == "previous" || scope.named.count(name)) {
        input.fail("E340",
                   fmt::format("an input cannot be called \"{}\", or not again", shortened(name)));
        return;
      }
      const TensorId id = builder.add_input(name, *dtype_from_short_name(dtype), std::move(shape));
      scope.named[name] = {{id}, value.line};
      if (scope.previous.empty()) scope.previous = {id};
    }
  }

  void read_outputs(JsonObject& object, NetworkBuilder& builder, const Scope& scope) {
    Graph& graph = builder.graph();
    const std::span<const JsonValue> references = object.optional_list("outputs");
    for (const JsonValue& value : references) {
      if (!value.string()) {
        object.fail(
            "E311",
            fmt::format("an output must be the name of a layer, found {}", value.description()),
            value);
        continue;
      }
      const auto found = builder.resolve(*value.string(), scope, value);
      if (!found.empty()) graph.outputs.push_back(found.front());
    }
    if (references.empty() && !scope.previous.empty()) graph.outputs = {scope.previous.front()};
    if (graph.outputs.empty()) object.fail("E306", "has no outputs: no inputs, or no layers");
  }

  Loss loss_kind(const std::string& text) const {
    const auto names = loss_names();
    const auto at = std::find(names.begin(), names.end(), text);
    return at == names.end() ? Loss::kNone : static_cast<Loss>(std::distance(names.begin(), at));
  }

  void read_losses(JsonObject& object, NetworkBuilder& builder, const Scope& scope,
                   NamedGraph& network) {
    const JsonValue* loss = object.optional("loss");
    if (!loss || has_error(faults_)) return;
    if (!loss->list()) {
      const auto kind = object.optional_choice("loss", loss_names());
      if (kind) network.losses.push_back({loss_kind(*kind), builder.graph().outputs.front()});
      return;
    }
    std::vector<TensorId> outputs;
    for (const JsonValue& value : *loss->list()) {
      JsonObject one(value, file_, faults_);
      const std::string kind = one.required_choice("type", loss_names());
      const std::string output = one.required_string("output");
      const int64_t when = count(one, "when", 0);
      one.finish();
      if (has_error(faults_)) return;
      if (when == 0) continue;
      const auto found = builder.resolve(output, scope, value);
      if (found.empty()) return;
      network.losses.push_back({loss_kind(kind), found.front()});
      outputs.push_back(found.front());
    }
    if (!object.has("outputs") && !outputs.empty()) builder.graph().outputs = std::move(outputs);
  }

  NamedGraph read_network(JsonObject& object, const std::string& name) {
    NamedGraph network;
    network.name = name;
    NetworkBuilder builder(file_, blocks_, environment_, binder_, faults_, warnings_);
    Scope scope;
    read_inputs(object, builder, scope);
    const JsonValue* layers = object.required("layers", "[{\"type\": \"linear\", \"out\": 10}]");
    if (layers && !layers->list()) {
      object.fail("E311", fmt::format("\"layers\" must be a list, found {}", layers->description()),
                  *layers);
    }
    if (!has_error(faults_)) add_layers(builder, *layers->list(), scope, environment_);
    if (!has_error(faults_)) read_outputs(object, builder, scope);
    if (has_error(faults_)) {
      object.optional("outputs");
      object.optional("loss");
      return network;
    }
    read_losses(object, builder, scope, network);
    host_ns_ = host_ns_ + builder.host_ns();
    network.graph = std::move(builder.graph());
    keep_defaults(network.graph);
    return network;
  }

  void keep_defaults(Graph& graph) const {
    for (const std::string& symbol : free_symbols(graph)) {
      const auto value = parameters_.defaults().find(symbol);
      if (value != parameters_.defaults().end()) graph.defaults[symbol] = value->second;
    }
  }

  void read_networks(ModelConfig& config) {
    JsonObject networks = top_.required_object("networks");
    if (!networks.value().members()) return;
    const JsonValue::Members& members = *networks.value().members();
    if (members.empty() || members.size() > kMostNetworks) {
      networks.fail("E312", fmt::format("\"networks\" must hold 1 to {} networks, found {}",
                                        kMostNetworks, members.size()));
    }
    for (const JsonMember& member : members) {
      if (has_error(faults_)) return;
      if (!is_name(member.key)) {
        networks.fail("E340", fmt::format("\"{}\" is no name for a network", shortened(member.key)),
                      member.value);
        return;
      }
      JsonObject object(member.value, file_, faults_);
      config.networks.push_back(read_network(object, member.key));
      config.networks.back().graph.name = member.key;
      object.finish();
    }
  }

  void read_schedule(ModelConfig& config) {
    std::vector<std::string> names;
    for (const NamedGraph& network : config.networks) names.push_back(network.name);
    const auto check = [&](const std::vector<std::string>& used, JsonObject& phase) {
      for (const std::string& one : used) {
        if (std::find(names.begin(), names.end(), one) != names.end()) continue;
        const std::string near = nearest(one, names);
        phase.fail("E341", fmt::format("there is no network \"{}\"", shortened(one)),
                   near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
      }
    };
    for (const JsonValue& value : top_.required_list("schedule")) {
      JsonObject object(value, file_, faults_);
      SchedulePhase phase;
      phase.network = object.required_string("train");
      phase.forward_only = object.optional_strings("forward_only");
      phase.through = object.optional_strings("through");
      phase.gradient_penalty = object.optional_bool("gradient_penalty").value_or(false);
      phase.passes = count(object, "passes");
      phase.repeat = count(object, "repeat");
      object.finish();
      if (has_error(faults_)) return;
      check({phase.network}, object);
      check(phase.forward_only, object);
      check(phase.through, object);
      config.schedule.push_back(std::move(phase));
    }
    if (config.schedule.empty()) top_.fail("E306", "\"schedule\" needs at least one phase");
  }

  // A number of passes or copies: 1 where absent.
  int64_t count(JsonObject& object, std::string_view key, int64_t least = 1) {
    const JsonValue* value = object.optional(key);
    if (!value) return 1;
    const auto number = binder_.integer(extent(*value, key, object, least));
    if (number && *number >= least && *number <= 1'000'000) return *number;
    object.fail("E312", fmt::format("\"{}\" must be a whole number from {} to 1000000", key, least),
                *value);
    return 1;
  }

  JsonObject top_;
  std::string_view file_;
  Diagnostics& faults_;
  Diagnostics& warnings_;
  const Parameters& parameters_;
  Binder binder_;
  Dim host_ns_ = 0;  // of all networks
  Environment environment_;
  const JsonValue* blocks_ = nullptr;
};

void list_parameters(const Parameters& parameters, ModelConfig& config) {
  std::set<std::string> symbols;
  for (const NamedGraph& network : config.networks) symbols.merge(free_symbols(network.graph));
  for (const Parameters::Entry& entry : parameters.entries()) {
    config.parameters.push_back(
        {entry.name, value_text(entry.value), symbols.count(entry.name) > 0});
  }
}

// Reads again as long as a parameter turns out to decide the structure: each round binds one more.
Result<ModelConfig> read_config(const JsonValue& root, std::string_view file,
                                const Parameters& parameters, std::set<std::string> bound,
                                Diagnostics& warnings) {
  constexpr int kMostRounds = 8;  // then everything is bound
  for (int rounds = 0;;) {
    Diagnostics faults;
    Diagnostics noted;
    Reader reader(root, file, parameters, bound, faults, noted);
    ModelConfig config = reader.read();
    const size_t before = bound.size();
    bound.insert(reader.binder().used().begin(), reader.binder().used().end());
    if (bound.size() > before && ++rounds == kMostRounds) {
      for (const Parameters::Entry& entry : parameters.entries()) bound.insert(entry.name);
    }
    if (bound.size() > before) continue;
    if (has_error(faults)) return tl::make_unexpected(std::move(faults));
    warnings.insert(warnings.end(), noted.begin(), noted.end());
    warnings.insert(warnings.end(), faults.begin(), faults.end());
    for (NamedGraph& network : config.networks) {
      if (network.graph.name.empty()) network.graph.name = config.name;
    }
    list_parameters(parameters, config);
    return config;
  }
}

}  // namespace
}  // namespace config

Result<ModelConfig> load_model_config(std::string_view text, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings) {
  const auto root = TRY(read_json(text, file_name));
  return load_model_config(root, file_name, options, warnings);
}

Result<ModelConfig> load_model_config(const JsonValue& root, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings) {
  if (!root.members()) {
    return error("E331", fmt::format("must be an object, found {}", root.description()),
                 {std::string(file_name), root.line, root.column, {}});
  }
  Diagnostics faults;
  const config::Parameters parameters(root.find("parameters"), file_name, options.set, faults);
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  warnings.insert(warnings.end(), faults.begin(), faults.end());
  std::set<std::string> bound;
  for (const auto& [name, value] : parameters.defaults()) {
    if (options.symbols && name != "batch" && !options.symbols->contains(name)) bound.insert(name);
  }
  auto read = config::read_config(root, file_name, parameters, std::move(bound), warnings);
  if (!read) return read;
  for (const auto& setting : options.set) read->meta.longest.erase(setting.first);  // as was asked
  return read;
}

}  // namespace plimsoll

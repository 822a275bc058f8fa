#include "graph/config/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/config/config_keys.h"
#include "graph/config/extent.h"
#include "graph/config/layer_list.h"
#include "graph/config/network_builder.h"
#include "graph/json/read_fields.h"
#include "graph/json/reader.h"

namespace plimsoll {

namespace config {
namespace {

constexpr size_t kMostNetworks = 16;

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
    const auto keys = read_described<ConfigKeys>(top_);
    config.name = keys.name;
    config.meta.description = keys.description;
    config.meta.sources = keys.sources;
    if (keys.meta) read_meta(*keys.meta, config.meta);
    blocks_ = keys.blocks;
    members_of(blocks_);
    if (keys.has_networks) {
      read_networks(keys.networks, config);
      read_schedule(keys.schedule, config);
    } else {
      config.networks.push_back(read_network(keys.network, top_, ""));
      config.schedule.push_back({.network = "", .forward_only = {}, .through = {}});
    }
    config.meta.host_ns = host_ns_;
    top_.finish();
    return config;
  }

  const Binder& binder() const { return binder_; }

 private:
  // E311 where it is none.
  std::span<const JsonMember> members_of(const JsonValue* value) {
    return value ? JsonObject(*value, file_, faults_).members() : std::span<const JsonMember>();
  }
  // E311 where it is none.
  std::span<const JsonValue> list_of(const JsonValue* value, std::string_view key) {
    const JsonValue::List* list = value ? top_.list_in(*value, key) : nullptr;
    return list ? std::span<const JsonValue>(*list) : std::span<const JsonValue>();
  }
  template <class Keys>
  Keys read(JsonObject& object) {
    auto keys = read_described<Keys>(object);
    object.finish();
    return keys;
  }

  void read_meta(const MetaKeys& keys, Meta& meta) {
    JsonObject object = *top_.optional_object("meta");
    meta.sample_unit = keys.unit;
    if (keys.units_per_sample)
      meta.units_per_sample = extent(*keys.units_per_sample, "units_per_sample", object);
    if (keys.dataset) {
      meta.dataset = keys.dataset->name;
      meta.samples_per_epoch = keys.dataset->samples;
    }
    for (const auto& [name, longest] : keys.longest) {
      if (parameters_.defaults().contains(name)) {
        meta.longest[name] = longest;
      } else {
        refuse_longest(*object.value().find("longest"), name);
      }
    }
    if (!keys.recipe) return;
    meta.optimizer = find_optimizer(keys.recipe->optimizer);
    meta.weight_decay = keys.recipe->weight_decay;
    meta.optimizer_source = keys.recipe->source;
  }

  void refuse_longest(const JsonValue& longest, const std::string& name) {
    std::vector<std::string> known;
    for (const auto& [parameter, value] : parameters_.defaults()) known.push_back(parameter);
    const std::string near = nearest(name, known);
    top_.fail("E304",
              fmt::format("\"longest\" has no whole-number parameter \"{}\"", shortened(name)),
              *longest.find(name),
              near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                           : fmt::format("did you mean \"{}\"?", near));
  }

  Dim extent(const JsonValue& value, std::string_view key, JsonObject& object, int64_t low = 1) {
    return read_extent(value, key, {.low = low, .high = kMostExtent}, environment_, binder_,
                       object);
  }

  void read_inputs(const JsonValue* inputs, NetworkBuilder& builder, Scope& scope) {
    for (const JsonValue& value : list_of(inputs, "inputs")) {
      JsonObject input(value, file_, faults_);
      const auto keys = read<InputKeys>(input);
      Shape shape;
      for (const JsonValue& d : list_of(keys.shape, "shape"))
        shape.push_back(extent(d, "shape", input, 0));  // infer() refuses what is read and empty
      if (shape.size() > 64) input.fail("E804", "has more than 64 extents");
      if (has_error(faults_)) return;
      const std::string& name = keys.name;
      if (!is_name(name) || name == "previous" || scope.named.count(name)) {
        input.fail("E340",
                   fmt::format("an input cannot be called \"{}\", or not again", shortened(name)));
        return;
      }
      const DType dtype = *dtype_from_short_name(keys.dtype);
      const TensorId id = builder.add_input(name, dtype, std::move(shape));
      scope.named[name] = {{id}, value.line};
      if (scope.previous.empty()) scope.previous = {id};
    }
  }

  void read_outputs(const NetworkKeys& keys, JsonObject& object, NetworkBuilder& builder,
                    const Scope& scope) {
    Graph& graph = builder.graph();
    const std::span<const JsonValue> references = list_of(keys.outputs, "outputs");
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

  static Loss loss_kind(std::string_view word) {
    const auto at = std::ranges::find(loss_words(), word);
    return at == loss_words().end() ? Loss::kNone : static_cast<Loss>(at - loss_words().begin());
  }

  void read_losses(const NetworkKeys& keys, JsonObject& object, NetworkBuilder& builder,
                   const Scope& scope, NamedGraph& network) {
    if (!keys.loss || has_error(faults_)) return;
    if (!keys.loss->list()) {
      const auto kind =
          object.choice_in(*keys.loss, "loss", {loss_words().begin(), loss_words().end()});
      if (kind)
        network.losses.push_back({loss_kind(*kind), builder.graph().outputs.front(), false});
      return;
    }
    std::vector<TensorId> outputs;
    for (const JsonValue& value : *keys.loss->list()) {
      JsonObject one(value, file_, faults_);
      const auto loss = read<LossKeys>(one);
      const int64_t when = count(loss.when, one, "when", 0);
      if (has_error(faults_)) return;
      if (when == 0) continue;
      const auto found = builder.resolve(loss.output, scope, value);
      if (found.empty()) return;
      network.losses.push_back({loss_kind(loss.type), found.front(), loss.narrow});
      outputs.push_back(found.front());
    }
    if (!keys.outputs && !outputs.empty()) builder.graph().outputs = std::move(outputs);
  }

  NamedGraph read_network(const NetworkKeys& keys, JsonObject& object, const std::string& name) {
    NamedGraph network;
    network.name = name;
    NetworkBuilder builder(file_, blocks_, environment_, binder_, faults_, warnings_);
    Scope scope;
    read_inputs(keys.inputs, builder, scope);
    const JsonValue::List* layers = keys.layers ? object.list_in(*keys.layers, "layers") : nullptr;
    if (!has_error(faults_)) add_layers(builder, *layers, scope, environment_);
    if (!has_error(faults_)) read_outputs(keys, object, builder, scope);
    if (has_error(faults_)) return network;
    read_losses(keys, object, builder, scope, network);
    for (const TensorId kept : builder.retained()) builder.graph().outputs.push_back(kept);
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

  void read_networks(const JsonValue* networks, ModelConfig& config) {
    const std::span<const JsonMember> members = members_of(networks);
    if (has_error(faults_)) return;
    if (members.empty() || members.size() > kMostNetworks) {
      top_.fail("E312",
                fmt::format("\"networks\" must hold 1 to {} networks, found {}", kMostNetworks,
                            members.size()),
                *networks);
    }
    for (const JsonMember& member : members) {
      if (has_error(faults_)) return;
      if (!is_name(member.key)) {
        top_.fail("E340", fmt::format("\"{}\" is no name for a network", shortened(member.key)),
                  member.value);
        return;
      }
      JsonObject object(member.value, file_, faults_);
      const auto keys = read<NetworkKeys>(object);
      config.networks.push_back(read_network(keys, object, member.key));
      config.networks.back().graph.name = member.key;
    }
  }

  void read_schedule(const JsonValue* schedule, ModelConfig& config) {
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
    for (const JsonValue& value : list_of(schedule, "schedule")) {
      JsonObject object(value, file_, faults_);
      const auto keys = read<PhaseKeys>(object);
      const int64_t passes = count(keys.passes, object, "passes");
      const int64_t repeat = count(keys.repeat, object, "repeat");
      if (has_error(faults_)) return;
      check({keys.train}, object);
      check(keys.forward_only, object);
      check(keys.through, object);
      config.schedule.push_back({.network = keys.train,
                                 .forward_only = keys.forward_only,
                                 .through = keys.through,
                                 .passes = passes,
                                 .gradient_penalty = keys.gradient_penalty,
                                 .repeat = repeat});
    }
    if (config.schedule.empty()) top_.fail("E306", "\"schedule\" needs at least one phase");
  }

  // A number of passes or copies: 1 where absent.
  int64_t count(const JsonValue* value, JsonObject& object, std::string_view key,
                int64_t least = 1) {
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

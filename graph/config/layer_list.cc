#include "graph/config/layer_list.h"

#include <fmt/format.h>

#include "graph/base/cancel.h"
#include "graph/base/escape.h"
#include "graph/config/extent.h"
#include "graph/config/layer.h"
#include "graph/config/parameters.h"

namespace plimsoll::config {
namespace {

constexpr Key kCommonKeys[] = {
    {"name", KeyKind::kIdentifier, kOptional, "its place in the list where it has none"},
    {"input", KeyKind::kName, kOptional, "the layer before where it names none"},
    {"inputs", KeyKind::kNames, kOptional, "of a layer that takes several"},
    {"when", KeyKind::kExtent, kOptional,
     "where it is 0 the layer is left out, and its input goes on", kAnyInteger},
    {"retained", KeyKind::kFlag, "false", "the program holds its outputs until the step ends"},
    {"local", KeyKind::kFlag, "false",
     "the code of the module around it has a name for its output until that module returns"},
    {"loop", KeyKind::kName, kOptional, "the parameter over which the program loops around it"},
    {"host_ns", KeyKind::kExtent, kOptional,
     "what it does on the host in a forward pass while the device waits, as proposals of a "
     "detector: nanoseconds of one thread of a 3.7 GHz Skylake",
     0},
};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const LayerType* type : all_layer_types()) names.emplace_back(type->name);
  return names;
}

std::vector<TensorId> inputs_of(NetworkBuilder& builder, JsonObject& object, const Scope& scope,
                                size_t most) {
  const JsonValue* one = object.optional("input");
  const JsonValue* several = object.optional("inputs");
  if (one && several) {
    object.fail("E348", "give \"input\" or \"inputs\", not both", *several);
    return {};
  }
  std::vector<TensorId> inputs;
  const auto add = [&](const JsonValue& value) {
    if (!value.string()) {
      object.fail(
          "E311",
          fmt::format("an input must be the name of a layer, found {}", value.description()),
          value);
      return;
    }
    const auto found = builder.resolve(*value.string(), scope, value);
    if (!found.empty()) inputs.push_back(found.front());
  };
  if (one) {
    add(*one);
  } else if (several) {
    for (const JsonValue& value : object.optional_list("inputs")) add(value);
  } else if (!scope.previous.empty() && most > 0) {
    inputs.push_back(scope.previous.front());
  }
  return inputs;
}

std::string layer_name(JsonObject& object, size_t index, const Scope& scope) {
  const auto given = object.optional_string("name");
  if (!given) return std::to_string(index);
  const JsonValue& value = *object.value().find("name");
  if (!is_name(*given) || *given == "previous") {
    object.fail("E340",
                fmt::format("a layer's name is letters, digits, '_' and '-', not \"{}\"",
                            shortened(*given)),
                value);
  } else if (const auto first = scope.named.find(*given);
             first != scope.named.end() && !first->second.absent) {
    object.fail("E340", fmt::format("'{}' is already used, at line {}", *given, first->second.line),
                value);
  }
  return *given;
}

// The parameter over which the program loops around the layer; empty: over none.
std::string loop_of(JsonObject& object, const Environment& environment) {
  const auto loop = object.optional_string("loop");
  if (!loop) return {};
  const Value* value = environment.find(*loop);
  const Dim* size = value != nullptr ? std::get_if<Dim>(value) : nullptr;
  if (size == nullptr || !(*size == Dim::symbol(*loop))) {
    object.fail("E343",
                fmt::format("\"loop\" takes a whole number among the parameters, which no layer's "
                            "form depends on, found \"{}\"",
                            shortened(*loop)),
                *object.value().find("loop"));
  }
  return *loop;
}

// Of a layer that is not there, whose other inputs need not be either.
std::vector<TensorId> first_input_of(NetworkBuilder& builder, JsonObject& object,
                                     const Scope& scope) {
  const JsonValue* reference = object.optional("input");
  const std::span<const JsonValue> several = object.optional_list("inputs");
  if (!several.empty()) reference = &several.front();
  if (!reference || !reference->string()) return scope.previous;
  return builder.resolve(*reference->string(), scope, *reference);
}

// A layer whose "when" is 0 is not there: its name stands for what it would have been given, and
// what comes next is given what came before.
bool is_there(NetworkBuilder& builder, JsonObject& object, const Environment& environment) {
  const JsonValue* when = object.optional("when");
  if (!when) return true;
  const Dim value = read_extent(*when, "when", {.low = -kMostExtent, .high = kMostExtent},
                                environment, builder.binder(), object);
  const auto number = builder.binder().integer(value);
  if (number) return *number != 0;
  for (const Diagnostic& d : number.error()) object.fail(d.code, d.message, *when, d.help);
  return false;
}

void add_layer(NetworkBuilder& builder, const JsonValue& value, size_t index, Scope& scope,
               const Environment& environment) {
  if (!builder.count_layer(value)) return;
  JsonObject object(value, builder.file(), builder.faults());
  const bool there = is_there(builder, object, environment);
  if (!there) {
    const auto given = object.optional_string("name");
    const std::vector<TensorId> inputs = first_input_of(builder, object, scope);
    if (given && !scope.named.count(*given)) scope.named[*given] = {inputs, value.line, true};
    return;
  }
  const std::string name = layer_name(object, index, scope);
  const std::string type_name = object.required_string("type");
  const std::string turns = loop_of(object, environment);
  const bool retained = object.optional_bool("retained").value_or(false);
  const bool local = object.optional_bool("local").value_or(false);
  if (builder.failed()) return;
  const LayerType* type = find_layer_type(type_name);
  const Value* word = type ? nullptr : environment.find(type_name);
  if (word && std::holds_alternative<std::string>(*word)) {
    type = find_layer_type(std::get<std::string>(*word));
  }
  if (!type) {
    const std::string near = nearest(type_name, type_names());
    builder.fail("E313", fmt::format("unknown layer type \"{}\"", shortened(type_name)),
                 *value.find("type"),
                 near.empty() ? "'plimsoll schema model-config' lists the types"
                              : fmt::format("did you mean \"{}\"?", near));
    return;
  }
  if (const JsonValue* ns = object.optional("host_ns")) {
    constexpr int64_t kMostNs = 3'600'000'000'000;
    builder.wait_for_host(read_extent(*ns, "host_ns", {.low = 0, .high = kMostNs}, environment,
                                      builder.binder(), object));
  }
  Layer layer(builder, *type, object, environment);
  layer.set_inputs(inputs_of(builder, object, scope, type->most_inputs));
  object.finish();
  if (builder.failed()) return;
  if (layer.inputs() < type->least_inputs || layer.inputs() > type->most_inputs) {
    builder.fail("E348",
                 fmt::format("\"{}\" takes {} to {} inputs, found {}", type->name,
                             type->least_inputs, type->most_inputs, layer.inputs()),
                 value);
    return;
  }
  layer.path = scope.path.empty() ? name : scope.path + "." + name;
  layer.scope = &scope;
  const JsonValue* around = builder.start_layer(layer.path, value);
  const size_t first = builder.graph().nodes.size();
  std::vector<TensorId> outputs = type->emit(layer);
  if (!turns.empty()) {
    for (size_t id = first; id < builder.graph().nodes.size(); ++id)
      builder.graph().nodes[id].notes.turns = turns;
  }
  builder.finish_layer(around);
  if (builder.failed()) return;
  if (retained) builder.retain(outputs);
  if (local) builder.keep_local(outputs, scope.path);
  scope.previous = outputs;
  scope.named[name] = {std::move(outputs), value.line};
}

}  // namespace

std::span<const Key> common_keys() { return kCommonKeys; }

void add_layers(NetworkBuilder& builder, const JsonValue::List& layers, Scope& scope,
                const Environment& environment) {
  if (!builder.open_list()) return;
  scope.layers = &layers;
  for (size_t i = 0; i < layers.size() && !builder.failed(); ++i) {
    check_cancelled();
    add_layer(builder, layers[i], i, scope, environment);
  }
  builder.close_list();
}

}  // namespace plimsoll::config

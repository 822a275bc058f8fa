// Layers made of layers: sequence, repeat, block, residual, branches.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/config/config_keys.h"
#include "graph/config/layer.h"
#include "graph/config/layer_list.h"
#include "graph/config/parameters.h"
#include "graph/json/read_fields.h"

namespace plimsoll::config {
namespace {

constexpr Key kSequenceKeys[] = {
    {"layers", KeyKind::kLayers, kRequired, "layers, each given the output of the one before"},
    {"frozen", KeyKind::kFlag, "false", "their weights are not trained"},
    {"no_grad", KeyKind::kFlag, "false", "they run without autograd, as torch.no_grad() has it"},
    {"under", KeyKind::kName, kOptional, "path that theirs begin with, in place of its name"},
};
constexpr Key kRepeatKeys[] = {
    {"layers", KeyKind::kLayers, kRequired, "layers of one round"},
    {"count", KeyKind::kInteger, kOptional, "rounds", 0},
    {"each", KeyKind::kList, kOptional, "a list, or the name of one: a round for each element"},
    {"also", KeyKind::kInteger, kOptional, "the round, from 1, whose output is the second output",
     0},
    {"index", KeyKind::kName, "i", "name of the round's number, from 0"},
    {"item", KeyKind::kName, "item", "name of the round's element"},
};
constexpr Key kBlockKeys[] = {
    {"block", KeyKind::kName, kRequired, "which of the config's blocks"},
    {"with", KeyKind::kObject, kOptional, "values of the block's parameters"},
    {"frozen", KeyKind::kFlag, "false", "its weights are not trained"},
    {"same_as", KeyKind::kName, kOptional,
     "an earlier use of it in this list, or the path of one, whose weights are used"},
};
constexpr Key kResidualKeys[] = {
    {"layers", KeyKind::kLayers, kRequired, "what is added to the input"},
    {"shortcut", KeyKind::kLayers, kOptional, "what the input goes through; nothing where absent"},
};
constexpr Key kBranchesKeys[] = {
    {"branches", KeyKind::kObject, kRequired, "lists of layers by name; each is given the input"},
    {"merge", KeyKind::kChoice, "concat", "what becomes of their outputs", 1, "concat|add|none"},
    {"axis", KeyKind::kInteger, "1", "of concat", kAnyInteger},
};
constexpr Key kPushKeys[] = {
    {"stack", KeyKind::kName, "skips", "name of the stack"},
};
constexpr Key kPopKeys[] = {
    {"stack", KeyKind::kName, "skips", "name of the stack"},
    {"first", KeyKind::kFlag, "false", "the first one of it, not the last"},
    {"stays", KeyKind::kFlag, "false", "a later pop gives it again"},
};

// Runs `layers` in a scope of their own below `outer` and returns the last one's outputs.
std::vector<TensorId> run(Layer& layer, const JsonValue::List& layers, std::string path,
                          std::vector<TensorId> given, const Environment& environment) {
  NetworkBuilder& builder = layer.builder();
  Scope scope;
  scope.outer = layer.scope;
  scope.path = std::move(path);
  scope.named["input"] = {given, layer.object().value().line};
  scope.previous = std::move(given);
  add_layers(builder, layers, scope, environment);
  return scope.previous;
}

const JsonValue::List& list_of(Layer& layer, std::string_view key) {
  static const JsonValue::List kNone;
  const JsonValue* value = layer.json(key);
  if (!value) return kNone;
  if (const auto* list = value->list()) return *list;
  layer.fail_at(
      key, "E311",
      fmt::format("\"{}\" must be a list of layers, found {}", key, value->description()));
  return kNone;
}

std::vector<TensorId> sequence(Layer& layer) {
  NetworkBuilder& builder = layer.builder();
  const bool around = builder.freeze(builder.frozen() || layer.flag("frozen"));
  const size_t first = builder.graph().nodes.size();
  auto outputs =
      run(layer, list_of(layer, "layers"), layer.has("under") ? layer.text("under") : layer.path,
          {layer.input()}, layer.environment());
  builder.freeze(around);
  if (layer.flag("no_grad")) {
    for (size_t id = first; id < builder.graph().nodes.size(); ++id)
      builder.graph().nodes[id].notes.no_grad = true;
  }
  return outputs;
}

// The values that "each" gives, or `count` of nothing.
std::vector<Dim> read_items(Layer& layer) {
  const JsonValue* each = layer.json("each");
  if (each->list()) return layer.shape("each");
  const Value* named = each->string() ? layer.environment().find(*each->string()) : nullptr;
  if (named && std::holds_alternative<std::vector<Dim>>(*named)) {
    return std::get<std::vector<Dim>>(*named);
  }
  layer.fail_at(
      "each", "E311",
      fmt::format("\"each\" must be a list or the name of one, found {}", each->description()));
  return {};
}

std::vector<TensorId> repeat(Layer& layer) {
  const JsonValue::List& layers = list_of(layer, "layers");
  if (layer.has("count") == layer.has("each")) {
    layer.fail("E348", "a repeat has \"count\" or \"each\"");
    return {};
  }
  const std::vector<Dim> items = layer.has("each") ? read_items(layer) : std::vector<Dim>();
  const int64_t count =
      layer.has("count") ? layer.integer("count") : static_cast<int64_t>(items.size());
  const int64_t also = layer.has("also") ? layer.integer("also") : -1;
  std::vector<TensorId> current;
  for (size_t i = 0; i < layer.inputs(); ++i) current.push_back(layer.input(i));
  TensorId second = layer.input();
  if (layer.failed() || !layer.builder().expect_layers(count, layers, layer.object().value())) {
    return current;
  }
  for (int64_t i = 0; i < count && !layer.failed(); ++i) {
    Environment round(&layer.environment());
    round.define(layer.text("index"), Dim(i));
    if (!items.empty()) round.define(layer.text("item"), items[static_cast<size_t>(i)]);
    current = run(layer, layers, fmt::format("{}.{}", layer.path, i), current, round);
    if (i + 1 == also) second = current.front();
  }
  if (also >= 0) return {current.front(), second};
  return current;
}

const std::string* first_word(const JsonValue* choices) {
  const JsonValue::List* list = choices ? choices->list() : nullptr;
  return list && !list->empty() ? list->front().string() : nullptr;
}

void define(Layer& layer, Environment& arguments, const JsonMember& member,
            const Environment& environment) {
  NetworkBuilder& builder = layer.builder();
  if (const auto whole = member.value.integer()) {
    arguments.define(member.key, Dim(*whole));
  } else if (const auto real = member.value.real()) {
    arguments.define(member.key, *real);
  } else if (const JsonValue::List* list = member.value.list()) {
    std::vector<Dim> numbers;
    for (const JsonValue& one : *list) numbers.emplace_back(one.integer().value_or(0));
    arguments.define(member.key, std::move(numbers));
  } else if (const JsonValue* choices = member.value.find("one_of"); first_word(choices)) {
    arguments.define(member.key, *first_word(choices));
  } else if (const std::string* text = member.value.string()) {
    const auto value = evaluate(*text, environment, builder.binder());
    if (value) return arguments.define(member.key, *value);
    for (const Diagnostic& d : value.error()) builder.fail(d.code, d.message, member.value, d.help);
  } else {
    builder.fail("E311",
                 fmt::format("\"{}\" must be a number or an expression, found {}",
                             shortened(member.key), member.value.description()),
                 member.value);
  }
}

std::span<const JsonMember> members_of(const JsonValue* value, Layer& layer) {
  if (!value) return {};
  return JsonObject(*value, layer.builder().file(), layer.object().faults()).members();
}

// The arguments of a block's use: its own parameters' defaults, replaced by "with". A default of
// null says that the use must give it.
Environment bind_arguments(Layer& layer, const BlockKeys& block) {
  Environment arguments(&layer.builder().root());
  const auto defaults = members_of(block.parameters, layer);
  const auto given = members_of(layer.object().optional("with"), layer);
  const auto same = [](const std::string& key) {
    return [&key](const JsonMember& member) { return member.key == key; };
  };
  std::vector<std::string> known;
  for (const JsonMember& member : defaults) {
    known.push_back(member.key);
    if (std::any_of(given.begin(), given.end(), same(member.key))) continue;
    if (!member.value.is_null()) {
      define(layer, arguments, member, layer.builder().root());
    } else {
      layer.fail("E306", fmt::format("the block's parameter \"{}\" is missing in \"with\"",
                                     shortened(member.key)));
    }
  }
  for (const JsonMember& member : given) {
    if (std::any_of(defaults.begin(), defaults.end(), same(member.key))) {
      define(layer, arguments, member, layer.environment());
      continue;
    }
    const std::string near = nearest(member.key, known);
    layer.builder().fail("E304",
                         fmt::format("the block has no parameter \"{}\"", shortened(member.key)),
                         member.value, near.empty() ? "" : "did you mean \"" + near + "\"?");
  }
  return arguments;
}

// The path that "same_as" names.
std::string earlier_use(Layer& layer) {
  const std::string use = layer.text("same_as");
  const bool is_near = layer.scope && layer.scope->named.contains(use);
  return is_near && !layer.scope->path.empty() ? layer.scope->path + "." + use : use;
}

// A block sees its own inputs and parameters and the config's parameters, nothing of its caller.
std::vector<TensorId> block(Layer& layer) {
  NetworkBuilder& builder = layer.builder();
  const std::string name = layer.text("block");
  const JsonValue* found = builder.block(name);
  if (!found) {
    const std::string near = nearest(name, builder.block_names());
    layer.fail_at("block", "E341", fmt::format("there is no block \"{}\"", shortened(name)),
                  near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
    return {};
  }
  JsonObject object(*found, builder.file(), layer.object().faults());
  const auto keys = read_described<BlockKeys>(object);
  object.finish();
  const std::vector<std::string>& formals = keys.inputs;
  const Environment arguments = bind_arguments(layer, keys);
  const size_t wanted = formals.empty() ? 1 : formals.size();
  if (!layer.failed() && layer.inputs() != wanted) {
    layer.fail("E348",
               fmt::format("block \"{}\" takes {} inputs, found {}", name, wanted, layer.inputs()));
  }
  if (layer.failed() || !keys.layers->list()) return {};
  Scope scope;
  scope.path = layer.path;
  for (size_t i = 0; i < wanted; ++i) {
    const std::string formal = formals.empty() ? "input" : formals[i];
    scope.named[formal] = {{layer.input(i)}, found->line};
  }
  scope.previous = {layer.input()};
  NetworkBuilder::Sharing sharing = builder.sharing();
  if (layer.has("same_as")) sharing = {.layer = layer.path, .with = earlier_use(layer)};
  const auto around = builder.share(std::move(sharing));
  const bool frozen = builder.freeze(builder.frozen() || layer.flag("frozen"));
  add_layers(builder, *keys.layers->list(), scope, arguments);
  builder.freeze(frozen);
  builder.share(around);
  return scope.previous;
}

std::vector<TensorId> residual(Layer& layer) {
  const auto& environment = layer.environment();
  const std::vector<TensorId> main =
      run(layer, list_of(layer, "layers"), layer.path, {layer.input()}, environment);
  const std::vector<TensorId> aside = run(layer, list_of(layer, "shortcut"),
                                          layer.path + ".shortcut", {layer.input()}, environment);
  if (layer.failed()) return {};
  return {layer.node("Add", {main.front(), aside.front()})};
}

std::vector<TensorId> branches(Layer& layer) {
  const JsonValue* lists = layer.json("branches");
  std::vector<TensorId> ends;
  if (!lists->members() || lists->members()->empty()) {
    layer.fail_at("branches", "E311", "\"branches\" must be an object of lists of layers");
    return ends;
  }
  for (const JsonMember& member : *lists->members()) {
    if (!is_name(member.key) || !member.value.list()) {
      layer.fail_at(
          "branches", "E311",
          fmt::format("branch \"{}\" must be a named list of layers", shortened(member.key)));
      return ends;
    }
    const auto outputs = run(layer, *member.value.list(), layer.path + "." + member.key,
                             {layer.input()}, layer.environment());
    if (layer.failed()) return ends;
    ends.push_back(outputs.front());
  }
  const std::string merge = layer.text("merge");
  if (merge == "none") return ends;
  if (merge == "concat") return {layer.node("Concat", ends, {{"axis", layer.integer("axis")}})};
  TensorId sum = ends.front();
  for (size_t i = 1; i < ends.size(); ++i) sum = layer.node("Add", {sum, ends[i]});
  return {sum};
}

std::vector<TensorId> push(Layer& layer) {
  layer.builder().push(layer.text("stack"), layer.input());
  return {layer.input()};
}

std::vector<TensorId> pop(Layer& layer) {
  const std::string stack = layer.text("stack");
  const TensorId tensor = layer.builder().pop(stack, layer.flag("first"), layer.flag("stays"));
  if (tensor == kNoTensor)
    layer.fail("E341", fmt::format("nothing is left on the stack '{}'", shortened(stack)));
  return {tensor};
}

constexpr LayerType kStructureLayers[] = {
    {"sequence", 1, 1, kSequenceKeys, sequence, "layers under one name"},
    {"repeat", 1, 16, kRepeatKeys, repeat,
     "the same layers several times, each with new weights; inputs are outputs of the round "
     "before"},
    {"block", 1, 16, kBlockKeys, block, "one of the config's blocks"},
    {"residual", 1, 1, kResidualKeys, residual, "input + layers(input)"},
    {"branches", 1, 1, kBranchesKeys, branches, "several lists of layers side by side"},
    {"push", 1, 1, kPushKeys, push, "its input, which a later pop gives again"},
    {"pop", 0, 0, kPopKeys, pop, "the last tensor pushed that none has popped"},
};

}  // namespace

std::span<const LayerType> structure_layers() { return kStructureLayers; }

}  // namespace plimsoll::config

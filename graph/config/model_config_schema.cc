// The JSON Schema of model configs: of what config_keys.h describes, and of the layer types' rows.
#include <fmt/format.h>

#include <map>

#include "graph/base/text.h"
#include "graph/config/config_keys.h"
#include "graph/config/layer_type.h"
#include "graph/config/model_config.h"
#include "graph/config/parameters.h"
#include "graph/json/schema_fields.h"
#include "graph/json/schema_writer.h"

namespace plimsoll {
namespace {

using config::Key;
using config::KeyKind;
using config::LayerType;

class ConfigSchema : SchemaWriter {
 public:
  ConfigSchema() : SchemaWriter("$defs") {}

  std::string text() {
    out_.begin_object();
    out_.key("$schema").string("https://json-schema.org/draft/2020-12/schema");
    out_.key("title").string("Plimsoll model config");
    config::ConfigKeys any;
    fields_.visit(any);
    object("$defs", [&] {
      write_values();
      write_keys();
      object("layer", [&] { write_layers(); });
    });
    return out_.end_object().take() + "\n";
  }

 private:
  // What the config's parameters enter.
  void write_values() {
    object("count", [&] {
      means("a whole number, or an expression over the parameters");
      is({"integer", "string"});
    });
    object("counts", [&] {
      is({"array"});
      object("items", [&] { is("count"); });
    });
    object("arguments", [&] { is({"object"}); });
    object("parameters", [&] {
      is({"object"});
      object("additionalProperties", [&] { list("anyOf", [&] { write_parameter(); }); });
    });
  }

  void write_parameter() {
    one([&] { is({"number", "string"}); });
    one([&] {
      is({"array"});
      object("items", [&] { is({"integer"}); });
    });
    one([&] {
      std::vector<std::string> words;
      fields_.object([&] { fields_("one_of", words); });
    });
  }

  void write_keys() {
    std::string name;
    std::vector<std::string> names;
    std::vector<config::InputKeys> inputs;
    std::map<std::string, config::BlockKeys> blocks;
    std::map<std::string, config::NetworkKeys> networks;
    std::vector<config::PhaseKeys> schedule;
    std::vector<config::LossKeys> losses;
    fields_("name", name, {.pattern = config::kNamePattern});
    fields_("names", names);
    fields_("inputs", inputs);
    fields_("blocks", blocks);
    fields_("networks", networks);
    fields_("schedule", schedule, {.least = 1});
    fields_("losses", losses);
    object("loss", [&] {
      list("anyOf", [&] {
        one([&] { out_.key("enum").strings(config::loss_words()); });
        one([&] { is("losses"); });
      });
    });
    object("layers", [&] {
      is({"array"});
      object("items", [&] { is("layer"); });
    });
  }

  void write_layers() {
    is({"object"});
    out_.key("required").strings(Words{"type"});
    list("anyOf", [&] {
      for (const LayerType* type : config::all_layer_types()) one([&] { write_layer(*type); });
      one([&] { write_chosen_layer(); });
    });
  }

  void write_layer(const LayerType& type) {
    means(type.says);
    object("properties", [&] {
      object("type", [&] { out_.key("const").string(type.name); });
      for (const Key& key : config::common_keys()) write_key(key);
      for (const Key& key : type.keys) write_key(key);
    });
    std::vector<std::string_view> required{"type"};
    for (const Key& key : type.keys) {
      if (key.otherwise == config::kRequired) required.push_back(key.name);
    }
    out_.key("required").strings(required);
    out_.key("additionalProperties").boolean(false);
  }

  // Its keys are those of the type that the word names.
  void write_chosen_layer() {
    means("a layer whose type is the word a parameter stands for");
    object("properties", [&] {
      object("type", [&] {
        is({"string"});
        object("not", [&] {
          out_.key("enum").begin_array();
          for (const LayerType* type : config::all_layer_types()) out_.string(type->name);
          out_.end_array();
        });
      });
      for (const Key& key : config::common_keys()) write_key(key);
    });
  }

  void write_key(const Key& key) {
    const bool shown = key.otherwise != config::kRequired && key.otherwise != config::kOptional;
    object(key.name, [&] {
      means(shown ? fmt::format("{} (default {})", key.says, key.otherwise)
                  : std::string(key.says));
      write_kind(key);
    });
  }

  void write_kind(const Key& key) {
    switch (key.kind) {
      case KeyKind::kExtent:
      case KeyKind::kInteger:
        return is("count");
      case KeyKind::kIntegers:
        return list("anyOf", [&] {
          one([&] { is("count"); });
          one([&] { is("counts"); });
        });
      case KeyKind::kShape:
        return is("counts");
      case KeyKind::kReal:
      case KeyKind::kRate:
        return is({"number", "string"});
      case KeyKind::kFlag:
        return is({"boolean", "string"});
      case KeyKind::kChoice:
        out_.key("enum").strings(split(key.choices, '|'));
        return;
      case KeyKind::kName:
        return is({"string"});
      case KeyKind::kIdentifier:
        return is("name");
      case KeyKind::kNames:
        return is("names");
      case KeyKind::kLayers:
        return is("layers");
      case KeyKind::kObject:
        return is({"object"});
      case KeyKind::kList:
        return is({"array", "string"});
    }
  }

  SchemaFields fields_{out_};
};

}  // namespace

std::string model_config_schema() { return ConfigSchema().text(); }

}  // namespace plimsoll

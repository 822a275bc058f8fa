// What a model config holds around its layers, described once: its reader and its schema are
// visitors of it (graph/json/fields.h). What depends on the config's parameters, or names layers,
// is kept as it is written: who reads it on says what is wrong at its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/json/fields.h"
#include "graph/json/value.h"

namespace plimsoll::config {

using Written = const JsonValue*;  // null where the file has none

struct InputKeys {
  std::string name, dtype = "f32";
  Written shape = nullptr;
};

// One of several losses of a network; a single one is its type alone.
struct LossKeys {
  std::string type, output;
  Written when = nullptr;
  bool narrow = false;
};

struct NetworkKeys {
  Written inputs = nullptr, layers = nullptr, outputs = nullptr, loss = nullptr;
};

struct PhaseKeys {
  std::string train;
  std::vector<std::string> forward_only, through;
  Written passes = nullptr, repeat = nullptr;
  bool gradient_penalty = false;
};

struct BlockKeys {
  std::string description;
  std::vector<std::string> inputs;
  Written parameters = nullptr, layers = nullptr;
};

struct RecipeKeys {
  std::string optimizer, source;
  bool weight_decay = false;
};

struct DatasetKeys {
  std::string name;
  int64_t samples = 0;
};

struct MetaKeys {
  std::string unit = "samples";
  Written units_per_sample = nullptr;
  std::vector<std::pair<std::string, int64_t>> longest;
  std::optional<RecipeKeys> recipe;
  std::optional<DatasetKeys> dataset;
};

struct ConfigKeys {
  std::string name, description;
  std::vector<std::string> sources;
  Written parameters = nullptr, blocks = nullptr;
  std::optional<MetaKeys> meta;
  bool has_networks = false;  // else one, of the config's own keys
  NetworkKeys network;
  Written networks = nullptr, schedule = nullptr;
};

void describe(Fields& f, InputKeys& input);
void describe(Fields& f, LossKeys& loss);
void describe(Fields& f, NetworkKeys& network);
void describe(Fields& f, PhaseKeys& phase);
void describe(Fields& f, BlockKeys& block);
void describe(Fields& f, RecipeKeys& recipe);
void describe(Fields& f, DatasetKeys& dataset);
void describe(Fields& f, MetaKeys& meta);
void describe(Fields& f, ConfigKeys& config);

// "cross_entropy", ..., in the order of Loss.
std::span<const std::string_view> loss_words();

}  // namespace plimsoll::config

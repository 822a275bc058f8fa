#include "graph/config/config_keys.h"

#include <vector>

#include "graph/base/dtype.h"
#include "graph/config/parameters.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/recipe.h"

namespace plimsoll::config {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kConfigSchema = "plimsoll.model-config";
constexpr int64_t kConfigVersion = 1;
constexpr double kMostOfLongest = int64_t{1} << 32;

const Words& dtype_words() {
  static const Words kWords = [] {
    Words words;
    for (int i = 1; i < kDTypeCount; ++i) {
      const std::string_view word = short_name(static_cast<DType>(i));
      if (!word.empty()) words.push_back(word);
    }
    return words;
  }();
  return kWords;
}

const Words& optimizer_words() {
  static const Words kWords = [] {
    Words words;
    for (const OptimizerRow& row : optimizers()) words.push_back(row.name);
    return words;
  }();
  return kWords;
}

FieldNote may_be_absent(std::string_view meaning = {}, std::string_view form = {}) {
  return {.meaning = meaning, .absent_where = false, .form = form};
}

}  // namespace

std::span<const std::string_view> loss_words() {
  static const Words kWords = [] {
    Words words;
    for (int i = 0; i <= static_cast<int>(Loss::kNone); ++i)
      words.push_back(name(static_cast<Loss>(i)));
    return words;
  }();
  return kWords;
}

void describe(Fields& f, InputKeys& input) {
  f("name", input.name, {.pattern = kNamePattern});
  f("dtype", input.dtype, {.absent_where = false, .words = dtype_words()});
  f("shape", input.shape, {.form = "counts", .example = "[\"batch\", 784]"});
}

void describe(Fields& f, LossKeys& loss) {
  f("type", loss.type, {.words = loss_words()});
  f("output", loss.output);
  f("when", loss.when, may_be_absent("where it is 0 this loss is left out", "count"));
  f("narrow", loss.narrow,
    may_be_absent("transformers before 4.49 did not widen the scores that the loss copied"));
}

void describe(Fields& f, NetworkKeys& network) {
  f("inputs", network.inputs, {.form = "inputs", .example = "[...]"});
  f("layers", network.layers,
    {.form = "layers", .example = "[{\"type\": \"linear\", \"out\": 10}]"});
  f("outputs", network.outputs, may_be_absent({}, "names"));
  f("loss", network.loss, may_be_absent({}, "loss"));
}

void describe(Fields& f, PhaseKeys& phase) {
  f("train", phase.train, "the network that is trained and updated");
  f("forward_only", phase.forward_only, may_be_absent("run without gradients, to make its inputs"));
  f("through", phase.through,
    may_be_absent("through which gradients pass, and which are not updated"));
  f("gradient_penalty", phase.gradient_penalty,
    may_be_absent("a further pass that differentiates the gradient"));
  f("passes", phase.passes, may_be_absent("forward and backward for each update", "count"));
  f("repeat", phase.repeat, may_be_absent("how often in one step", "count"));
}

void describe(Fields& f, BlockKeys& block) {
  f("description", block.description, may_be_absent());
  f("inputs", block.inputs, may_be_absent("input where none is named"));
  f("parameters", block.parameters,
    may_be_absent("defaults; null where the use must give a value", "arguments"));
  f("layers", block.layers, {.form = "layers", .example = "[...]"});
}

void describe(Fields& f, RecipeKeys& recipe) {
  f("optimizer", recipe.optimizer, {.words = optimizer_words()});
  f("weight_decay", recipe.weight_decay, may_be_absent());
  f("source", recipe.source);
}

void describe(Fields& f, DatasetKeys& dataset) {
  f("name", dataset.name);
  f("samples", dataset.samples, {.low = 1});
}

void describe(Fields& f, MetaKeys& meta) {
  f("unit", meta.unit, may_be_absent("what throughput counts: images, tokens"));
  f("units_per_sample", meta.units_per_sample, may_be_absent({}, "count"));
  f("dataset", meta.dataset, may_be_absent());
  f("longest", meta.longest,
    {.meaning = "parameters' values in the largest batch, where batches differ: memory is read "
                "there",
     .absent_where = false,
     .low = 1,
     .high = kMostOfLongest});
  f("recipe", meta.recipe,
    may_be_absent("how its sources trained it: the recipe that is called published"));
}

void describe(Fields& f, ConfigKeys& config) {
  f.form(kConfigSchema, kConfigVersion);
  f("name", config.name);
  f("parameters", config.parameters,
    may_be_absent("defaults of hyper-parameters: a whole number, an expression over earlier ones, "
                  "a number, a list of whole numbers, or words to choose from",
                  "parameters"));
  f("description", config.description, may_be_absent());
  f("sources", config.sources, may_be_absent());
  f("meta", config.meta, may_be_absent());
  f("blocks", config.blocks, may_be_absent({}, "blocks"));
  const auto several = [&] {
    f("networks", config.networks, {.form = "networks", .example = "{...}"});
    f("schedule", config.schedule,
      {.meaning = "the phases of one training step, where there are several networks",
       .form = "schedule",
       .example = "[...]"});
    config.has_networks = true;
  };
  f.either("networks", config.has_networks, several, [&] { describe(f, config.network); });
}

}  // namespace plimsoll::config

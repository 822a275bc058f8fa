#include "estimator/cli/shared_flags.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/cli/flag_groups.h"
#include "estimator/time/exchange.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/precision.h"

namespace plimsoll::cli {
namespace {

// Names of a table's rows: "sgd, sgd-fused, ...".
template <auto rows>
std::string all_of() {
  std::vector<std::string_view> names;
  for (const auto& row : rows()) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string exchange_words() {
  std::vector<std::string_view> names;
  for (const ExchangeScheme& scheme : exchange_schemes()) names.push_back(scheme.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr const char* kModel = "Model";
constexpr const char* kTraining = "Training";
constexpr const char* kCard = "GPU and its memory";
constexpr const char* kFramework = "Framework and libraries";
constexpr const char* kRun = "Several GPUs, host and run";

using Shown = FlagRow::Shown;
constexpr Shown kOften = Shown::kOften, kRarely = Shown::kRarely;

constexpr FlagRow kFlags[] = {
    {"batch", kModel, kOften, "N", "samples per GPU and step", "the file's, else 32"},
    {"image", kModel, kRarely, "N", "height and width of image inputs", "the model's"},
    {.name = "dim",
     .group = kModel,
     .shown = kOften,
     .value = "NAME=N",
     .help = "value of a symbolic dimension",
     .list = &SharedFlags::dims},
    {.name = "set",
     .group = kModel,
     .shown = kOften,
     .value = "NAME=VALUE",
     .help = "a parameter that 'plimsoll models NAME' lists",
     .list = &SharedFlags::settings},
    {.name = "shape",
     .group = kModel,
     .value = "NAME=1x3x224x224",
     .help = "shape of a graph input",
     .list = &SharedFlags::shapes},
    {.name = "longest",
     .group = kModel,
     .value = "NAME=N",
     .help = "a dimension in the largest batch; memory is read there",
     .list = &SharedFlags::longest},
    {.name = "lengths",
     .group = kModel,
     .value = "NAME=N:SHARE,...",
     .help = "lengths of batches and how many have each; time is their mean",
     .list = &SharedFlags::lengths},
    {.name = "trip",
     .group = kModel,
     .value = "NODE=K",
     .help = "iterations of a loop",
     .list = &SharedFlags::trips},
    {.name = "branch",
     .group = kModel,
     .value = "NODE=then|else",
     .help = "the branch of an If whose condition is data",
     .list = &SharedFlags::branches},
    {.name = "contents",
     .group = kModel,
     .value = "TENSOR=N,N,...",
     .help = "what a tensor holds that shapes depend on",
     .list = &SharedFlags::contents},
    {.name = "assume",
     .group = kModel,
     .value = "OP=FREE|ELEMENTWISE",
     .help = "price an unknown operator",
     .list = &SharedFlags::assume},
    {.name = "no-recover",
     .group = kModel,
     .help = "take the graph as it is written",
     .on = &SharedFlags::no_recover},
    {.name = "limit",
     .group = kModel,
     .value = "NAME=N",
     .help = "raise a limit of reading",
     .list = &SharedFlags::limits},
    {.name = "strict",
     .group = kModel,
     .help = "warnings about the model are errors",
     .on = &SharedFlags::strict},
    {"mode", kTraining, kOften, "MODE", "train, train_no_update or inference", "train"},
    {"precision", kTraining, kOften, "NAME", "of parameters and products", "fp32",
     all_of<precisions>},
    {.name = "optimizer",
     .group = kTraining,
     .shown = kOften,
     .value = "NAME",
     .help = "sgd, momentum, adam, adamw and others",
     .words = all_of<optimizers>},
    {"recipe", kTraining, kRarely, "WHICH",
     "usual, or published: the optimizer that a built-in's sources trained it with", "usual"},
    {"checkpoint", kTraining, kOften, "WHAT", "none, blocks, mirror, or a module path", "none"},
    {"accumulate", kTraining, kRarely, "N", "forward-backward passes per update", "1"},
    {"loss", kTraining, kRarely, "NAME", "cross_entropy, mse, bce, sum, ctc or none",
     "a config's own, else cross_entropy"},
    {.name = "compile",
     .group = kTraining,
     .shown = kOften,
     .help = "by torch.compile: kernels between products are fused",
     .on = &SharedFlags::compile},
    {.name = "cuda-graphs",
     .group = kTraining,
     .help = "passes are replayed; with --compile its mode reduce-overhead",
     .on = &SharedFlags::cuda_graphs},
    {.name = "freeze",
     .group = kTraining,
     .value = "GLOB",
     .help = "weights that are not trained, e.g. 'backbone.*'",
     .rule = FlagRow::Rule::kFreeze},
    {.name = "train",
     .group = kTraining,
     .value = "GLOB",
     .help = "weights that are, e.g. 'backbone.4.*'; the last match holds",
     .rule = FlagRow::Rule::kTrain},
    {.name = "weight-decay",
     .group = kTraining,
     .help = "the optimizer decays weights",
     .on = &SharedFlags::weight_decay},
    {"zero-grad", kTraining, kRarely, "WHEN", "none, before, after or keep", "none"},
    {"dropout", kTraining, kRarely, "WHAT", "recovered, none, or a ratio to assume", "recovered"},
    {.name = "gpu",
     .group = kCard,
     .shown = kOften,
     .value = "ID",
     .help = "of 'plimsoll gpus', a file, or local",
     .usual = "this machine's",
     .list = &SharedFlags::gpus},
    {"mem", kCard, kOften, "SIZE", "capacity instead of the GPU's, e.g. 10GiB"},
    {"reserve", kCard, kRarely, "SIZE", "memory to keep free, e.g. 1GiB"},
    {"display", kCard, kRarely, "SIZE", "what a desktop on the card takes of it",
     "none is counted"},
    {"context", kCard, kRarely, "SIZE", "of context and libraries, where known",
     "by card and CUDA"},
    {"machine", kCard, kRarely, "FILE",
     "what plimsoll-calibrate fit made of kernels measured on this card"},
    {"hwdb", kCard, kRarely, "FOLDER", "whose files replace the built-in data"},
    {"framework", kFramework, kOften, "NAME", "NAME[-VERSION], e.g. tensorflow-1.15", "pytorch"},
    {"cudnn", kFramework, kRarely, "VERSION", "e.g. 7.6", "the framework's"},
    {"cuda", kFramework, kRarely, "VERSION", "e.g. 12.8: by default modules are loaded as it does",
     "the framework's"},
    {"module-loading", kFramework, kRarely, "HOW", "lazy or eager, as CUDA_MODULE_LOADING",
     "as framework and CUDA do"},
    {"workspace-limit", kFramework, kRarely, "SIZE",
     "most workspace a convolution may use; estimate: or sweep", "the framework's"},
    {"conv-algo", kFramework, kRarely, "NAME",
     "autotune, heuristic, guess_once, time_once, deterministic, im2col or an algorithm's name",
     "the framework's policy"},
    {"cudnn-benchmark", kFramework, kRarely, "on|off", "time algorithms and take the fastest",
     "the framework's policy"},
    {"input-gradient", kFramework, kRarely, "on|off",
     "whether the first layer's gradient with respect to its input is computed",
     "as the framework does"},
    {"layout", kFramework, kRarely, "nchw|nhwc", "of images", "the framework's"},
    {"attention", kFramework, kRarely, "fused|math", "its kernels", "as the framework chooses"},
    {"recurrent", kFramework, kRarely, "HOW", "library or unrolled: how recurrent layers run",
     "as model and framework do"},
    {"allocator", kFramework, kRarely, "SETTINGS",
     "PyTorch's, e.g. expandable_segments:True,max_split_size_mb:128"},
    {"prefetch", kFramework, kRarely, "N", "batches that a loader holds on the GPU ahead", "0"},
    {"gpus", kRun, kRarely, "N", "of a data-parallel run; estimate: or 1..N, a line for each", "1"},
    {"link", kRun, kRarely, "ID", "what joins them, see 'plimsoll links'", "the card's"},
    {"exchange", kRun, kRarely, "SCHEME", "of gradients: ring, tree, parameter-server and others",
     "the framework's", exchange_words},
    {"nodes", kRun, kRarely, "N", "machines; --gpus and --link are then those of one", "1"},
    {"network", kRun, kRarely, "ID", "what joins machines, see 'plimsoll links'"},
    {"host", kRun, kRarely, "ID|FILE", "the machine around it, see 'plimsoll hosts'", "generic"},
    {"workers", kRun, kRarely, "N",
     "processes that load batches, as PyTorch's num_workers; the loader is then counted",
     "batches lie ready"},
    {"loader", kRun, kRarely, "HOW", "none, memory, convert or transform: how samples get there"},
    {"epochs", kRun, kRarely, "N", "passes over the data, for the time of a whole run"},
    {"samples", kRun, kRarely, "N", "per epoch", "the built-in's data set"},
    {"samples-in-memory", kRun, kRarely, "N", "samples of a data set that the host holds"},
};

// The recipe's own default stands in the recipe.
std::string usual_of(const FlagRow& row) {
  return row.words == all_of<optimizers> ? std::string(Recipe{}.optimizer->name) : row.usual;
}

CLI::Option* declare(CLI::App& app, SharedFlags& flags, const FlagRow& row) {
  const std::string name = fmt::format("--{}", row.name);
  if (row.on) return app.add_flag(name, flags.*row.on, row.help);
  if (row.list) return app.add_option(name, flags.*row.list, row.help);
  if (row.rule == FlagRow::Rule::kNone)
    return app.add_option(name, flags.values[std::string(row.name)], row.help);
  const bool trained = row.rule == FlagRow::Rule::kTrain;
  const auto add = [&flags, trained](const std::string& glob) {
    flags.training.push_back({glob, trained});
  };
  return app.add_option_function<std::string>(name, add, row.help)
      ->trigger_on_parse();  // at once: of --freeze and --train the last match holds
}

}  // namespace

std::span<const FlagRow> shared_flags() { return kFlags; }

const FlagRow* find_flag(std::string_view name) {
  const auto row = std::ranges::find(kFlags, name, &FlagRow::name);
  return row == std::end(kFlags) ? nullptr : row;
}

bool is_shared_value(std::string_view name) {
  const FlagRow* row = find_flag(name);
  return row && !row->on && !row->list && row->rule == FlagRow::Rule::kNone;
}

const std::string* value_of(const SharedFlags& flags, std::string_view name) {
  const auto at = flags.values.find(std::string(name));
  return at == flags.values.end() || at->second.empty() ? nullptr : &at->second.front();
}

void add_value(CLI::App& app, SharedFlags& flags, const std::string& name, const std::string& help,
               const std::string& value, const std::string& group) {
  app.add_option("--" + name, flags.values[name], help)
      ->allow_extra_args(false)
      ->type_name(value)
      ->group(group);
}

void add_shared(CLI::App& app, SharedFlags& flags, bool with_model, Shown most) {
  if (with_model) {
    app.add_option("model", flags.model, "model.onnx, model.json or builtin:NAME")->group(kModel);
  }
  for (const FlagRow& row : kFlags) {
    CLI::Option* option = declare(app, flags, row);
    const bool rare = row.shown == kRarely || most == kRarely;
    option->group(rare ? rarely(row.group) : row.group)->default_str(usual_of(row));
    if (!row.on) option->allow_extra_args(false)->type_name(row.value);
  }
}

}  // namespace plimsoll::cli

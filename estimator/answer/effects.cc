#include "estimator/answer/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/answer/platform_notes.h"
#include "estimator/request/check_flags.h"
#include "estimator/request/platform.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/ops/op_row.h"
#include "hwdb/releases.h"

namespace plimsoll {
namespace {

struct Asked {
  const Request& request;
  const Platform& platform;
  const CompiledModel& model;
};

bool trains(const Asked& a) { return a.request.recipe.mode != Mode::kInference; }
bool updates(const Asked& a) { return a.request.recipe.mode == Mode::kTrain; }
bool several(const Asked& a) { return a.platform.gpu_count > 1; }

bool has_kernel(const Asked& a, KernelClass of) {
  return std::ranges::any_of(a.model.step.kernels,
                             [&](const Kernel& k) { return k.kernel_class == of; });
}
bool convolves(const Asked& a) { return has_kernel(a, KernelClass::kConv); }

template <size_t N>
bool has_op(const Asked& a, const std::array<std::string_view, N>& ops) {
  return std::ranges::any_of(a.model.graph.nodes, [&](const Node& node) {
    return std::ranges::find(ops, node.op) != ops.end();
  });
}
bool recurs(const Asked& a) {
  return has_op(a, std::array<std::string_view, 3>{"LSTM", "GRU", "RNN"});
}
bool attends(const Asked& a) { return has_op(a, std::array<std::string_view, 1>{"Attention"}); }
bool normalises(const Asked& a) {
  return has_op(a, std::array<std::string_view, 1>{"BatchNormalization"});
}
bool drops(const Asked& a) {
  // A ratio that finds no place is said by the pass that looks for one.
  const bool ratio = a.request.recipe.assumed_dropout.has_value();
  return trains(a) &&
         (ratio || attends(a) || has_op(a, std::array<std::string_view, 1>{"Dropout"}));
}

bool fuses(const Asked& a) {
  const auto& fusion = a.model.step.fusion;
  return fusion && fusion->launches < fusion->eager_launches;
}

bool knows_loader(const Asked& a) {
  const FrameworkProfile& f = a.platform.framework;
  const Dispatch* dispatch = a.platform.host.find(f.framework, f.asked);
  return dispatch && dispatch->loader;
}

struct EffectRow {
  std::string_view setting;
  bool (*acts)(const Asked&);
  std::string_view why;      // {}: another setting
  std::string_view other{};  // its name
};

constexpr EffectRow kEffectRows[] = {
    {"optimizer", updates, "nothing is updated in this mode"},
    {"weight-decay", updates, "nothing is updated in this mode"},
    {"recipe",
     [](const Asked& a) {
       return !a.request.recipe.published || a.model.meta.optimizer != nullptr;
     },
     "the model's file does not say how it was trained"},
    {"loss", trains, "inference has no loss"},
    {"checkpoint", trains, "inference keeps nothing for a backward pass"},
    {"accumulate", trains, "inference has no gradients"},
    {"zero-grad", trains, "inference has no gradients"},
    {"freeze", trains, "inference trains nothing"},
    {"train", trains, "inference trains nothing"},
    {"input-gradient", trains, "inference has no gradients"},
    {"dropout", drops, "no dropout runs in this model and mode"},
    {"link", [](const Asked& a) { return a.platform.link.has_value(); },
     "one GPU of a machine exchanges nothing in it: {} is how many share the work", "gpus"},
    {"exchange",
     [](const Asked& a) { return several(a) && (trains(a) || a.platform.one_process()); },
     "nothing is exchanged: {} is how many share the work of training", "gpus"},
    {"network", [](const Asked& a) { return a.platform.nodes > 1; },
     "one machine has no other: {} is how many there are", "nodes"},
    {"conv-algo", convolves, "the model has no convolution"},
    {"cudnn-benchmark", convolves, "the model has no convolution"},
    {"workspace-limit", convolves, "the model has no convolution"},
    {"layout", [](const Asked& a) { return convolves(a) || normalises(a); },
     "the model has no images"},
    {"cudnn",
     [](const Asked& a) { return convolves(a) || recurs(a) || normalises(a) || attends(a); },
     "no layer of the model is cuDNN's"},
    {"compile", fuses, "no kernels of the model follow each other that would be fused"},
    {"recurrent", recurs, "the model has no recurrent layer"},
    {"attention", attends, "no attention was recognised in the model"},
    {"module-loading", [](const Asked& a) { return !a.request.context_bytes; },
     "{} says what the context takes", "context"},
    {"epochs",
     [](const Asked& a) { return a.request.samples > 0 || a.model.meta.samples_per_epoch > 0; },
     "{} says how long an epoch is", "samples"},
    {"machine", [](const Asked& a) { return a.platform.machine.has_value(); },
     "the file tells of another card"},
    {"loader", knows_loader, "what this framework takes to load a sample is not known"},
    {"samples-in-memory", [](const Asked& a) { return a.platform.framework.host_base.value > 0; },
     "the host's memory of this framework is not known"},
};

std::string why_of(const EffectRow& row) {
  const std::string_view value = row.other == "context" ? "" : "N";
  return fmt::format(fmt::runtime(row.why), setting(row.other, value));
}

}  // namespace

Diagnostics warnings_of(const Request& request, const Platform& platform,
                        const CompiledModel& model) {
  Diagnostics said = model.warnings;
  for (Diagnostic& d : platform_warnings(platform, *request.recipe.precision))
    said.push_back(std::move(d));
  const Asked asked{request, platform, model};
  for (const EffectRow& row : kEffectRows) {
    if (!request.given.contains(row.setting) || row.acts(asked)) continue;
    said.push_back(warning(std::string(kWithoutEffect),
                           fmt::format("{} has no effect: {}", setting(row.setting), why_of(row))));
  }
  for (const auto& [name, price] : request.assume) {
    const bool known = find_op("", name) != nullptr;
    if (known)
      said.push_back(warning(
          std::string(kWithoutEffect),
          setting_entry("assume", shortened(name, 60)) + " has no effect: the operator is known"));
  }
  for (Diagnostic& newer : newer_versions(request, platform)) said.push_back(std::move(newer));
  return said;
}

void keep_common(Diagnostics& said, const Diagnostics& of_another) {
  std::erase_if(said, [&](const Diagnostic& d) {
    return std::ranges::none_of(of_another, [&](const Diagnostic& other) {
      return other.code == d.code && other.message == d.message;
    });
  });
}

}  // namespace plimsoll

#include "estimator/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/platform.h"
#include "graph/base/escape.h"
#include "graph/ops/op.h"
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
bool several(const Asked& a) { return a.request.gpu_count > 1; }

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

bool knows_loader(const Asked& a) {
  const FrameworkProfile& f = a.platform.framework;
  const Dispatch* dispatch = a.platform.host.find(f.framework, f.asked);
  return dispatch && dispatch->loader;
}

struct EffectRow {
  std::string_view flag;
  bool (*acts)(const Asked&);
  std::string_view why;
};

constexpr EffectRow kEffectRows[] = {
    {"optimizer", updates, "nothing is updated in this mode"},
    {"weight-decay", updates, "nothing is updated in this mode"},
    {"loss", trains, "inference has no loss"},
    {"checkpoint", trains, "inference keeps nothing for a backward pass"},
    {"accumulate", trains, "inference has no gradients"},
    {"zero-grad", trains, "inference has no gradients"},
    {"freeze", trains, "inference trains nothing"},
    {"train", trains, "inference trains nothing"},
    {"dropout", drops, "no dropout runs in this model and mode"},
    {"link", several, "one GPU exchanges nothing: --gpus N is how many share the work"},
    {"conv-algo", convolves, "the model has no convolution"},
    {"cudnn-benchmark", convolves, "the model has no convolution"},
    {"workspace-limit", convolves, "the model has no convolution"},
    {"layout", [](const Asked& a) { return convolves(a) || normalises(a); },
     "the model has no images"},
    {"cudnn",
     [](const Asked& a) { return convolves(a) || recurs(a) || normalises(a) || attends(a); },
     "no layer of the model is cuDNN's"},
    {"recurrent", recurs, "the model has no recurrent layer"},
    {"attention", attends, "no attention was recognised in the model"},
    {"module-loading", [](const Asked& a) { return !a.request.context_bytes; },
     "--context says what the context takes"},
    {"samples", [](const Asked& a) { return a.request.epochs > 0; },
     "--epochs N asks for the time of a whole run"},
    {"epochs",
     [](const Asked& a) { return a.request.samples > 0 || a.model.meta.samples_per_epoch > 0; },
     "--samples N says how long an epoch is"},
    {"machine",
     [](const Asked& a) {
       return a.request.machine && a.request.machine->gpu == a.platform.device.id;
     },
     "the file tells of another card"},
    {"loader", knows_loader, "what this framework takes to load a sample is not known"},
    {"samples-in-memory", [](const Asked& a) { return a.platform.framework.host_base.value > 0; },
     "the host's memory of this framework is not known"},
};

// Frameworks with a switch that times cuDNN's algorithms: torch.backends.cudnn.benchmark, Torch7's
// cudnn.benchmark, chainer.config.autotune, MXNET_CUDNN_AUTOTUNE_DEFAULT, TF_CUDNN_USE_AUTOTUNE,
// Caffe2's exhaustive_search, Theano's dnn.conv.algo_fwd.
constexpr std::array<std::string_view, 8> kTimesAlgorithms = {
    "pytorch", "torch7", "chainer", "mxnet", "tensorflow", "caffe2", "detectron", "theano"};

struct AskedVersion {
  std::string flag, product;
  std::optional<Version> version;
};

// --framework's is what stands behind its last hyphen.
std::vector<AskedVersion> asked_versions(const Request& request, const Platform& platform) {
  std::vector<AskedVersion> asked;
  if (request.given.contains("cudnn") && request.cudnn)
    asked.push_back({"--cudnn", "cudnn", parse_version(*request.cudnn)});
  if (request.given.contains("cuda") && request.cuda)
    asked.push_back({"--cuda", "cuda", parse_version(*request.cuda)});
  const size_t hyphen = request.framework.rfind('-');
  if (request.given.contains("framework") && hyphen != std::string::npos) {
    asked.push_back({"--framework", platform.framework.framework,
                     parse_version(std::string_view(request.framework).substr(hyphen + 1))});
  }
  std::erase_if(asked, [](const AskedVersion& a) { return !a.version; });
  return asked;
}

Result<void> check_versions(const Request& request, const Platform& platform) {
  for (const AskedVersion& asked : asked_versions(request, platform)) {
    const auto fact = find_release(platform.hwdb, asked.product, *asked.version);
    if (!fact) return tl::make_unexpected(fact.error());
    if (fact->state != ReleaseState::kUnknown) continue;
    return error(
        "E163",
        fmt::format("{}: nobody released {} {}", asked.flag, asked.product, asked.version->text()),
        {}, fmt::format("nearest: {}; newest known: {}", fact->nearest, fact->newest));
  }
  return {};
}

void say_newer(const Request& request, const Platform& platform, Diagnostics& said) {
  for (const AskedVersion& asked : asked_versions(request, platform)) {
    const auto fact = find_release(platform.hwdb, asked.product, *asked.version);
    if (!fact || fact->state != ReleaseState::kNewer) continue;
    said.push_back(warning(
        "W518", fmt::format("{}: {} {} is newer than what is known, {}: taken "
                            "to be like it",
                            asked.flag, asked.product, asked.version->text(), fact->newest)));
  }
}

}  // namespace

Diagnostics without_effect(const Request& request, const Platform& platform,
                           const CompiledModel& model) {
  Diagnostics said;
  const Asked asked{request, platform, model};
  for (const EffectRow& row : kEffectRows) {
    if (!request.given.contains(row.flag) || row.acts(asked)) continue;
    said.push_back(warning(std::string(kWithoutEffect),
                           fmt::format("--{} has no effect: {}", row.flag, row.why)));
  }
  for (const auto& [name, price] : request.assume) {
    const bool known = find_op("", name) != nullptr;
    if (known)
      said.push_back(warning(
          std::string(kWithoutEffect),
          fmt::format("--assume {} has no effect: the operator is known", shortened(name, 60))));
  }
  say_newer(request, platform, said);
  return said;
}

Result<void> check_flags(const Request& request, const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  const auto given = [&](std::string_view flag) { return request.given.contains(flag); };
  if (given("cudnn-benchmark") &&
      std::ranges::find(kTimesAlgorithms, framework.framework) == kTimesAlgorithms.end()) {
    return error("E116", fmt::format("--cudnn-benchmark: {} has no such switch", framework.id), {},
                 "--conv-algo says how it chooses");
  }
  if (given("cudnn-benchmark") && given("conv-algo")) {
    return error("E116", "--cudnn-benchmark and --conv-algo both say how algorithms are chosen", {},
                 "leave one of them out");
  }
  if (request.attention == "fused" && !framework.policy.attention.memory_efficient) {
    return error("E116", fmt::format("--attention fused: {} has no fused attention", framework.id));
  }
  if (request.reserve_bytes > 0 && usable_bytes(platform, request) == 0) {
    return error("E116", "--reserve leaves nothing of the GPU's memory");
  }
  return check_versions(request, platform);
}

Result<void> check_assumed(const LoadedModel& model, const Request& request) {
  std::vector<std::string> ops;
  for (const NamedGraph& network : model.config.networks) {
    for (const Node& node : network.graph.nodes) ops.push_back(node.op);
  }
  for (const auto& [name, price] : request.assume) {
    if (std::ranges::find(ops, name) != ops.end()) continue;
    const std::string near = nearest(name, ops);
    return error("E118",
                 fmt::format("--assume {}: the model has no such operator", shortened(name, 60)),
                 {}, near.empty() ? "" : fmt::format("did you mean {}?", shortened(near)));
  }
  return {};
}

void keep_common(Diagnostics& said, const Diagnostics& of_another) {
  std::erase_if(said, [&](const Diagnostic& d) {
    return std::ranges::none_of(of_another, [&](const Diagnostic& other) {
      return other.code == d.code && other.message == d.message;
    });
  });
}

}  // namespace plimsoll

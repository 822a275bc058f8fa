#include "estimator/request/check_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "hwdb/releases.h"

namespace plimsoll {
namespace {

bool reaches(const FrameworkProfile& framework, const std::optional<Version>& first) {
  return first && !(framework.asked < *first);
}

struct AskedVersion {
  std::string setting, product;  // by its name
  std::optional<Version> version;
};

// A framework's is what stands behind its last hyphen.
std::vector<AskedVersion> asked_versions(const Request& request, const Platform& platform) {
  std::vector<AskedVersion> asked;
  if (request.given.contains("cudnn") && request.cudnn)
    asked.push_back({"cudnn", "cudnn", parse_version(*request.cudnn)});
  if (request.given.contains("cuda") && request.cuda)
    asked.push_back({"cuda", "cuda", parse_version(*request.cuda)});
  const size_t hyphen = request.framework.rfind('-');
  if (request.given.contains("framework") && hyphen != std::string::npos) {
    asked.push_back({"framework", platform.framework.framework,
                     parse_version(std::string_view(request.framework).substr(hyphen + 1))});
  }
  std::erase_if(asked, [](const AskedVersion& a) { return !a.version; });
  return asked;
}

// The kernels of torch.compile are Triton's, which refuses cards before Volta
// (torch/_inductor/scheduler.py: "too old to be supported by the triton GPU compiler").
Result<void> check_compiler(const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  if (!reaches(framework, framework.compiles_since)) {
    return error("E116",
                 fmt::format("{}: {} has no such compiler", setting("compile"), framework.id), {},
                 "torch.compile needs PyTorch 2.0 or later, XLA's clusters TensorFlow 1.15");
  }
  if (framework.framework == "pytorch" &&
      platform.device.compute_capability < ComputeCapability{7, 0}) {
    return error("E116", fmt::format("{}: {} is too old; torch.compile generates kernels with "
                                     "Triton, which needs compute capability 7.0",
                                     setting("compile"), platform.device.id));
  }
  return {};
}

Result<void> check_mirror(const Request& request, const FrameworkProfile& framework) {
  if (request.recipe.checkpoint != "mirror" || framework.framework == "mxnet") return {};
  return error(
      "E116",
      fmt::format("{}: this is MXNet's MXNET_BACKWARD_DO_MIRROR, {} has no such mode",
                  setting("checkpoint", "mirror"), framework.id),
      {}, fmt::format("{}, or {}", setting("checkpoint", "blocks"), setting("framework", "mxnet")));
}

Result<void> check_graphs(const FrameworkProfile& framework, const std::string& asked) {
  if (reaches(framework, framework.replays_since)) return {};
  return error("E116", fmt::format("{}: {} does not replay passes", setting("cuda-graphs"), asked),
               {}, "CUDA graphs need PyTorch 1.10 or later");
}

Result<void> check_one_process(const Platform& platform) {
  if (!platform.framework.data_parallel)
    return error("E116", setting("exchange", kDataParallel) + ": it is PyTorch's");
  if (platform.nodes > 1) {
    return error(
        "E116",
        setting("exchange", kDataParallel) + ": nn.DataParallel uses the GPUs of one machine", {},
        fmt::format("omit {}", setting("nodes")));
  }
  return {};
}

// FullyShardedDataParallel(use_orig_params=True), the form that is modelled, is of PyTorch 2.0
// (torch/distributed/fsdp/fully_sharded_data_parallel.py), fully_shard of 2.4; DeepSpeed trains
// PyTorch's modules.
std::optional<Version> first_fsdp1() { return Version{{2, 0}}; }

Result<void> check_sharding(const Request& request, const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  const std::string sharding = setting(request.parallel.fsdp ? "fsdp" : "zero");
  if (!framework.shards_since)
    return error("E116",
                 fmt::format("{}: {} does not shard weights, gradients or optimizer states",
                             sharding, framework.id),
                 {}, "PyTorch's FSDP does, and DeepSpeed");
  const bool flat = request.parallel.fsdp_version == 1;
  const auto since = flat ? first_fsdp1() : framework.shards_since;
  if (request.parallel.fsdp && !reaches(framework, since)) {
    return error("E116", fmt::format("{}: it needs PyTorch {} or later", sharding, since->text()),
                 {},
                 flat ? ""
                      : fmt::format("{} needs PyTorch {} or later", setting("fsdp-version", "1"),
                                    first_fsdp1()->text()));
  }
  if (platform.one_process() || platform.exchange == kSplitLayers)
    return error("E114", fmt::format("{} and {}: with sharding, each GPU has a separate process",
                                     sharding, setting("exchange", platform.exchange)));
  return {};
}

// Optimizers that multiply matrices have no form for the host's processors.
Result<void> check_offload(const Request& request, const Platform& platform) {
  if (!platform.framework.shards_since)
    return error("E116",
                 fmt::format("{}: {} does not offload", setting("offload"), platform.framework.id));
  const OptimizerRow& row = *request.recipe.optimizer;
  const bool multiplies = std::ranges::any_of(row.rules, [](const UpdateRule& rule) {
    return std::ranges::any_of(rule.passes,
                               [](const UpdatePass& p) { return p.compute != nullptr; });
  });
  if (request.parallel.offload.keeps() && multiplies)
    return error("E116", fmt::format("{} and {}: the host does not run this optimizer",
                                     setting("offload"), setting("optimizer", row.name)));
  return {};
}

Result<void> check_versions(const Request& request, const Platform& platform) {
  for (const AskedVersion& asked : asked_versions(request, platform)) {
    const auto fact = TRY(find_release(platform.hwdb, asked.product, *asked.version));
    if (fact.state != ReleaseState::kUnknown) continue;
    return error("E163",
                 fmt::format("{}: there is no {} {}", setting(asked.setting), asked.product,
                             asked.version->text()),
                 {}, fmt::format("nearest: {}; newest known: {}", fact.nearest, fact.newest));
  }
  return {};
}

}  // namespace

Result<void> check_flags(const Request& request, const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  const auto given = [&](std::string_view flag) { return request.given.contains(flag); };
  if (given("cudnn-benchmark") && !framework.algorithm_switch) {
    return error("E116",
                 fmt::format("{}: {} has no such switch", setting("cudnn-benchmark"), framework.id),
                 {}, setting("conv-algo") + " sets how it chooses");
  }
  if (given("cudnn-benchmark") && given("conv-algo")) {
    return error("E116",
                 fmt::format("{} and {} both set how algorithms are chosen",
                             setting("cudnn-benchmark"), setting("conv-algo")),
                 {}, "remove one of them");
  }
  if (platform.one_process()) {
    if (auto whole = check_one_process(platform); !whole) return whole;
  }
  if (request.parallel.shards()) {
    if (auto sharding = check_sharding(request, platform); !sharding) return sharding;
  }
  if (request.parallel.offload != Offload{}) {
    if (auto offload = check_offload(request, platform); !offload) return offload;
  }
  if (request.attention == AskedAttention::kFused && !framework.policy.attention.memory_efficient) {
    return error("E116", fmt::format("{}: {} has no fused attention", setting("attention", "fused"),
                                     framework.id));
  }
  if (request.attention >= AskedAttention::kFlash &&
      static_cast<int>(platform.device.compute_capability.major) < 8) {
    return error("E116", fmt::format("{}: flash-attn runs on compute capability 8.0 and newer, {} "
                                     "has less",
                                     setting("attention", "flash"), platform.device.id));
  }
  if (request.recipe.compiled) {
    if (auto compiler = check_compiler(platform); !compiler) return compiler;
  }
  if (auto mirror = check_mirror(request, framework); !mirror) return mirror;
  if (request.cuda_graphs) {
    if (auto graphs = check_graphs(framework, request.framework); !graphs) return graphs;
  }
  if (request.reserve_bytes > 0 && platform.usable_bytes == 0) {
    return error("E116", setting("reserve") + " leaves no GPU memory");
  }
  if (request.module_loading == ModuleLoading::kLazy && !can_load_lazily(platform.cuda)) {
    return error(
        "E162", fmt::format("{}: CUDA {} of {} cannot; it needs 11.7 or later",
                            setting("module-loading", "lazy"), platform.cuda.text(), framework.id));
  }
  if (request.workers.value_or(0) > 0 && framework.batches_per_worker == 0) {
    return error("E112", fmt::format("{}: {} loads data in threads of the training process",
                                     setting("workers"), framework.id));
  }
  return check_versions(request, platform);
}

Diagnostics newer_versions(const Request& request, const Platform& platform) {
  Diagnostics said;
  for (const AskedVersion& asked : asked_versions(request, platform)) {
    const auto fact = find_release(platform.hwdb, asked.product, *asked.version);
    if (!fact || fact->state != ReleaseState::kNewer) continue;
    said.push_back(warning(
        "W518",
        fmt::format(
            "{0}: {1} {2} is newer than the newest known, {3}; the behaviour of {3} is assumed",
            setting(asked.setting), asked.product, asked.version->text(), fact->newest)));
  }
  return said;
}

}  // namespace plimsoll

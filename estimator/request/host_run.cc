#include "estimator/request/host_run.h"

#include <fmt/format.h>

#include <array>

#include "graph/base/setting.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 23> kOfCards = {
    "allocator",   "attention",       "compile", "context",   "conv-algo",      "cuda",
    "cuda-graphs", "cudnn",           "display", "epochs",    "exchange",       "gpus",
    "layout",      "lengths",         "link",    "machine",   "nodes",          "network",
    "prefetch",    "cudnn-benchmark", "samples", "recurrent", "workspace-limit"};

}  // namespace

void put_on_host(Platform& platform) {
  platform.device.memory_reported = platform.host.memory;
  FrameworkProfile& f = platform.framework;
  // An executor that plans its memory does so on a host too.
  const bool of_cards = f.allocator == FrameworkProfile::Allocator::kPytorchCaching ||
                        f.allocator == FrameworkProfile::Allocator::kBfc;
  if (of_cards) f.allocator = FrameworkProfile::Allocator::kNone;
  f.memory_spread = f.demand_spread;  // of what a step needs; no region is taken ahead of it
  f.demand_spread = 0;
  f.takes_whole_card = false;
  f.system_reserve = {};
  f.cublas_workspace = f.cublas_workspace_hopper = {};
  f.prefetched_batches = 0;  // on a card
  f.policy.unrolls_recurrent = true;
}

Result<void> check_host_flags(const Request& request) {
  for (const std::string_view name : kOfCards) {
    if (!request.given.contains(name)) continue;
    return error("E116", fmt::format("{}: {} is a run on the host, where only memory is predicted",
                                     setting(name), setting("gpu", kHostDevice)));
  }
  return {};
}

}  // namespace plimsoll

#include "estimator/request/find_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "estimator/library/workspace/asked.h"
#include "estimator/memory/allocator/options.h"
#include "estimator/request/check_flags.h"
#include "estimator/request/host_run.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "hwdb/cpu.h"

namespace plimsoll {
namespace {

// NVLink where the card has it, else its PCIe slot. A file of fewer links than the generation's
// usual is named after both: nvlink-4-8.
std::string usual_link(const Hwdb& hwdb, const Device& device) {
  if (device.nvlink_links == 0)
    return fmt::format("pcie-{}-x16", std::max<int64_t>(2, device.pcie_generation));
  std::string usual = fmt::format("nvlink-{}", device.nvlink_generation);
  std::string counted = fmt::format("{}-{}", usual, device.nvlink_links);
  return hwdb.contains(fmt::format("links/{}.json", counted)) ? counted : usual;
}

// Where a version of CUDA is given and none of the framework, the newest that came with it.
Result<FrameworkProfile> find_framework(const Hwdb& hwdb, const PlatformRequest& request) {
  auto newest = hwdb.framework(request.framework);
  const auto cuda = request.cuda ? parse_version(*request.cuda) : std::nullopt;
  const auto is_too_new = [&](const FrameworkProfile& p) {
    return p.cuda_since && *cuda < *p.cuda_since;
  };
  constexpr int kNone = std::numeric_limits<int>::max();  // as FrameworkProfile::asked has it
  const bool asked = newest && newest->asked.numbers.front() != kNone;
  if (!newest || !cuda || asked || !is_too_new(*newest)) return newest;
  std::optional<FrameworkProfile> found;
  for (const std::string& id : hwdb.framework_ids()) {
    if (!id.starts_with(newest->framework)) continue;
    auto profile = hwdb.framework(id);
    if (!profile || profile->framework != newest->framework || is_too_new(*profile)) continue;
    if (!found || found->since < profile->since) found = std::move(*profile);
  }
  return found ? std::move(*found) : newest;
}

// The machine file's own, where nobody names another and the card is its.
Result<Host> find_host(const Hwdb& hwdb, const PlatformRequest& request, const Device& device) {
  const bool told = request.machine && request.machine->gpu == device.id &&
                    !request.machine->host.empty() && request.host == kUnknownHost;
  if (!told) return hwdb.host(request.host);
  auto host = read_host(request.machine->host, "the machine file", "");
  auto unknown = hwdb.host(kUnknownHost);
  if (!unknown) return unknown;
  if (host) host->complete(*unknown);
  return host;
}

// The machine that is called after its processor, or `unknown` with the processor's threads. A
// record's that nobody knows says nothing.
Result<Host> with_cpu(const Hwdb& hwdb, const Request& request, Host unknown) {
  if (auto rated = hwdb.host(request.cpu)) return rated;
  const auto cpu = find_cpu(hwdb, request.cpu);
  if (!cpu && request.given.contains("cpu")) return tl::make_unexpected(cpu.error());
  if (!cpu) return unknown;
  unknown.name = cpu->name + (cpu->assumed ? " (its clock is assumed)" : "");
  unknown.single_thread = cpu->single_thread;
  unknown.cores = cpu->cores;
  return unknown;
}

// A card's slot and NVLinks may run slower than they can, not faster.
Result<void> check_link(const Hwdb& hwdb, const Link& link, const Device& device) {
  const bool nvlink = link.kind == "nvlink";
  if (!nvlink && link.kind != "pcie") return {};
  const auto refuse = [&](const std::string& what) {
    return error("E116", fmt::format("{}: {} has {}", setting("link", link.id), device.id, what),
                 {}, "'plimsoll gpus " + device.id + "' lists its links");
  };
  if (nvlink && device.nvlink_links == 0) return refuse("no NVLink");
  const std::string limit_id =
      nvlink ? usual_link(hwdb, device) : fmt::format("pcie-{}-x16", device.pcie_generation);
  const auto limit = hwdb.link(limit_id);
  if (!limit || link.rate.value <= limit->rate.value) return {};
  return refuse(
      nvlink ? fmt::format("{} links of NVLink {}", device.nvlink_links, device.nvlink_generation)
             : fmt::format("PCIe {}", device.pcie_generation));
}

Result<std::optional<Link>> find_link(const Hwdb& hwdb, const PlatformRequest& request,
                                      const Device& device) {
  if (request.gpu_count <= request.nodes) return std::nullopt;
  auto found = TRY(hwdb.link(request.link.empty() ? usual_link(hwdb, device) : request.link));
  TRY(check_link(hwdb, found, device));
  return std::optional(std::move(found));
}

Result<std::optional<Link>> find_network(const Hwdb& hwdb, const PlatformRequest& request) {
  if (request.nodes <= 1) return std::nullopt;
  if (request.network.empty()) {
    return error("E116", setting("nodes") + ": the network between the machines is missing", {},
                 setting("network", "ID") + ", such as ethernet-10g; 'plimsoll links' lists them");
  }
  auto found = TRY(hwdb.link(request.network));
  return std::optional(std::move(found));
}

// The version asked for, or the one usual for the framework's.
Result<Version> asked_version(std::string_view asked_by, std::string_view example,
                              const std::optional<std::string>& asked, const Version& usual) {
  if (!asked) return usual;
  auto version = parse_version(*asked);
  if (!version) {
    return error("E103", fmt::format("{} takes a version such as {}, found '{}'", setting(asked_by),
                                     example, shortened(*asked, 40)));
  }
  return *version;
}

// Of what is free a context of some hundred MiB is neglected in the system's share.
void set_memory(const PlatformRequest& request, Platform& platform) {
  platform.memory_bytes = request.memory_bytes.value_or(platform.device.memory_reported.value);
  const int64_t free =
      std::max<int64_t>(0, platform.memory_bytes - request.reserve_bytes - request.display_bytes);
  platform.usable_bytes = free - platform.framework.system_reserve.of(free);
}

Result<AllocatorRules> allocator_of(const Platform& platform, const std::string& settings) {
  constexpr int64_t kHostGranule = 64;  // c10/core/alignment.h, gAlignment
  const FrameworkProfile& framework = platform.framework;
  if (!framework.allocator_settings && !settings.empty())
    return error("E161",
                 fmt::format("{}: allocator settings are modelled for PyTorch only, not for {}",
                             setting("allocator"), framework.id));
  switch (framework.allocator) {
    case FrameworkProfile::Allocator::kPytorchCaching:
      return caching_rules(settings);
    case FrameworkProfile::Allocator::kBfc:
      return AllocatorRules(BfcRules{});
    case FrameworkProfile::Allocator::kMxnetPool:
      // A symbol's executor plans its memory as a whole; arrays without a plan come from the pool.
      if (framework.execution == FrameworkProfile::Execution::kGraph)
        return AllocatorRules(StaticRules{});
      return AllocatorRules(PoolRules{});
    case FrameworkProfile::Allocator::kStatic:
      return AllocatorRules(StaticRules{});
    case FrameworkProfile::Allocator::kNone:
      break;
  }
  return AllocatorRules(platform.device.is_host ? NoAllocator{kHostGranule} : NoAllocator{});
}

std::shared_ptr<const AskedWorkspaces> asked_of(const PlatformRequest& request,
                                                const Platform& platform) {
  if (request.asked || !request.listed) return request.asked;
  if (!platform.machine) return nullptr;
  const auto listed = parse_version(request.listed->cudnn());
  const auto minor = [](const Version& v) {
    return std::vector<int>(
        v.numbers.begin(),
        v.numbers.begin() + std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(v.numbers.size())));
  };
  if (request.cudnn && listed && minor(platform.cudnn) != minor(*listed)) return nullptr;
  return request.listed;
}

// What the request sets on its device and framework.
Result<void> set_up(const PlatformRequest& request, Platform& platform) {
  const auto cudnn = TRY(asked_version("cudnn", "7.6", request.cudnn, platform.framework.cudnn));
  const auto cuda = TRY(asked_version("cuda", "12.8", request.cuda, platform.framework.cuda));
  const auto allocator = TRY(allocator_of(platform, request.allocator));
  platform.cudnn = cudnn;
  platform.cuda = cuda;
  platform.allocator = allocator;
  platform.exchange = request.exchange.empty() ? platform.framework.exchange : request.exchange;
  if (request.machine && request.machine->gpu == platform.device.id)
    platform.machine = request.machine;
  platform.asked = asked_of(request, platform);
  set_memory(request, platform);
  return {};
}

}  // namespace

Result<Platform> find_platform(const Hwdb& hwdb, const Request& request,
                               const std::string& device_name) {
  auto device = TRY(hwdb.device(device_name));
  auto framework = TRY(find_framework(hwdb, request));
  auto host = find_host(hwdb, request, device);
  if (!host) return tl::make_unexpected(host.error());
  if (host->id == kUnknownHost && !request.cpu.empty()) {
    host = with_cpu(hwdb, request, std::move(*host));
    if (!host) return tl::make_unexpected(host.error());
  }
  auto link = TRY(find_link(hwdb, request, device));
  auto network = TRY(find_network(hwdb, request));
  const auto errors = TRY(open_step_errors(hwdb));
  Platform platform{.device = std::move(device),
                    .framework = std::move(framework),
                    .host = std::move(*host),
                    .link = std::move(link),
                    .network = std::move(network),
                    .gpu_count = request.gpu_count,
                    .nodes = request.nodes,
                    .errors = errors,
                    .hwdb = hwdb};
  if (platform.device.is_host) {
    TRY(check_host_flags(request));
    put_on_host(platform);
  }
  auto plan = TRY(plan_on(request.parallel, request.gpu_count));
  platform.parallel = plan;
  TRY(set_up(request, platform));
  TRY(check_flags(request, platform));
  return platform;
}

}  // namespace plimsoll

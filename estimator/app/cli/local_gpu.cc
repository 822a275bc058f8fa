#include "estimator/app/cli/local_gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "estimator/app/cli/child.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/mig.h"

namespace plimsoll::cli {
namespace {

constexpr std::string_view kLocal = "local";
constexpr std::chrono::seconds kLongestQuery{10};  // without a resident driver it initialises cards

// MiB as nvidia-smi prints them with nounits; nothing for "[N/A]" and "[Not Supported]".
std::optional<int64_t> mebibytes(std::string_view text) {
  constexpr int64_t kMostMebibytes = int64_t{1} << 30;
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < 0 || *value > kMostMebibytes) return std::nullopt;
  return *value << 20;
}

std::string shown(std::optional<int64_t> bytes) {
  return bytes ? human_bytes(*bytes) : "an unreported amount";
}

// How far a card's memory is from what the driver reports, as a ratio.
double distance(const Device& device, int64_t total) {
  return std::abs(std::log(static_cast<double>(device.memory.value) / static_cast<double>(total)));
}

// Of several cards of one name, the one with this memory. W405 where that does not tell them apart.
Result<Device> nearest_in_memory(const Hwdb& hwdb, const LocalGpu& gpu,
                                 const std::vector<std::string>& ids) {
  if (ids.size() == 1) return hwdb.device(ids.front());
  if (!gpu.total_bytes || *gpu.total_bytes == 0) return hwdb.device(gpu.name);
  std::optional<Device> best;
  std::vector<std::string> alike;
  for (const std::string& id : ids) {
    auto device = hwdb.device(id);
    if (!device) return device;
    const double far = distance(*device, *gpu.total_bytes);
    const double nearest = best ? distance(*best, *gpu.total_bytes) : far + 1;
    if (far == nearest) alike.push_back(id);
    if (far >= nearest) continue;
    best = std::move(*device);
    alike.clear();
  }
  if (!alike.empty()) {
    best->warnings.push_back(warning(
        "W405",
        fmt::format("\"{1}\" with this memory may also be {0}; using {2}", fmt::join(alike, ", "),
                    shortened(gpu.name, kQuotedColumns), best->id)));
  }
  return std::move(*best);
}

// "T4" of "GRID T4-8Q": a virtual GPU is named after its card, its framebuffer and its edition.
std::string_view card_of_virtual(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == name.npos || dash + 2 > name.size()) return {};
  const std::string_view size = name.substr(dash + 1, name.size() - dash - 2);
  const bool digits = !size.empty() && size.find_first_not_of("0123456789") == size.npos;
  if (!digits || std::string_view("ABCQ").find(name.back()) == std::string_view::npos) return {};
  std::string_view card = name.substr(0, dash);
  if (card.starts_with("GRID ")) card.remove_prefix(5);
  return card;
}

// A card that no file describes stands with the one of its kind whose memory is nearest.
Result<Device> nearest_of_kind(const Hwdb& hwdb, const LocalGpu& gpu) {
  Diagnostics ignored;
  std::optional<Device> best;
  for (Device& device : hwdb.devices(ignored)) {
    const std::string capability =
        fmt::format("{}.{}", device.compute_capability.major, device.compute_capability.minor);
    if (capability != gpu.compute_capability || !gpu.total_bytes || *gpu.total_bytes == 0) continue;
    if (!best || distance(device, *gpu.total_bytes) < distance(*best, *gpu.total_bytes))
      best = std::move(device);
  }
  if (!best) return hwdb.device(gpu.name);  // says that it is not known
  best->name = gpu.name;
  best->warnings.push_back(warning(
      "W404",
      fmt::format("no device file describes this machine's {}; clocks, units and bandwidth are "
                  "those of {}, of the same compute capability {}",
                  shortened(gpu.name, kQuotedColumns), best->id, gpu.compute_capability),
      {},
      "'plimsoll gpus local --file > my-gpu.json' writes a template for it; then give --gpu "
      "my-gpu.json"));
  return std::move(*best);
}

Result<Device> device_of(const Hwdb& hwdb, const LocalGpu& gpu) {
  if (const auto ids = hwdb.devices_called(gpu.name); !ids.empty())
    return nearest_in_memory(hwdb, gpu, ids);
  if (const std::string_view card = card_of_virtual(gpu.name); !card.empty()) {
    if (auto device = hwdb.device(card)) return device;
  }
  return nearest_of_kind(hwdb, gpu);
}

tl::unexpected<Diagnostics> failed(const std::string& why) {
  return error("E727", "nvidia-smi does not name this machine's GPU: " + why, {},
               fmt::format("name it with {}; 'plimsoll gpus' lists them", setting("gpu", "ID")));
}

Result<std::vector<LocalGpu>> ask_driver(const std::string& program) {
  // Older drivers do not know the last fields, and then refuse them all.
  constexpr std::array<const char*, 2> kFields = {
      "name,driver_version,memory.total,memory.free,mig.mode.current,compute_cap",
      "name,driver_version,memory.total,memory.free"};
  ChildAnswer answer;
  for (const char* fields : kFields) {
    answer =
        run_child(program, {std::string("--query-gpu=") + fields, "--format=csv,noheader,nounits"},
                  kLongestQuery);
    if (answer.status == 0) return read_local_gpus(answer.out);
    if (answer.timed_out) return failed(fmt::format("no answer in {} s", kLongestQuery.count()));
  }
  const std::string first = answer.out.substr(0, answer.out.find('\n'));
  return failed(first.empty() ? "it fails" : shortened(trimmed(first), 120));
}

// The one profile that the machine's parts have.
Result<std::string> ask_profile(const std::string& program) {
  const auto profiles = read_mig_profiles(run_child(program, {"-L"}, kLongestQuery).out);
  if (profiles.empty()) return failed("MIG is enabled, but no slice of the GPU exists");
  if (profiles.size() == 1) return profiles.front();
  return error(
      "E146",
      fmt::format("this machine's GPU has different MIG slices: {}", fmt::join(profiles, ", ")), {},
      "name one: " + setting("gpu", "ID:" + profiles.front()));
}

Result<Device> ask(const Hwdb& hwdb, const std::string& program) {
  const auto gpus = TRY(ask_driver(program));
  const LocalGpu& first = gpus.front();
  std::vector<std::string> names;
  for (const LocalGpu& gpu : gpus) {
    const std::string name = shortened(gpu.name, kQuotedColumns);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.size() > 1) {
    return error("E146", fmt::format("this machine has different GPUs: {}", fmt::join(names, ", ")),
                 {},
                 fmt::format("name one: {}", setting("gpu", fmt::format("\"{}\"", names.front()))));
  }
  std::string profile;
  if (first.mig) {
    auto asked = TRY(ask_profile(program));
    profile = std::move(asked);
  }
  auto device = local_device(hwdb, first, profile);
  if (device && gpus.size() > 1) device->origin += fmt::format(" on the first of {}", gpus.size());
  return device;
}

}  // namespace

Result<std::vector<LocalGpu>> read_local_gpus(std::string_view answer) {
  std::vector<LocalGpu> gpus;
  for (std::string_view line : split(answer, '\n')) {
    line = trimmed(line);
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = split(line, ',');
    const auto field = [&](size_t i) {
      return i < fields.size() ? trimmed(fields[i]) : std::string_view();
    };
    // A driver that fails says so in a sentence, whatever it was asked.
    if (field(0).empty() || fields.size() < 3) return failed(shortened(line, 120));
    gpus.push_back({.name = std::string(field(0)),
                    .driver = std::string(field(1)),
                    .total_bytes = mebibytes(field(2)),
                    .free_bytes = mebibytes(field(3)),
                    .mig = field(4) == "Enabled",
                    .compute_capability = std::string(field(5))});
  }
  if (gpus.empty()) return failed("it lists none");
  return gpus;
}

std::vector<std::string> read_mig_profiles(std::string_view list) {
  std::vector<std::string> profiles;
  for (std::string_view line : split(list, '\n')) {
    line = trimmed(line);
    if (!line.starts_with("MIG ")) continue;
    line = trimmed(line.substr(4));
    std::string profile(line.substr(0, line.find(' ')));
    if (std::ranges::find(profiles, profile) == profiles.end())
      profiles.push_back(std::move(profile));
  }
  return profiles;
}

Result<Device> local_device(const Hwdb& hwdb, const LocalGpu& gpu, std::string_view profile) {
  auto device = device_of(hwdb, gpu);
  if (device && !profile.empty()) {
    const Diagnostics warnings = device->warnings;
    device = mig_slice(*device, profile);
    if (device) device->warnings = warnings;
  }
  if (!device) return device;
  std::string memory = fmt::format("{} of its memory", human_bytes(device->memory.value));
  if (profile.empty()) {
    memory = fmt::format("{} of {} free", shown(gpu.free_bytes), shown(gpu.total_bytes));
    if (gpu.total_bytes) device->memory = Bytes{*gpu.total_bytes};
    const auto usable = gpu.free_bytes ? gpu.free_bytes : gpu.total_bytes;
    if (usable) device->memory_reported = Bytes{*usable};
  }
  device->display = false;  // what one takes is not free
  device->origin = fmt::format(
      "this machine's {}{}, driver {}: {}", shortened(gpu.name, kQuotedColumns),
      profile.empty() ? "" : fmt::format(" MIG {}", profile), shortened(gpu.driver, 20), memory);
  return device;
}

namespace {

// What PLIMSOLL_GPU names; empty where it is not set, or set to nothing.
Result<std::string> gpu_of_environment(const Hwdb& hwdb) {
  constexpr const char* kVariable = "PLIMSOLL_GPU";
  const char* value = std::getenv(kVariable);
  if (!value || !*value) return std::string();
  if (value == kLocal) return std::string(value);
  if (auto known = hwdb.device(value); !known) {
    Diagnostics faults = known.error();
    faults.front().message.insert(0, std::string(kVariable) + ": ");
    return tl::make_unexpected(std::move(faults));
  }
  return std::string(value);
}

}  // namespace

Result<void> find_local_gpu(Hwdb& hwdb, std::vector<std::string>& gpus,
                            const std::string& example) {
  if (gpus.empty()) {
    auto set = TRY(gpu_of_environment(hwdb));
    if (!set.empty()) gpus.push_back(std::move(set));
  }
  const bool named = std::ranges::find(gpus, kLocal) != gpus.end();
  if (!gpus.empty() && !named) return {};
  const std::string program = find_program("nvidia-smi");
  if (program.empty() && named) {
    return error("E727",
                 fmt::format("{}: there is no nvidia-smi on the PATH; give {}",
                             setting("gpu", "local"), setting("gpu", "ID")),
                 {}, example);
  }
  if (program.empty()) {
    return error(
        "E109", fmt::format("which GPU? give {}; 'plimsoll gpus' lists them", setting("gpu", "ID")),
        {}, example);
  }
  auto device = TRY(ask(hwdb, program));
  hwdb.bring(std::string(kLocal), std::move(device));
  if (gpus.empty()) gpus.emplace_back(kLocal);
  return {};
}

}  // namespace plimsoll::cli

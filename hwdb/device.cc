#include "hwdb/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "hwdb/entry.h"
#include "hwdb/lookup.h"
#include "hwdb/power_limit.h"

namespace plimsoll {
namespace {

const std::vector<std::string> kArchitectures = {
    "kepler",          "maxwell",         "pascal-gp100", "pascal-gp10x", "volta",
    "turing",          "ampere-ga100",    "ampere-ga10x", "ada",          "hopper",
    "blackwell-gb100", "blackwell-gb20x", "toy"};

const std::vector<std::string> kPeaks = {"fp32",       "fp64",        "fp16",        "bf16",
                                         "int8",       "tf32_tensor", "fp16_tensor", "bf16_tensor",
                                         "fp8_tensor", "fp4_tensor",  "int8_tensor", "fp64_tensor"};

ComputeCapability read_capability(Figures& figures) {
  const std::string text = figures.text("compute_capability");
  ComputeCapability found;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, found.major);
  const bool dot = major.ptr != end && *major.ptr == '.';
  const auto minor = std::from_chars(dot ? major.ptr + 1 : end, end, found.minor);
  if (!text.empty() && (!dot || minor.ptr != end || minor.ec != std::errc())) {
    figures.object().fail(
        "E401", fmt::format("compute_capability \"{}\" is not like \"6.1\"", shortened(text, 20)));
  }
  return found;
}

void read_peaks(JsonObject& root, Device& device, bool plausible) {
  JsonObject object = root.required_object("peaks");
  Figures figures(object, device.figures, "peaks.", plausible);
  for (const std::string& name : kPeaks) {
    if (!object.has(name)) {
      object.optional(name);  // known, so that a misspelt one finds it
      continue;
    }
    JsonObject figure = figures.open(name);
    Peak peak;
    peak.rate = figures.part<FlopPerSecond>(figure, "value", {"1 GFLOP/s", "100 PFLOP/s"});
    peak.flop_per_sm_cycle = figure.required_real("flop_per_sm_cycle", {.low = 1, .high = 1e6});
    peak.clock = figures.part<Hertz>(figure, "clock", {"100 MHz", "10 GHz"});
    const JsonValue* value = figure.value().find("value");
    figures.note(figure, name, value && value->string() ? *value->string() : "");
    figure.finish();
    device.peaks.emplace(name, peak);
  }
  object.finish();
}

void read_mig(JsonObject& root, Device& device) {
  auto object = root.optional_object("mig");
  if (!object) return;
  const std::string source = object->required_string("source");
  // One where the file does not say, which is a fault already.
  device.mig_memory_slices =
      std::max<int64_t>(1, object->required_integer("memory_slices", {.low = 1, .high = 64}));
  for (const JsonValue& row : object->required_list("profiles")) {
    JsonObject part(row, object->file(), object->faults());
    MigProfile profile;
    profile.name = part.required_string("name");
    profile.sms =
        part.required_integer("sms", {.low = 1, .high = std::max<int64_t>(1, device.sms)});
    profile.memory_slices =
        part.required_integer("memory_slices", {.low = 1, .high = device.mig_memory_slices});
    profile.memory =
        Bytes{device.memory_reported.value / device.mig_memory_slices * profile.memory_slices};
    Figures figures(part, device.figures);
    figures.take_part(part, "memory", profile.memory, {"256 MiB", "16 TiB"});
    part.finish();
    device.figures.push_back({"mig." + profile.name,
                              fmt::format("{} SMs, {}/{} of the bandwidth, {:.2f} GiB", profile.sms,
                                          profile.memory_slices, device.mig_memory_slices,
                                          static_cast<double>(profile.memory.value) / (1 << 30)),
                              source});
    device.mig.push_back(std::move(profile));
  }
  object->finish();
}

// Memory sold as "24 GB" holds 24 GiB or 22.35 GiB: a driver never reports decimal units.
void warn_decimal(JsonObject& root, const Device& device) {
  const JsonValue* figure = root.value().find("memory_reported");
  const JsonValue* value = figure ? figure->find("value") : nullptr;
  if (!value || !value->string() || value->string()->find("iB") != std::string::npos) return;
  constexpr double kGibi = 1 << 30;
  root.warn("W401",
            fmt::format("memory_reported {} = {:.2f} GiB", shortened(*value->string(), 40),
                        static_cast<double>(device.memory_reported.value) / kGibi),
            *value);
}

// What predictions divide by: a toy's figures may be implausible, but not nothing.
void require_some(JsonObject& root, const Device& device) {
  const std::pair<const char*, double> figures[] = {
      {"sms", static_cast<double>(device.sms)},
      {"base_clock", device.base_clock.value},
      {"boost_clock", device.boost_clock.value},
      {"max_clock", device.max_clock.value},
      {"memory", static_cast<double>(device.memory.value)},
      {"memory_reported", static_cast<double>(device.memory_reported.value)},
      {"bandwidth", device.bandwidth.value}};
  for (const auto& [key, figure] : figures) {
    const JsonValue* place = root.value().find(key);
    if (place && !(figure > 0)) root.fail("E402", fmt::format("{} is not above 0", key), *place);
  }
}

void read_device_fields(JsonObject& root, Device& device) {
  const bool toy = root.optional_bool("toy").value_or(false);
  device.names = root.optional_strings("names");
  device.display = root.optional_bool("display").value_or(false);
  Figures figures(root, device.figures, {}, !toy);
  device.name = figures.text("name");
  device.architecture = figures.choice("architecture", kArchitectures);
  device.chip = figures.text("chip");
  device.compute_capability = read_capability(figures);
  device.sms = figures.integer("sms", {.low = 1, .high = 1024});
  device.cuda_cores = figures.integer("cuda_cores", {.low = 32, .high = 1 << 18});
  constexpr Plausible kClock{"100 MHz", "10 GHz"};
  device.base_clock = figures.quantity<Hertz>("base_clock", kClock);
  device.boost_clock = figures.quantity<Hertz>("boost_clock", kClock);
  device.max_clock = figures.quantity<Hertz>("max_clock", kClock);
  device.l2 = figures.quantity<Bytes>("l2", {"64 KiB", "4 GiB"});
  device.shared_per_sm = figures.quantity<Bytes>("shared_per_sm", {"16 KiB", "4 MiB"});
  device.registers_per_sm = figures.integer("registers_per_sm", {.low = 8192, .high = 1 << 20});
  constexpr Plausible kMemory{"256 MiB", "16 TiB"};
  device.memory = figures.quantity<Bytes>("memory", kMemory);
  device.memory_reported = figures.quantity<Bytes>("memory_reported", kMemory);
  device.memory_type = figures.text("memory_type");
  device.bus_width = figures.integer("bus_width", {.low = 32, .high = 65536});
  device.bandwidth = figures.quantity<BytesPerSecond>("bandwidth", {"1 GB/s", "1 PB/s"});
  device.pcie_generation = figures.integer("pcie_generation", {.low = 1, .high = 10});
  device.pcie_lanes = figures.integer("pcie_lanes", {.low = 1, .high = 32});
  device.nvlink_generation = figures.integer("nvlink_generation", {.low = 0, .high = 20});
  device.nvlink_links = figures.integer("nvlink_links", {.low = 0, .high = 256});
  device.tdp = figures.quantity<Watts>("tdp", {"5 W", "10 kW"});
  const double share = sustained_share({.architecture = device.architecture,
                                        .tdp = device.tdp,
                                        .sms = static_cast<double>(device.sms),
                                        .boost_clock = device.boost_clock});
  device.sustained_clock = device.boost_clock * share;
  figures.take("sustained_clock", device.sustained_clock, kClock);
  read_peaks(root, device, !toy);
  read_mig(root, device);
  warn_decimal(root, device);
  if (toy) require_some(root, device);
}

}  // namespace

Device host_device() {
  Device device;
  device.id = kHostDevice;
  device.name = "the host, no card";
  device.architecture = "host";
  device.is_host = true;
  return device;
}

bool is_host_device(std::string_view name) { return lower_case(name) == kHostDevice; }

const Peak* Device::peak(std::string_view peak_name) const {
  const auto found = peaks.find(peak_name);
  return found == peaks.end() ? nullptr : &found->second;
}

const Peak* Device::peak(DType dtype, bool tensor_core) const {
  switch (dtype) {
    case DType::kFloat32:
      return peak(tensor_core ? "tf32_tensor" : "fp32");
    case DType::kFloat64:
      return peak(tensor_core ? "fp64_tensor" : "fp64");
    case DType::kFloat16:
      return peak(tensor_core ? "fp16_tensor" : "fp16");
    case DType::kBFloat16:
      return peak(tensor_core ? "bf16_tensor" : "bf16");
    case DType::kInt8:
    case DType::kUint8:
      return peak(tensor_core ? "int8_tensor" : "int8");
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
      return tensor_core ? peak("fp8_tensor") : nullptr;
    case DType::kFloat4E2M1:
      return tensor_core ? peak("fp4_tensor") : nullptr;
    default:
      return nullptr;
  }
}

Result<Device> read_device(std::string_view text, std::string_view file, std::string_view stem) {
  return read_entry<Device>("plimsoll.device", text, file, stem, read_device_fields);
}

}  // namespace plimsoll

#include "hwdb/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/json/read_fields.h"
#include "hwdb/entry.h"
#include "hwdb/file_figures.h"
#include "hwdb/lookup.h"
#include "hwdb/power_limit.h"

namespace plimsoll {
namespace {

constexpr std::string_view kDeviceSchema = "plimsoll.device";

constexpr std::string_view kArchitectures[] = {
    "kepler",          "maxwell",         "pascal-gp100", "pascal-gp10x", "volta",
    "turing",          "ampere-ga100",    "ampere-ga10x", "ada",          "hopper",
    "blackwell-gb100", "blackwell-gb20x", "toy"};

// Every device has the first.
constexpr std::string_view kPeaks[] = {"fp32",       "fp64",        "fp16",        "bf16",
                                       "int8",       "tf32_tensor", "fp16_tensor", "bf16_tensor",
                                       "fp8_tensor", "fp4_tensor",  "int8_tensor", "fp64_tensor"};

constexpr Plausible kClock{"100 MHz", "10 GHz"};
constexpr Plausible kMemory{"256 MiB", "16 TiB"};

// Fills in the figure of the device that is like "6.1".
std::optional<Diagnostic> read_capability(const std::string& text, ComputeCapability& found) {
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, found.major);
  const bool dot = major.ptr != end && *major.ptr == '.';
  const auto minor = std::from_chars(dot ? major.ptr + 1 : end, end, found.minor);
  if (dot && minor.ptr == end && minor.ec == std::errc()) return std::nullopt;
  return error("E401",
               fmt::format("compute_capability \"{}\" is not like \"6.1\"", shortened(text, 20)))
      .value()
      .front();
}

struct DeviceFile {
  Device device;
  bool toy = false;
};

void describe_peaks(Fields& f, FileFigures& figures, Device& device) {
  const auto peak_of = [&](std::string_view name) {
    Peak peak;
    const std::string quoted = figures.part<FlopPerSecond>(
        "value", peak.rate, {"1 GFLOP/s", "100 PFLOP/s"},
        {.meaning = "as the vendor quotes it: flop_per_sm_cycle times SMs times clock"});
    f("flop_per_sm_cycle", peak.flop_per_sm_cycle, {.low = 1, .high = 1e6});
    figures.part<Hertz>("clock", peak.clock, kClock, {.meaning = "that the figure is for"});
    figures.note("peaks." + std::string(name), quoted, figures.source(name));
    device.peaks.emplace(name, peak);
  };
  const auto peaks = [&] {
    for (const std::string_view name : kPeaks) {
      const bool needed = name == kPeaks[0];
      f.object(name, [&] { peak_of(name); },
               {.absent_where = needed ? std::nullopt : std::optional(false)});
    }
  };
  f.object("peaks", peaks,
           {.meaning = "arithmetic on the plain cores and on tensor cores, dense; what the card "
                       "lacks is left out"});
}

// What a whole number may be, where that is known.
std::optional<double> up_to(int64_t most) {
  return most > 0 ? std::optional(static_cast<double>(most)) : std::nullopt;
}

void describe_profile(Fields& f, FileFigures& figures, const Device& device, MigProfile& part) {
  f("name", part.name, "as 3g.40gb");
  f("sms", part.sms, {.low = 1, .high = up_to(device.sms)});
  const int64_t slices = device.mig_memory_slices;
  f("memory_slices", part.memory_slices,
    {.meaning = "of the card's: its share of bandwidth and L2", .low = 1, .high = up_to(slices)});
  // One where the file does not say, which is a fault already.
  part.memory =
      Bytes{device.memory_reported.value / std::max<int64_t>(1, slices) * part.memory_slices};
  figures.part<Bytes>(
      "memory", part.memory, kMemory,
      {.meaning = "the same share of memory_reported where not given", .absent_where = false});
}

void describe_mig(Fields& f, FileFigures& figures, Device& device) {
  const auto parts = [&] {
    const std::string source = figures.source("mig");
    f("memory_slices", device.mig_memory_slices, {.low = 1, .high = 64});
    f.list("profiles", device.mig,
           [&](MigProfile& part) { describe_profile(f, figures, device, part); });
    for (const MigProfile& part : device.mig) {
      figures.note(
          "mig." + part.name,
          fmt::format("{} SMs, {}/{} of the bandwidth, {:.2f} GiB", part.sms, part.memory_slices,
                      device.mig_memory_slices, static_cast<double>(part.memory.value) / (1 << 30)),
          source);
    }
  };
  f.object(
      "mig", parts,
      {.meaning = "the parts that NVIDIA's Multi-Instance GPU gives out", .absent_where = false});
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

// Where the file gives none.
Hertz sustained_by_power(const Device& device) {
  return device.boost_clock * sustained_share({.architecture = device.architecture,
                                               .tdp = device.tdp,
                                               .sms = static_cast<double>(device.sms),
                                               .boost_clock = device.boost_clock});
}

void describe_processors(FileFigures& figures, Device& device) {
  figures("name", device.name, {.meaning = "as it is sold"});
  figures("architecture", device.architecture, {.words = kArchitectures});
  figures("chip", device.chip, {.meaning = "as GA102"});
  figures.parsed(
      "compute_capability", {.meaning = "as 8.6", .pattern = "^[0-9]+\\.[0-9]+$"},
      [&](const std::string& text) { return read_capability(text, device.compute_capability); });
  figures("sms", device.sms, {.low = 1, .high = 1024}, {.meaning = "streaming multiprocessors"});
  figures("cuda_cores", device.cuda_cores, {.low = 32, .high = 1 << 18},
          {.meaning = "of the whole device"});
  figures.quantity<Hertz>("base_clock", device.base_clock, kClock);
  figures.quantity<Hertz>("boost_clock", device.boost_clock, kClock);
  figures.quantity<Hertz>("max_clock", device.max_clock, kClock,
                          {.meaning = "the highest that the card reaches"});
  figures.quantity<Hertz>("sustained_clock", device.sustained_clock, kClock,
                          {.meaning = "what the power limit leaves to seconds of compute-bound "
                                      "work; where not given, from the power and the clock of "
                                      "other cards of the architecture",
                           .absent_where = false});
}

void describe_memory(FileFigures& figures, Device& device) {
  figures.quantity<Bytes>("l2", device.l2, {"64 KiB", "4 GiB"});
  figures.quantity<Bytes>("shared_per_sm", device.shared_per_sm, {"16 KiB", "4 MiB"});
  figures("registers_per_sm", device.registers_per_sm, {.low = 8192, .high = 1 << 20},
          {.meaning = "of 32 bits"});
  figures.quantity<Bytes>("memory", device.memory, kMemory, {.meaning = "as sold"});
  figures.quantity<Bytes>("memory_reported", device.memory_reported, kMemory,
                          {.meaning = "as the driver reports it: what fits is judged by this"});
  figures("memory_type", device.memory_type, {.meaning = "as GDDR6X"});
  figures("bus_width", device.bus_width, {.low = 32, .high = 65536}, {.meaning = "bits"});
  figures.quantity<BytesPerSecond>("bandwidth", device.bandwidth, {"1 GB/s", "1 PB/s"});
}

void describe_links(FileFigures& figures, Device& device) {
  constexpr FieldNote kMayBeNone{.meaning = "0 where there is none"};
  figures("pcie_generation", device.pcie_generation, {.low = 1, .high = 10});
  figures("pcie_lanes", device.pcie_lanes, {.low = 1, .high = 32});
  figures("nvlink_generation", device.nvlink_generation, {.low = 0, .high = 20}, kMayBeNone);
  figures("nvlink_links", device.nvlink_links, {.low = 0, .high = 256}, kMayBeNone);
  figures.quantity<Watts>("tdp", device.tdp, {"5 W", "10 kW"});
}

void describe(Fields& f, DeviceFile& file) {
  Device& device = file.device;
  describe_identity(f, kDeviceSchema, device.id, device.aliases);
  f("names", device.names,
    {.meaning = "as torch.cuda.get_device_name() and nvidia-smi print it", .absent_where = false});
  f("display", device.display,
    {.meaning = "drives displays, which take some of its memory", .absent_where = false});
  f("toy", file.toy, {.meaning = "figures may be implausible", .absent_where = false});
  FileFigures figures(f, device.figures, !file.toy);
  describe_processors(figures, device);
  describe_memory(figures, device);
  describe_links(figures, device);
  describe_peaks(f, figures, device);
  describe_mig(f, figures, device);
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

Result<Device> read_device(std::string_view text, std::string_view file, std::string_view stem) {
  return read_entry<Device>(kDeviceSchema, text, file, stem, [](JsonObject& root, Device& device) {
    auto read = read_described<DeviceFile>(root);
    device = std::move(read.device);
    if (device.sustained_clock == Hertz()) device.sustained_clock = sustained_by_power(device);
    warn_decimal(root, device);
    if (read.toy) require_some(root, device);
  });
}

void describe_device_file(Fields& f) {
  DeviceFile any{.device = {}, .toy = true};
  f.visit(any);
}

}  // namespace plimsoll

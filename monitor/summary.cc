#include "monitor/summary.h"

#include <algorithm>

#include "estimator/app/report/document.h"
#include "graph/json/schema_fields.h"

namespace plimsoll::monitor {
namespace {

template <class T>
void raise(std::optional<T>& most, const std::optional<T>& value) {
  if (value) most = std::max(most.value_or(*value), *value);
}

void describe_host(Fields& f, Summary& s) {
  f("host_peak_bytes", s.host_peak,
    "resident memory of the tree; pages that its processes share count once");
  f("rss_peak_bytes", s.rss_peak, "the plain sum over the processes");
  f("pss_peak_bytes", s.pss_peak, "read once a second at most");
  f("swap_peak_bytes", s.swap_peak);
  f("cpu_seconds", s.cpu_seconds,
    {.meaning = "of the tree since the watch began, user and system", .low = 0});
  f("minor_faults", s.minor_faults);
  f("major_faults", s.major_faults);
  f("read_bytes", s.read_bytes, "from storage");
  f("written_bytes", s.written_bytes);
}

void describe_devices(Fields& f, Summary& s) {
  f("device_peak_bytes", s.device_peak, "of the card that had most");
  f("device_basis", s.basis,
    "process: what the driver lists for the tree; card: the whole card's, where the driver's "
    "process ids are not ours or not listed");
  f("gpu_source", s.gpu_source, "the driver, or why there is none");
  f("gpus", s.devices);
}

void describe_band(Fields& f, Summary& s) {
  Band none;
  Band& band = s.band ? *s.band : none;
  f("device", band.device_id);
  const auto predicted = [&](std::string_view key, std::optional<Predicted>& of,
                             const std::optional<int64_t>& peak) {
    Predicted nothing;
    f.object(key, [&] { describe(f, of ? *of : nothing, peak); }, {.null_where = !of});
  };
  predicted("device_memory", band.device, s.device_peak);
  predicted("host_memory", band.host, s.host_peak);
  f("step_ns", band.step_ns);
  f("left", s.band_left, "some figure was above its range at some time");
}

}  // namespace

void SummaryBuilder::take(const Sample& sample) {
  Summary& s = summary_;
  const HostReading& host = sample.host;
  ++s.samples;
  s.seconds = sample.seconds;
  s.processes = std::max(s.processes, static_cast<int64_t>(host.members.size()));
  s.host_peak = std::max(s.host_peak, host.resident_high);
  s.rss_peak = std::max(s.rss_peak, host.rss);
  s.swap_peak = std::max(s.swap_peak, host.swap);
  raise(s.pss_peak, host.pss);
  s.cpu_seconds = host.cpu_seconds;
  s.minor_faults = host.minor_faults;
  s.major_faults = host.major_faults;
  s.read_bytes = host.read_bytes;
  s.written_bytes = host.written_bytes;
  take_devices(sample);
}

void SummaryBuilder::take_devices(const Sample& sample) {
  Summary& s = summary_;
  s.faults.insert(s.faults.end(), sample.faults.begin(), sample.faults.end());
  if (sample.basis == DeviceBasis::kNone) return;
  // Once only the whole card is told, that is what the peaks are of.
  if (sample.basis == DeviceBasis::kCard && s.basis == DeviceBasis::kProcess) {
    s.device_peak.reset();
    for (DevicePeak& device : s.devices) device.bytes.reset();
  }
  const bool comparable = s.basis != DeviceBasis::kCard || sample.basis == DeviceBasis::kCard;
  s.basis = std::max(s.basis, sample.basis);
  s.devices.resize(std::max(s.devices.size(), sample.devices.size()));
  counted_.resize(s.devices.size());
  if (comparable) raise(s.device_peak, sample.device_bytes());
  for (size_t i = 0; i < sample.devices.size(); ++i) {
    const GpuReading& gpu = sample.devices[i].gpu;
    DevicePeak& peak = s.devices[i];
    peak.name = gpu.name;
    if (comparable) raise(peak.bytes, sample.devices[i].bytes);
    raise(peak.power_watts, gpu.power_watts);
    raise(peak.pcie_received_per_s, gpu.pcie_received_per_s);
    raise(peak.pcie_sent_per_s, gpu.pcie_sent_per_s);
    if (gpu.sm_clock_hz)
      peak.least_sm_clock_hz =
          std::min(peak.least_sm_clock_hz.value_or(*gpu.sm_clock_hz), *gpu.sm_clock_hz);
    if (!gpu.utilisation) continue;
    const double before = peak.utilisation.value_or(0);
    peak.utilisation = before + (*gpu.utilisation - before) / static_cast<double>(++counted_[i]);
  }
}

namespace {

void describe_summary(Fields& f, Summary& s, std::span<const Moment> moments) {
  f("pid", s.pid, {.low = 1});
  f("command", s.command,
    {.meaning = "as it was started, or the process's name", .null_where = s.command.empty()});
  f("samples", s.samples);
  f("missed_samples", s.missed,
    "that were due during another sample, or while this program did not run");
  f("seconds", s.seconds, {.low = 0});
  f("processes", s.processes, "of the tree at once, at most");
  describe_host(f, s);
  describe_devices(f, s);
  f("phases", s.phases,
    "by the memory of the GPU if known, else of the host; steady: the change over a second is "
    "within 2 % of the peak so far");
  f("moments", std::vector<Moment>(moments.begin(), moments.end()),
    {.meaning = "only in a page: neighbouring samples combined; the maximum of memory and watts, "
                "the minimum of clocks, the mean of loads",
     .absent_where = moments.empty()});
  f.object("prediction", [&] { describe_band(f, s); }, {.null_where = !s.band});
  f("ended", s.ended, "false: the watch was ended first");
  f("exit_status", s.exit_status,
    "of a command, 128 and the signal where one ended it; null where the process is not a child of "
    "ours");
  f("own_cpu_share", s.own_cpu_share, {.meaning = "of one core, by this program", .low = 0});
  f("faults", s.faults, "calls of the driver that failed, each once");
}

void describe_document(Fields& f, Summary& s, std::span<const Moment> moments) {
  f.object([&] {
    describe_head(f, "plimsoll.monitor");
    f.object("result", [&] { describe_summary(f, s, moments); });
  });
}

}  // namespace

std::string to_json(const Summary& s, std::span<const Moment> moments) {
  return described_text([&](Fields& f) { describe_document(f, unchanged(s), moments); },
                        JsonWriter::Layout::kCompact);
}

std::string monitor_schema() {
  return json_schema("plimsoll-monitor --json",
                     "A watched run as a whole. Bytes and counts are whole numbers; seconds, "
                     "shares (1 is one core, or the whole card) and watts are real. null: not "
                     "reported by kernel, driver or GPU.",
                     {[](Fields& f) {
                       Summary any;
                       describe_document(f, any, {});
                     }});
}

}  // namespace plimsoll::monitor

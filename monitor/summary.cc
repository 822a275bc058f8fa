#include "monitor/summary.h"

#include <algorithm>

#include "estimator/report/version.h"

namespace plimsoll::monitor {
namespace {

template <class T>
void raise(std::optional<T>& most, const std::optional<T>& value) {
  if (value) most = std::max(most.value_or(*value), *value);
}

void write_phases(JsonWriter& out, const std::vector<Phase>& phases) {
  out.key("phases").objects(phases, [&](const Phase& phase) {
    out.key("kind").string(name(phase.kind));
    out.key("begin").real(phase.begin);
    out.key("end").real(phase.end);
    out.key("host_peak_bytes").integer(phase.host_peak);
    out.key("device_peak_bytes").integer(phase.device_peak);
    out.key("cpu_share").real(phase.cpu_share);
    out.key("gpu_utilisation").real(phase.gpu_utilisation);
  });
}

void write_devices(JsonWriter& out, const std::vector<DevicePeak>& devices) {
  out.key("gpus").objects(devices, [&](const DevicePeak& device) {
    out.key("name").string(device.name);
    out.key("peak_bytes").integer(device.bytes);
    out.key("mean_utilisation").real(device.utilisation);
    out.key("peak_power_watts").real(device.power_watts);
    out.key("peak_pcie_received_per_s").integer(device.pcie_received_per_s);
    out.key("peak_pcie_sent_per_s").integer(device.pcie_sent_per_s);
    out.key("least_sm_clock_hz").integer(device.least_sm_clock_hz);
  });
}

void write_predicted(JsonWriter& out, std::string_view key, const std::optional<Predicted>& p,
                     const std::optional<int64_t>& peak) {
  out.key(key);
  if (!p) return static_cast<void>(out.null());
  out.begin_object();
  out.key("bytes").integer(p->bytes);
  out.key("range_bytes").begin_array().integer(p->range.low).integer(p->range.high).end_array();
  out.key("peak").string_or_null(peak ? name(place_in(*p, *peak)) : "");
  out.end_object();
}

void write_band(JsonWriter& out, const Summary& s) {
  out.key("prediction");
  if (!s.band) return static_cast<void>(out.null());
  out.begin_object();
  out.key("device").string(s.band->device_id);
  write_predicted(out, "device_memory", s.band->device, s.device_peak);
  write_predicted(out, "host_memory", s.band->host, s.host_peak);
  out.key("step_ns").integer(s.band->step_ns);
  out.key("left").boolean(s.band_left);
  out.end_object();
}

void write_moments(JsonWriter& out, std::span<const Moment> moments) {
  out.key("moments").objects(moments, [&](const Moment& moment) {
    out.key("seconds").real(moment.seconds);
    out.key("samples").integer(moment.samples);
    out.key("host_bytes").integer(moment.host);
    out.key("pss_bytes").integer(moment.pss);
    out.key("swap_bytes").integer(moment.swap);
    out.key("cpu_share").real(moment.cpu_share);
    out.key("gpus").objects(moment.devices, [&](const DeviceMoment& device) {
      out.key("bytes").integer(device.bytes);
      out.key("utilisation").real(device.utilisation);
      out.key("power_watts").real(device.power_watts);
      out.key("sm_clock_hz").integer(device.sm_clock_hz);
    });
  });
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

std::string to_json(const Summary& s, std::span<const Moment> moments) {
  JsonWriter out = begin_document("plimsoll.monitor", JsonWriter::Layout::kCompact);
  out.key("result").begin_object();
  out.key("pid").integer(s.pid);
  out.key("command").string_or_null(s.command);
  out.key("samples").integer(s.samples);
  out.key("missed_samples").integer(s.missed);
  out.key("seconds").real(s.seconds);
  out.key("processes").integer(s.processes);
  out.key("host_peak_bytes").integer(s.host_peak);
  out.key("rss_peak_bytes").integer(s.rss_peak);
  out.key("pss_peak_bytes").integer(s.pss_peak);
  out.key("swap_peak_bytes").integer(s.swap_peak);
  out.key("cpu_seconds").real(s.cpu_seconds);
  out.key("minor_faults").integer(s.minor_faults);
  out.key("major_faults").integer(s.major_faults);
  out.key("read_bytes").integer(s.read_bytes);
  out.key("written_bytes").integer(s.written_bytes);
  out.key("device_peak_bytes").integer(s.device_peak);
  out.key("device_basis").string(name(s.basis));
  out.key("gpu_source").string(s.gpu_source);
  write_devices(out, s.devices);
  write_phases(out, s.phases);
  if (!moments.empty()) write_moments(out, moments);
  write_band(out, s);
  out.key("ended").boolean(s.ended);
  out.key("exit_status").integer(s.exit_status);
  out.key("own_cpu_share").real(s.own_cpu_share);
  out.key("faults").strings(s.faults).end_object().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll::monitor

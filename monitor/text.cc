#include "monitor/text.h"

#include <cmath>

#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll::monitor {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string bytes_or(const std::optional<int64_t>& bytes, const char* otherwise = "unknown") {
  return bytes ? human_bytes(*bytes) : otherwise;
}

std::string range_of(const Predicted& p) {
  return fmt::format("{} ({} - {})", human_bytes(p.bytes), human_bytes(p.range.low),
                     human_bytes(p.range.high));
}

// "98 %, 138 W, 1480 MHz, PCIe 1.2 GB/s in, 0.1 GB/s out": what the card tells.
std::string card_facts(const GpuReading& gpu) {
  std::string text;
  const auto add = [&](const std::string& fact) { text += (text.empty() ? "" : ", ") + fact; };
  if (gpu.utilisation) add(percent(*gpu.utilisation));
  if (gpu.power_watts) add(fmt::format("{:.0f} W", *gpu.power_watts));
  if (gpu.sm_clock_hz) add(fmt::format("{} MHz", *gpu.sm_clock_hz / 1'000'000));
  if (gpu.temperature_c) add(fmt::format("{:.0f} C", *gpu.temperature_c));
  if (gpu.pcie_received_per_s && gpu.pcie_sent_per_s) {
    add(fmt::format("PCIe {:.1f} MB/s in, {:.1f} out",
                    static_cast<double>(*gpu.pcie_received_per_s) / 1e6,
                    static_cast<double>(*gpu.pcie_sent_per_s) / 1e6));
  }
  return text;
}

std::string processes(size_t count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

std::string phase_row(const Phase& phase) {
  std::string text =
      fmt::format("  {:<10} {:>10} - {:<10} host {}", name(phase.kind), human_seconds(phase.begin),
                  human_seconds(phase.end), human_bytes(phase.host_peak));
  if (phase.device_peak) text += fmt::format(", GPU {}", human_bytes(*phase.device_peak));
  text += fmt::format(", CPU {}", percent(phase.cpu_share));
  if (phase.gpu_utilisation) text += fmt::format(", GPU busy {}", percent(*phase.gpu_utilisation));
  return text + "\n";
}

std::string verdict_line(const char* what, const std::optional<Predicted>& predicted,
                         const std::optional<int64_t>& peak) {
  if (!predicted) return {};
  if (!peak)
    return fmt::format("predicted {} memory {}: not measured\n", what, range_of(*predicted));
  const BandPlace place = place_in(*predicted, *peak);
  return fmt::format("predicted {} memory {}: the peak {} is {} it\n", what, range_of(*predicted),
                     human_bytes(*peak), name(place));
}

std::string device_lines(const Summary& s) {
  if (s.basis == DeviceBasis::kNone) return fmt::format("gpu    {}\n", escaped(s.gpu_source));
  std::string text;
  for (size_t i = 0; i < s.devices.size(); ++i) {
    const DevicePeak& d = s.devices[i];
    text += escaped_format("gpu {}  peak {}", i, bytes_or(d.bytes));
    if (d.utilisation) text += fmt::format(", busy {} in the mean", percent(*d.utilisation));
    if (d.power_watts) text += fmt::format(", at most {:.0f} W", *d.power_watts);
    if (d.least_sm_clock_hz)
      text += fmt::format(", at least {} MHz", *d.least_sm_clock_hz / 1'000'000);
    text += escaped_format("   {}\n", shortened(d.name, 60));
  }
  text += escaped_format("       {}", s.gpu_source);
  if (s.basis == DeviceBasis::kCard) text += fmt::format("; {}", kWholeCard);
  return text + "\n";
}

}  // namespace

std::string end_of(const Summary& s) {
  if (!s.ended) return "still running";
  if (!s.exit_status) return "ended";
  if (*s.exit_status > 128) return fmt::format("killed by signal {}", *s.exit_status - 128);
  return fmt::format("exit {}", *s.exit_status);
}

std::string human_seconds(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string line(const Sample& sample, const std::optional<Band>& band) {
  std::string text = fmt::format("{:>9}  host {:>10}", human_seconds(sample.seconds),
                                 human_bytes(sample.host.resident));
  if (band && band->host) text += fmt::format(" of {}", range_of(*band->host));
  text +=
      fmt::format("  {}  CPU {}", processes(sample.host.members.size()), percent(sample.cpu_share));
  for (size_t i = 0; i < sample.devices.size(); ++i) {
    const DeviceReading& device = sample.devices[i];
    text += fmt::format("  GPU {} {}{}", i, bytes_or(device.bytes),
                        sample.basis == DeviceBasis::kCard ? " (whole GPU)" : "");
    const std::string facts = card_facts(device.gpu);
    if (!facts.empty()) text += ", " + facts;
  }
  if (band && band->device) text += fmt::format("  predicted {}", range_of(*band->device));
  return text;
}

std::string screen(const Sample& sample, const Summary& so_far, std::string_view head) {
  const HostReading& host = sample.host;
  std::string text = escaped_format("{}, {}, {}\n", head, processes(host.members.size()),
                                    human_seconds(sample.seconds));
  text += fmt::format("  host   now {:>10}  peak {:>10}  PSS {:>10}  swap {:>9}  CPU {:>6}\n",
                      human_bytes(host.resident), human_bytes(so_far.host_peak), bytes_or(host.pss),
                      human_bytes(host.swap), percent(sample.cpu_share));
  text +=
      fmt::format("         faults {} minor, {} major  read {}  written {}\n", host.minor_faults,
                  host.major_faults, bytes_or(host.read_bytes), bytes_or(host.written_bytes));
  for (size_t i = 0; i < sample.devices.size(); ++i) {
    const DeviceReading& device = sample.devices[i];
    const auto peak = i < so_far.devices.size() ? so_far.devices[i].bytes : std::nullopt;
    text += fmt::format("  gpu {}  now {:>10}  peak {:>10}  {}{}\n", i, bytes_or(device.bytes),
                        bytes_or(peak), card_facts(device.gpu),
                        sample.basis == DeviceBasis::kCard ? "  (the whole GPU)" : "");
  }
  if (so_far.band) {
    text += verdict_line("GPU", so_far.band->device, so_far.device_peak);
    text += verdict_line("host", so_far.band->host, so_far.host_peak);
  }
  return text;
}

std::string to_text(const BandWatch::Crossing& crossing, double seconds, const Band& band) {
  const auto& predicted = crossing.of_device ? band.device : band.host;
  return fmt::format("{:>9}  ! {} memory {} is {} the predicted range {}\n", human_seconds(seconds),
                     crossing.of_device ? "GPU" : "host", human_bytes(crossing.bytes),
                     name(crossing.to), range_of(*predicted));
}

std::string to_text(const Summary& s, size_t phases) {
  std::string text = escaped_format("{}: {} after {}, {} samples", shortened(s.command, 60),
                                    end_of(s), human_seconds(s.seconds), s.samples);
  if (s.missed > 0) text += fmt::format(" ({} missed)", s.missed);
  text += fmt::format("\nhost   peak {}, {} at most, swap {}, CPU {:.2f} s\n",
                      human_bytes(s.host_peak), processes(static_cast<size_t>(s.processes)),
                      human_bytes(s.swap_peak), s.cpu_seconds);
  text += fmt::format("       RSS {}, PSS {}, faults {} minor and {} major, read {}, written {}\n",
                      human_bytes(s.rss_peak), bytes_or(s.pss_peak), s.minor_faults, s.major_faults,
                      bytes_or(s.read_bytes), bytes_or(s.written_bytes));
  text += device_lines(s);
  if (s.band) {
    text += verdict_line("GPU", s.band->device, s.device_peak);
    text += verdict_line("host", s.band->host, s.host_peak);
  }
  if (!s.phases.empty()) {
    const size_t from = s.phases.size() > phases ? s.phases.size() - phases : 0;
    text += from == 0 ? "phases\n"
                      : fmt::format("phases, the last {} of {}\n", phases, s.phases.size());
    for (size_t i = from; i < s.phases.size(); ++i) text += phase_row(s.phases[i]);
  }
  for (const std::string& fault : s.faults) text += escaped_format("note: {}\n", fault);
  text += fmt::format("this monitor took {:.2f} % of a CPU\n", 100 * s.own_cpu_share);
  return text;
}

}  // namespace plimsoll::monitor

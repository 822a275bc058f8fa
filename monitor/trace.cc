#include "monitor/trace.h"

#include <fmt/format.h>

#include "graph/json/writer.h"

namespace plimsoll::monitor {
namespace {

// An event with its comma, for all but the first.
class Event {
 public:
  Event(std::string_view name, std::string_view phase, double seconds) {
    out_.begin_object();
    out_.key("name").string(name);
    out_.key("ph").string(phase);
    out_.key("pid").integer(0);
    out_.key("tid").integer(0);
    out_.key("ts").real(seconds * 1e6);  // microseconds
  }
  JsonWriter& arguments() { return out_.key("args").begin_object(); }
  JsonWriter& out() { return out_; }
  std::string done() {
    out_.end_object();
    return ",\n" + out_.take();
  }

 private:
  JsonWriter out_;
};

template <class T>
void add(JsonWriter& out, std::string_view key, const std::optional<T>& value, T scale) {
  if (value) out.key(key).real(static_cast<double>(*value) / static_cast<double>(scale));
}

std::string counter(std::string_view name, double seconds, std::string_view key, double value) {
  Event event(name, "C", seconds);
  event.arguments().key(key).real(value);
  event.out().end_object();
  return event.done();
}

}  // namespace

std::string trace_begin(std::string_view process_name) {
  JsonWriter out;
  out.begin_object();
  out.key("name").string("process_name");
  out.key("ph").string("M");
  out.key("pid").integer(0);
  out.key("args").begin_object();
  out.key("name").string(process_name);
  out.end_object().end_object();
  return "[\n" + out.take();
}

std::string trace_events(const Sample& sample) {
  const double at = sample.seconds;
  Event memory("host memory, MiB", "C", at);
  JsonWriter& host = memory.arguments();
  constexpr double kMebi = 1 << 20;
  host.key("resident").real(static_cast<double>(sample.host.resident) / kMebi);
  host.key("swap").real(static_cast<double>(sample.host.swap) / kMebi);
  host.end_object();
  std::string events = memory.done();
  events += counter("CPU, cores", at, "busy", sample.cpu_share);
  events += counter("processes", at, "running", static_cast<double>(sample.host.members.size()));
  for (size_t i = 0; i < sample.devices.size(); ++i) {
    const DeviceReading& device = sample.devices[i];
    const auto named = [i](const char* what) { return fmt::format("GPU {} {}", i, what); };
    if (device.bytes)
      events +=
          counter(named("memory, MiB"), at, "used", static_cast<double>(*device.bytes) / kMebi);
    if (device.gpu.utilisation)
      events += counter(named("busy, %"), at, "busy", *device.gpu.utilisation * 100);
    if (device.gpu.power_watts)
      events += counter(named("power, W"), at, "power", *device.gpu.power_watts);
    if (device.gpu.sm_clock_hz)
      events += counter(named("clock, MHz"), at, "SM",
                        static_cast<double>(*device.gpu.sm_clock_hz) / 1e6);
    if (!device.gpu.pcie_received_per_s && !device.gpu.pcie_sent_per_s) continue;
    Event pcie(named("PCIe, MB/s"), "C", at);
    JsonWriter& rates = pcie.arguments();
    add<int64_t>(rates, "received", device.gpu.pcie_received_per_s, 1'000'000);
    add<int64_t>(rates, "sent", device.gpu.pcie_sent_per_s, 1'000'000);
    rates.end_object();
    events += pcie.done();
  }
  return events;
}

std::string trace_event(const Phase& phase) {
  Event event(name(phase.kind), "X", phase.begin);
  event.out().key("dur").real((phase.end - phase.begin) * 1e6);
  JsonWriter& arguments = event.arguments();
  arguments.key("host_peak_bytes").integer(phase.host_peak);
  if (phase.device_peak) arguments.key("device_peak_bytes").integer(*phase.device_peak);
  arguments.end_object();
  return event.done();
}

std::string trace_event(const BandWatch::Crossing& crossing, double seconds) {
  Event event(fmt::format("{} memory {} the predicted range",
                          crossing.of_device ? "device" : "host", name(crossing.to)),
              "i", seconds);
  event.out().key("s").string("g");  // across the whole trace
  return event.done();
}

std::string trace_end() { return "\n]\n"; }

}  // namespace plimsoll::monitor

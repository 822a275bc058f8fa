#include "monitor/gpu_recording.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/byte_source.h"
#include "graph/base/text.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"

namespace plimsoll::monitor {
namespace {

class GpuRecording : public GpuSource {
 public:
  GpuRecording(std::string name, std::vector<GpuReadings> samples)
      : name_(std::move(name)), samples_(std::move(samples)) {}

  std::string description() const override { return "recorded in " + name_; }
  GpuReadings read() override {
    const GpuReadings& now = samples_[std::min(next_, samples_.size() - 1)];
    if (next_++ < samples_.size()) return now;
    return {.gpus = now.gpus, .faults = {}};
  }

 private:
  std::string name_;
  std::vector<GpuReadings> samples_;
  size_t next_ = 0;
};

std::optional<int64_t> integer(JsonObject& from, std::string_view key) {
  const JsonValue* value = from.value().find(key);
  if (value && value->is_null()) return from.optional(key), std::nullopt;
  return from.optional_integer(key, {.low = 0});
}

std::optional<double> real(JsonObject& from, std::string_view key) {
  const JsonValue* value = from.value().find(key);
  if (value && value->is_null()) return from.optional(key), std::nullopt;
  return from.optional_real(key);
}

GpuReading read_gpu(const JsonValue& value, std::string_view file, Diagnostics& faults) {
  JsonObject from(value, file, faults);
  GpuReading gpu;
  gpu.name = from.optional_string("name").value_or("");
  gpu.uuid = from.optional_string("uuid").value_or("");
  from.optional("bytes");  // was told from the processes, and is again
  gpu.total_bytes = integer(from, "total_bytes");
  gpu.used_bytes = integer(from, "used_bytes");
  gpu.utilisation = real(from, "utilisation");
  gpu.memory_utilisation = real(from, "memory_utilisation");
  gpu.pcie_received_per_s = integer(from, "pcie_received_per_s");
  gpu.pcie_sent_per_s = integer(from, "pcie_sent_per_s");
  gpu.power_watts = real(from, "power_watts");
  gpu.temperature_c = real(from, "temperature_c");
  gpu.sm_clock_hz = integer(from, "sm_clock_hz");
  gpu.memory_clock_hz = integer(from, "memory_clock_hz");
  const JsonValue* processes = from.optional("processes");
  if (processes && processes->list()) {
    gpu.processes.emplace();
    for (const JsonValue& item : *processes->list()) {
      JsonObject process(item, file, faults);
      const int64_t pid = process.required_integer("pid", {.low = 0});
      gpu.processes->push_back({.pid = pid, .bytes = integer(process, "bytes")});
      process.finish();
    }
  } else if (processes && !processes->is_null()) {
    from.fail("E311", "processes must be a list, found " + processes->description(), *processes);
  }
  from.finish();
  return gpu;
}

}  // namespace

Result<std::unique_ptr<GpuSource>> open_gpu_recording(const std::string& path) {
  const auto source = ByteSource::open(path);
  if (!source) return tl::make_unexpected(source.error());
  std::string text(source->size(), '\0');
  const auto got = source->read(0, std::as_writable_bytes(std::span(text)));
  if (!got) return tl::make_unexpected(got.error());
  std::vector<GpuReadings> samples;
  Diagnostics faults;
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_part(rest, '\n');
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{}, line {}", path, number);
    const auto value = read_json(line, place);
    if (!value) return tl::make_unexpected(value.error());
    const JsonValue* gpus = value->find("gpus");
    if (!gpus || !value->find("sample")) continue;
    if (!gpus->list())
      return error("E311", "gpus must be a list, found " + gpus->description(),
                   {.file = place, .node = {}});
    GpuReadings sample;
    for (const JsonValue& gpu : *gpus->list()) sample.gpus.push_back(read_gpu(gpu, place, faults));
    JsonObject whole(*value, place, faults);
    sample.faults = whole.optional_strings("faults");
    if (has_error(faults)) return tl::make_unexpected(faults);
    samples.push_back(std::move(sample));
  }
  if (samples.empty())
    return error("E501", "holds no sample of a GPU", {.file = path, .node = {}},
                 "a file that plimsoll-monitor --out wrote");
  return std::make_unique<GpuRecording>(path, std::move(samples));
}

}  // namespace plimsoll::monitor

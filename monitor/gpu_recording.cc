#include "monitor/gpu_recording.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/byte_source.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/read_fields.h"

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

}  // namespace

Result<std::unique_ptr<GpuSource>> open_gpu_recording(const std::string& path) {
  const auto source = TRY(ByteSource::open(path));
  std::string text(source.size(), '\0');
  TRY(source.read(0, std::as_writable_bytes(std::span(text))));
  std::vector<GpuReadings> samples;
  Diagnostics faults;
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_part(rest, '\n');
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{}, line {}", path, number);
    const auto value = TRY(read_json(line, place));
    if (!value.find("gpus") || !value.find("sample")) continue;
    GpuReadings sample;
    JsonObject whole(value, place, faults);
    ReadFields fields(whole);
    // What a process has of a card was told from the card's processes, and is again.
    fields.list("gpus", sample.gpus, [&](GpuReading& gpu) { describe(fields, gpu, std::nullopt); });
    fields("faults", sample.faults, {.absent_where = false});
    if (has_error(faults)) return tl::make_unexpected(faults);
    samples.push_back(std::move(sample));
  }
  if (samples.empty())
    return error("E501", "has no sample of a GPU", {.file = path, .node = {}},
                 "a file that plimsoll-monitor --out wrote");
  return std::make_unique<GpuRecording>(path, std::move(samples));
}

}  // namespace plimsoll::monitor

// PyTorch's memory snapshot. Its form: torch/cuda/memory.py, _snapshot(), and
// torch/cuda/_memory_viz.py; what an action does to the allocator's statistics:
// c10/cuda/CUDACachingAllocator.cpp, malloc(), free() and record_trace().
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"
#include "hwdb/measured/meter.h"

namespace plimsoll {
namespace {

constexpr double kMiB = 1048576.0;
// Blocks are of whole granules (kMinBlockSize); the history tells the bytes that were asked for.
constexpr int64_t kGranule = 512;
// Of one block or segment: no sum of all that a file can hold overflows.
constexpr IntegerRange kSizes{.low = 0, .high = int64_t{1} << 40};
constexpr IntegerRange kIndex{.low = 0, .high = 1'000'000};

int64_t in_granules(int64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

struct Held {
  int64_t allocated = 0, reserved = 0;
};

// What the allocator held when the snapshot was taken.
Held last_state(JsonObject& root, std::set<int64_t>& devices) {
  Held held;
  for (const JsonValue& value : root.required_list("segments")) {
    JsonObject segment(value, root.file(), root.faults());
    devices.insert(segment.optional_integer("device", kIndex).value_or(0));
    held.reserved += segment.required_integer("total_size", kSizes);
    for (const JsonValue& item : segment.required_list("blocks")) {
      JsonObject block(item, root.file(), root.faults());
      // "active_awaiting_free" was given back by the program and is no longer counted.
      if (block.required_string("state") != "active_allocated") continue;
      const int64_t size = block.required_integer("size", kSizes);
      const auto requested = block.optional_integer("requested_size", kSizes);
      held.allocated += requested ? in_granules(*requested) : size;
    }
  }
  return held;
}

// Takes back what an action did.
void undo(JsonObject& entry, Held& held) {
  const std::string action = entry.required_string("action");
  const int64_t size = entry.optional_integer("size", kSizes).value_or(0);
  if (action == "alloc") held.allocated -= in_granules(size);
  if (action == "free_requested") held.allocated += in_granules(size);
  if (action == "segment_alloc" || action == "segment_map") held.reserved -= size;
  if (action == "segment_free" || action == "segment_unmap") held.reserved += size;
}

}  // namespace

Result<MeterReading> read_snapshot(const ByteSource& source, const Limits& limits) {
  const Place place{source.name(), 0, 0, {}};
  const auto text = TRY(whole_text(source, limits));
  const auto value = TRY(read_json(text, source.name(), limits));
  Diagnostics faults;
  JsonObject root(value, source.name(), faults, true);
  std::set<int64_t> devices;
  Held held = last_state(root, devices);
  Held peak = held;
  bool history = false;
  for (const JsonValue& trace : root.optional_list("device_traces")) {
    if (!trace.list()) continue;
    history = history || !trace.list()->empty();
    for (auto at = trace.list()->rbegin(); at != trace.list()->rend(); ++at) {
      JsonObject entry(*at, source.name(), faults);
      undo(entry, held);
      peak.allocated = std::max(peak.allocated, held.allocated);
      peak.reserved = std::max(peak.reserved, held.reserved);
    }
  }
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  if (devices.size() > 1) {
    return error("E532", fmt::format("has {} GPUs; select the one of the run", devices.size()),
                 place, "take the snapshot in the process of one GPU");
  }
  if (peak.reserved <= 0) return error("E531", "no segment: nothing was allocated", place);
  MeterReading reading;
  const auto add = [&](const char* name, int64_t bytes) {
    reading.measured.push_back({name, static_cast<double>(bytes) / kMiB});
  };
  if (history && peak.allocated > 0) add("peak_allocated_mb", peak.allocated);
  add("peak_reserved_mb", peak.reserved);
  if (!history) {
    reading.notes.push_back(
        note("N521", "no history of allocations: the peak of tensors is not in it", place,
             "call torch.cuda.memory._record_memory_history() before the step"));
  }
  return reading;
}

}  // namespace plimsoll

// Steps of 104 networks of ten libraries and three loops, recorded, beside PyTorch's own figures of
// them (tests/oracles/step_goldens.py): exact, but for blocks of its allocator, of which large ones
// are not split for less than 1 MiB, so that they depend on what lies where before the step.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "estimator/memory/allocator/allocator.h"
#include "tests/support/golden_memory.h"
#include "tests/support/replayed_record.h"

using namespace plimsoll;

namespace {

constexpr double kOfBlocks = 0.005;

int64_t rounded(int64_t bytes) {
  constexpr int64_t kGranule = 512;
  return (bytes + kGranule - 1) / kGranule * kGranule;
}

struct Found {
  int64_t parameters = 0, gradients = 0, states = 0, saved = 0, peak = 0;
  bool operator==(const Found&) const = default;
};

Found told(const nlohmann::json& row) {
  return {row["parameters"], row["gradients"], row["states"], row["saved"], row["peak"]};
}

// Rounded as the allocator does.
Found found_in(const test::RecordedModel& made) {
  const Step& step = made.model.step;
  const auto size = [&](BufferId id) { return rounded(made.bound.buffer_bytes[id]); };
  Found found;
  int64_t living = 0;
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    const Buffer& buffer = step.buffers[id];
    if (buffer.role == Role::kParameter) found.parameters += size(id);
    if (buffer.role == Role::kOptimizerState) found.states += size(id);
    if (buffer.role == Role::kGradient) found.gradients += size(id);
    if (buffer.resident) living += size(id);
  }
  found.peak = living;
  for (const Event& event : step.events) {
    if (event.kind == Event::Kind::kAllocate) living += size(event.id);
    if (event.kind == Event::Kind::kFree) living -= size(event.id);
    if (event.kind == Event::Kind::kBecomeGradient) found.gradients += size(event.id);
    found.peak = std::max(found.peak, living);
  }
  for (const Saved& saved : step.saved) found.saved += size(saved.buffer);
  return found;
}

// Blocks in use at most in one steady step, from what stays on: as the figure beside it was made.
int64_t allocated_in(const test::RecordedModel& made) {
  Events events;
  for (BufferId id = 0; id < made.model.step.buffers.size(); ++id) {
    if (made.model.step.buffers[id].resident)
      events.push_back(allocate(static_cast<int32_t>(id), made.bound.buffer_bytes[id]));
  }
  for (const Event& event : made.model.step.events) {
    const auto id = static_cast<int32_t>(event.id);
    if (event.kind == Event::Kind::kAllocate)
      events.push_back(allocate(id, made.bound.buffer_bytes[event.id]));
    if (event.kind == Event::Kind::kFree) events.push_back(release(id));
  }
  return replay(events, CachingRules{}).value().allocated_peak;
}

std::string text_of(const Found& f) {
  return fmt::format("parameters {}, gradients {}, states {}, saved {}, peak {}", f.parameters,
                     f.gradients, f.states, f.saved, f.peak);
}

}  // namespace

TEST_CASE("golden networks: records have PyTorch's bytes") {
  const auto golden = test::read_golden("steps/networks.json");
  CHECK(golden["steps"].size() == 107);
  for (const auto& item : golden["steps"].items()) {
    const std::string& name = item.key();
    const auto& row = item.value();
    CAPTURE(name);
    const auto made = test::recorded_model(
        test::golden_bytes("steps/networks/" + name + std::string(kRecordSuffix)), name);
    CHECK(text_of(found_in(made)) == text_of(told(row)));
    const double allocated = row["allocated"];
    CHECK(std::abs(static_cast<double>(allocated_in(made)) - allocated) <= kOfBlocks * allocated);
  }
}

// A record's step as the caching allocator sees it: without workspaces and without the wait of what
// other streams read, neither of which PyTorch's fake tensors know.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "estimator/memory/device_memory.h"
#include "estimator/memory/replay_input.h"
#include "graph/base/inflate.h"
#include "graph/record/record.h"

namespace plimsoll::test {

struct RecordedModel {
  CompiledModel model;
  BoundStep bound;
};

// `packed`: the record's file.
inline RecordedModel recorded_model(const std::string& packed, const std::string& name) {
  const auto text = inflated(packed, Packing::kGzip, size_t{1} << 24);
  REQUIRE(text);
  auto record = read_record(*text, name);
  REQUIRE(record);
  RecordedModel made;
  made.model.graph = std::move(record->graph);
  made.model.step = std::move(record->step);
  made.model.recorded = true;
  made.bound = bind_step(made.model.step, {}).value();
  return made;
}

inline Replay replayed(RecordedModel made) {
  for (Buffer& buffer : made.model.step.buffers) buffer.late = false;
  std::vector<BufferId> storages(made.model.step.buffers.size());
  std::iota(storages.begin(), storages.end(), BufferId{0});
  const ReplayInput input = replay_input(made.model, made.bound, WorkspacePlan{},
                                         AllocatorBehaviour{}, std::nullopt, std::move(storages));
  return replay(replay_events(input).value(), CachingRules{}).value();
}

}  // namespace plimsoll::test

// Programs of one rank of several, recorded, beside what PyTorch's code of FSDP2, FSDP1, tensor
// parallelism and pipelines takes there (tests/oracles/rank_goldens.py): to the byte, and what its
// allocator reserves, whose pools are apart by stream.
#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "estimator/memory/device_memory.h"
#include "estimator/memory/replay_input.h"
#include "graph/base/inflate.h"
#include "graph/record/record.h"
#include "tests/support/golden_memory.h"

using namespace plimsoll;

namespace {

struct Ranked {
  CompiledModel model;
  BoundStep bound;
};

Ranked recorded(const std::string& name) {
  const std::string packed =
      test::read_bytes(test::golden_path("ranks/" + name + std::string(kRecordSuffix)));
  const auto text = inflated(packed, Packing::kGzip, size_t{1} << 24);
  REQUIRE(text);
  auto record = read_record(*text, name);
  REQUIRE(record);
  Ranked ranked;
  ranked.model.graph = std::move(record->graph);
  ranked.model.step = std::move(record->step);
  ranked.model.recorded = true;
  ranked.bound = bind_step(ranked.model.step, {}).value();
  return ranked;
}

// Without workspaces, which the oracle does not see, and without the wait of what other streams
// read, which it does not know.
Replay replayed(Ranked ranked) {
  for (Buffer& buffer : ranked.model.step.buffers) buffer.late = false;
  std::vector<BufferId> storages(ranked.model.step.buffers.size());
  std::iota(storages.begin(), storages.end(), BufferId{0});
  const ReplayInput input = replay_input(ranked.model, ranked.bound, WorkspacePlan{},
                                         AllocatorBehaviour{}, std::nullopt, std::move(storages));
  return replay(replay_events(input).value(), CachingRules{}).value();
}

size_t streams_of(const Step& step) {
  std::set<Stream> streams;
  for (const Buffer& buffer : step.buffers) streams.insert(buffer.stream);
  return streams.size();
}

int64_t sum(const std::vector<int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), int64_t{0});
}

}  // namespace

TEST_CASE("golden ranks: what the allocator reserves by stream is PyTorch's") {
  const auto golden = test::read_golden("ranks/figures.json");
  size_t several = 0;
  for (const auto& item : golden["cases"].items()) {
    CAPTURE(item.key());
    const Ranked ranked = recorded(item.key());
    const auto reserved = item.value()["reserved_by_stream"].get<std::vector<int64_t>>();
    CHECK(streams_of(ranked.model.step) == reserved.size());
    several += reserved.size() > 1 ? 1 : 0;
    const Replay found = replayed(ranked);
    CHECK(found.reserved_peak == sum(reserved));
    CHECK(found.allocated_peak >= item.value()["peak"].get<int64_t>());
  }
  CHECK(several == 7);
}

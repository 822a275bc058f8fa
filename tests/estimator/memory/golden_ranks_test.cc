// Programs of one rank of several, recorded, beside what PyTorch's code of FSDP2, FSDP1, tensor
// parallelism and pipelines takes there (tests/oracles/rank_goldens.py): to the byte, and what its
// allocator reserves, whose pools are apart by stream.
#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "tests/support/golden_memory.h"
#include "tests/support/replayed_record.h"

using namespace plimsoll;

namespace {

test::RecordedModel recorded(const std::string& name) {
  const std::string file = "ranks/" + name + std::string(kRecordSuffix);
  return test::recorded_model(test::read_bytes(test::golden_path(file)), name);
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
    const test::RecordedModel ranked = recorded(item.key());
    const auto reserved = item.value()["reserved_by_stream"].get<std::vector<int64_t>>();
    CHECK(streams_of(ranked.model.step) == reserved.size());
    several += reserved.size() > 1 ? 1 : 0;
    const Replay found = test::replayed(ranked);
    CHECK(found.reserved_peak == sum(reserved));
    CHECK(found.allocated_peak >= item.value()["peak"].get<int64_t>());
  }
  CHECK(several == 7);
}

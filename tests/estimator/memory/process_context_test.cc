// What a process takes of a card beside its tensors.
#include "estimator/memory/process_context.h"

#include <doctest/doctest.h>

#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// Two ranks that shard, and groups of them that replicate each other, or none.
int64_t context_of(int64_t shards, int64_t replicas, int64_t nodes) {
  Request request = test::request("builtin:gpt2", "h100-sxm-80gb", 1);
  request.gpu_count = shards * replicas;
  request.nodes = nodes;
  if (nodes > 1) request.network = "infiniband-ndr";
  request.parallel.fsdp = true;
  request.parallel.axes[static_cast<size_t>(Axis::kShard)] = shards;
  request.parallel.axes[static_cast<size_t>(Axis::kData)] = replicas;
  return test::answer(request).memory.context_bytes;
}

// hwdb/links: 16 channels over NVLink 4, 2 between machines; rings and as much again.
constexpr int64_t kOfProtocols = 524288 + 4915200 + 4194304;
constexpr int64_t kWithin = 2 * 16 * kOfProtocols, kBetween = 2 * 2 * kOfProtocols;

}  // namespace

TEST_CASE("process context: each group of ranks that exchange anything has NCCL's buffers") {
  const int64_t one = context_of(4, 1, 1);
  CHECK(context_of(2, 2, 1) == one + kWithin);
  CHECK(context_of(8, 1, 1) == one);  // however many they are
}

TEST_CASE("process context: between machines there are fewer channels") {
  CHECK(context_of(2, 2, 2) == context_of(4, 1, 1) + kBetween);
}

}  // namespace plimsoll

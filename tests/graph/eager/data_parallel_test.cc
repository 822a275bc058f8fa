#include "graph/eager/data_parallel.h"

#include <doctest/doctest.h>

namespace plimsoll::eager {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Bytes of the buckets made for parameters of these many MiB.
std::vector<int64_t> buckets(std::initializer_list<int64_t> parameters, bool parallel) {
  Recipe recipe;
  Policy policy;
  if (parallel) {
    policy.gradient_bucket_bytes = 25 * kMiB;
    policy.first_gradient_bucket_bytes = kMiB;
  }
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  for (const int64_t size : parameters) m.parameter(DType::kFloat32, {Dim(size * kMiB / 4)});
  make_gradient_buckets(m);
  std::vector<int64_t> sizes;
  for (const Buffer& buffer : m.finish().buffers) {
    if (buffer.role == Role::kTemporary) sizes.push_back(buffer.bytes.constant_term() / kMiB);
  }
  return sizes;
}

}  // namespace

TEST_CASE("gradient buckets: closed by the tensor that reaches the limit, last parameters first") {
  CHECK(buckets({10, 20, 7, 3}, true) == std::vector<int64_t>{3, 27, 10});
  CHECK(buckets({40, 40}, true) == std::vector<int64_t>{40, 40});
  CHECK(buckets({40, 40}, false).empty());
}

TEST_CASE("buffers of one type are joined for a moment before forward") {
  Recipe recipe;
  Policy policy;
  policy.gradient_bucket_bytes = 25 * kMiB;
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  const Value statistics[] = {m.resident(DType::kFloat32, {Dim(64)}, Role::kBuffer),
                              m.resident(DType::kFloat32, {Dim(32)}, Role::kBuffer)};
  broadcast_buffers(m, statistics);
  const Step step = m.finish();
  REQUIRE(step.buffers.size() == 3);
  CHECK(step.buffers[2].bytes == Dim(96 * 4));
  CHECK(step.events.back().kind == Event::Kind::kFree);
}

}  // namespace plimsoll::eager

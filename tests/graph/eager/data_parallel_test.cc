#include "graph/eager/data_parallel.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/eager/ops.h"
#include "tests/support/mebibyte.h"

namespace plimsoll::eager {
namespace {

using test::kMiB;

// As PyTorch's DistributedDataParallel.
ShardingPlan ddp(int64_t bucket_bytes, int64_t first_bucket_bytes) {
  return {.data_ranks = 2,
          .bucket_bytes = bucket_bytes,
          .first_bucket_bytes = first_bucket_bytes,
          .copies_buckets = true};
}

// Bytes of the buckets made for parameters of these many MiB.
std::vector<int64_t> buckets(std::initializer_list<int64_t> parameters, bool parallel) {
  Recipe recipe;
  Policy policy;
  if (parallel) policy.sharding = ddp(25 * kMiB, kMiB);
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  for (const int64_t size : parameters) m.parameter(DType::kFloat32, {Dim(size * kMiB / 4)});
  const DataParallel devices(m);
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

// Buckets that PyTorch itself makes (tests/oracles/ddp_buckets.py), compared as sorted sizes: the
// order of the last, unfilled ones of several types is that of a hash table there.
TEST_CASE("gradient buckets: PyTorch's own") {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/golden/ddp/buckets.json");
  const auto golden = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(golden["models"].size() == 6);
  for (const auto& model : golden["models"]) {
    CAPTURE(model["model"].get<std::string>());
    const Recipe recipe;
    Policy policy;
    policy.sharding = ddp(model["cap"], golden["first_bytes"]);
    const Binding none;
    Decider decider(none);
    Machine m(recipe, policy, decider);
    const auto& sizes = model["parameters"];
    const auto& half = model["half"];
    for (size_t i = sizes.size(); i-- > 0;) {
      const bool is_half = !half.empty() && half[i] == 1;
      m.parameter(is_half ? DType::kFloat16 : DType::kFloat32, {Dim(sizes[i].get<int64_t>())});
    }
    const DataParallel devices(m);
    std::vector<int64_t> got, wanted = model["buckets"].get<std::vector<int64_t>>();
    for (const Buffer& buffer : m.finish().buffers) {
      if (buffer.role == Role::kTemporary) got.push_back(buffer.bytes.constant_term());
    }
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(got == wanted);
  }
}

TEST_CASE("buffers of one type are joined for a moment before forward") {
  Recipe recipe;
  Policy policy;
  policy.sharding = ddp(25 * kMiB, kMiB);
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  const Value statistics[] = {m.resident(DType::kFloat32, {Dim(64)}, Role::kBuffer),
                              m.resident(DType::kFloat32, {Dim(32)}, Role::kBuffer)};
  DataParallel(m).send({}, statistics);
  const Step step = m.finish();
  REQUIRE(step.buffers.size() == 3);
  CHECK(step.buffers[2].bytes == Dim(96 * 4));
  CHECK(step.events.back().kind == Event::Kind::kFree);
  REQUIRE(step.collectives.size() == 1);
  CHECK(step.collectives[0].kind == CollectiveKind::kBroadcast);
  CHECK(step.collectives[0].bytes == Dim(96 * 4));
}

namespace {

// The collectives of a backward pass through three layers of 4 x 4, as they begin ("issue"), are
// waited for ("await") and lie among gradients that become whole ("gradient").
std::string exchange_of(const ShardingPlan& sharding) {
  Recipe recipe;
  Policy policy;
  policy.sharding = sharding;
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  std::string text;
  Step step;
  {
    Value x = m.resident(DType::kFloat32, {Dim(2), Dim(4)}, Role::kInput);
    std::vector<Value> weights;
    for (int i = 0; i < 3; ++i) weights.push_back(m.parameter(DType::kFloat32, {Dim(4), Dim(4)}));
    DataParallel devices(m);
    devices.send(weights, {});
    for (const Value& weight : weights) x = matmul(m, x, weight);
    m.mark_end_of_forward();
    devices.begin_sum();
    const Value roots[] = {x};
    const Value gradients[] = {fill(m, x.dtype(), x.sizes())};
    m.backward(roots, gradients);
    devices.end_sum();
    for (const auto& leaf : m.leaves()) leaf->gradient = {};
  }
  step = m.finish();
  for (const Event& e : step.events) {
    if (e.kind == Event::Kind::kBecomeGradient) text += "gradient ";
    if (e.kind == Event::Kind::kAwait) text += fmt::format("await{} ", e.id);
    if (e.kind == Event::Kind::kIssue)
      text += fmt::format("issue{}:{} ", e.id, step.collectives[e.id].bytes.text());
  }
  return text;
}

}  // namespace

TEST_CASE("data parallel: gradients are summed bucket by bucket while backward goes on") {
  CHECK(exchange_of(ddp(100, 64)) ==
        "gradient issue0:64 gradient gradient issue1:128 await0 await1 ");
  CHECK(exchange_of({.data_ranks = 2}) ==
        "gradient issue0:64 gradient issue1:64 gradient issue2:64 await0 await1 await2 ");
  // What a last bucket lacks never comes: it goes at the end.
  CHECK(exchange_of(ddp(1000, 100)) ==
        "gradient gradient issue0:128 gradient issue1:64 await0 await1 ");
}

TEST_CASE("data parallel: all at once after the backward pass") {
  CHECK(exchange_of({.data_ranks = 2, .sums_during_backward = false}) ==
        "gradient gradient gradient issue0:192 await0 ");
}

TEST_CASE("data parallel: one process sends weights out and gathers gradients") {
  CHECK(exchange_of({.data_ranks = 2, .replicates = true}) ==
        "issue0:192 await0 gradient gradient gradient issue1:192 await1 ");
}

TEST_CASE("data parallel: one device tells nobody anything") {
  CHECK(exchange_of({.data_ranks = 1}) == "gradient gradient gradient ");
  const Recipe recipe;
  Policy policy;
  policy.sharding = ddp(25 * kMiB, kMiB);
  policy.sharding.data_ranks = 1;
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  const Value statistics[] = {m.resident(DType::kFloat32, {Dim(64)}, Role::kBuffer)};
  DataParallel(m).send({}, statistics);
  CHECK(m.finish().events.empty());
}

}  // namespace plimsoll::eager

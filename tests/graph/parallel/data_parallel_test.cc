#include "graph/parallel/data_parallel.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/eager/ops.h"
#include "tests/support/mebibyte.h"

namespace plimsoll::parallel {
namespace {

using eager::Machine;
using eager::Value;

using test::kMiB;

// As PyTorch's DistributedDataParallel.
ExchangeBehaviour ddp(int64_t bucket_bytes, int64_t first_bucket_bytes) {
  return {.bucket_bytes = bucket_bytes,
          .first_bucket_bytes = first_bucket_bytes,
          .copies_buckets = true};
}

Mesh two_along(std::initializer_list<Axis> axes) {
  Mesh mesh;
  for (const Axis axis : axes) mesh.extent(axis) = 2;
  return mesh;
}

// Bytes of the buckets made for parameters of these many MiB.
std::vector<int64_t> buckets(std::initializer_list<int64_t> parameters) {
  Recipe recipe;
  recipe.parallel.mesh = two_along({Axis::kData});
  Policy policy;
  policy.exchange = ddp(25 * kMiB, kMiB);
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
  CHECK(buckets({10, 20, 7, 3}) == std::vector<int64_t>{3, 27, 10});
  CHECK(buckets({40, 40}) == std::vector<int64_t>{40, 40});
}

// Buckets that PyTorch itself makes (tests/oracles/ddp_buckets.py), compared as sorted sizes: the
// order of the last, unfilled ones of several types is that of a hash table there.
TEST_CASE("gradient buckets: PyTorch's own") {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/golden/ddp/buckets.json");
  const auto golden = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(golden["models"].size() == 6);
  for (const auto& model : golden["models"]) {
    CAPTURE(model["model"].get<std::string>());
    Recipe recipe;
    recipe.parallel.mesh = two_along({Axis::kData});
    Policy policy;
    policy.exchange = ddp(model["cap"], golden["first_bytes"]);
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
  recipe.parallel.mesh = two_along({Axis::kData});
  Policy policy;
  policy.exchange = ddp(25 * kMiB, kMiB);
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  const Value statistics[] = {m.resident(DType::kFloat32, {Dim(64)}, Role::kBuffer),
                              m.resident(DType::kFloat32, {Dim(32)}, Role::kBuffer)};
  DataParallel(m).begin_forward({}, statistics);
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
std::string exchange_of(const ExchangeBehaviour& behaviour,
                        const Mesh& mesh = two_along({Axis::kData})) {
  Recipe recipe;
  recipe.parallel.mesh = mesh;
  Policy policy;
  policy.exchange = behaviour;
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
    m.observe(devices);
    m.tell(&eager::Observer::begin_forward, weights, std::vector<Value>{});
    for (const Value& weight : weights) x = eager::matmul(m, x, weight);
    m.mark_end_of_forward();
    m.tell(&eager::Observer::begin_backward, true);
    const Value roots[] = {x};
    const Value gradients[] = {eager::fill(m, x.dtype(), x.sizes())};
    m.backward(roots, gradients);
    m.tell(&eager::Observer::end_backward);
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
  CHECK(exchange_of({}) ==
        "gradient issue0:64 gradient issue1:64 gradient issue2:64 await0 await1 await2 ");
  // What a last bucket lacks never comes: it goes at the end.
  CHECK(exchange_of(ddp(1000, 100)) ==
        "gradient gradient issue0:128 gradient issue1:64 await0 await1 ");
}

TEST_CASE("data parallel: all at once after the backward pass") {
  CHECK(exchange_of({.sums_during_backward = false}) ==
        "gradient gradient gradient issue0:192 await0 ");
}

TEST_CASE("data parallel: one process sends weights out and gathers gradients") {
  CHECK(exchange_of({.replicates = true}) ==
        "issue0:192 await0 gradient gradient gradient issue1:192 await1 ");
}

TEST_CASE("data parallel: along two axes one sum follows the other") {
  CHECK(exchange_of(ddp(100, 64), two_along({Axis::kShard, Axis::kData})) ==
        "gradient issue0:64 issue1:64 gradient gradient issue2:128 issue3:128 await0 await1 await2 "
        "await3 ");
}

}  // namespace plimsoll::parallel

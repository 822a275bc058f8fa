#include "graph/parallel/sharded.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"
#include "tests/support/step_walk.h"

namespace plimsoll {
namespace {

// Three blocks of two weights of 16 x 16, and a head of 16 x 12 that is in none of them.
constexpr std::string_view kBlocks =
    "opset 17\ninput x: f32[8,16]\nparam a: f32[16,16]\nparam b: f32[16,16]\nparam c: f32[16,16]\n"
    "param d: f32[16,16]\nparam e: f32[16,16]\nparam f: f32[16,16]\nparam head: f32[16,12]\n"
    "x1 = MatMul(x, a) module=\"h.0.in\"\nx2 = MatMul(x1, b) module=\"h.0.out\"\n"
    "x3 = MatMul(x2, c) module=\"h.1.in\"\nx4 = MatMul(x3, d) module=\"h.1.out\"\n"
    "x5 = MatMul(x4, e) module=\"h.2.in\"\nx6 = MatMul(x5, f) module=\"h.2.out\"\n"
    "y = MatMul(x6, head) module=\"head\"\noutput y\n";
constexpr int64_t kUnit = 2 * 16 * 16 * 4, kHead = 16 * 12 * 4, kAll = 3 * kUnit + kHead;
constexpr int64_t kRanks = 4;

Recipe sharded(Sharded what, int64_t replicas = 1) {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.parallel.sharded = what;
  recipe.parallel.mesh.extent(Axis::kShard) = kRanks;
  recipe.parallel.mesh.extent(Axis::kData) = replicas;
  return recipe;
}

struct Sharding {
  explicit Sharding(const Recipe& recipe, std::string_view text = kBlocks) {
    auto graph = parse_text(text);
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    Decider decider({});
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    auto expansion = expand(*graph, plan_for(*graph), recipe, Policy{}, decider);
    REQUIRE(expansion);
    step = std::move(expansion->step);
    bound = bind_step(step, {}).value();
    for (const std::string& fault : test::step_faults(step, bound, 512)) FAIL_CHECK(fault);
    timeline = walk(step, bound, 1);
  }

  int64_t resident(Role role) const { return timeline.resident_bytes[static_cast<size_t>(role)]; }

  // "gather:3072 ...", with the axis where it is not that which shards.
  std::string collectives() const {
    std::string text;
    for (const Collective& c : step.collectives) {
      text += c.kind == CollectiveKind::kAllGather       ? "gather:"
              : c.kind == CollectiveKind::kReduceScatter ? "scatter:"
                                                         : "sum:";
      text += fmt::format("{}{} ", c.bytes.text(), c.axis == Axis::kData ? "@data" : "");
    }
    return text;
  }

  Step step;
  BoundStep bound;
  Timeline timeline;
};

// Bytes alive that the step allocates, of those that `counts` says, at each product: "forward node
// bytes".
template <class Counts>
std::vector<int64_t> alive_at_products(const Sharding& s, Phase phase, Counts counts) {
  std::vector<int64_t> at;
  int64_t alive = 0;
  for (const Event& e : s.step.events) {
    const bool memory = e.kind == Event::Kind::kAllocate || e.kind == Event::Kind::kFree;
    if (memory && counts(s.step.buffers[e.id]))
      alive += (e.kind == Event::Kind::kFree ? -1 : 1) * s.bound.buffer_bytes[e.id];
    const bool product = e.kind == Event::Kind::kLaunch && e.phase == phase &&
                         s.step.kernels[e.id].kernel_class == KernelClass::kGemm;
    if (product) at.push_back(alive);
  }
  return at;
}

bool is_gathered(const Buffer& b) { return b.role == Role::kParameter && !b.resident; }
bool is_gathering(const Buffer& b) { return b.stream == Stream::kGather; }

using Sizes = std::vector<int64_t>;

}  // namespace

TEST_CASE("sharded: each device keeps its part of weights, gradients and states") {
  const Sharding s(sharded(Sharded::kWeights));
  CHECK(s.resident(Role::kParameter) == kAll / kRanks);
  CHECK(s.resident(Role::kOptimizerState) == 2 * kAll / kRanks);
  CHECK(s.timeline.gradient_bytes == kAll / kRanks);
}

TEST_CASE("sharded: a unit's weights are there while it runs, the head's from forward on") {
  const Sharding s(sharded(Sharded::kWeights));
  CHECK(alive_at_products(s, Phase::kForward, is_gathered) ==
        Sizes{kHead + kUnit, kHead + kUnit, kHead + kUnit, kHead + kUnit, kHead + kUnit,
              kHead + kUnit, kHead});
  // The head's two products come first; of the first block the input wants no gradient.
  const Sizes backward = alive_at_products(s, Phase::kBackward, is_gathered);
  REQUIRE(backward.size() == 13);
  CHECK(std::count(backward.begin(), backward.begin() + 2, kHead) == 2);
  CHECK(std::count(backward.begin() + 2, backward.end(), kHead + kUnit) == 11);
  CHECK(s.collectives() == fmt::format("gather:{1} gather:{0} gather:{0} gather:{0} "   // forward
                                       "gather:{0} gather:{0} scatter:{0} gather:{0} "  // back
                                       "scatter:{0} scatter:{0} scatter:{1} ",
                                       kUnit, kHead));
}

TEST_CASE("sharded: forward keeps the buffer of the last gathering, backward gathers one ahead") {
  const Sharding s(sharded(Sharded::kWeights));
  const Sizes forward = alive_at_products(s, Phase::kForward, is_gathering);
  CHECK(forward == Sizes{kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit});
  const Sizes backward = alive_at_products(s, Phase::kBackward, is_gathering);
  CHECK(backward ==
        Sizes{kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, 0, 0, 0});
  // Between two units that of the one and of the next.
  int64_t alive = 0, most = 0;
  for (const Event& e : s.step.events) {
    if (e.kind == Event::Kind::kAllocate && is_gathering(s.step.buffers[e.id]))
      most = std::max(most, alive += s.bound.buffer_bytes[e.id]);
    if (e.kind == Event::Kind::kFree && is_gathering(s.step.buffers[e.id]))
      alive -= s.bound.buffer_bytes[e.id];
  }
  CHECK(most == 2 * kUnit);
}

TEST_CASE("sharded: states alone, or gradients too, and weights gathered behind the update") {
  Recipe adam;
  adam.optimizer = find_optimizer("adam");
  const Sharding alone(adam);
  const Sharding states(sharded(Sharded::kStates));
  CHECK(states.resident(Role::kParameter) == kAll);
  CHECK(states.resident(Role::kOptimizerState) == 2 * kAll / kRanks);
  CHECK(states.timeline.gradient_bytes == kAll);
  CHECK(states.step.collectives.back().kind == CollectiveKind::kAllGather);
  CHECK(states.step.collectives.back().bytes == Dim(kAll));
  const Sharding gradients(sharded(Sharded::kGradients));
  CHECK(gradients.resident(Role::kParameter) == kAll);
  CHECK(gradients.resident(Role::kOptimizerState) == 2 * kAll / kRanks);
  CHECK(gradients.timeline.gradient_bytes == kAll / kRanks);
  CHECK(gradients.collectives() == fmt::format("scatter:{0} scatter:{0} scatter:{0} scatter:{1} "
                                               "gather:{2} ",
                                               kUnit, kHead, kAll));
  // An update works on as many elements as it has.
  const auto updated = [](const Sharding& s) {
    int64_t flop = 0;
    for (const Kernel& k : s.step.kernels)
      flop += k.kernel_class == KernelClass::kUpdate ? *k.flop.constant() : 0;
    return flop;
  };
  CHECK(updated(states) == updated(alone) / kRanks);
}

TEST_CASE("sharded: replicas sum their parts along their own axis") {
  const Sharding s(sharded(Sharded::kWeights, 2));
  const std::string text = s.collectives();
  CHECK(text.find(fmt::format("scatter:{} sum:{}@data ", kUnit, kUnit / kRanks)) != text.npos);
  CHECK(text.ends_with(fmt::format("scatter:{} sum:{}@data ", kHead, kHead / kRanks)));
  CHECK(s.resident(Role::kParameter) == kAll / kRanks);
}

namespace {

// How many collectives of a kind, along an axis, had begun and had been waited for at each product.
struct Exchanged {
  int64_t begun = 0, awaited = 0;
  bool operator==(const Exchanged&) const = default;
};
std::vector<Exchanged> exchanged_at_products(const Step& step, Phase phase, CollectiveKind kind,
                                             Axis axis) {
  std::vector<Exchanged> at;
  Exchanged so_far;
  for (const Event& e : step.events) {
    const bool tells = e.kind == Event::Kind::kIssue || e.kind == Event::Kind::kAwait;
    if (tells && step.collectives[e.id].kind == kind && step.collectives[e.id].axis == axis)
      ++(e.kind == Event::Kind::kIssue ? so_far.begun : so_far.awaited);
    if (e.kind == Event::Kind::kLaunch && e.phase == phase &&
        step.kernels[e.id].kernel_class == KernelClass::kGemm)
      at.push_back(so_far);
  }
  return at;
}

}  // namespace

// all_reduce_stream of foreach_reduce(), _fsdp_collectives.py.
TEST_CASE("sharded: replicas sum beside the backward pass, which waits for none of it") {
  const Sharding s(sharded(Sharded::kWeights, 2));
  const auto sums_at =
      exchanged_at_products(s.step, Phase::kBackward, CollectiveKind::kAllReduce, Axis::kData);
  CHECK(sums_at.back() == Exchanged{.begun = 1, .awaited = 0});
  const auto sums =
      std::ranges::count(s.step.collectives, CollectiveKind::kAllReduce, &Collective::kind);
  CHECK(sums == 4);
}

TEST_CASE("sharded: a forward pass gathers the next block beside the one that runs") {
  const Sharding s(sharded(Sharded::kWeights));
  const auto gathers =
      exchanged_at_products(s.step, Phase::kForward, CollectiveKind::kAllGather, Axis::kShard);
  REQUIRE(gathers.size() == 7);
  CHECK(gathers[0] ==
        Exchanged{.begun = 3, .awaited = 2});  // the head's weights, and the first block's
  CHECK(gathers[2] == Exchanged{.begun = 4, .awaited = 3});
  CHECK(gathers[4] == Exchanged{.begun = 4, .awaited = 4});
}

TEST_CASE("sharded: passes that accumulate add to the part that is there") {
  Recipe recipe = sharded(Sharded::kWeights);
  recipe.accumulate = 3;
  const Sharding s(recipe);
  CHECK(s.timeline.gradient_bytes == kAll / kRanks);
  const auto scatters =
      std::ranges::count(s.step.collectives, CollectiveKind::kReduceScatter, &Collective::kind);
  CHECK(scatters == 3 * 4);
}

TEST_CASE("sharded: checkpointed blocks run again while their weights are there") {
  Recipe recipe = sharded(Sharded::kWeights);
  recipe.checkpoint = "blocks";
  const Sharding s(recipe);
  CHECK(s.collectives() == Sharding(sharded(Sharded::kWeights)).collectives());
  const Sizes gathered = alive_at_products(s, Phase::kBackward, is_gathered);
  CHECK(std::ranges::all_of(gathered, [](int64_t b) { return b == kHead || b == kHead + kUnit; }));
  recipe.checkpoint = "h";  // a region over all three units, which it finds gathered
  recipe.parallel.sharded = Sharded::kWeights;
  CHECK(Sharding(recipe).timeline.gradient_bytes == kAll / kRanks);
}

TEST_CASE("sharded: frozen weights are gathered, and what needs no gradient is told so") {
  Recipe recipe = sharded(Sharded::kWeights);
  recipe.training = {{.glob = "a", .trained = false}, {.glob = "b", .trained = false}};
  const Sharding s(recipe);
  CHECK(s.resident(Role::kParameter) == kAll / kRanks);
  CHECK(s.resident(Role::kOptimizerState) == 2 * (kAll - kUnit) / kRanks);
  const auto scatters =
      std::ranges::count(s.step.collectives, CollectiveKind::kReduceScatter, &Collective::kind);
  CHECK(scatters == 3);
}

TEST_CASE("sharded: a dimension that devices do not divide is rounded up") {
  const Sharding s(sharded(Sharded::kWeights),
                   "opset 17\ninput x: f32[8,6]\nparam w: f32[6,10]\ny = MatMul(x, w)\noutput y\n");
  CHECK(s.resident(Role::kParameter) == 2 * 10 * 4);
  CHECK(s.collectives() == fmt::format("gather:{0} scatter:{0} ", 8 * 10 * 4));
}

TEST_CASE("sharded: a forward pass alone gathers each unit once") {
  Recipe recipe = sharded(Sharded::kWeights);
  recipe.mode = Mode::kInference;
  const Sharding s(recipe);
  CHECK(s.collectives() ==
        fmt::format("gather:{1} gather:{0} gather:{0} gather:{0} ", kUnit, kHead));
}

// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: split_with_sizes_copy and chunk_cat, by
// as many bytes at once as the card loads, whatever the elements.
TEST_CASE("sharded: buffers of bytes are copied as bytes, not element by element") {
  const Sharding s(sharded(Sharded::kWeights));
  int64_t copied = 0;
  for (const Kernel& kernel : s.step.kernels) {
    if (kernel.dtype != DType::kInt8) continue;
    CHECK(kernel.op == "cat");
    ++copied;
  }
  CHECK(copied > 0);
}

}  // namespace plimsoll

#include "graph/parallel/flat_sharded.h"

#include <string>
#include <utility>

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

using test::kAllCount, test::kBlockCount, test::kHeadCount;

constexpr int64_t kFlatRanks = 4;

Recipe fsdp1() { return test::shared_by(ShardedBy::kFsdp1, Sharded::kWeights, kFlatRanks); }

std::string in_half() {
  std::string text(test::kThreeBlocks);
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  return text;
}

bool is_whole_array(const Buffer& b) { return b.role == Role::kParameter && !b.resident; }

}  // namespace

TEST_CASE("flat sharded: a part of each unit's array stays, and of its gradients") {
  const test::ParallelStep s(fsdp1());
  CHECK(s.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(s.resident(Role::kOptimizerState) == 8 * kAllCount / kFlatRanks);
  CHECK(s.timeline.gradient_bytes == 4 * kAllCount / kFlatRanks);
  CHECK(s.timeline.persistent_bytes == 16 * kAllCount / kFlatRanks);
}

// InternEvo's FSDPadaptOptimizer: 2 of weights and 2 of gradients stay, beside 4 of copies and 8 of
// states; the update takes 4 of gradients, and temporaries.
TEST_CASE("flat sharded: copies in 32 bits are beside parts in 16") {
  constexpr int64_t kMine = kAllCount / kFlatRanks;
  constexpr int64_t kNamed = 2 * (8 * 12 + 1);  // what the network returned, and the loss
  Recipe recipe = fsdp1();
  recipe.precision = find_precision("mixed-bf16");
  const test::ParallelStep wide(recipe, in_half());
  CHECK(wide.resident(Role::kParameter) == 4 * kMine);
  CHECK(wide.timeline.persistent_bytes == 16 * kMine);
  recipe.parallel.master_copies = true;
  for (const auto& [form, held] : {std::pair{"adam-fused", 0}, {"adam", 4}, {"adam-2.0", 8}}) {
    recipe.optimizer = find_optimizer(form);
    const test::ParallelStep s(recipe, in_half());
    const int64_t counters = s.resident(Role::kOptimizerState) - 12 * kMine;
    CHECK(counters == (held > 0 ? 0 : 7 * 4));
    CHECK(s.resident(Role::kParameter) == 2 * kMine);
    CHECK(s.timeline.gradient_bytes == 2 * kMine);
    CHECK(s.timeline.persistent_bytes == 16 * kMine + counters);
    CHECK(s.timeline.max_temporary[static_cast<size_t>(Phase::kUpdate)] ==
          (4 + held) * kMine + kNamed);
  }
  recipe.parallel.sharded_by = ShardedBy::kFsdp2;
  const test::ParallelStep of_fsdp2(recipe, in_half());
  CHECK(of_fsdp2.resident(Role::kParameter) == 2 * kMine);
  CHECK(of_fsdp2.resident(Role::kOptimizerState) == 12 * kMine);
  CHECK(of_fsdp2.timeline.gradient_bytes == 2 * kMine);
}

TEST_CASE("flat sharded: two units are whole in backward, beside what is in none") {
  const test::ParallelStep s(fsdp1());
  CHECK(s.most(is_whole_array) == 4 * (2 * kBlockCount + kHeadCount));
  CHECK(s.count(CollectiveKind::kAllGather) == 4 + 3);
  CHECK(s.count(CollectiveKind::kReduceScatter) == 4);
  Recipe kept = fsdp1();
  kept.parallel.keeps_gathered = true;
  const test::ParallelStep whole(kept);
  CHECK(whole.most(is_whole_array) == 4 * kAllCount);
  CHECK(whole.count(CollectiveKind::kAllGather) == 4);
}

TEST_CASE("flat sharded: gradients are summed in the type that is asked for") {
  Recipe recipe = fsdp1();
  recipe.parallel.reduce_type = ReduceType::kBFloat16;
  const auto sent = [](const test::ParallelStep& s) {
    int64_t bytes = 0;
    for (size_t i = 0; i < s.step.collectives.size(); ++i) {
      if (s.step.collectives[i].kind == CollectiveKind::kReduceScatter)
        bytes += s.bound.collective_bytes[i];
    }
    return bytes;
  };
  const test::ParallelStep half(recipe), whole(fsdp1());
  CHECK(sent(whole) == 4 * kAllCount);
  CHECK(sent(half) == 2 * kAllCount);
  CHECK(half.timeline.gradient_bytes == whole.timeline.gradient_bytes);
  recipe.parallel.sharded_by = ShardedBy::kFsdp2;
  const test::ParallelStep of_fsdp2(recipe);
  CHECK(sent(of_fsdp2) == 2 * kAllCount);
  CHECK(of_fsdp2.timeline.gradient_bytes == 4 * kAllCount / kFlatRanks);
}

// _all_reduce_stream of _reduce_grad(), _runtime_utils.py.
TEST_CASE("flat sharded: replicas sum beside the backward pass, blocks are gathered ahead") {
  Recipe recipe = fsdp1();
  recipe.parallel.mesh.extent(Axis::kData) = 2;
  const test::ParallelStep s(recipe);
  int64_t gathers = 0, gathers_awaited = 0, sums = 0, sums_awaited = 0;
  std::vector<int64_t> ahead;  // gathers that a product of the forward pass runs beside
  for (const Event& e : s.step.events) {
    const bool issues = e.kind == Event::Kind::kIssue;
    if (issues || e.kind == Event::Kind::kAwait) {
      const Collective& c = s.step.collectives[e.id];
      if (c.kind == CollectiveKind::kAllGather) ++(issues ? gathers : gathers_awaited);
      if (c.axis == Axis::kData) ++(issues ? sums : sums_awaited);
    }
    const bool product =
        e.kind == Event::Kind::kLaunch && s.step.kernels[e.id].kernel_class == KernelClass::kGemm;
    if (!product) continue;
    if (e.phase == Phase::kForward) ahead.push_back(gathers - gathers_awaited);
    if (e.phase == Phase::kBackward) CHECK(sums_awaited == 0);
  }
  CHECK(ahead == std::vector<int64_t>{1, 1, 1, 1, 0, 0, 0});
  CHECK(sums == 4);
  CHECK(sums_awaited == 4);
}

TEST_CASE("flat sharded: arrays that two streams use are free one later") {
  const test::ParallelStep s(fsdp1());
  for (const Buffer& b : s.step.buffers) {
    if (is_whole_array(b) && b.bytes != Dim(0)) CHECK(b.late);
  }
}

TEST_CASE("flat sharded: without exchange gradients wait whole for the last pass") {
  Recipe recipe = fsdp1();
  recipe.accumulate = 2;
  CHECK(test::ParallelStep(recipe).count(CollectiveKind::kReduceScatter) == 2 * 4);
  recipe.parallel.exchanges_last = true;
  CHECK(test::ParallelStep(recipe).count(CollectiveKind::kReduceScatter) == 4);
}

TEST_CASE("flat sharded: weights kept in 32 bits are gathered in 16, gradients summed in 32") {
  Recipe recipe = fsdp1();
  recipe.precision = find_precision("mixed-bf16");
  std::string text(test::kThreeBlocks);
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  const test::ParallelStep s(recipe, text);
  CHECK(s.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(s.resident(Role::kOptimizerState) == 8 * kAllCount / kFlatRanks);
  CHECK(s.timeline.gradient_bytes == 4 * kAllCount / kFlatRanks);
  CHECK(s.most(is_whole_array) == 2 * (2 * kBlockCount + kHeadCount));
}

// A unit's gradients are one array, of frozen weights too, unless peft has what is trained wrapped.
TEST_CASE("flat sharded: adapters beside frozen weights are arrays of their own") {
  Recipe recipe = fsdp1();
  recipe.training = {{"*", false}, {"b", true}};
  const test::ParallelStep joined(recipe);
  CHECK(joined.timeline.gradient_bytes == 4 * kBlockCount / kFlatRanks);
  recipe.parallel.adapters_apart = true;
  const test::ParallelStep apart(recipe);
  CHECK(apart.timeline.gradient_bytes == 4 * kBlockCount / 2 / kFlatRanks);
  CHECK(apart.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(apart.resident(Role::kOptimizerState) == 8 * kBlockCount / 2 / kFlatRanks);
}

// What blocks 1 and 2 read, and its gradients, are there until the backward pass is over: the hooks
// that wait for frozen weights' last use hold them.
TEST_CASE("flat sharded: frozen blocks hold the inputs of reentrant checkpoints") {
  Recipe recipe = fsdp1();
  recipe.training = {{"*", false}, {"a", true}, {"c", true}, {"e", true}};
  recipe.parallel.adapters_apart = true;
  recipe.checkpoint = "blocks";
  const auto of_two_blocks = [](const Recipe& asked) {
    const test::ParallelStep s(asked);
    int64_t alive = 0, left = 0;  // of the size of what a block reads, at backward's last kernel
    for (const Event& e : s.step.events) {
      const bool launch = e.kind == Event::Kind::kLaunch;
      if (launch && e.phase == Phase::kBackward) left = alive;
      if (e.kind != Event::Kind::kAllocate && e.kind != Event::Kind::kFree) continue;
      const Buffer& b = s.step.buffers[e.id];
      if (b.bytes != Dim(4 * 8 * 16) || b.resident) continue;
      alive += e.kind == Event::Kind::kAllocate ? 1 : -1;
    }
    return left;
  };
  CHECK(of_two_blocks(recipe) == 0);
  recipe.reentrant = true;
  CHECK(of_two_blocks(recipe) == 4);
  // An array with something trained needs no such hook.
  recipe.parallel.adapters_apart = false;
  const int64_t joined = of_two_blocks(recipe);
  recipe.reentrant = false;
  CHECK(of_two_blocks(recipe) == joined);
}

TEST_CASE("flat sharded: offloaded parts come for each gathering, summed ones go") {
  Recipe recipe = fsdp1();
  recipe.parallel.offload = {.states = true, .parameters = true};
  const test::ParallelStep s(recipe);
  CHECK(s.timeline.persistent_bytes == 0);
  // That of what is around the units comes once more behind the forward pass, though it is whole.
  CHECK(s.count(CollectiveKind::kFromHost) == s.count(CollectiveKind::kAllGather) + 1);
  CHECK(s.count(CollectiveKind::kToHost) == s.count(CollectiveKind::kReduceScatter));
  // Summed parts are on the card until the backward pass is over.
  const auto is_part = [](const Buffer& b) {
    return b.stream == Stream::kReduce && b.bytes == Dim(4 * kBlockCount / kFlatRanks);
  };
  CHECK(s.most(is_part) == 3 * 4 * kBlockCount / kFlatRanks);
  int64_t host = 0;
  for (const int64_t bytes : s.bound.on_host_bytes) host += bytes;
  CHECK(host == 16 * kAllCount / kFlatRanks);  // weights, gradients, two states
  // A single rank has no second array beside what it copies.
  recipe.parallel.mesh.extent(Axis::kShard) = 1;
  const test::ParallelStep single(recipe);
  const auto is_other = [](const Buffer& b) {
    return b.stream == Stream::kGather && b.role != Role::kParameter;
  };
  CHECK(single.most(is_other) == 0);
}

}  // namespace plimsoll

// What a compiler makes of launches: which join, what they still move, and what stays as it was.
#include "graph/eager/fusion.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

constexpr int64_t kTensor = 4 * 8 * 16 * 16 * 4;  // bytes of one of kSizes
const Shape kSizes{4, 8, 16, 16};

struct FusionBench {
  explicit FusionBench(bool compiled) {
    recipe.compiled = compiled;
    machine.enter(Phase::kForward, 0);
  }
  Value input(const Shape& sizes = kSizes) {
    return machine.resident(DType::kFloat32, sizes, Role::kInput);
  }
  Value parameter(const Shape& sizes) { return machine.parameter(DType::kFloat32, sizes); }
  Value relu(const Value& x) { return unary(machine, "relu", x, Keeps::kResult, "kept"); }
  void backward(const Value& root) {
    const Value roots[] = {root};
    machine.enter(Phase::kBackward, 0);
    const Value ones[] = {fill(machine, root.dtype(), root.sizes())};
    machine.backward(roots, ones);
    for (const auto& leaf : machine.leaves()) leaf->gradient = {};
  }
  std::vector<Kernel> launches() {
    if (!step) step = machine.finish();
    std::vector<Kernel> all;
    for (const Event& event : step->events) {
      if (event.kind == Event::Kind::kLaunch) all.push_back(step->kernels[event.id]);
    }
    return all;
  }

  Recipe recipe;
  Policy policy;
  Binding none;
  Decider decider{none};
  Machine machine{recipe, policy, decider};
  std::optional<Step> step;
};

int64_t number(const Dim& dim) { return dim.constant_term(); }

}  // namespace

TEST_CASE("fusion: a chain of element-wise kernels reads and writes once") {
  FusionBench b(true);
  {
    const Value x = b.input(), other = b.input();
    Value y = b.relu(x);
    y = mul(b.machine, y, other);
    y = add(b.machine, y, x);
  }
  const auto launches = b.launches();
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].op == "fused_relu_mul_add");
  CHECK(number(launches[0].read) == 2 * kTensor);
  CHECK(number(launches[0].written) == kTensor);
  REQUIRE(b.step->fusion);
  CHECK(b.step->fusion->eager_launches == 3);
  CHECK(b.step->fusion->launches == 1);
  CHECK(number(b.step->fusion->spared) == (2 + 3 + 3 - 3) * kTensor);
}

TEST_CASE("fusion: without a compiler, and alone, kernels stay what they are") {
  for (const bool compiled : {false, true}) {
    CAPTURE(compiled);
    FusionBench b(compiled);
    b.relu(b.input());
    const auto launches = b.launches();
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].op == "relu");
    CHECK(b.step->fusion.has_value() == compiled);
  }
}

TEST_CASE("fusion: what others read is written, once for all of them") {
  FusionBench b(true);
  {
    const Value x = b.input({32, 64}), weight = b.input({64, 64});
    const Value y = b.relu(x);
    const Value z = mul(b.machine, y, x);
    mm(b.machine, y, weight);
    mm(b.machine, z, weight);
  }
  const auto launches = b.launches();
  REQUIRE(launches.size() == 3);
  const auto fused = std::ranges::find(launches, "fused_relu_mul", &Kernel::op);
  REQUIRE(fused != launches.end());
  CHECK(number(fused->read) == 32 * 64 * 4);
  CHECK(number(fused->written) == 2 * 32 * 64 * 4);
}

TEST_CASE("fusion: a kernel that needs a product of the first's result does not join the first") {
  FusionBench b(true);
  {
    const Value x = b.input({64, 64}), weight = b.input({64, 64});
    const Value y = b.relu(x);
    const Value z = mm(b.machine, y, weight);
    const Value sum = add(b.machine, z, y);
    mul(b.machine, sum, x);  // joins the sum: both come after the product
  }
  const auto launches = b.launches();
  REQUIRE(launches.size() == 3);
  CHECK(launches[0].op == "relu");
  CHECK(launches[1].op == "gemm");
  CHECK(launches[2].op == "fused_add_mul");
}

TEST_CASE("fusion: a batch norm's input is read for its statistics and again, with what follows") {
  FusionBench b(true);
  {
    const Value x = b.input(), rest = b.input();
    const Value scale = b.parameter({8}), bias = b.parameter({8});
    Value y = batch_norm(b.machine, x, scale, bias, true);
    y = add(b.machine, y, rest);
    b.relu(y);
  }
  const auto launches = b.launches();
  REQUIRE(launches.size() == 2);
  int64_t read = 0, written = 0;
  for (const Kernel& kernel : launches) {
    read += number(kernel.read);
    written += number(kernel.written);
  }
  CHECK(read == 3 * kTensor);  // x twice, and what is added
  CHECK(written == kTensor);
}

TEST_CASE("fusion: a layer norm takes what comes before and after into its rows") {
  constexpr int64_t kRows = 4 * 16 * 64 * 4;
  for (const bool trains : {false, true}) {
    CAPTURE(trains);
    FusionBench b(true);
    {
      const Value x = b.input({4, 16, 64}), rest = b.input({4, 16, 64});
      const auto weight = [&] { return trains ? b.parameter({64}) : b.input({64}); };
      const Value y = add(b.machine, x, rest);
      const Value z = layer_norm(b.machine, y, weight(), weight(), 2);
      const Value sum = add(b.machine, z, rest);
      if (trains) b.backward(sum);
    }
    const auto launches = b.launches();
    const Kernel& forward = launches.front();
    CHECK(forward.op == "fused_add_layer_norm");
    CHECK(number(forward.read) == 2 * kRows);
    // What the norm keeps is written too.
    CHECK(number(forward.written) == (trains ? 2 : 1) * kRows);
    CHECK((launches.size() == 1) == !trains);
  }
}

TEST_CASE("fusion: forward and backward are compiled apart, the loss not at all") {
  FusionBench b(true);
  {
    const Value weight = b.parameter(kSizes);
    Value y = mul(b.machine, weight, b.input());
    y = b.relu(y);
    b.machine.enter(Phase::kLoss, kNoNode);
    const Value twice = add(b.machine, y, y);
    const Value loss = sum_all(b.machine, twice);
    b.machine.mark_end_of_forward();
    b.backward(loss);
  }
  const auto launches = b.launches();
  const auto named = [&](std::string_view op) {
    return std::ranges::count(launches, op, &Kernel::op);
  };
  CHECK(named("fused_mul_relu") == 1);
  CHECK(named("add") >= 1);
  for (size_t i = 0, forward = 0; i < b.step->events.size(); ++i) {
    const Event& event = b.step->events[i];
    if (event.kind == Event::Kind::kLaunch && i < b.step->end_of_forward) ++forward;
    if (i + 1 == b.step->end_of_forward) CHECK(forward == 3);
  }
}

TEST_CASE("fusion: what is allocated, kept and freed stays as it was") {
  const auto storage = [](bool compiled) {
    FusionBench b(compiled);
    {
      const Value x = b.input();
      Value y = batch_norm(b.machine, x, b.parameter({8}), b.parameter({8}), true);
      y = b.relu(y);
      y = mul(b.machine, y, b.parameter(kSizes));
      b.machine.mark_end_of_forward();
      b.backward(y);
    }
    b.launches();
    std::vector<std::pair<Event::Kind, uint32_t>> events;
    for (const Event& event : b.step->events) {
      if (event.kind != Event::Kind::kLaunch) events.emplace_back(event.kind, event.id);
    }
    return events;
  };
  CHECK(storage(true) == storage(false));
}

}  // namespace plimsoll::eager

#include "estimator/memory/module_storages.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

using namespace plimsoll;

namespace {

// Bytes of fp32 elements, at batch 2.
ModuleStorages of(const std::string& text, const ModuleHabits& habits) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const Binding binding{{"batch", 2}};
  Decider decider(binding);
  Diagnostics warnings;
  const auto inferred = infer(*graph, decider, warnings);
  REQUIRE_MESSAGE(inferred, inferred.error().front().message);
  return module_storages(*graph, binding, habits);
}

constexpr ModuleHabits kTraining{};
constexpr ModuleHabits kEvaluation{.backward = false};

// Images of 3x8x8; four 3x3 filters, halved by a pool, to 64 features and ten scores.
const std::string kConvolutions = R"(
  input x: f32[batch,3,8,8]
  param w: f32[4,3,3,3]
  param v: f32[64,10]
  a = Conv(x, w) {pads=[1,1,1,1]}
  b = Relu(a)
  c = MaxPool(b) {kernel_shape=[2,2], strides=[2,2]}
  d = Flatten(c)
  e = MatMul(d, v)
  output e
)";

constexpr double kImage = 2 * 3 * 64 * 4, kMap = 2 * 4 * 64 * 4, kPooled = kMap / 4, kScores = 80;

}  // namespace

TEST_CASE("module storages: each module has its result and the gradient of its input") {
  const ModuleStorages all = of(kConvolutions, kTraining);
  CHECK(all.outputs == kMap + kPooled + kScores);   // ReLU in place, a view
  CHECK(all.gradients == kImage + kMap + kPooled);  // of convolution, pool, product
  CHECK(all.buffers == 0);
  CHECK(of(kConvolutions, kEvaluation).gradients == 0);
  CHECK(of(kConvolutions, kEvaluation).outputs == all.outputs);
  CHECK(of(kConvolutions, {.input_gradient = false}).gradients == kMap + kPooled);
}

TEST_CASE("module storages: nn's own layers keep columns and positions of the whole batch") {
  const double columns = 2 * 27 * 64 * 4;
  CHECK(of(kConvolutions, {.backward = false, .own_layers = true}).buffers == columns + kPooled);
  CHECK(of(kConvolutions, {.own_layers = true}).buffers == 2 * columns + kPooled);
}

TEST_CASE("module storages: norms keep statistics, dropout its mask while training") {
  const std::string text = R"(
    input x: f32[batch,4,8,8]
    param s: f32[4]
    y, _, _ = BatchNormalization(x, s, s, s, s) {training_mode=1}
    z = Dropout(y)
    output z
  )";
  CHECK(of(text, kEvaluation).buffers == 4 * 16);
  CHECK(of(text, kTraining).buffers == 4 * 16 + kMap);
}

TEST_CASE("module storages: a container of branches has a gradient of its own") {
  // Both branches' first gradients and their sum; the sum of the results is made in the first's.
  const std::string text = R"(
    input x: f32[batch,4,8,8]
    param w: f32[4,4,1,1]
    a = Conv(x, w)
    b = Conv(x, w)
    y = Add(a, b)
    output y
  )";
  CHECK(of(text, kTraining).outputs == 2 * kMap);
  CHECK(of(text, kTraining).gradients == 3 * kMap);
}

TEST_CASE("module storages: what is cut out of a joined gradient is copied") {
  const auto text = [](const std::string& last) {
    return R"(
      input x: f32[batch,4,8,8]
      param w: f32[4,4,1,1]
      a = Conv(x, w)
      b = )" +
           last + R"((a)
      y = Concat(b, x) {axis=1}
      output y
    )";
  };
  // A sigmoid has a gradient of its own beside the copy; in place the copy is the gradient.
  const ModuleStorages own = of(text("Sigmoid"), kTraining);
  const ModuleStorages in_place = of(text("Relu"), kTraining);
  CHECK(own.buffers == kMap);
  CHECK(in_place.buffers == kMap);
  CHECK(own.gradients == 3 * kMap);  // of sigmoid, convolution, container
  CHECK(in_place.gradients == 3 * kMap);
  CHECK(own.outputs == in_place.outputs + kMap);
}

TEST_CASE("module storages: lives that do not overlap share a storage") {
  const std::string text = R"(
    input x: f32[batch,4,8,8]
    param w: f32[4,4,1,1]
    a = Conv(x, w)
    b = Conv(a, w)
    c = Conv(b, w)
    d = Conv(c, w)
    output d
  )";
  CHECK(of(text, kEvaluation).outputs == 4 * kMap);
  // a and c take turns with b; what leaves the network is left alone.
  CHECK(of(text, {.backward = false, .shared = true}).outputs == 3 * kMap);
  CHECK(of(text, {.shared = true}).outputs == 4 * kMap);  // the backward pass reads all
  CHECK(of(text, kTraining).gradients == 4 * kMap);
  CHECK(of(text, {.shared = true}).gradients == 3 * kMap);
  const double columns = 2 * 4 * 64 * 4;
  const auto own = [&](bool backward, bool shared) {
    return of(text, {.backward = backward, .own_layers = true, .shared = shared}).buffers;
  };
  CHECK(own(false, false) == 4 * columns);
  CHECK(own(false, true) == columns);
  CHECK(own(true, true) == 5 * columns);  // the columns' gradients are one
}

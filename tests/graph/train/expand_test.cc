#include "graph/train/expand.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

struct Expanded {
  Graph graph;
  Expansion expansion;
};

Expanded expanded(std::string_view text, const Recipe& recipe, Passes written = Passes::kDistinct) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  auto expansion = expand(*graph, plan_for(*graph), recipe, Policy{}, decider, written);
  REQUIRE(expansion);
  return {std::move(*graph), std::move(*expansion)};
}

// Of what the step keeps for backward, alive where its first backward pass begins.
int64_t kept_before_backward(const Step& step) {
  int64_t alive = 0;
  for (const Event& e : step.events) {
    if (e.phase == Phase::kBackward) break;
    const bool memory = e.kind == Event::Kind::kAllocate || e.kind == Event::Kind::kFree;
    if (!memory || step.buffers[e.id].role != Role::kFeatureMap) continue;
    alive += (e.kind == Event::Kind::kFree ? -1 : 1) * *step.buffers[e.id].bytes.constant();
  }
  return alive;
}

int64_t bytes_of(const Step& step, Role role) {
  int64_t sum = 0;
  for (const Buffer& b : step.buffers) sum += b.role == role ? *b.bytes.constant() : 0;
  return sum;
}

int64_t launches(const Step& step, KernelClass kernel_class, Phase phase) {
  return std::ranges::count_if(step.events, [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && e.phase == phase &&
           step.kernels[e.id].kernel_class == kernel_class;
  });
}

}  // namespace

TEST_CASE(
    "expand: gradients that stay are filled and added to, array by array, with an update or not") {
  const auto of = [](ZeroGrad zero_grad, Mode mode) {
    Recipe recipe;
    recipe.zero_grad = zero_grad;
    recipe.mode = mode;
    return expanded(
        "opset 17\ninput x: f32[8,16]\nparam w: f32[16,4]\nparam v: f32[4,2]\n"
        "y = MatMul(x, w)\nz = MatMul(y, v)\noutput z\n",
        recipe);
  };
  for (const Mode mode : {Mode::kTrain, Mode::kTrainNoUpdate}) {
    const Step none = of(ZeroGrad::kNone, mode).expansion.step;
    const Step keep = of(ZeroGrad::kKeep, mode).expansion.step;
    const auto more = [&](KernelClass kernel_class, Phase phase) {
      return launches(keep, kernel_class, phase) - launches(none, kernel_class, phase);
    };
    CHECK(more(KernelClass::kCopy, Phase::kUpdate) == 2);
    CHECK(more(KernelClass::kPointwise, Phase::kBackward) == 2);
    CHECK(bytes_of(keep, Role::kGradient) == 4 * (16 * 4 + 4 * 2));
  }
}

TEST_CASE("expand: a weight that no gradient reaches gets no optimizer states") {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  const auto of = [&](const std::string& index) {
    return expanded(
        "opset 17\ninput x: f32[8,16]\nparam w: f32[16,4]\nparam v: f32[16,32]\n"
        "y = MatMul(x, w)\nz = MatMul(x, v)\n" +
            index,
        recipe);
  };
  const Expanded reached = of("output y\noutput z\n");
  const Expanded unreached = of("i = ArgMax(z) {axis=1}\noutput y\noutput i\n");
  CHECK(bytes_of(reached.expansion.step, Role::kOptimizerState) == 2 * 4 * (16 * 4 + 16 * 32));
  CHECK(bytes_of(unreached.expansion.step, Role::kOptimizerState) == 2 * 4 * 16 * 4);
  const auto kind = [](const Expanded& e, std::string_view name) {
    for (TensorId id = 0; id < e.graph.tensors.size(); ++id) {
      if (e.graph.tensors[id].name == name) return e.expansion.weight_roles[id];
    }
    FAIL("no such tensor");
    return WeightRole::kConstant;
  };
  CHECK(kind(unreached, "w") == WeightRole::kTrained);
  CHECK(kind(unreached, "v") == WeightRole::kUnreached);
  CHECK(kind(reached, "v") == WeightRole::kTrained);
}

// torch/utils/checkpoint.py raises _StopRecomputationError where the last tensor is packed, which
// is before an operator runs that keeps its inputs alone, and after one that keeps what it makes.
TEST_CASE("expand: a checkpointed block stops before an operator that keeps its inputs alone") {
  Recipe recipe;
  recipe.checkpoint = "blocks";
  const auto products = [&](const std::string& last) {
    const std::string layer =
        "m{i} = MatMul({x}, w{i}) module=\"net.{i}.first\"\na{i} = Sigmoid(m{i}) "
        "module=\"net.{i}.act\"\n"
        "n{i} = MatMul(a{i}, v{i}) module=\"net.{i}.second\"\n" +
        last;
    std::string text = "opset 17\ninput x: f32[8,16]\n";
    std::string nodes, x = "x";
    for (const std::string i : {"0", "1"}) {
      text += "param w" + i + ": f32[16,16]\nparam v" + i + ": f32[16,16]\n";
      std::string lines = layer;
      for (size_t at; (at = lines.find("{i}")) != std::string::npos;) lines.replace(at, 3, i);
      for (size_t at; (at = lines.find("{x}")) != std::string::npos;) lines.replace(at, 3, x);
      nodes += lines;
      x = last.empty() ? "n" + i : "y" + i;
    }
    const Expanded e = expanded(text + nodes + "output " + x + "\n", recipe);
    CHECK(launches(e.expansion.step, KernelClass::kGemm, Phase::kForward) == 4);
    return launches(e.expansion.step, KernelClass::kGemm, Phase::kBackward);
  };
  // Two gradients of each product, but one of the first, whose input needs none; and one product of
  // each block again, or both.
  CHECK(products("") == 7 + 2);
  CHECK(products("y{i} = Sigmoid(n{i}) module=\"net.{i}.last\"\n") == 7 + 4);
  recipe.checkpoint = "blocks/2";  // the second alone
  CHECK(products("y{i} = Sigmoid(n{i}) module=\"net.{i}.last\"\n") == 7 + 2);
}

// CopySlices (torch/csrc/autograd/functions/tensor.cpp): a gradient of the whole, and a clone of
// the view's part of it, beside what the operator itself makes.
TEST_CASE("expand: what is written into a view copies its gradient twice") {
  constexpr int64_t kMap = 8 * 16 * 4;
  const auto temporaries = [](const std::string& last, const std::string& view) {
    const Expanded e = expanded(
        "opset 17\ninput x: f32[8,16]\ninput u: f32[16,8]\nparam w: f32[16,16]\n"
        "const to: i64[2] = [16,8]\nm = MatMul(x, w)\n" +
            view + "y = " + last + "\noutput y\n",
        {});
    return bytes_of(e.expansion.step, Role::kTemporary);
  };
  const auto more = [&](const std::string& own, const std::string& of_view) {
    return temporaries(of_view, "v = Reshape(m, to)\n") - temporaries(own, "");
  };
  CHECK(more("Relu(m) in_place=1", "Relu(v) in_place=1") == 2 * kMap);
  CHECK(more("Relu(m)", "Relu(v)") == 0);
  CHECK(more("Add(m, x) in_place=1", "Add(v, u) in_place=1") == 2 * kMap);
}

TEST_CASE("expand: nothing is kept without autograd, and no gradient goes through") {
  const auto kept = [](const std::string& notes) {
    const Expanded e = expanded(
        "opset 17\ninput x: f32[8,16]\nparam w: f32[16,16]\nparam v: f32[16,16]\n"
        "a = MatMul(x, v)" +
            notes + "\nb = Exp(a)" + notes + "\nc = MatMul(x, w)\ny = Mul(b, c)\noutput y\n",
        {});
    return std::pair(bytes_of(e.expansion.step, Role::kFeatureMap),
                     launches(e.expansion.step, KernelClass::kGemm, Phase::kBackward));
  };
  const auto [with, products] = kept("");
  const auto [without, fewer] = kept(" no_grad");
  CHECK(with - without == 8 * 16 * 4);  // c, which b's gradient wants; b itself is c's
  CHECK(products == 2);
  CHECK(fewer == 1);
}

// out = torch.zeros_like(x), before the messages that are added to it are made.
TEST_CASE("expand: zeros are filled where their line is") {
  const Expanded e = expanded(
      "opset 17\ninput x: f32[64,32]\ninput at: i64[64,1]\nparam w: f32[32,32]\n"
      "const zero: f32[] = [0]\nm = MatMul(x, w)\ns = Shape(m)\nz = Expand(zero, s)\n"
      "r = Tanh(m)\ny = ScatterND(z, at, r) {reduction=\"add\"}\noutput y\n",
      {});
  const auto& buffers = e.expansion.step.buffers;
  CHECK(std::ranges::count_if(buffers, [&](const Buffer& b) {
          return b.node != kNoNode && e.graph.nodes[b.node].op == "Expand";
        }) == 1);
}

// A mask by positions: arange, arange, le, and zeros of which a cast is taken, then what is added.
TEST_CASE(
    "expand: what the device computes though no data goes into it is there from its own line") {
  const auto of = [](const std::string& notes) {
    const Expanded e = expanded(
        "opset 17\ninput x: f32[64,32]\nparam w: f32[32,32]\nconst zero: i64[] = [0]\n"
        "const all: i64[] = [64]\nconst one: i64[] = [1]\nconst axis: i64[1] = [1]\n"
        "const yes: f32[] = [0.0]\nconst no: f32[] = [-1.0]\nconst to: i64[1] = [64]\n"
        "m = MatMul(x, w)\np = Range(zero, all, one)" +
            notes + "\ns = Add(p, one)" + notes + "\nu = Unsqueeze(s, axis)" + notes +
            "\nf = Expand(yes, to)" + notes + "\nl = LessOrEqual(p, u)" + notes +
            "\nh = Where(l, f, no)" + notes + "\nc = MatMul(h, m)\ny = Mul(c, m)\noutput y\n",
        {});
    const auto count = [&](KernelClass one) {
      return launches(e.expansion.step, one, Phase::kForward);
    };
    return std::pair(count(KernelClass::kCopy), count(KernelClass::kPointwise));
  };
  const auto [fills, sums] = of("");
  CHECK(fills == 1);  // h, where data meets it
  CHECK(sums == 1);   // y
  const auto [made, computed] = of(" on_device");
  CHECK(made == 2);      // p, f
  CHECK(computed == 4);  // s, l, h, y
}

// As PyTorch's exporter writes torch.gather(m, 2, i.expand(...)): with a cast of its positions.
TEST_CASE("expand: an array that is expanded, and cast to what it is, takes no more than before") {
  const auto kept = [](const std::string& positions) {
    const Expanded e = expanded(
        "opset 17\ninput x: f32[24,16,32]\nparam w: f32[32,32]\nconst zero: i64[] = [0]\n"
        "const all: i64[] = [16]\nconst one: i64[] = [1]\nconst axis: i64[1] = [0]\n"
        "const to: i64[3] = [24,16,16]\nm = MatMul(x, w)\nr = Range(zero, all, one)\n"
        "u = Unsqueeze(r, axis)\ne = Expand(u, to)\n" +
            positions + "output y\n",
        {});
    return bytes_of(e.expansion.step, Role::kFeatureMap);
  };
  const int64_t plain = kept("y = GatherElements(m, e) {axis=2}\n");
  CHECK(kept("i = Cast(e) {to=7}\ny = GatherElements(m, i) {axis=2}\n") == plain);
  // Of 16 positions in 64 bits each, or of all of them in 32.
  CHECK(kept("i = Cast(e) {to=6}\ny = GatherElements(m, i) {axis=2}\n") - plain ==
        24 * 16 * 16 * 4 - 16 * 8);
}

TEST_CASE("expand: micro-batches that all go forward first are all kept") {
  constexpr std::string_view kNetwork =
      "opset 17\ninput x: f32[8,16]\nparam a: f32[16,16]\nparam b: f32[16,4]\n"
      "h = MatMul(x, a)\nr = Relu(h)\ny = MatMul(r, b)\noutput y\n";
  const auto kept = [&](int64_t batches, Schedule schedule) {
    Recipe recipe;
    recipe.accumulate = batches;
    recipe.parallel.schedule = schedule;
    const Step step = expanded(kNetwork, recipe).expansion.step;
    CHECK(step.repeats.empty() == (batches <= 3));
    return kept_before_backward(step);
  };
  const int64_t one = kept(1, Schedule::kOneForwardOneBackward);
  CHECK(one > 0);
  CHECK(kept(5, Schedule::kOneForwardOneBackward) == one);
  CHECK(kept(1, Schedule::kForwardFirst) == one);
  CHECK(kept(5, Schedule::kForwardFirst) == 5 * one);
}

namespace {

// What the allocator is asked for, and how often each kernel runs.
struct Asked {
  std::vector<std::string> storages;
  std::map<std::string, int64_t> launches;
  std::vector<int64_t> saved;
};

Asked asked_by(const Step& step) {
  Asked asked;
  EventTimes times(step);
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    const int64_t runs = times(i);
    if (e.kind == Event::Kind::kLaunch) {
      asked.launches[step.kernels[e.id].op + std::to_string(static_cast<int>(e.phase))] += runs;
    } else if (e.kind == Event::Kind::kAllocate || e.kind == Event::Kind::kFree) {
      asked.storages.push_back(
          std::string(name(e.phase)) + (e.kind == Event::Kind::kFree ? " -" : " +") +
          std::string(name(step.buffers[e.id].role)) + step.buffers[e.id].bytes.text());
    }
  }
  for (const Saved& s : step.saved) asked.saved.push_back(*step.buffers[s.buffer].bytes.constant());
  std::ranges::sort(asked.saved);
  return asked;
}

}  // namespace

TEST_CASE("expand: micro-batches that are alike ask for what all of them written out ask for") {
  constexpr std::string_view kNetwork =
      "opset 17\ninput x: f32[8,16]\nparam a: f32[16,16]\nparam b: f32[16,4]\n"
      "h = MatMul(x, a)\nr = Relu(h)\ns = Softmax(r) {axis=1}\ny = MatMul(s, b)\noutput y\n";
  for (const int64_t batches : {1, 2, 3, 4, 7}) {
    for (const char* optimizer : {"sgd", "adam"}) {
      Recipe recipe;
      recipe.accumulate = batches;
      recipe.optimizer = find_optimizer(optimizer);
      recipe.parallel.schedule = Schedule::kForwardFirst;
      const Step once = expanded(kNetwork, recipe).expansion.step;
      const Step all = expanded(kNetwork, recipe, Passes::kAll).expansion.step;
      const Asked one = asked_by(once), other = asked_by(all);
      CAPTURE(batches);
      CHECK(once.repeats.size() == (batches > 3 ? 2 : 0));
      CHECK(all.repeats.empty());
      CHECK(one.storages == other.storages);
      CHECK(one.launches == other.launches);
      CHECK(one.saved == other.saved);
    }
  }
}

}  // namespace plimsoll

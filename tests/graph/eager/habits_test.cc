// What a framework's habits make of one operator: who keeps what, and where gradients lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/eager/composed.h"
#include "graph/eager/ops.h"
#include "graph/eager/update.h"
#include "graph/ir/optimizer.h"

namespace plimsoll::eager {
namespace {

constexpr int64_t kFloat = 4;

struct HabitBench {
  explicit HabitBench(const Policy& given) : policy(given) {}

  Value parameter(const Shape& sizes) { return machine.parameter(DType::kFloat32, sizes); }
  int64_t saved(Value& result) {
    const Value roots[] = {result};
    machine.mark_end_of_forward();
    const Value ones[] = {fill(machine, result.dtype(), result.sizes())};
    machine.backward(roots, ones);
    step = machine.finish();
    int64_t sum = 0;
    for (const Saved& s : step.saved) sum += step.buffers[s.buffer].bytes.constant_term();
    return sum / kFloat;
  }

  Recipe recipe;
  Policy policy;
  Binding none;
  Decider decider{none};
  Machine machine{recipe, policy, decider};
  Step step;
};

int64_t kept_by_lstm(const Policy& policy, bool unrolled) {
  HabitBench b(policy);
  const int64_t batch = 2, steps = 3, hidden = 5;
  const Value x = b.machine.resident(DType::kFloat32, {steps, batch, hidden}, Role::kInput);
  const Value weights[] = {b.parameter({4 * hidden, hidden}), b.parameter({4 * hidden, hidden})};
  const RecurrentOptions options{.unrolled = unrolled, .hidden = hidden};
  Value out = recurrent(b.machine, x, {}, {}, weights, options)[0];
  // Beside the reserve: the result and two first states.
  return (b.saved(out) - steps * batch * hidden - 2 * batch * hidden) / (steps * batch * hidden);
}

}  // namespace

// One LSTM step by hand, per hidden unit: four gates, c, tanh(c) and h; with their inputs, the four
// sums that the gates bend.
TEST_CASE("habits: an unrolled LSTM keeps each step's operands") {
  CHECK(kept_by_lstm({}, false) == 5);
  CHECK(kept_by_lstm({}, true) == 7);
  Policy both;
  both.smooth_keeps_input = true;
  CHECK(kept_by_lstm(both, true) == 11);
}

TEST_CASE("habits: additive attention keeps a tanh per query, and its input where that is kept") {
  const auto kept = [](bool inputs_too) {
    Policy policy;
    policy.smooth_keeps_input = inputs_too;
    HabitBench b(policy);
    const Value q = b.parameter({2, 3, 5}), k = b.parameter({2, 7, 5}), v = b.parameter({5});
    Value scores = additive_scores(b.machine, q, k, v);
    return b.saved(scores);
  };
  CHECK(kept(false) == 2 * 3 * 7 * 5);
  CHECK(kept(true) == 2 * (2 * 3 * 7 * 5));
}

TEST_CASE("habits: a fused loss takes the scores' place and makes one gradient") {
  const auto arrays = [](bool fused) {
    Policy policy;
    policy.fused_softmax_loss = fused;
    HabitBench b(policy);
    const Value x = b.machine.resident(DType::kFloat32, {8, 16}, Role::kInput);
    Value scores = mm(b.machine, x, b.parameter({16, 100}));
    Value loss = cross_entropy(b.machine, scores, 1);
    scores = {};
    b.saved(loss);
    int64_t count = 0;
    for (const Buffer& buffer : b.step.buffers) count += buffer.bytes == Dim(8 * 100 * kFloat);
    return count;
  };
  CHECK(arrays(false) == 4);  // scores, log-probabilities, and the gradient of each
  CHECK(arrays(true) == 2);   // scores, which become probabilities, and their gradient
}

TEST_CASE("habits: a gradient that stays is written in place") {
  const auto largest_temporary = [](bool in_place) {
    Policy policy;
    policy.gradients_in_place = in_place;
    HabitBench b(policy);
    const Value x = b.machine.resident(DType::kFloat32, {2, 3}, Role::kInput);
    const Value w = b.parameter({3, 1000});
    for (const auto& leaf : b.machine.leaves())
      leaf->gradient = b.machine.resident(DType::kFloat32, leaf->leaf.sizes(), Role::kGradient);
    Value y = mm(b.machine, x, w);
    b.saved(y);
    int64_t largest = 0;
    for (const Buffer& buffer : b.step.buffers) {
      if (!buffer.resident) largest = std::max(largest, buffer.bytes.constant_term());
    }
    return largest / kFloat;
  };
  CHECK(largest_temporary(false) == 3 * 1000);
  CHECK(largest_temporary(true) == 2 * 1000);
}

// torch 2.15: result_type() of a half tensor and a float one.
TEST_CASE("a number on the device widens no tensor, only other numbers and integers") {
  HabitBench b{Policy{}};
  const auto type_with = [&](DType type, const Shape& sizes, const Shape& other) {
    const Value x = b.machine.resident(type, sizes, Role::kInput);
    const Value y = b.parameter(other);
    return mul(b.machine, x, y).dtype();
  };
  CHECK(type_with(DType::kFloat16, {4, 8}, {}) == DType::kFloat16);
  CHECK(type_with(DType::kBFloat16, {4}, {}) == DType::kBFloat16);
  CHECK(type_with(DType::kFloat16, {4, 8}, {1}) == DType::kFloat32);
  CHECK(type_with(DType::kFloat16, {}, {}) == DType::kFloat32);
  CHECK(type_with(DType::kInt64, {4, 8}, {}) == DType::kFloat32);
}

TEST_CASE("habits: what is written in place of an input that is kept takes a copy of it") {
  const auto copies = [](Keeps keeps, bool in_place, bool trained, bool compiled = false) {
    HabitBench b{Policy{}};
    b.recipe.compiled = compiled;
    const Value w = b.parameter({4, 8});
    Value x = mul(b.machine, trained ? w : w.detached(), b.machine.host(DType::kFloat32, {}));
    Value y = unary(b.machine, "hard_swish", x, keeps, "kept", 1, in_place);
    Value sum = add(b.machine, y, w);
    b.saved(sum);
    return std::ranges::count(b.step.kernels, std::string("clone"), &Kernel::op);
  };
  CHECK(copies(Keeps::kInput, true, true) == 1);
  CHECK(copies(Keeps::kInput, false, true) == 0);
  CHECK(copies(Keeps::kResult, true, true) == 0);
  CHECK(copies(Keeps::kInput, true, false) == 0);
  CHECK(copies(Keeps::kInput, true, true, true) == 0);
}

// torch 2.15: NativeGroupNormBackward0._saved_input is the given view, whatever its strides.
TEST_CASE("group norm keeps a map as it lies, and of a part the whole") {
  const auto kept = [](const std::vector<size_t>& order, const Shape& sizes) {
    HabitBench b{Policy{}};
    const Value x = b.parameter(sizes);
    Value y = group_norm(b.machine, permute(b.machine, x, order), {}, {}, 2);
    return b.saved(y);
  };
  const int64_t statistics = 2 * 2 * 2;
  CHECK(kept({0, 3, 1, 2}, {2, 3, 3, 4}) == statistics);  // and the weight itself
  CHECK(kept({0, 2, 1, 3}, {2, 3, 4, 3}) == statistics);
  HabitBench b{Policy{}};
  const Value x = b.parameter({2, 8, 3, 3});
  const Value whole = add(b.machine, x, x);
  Value y = group_norm(b.machine, slice(b.machine, whole, 1, 0, 4, 1), {}, {}, 2);
  CHECK(b.saved(y) == 2 * 8 * 3 * 3 + statistics);
}

TEST_CASE("group norm without a kernel for channels last turns its map, and makes one turned") {
  const auto turns = [](bool kernel) {
    Policy policy;
    policy.group_norm_channels_last = kernel;
    HabitBench b(policy);
    const Value x = permute(b.machine, b.parameter({2, 3, 3, 4}), {0, 3, 1, 2});
    Value y = group_norm(b.machine, x, {}, {}, 2);
    const bool contiguous = y.contiguous();
    b.saved(y);
    return contiguous;
  };
  CHECK_FALSE(turns(true));
  CHECK(turns(false));
}

TEST_CASE("norms over rows read fp32 in mixed precision, unless they run in 16 bits") {
  const auto result = [](bool half) {
    Policy policy;
    policy.norms_in_half = half;
    HabitBench b(policy);
    b.machine.set_autocast(DType::kFloat16);
    const Value x = b.parameter({4, 8});
    return layer_norm(b.machine, x, b.parameter({8}), b.parameter({8}), 1).dtype();
  };
  CHECK(result(false) == DType::kFloat32);
  CHECK(result(true) == DType::kFloat16);
}

// TensorFlow 1: of a layer norm the reciprocal deviation times the scale, of a GELU what erf reads
// and the gate, each as large as the input.
TEST_CASE("habits: functions of plain operators keep what is made on the way") {
  constexpr int64_t kRows = 8, kWidth = 16, kSize = kRows * kWidth;
  const auto kept = [](bool composes, bool norm) {
    Policy policy;
    policy.composes_functions = composes;
    HabitBench b(policy);
    Value h = mm(b.machine, b.machine.resident(DType::kFloat32, {kRows, kWidth}, Role::kInput),
                 b.parameter({kWidth, kWidth}));
    Value y = norm ? layer_norm(b.machine, h, b.parameter({kWidth}), b.parameter({kWidth}), 1)
                   : composed_gelu(b.machine, h);
    h = {};
    return b.saved(y);
  };
  CHECK(kept(false, true) == kSize + 2 * kRows);
  CHECK(kept(true, true) == 2 * kSize + 2 * kRows);
  CHECK(kept(true, false) == 3 * kSize);
}

TEST_CASE("habits: softmax keeps its input in PyTorch before 1.11") {
  const auto kept = [](bool input) {
    Policy policy;
    policy.softmax_keeps_input = input;
    HabitBench b(policy);
    Value y = softmax(b.machine, mm(b.machine, b.parameter({4, 8}), b.parameter({8, 16})), 1);
    return b.saved(y);
  };
  CHECK(kept(true) == kept(false) + 4 * 16);
}

// Four arrays for each parameter before any of these is used up, and nothing where the library has
// an operator for the update.
TEST_CASE("habits: an update of plain operators holds arrays of all parameters") {
  const auto arrays_of = [](std::string_view optimizer) {
    Policy policy;
    policy.composes_functions = true;
    policy.foreach_optimizer = false;
    HabitBench b(policy);
    b.recipe.optimizer = find_optimizer(optimizer);
    const Value x = b.machine.resident(DType::kFloat32, {2, 30}, Role::kInput);
    Value y = mm(b.machine, mm(b.machine, x, b.parameter({30, 30})), b.parameter({30, 30}));
    const Value roots[] = {y};
    b.machine.mark_end_of_forward();
    const Value ones[] = {fill(b.machine, y.dtype(), y.sizes())};
    b.machine.backward(roots, ones);
    update(b.machine, {});
    const Step step = b.machine.finish();
    int64_t now = 0, most = 0;
    for (const Event& e : step.events) {
      if (e.phase != Phase::kUpdate) continue;
      const bool whole = e.kind <= Event::Kind::kFree && step.buffers[e.id].bytes == Dim(3600);
      if (whole && e.kind == Event::Kind::kAllocate) most = std::max(most, ++now);
      if (whole && e.kind == Event::Kind::kFree) --now;
    }
    return most;
  };
  CHECK(arrays_of("adamw") == 2 * 4);
  CHECK(arrays_of("adam") == 0);
}

TEST_CASE("a first state that is repeated over the samples is made whole, and kept") {
  const int64_t batch = 2, steps = 3, hidden = 5;
  const auto kept = [&](bool repeated) {
    HabitBench b{Policy{}};
    const Value x = b.machine.resident(DType::kFloat32, {steps, batch, hidden}, Role::kInput);
    const Value weights[] = {b.parameter({3 * hidden, hidden}), b.parameter({3 * hidden, hidden})};
    const Value state = b.parameter({1, repeated ? 1 : batch, hidden});
    const Value h0 = repeated ? expand(b.machine, state, {1, batch, hidden}) : state;
    const RecurrentOptions options{.cell = Cell::kGru, .hidden = hidden};
    Value y = recurrent(b.machine, x, h0, {}, weights, options)[0];
    return b.saved(y);
  };
  CHECK(kept(true) == kept(false) + batch * hidden);
}

TEST_CASE("a bag of embeddings keeps which bag each index is in, not the rows") {
  const auto kept = [](bool largest) {
    HabitBench b{Policy{}};
    const Value indices = b.machine.resident(DType::kInt64, {6}, Role::kInput);
    const Value table = b.parameter({50, 8});
    const Value begins = b.machine.host(DType::kInt64, {2});
    Value y = embedding_bag(b.machine, table, indices, begins, {2, 8}, largest);
    return b.saved(y);
  };
  const int64_t wide = 2;  // words of an int64
  CHECK(kept(false) == wide * (6 + 2 + 2));
  CHECK(kept(true) == wide * (6 + 2 + 2 + 2 * 8));
}

// torch.nn.MultiheadAttention's inference multiplies positions before samples by one weight.
TEST_CASE("one factor for a whole batch is one product, read once") {
  const int64_t batch = 7, rows = 3, inner = 4, columns = 5;
  const auto product = [&](bool shared) {
    HabitBench b{Policy{}};
    const Value x = b.machine.resident(DType::kFloat32, {batch, rows, inner}, Role::kInput);
    const Value w = b.machine.resident(DType::kFloat32, {shared ? 1 : batch, inner, columns}, {});
    bmm(b.machine, x, shared ? expand(b.machine, w, {batch, inner, columns}) : w);
    return b.machine.finish().kernels.front();
  };
  const auto problem = [&](bool shared) {
    return std::get<GemmProblem<Dim>>(product(shared).problem);
  };
  CHECK(problem(true).m == Dim(batch * rows));
  CHECK(problem(true).batch == Dim(1));
  CHECK(problem(false).m == Dim(rows));
  CHECK(problem(false).batch == Dim(batch));
  CHECK(product(true).flop == product(false).flop);
  CHECK(product(false).read - product(true).read == Dim(kFloat * (batch - 1) * inner * columns));
}

// upsample_nearest2d and its kin ask suggest_memory_format(); what pads or tiles does not.
TEST_CASE("habits: interpolation leaves a map in channels-last order") {
  HabitBench b{Policy{}};
  const Value tokens = b.machine.resident(DType::kFloat32, {2, 4, 4, 8}, Role::kInput);
  const Value map = transpose(b.machine, transpose(b.machine, tokens, 1, 3), 2, 3);
  REQUIRE(map.sizes() == Shape{2, 8, 4, 4});
  CHECK(rearrange(b.machine, "resize", map, {2, 8, 8, 8}).strides()[1] == Dim(1));
  CHECK(rearrange(b.machine, "pad", map, {2, 8, 8, 8}).contiguous());
  const Value plain = b.machine.resident(DType::kFloat32, {2, 8, 4, 4}, Role::kInput);
  CHECK(rearrange(b.machine, "resize", plain, {2, 8, 8, 8}).contiguous());
}

// Formulas of index_add and of index_put with accumulate, in derivatives.yaml.
TEST_CASE("habits: rows that are added are kept, those that are put are not") {
  const auto kept = [](bool adds_rows) {
    HabitBench b{Policy{}};
    const Value rows = b.machine.resident(DType::kInt64, {3, 1}, Role::kInput);
    const Value x = b.parameter({5, 8});
    const Value updates = unary(b.machine, "exp", b.parameter({3, 8}), Keeps::kNothing, "", 1);
    Value y = scatter(b.machine, "scatter", x, rows, updates, adds_rows);
    return b.saved(y);
  };
  CHECK(kept(true) == kept(false) + 3 * 8);
}

// The kernels of attention over 2 x 3 heads, 5 queries, 7 keys, 8 features in mixed precision.
TEST_CASE("habits: attention written out scales scores and widens its softmax, the operator q, k") {
  const auto launched = [](bool by_operator) {
    Recipe recipe;
    recipe.precision = find_precision("amp-fp16");
    Policy policy;
    policy.attention.memory_efficient = false;
    policy.attention.separate_by_operator = by_operator;
    const Binding none;
    Decider decider{none};
    Machine machine{recipe, policy, decider};
    machine.begin_autocast();
    {
      const auto heads = [&](int64_t rows) {
        return machine.resident(DType::kFloat16, {2, 3, rows, 8}, Role::kInput);
      };
      attention(machine, heads(5), heads(7), heads(7), {}, {.padded = true});
    }
    machine.end_autocast();
    const Step step = machine.finish();
    std::map<std::string, std::vector<int64_t>> written;  // bytes, by operator
    for (const Event& event : step.events) {
      if (event.kind != Event::Kind::kLaunch) continue;
      const Kernel& kernel = step.kernels[event.id];
      written[kernel.op].push_back(kernel.written.constant_term());
    }
    return written;
  };
  constexpr int64_t kHalfBytes = 2, kScores = 2 * 3 * 5 * 7, kQueries = 2 * 3 * 5 * 8;
  constexpr int64_t kKeys = 2 * 3 * 7 * 8;
  auto written_out = launched(false);
  CHECK(written_out["mul"] == std::vector<int64_t>{kHalfBytes * kScores});
  CHECK(written_out["add"] == std::vector<int64_t>{kFloat * kScores});  // the mask of padding
  CHECK(written_out["softmax"] == std::vector<int64_t>{kFloat * kScores});
  CHECK(written_out["cast"] == std::vector<int64_t>{kHalfBytes * kScores});
  auto operators = launched(true);
  CHECK(operators["mul"] == std::vector<int64_t>{kHalfBytes * kQueries, kHalfBytes * kKeys});
  CHECK(operators["softmax"] == std::vector<int64_t>{kHalfBytes * kScores});
  CHECK(operators.count("add") == 0);
}

// The same heads as Megatron-LM's code has them: where they lie, without a pass for scale or mask.
TEST_CASE("habits: attention with a masked softmax is two products around one kernel and dropout") {
  Policy policy;
  policy.attention.code = AttentionCode::kMaskedSoftmax;
  HabitBench b{policy};
  const auto heads = [&](int64_t rows) {
    return b.machine.resident(DType::kFloat16, {2, 3, rows, 8}, Role::kInput);
  };
  {
    const Value y =
        attention(b.machine, heads(5), heads(7), heads(7), {}, {.causal = true, .dropout = .1});
    CHECK(y.sizes() == Shape{2, 3, 5, 8});
  }
  const Step step = b.machine.finish();
  std::vector<std::string> launched;
  for (const Event& event : step.events) {
    if (event.kind != Event::Kind::kLaunch) continue;
    const Kernel& kernel = step.kernels[event.id];
    launched.emplace_back(kernel.op);
    if (kernel.op == "softmax") CHECK(kernel.written == Dim(2 * (2 * 3 * 5 * 7)));
  }
  CHECK(launched.size() == 4);
  CHECK(std::ranges::count(launched, "softmax") == 1);
  CHECK(std::ranges::count(launched, "dropout") == 1);
}

}  // namespace plimsoll::eager

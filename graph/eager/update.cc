#include "graph/eager/update.h"

#include <array>
#include <span>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Gradients are divided by the scale in place; whether one overflowed is known till the update.
Value unscale(Machine& m, const Value& scale) {
  if (!scale.defined()) return {};
  Value found = fill(m, DType::kFloat32, {});
  const Value inverse = fill(m, DType::kFloat32, {});
  std::vector<Value> gradients;
  for (const auto& leaf : m.leaves()) {
    if (leaf->gradient.defined()) gradients.push_back(leaf->gradient);
  }
  Dim count = 0;
  for (const Value& g : gradients) count += g.count();
  const Value flat = m.host(DType::kFloat32, {count});
  m.launch_over(KernelClass::kPointwise, "unscale", count, gradients, flat);
  return found;
}

// One of PyTorch's foreach kernels over all parameters: tensors read and written.
struct ForeachPass {
  int read, written;
};

// torch/optim/*.py, _multi_tensor_*: each line of an update is a kernel of its own. Measured on an
// H100: 3.3, 8.9, 20.2 and 22.4 times a parameter's bytes for the first four, at the bandwidth of
// other element-wise work (hwdb/calibrations/measured/updates-h100.csv, VGG-16 and ViT).
std::span<const ForeachPass> foreach_passes(Optimizer optimizer) {
  static constexpr ForeachPass kSgd[] = {{2, 1}};
  // mul, add; add
  static constexpr ForeachPass kMomentum[] = {{1, 1}, {2, 1}, {2, 1}};
  // lerp; mul, addcmul; sqrt, div, add; addcdiv
  static constexpr ForeachPass kAdam[] = {{2, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {3, 1}};
  // weight decay; then as Adam
  static constexpr ForeachPass kAdamW[] = {{1, 1}, {2, 1}, {1, 1}, {2, 1},
                                           {1, 1}, {1, 1}, {1, 1}, {3, 1}};
  // mul, addcmul; sqrt, add; addcdiv
  static constexpr ForeachPass kRmsProp[] = {{1, 1}, {2, 1}, {1, 1}, {1, 1}, {3, 1}};
  // addcmul; sqrt, add; mul, addcdiv
  static constexpr ForeachPass kAdagrad[] = {{2, 1}, {1, 1}, {1, 1}, {1, 1}, {3, 1}};
  switch (optimizer) {
    case Optimizer::kSgd:
      return kSgd;
    case Optimizer::kMomentum:
      return kMomentum;
    case Optimizer::kAdam:
      return kAdam;
    case Optimizer::kAdamW:
      return kAdamW;
    case Optimizer::kRmsProp:
      return kRmsProp;
    case Optimizer::kAdagrad:
      return kAdagrad;
  }
  return kSgd;
}

void launch_update(Machine& m) {
  static constexpr std::array<std::string_view, 6> kNames = {"sgd",   "momentum", "adam",
                                                             "adamw", "rmsprop",  "adagrad"};
  Dim parameter_bytes = 0;
  Dim count = 0;
  for (const auto& leaf : m.leaves()) {
    if (!leaf->gradient.defined()) continue;
    parameter_bytes += leaf->leaf.bytes();
    count += leaf->leaf.count();
  }
  const Dim states = state_count(m.recipe().optimizer);
  const auto launch = [&](const Dim& flop, const Dim& read, const Dim& written) {
    m.launch({.kernel_class = KernelClass::kUpdate,
              .pass = Pass::kForward,
              .op = std::string(kNames[static_cast<size_t>(m.recipe().optimizer)]),
              .flop = flop,
              .read = read,
              .written = written,
              .problem = RowsProblem<Dim>{.rows = 1, .columns = count}});
  };
  if (!m.policy().foreach_optimizer) {
    return launch(count * (Dim(2) + Dim(5) * states), parameter_bytes * (Dim(2) + states),
                  parameter_bytes * (Dim(1) + states));
  }
  for (const ForeachPass& pass : foreach_passes(m.recipe().optimizer)) {
    launch(count * Dim(2), parameter_bytes * Dim(pass.read), parameter_bytes * Dim(pass.written));
  }
}

}  // namespace

void update(Machine& m, const Value& scale) {
  const Recipe& recipe = m.recipe();
  m.enter(Phase::kUpdate, kNoNode);
  const auto& leaves = m.leaves();
  const bool adam = recipe.optimizer == Optimizer::kAdam || recipe.optimizer == Optimizer::kAdamW;
  const Value found_overflow = unscale(m, scale);
  std::vector<Value> temporaries;
  const auto add_set = [&] {
    for (const auto& leaf : leaves) {
      if (leaf->gradient.defined()) {
        temporaries.push_back(m.allocate(leaf->leaf.dtype(), leaf->leaf.sizes()));
      }
    }
  };
  if (m.policy().foreach_optimizer && recipe.weight_decay) add_set();
  if (m.policy().foreach_optimizer && (adam || recipe.optimizer == Optimizer::kRmsProp)) add_set();
  launch_update(m);
}

}  // namespace plimsoll::eager

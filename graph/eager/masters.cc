#include "graph/eager/masters.h"

#include <utility>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

TensorType updated_part(const GradNode& leaf) {
  return {leaf.leaf.dtype(), leaf.updated.value_or(leaf.leaf.sizes())};
}

bool copies_masters(const Recipe& recipe) {
  const ParallelPlan& plan = recipe.parallel;
  const bool fsdp = plan.sharded == Sharded::kWeights && plan.sharded_by != ShardedBy::kZero;
  return recipe.precision->master && (!fsdp || plan.master_copies);
}

bool casts_gradients(const Recipe& recipe) {
  return copies_masters(recipe) && !recipe.precision->master_gradients &&
         !buffers_gradients(recipe.parallel);
}

bool updates_flat_arrays(const Recipe& recipe) {
  const ParallelPlan& plan = recipe.parallel;
  const bool states = plan.sharded == Sharded::kStates || plan.sharded == Sharded::kGradients;
  return plan.sharded_by == ShardedBy::kZero && states && !buffers_gradients(plan) &&
         (plan.is_sharded() || copies_masters(recipe));
}

DType kept_type(const Recipe& recipe, DType dtype, bool trained) {
  const bool as_loaded = !trained && quantization_of(recipe.finetune) != nullptr;
  if (as_loaded || copies_masters(recipe)) return dtype;
  return updated_type(recipe, {dtype, {}}).dtype;
}

TensorType updated_type(const Recipe& recipe, const TensorType& parameter) {
  const PrecisionRow& precision = *recipe.precision;
  const bool copied = precision.master && parameter.dtype == precision.storage;
  return {copied ? *precision.master : parameter.dtype, parameter.shape};
}

TensorType gradient_type(const Machine& m, const GradNode& leaf) {
  const bool whole = m.recipe().parallel.sharded < Sharded::kGradients;
  if (whole) return {leaf.leaf.dtype(), leaf.leaf.sizes()};
  return updated_type(m.recipe(), updated_part(leaf));
}

std::vector<Value> cast_gradients(Machine& m) {
  std::vector<Value> gradients;
  std::vector<std::pair<GradNode*, TensorType>> leaves;
  Dim count = 0;
  for (const auto& leaf : m.leaves()) {
    if (!leaf->gradient.defined()) continue;
    gradients.push_back(std::exchange(leaf->gradient, {}));
    leaves.emplace_back(leaf.get(), updated_type(m.recipe(), updated_part(*leaf)));
    count += elements(leaves.back().second.shape);
  }
  const ParallelPlan& plan = m.recipe().parallel;
  if (plan.master_copies) {
    for (size_t i = 0; i < gradients.size(); ++i)
      leaves[i].first->gradient = cast(m, gradients[i], leaves[i].second.dtype);
    return gradients;
  }
  if (plan.sharded_by == ShardedBy::kZero && plan.sharded != Sharded::kNothing) {
    const Value joined = m.allocate(m.recipe().precision->storage, {count});
    m.launch_over(KernelClass::kCopy, "cat", 0, gradients, joined);
    gradients = {joined};
  }
  const Value cast = m.allocate(*m.recipe().precision->master, {count});
  m.launch_over(KernelClass::kCopy, "cast", 0, gradients, cast);
  for (auto& [leaf, type] : leaves)
    leaf->gradient = m.view_of(cast, contiguous_layout(type.dtype, type.shape));
  return gradients;
}

void copy_masters(Machine& m) {
  if (!copies_masters(m.recipe())) return;
  Dim count = 0;
  for (const auto& leaf : m.leaves()) {
    const TensorType type = updated_part(*leaf);
    if (updated_type(m.recipe(), type).dtype != type.dtype) count += elements(type.shape);
  }
  const DType master = *m.recipe().precision->master;
  const DType stored = m.recipe().precision->storage;
  m.launch({.kernel_class = KernelClass::kCopy,
            .dtype = stored,
            .op = "cast",
            .read = bytes(master, count),
            .written = bytes(stored, count),
            .problem = RowsProblem<Dim>{.rows = 1, .columns = count}},
           {}, {});
}

void add_to_masters(Machine& m, std::vector<Value>& masters) {
  const bool first = masters.empty();
  for (const auto& leaf : m.leaves()) {
    const TensorType type = updated_type(m.recipe(), updated_part(*leaf));
    if (first && leaf->gradient.defined() && type.dtype != leaf->gradient.dtype())
      masters.push_back(m.allocate(type.dtype, type.shape));
  }
  std::vector<Value> read;
  Dim count = 0;
  for (const auto& leaf : m.leaves()) {
    if (leaf->gradient.defined()) read.push_back(leaf->gradient);
  }
  for (const Value& master : masters) count += master.count();
  if (!first) read.insert(read.end(), masters.begin(), masters.end());
  m.launch_over(KernelClass::kPointwise, "unscale", count, read,
                m.host(*m.recipe().precision->master, {count}));
}

}  // namespace plimsoll::eager

#include "estimator/settings/acts.h"

#include <algorithm>

#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "graph/ops/op_row.h"
#include "graph/parallel/kept_parts.h"

namespace plimsoll {
namespace {

bool has_kernel(const SettingScope& s, KernelClass of) {
  return std::ranges::any_of(s.model.step.kernels,
                             [&](const Kernel& k) { return k.kernel_class == of; });
}

bool has_operator(const SettingScope& s, uint32_t traits) {
  return std::ranges::any_of(s.model.graph.nodes,
                             [&](const Node& node) { return has(node, traits); });
}

// Batch and instance norms are one kernel of the library, over images.
bool normalises_images(const SettingScope& s) {
  return std::ranges::any_of(s.model.step.kernels, [](const Kernel& k) {
    return k.kernel_class == KernelClass::kNorm && k.op == "batch_norm";
  });
}

}  // namespace

bool trains(const SettingScope& s) { return s.request.recipe.mode != Mode::kInference; }
bool updates(const SettingScope& s) { return s.request.recipe.mode == Mode::kTrain; }
bool published(const SettingScope& s) {
  return !s.request.recipe.published || s.model.meta.optimizer != nullptr;
}

bool convolves(const SettingScope& s) { return has_kernel(s, KernelClass::kConv); }
bool has_images(const SettingScope& s) { return convolves(s) || normalises_images(s); }
bool recurs(const SettingScope& s) { return has_kernel(s, KernelClass::kRecurrent); }
bool attends(const SettingScope& s) { return has_operator(s, OpRow::kAttends); }
bool normalises_rows(const SettingScope& s) {
  return s.request.recipe.precision->autocast &&
         std::ranges::any_of(s.model.step.kernels, [](const Kernel& k) {
           return k.kernel_class == KernelClass::kNorm &&
                  (k.op == "layer_norm" || k.op == "group_norm" || k.op == "rms_norm");
         });
}
bool fuses_attention(const SettingScope& s) {
  return s.platform.framework.policy.attention.memory_efficient;
}

// Its version tells which cuBLAS stands beside it.
bool runs_cudnn(const SettingScope& s) {
  return has_images(s) || recurs(s) || attends(s) || has_kernel(s, KernelClass::kGemm);
}

bool drops(const SettingScope& s) {
  // A ratio that finds no place is said by the pass that looks for one.
  const bool ratio = s.request.recipe.assumed_dropout.has_value();
  return trains(s) && (ratio || has_operator(s, OpRow::kDrops));
}

bool decays_apart(const SettingScope& s) {
  const auto& rules = s.model.recipe.optimizer->rules;
  const bool as_one = std::ranges::all_of(
      rules, [](const UpdateRule& r) { return r.form == UpdateForm::kForeach; });
  if (as_one && !s.model.policy.foreach_optimizer) return false;  // one operator a parameter
  return std::ranges::any_of(rules, [](const UpdateRule& rule) {
    return std::ranges::any_of(
        rule.passes, [](const UpdatePass& p) { return p.when != UpdatePass::When::kAlways; });
  });
}

bool has_link(const SettingScope& s) { return s.platform.link.has_value(); }
bool exchanges(const SettingScope& s) {
  return s.platform.gpu_count > 1 && (trains(s) || s.platform.one_process());
}
bool shards(const SettingScope& s) {
  const ParallelPlan& plan = s.model.recipe.parallel;
  return plan.is_sharded() && (trains(s) || plan.sharded == Sharded::kWeights);
}
bool has_network(const SettingScope& s) { return s.platform.nodes > 1; }
bool has_unknown_host(const SettingScope& s) { return s.request.host == kUnknownHost; }

bool loads_modules(const SettingScope& s) { return !s.request.context_bytes; }
bool knows_loading(const SettingScope& s) {
  return std::ranges::any_of(s.platform.framework.context,
                             [](const ContextRow& row) { return row.loading.has_value(); });
}
bool of_this_card(const SettingScope& s) { return s.platform.machine.has_value(); }

bool knows_loader(const SettingScope& s) {
  if (s.request.loader == LoaderKind::kFiles) return true;  // the range is wider by it
  const FrameworkProfile& f = s.platform.framework;
  const Dispatch* dispatch = s.platform.host.find(f.framework, f.asked);
  return dispatch && dispatch->loader;
}
bool knows_epoch(const SettingScope& s) {
  return s.request.samples > 0 || s.model.meta.samples_per_epoch > 0;
}
bool knows_host_memory(const SettingScope& s) { return s.platform.framework.host_base.value > 0; }

namespace {

// Whether a weight answers so, of those that stage 3 of ZeRO may part.
template <class Is>
bool any_weight(const SettingScope& s, Is is) {
  const ParallelPlan& plan = s.model.recipe.parallel;
  const bool by_zero = plan.sharded == Sharded::kWeights && plan.sharded_by == ShardedBy::kZero;
  if (!shards(s) || !by_zero) return false;
  const Graph& graph = s.model.graph;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool weight = t.kind == TensorKind::kParameter && is_weight(s.model.weight_roles[id]);
    if (weight && t.shape && is(t)) return true;
  }
  return false;
}

}  // namespace

bool gathers_weights(const SettingScope& s) {
  return any_weight(
      s, [&](const Tensor& t) { return parallel::is_gathered(t, s.model.recipe.parallel); });
}

bool parts_other_weights(const SettingScope& s) {
  ParallelPlan otherwise = s.model.recipe.parallel;
  otherwise.zero_fetch.persistent = ZeroFetch{}.persistent;
  return any_weight(s, [&](const Tensor& t) {
    return parallel::is_gathered(t, otherwise) != parallel::is_gathered(t, s.model.recipe.parallel);
  });
}

}  // namespace plimsoll

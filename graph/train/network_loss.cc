#include "graph/train/network_loss.h"

#include <fmt/format.h>

#include <utility>

#include "graph/base/setting.h"
#include "graph/eager/ops.h"
#include "graph/exporter/library_names.h"
#include "graph/parallel/unit_observer.h"

namespace plimsoll {
namespace {

using eager::Machine;
using eager::Value;

// Classes are the last dimension, or the second of images.
size_t class_axis(const Value& v) { return v.rank() >= 4 ? 1 : v.rank() - 1; }

// `split`: of the classes this rank has some.
Value loss_of(Machine& m, const Value& out, const OutputLoss& loss, bool split) {
  switch (loss.kind) {
    case Loss::kCrossEntropy:
      return out.rank() == 0 ? eager::sum_all(m, out)
                             : eager::cross_entropy(m, out, class_axis(out), split);
    case Loss::kMse:
      return eager::mse(m, out, {});
    case Loss::kBce:
      return eager::bce(m, out, {});
    case Loss::kCtc:
      return eager::ctc(m, out);
    case Loss::kCausalLm:
      if (out.rank() < 2) return eager::sum_all(m, out);
      return m.recipe().loss_form == LossForm::kFused && !split
                 ? eager::fused_causal_lm(m, out, loss.narrow)
                 : eager::causal_lm(m, out, split, loss.narrow);
    case Loss::kSum:
      return eager::sum_all(m, out);
    case Loss::kNone:
      return out;
  }
  return {};
}

bool splits_classes(const parallel::TensorSplit& split, TensorId id, const Value& out) {
  const auto part = split.values.find(id);
  return part != split.values.end() && out.rank() > 1 && part->second == class_axis(out) &&
         part->second + 1 == out.rank();
}

// Of hidden states, where the loss runs the last layer.
Value head_loss(Machine& m, Forward& values, const LanguageHead& head,
                const eager::Returned& returned) {
  const Value hidden = std::exchange(values[head.hidden], {});
  const eager::ScoresOf scores_of = [&values](const Value& part) { return values.scores_of(part); };
  const Recipe& recipe = m.recipe();
  if (recipe.loss_form == LossForm::kFusedLinear)
    return eager::fused_linear_causal_lm(m, hidden, values[head.weight], scores_of);
  if (recipe.loss_form == LossForm::kTiledLinear)
    return eager::tiled_linear_causal_lm(m, hidden, values[head.weight]);
  return eager::chunked_causal_lm(m, hidden, scores_of, recipe.loss_chunks,
                                  recipe.loss_form == LossForm::kChunkedLinear, returned);
}

// "past_key_values.0.key": what later steps read is returned, and no loss is taken of it.
bool is_cache(std::string_view name) {
  for (; !name.empty(); name = name.substr(0, name.rfind('.') == name.npos ? 0 : name.rfind('.'))) {
    if (has_role(name, NameRole::kCache)) return true;
  }
  return false;
}

}  // namespace

Result<Value> network_loss(Machine& m, Forward& values, const PlannedNetwork& network,
                           const parallel::TensorSplit& split, const eager::Returned& returned) {
  if (values.head()) {
    const Value loss = head_loss(m, values, *values.head(), returned);
    m.tell(&eager::Observer::end_forward);
    return loss;
  }
  std::vector<OutputLoss> losses = network.losses;
  if (losses.empty()) {
    for (const TensorId id : network.outputs) {
      if (!is_cache(values.graph().tensors[id].name))
        losses.push_back({m.recipe().loss, id, false});
    }
  }
  Value loss;
  for (const OutputLoss& one : losses) {
    const Value& out = values[one.output];
    if (!out.defined() || !out.on_device() || !is_float(out.dtype())) continue;
    const Value term = loss_of(m, out, one, splits_classes(split, one.output, out));
    loss = loss.defined() ? eager::add(m, loss, term) : term;
    if (one.kind == Loss::kNone) break;
  }
  if (loss.defined()) {
    if (parallel::computes_loss(m.recipe())) m.tell(&eager::Observer::end_forward);
    return loss;
  }
  return error("E260", "the graph has no float output to take a loss of", {},
               fmt::format("use {}, or name a model with outputs", setting("mode", "inference")));
}

void take_metrics(Machine& m, Forward& values, const PlannedNetwork& network) {
  if (values.head() || network.outputs.empty()) return;
  const Value scores = values[network.outputs.front()];
  if (!scores.defined() || scores.rank() < 2 || !is_float(scores.dtype())) return;
  const bool had = m.grad_enabled();
  m.set_grad_enabled(false);
  for (int64_t i = 0; i < m.recipe().score_metrics; ++i) eager::score_metric(m, scores);
  m.set_grad_enabled(had);
}

}  // namespace plimsoll

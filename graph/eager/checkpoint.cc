// Activation checkpointing, as the Machine does it: blocks forget what they keep, and run again.
#include <algorithm>
#include <utility>

#include "graph/eager/machine.h"
#include "graph/eager/recompute.h"

namespace plimsoll::eager {

void Machine::begin_region(std::span<const Value> inputs,
                           std::function<void(const Region&)> recompute, bool by_operator) {
  region_ = std::make_shared<Region>();
  region_->recompute = std::move(recompute);
  region_->by_operator = by_operator;
  region_->on_device = region_->next_result = inputs.size();
  region_->inputs = std::make_shared<GradNode>();
  region_->inputs->node = node_;
  for (const Value& in : inputs)
    region_->inputs->kept.push_back({in, "a checkpoint keeps what its block reads"});
  if (activations_) activations_->send(*region_->inputs);
  grad_nodes_.push_back(region_->inputs);
}

// torchtitan, distributed/activation_checkpoint.py: _get_custom_policy(), which counts products
// anew in each pass and keeps the first, the third and so on.
std::vector<Value> Machine::kept_results(bool turns,
                                         const std::function<std::vector<Value>()>& make) {
  Region* region = recomputed_ ? recomputed_ : region_.get();
  if (!region || !region->by_operator || (turns && ++region->products % 2 == 0)) return make();
  std::vector<Kept>& kept = region->inputs->kept;
  if (!recomputed_) {
    std::vector<Value> made = make();
    region->results.push_back(made.size());
    for (const Value& result : made)
      kept.push_back({result.detached(), "a checkpoint by operator keeps this result"});
    return made;
  }
  std::vector<Value> results;
  for (size_t left = region->results[region->next_operator++]; left > 0; --left)
    results.push_back(std::exchange(kept[region->next_result++].value, {}));
  return results;
}

// In forward the node forgets what it keeps, but for its layout; when the block runs again, that is
// put by for it.
void Machine::keep_for_region(GradNode& node, std::span<const Value> inputs,
                              std::span<const Value> outputs) {
  const bool keeps = std::any_of(node.kept.begin(), node.kept.end(), [](const Kept& k) {
    return k.value.defined() && k.value.on_device();
  });
  if (!keeps) return;
  if (recomputed_) {
    if (idle_) return;  // the block has all that it needs
    recomputed_->made.push_back(node.kept);
    if (recomputed_->complete() && !recipe().reentrant) stop_early(node, inputs, outputs);
    return;
  }
  node.region = region_;
  node.place = region_->keepers++;
  for (Kept& k : node.kept) {
    if (k.value.defined()) k.value = {k.value.layout_ref(), nullptr};
  }
}

// Inputs are kept before an operator runs, what it makes after it: where nothing that it makes is
// kept, the last operator of all does not run.
void Machine::stop_early(const GradNode& last, std::span<const Value> inputs,
                         std::span<const Value> outputs) {
  idle_ = true;
  const auto is_read = [&](const Value& v) {
    return std::ranges::any_of(
        inputs, [&](const Value& in) { return in.on_device() && in.storage() == v.storage(); });
  };
  const bool keeps_inputs = std::ranges::all_of(
      last.kept, [&](const Kept& k) { return !k.value.on_device() || is_read(k.value); });
  const bool makes_outputs = std::ranges::all_of(outputs, [&](const Value& out) {
    if (!out.on_device() || is_read(out) || out.storage()->id() == kNoBuffer) return false;
    const Buffer& made = step_.buffers[out.storage()->id()];
    const bool again = out.storage()->id() >= recomputed_->made_from;  // not kept since forward
    return again && made.node == node_ && !made.resident;
  });
  if (!keeps_inputs || !makes_outputs) return;
  BufferId first = kNoBuffer;
  for (const Value& out : outputs) {
    step_.buffers[out.storage()->id()].bytes = 0;
    first = std::min(first, out.storage()->id());
  }
  std::vector<Event>& events = step_.events;
  const auto begin = std::ranges::find_if(events.rbegin(), events.rend(), [&](const Event& e) {
                       return e.kind == Event::Kind::kAllocate && e.id == first;
                     }).base();
  const auto at = static_cast<size_t>(begin - events.begin());
  std::erase_if(accesses_, [&](const Access& a) { return a.event >= at; });
  events.erase(std::remove_if(begin, events.end(),
                              [](const Event& e) { return e.kind == Event::Kind::kLaunch; }),
               events.end());
}

void Machine::give_to_region(std::span<const Value> values) {
  Region* region = recomputed_;
  if (!region || !recipe().reentrant) return;
  region->given.insert(region->given.end(), values.begin(), values.end());
}

void Machine::recompute(Region& region, std::span<const Value> gradients) {
  const NodeId node = node_;
  recomputed_ = &region;
  region.products = 0;
  region.made_from = step_.buffers.size();
  grad_enabled_ = true;
  begin_autocast();
  region.recompute(region);
  give_to_region(gradients);
  end_autocast();
  idle_ = false;
  grad_enabled_ = false;
  recomputed_ = nullptr;
  node_ = node;
  region.is_recomputed = true;
  region.made.resize(region.keepers);
}

}  // namespace plimsoll::eager

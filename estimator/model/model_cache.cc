#include "estimator/model/model_cache.h"

#include <algorithm>

#include "estimator/model/evaluation_pass.h"
#include "estimator/model/model_source.h"
#include "graph/base/try.h"

namespace plimsoll {

Binding binding_at(const CompiledModel& model, const Binding& sizes) {
  Binding binding = model.binding;
  for (const auto& [name, size] : sizes)
    binding[name == "batch" ? model.batch_symbol : name] = size;
  return binding;
}

ModelRequest at_sizes(ModelRequest request, const Binding& sizes) {
  for (const auto& [name, size] : sizes) {
    if (name == "batch") {
      request.batch = size;
    } else {
      request.dims[name] = size;
    }
  }
  return request;
}

ModelRequest of_any_size(ModelRequest request) {
  for (auto& [symbol, size] : request.dims) {
    if (symbol != "batch") size = 1;
  }
  if (request.batch) request.batch = 1;
  return request;
}

Binding sizes_of(const ModelRequest& request) {
  Binding sizes = request.dims;
  if (request.batch) sizes["batch"] = *request.batch;
  return sizes;
}

Result<ModelCache::Entry*> ModelCache::at(const ModelRequest& request, const Recipe& recipe,
                                          const Policy& policy, const Binding& sizes) {
  std::list<Entry>& entries = entries_[request.model];
  const auto known = std::ranges::find_if(entries, [&](const Entry& e) {
    return e.policy == policy && e.recipe == recipe && e.request == request &&
           guards_hold(e.model.step, binding_at(e.model, sizes));
  });
  if (known != entries.end()) return &*known;
  auto compiled = TRY(compiled_at(at_sizes(request, sizes), recipe, policy));
  events_ += compiled.step.events.size();
  return &entries.emplace_front(request, recipe, policy, std::move(compiled));
}

namespace {

Binding with_batch(const ReadyModel& ready, int64_t batch) {
  Binding binding = ready.binding;
  binding[ready.batch_symbol] = batch;
  return binding;
}

// Whether a config's model would be the same of so large a batch, which its graph has as a symbol
// alone.
bool is_same_at(const ReadyModel& ready, int64_t batch) {
  if (ready.from_onnx || ready.recipe.compiled || !ready.binding.contains(ready.batch_symbol))
    return false;
  const Binding binding = with_batch(ready, batch);
  return std::ranges::all_of(ready.decider.guards(), [&](const Guard& guard) {
    const auto value = guard.expression.evaluate(binding);
    const bool holds = value && (guard.kind == Guard::Kind::kZero ? *value == 0 : *value >= 0);
    return holds == guard.holds;
  });
}

void set_batch(ReadyModel& ready, int64_t batch) {
  ready.binding = with_batch(ready, batch);
  ready.decider = Decider(ready.binding, ready.decider.guards());
}

}  // namespace

Result<CompiledModel> ModelCache::compiled_at(const ModelRequest& request, const Recipe& recipe,
                                              const Policy& policy) {
  const Recipe of_graph = graph_recipe(recipe);
  auto known = std::ranges::find_if(ready_, [&](const Ready& r) {
    if (r.policy != policy || r.recipe != of_graph) return false;
    if (r.request == request) return true;
    if (!r.model || !r.request.batch || !request.batch) return false;
    if (request.dims.contains(r.model->batch_symbol)) return false;  // may contradict
    ModelRequest other = request;
    other.batch = r.request.batch;
    return r.request == other && is_same_at(*r.model, *request.batch);
  });
  const auto of = [&](const ReadyModel& whole) -> Result<CompiledModel> {
    ReadyModel part = is_staged(recipe) ? TRY(at_stage(whole, recipe)) : whole;
    if (known->request != request) set_batch(part, *request.batch);
    return compile(std::move(part), recipe);
  };
  if (known != ready_.end() && known->model) return of(*known->model);
  auto loaded = TRY(load(request));
  if (loaded.record || evaluates_between(recipe))
    return compile_with_evaluation(std::move(loaded), request, recipe, policy);
  auto ready = TRY(make_ready(std::move(loaded), request, recipe, policy));
  if (known == ready_.end()) {
    constexpr size_t kMostReady = 6;
    if (ready_.size() == kMostReady) ready_.pop_back();
    known = ready_.insert(ready_.begin(), {request, of_graph, policy});
    if (!is_staged(recipe)) return compile(std::move(ready), recipe);
  }
  known->model = std::move(ready);
  return of(*known->model);
}

Result<LoadedModel> ModelCache::load(const ModelRequest& request) {
  ModelRequest same = request;
  if (loaded_ && loaded_->at_any_batch) same.batch = loaded_->request.batch;
  const bool again = loaded_ && loaded_->request == same;
  if (again && loaded_->model) return *loaded_->model;
  auto model = TRY(load_model(request));
  // A file's loops and shapes are read at its sizes.
  if (!again) loaded_ = Loaded{request, !model.from_onnx && !model.record};
  if (again) loaded_->model = model;
  return model;
}

void ModelCache::clear() {
  entries_.clear();
  events_ = 0;
}

}  // namespace plimsoll

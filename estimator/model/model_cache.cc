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

Result<CompiledModel> ModelCache::compiled_at(const ModelRequest& request, const Recipe& recipe,
                                              const Policy& policy) {
  const Recipe of_graph = graph_recipe(recipe);
  const auto known = std::ranges::find_if(ready_, [&](const Ready& r) {
    return r.policy == policy && r.recipe == of_graph && r.request == request;
  });
  const auto of = [&](const ReadyModel& whole) -> Result<CompiledModel> {
    return compile(is_staged(recipe) ? TRY(at_stage(whole, recipe)) : whole, recipe);
  };
  if (known != ready_.end() && known->model) return of(*known->model);
  auto loaded = TRY(load(request));
  if (loaded.record || evaluates_between(recipe))
    return compile_with_evaluation(std::move(loaded), request, recipe, policy);
  auto ready = TRY(make_ready(std::move(loaded), request, recipe, policy));
  if (known == ready_.end()) {
    constexpr size_t kMostReady = 4;
    if (ready_.size() == kMostReady) ready_.pop_back();
    ready_.push_front({request, of_graph, policy});
    if (!is_staged(recipe)) return compile(std::move(ready), recipe);
    ready_.front().model = std::move(ready);
    return of(*ready_.front().model);
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

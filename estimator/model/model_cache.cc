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
  const ModelRequest here = at_sizes(request, sizes);
  auto loaded = TRY(load(here));
  auto compiled = TRY(compile_with_evaluation(std::move(loaded), here, recipe, policy));
  events_ += compiled.step.events.size();
  return &entries.emplace_front(request, recipe, policy, std::move(compiled));
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

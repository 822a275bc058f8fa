// ModelCache: the models that a search, a sweep or a validation has compiled so far.
//
//   auto entry = cache.at(request, recipe, policy, {{"batch", 64}});
//   const auto bound = (*entry)->step()(binding_at((*entry)->model, {{"batch", 64}}));
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>

#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// Sizes by dimension, of which "batch" is the batch's whatever its symbol is called.
Binding binding_at(const CompiledModel& model, const Binding& sizes);
ModelRequest at_sizes(ModelRequest request, const Binding& sizes);

class ModelCache {
 public:
  struct Entry {
    Entry(const ModelRequest& of, const Recipe& with, const Policy& by, CompiledModel compiled)
        : request(of), recipe(with), policy(by), model(std::move(compiled)) {}
    // For many bindings; its tape is made at the first.
    StepBinder& step() { return binder_ ? *binder_ : binder_.emplace(model.step); }
    // As asked for: a config may say its own loss, and compiling may turn the layout.
    ModelRequest request;
    Recipe recipe;
    Policy policy;
    CompiledModel model;

   private:
    std::optional<StepBinder> binder_;
  };

  // One whose guards hold at `sizes`; compiled there where none is known. Errors of load_model()
  // and compile(). Entries stay where they are until clear().
  Result<Entry*> at(const ModelRequest& request, const Recipe& recipe, const Policy& policy,
                    const Binding& sizes);
  size_t events() const { return events_; }  // of all models: some 300 bytes each, all in all
  void clear();  // of what was compiled: the model as it was read is kept

 private:
  // What was read last; a config is the same at any batch. Its graph is kept where it is asked for
  // again, for another recipe: a large file that is compiled once is in memory once.
  struct Loaded {
    ModelRequest request;
    bool at_any_batch = false;
    std::optional<LoadedModel> model{};
  };
  Result<LoadedModel> load(const ModelRequest& request);
  // What several steps were compiled of, the latest first: of a pipeline, whose stages are cut of
  // one; else of what is asked for again.
  struct Ready {
    ModelRequest request;
    Recipe recipe;  // graph_recipe()
    Policy policy;
    std::optional<ReadyModel> model{};
  };
  Result<CompiledModel> compiled_at(const ModelRequest& request, const Recipe& recipe,
                                    const Policy& policy);

  std::map<std::string, std::list<Entry>> entries_;  // by the model's name, the latest first
  std::optional<Loaded> loaded_;
  std::list<Ready> ready_;
  size_t events_ = 0;
};

}  // namespace plimsoll

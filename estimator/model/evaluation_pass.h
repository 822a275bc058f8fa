// What a program runs between steps of training: the model of the step, forward alone, over batches
// of their own size, with a loss.
#pragma once

#include "estimator/model/compiled_model.h"

namespace plimsoll {

// The recipe of such a pass, of a step's.
Recipe evaluation_of(const Recipe& training);

// Whether a program of this recipe runs such passes.
bool evaluates_between(const Recipe& recipe);

// compile(), and the pass that the recipe evaluates with, whose decisions are the step's too. Where
// the pass cannot be compiled the step is without one, and W249 says why.
Result<CompiledModel> compile_with_evaluation(LoadedModel model, const ModelRequest& request,
                                              const Recipe& recipe, const Policy& policy);

// Sizes of the pass where the step has these.
Binding evaluation_at(const CompiledModel& step, Binding binding);

}  // namespace plimsoll

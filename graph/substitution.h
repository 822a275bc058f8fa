// Substitution: values of some symbols filled into a step, once, where it will be evaluated at many
// points that share them. What an image's size makes of each layer is then a number.
//
//   Binding fixed = model.binding;
//   fixed.erase(model.batch_symbol);
//   const Step step = substitute(model.step, fixed);  // speaks of the batch alone
//
// A substituted Dim evaluates to what the given one does, or fails with the same code. Cost: about
// that of two evaluations.
#pragma once

#include "graph/step.h"

namespace plimsoll {

Dim substitute(const Dim& d, const Binding& fixed);
Step substitute(Step step, const Binding& fixed);

}  // namespace plimsoll

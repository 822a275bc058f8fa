// Whether what a request binds is there in the model: a value that nothing reads would change
// nothing in silence.
#pragma once

#include <set>
#include <string>

#include "estimator/model/loaded_model.h"
#include "estimator/request/request.h"

namespace plimsoll {

struct ModelNames {
  std::set<std::string> dims;   // that may be bound at evaluation
  std::set<std::string> fixed;  // parameters that only --set changes
  bool batch = false, images = false;
};
ModelNames names_of(const LoadedModel& model);
// Of an ONNX graph's inputs.
ModelNames names_of_onnx(const Graph& graph);

// The E113 of check_names().
Result<void> check_sizes(const ModelNames& names, const Request& request);
// E113 for a dimension (--dim, --longest, --lengths, --batch, --image) that the model does not
// have, with the nearest or the flag that would do it; E134 for --set where there are no
// parameters, E112 for --shape, --trip and --branch where there is no ONNX graph.
Result<void> check_names(const LoadedModel& model, const Request& request);

}  // namespace plimsoll

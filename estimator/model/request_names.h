// Whether what a request binds is there in the model: a value that nothing reads would change
// nothing in silence.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "estimator/model/loaded_model.h"
#include "estimator/request/request.h"

namespace plimsoll {

struct ModelNames {
  std::set<std::string> dims;   // that may be bound at evaluation
  std::set<std::string> fixed;  // parameters that shape the model
  bool batch = false, images = false;
};
ModelNames names_of(const LoadedModel& model);
// Of an ONNX graph's inputs.
ModelNames names_of_onnx(const Graph& graph);

// The E113 of check_names().
Result<void> check_sizes(const ModelNames& names, const ModelRequest& request);
// E113 where a setting names a dimension that the model does not have: "vary".
Result<void> check_dimension(const LoadedModel& model, const std::string& name,
                             std::string_view asked_by);
// E113 for a dimension that the model does not have, with the nearest or the setting that would do
// it; E134 for parameters where there are none, E112 for what is an ONNX graph's where there is
// none.
Result<void> check_names(const LoadedModel& model, const ModelRequest& request);

// E118 where a price is assumed of an operator that the model does not have.
Result<void> check_assumed(const LoadedModel& model, const ModelRequest& request);

}  // namespace plimsoll

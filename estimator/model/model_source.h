// Where models come from: an ONNX file, a JSON config, or a built-in. All become networks, a
// schedule and facts about the data.
#pragma once

#include "estimator/model/loaded_model.h"
#include "estimator/request/request.h"

namespace plimsoll {

// E601-E606 for the file, E2xx and E3xx for what is in it, E150 for an unknown built-in, E112, E113
// and E134 for a request that names what the model does not have.
Result<LoadedModel> load_model(const ModelRequest& request);
// The same for names alone: of an ONNX file it has the inputs and no nodes, so that symbols need no
// values.
Result<LoadedModel> load_model_inputs(const ModelRequest& request);

}  // namespace plimsoll

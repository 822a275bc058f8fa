#include "graph/passes/cast.h"

namespace plimsoll {

void cast(Graph& graph, DType to) {
  for (Tensor& tensor : graph.tensors) {
    if (tensor.dtype == DType::kFloat32) tensor.dtype = to;
  }
}

}  // namespace plimsoll

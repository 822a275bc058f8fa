#include "graph/rewrite/inserted_cast.h"

#include <utility>

namespace plimsoll {
namespace {

TensorId insert(Rewrite& rewrite, NodeId before, TensorId value, bool NodeNotes::*way) {
  Node cast = rewrite.beside(before, "", "Cast", {value});
  cast.notes.*way = true;
  cast.attributes.set("to", static_cast<int64_t>(DType::kFloat32));
  Shape shape = *rewrite.tensor(value).shape;
  return rewrite.insert_before(before, std::move(cast), DType::kFloat32, std::move(shape));
}

}  // namespace

TensorId widened(Rewrite& rewrite, NodeId before, TensorId value) {
  return insert(rewrite, before, value, &NodeNotes::widens);
}

TensorId narrowed(Rewrite& rewrite, NodeId before, TensorId value) {
  return insert(rewrite, before, value, &NodeNotes::narrows);
}

}  // namespace plimsoll

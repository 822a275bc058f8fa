#include "graph/rewrite/widen_softmax.h"

#include "graph/rewrite/editor.h"
#include "graph/rewrite/inserted_cast.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

constinit const patterns::Fragment kCastTwice("y = Cast(Cast(s!))"),
    kAnySoftmax("s = Softmax|LogSoftmax(x)");

}  // namespace

size_t widen_softmax(Graph& graph) {
  if (graph.exporter != Exporter::kPyTorch) return 0;
  Rewrite r(graph);
  size_t count = 0;
  const auto nodes = static_cast<NodeId>(r.nodes());
  for (NodeId id = 0; id < nodes; ++id) {
    const auto cast = kCastTwice.at(r, id);
    const auto softmax = cast ? kAnySoftmax.of(r, (*cast)["s"]) : std::nullopt;
    if (!softmax || r.tensor((*cast)["y"]).dtype != DType::kFloat32) continue;
    const TensorId x = (*softmax)["x"];
    if (r.tensor(x).dtype != DType::kFloat32 || !r.tensor(x).shape) continue;
    r.read_instead(softmax->at, x, widened(r, softmax->at, x));
    ++count;
  }
  r.finish();
  return count;
}

}  // namespace plimsoll

#include "graph/passes/recover.h"

#include <algorithm>

#include "graph/passes/fold.h"
#include "graph/passes/patterns.h"

namespace plimsoll {

RecoverReport recover(Graph& graph) {
  fold(graph);
  Rewrite rewrite(graph);
  patterns::Finder finder(rewrite);
  for (const auto pattern : {patterns::padding, patterns::folded_norms, patterns::gathers,
                             patterns::relative_bias, patterns::activations, patterns::norms,
                             patterns::attention, patterns::linear, patterns::recurrent}) {
    pattern(finder);
  }
  const std::vector<NodeId> new_ids = rewrite.finish();
  RecoverReport report{std::move(finder.found)};
  for (Recovered& one : report.found) one.node = new_ids[one.node];
  std::sort(report.found.begin(), report.found.end(),
            [](const Recovered& a, const Recovered& b) { return a.node < b.node; });
  return report;
}

}  // namespace plimsoll

#include "graph/rewrite/recover.h"

#include <algorithm>

#include "graph/rewrite/fold.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll {

void patterns::Finder::copy_for_readers(std::string_view pattern, TensorId value) {
  const std::vector<NodeId> readers = r.readers(value);
  const Node& maker = r.node(r.producer(value));
  Node copy{.op = "Contiguous",
            .domain = "plimsoll",
            .name = maker.name,
            .module = maker.module,
            .attributes = {},
            .inputs = {value},
            .outputs = {}};
  const NodeId at = r.right_after(value);  // the copy is part of the line that made the value
  const DType dtype = r.tensor(value).dtype;
  Shape shape = *r.tensor(value).shape;
  const TensorId copied = r.insert_before(at, std::move(copy), dtype, std::move(shape));
  for (const NodeId reader : readers) r.read_instead(reader, value, copied);
  note(pattern, r.producer(copied), r.deaths());
}

namespace {

// What exporters left behind, and nobody computes: the rows that a bag would look up before its
// loop.
void unread(patterns::Finder& f) { f.r.drop_unread(); }

using Pattern = void (*)(patterns::Finder&);

void apply(Graph& graph, Decider* decider, std::initializer_list<Pattern> all,
           RecoverReport& report) {
  Rewrite rewrite(graph);
  patterns::Finder finder(rewrite, decider);
  for (const Pattern pattern : all) pattern(finder);
  const std::vector<NodeId> new_ids = rewrite.finish();
  report.found.insert(report.found.end(), finder.found.begin(), finder.found.end());
  for (Recovered& one : report.found) {
    if (one.node != kNoNode) one.node = new_ids[one.node];  // it may have become part of another
  }
}

}  // namespace

RecoverReport recover(Graph& graph, Decider* decider) {
  fold(graph);
  RecoverReport report;
  apply(graph, decider,
        {unread,
         patterns::merged_weights,
         patterns::removed_biases,
         patterns::padding,
         patterns::folded_norms,
         patterns::spectral_norms,
         patterns::gathers,
         patterns::relative_bias,
         patterns::lookups,
         patterns::cells,
         patterns::gates,
         patterns::slices,
         patterns::functions,
         patterns::activations,
         patterns::norms,
         patterns::in_place,
         patterns::attention,
         patterns::copies,
         patterns::linear,
         patterns::recurrent},
        report);
  apply(graph, decider, {patterns::merged}, report);
  apply(graph, decider, {patterns::kept_tables}, report);
  apply(graph, decider, {patterns::tables}, report);
  std::sort(report.found.begin(), report.found.end(),
            [](const Recovered& a, const Recovered& b) { return a.node < b.node; });
  return report;
}

}  // namespace plimsoll

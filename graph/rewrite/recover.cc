#include "graph/rewrite/recover.h"

#include <algorithm>

#include "graph/base/cancel.h"
#include "graph/rewrite/fold.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll {

NodeId patterns::Finder::copy_for_readers(TensorId value) {
  const std::vector<NodeId> readers = r.readers(value);
  const NodeId at = r.right_after(value);  // the copy is part of the line that made the value
  const DType dtype = r.tensor(value).dtype;
  Shape shape = *r.tensor(value).shape;
  const TensorId copied = r.insert_before(
      at, r.beside(r.producer(value), "plimsoll", "Contiguous", {value}), dtype, std::move(shape));
  for (const NodeId reader : readers) r.read_instead(reader, value, copied);
  return r.producer(copied);
}

void patterns::unread(Finder& finder) { finder.r.drop_unread(); }

namespace {

// A step of recovery: rows, or a pass where rows cannot say it.
struct Step {
  std::string_view name;
  std::span<const patterns::Pattern> (*rows)() = nullptr;
  void (*pass)(patterns::Finder&) = nullptr;
  bool on_finished = false;  // looks at what all steps before it have made of the graph
  bool guesses = false;      // what a file may say itself (Graph::told)
};

constexpr Step kSteps[] = {
    // What exporters merged, dropped and folded comes back first: layers have their parts again.
    {.name = "unread", .pass = patterns::unread},
    {.name = "merged weights", .pass = patterns::merged_weights},
    {.name = "removed biases", .pass = patterns::removed_biases},
    {.name = "generated biases", .rows = patterns::generated_biases},
    {.name = "padding", .pass = patterns::padding},
    {.name = "folded norms", .rows = patterns::folded_norms},
    {.name = "spectral norms", .pass = patterns::spectral_norms},
    // Tables of positions, before anybody takes what is made of them for arithmetic.
    {.name = "gathers", .rows = patterns::gathers},
    {.name = "assignments", .rows = patterns::assignments},
    {.name = "relative bias", .pass = patterns::relative_bias},
    {.name = "lookups", .pass = patterns::lookups},
    // Cells are made of gates and activations, which are nobody else's then.
    {.name = "cells", .rows = patterns::cells},
    {.name = "gates", .rows = patterns::gates},
    {.name = "slices", .rows = patterns::slices},
    // Functions have products and sigmoids that are no activations of their own.
    {.name = "functions", .rows = patterns::functions},
    {.name = "activations", .rows = patterns::activations},
    // The difference of a layer norm is no other norm's, which people write twice.
    {.name = "layer norms", .rows = patterns::layer_norms},
    {.name = "norms", .rows = patterns::norms},
    // Activations and norms are whole.
    {.name = "in place", .rows = patterns::in_place, .guesses = true},
    // Products of queries and keys are no layers; what transposes their operands copies nothing.
    {.name = "attention", .rows = patterns::attention},
    {.name = "named copies", .rows = patterns::named_copies},
    {.name = "copies", .rows = patterns::copies},
    {.name = "linear", .pass = patterns::linear},
    {.name = "recurrent", .pass = patterns::recurrent},
    // What layers share, once they are layers.
    {.name = "merged", .pass = patterns::merged, .on_finished = true},
    {.name = "kept tables", .pass = patterns::kept_tables, .on_finished = true},
    {.name = "tables", .pass = patterns::tables, .on_finished = true},
};

const patterns::PatternSet& compiled(size_t step) {
  static const std::vector<patterns::PatternSet> kSets = [] {
    std::vector<patterns::PatternSet> sets;
    for (const Step& one : kSteps)
      sets.emplace_back(one.rows ? one.rows() : std::span<const patterns::Pattern>());
    return sets;
  }();
  return kSets[step];
}

// Runs steps up to the next one that wants a finished graph. The one it stopped at.
size_t apply(Graph& graph, Decider* decider, bool joins_attention, size_t step,
             RecoverReport& report) {
  Rewrite rewrite(graph);
  patterns::Finder finder(rewrite, decider, joins_attention);
  do {
    check_cancelled();
    if (kSteps[step].guesses && rewrite.graph().told) continue;
    if (kSteps[step].pass) kSteps[step].pass(finder);
    compiled(step).apply(finder);
  } while (++step < std::size(kSteps) && !kSteps[step].on_finished);
  const std::vector<NodeId> new_ids = rewrite.finish();
  report.found.insert(report.found.end(), finder.found.begin(), finder.found.end());
  report.attention_in_pieces += finder.attention_in_pieces;
  for (Recovered& one : report.found) {
    if (one.node != kNoNode) one.node = new_ids[one.node];  // it may have become part of another
  }
  return step;
}

}  // namespace

RecoverReport recover(Graph& graph, Decider* decider, bool joins_attention) {
  fold(graph);
  RecoverReport report;
  for (size_t step = 0; step < std::size(kSteps);)
    step = apply(graph, decider, joins_attention, step, report);
  std::sort(report.found.begin(), report.found.end(),
            [](const Recovered& a, const Recovered& b) { return a.node < b.node; });
  return report;
}

std::vector<std::span<const patterns::Pattern>> pattern_tables() {
  std::vector<std::span<const patterns::Pattern>> tables;
  for (const Step& step : kSteps) {
    if (step.rows) tables.push_back(step.rows());
  }
  return tables;
}

}  // namespace plimsoll

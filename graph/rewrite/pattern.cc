#include "graph/rewrite/pattern.h"

#include <algorithm>

namespace plimsoll::patterns {
namespace {

Expression compiled(std::string_view text, Diagnostics& errors) {
  auto parsed = Expression::parse(text);
  if (parsed) return std::move(*parsed);
  errors.insert(errors.end(), parsed.error().begin(), parsed.error().end());
  return {};
}

bool is_written_by(const Graph& graph, const Pattern& row) {
  return (!row.exporter || *row.exporter == graph.exporter) && graph.opset <= row.last_opset;
}

}  // namespace

PatternSet::PatternSet(std::span<const Pattern> rows) {
  for (const Pattern& row : rows) {
    rows_.push_back({&row, compiled(row.match, errors_), compiled(row.result, errors_)});
    for (const std::string_view root : rows_.back().match.roots())
      by_root_[root].push_back(rows_.size() - 1);
    if (!row.build && !rows_.back().match.knows(rows_.back().result))
      errors_.push_back({.code = "E290",
                         .message = std::string(row.name) + ": unknown operand",
                         .place = {},
                         .help = {}});
  }
}

void PatternSet::apply(Finder& finder) const {
  std::vector<char> applies;
  for (const Compiled& one : rows_) applies.push_back(is_written_by(finder.r.graph(), *one.row));
  const auto nodes = static_cast<NodeId>(finder.r.nodes());
  for (NodeId id = 0; id < nodes; ++id) {
    if (finder.r.is_removed(id)) continue;
    const auto rows = by_root_.find(finder.r.node(id).op);
    if (rows == by_root_.end()) continue;
    for (const size_t row : rows->second) {
      if (applies[row] && apply_at(finder, id, rows_[row])) break;
    }
  }
}

bool PatternSet::apply_at(Finder& finder, NodeId at, const Compiled& compiled) const {
  const Pattern& row = *compiled.row;
  const auto match = compiled.match.match(finder.r, at, row.when);
  if (!match) return false;
  const size_t before = finder.r.removed_count();
  if (row.build) {
    at = row.build(finder, *match);
    if (at == kNoNode) return false;
  } else {
    Node made = compiled.result.node(*match);
    if (row.set) row.set(*match, made.attributes);
    finder.r.replace(at, made.domain, made.op, std::move(made.inputs)).attributes =
        std::move(made.attributes);
  }
  finder.note(row.name, at, before);
  return true;
}

const Expression& Fragment::expression() const {
  std::call_once(once_, [this] {
    Diagnostics errors;
    expression_ = std::make_unique<Expression>(compiled(text_, errors));
  });
  return *expression_;
}

std::optional<Match> Fragment::at(const Rewrite& r, NodeId node) const {
  return node == kNoNode ? std::nullopt : expression().match(r, node);
}

std::optional<Match> Fragment::of(const Rewrite& r, TensorId tensor) const {
  return at(r, r.producer(tensor));
}

TensorId Fragment::behind(const Rewrite& r, TensorId tensor) const {
  for (TensorId next = in(r, tensor, "x"); next != kNoTensor; next = in(r, tensor, "x"))
    tensor = next;
  return tensor;
}

TensorId Fragment::in(const Rewrite& r, TensorId tensor, std::string_view name) const {
  const auto match = of(r, tensor);
  return match ? (*match)[name] : kNoTensor;
}

}  // namespace plimsoll::patterns

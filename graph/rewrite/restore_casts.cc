#include "graph/rewrite/restore_casts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ir/module_path.h"
#include "graph/rewrite/editor.h"
#include "graph/rewrite/inserted_cast.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

// Nodes that ran one after the other for one line of one call.
struct Line {
  NodeId first, last;
  bool holds(NodeId id) const { return id != kNoNode && id >= first && id <= last; }
};

// What a cast widens: a name, or the argument of a function ("softmax()").
std::vector<std::string_view> widened_by(std::string_view casts) {
  std::vector<std::string_view> names;
  for (const std::string_view cast : parts_between(',', casts)) {
    const size_t to = cast.find('>');
    if (to != cast.npos && cast.substr(to) == ">float") names.push_back(cast.substr(0, to));
  }
  return names;
}

constinit const patterns::Fragment kSoftmax("y = Softmax(_)"), kLogSoftmax("y = LogSoftmax(_)");

bool is_function(const Rewrite& r, NodeId id, std::string_view called) {
  return (called == "softmax()" && kSoftmax.at(r, id)) ||
         (called == "log_softmax()" && kLogSoftmax.at(r, id));
}

// Is its source a tracer's, "<eval_with_key>.7"?
bool is_traced(const NodeNotes& notes) {
  const std::string_view all = notes.statements;
  return all.substr(all.rfind(';') + 1).starts_with("<eval_with_key>");
}

class Restored {
 public:
  explicit Restored(Rewrite& rewrite) : r_(rewrite) {}

  // Of a line of the model's code.
  bool at(const Line& line) {
    const std::string casts = r_.node(line.first).notes.casts;  // nodes move as others come in
    if (!casts.ends_with("()>given")) return false;
    begin(line);
    bool any = false;
    for (const std::string_view name : widened_by(casts)) any = any || widen(line, name);
    if (any) go_back(line);
    return any;
  }

  // Of all that a tracer took out of the model's code, since it switches mixed precision on or off.
  bool at_traced(const Line& region) {
    begin(region);
    for (NodeId id = region.first; id <= region.last; ++id) {
      const std::string casts = r_.node(id).notes.casts;
      for (const std::string_view cast : widened_by(casts)) {
        if (cast.size() != 2 || cast[0] != '#') continue;
        const auto operand = static_cast<size_t>(cast[1] - '1');
        const auto& inputs = r_.node(id).inputs;
        if (operand >= inputs.size() || !is_array(inputs[operand])) continue;
        widen_at(region, id, TensorId(inputs[operand]));
      }
    }
    if (std::find(wide_.begin(), wide_.end(), 1) == wide_.end()) return false;
    for (NodeId id = region.first; id <= region.last; ++id)
      r_.graph().nodes[id].notes.no_autocast = true;
    go_back(region);
    return true;
  }

 private:
  void begin(const Line& line) { wide_.assign(line.last - line.first + 1, 0); }

  bool is_array(TensorId t) const {
    return t != kNoTensor && r_.tensor(t).dtype == DType::kFloat32 && !r_.input_independent(t) &&
           r_.tensor(t).shape && !r_.tensor(t).shape->empty();
  }

  void widen_at(const Line& line, NodeId id, TensorId in) {
    r_.read_instead(id, in, widened(r_, id, in));
    wide_[id - line.first] = 1;
  }

  bool widen(const Line& line, std::string_view name) {
    if (name.ends_with("()")) return widen_function(line, name);
    const TensorId one = only_input(line);
    const bool weight = one != kNoTensor && r_.tensor(one).kind == TensorKind::kParameter;
    if (one == kNoTensor || weight) return false;
    for (const NodeId reader : std::vector<NodeId>(r_.readers(one))) {
      if (line.holds(reader)) widen_at(line, reader, one);
    }
    return true;
  }

  bool widen_function(const Line& line, std::string_view name) {
    bool any = false;
    for (NodeId id = line.first; id <= line.last; ++id) {
      if (r_.is_removed(id) || !is_function(r_, id, name) || !is_array(r_.node(id).inputs[0]))
        continue;
      widen_at(line, id, r_.node(id).inputs[0]);
      any = true;
    }
    return any;
  }

  // The one array that the line reads and does not make; kNoTensor where there are more.
  TensorId only_input(const Line& line) const {
    TensorId one = kNoTensor;
    for (NodeId id = line.first; id <= line.last; ++id) {
      for (const TensorId in : r_.node(id).inputs) {
        if (!is_array(in) || line.holds(r_.producer(in)) || in == one) continue;
        if (one != kNoTensor) return kNoTensor;
        one = in;
      }
    }
    return one;
  }

  // Whoever is not on the line reads it in the type that the line was given.
  void go_back(const Line& line) {
    for (NodeId id = line.first; id <= line.last; ++id) {
      char& wide = wide_[id - line.first];
      for (const TensorId in : r_.node(id).inputs) {
        const NodeId maker = in == kNoTensor ? kNoNode : r_.producer(in);
        if (line.holds(maker)) wide |= wide_[maker - line.first];
      }
      if (!wide) continue;
      for (const TensorId out : std::vector<TensorId>(r_.node(id).outputs)) leave(line, out);
    }
  }

  void leave(const Line& line, TensorId out) {
    if (!is_array(out)) return;
    std::vector<NodeId> outside = r_.readers(out);
    std::erase_if(outside, [&](NodeId reader) { return line.holds(reader); });
    if (outside.empty()) return;
    const NodeId first = *std::min_element(outside.begin(), outside.end());
    const TensorId back = narrowed(r_, first, out);
    for (const NodeId reader : outside) r_.read_instead(reader, out, back);
  }

  Rewrite& r_;
  std::vector<char> wide_;  // nodes of the line that compute in single precision
};

}  // namespace

size_t restore_casts(Graph& graph) {
  Rewrite rewrite(graph);
  Restored restored(rewrite);
  size_t count = 0;
  const auto nodes = static_cast<NodeId>(rewrite.nodes());
  for (NodeId first = 0, last = 0; first < nodes; first = last + 1) {
    const NodeNotes& notes = rewrite.node(first).notes;
    const bool traced = is_traced(notes);
    const auto goes_on = [&](const NodeNotes& next) {
      if (traced) return is_traced(next);
      return next.statements == notes.statements && next.calls == notes.calls;
    };
    last = first;
    if (notes.casts.empty() && !traced) continue;
    while (last + 1 < nodes && goes_on(rewrite.node(last + 1).notes)) ++last;
    const bool any = traced ? restored.at_traced({first, last}) : restored.at({first, last});
    count += any ? 1 : 0;
  }
  rewrite.finish();
  return count;
}

}  // namespace plimsoll

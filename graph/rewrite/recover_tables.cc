// Layers compute tables of positions for themselves at every step: rotary sines (GPT-J, RoFormer),
// relative positions. They depend on nothing that is fed or trained, so that exporters find them
// equal and keep the first layer's. One layer hands no table to the next, only now and then a fill
// (T5's zero bias): each gets its own again.
#include <algorithm>
#include <map>

#include "graph/exporter/weight_roles.h"
#include "graph/ops/input_independent.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constexpr size_t kLongestChain = 64;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "h.0.attn.rotary" and "h.1.attn" -> "h.0.attn": what `of` would be called in the layer of `in`,
// where both lie in layers of one list, and `in` made there what `of` makes here.
bool of_another_layer(std::string_view of, std::string_view in) {
  size_t begin = 0;
  while (true) {
    const std::string_view a = of.substr(begin, of.find('.', begin) - begin);
    const std::string_view b = in.substr(begin, in.find('.', begin) - begin);
    if (a != b) {
      const std::string_view rest_a = of.substr(begin + a.size());
      const std::string_view rest_b = in.substr(begin + b.size());
      const bool inside = rest_a.starts_with(rest_b) &&
                          (rest_a.size() == rest_b.size() || rest_a[rest_b.size()] == '.');
      return is_number(a) && is_number(b) && inside;
    }
    begin += a.size() + 1;
    if (begin > of.size() || begin > in.size()) return false;
  }
}

constinit const Fragment kRange("y = Range(_)");

class Tables {
 public:
  explicit Tables(Finder& finder) : f_(finder), r_(finder.r) {
    const Graph& graph = r_.graph();
    fixed_ = input_independent(graph, untrained(graph, classify_parameters(graph)));
  }

  // The reader gets a table of its own in place of the one of another layer.
  void take_apart(NodeId reader, TensorId table) {
    const std::string module = r_.node(reader).module;
    if (!is_of_another_layer(table, module) || !varies(table)) return;
    for (const NodeId of : chain_behind(table, module)) copy(of, reader, module);
    if (const auto own = copies_.find({table, module}); own != copies_.end())
      r_.read_instead(reader, table, own->second);
  }

 private:
  // An array of the device that depends on no data and no weight.
  bool is_table(TensorId t) const {
    return t != kNoTensor && r_.producer(t) != kNoNode && fixed_[t] && !r_.tensor(t).has_dims &&
           !r_.is_host_number(t);
  }
  bool is_of_another_layer(TensorId t, std::string_view module) const {
    return is_table(t) && of_another_layer(r_.node(r_.producer(t)).module, module);
  }

  // Is there more in it than one number over and over: positions, or an array of the file?
  bool varies(TensorId table) const {
    std::vector<TensorId> pending{table};
    for (size_t visited = 0; !pending.empty() && visited < kLongestChain; ++visited) {
      const TensorId t = pending.back();
      pending.pop_back();
      if (t == kNoTensor || r_.tensor(t).has_dims || r_.is_host_number(t)) continue;
      const NodeId maker = r_.producer(t);
      if (maker == kNoNode || kRange.at(r_, maker)) return true;
      const auto& inputs = r_.node(maker).inputs;
      pending.insert(pending.end(), inputs.begin(), inputs.end());
    }
    return false;
  }

  // The nodes of the other layer that make `t`, first to last; none where they are many.
  std::vector<NodeId> chain_behind(TensorId t, std::string_view module) const {
    std::vector<NodeId> chain{r_.producer(t)};
    for (size_t i = 0; i < chain.size(); ++i) {
      if (chain.size() > kLongestChain) return {};
      for (const TensorId in : r_.node(chain[i]).inputs) {
        if (!is_of_another_layer(in, module)) continue;
        const NodeId maker = r_.producer(in);
        if (std::find(chain.begin(), chain.end(), maker) == chain.end()) chain.push_back(maker);
      }
    }
    std::sort(chain.begin(), chain.end());
    return chain;
  }

  void copy(NodeId of, NodeId reader, const std::string& module) {
    const std::vector<TensorId> outputs = r_.node(of).outputs;
    const bool done = std::any_of(outputs.begin(), outputs.end(), [&](TensorId out) {
      return out != kNoTensor && copies_.count({out, module});
    });
    if (done) return;
    const NodeId copy = r_.copy_before(reader, of);
    for (const TensorId in : r_.node(of).inputs) {
      if (const auto own = copies_.find({in, module}); own != copies_.end())
        r_.read_instead(copy, in, own->second);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kNoTensor) copies_[{outputs[i], module}] = r_.node(copy).outputs[i];
    }
    f_.note("table of each layer", copy, r_.removed_count());
  }

  Finder& f_;
  Rewrite& r_;
  std::vector<char> fixed_;
  std::map<std::pair<TensorId, std::string>, TensorId> copies_;  // of a table, for a module
};

}  // namespace

void tables(Finder& f) {
  Tables all(f);
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    const std::vector<TensorId> inputs = f.r.node(id).inputs;
    for (const TensorId in : inputs) all.take_apart(id, in);
  }
}

}  // namespace plimsoll::patterns

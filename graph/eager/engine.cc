// The autograd engine: which node runs when, and what is alive while it does.
//
// Ready nodes run by highest sequence number, gradient accumulation before all else. A node's
// outputs exist while its incoming gradients and saved tensors do; then those are released; then
// outputs are handed on, and where a gradient waits already the two are summed.
#include <algorithm>
#include <queue>
#include <utility>

#include "graph/base/cancel.h"
#include "graph/eager/machine.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// A weight, seen or cast as an operator reads it.
bool of_weights(const Edge& edge) {
  if (!edge.node) return false;
  if (edge.node->is_leaf) return !edge.node->received;
  return edge.node->kept.empty() && !edge.node->edges.empty() &&
         std::ranges::all_of(edge.node->edges, of_weights);
}
bool of_others(const Edge& edge) { return edge.node && !of_weights(edge); }
bool of_none(const Edge& /*edge*/) { return false; }

bool has_weights(const GradNode& node) { return std::ranges::any_of(node.edges, of_weights); }

// Some of a node's inputs want no gradient while it lives.
class EdgesOff {
 public:
  EdgesOff(const GradNode& node, bool (*which)(const Edge&)) {
    for (const Edge& edge : node.edges) {
      if (!edge.node || edge.node->grad_disabled) continue;
      if (which(edge)) {
        off_.push_back(edge.node);
      } else {
        left_ = true;
      }
    }
    for (const GradNodeRef& input : off_) input->grad_disabled = true;
  }
  ~EdgesOff() {
    for (const GradNodeRef& input : off_) input->grad_disabled = false;
  }
  EdgesOff(const EdgesOff&) = delete;
  EdgesOff& operator=(const EdgesOff&) = delete;
  bool left() const { return left_; }  // some still want one

 private:
  std::vector<GradNodeRef> off_;
  bool left_ = false;
};

}  // namespace

struct Engine {
  struct Pending {
    GradNode* node = nullptr;
    int waiting = 0;
    Gradients gradients{};
  };
  struct Later {
    bool operator()(const GradNodeRef& a, const GradNodeRef& b) const {
      return a->sequence < b->sequence;
    }
  };

  Machine& m;
  std::vector<Value>* held = nullptr;
  Machine::PutOff* put_off = nullptr;
  std::vector<GradNodeRef> disabled{};  // inner nodes, for this pass only
  std::vector<Pending> pending{};       // by the nodes' places in this pass
  std::priority_queue<GradNodeRef, std::vector<GradNodeRef>, Later> ready{};

  Pending& of(const GradNode& node) { return pending[node.place_in_pass]; }

  // Gives the node a place, where it has none in this pass.
  void enter(GradNode& node) {
    const bool known =
        node.place_in_pass < pending.size() && pending[node.place_in_pass].node == &node;
    if (known) return;
    node.place_in_pass = pending.size();
    pending.push_back({&node});
  }

  void count_uses(const std::vector<GradNodeRef>& roots) {
    for (const auto& root : roots) enter(*root);
    for (size_t i = 0; i < pending.size(); ++i) {
      check_cancelled();
      for (const Edge& edge : pending[i].node->edges) {
        if (!edge.node) continue;
        enter(*edge.node);
        ++of(*edge.node).waiting;
      }
    }
  }

  // Nodes that lead to disabled leaves alone need not run. Inputs' nodes are older than their
  // users'.
  void disable_dead_ends() {
    std::vector<GradNode*> inner;
    bool any_disabled = false;
    for (const Pending& p : pending) {
      any_disabled = any_disabled || p.node->grad_disabled;
      if (!p.node->is_leaf) inner.push_back(p.node);
    }
    if (!any_disabled) return;
    std::sort(inner.begin(), inner.end(),
              [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
    for (GradNode* node : inner) {
      check_cancelled();
      node->grad_disabled = std::none_of(node->edges.begin(), node->edges.end(), [](const Edge& e) {
        return e.node && !e.node->grad_disabled;
      });
      if (node->grad_disabled) disabled.push_back(node->shared_from_this());
    }
  }

  void deliver(const GradNodeRef& node, uint32_t output, Value gradient) {
    Gradients& slots = of(*node).gradients;
    if (slots.size() < node->outputs) slots.resize(node->outputs);
    Value& slot = slots[output];
    slot = slot.defined() ? m.sum(std::move(slot), gradient) : std::move(gradient);
  }

  void unpack(GradNode& node, const Gradients& incoming) {
    if (!node.region->is_recomputed) {
      if (m.activations_) m.activations_->bring(*node.region->inputs);
      m.recompute(*node.region, incoming);
      if (m.activations_) node.region->inputs->kept.clear();  // only what its nodes keep is held
    }
    node.kept = std::move(node.region->made[node.place]);
  }

  void run(const GradNodeRef& node) {
    check_cancelled();
    Gradients incoming = std::move(of(*node).gradients);
    incoming.resize(node->outputs);
    if (node->is_leaf) {
      if (node->grad_disabled) return;
      m.accumulate(*node, std::move(incoming[0]));
      return;
    }
    m.node_ = node->node;
    m.tell(&Observer::before_backward_of, node->node);
    m.tell(&Observer::before_backward_with, *node, incoming);
    const bool any =
        std::any_of(incoming.begin(), incoming.end(), [](const Value& v) { return v.defined(); });
    Gradients outgoing;
    const bool waits = put_off != nullptr && any && has_weights(*node);
    if (any && node->backward && !node->grad_disabled) {
      if (node->region) unpack(*node, incoming);
      if (!node->away.empty()) m.activations_->bring(*node);
      const EdgesOff off(*node, waits ? of_weights : of_none);
      if (off.left()) outgoing = node->backward(m, incoming, *node);
    }
    outgoing.resize(node->edges.size());
    for (size_t i = 0; i < outgoing.size(); ++i) {
      if (outgoing[i].defined() && node->edges[i].node) {
        const Layout& input = *node->edges[i].input;
        outgoing[i] = cast(m, sum_to(m, outgoing[i], input.sizes), input.dtype);
      }
    }
    if (waits) {
      put_off->emplace_back(node, std::move(incoming));
    } else if (held) {
      for (Value& gradient : incoming) {
        if (gradient.defined()) held->push_back(std::move(gradient));
      }
    } else {
      // A block that ran again had nodes of its own, which are gone.
      const bool again = node->region != nullptr;
      std::erase_if(node->kept, [&](const Kept& kept) { return again || !kept.with_node; });
      node->region.reset();
    }
    if (m.activations_) m.activations_->has_run();
    incoming.clear();
    for (size_t i = 0; i < outgoing.size(); ++i) {
      const Edge& edge = node->edges[i];
      if (!edge.node) continue;
      if (outgoing[i].defined()) deliver(edge.node, edge.output, std::move(outgoing[i]));
      if (--of(*edge.node).waiting == 0) ready.push(edge.node);
    }
  }

  // What run() put off.
  void run_weights(GradNode& node, Gradients incoming) {
    m.node_ = node.node;
    Gradients outgoing;
    {
      const EdgesOff off(node, of_others);
      outgoing = node.backward(m, incoming, node);
    }
    incoming.clear();
    node.kept.clear();
    node.region.reset();
    for (size_t i = 0; i < std::min(outgoing.size(), node.edges.size()); ++i) {
      const Edge& edge = node.edges[i];
      if (!outgoing[i].defined() || !of_weights(edge)) continue;
      Value gradient =
          cast(m, sum_to(m, std::exchange(outgoing[i], {}), edge.input->sizes), edge.input->dtype);
      if (edge.node->is_leaf) {
        m.accumulate(*edge.node, std::move(gradient));
        continue;
      }
      Gradients next(edge.node->outputs);
      next[edge.output] = std::move(gradient);
      run_weights(*edge.node, std::move(next));
    }
  }
};

void Machine::backward(std::span<const Value> roots, std::span<const Value> gradients,
                       std::vector<Value>* held, PutOff* put_off) {
  const bool had_grad = grad_enabled_;
  grad_enabled_ = false;
  Engine engine{*this, held, put_off};
  std::vector<GradNodeRef> nodes;
  for (const Value& root : roots) {
    if (root.requires_grad()) nodes.push_back(root.grad());
  }
  engine.count_uses(nodes);
  engine.disable_dead_ends();
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].requires_grad()) continue;
    engine.deliver(roots[i].grad(), roots[i].grad_output(), gradients[i]);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const auto& node : nodes) {
    if (engine.of(*node).waiting == 0) engine.ready.push(node);
  }
  nodes.clear();
  while (!engine.ready.empty()) {
    const GradNodeRef node = engine.ready.top();
    engine.ready.pop();
    engine.run(node);
  }
  if (activations_) activations_->end_backward();
  for (const auto& node : engine.disabled) node->grad_disabled = false;
  grad_enabled_ = had_grad;
}

void Machine::finish_backward(PutOff put_off) {
  const bool had_grad = grad_enabled_;
  grad_enabled_ = false;
  for (auto& [node, gradients] : put_off) {
    check_cancelled();
    Engine{*this}.run_weights(*node, std::exchange(gradients, {}));
    node.reset();
  }
  grad_enabled_ = had_grad;
}

// In place where the older gradient is dense and nobody else holds it, else into a new tensor while
// both live.
Value Machine::sum(Value older, const Value& newer) {
  const bool sole = older.storage() && older.storage().use_count() == 1;
  if (policy_.sums_in_place && sole && is_dense(older.layout(), decider_)) {
    launch_rows(KernelClass::kPointwise, "add", older.count(), {&older, &newer}, {&older});
    return older;
  }
  const Value parts[] = {older.detached(), newer.detached()};
  return elementwise(*this, "add", parts, older.dtype());
}

void Machine::become_gradient(const Value& value) {
  const BufferId id = value.storage()->id();
  if (step_.buffers[id].resident) return;
  write(Event::Kind::kBecomeGradient, id);
}

void Machine::accumulate(GradNode& leaf, Value gradient) {
  if (!gradient.defined() || !gradient.on_device()) return;
  leaf.reached = true;
  add_gradient(leaf, std::move(gradient));
  tell(&Observer::gradient_ready, leaf);
}

// The first gradient is taken over where its layout is the parameter's (else cloned), later ones
// are added into it.
void Machine::add_gradient(GradNode& leaf, Value gradient) {
  if (leaf.gradient.defined()) {
    Buffer& made = step_.buffers[gradient.storage()->id()];
    if (policy_.gradients_in_place && made.node == node_) {
      made.bytes = 0;  // it lies in the older one
      return;
    }
    launch_rows(KernelClass::kPointwise, "add", gradient.count(), {&leaf.gradient, &gradient},
                {&leaf.gradient});
    return;
  }
  const bool same_layout = gradient.contiguous() == leaf.leaf.contiguous();
  if (!same_layout) gradient = eager::contiguous(*this, gradient);
  // Of a whole one that is to be scattered the part that stays is the gradient.
  const bool stays =
      !leaf.received && (!leaf.updated || recipe_.parallel.sharded < Sharded::kGradients);
  if (stays) become_gradient(gradient);
  leaf.gradient = gradient.detached();
}

}  // namespace plimsoll::eager

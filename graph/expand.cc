#include "graph/expand.h"

#include <algorithm>
#include <array>

#include "graph/eager/ops.h"
#include "graph/lifetimes.h"
#include "graph/ops/lower.h"

namespace plimsoll {

int state_count(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
    case Optimizer::kRmsProp:
    case Optimizer::kAdagrad:
      return 1;
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      return 2;
  }
  return 0;
}

std::string_view name(Loss loss) {
  static constexpr std::array<std::string_view, 6> kNames = {"cross_entropy", "mse", "bce",
                                                             "sum",           "ctc", "none"};
  return kNames[static_cast<size_t>(loss)];
}

std::string_view name(Phase phase) {
  static constexpr std::array<std::string_view, kPhaseCount> kNames = {"forward", "loss",
                                                                       "backward", "update"};
  return kNames[static_cast<size_t>(phase)];
}

std::string_view name(Role role) {
  static constexpr std::array<std::string_view, kRoleCount> kNames = {
      "parameter",   "buffer",    "gradient",  "optimizer_state", "input",
      "feature_map", "temporary", "workspace", "context"};
  return kNames[static_cast<size_t>(role)];
}

namespace {

using eager::Machine;
using eager::Value;

class Expander {
 public:
  Expander(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe, const Policy& policy,
           Decider& decider)
      : graph_(graph), plan_(plan), recipe_(recipe), machine_(recipe, policy, decider) {}

  Result<Expansion> run() {
    kinds_ = classify_parameters(graph_);
    machine_.set_grad_enabled(recipe_.mode != Mode::kInference);
    make_residents();
    for (const PlannedPhase& phase : plan_.phases) {
      for (int64_t i = 0; i < phase.repeat; ++i) {
        if (auto done = run_phase(phase); !done) return tl::make_unexpected(done.error());
      }
    }
    for (const auto& leaf : machine_.leaves()) leaf->gradient = {};
    held_.clear();
    values_.clear();
    Step step = machine_.finish();
    return Expansion{std::move(step), std::move(kinds_)};
  }

 private:
  using Networks = std::vector<const PlannedNetwork*>;

  Result<void> run_phase(const PlannedPhase& phase) {
    const PlannedNetwork& trained = plan_.networks[phase.trained];
    if (plan_.networks.size() > 1) begin_phase(trained);
    const std::vector<Value> made = run_ahead(phase);
    Networks chain{&trained};
    for (const size_t behind : phase.through) chain.push_back(&plan_.networks[behind]);
    const bool training = recipe_.mode != Mode::kInference;
    const int64_t passes = training ? phase.passes * recipe_.accumulate : 1;
    for (int64_t pass = 0; pass < passes; ++pass) {
      // The first pass is over what the loader brings, the next over what other networks made.
      if (pass == 1) feed(trained, made);
      const bool last = pass + 1 == passes && !phase.gradient_penalty;
      if (auto done = pass_once(chain, last); !done) return done;
    }
    if (phase.gradient_penalty && training) penalize(trained);
    if (recipe_.mode == Mode::kTrain) update();
    if (plan_.networks.size() > 1) end_phase();
    return {};
  }

  // Only the trained network's weights want gradients, which begin anew.
  void begin_phase(const PlannedNetwork& trained) {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (values_[id].requires_grad()) own_[id] = values_[id].grad();
      if (!own_[id]) continue;
      values_[id] = values_[id].detached();
      own_[id]->gradient = {};
    }
    for (NodeId node = trained.first; node < trained.last; ++node) {
      for (const TensorId in : graph_.nodes[node].inputs) {
        if (in != kNoTensor && own_[in]) values_[in].set_grad(own_[in], 0);
      }
    }
  }

  void end_phase() {
    held_.clear();
    release_values();
    for (const PlannedNetwork& network : plan_.networks) {
      for (const TensorId in : network.inputs) values_[in] = fed_[in];
    }
  }

  // The networks before the trained one, without gradients, and what the last of them makes.
  std::vector<Value> run_ahead(const PlannedPhase& phase) {
    std::vector<Value> made;
    if (phase.forward_only.empty()) return made;
    const bool had_grad = machine_.grad_enabled();
    machine_.set_grad_enabled(false);
    Networks ahead;
    for (const size_t index : phase.forward_only) ahead.push_back(&plan_.networks[index]);
    run_forward(ahead);
    for (const TensorId out : ahead.back()->outputs) made.push_back(values_[out]);
    release_values();
    machine_.set_grad_enabled(had_grad);
    return made;
  }

  // What one network made becomes another's first inputs.
  void feed(const PlannedNetwork& network, const std::vector<Value>& made) {
    for (size_t i = 0; i < std::min(made.size(), network.inputs.size()); ++i) {
      values_[network.inputs[i]] = made[i];
    }
  }

  void run_forward(const Networks& chain) {
    for (size_t i = 0; i < chain.size(); ++i) {
      for (NodeId id = chain[i]->first; id < chain[i]->last; ++id) execute(id);
      if (i + 1 == chain.size()) break;
      std::vector<Value> made;
      for (const TensorId out : chain[i]->outputs) made.push_back(values_[out]);
      feed(*chain[i + 1], made);
    }
  }

  // Gulrajani et al., arXiv:1704.00028, algorithm 1: the gradient of the network's output by its
  // input, at points between real and made ones, is kept differentiable; its distance from norm 1
  // is a loss, whose backward pass goes once more through that gradient and the forward pass. The
  // second derivative of a convolution costs what its first does; those of ReLUs vanish.
  void penalize(const PlannedNetwork& network) {
    machine_.enter(Phase::kForward, kNoNode);
    release_values();
    const TensorId input = network.inputs.front();
    const Value parts[] = {fed_[input], values_[input].detached()};
    Value between = eager::elementwise(machine_, "interpolate", parts, parts[0].dtype(), 3);
    const eager::GradNodeRef leaf = machine_.require_gradient(between);
    values_[input] = between;
    run_forward({&network});
    machine_.mark_end_of_forward();
    const Value& out = values_[network.outputs.front()];
    machine_.enter(Phase::kBackward, kNoNode);
    std::vector<Value> kept;
    mute(true);
    backward_from(out, &kept);
    mute(false);
    leaf->muted = true;
    if (leaf->gradient.defined()) {
      const Value norm = eager::sum_all(machine_, leaf->gradient);
      const Value back[] = {leaf->gradient, norm};
      kept.push_back(eager::elementwise(machine_, "norm_backward", back, between.dtype(), 2));
    }
    backward_from(out, nullptr);
    leaf->gradient = {};
    held_.push_back(out);
  }

  void mute(bool muted) {
    for (const auto& leaf : machine_.leaves()) leaf->muted = muted;
  }

  void backward_from(const Value& root, std::vector<Value>* kept) {
    const Value roots[] = {root};
    const Value gradients[] = {eager::fill(machine_, root.dtype(), root.sizes())};
    machine_.backward(roots, gradients, kept);
  }

  void make_residents() {
    values_.resize(graph_.tensors.size());
    own_.resize(graph_.tensors.size());
    fed_.resize(graph_.tensors.size());
    find_data();
    const auto make = [&](ParameterKind kind, auto&& creator) {
      for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
        const Tensor& t = graph_.tensors[id];
        if (t.kind != TensorKind::kParameter || kinds_[id] != kind || !t.shape) continue;
        values_[id] = creator(id);
      }
    };
    make(ParameterKind::kTrained,
         [&](TensorId id) { return machine_.parameter(dtype(id), shape(id)); });
    make(ParameterKind::kBuffer,
         [&](TensorId id) { return machine_.resident(dtype(id), shape(id), Role::kBuffer); });
    make(ParameterKind::kConstant, [&](TensorId id) { return constant(id); });
    for (const Node& node : graph_.nodes) {
      // The count of batches that a norm has seen: eight bytes that no file carries.
      if (node.op == "BatchNormalization") machine_.resident(DType::kInt64, {}, Role::kBuffer);
    }
    for (const TensorId id : graph_.inputs) {
      const Tensor& t = graph_.tensors[id];
      if (t.shape) fed_[id] = values_[id] = machine_.resident(t.dtype, *t.shape, Role::kInput);
    }
    if (recipe_.mode != Mode::kTrain) return;
    const auto leaves = machine_.leaves();
    for (int i = 0; i < state_count(recipe_.optimizer); ++i) {
      for (const auto& leaf : leaves) {
        machine_.resident(leaf->leaf.dtype(), leaf->leaf.sizes(), Role::kOptimizerState);
      }
    }
    if (recipe_.zero_grad == ZeroGrad::kKeep) {
      for (const auto& leaf : leaves) {
        leaf->gradient = machine_.resident(leaf->leaf.dtype(), leaf->leaf.sizes(), Role::kGradient);
      }
    }
  }

  // A single number is the host's; so are arrays that only say shapes and axes.
  Value constant(TensorId id) {
    const Tensor& t = graph_.tensors[id];
    if (elements(*t.shape) == Dim(1) || !read_as_data_[id]) return machine_.host(t.dtype, *t.shape);
    return machine_.resident(t.dtype, *t.shape, Role::kBuffer);
  }

  void find_data() {
    is_read_.assign(graph_.tensors.size(), false);
    std::vector<TensorId> returned = graph_.outputs;
    for (const PlannedNetwork& network : plan_.networks) {
      returned.insert(returned.end(), network.outputs.begin(), network.outputs.end());
    }
    for (const TensorId out : returned) is_read_[out] = true;
    let_go_ = values_let_go(graph_, returned);
    read_as_data_.assign(graph_.tensors.size(), false);
    for (const Node& node : graph_.nodes) {
      for (const TensorId in : node.inputs) {
        if (in != kNoTensor) is_read_[in] = true;
      }
      const size_t last = std::min(node.inputs.size(), host_from(node));
      for (size_t i = 0; i < last; ++i) {
        if (node.inputs[i] != kNoTensor) read_as_data_[node.inputs[i]] = true;
      }
    }
  }

  static size_t host_from(const Node& node) {
    const OpRow* row = find_op(node.domain, node.op);
    return row ? row->host_from : node.inputs.size();
  }

  Result<void> pass_once(const Networks& chain, bool last) {
    run_forward(chain);
    if (recipe_.mode == Mode::kInference) {
      machine_.mark_end_of_forward();
      return {};
    }
    Value loss;
    machine_.enter(Phase::kLoss, kNoNode);
    if (auto made = compute_loss(*chain.back(), loss); !made) return made;
    machine_.mark_end_of_forward();
    machine_.enter(Phase::kBackward, kNoNode);
    if (loss.defined()) backward_from(loss, nullptr);
    if (!last) {
      machine_.enter(Phase::kForward, kNoNode);
      release_values();
    } else {
      held_.push_back(loss);
    }
    return {};
  }

  void release_values() {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].kind == TensorKind::kValue) values_[id] = {};
    }
  }

  DType dtype(TensorId id) const { return graph_.tensors[id].dtype; }
  const Shape& shape(TensorId id) const { return *graph_.tensors[id].shape; }

  // What a node reads. Arrays of the host go to the device the first time that data there meets
  // them, and stay as long as they are read.
  std::vector<Value> read_inputs(const Node& node, size_t host_from, bool& on_device) {
    const size_t data = std::min(node.inputs.size(), host_from);
    on_device = host_from == 0;
    for (size_t i = 0; i < data; ++i) {
      const TensorId in = node.inputs[i];
      on_device = on_device || (in != kNoTensor && values_[in].on_device());
    }
    std::vector<Value> inputs;
    inputs.reserve(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId in = node.inputs[i];
      if (in == kNoTensor) {
        inputs.emplace_back();
        continue;
      }
      Value& value = values_[in];
      if (!value.defined() && graph_.tensors[in].shape) {
        value = machine_.host(dtype(in), shape(in));
      }
      const bool array = value.defined() && !value.on_device() && value.count() != Dim(1);
      if (on_device && i < data && array) value = eager::fill(machine_, dtype(in), shape(in));
      inputs.push_back(value);
    }
    return inputs;
  }

  void execute(NodeId id) {
    machine_.enter(Phase::kForward, id);
    const Node& node = graph_.nodes[id];
    const OpRow* row = find_op(node.domain, node.op);
    bool on_device = false;
    std::vector<Value> inputs =
        read_inputs(node, row ? row->host_from : node.inputs.size(), on_device);
    std::vector<Value> outputs;
    if (on_device && !is_host_arithmetic(node)) {
      eager::Lowering lowering(machine_, graph_, id, std::move(inputs));
      outputs = row && row->lower ? row->lower(lowering) : assumed(lowering);
    }
    inputs.clear();
    outputs.resize(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId out = node.outputs[i];
      if (out == kNoTensor) continue;
      const Tensor& t = graph_.tensors[out];
      if (!outputs[i].defined() && t.shape) outputs[i] = machine_.host(t.dtype, *t.shape);
      if (is_read_[out]) values_[out] = std::move(outputs[i]);
    }
    outputs.clear();
    for (const TensorId done : let_go_[id]) values_[done] = {};
  }

  // Integers that shapes are made of are computed by the host.
  bool is_host_arithmetic(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId out) {
      return out == kNoTensor ||
             (graph_.tensors[out].has_dims && !is_float(graph_.tensors[out].dtype));
    });
  }

  // An operator without a lowering that the user chose to assume: element-wise, keeping its input.
  static std::vector<Value> assumed(eager::Lowering& l) {
    std::vector<Value> outputs;
    for (size_t i = 0; i < l.node().outputs.size(); ++i) {
      Value y = l.m.allocate(l.out_dtype(i), l.out_shape(i));
      l.m.launch_over(KernelClass::kPointwise, "assumed", y.count(), l.inputs(), y);
      if (i == 0 && l.has(0)) {
        const Value inputs[] = {l.in(0)};
        l.m.record(y, inputs, {{l.in(0), "an assumed operator keeps its input"}},
                   [](Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
                     const eager::Layout& before = *n.edges[0].input;
                     Value dx = m.allocate(before.dtype, before.sizes);
                     m.launch_rows(KernelClass::kPointwise, "assumed", dx.count(), {&g[0]}, {&dx});
                     return eager::Gradients{dx};
                   });
      }
      outputs.push_back(std::move(y));
    }
    return outputs;
  }

  // Classes are the last dimension, or the second of images.
  static size_t class_axis(const Value& v) { return v.rank() >= 4 ? 1 : v.rank() - 1; }

  Value loss_of(const Value& out, Loss loss) {
    switch (loss) {
      case Loss::kCrossEntropy:
        return out.rank() == 0 ? eager::sum_all(machine_, out)
                               : eager::cross_entropy(machine_, out, class_axis(out));
      case Loss::kMse:
        return eager::mse(machine_, out, {});
      case Loss::kBce:
        return eager::bce(machine_, out, {});
      case Loss::kCtc:
        return eager::ctc(machine_, out);
      case Loss::kSum:
        return eager::sum_all(machine_, out);
      case Loss::kNone:
        return out;
    }
    return {};
  }

  // A network's own losses, else the recipe's on each float output.
  Result<void> compute_loss(const PlannedNetwork& network, Value& loss) {
    std::vector<OutputLoss> losses = network.losses;
    if (losses.empty()) {
      for (const TensorId id : network.outputs) losses.push_back({recipe_.loss, id});
    }
    for (const auto& [kind, id] : losses) {
      const Value& out = values_[id];
      if (!out.defined() || !out.on_device() || !is_float(out.dtype())) continue;
      const Value term = loss_of(out, kind);
      loss = loss.defined() ? eager::add(machine_, loss, term) : term;
      if (kind == Loss::kNone) break;
    }
    if (loss.defined()) return {};
    return error("E260", "the graph has no float output to take a loss of", {},
                 "use --mode inference, or name a model with outputs");
  }

  void update() {
    machine_.enter(Phase::kUpdate, kNoNode);
    const auto& leaves = machine_.leaves();
    const bool adam =
        recipe_.optimizer == Optimizer::kAdam || recipe_.optimizer == Optimizer::kAdamW;
    std::vector<Value> temporaries;
    const auto add_set = [&] {
      for (const auto& leaf : leaves) {
        if (leaf->gradient.defined()) {
          temporaries.push_back(machine_.allocate(leaf->leaf.dtype(), leaf->leaf.sizes()));
        }
      }
    };
    if (machine_.policy().foreach_optimizer && recipe_.weight_decay) add_set();
    if (machine_.policy().foreach_optimizer && (adam || recipe_.optimizer == Optimizer::kRmsProp))
      add_set();
    launch_update();
  }

  void launch_update() {
    static constexpr std::array<std::string_view, 6> kNames = {"sgd",   "momentum", "adam",
                                                               "adamw", "rmsprop",  "adagrad"};
    Dim parameter_bytes = 0;
    Dim count = 0;
    for (const auto& leaf : machine_.leaves()) {
      if (!leaf->gradient.defined()) continue;
      parameter_bytes += leaf->leaf.bytes();
      count += leaf->leaf.count();
    }
    const Dim states = state_count(recipe_.optimizer);
    machine_.launch({.kernel_class = KernelClass::kUpdate,
                     .pass = Pass::kForward,
                     .op = std::string(kNames[static_cast<size_t>(recipe_.optimizer)]),
                     .flop = count * (Dim(2) + Dim(5) * states),
                     .read = parameter_bytes * (Dim(2) + states),
                     .written = parameter_bytes * (Dim(1) + states),
                     .problem = RowsProblem<Dim>{.rows = 1, .columns = count}});
  }

  const Graph& graph_;
  const TrainingPlan& plan_;
  const Recipe& recipe_;
  Machine machine_;
  std::vector<ParameterKind> kinds_;
  std::vector<Value> values_;
  std::vector<Value> fed_;               // inputs as the loader brings them
  std::vector<eager::GradNodeRef> own_;  // where weights' gradients go, frozen or not
  std::vector<bool> is_read_;
  std::vector<std::vector<TensorId>> let_go_;  // by node
  std::vector<bool> read_as_data_;
  std::vector<Value> held_;
};

}  // namespace

Result<Expansion> expand(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe,
                         const Policy& policy, Decider& decider) {
  Expander expander(graph, plan, recipe, policy, decider);
  return expander.run();
}

}  // namespace plimsoll

#include "graph/train/expand.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "graph/base/try.h"
#include "graph/eager/ops.h"
#include "graph/eager/update.h"
#include "graph/parallel/context_split.h"
#include "graph/parallel/expert_split.h"
#include "graph/parallel/rank_graph.h"
#include "graph/parallel/schedule.h"
#include "graph/parallel/split_check.h"
#include "graph/parallel/strategies.h"
#include "graph/train/forward.h"
#include "graph/train/named_outputs.h"
#include "graph/train/network_loss.h"
#include "graph/train/network_passes.h"
#include "graph/train/stage_traffic.h"
#include "graph/train/training_rules.h"

namespace plimsoll {
namespace {

using eager::Machine;
using eager::Observer;
using eager::Value;

class Expander {
 public:
  Expander(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe, const Policy& policy,
           Decider& decider, Passes written)
      : whole_(graph),
        written_(written),
        plan_(plan),
        recipe_(recipe),
        machine_(recipe, policy, decider),
        kinds_(plan.roles.empty() ? classify_parameters(graph) : plan.roles),
        known_(apply_rules(graph, recipe.training, kinds_)),
        placements_(parallel::place_weights(graph, kinds_, recipe.parallel, received_by(plan))),
        parts_(rank_graph()),
        graph_(parts_ ? *parts_ : graph),
        trains_(recipe.mode != Mode::kInference) {
    machine_.set_grad_enabled(trains_);
  }

  bool alike() const { return alike_; }  // passes that were written once; else the result is none
  Result<Expansion> run() {
    if (!known_) return tl::make_unexpected(known_.error());
    TRY(parallel::check_split(whole_, recipe_, placements_.split));
    TRY(parallel::check_experts(placements_.experts, recipe_));
    TRY(parallel::check_context(whole_, recipe_, machine_.policy(), machine_.decider()));
    Forward values(graph_, kinds_, returned_by(graph_, plan_), placements_, machine_);
    forward_ = &values;
    TRY(values.checkpoint(trains_ ? recipe_.checkpoint : "none"));
    make_residents();
    for (const PlannedPhase& phase : plan_.phases) {
      for (int64_t i = 0; i < phase.repeat; ++i) {
        TRY(run_phase(phase));
      }
    }
    if (keeps_gradients()) fill_gradients();
    if (recipe_.mode == Mode::kTrain) eager::make_states(machine_);
    for (const auto& leaf : machine_.leaves()) leaf->gradient = {};
    note_unreached();
    held_.clear();
    strategies_.clear();
    values.clear();
    named_.end_step();
    Step step = machine_.finish();
    Diagnostics notes = parallel::split_notes(recipe_, placements_.split);
    return Expansion{std::move(step), std::move(kinds_), std::move(placements_), std::move(notes)};
  }

 private:
  using Work = parallel::Work;

  // A micro-batch that has gone forward through a chunk and not back.
  struct MicroBatch {
    std::vector<Value> values{};  // that its pass made, where another one has run since
    Value loss{}, scaled{};       // of the last stage
    StageTraffic between{};
    Machine::PutOff put_off{};  // gradients of weights
  };

  Result<void> run_phase(const PlannedPhase& phase) {
    const PlannedNetwork& trained = plan_.networks[phase.trained];
    if (trains_in_turn()) begin_phase(trained);
    Networks ahead;
    for (const size_t index : phase.forward_only) ahead.push_back(&plan_.networks[index]);
    const std::vector<Value> made = run_ahead(machine_, *forward_, ahead);
    Networks chain{&trained};
    for (const size_t behind : phase.through) chain.push_back(&plan_.networks[behind]);
    const int64_t passes = trains_ ? phase.passes * recipe_.accumulate : 1;
    const Mesh& mesh = recipe_.parallel.mesh;
    const Schedule schedule = recipe_.parallel.schedule;
    const int64_t distinct =
        written_ == Passes::kAll ? passes : parallel::distinct_micro_batches(schedule, passes);
    const parallel::Stage stage{.stages = mesh.extent(Axis::kStage),
                                .stage = mesh.coordinate(Axis::kStage),
                                .micro_batches = distinct,
                                .chunks = chunks()};
    const std::vector<Work> order = parallel::order_of(schedule, stage);
    const parallel::Period period =
        written_ == Passes::kAll ? parallel::Period{} : parallel::period_of(schedule, stage);
    const auto others_alike = [&](size_t at) {
      if (distinct < passes && order[at].micro_batch == 1 && alike_)
        alike_ = machine_.repeat_apart_since(begins_[at], passes - distinct + 1);
    };
    begins_.clear();
    bool written = false;  // a period, of which the next ones are no more than repeats
    for (size_t at = 0; at < order.size(); ++at) {
      const Work& work = order[at];
      const int64_t batch = work.micro_batch;
      if (work.pass == Pass::kForward) {
        // The first pass is over what the loader brings, the next over what other networks made.
        if (batch == 1) feed(*forward_, trained, made);
        begins_.resize(at + 1, machine_.here());
        if (is_stage()) chain = {&plan_.networks[static_cast<size_t>(work.chunk)]};
        if (auto done = run_forward_pass(chain, work); !done) return done;
        const bool goes_back =
            at + 1 < order.size() && order[at + 1] == Work{Pass::kBackward, batch, work.chunk};
        if (!goes_back && is_stage()) {
          forward_->release();  // what was sent is let go of (deallocate_pipeline_outputs)
        } else if (!goes_back) {
          in_flight_[number_of(work)].values = forward_->take();
        }
        others_alike(at);
        continue;
      }
      begins_.resize(at + 1, machine_.here());
      if (trains_)
        run_backward_pass(work, *chain.back(), batch + 1 == distinct && !phase.gradient_penalty);
      others_alike(at);
      if (written) continue;
      const int64_t more = parallel::periods_after(order, at, period);
      written = more > 0;
      if (written && repeat_since(begins_[at + 1 - period.passes], more, period))
        at += static_cast<size_t>(more) * period.passes;
    }
    if (trains_) sum_tied(machine_, *forward_, plan_.tied);
    if (phase.gradient_penalty && trains_)
      held_.push_back(
          penalize_gradient(machine_, *forward_, trained, fed_[trained.inputs.front()]));
    if (recipe_.mode == Mode::kTrain) {
      eager::update(machine_, scale_);
      machine_.tell(&Observer::after_update);
    }
    master_gradients_.clear();
    if (trains_in_turn()) end_phase();
    return {};
  }

  // What was written since that event is a period of the schedule; so many more that follow need
  // not be, and micro-batches in flight have later numbers then. No, where it leaves other memory
  // than it found.
  bool repeat_since(size_t begin, int64_t more, const parallel::Period& period) {
    if (!machine_.repeat_since(begin, more + 1)) return false;
    const int64_t later = more * period.micro_batches * chunks();
    std::map<int64_t, MicroBatch> renumbered;
    for (auto& [number, made] : in_flight_) renumbered[number + later] = std::move(made);
    in_flight_ = std::move(renumbered);
    return true;
  }

  // Only the trained network's weights want gradients, which begin anew.
  void begin_phase(const PlannedNetwork& trained) {
    own_.resize(graph_.tensors.size());
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (value(id).requires_grad()) own_[id] = value(id).grad();
      if (!own_[id]) continue;
      value(id) = value(id).detached();
      own_[id]->gradient = {};
    }
    for (NodeId node = trained.first; node < trained.last; ++node) {
      for (const TensorId in : graph_.nodes[node].inputs) {
        if (in != kNoTensor && own_[in]) value(in).set_grad(own_[in], 0);
      }
    }
  }

  void end_phase() {
    held_.clear();
    forward_->release();
    for (const PlannedNetwork& network : plan_.networks) {
      for (const TensorId in : network.inputs) value(in) = fed_[in];
    }
  }

  bool is_stage() const { return recipe_.parallel.mesh.extent(Axis::kStage) > 1; }
  // Each network of a stage is a chunk.
  int64_t chunks() const { return is_stage() ? static_cast<int64_t>(plan_.networks.size()) : 1; }
  bool trains_in_turn() const { return !is_stage() && plan_.networks.size() > 1; }
  int64_t number_of(const Work& work) const { return work.micro_batch * chunks() + work.chunk; }

  // With shapes of one rank's values, where operators or sequences are parted.
  std::optional<Graph> rank_graph() const {
    const Mesh& mesh = recipe_.parallel.mesh;
    const int64_t split = mesh.extent(Axis::kTensor), context = mesh.extent(Axis::kContext);
    std::optional<Graph> parts;
    if (context > 1)
      parts = parallel::with_context(whole_, parallel::sequence_symbol(whole_), context);
    if (split > 1)
      parts = parallel::with_parts(parts ? std::move(*parts) : whole_, placements_.split, split);
    return parts;
  }

  void make_residents() {
    for (const TensorId id : graph_.inputs) fed_[id] = value(id);
    const std::vector<eager::Value> weights = forward_->stored();
    strategies_ = parallel::strategies({machine_, graph_, placements_, weights});
    if (!trains_) return;
    if (recipe_.precision->loss_scaler) {
      // A gradient scaler's factor, and its count of steps without overflow.
      scale_ = machine_.resident(DType::kFloat32, {}, Role::kTemporary);
      machine_.resident(DType::kInt32, {}, Role::kTemporary);
    }
    if (!keeps_gradients()) return;
    for (const auto& leaf : machine_.leaves()) {
      const auto [type, shape] = eager::gradient_type(machine_, *leaf);
      leaf->gradient = recipe_.parallel.offload.states && recipe_.parallel.is_sharded()
                           ? machine_.keep_on_host(type, shape, Role::kGradient)
                           : machine_.resident(type, shape, Role::kGradient);
    }
  }

  // They are there when the step begins, as zeros; masters' are made anew by each pass.
  bool keeps_gradients() const {
    return trains_ && recipe_.zero_grad == ZeroGrad::kKeep &&
           !recipe_.precision->master_gradients && !machine_.keeps_gradients();
  }

  // torch/optim/optimizer.py, zero_grad() before 2.0: gradient by gradient, of those that a pass
  // came to.
  void fill_gradients() {
    if (machine_.policy().gradients_in_place) return;
    machine_.enter(Phase::kUpdate, kNoNode);
    for (const auto& leaf : machine_.leaves()) {
      if (leaf->reached && leaf->gradient.defined() && leaf->gradient.on_device())
        machine_.launch_rows(KernelClass::kCopy, "fill", 0, {}, {&leaf->gradient});
    }
  }

  void note_unreached() {
    for (TensorId id = 0; trains_ && id < graph_.tensors.size(); ++id) {
      const auto& leaf = !own_.empty() && own_[id] ? own_[id] : value(id).grad();
      if (graph_.tensors[id].kind == TensorKind::kParameter && kinds_[id] == WeightRole::kTrained &&
          leaf && leaf->is_leaf && !leaf->reached)
        kinds_[id] = WeightRole::kUnreached;
    }
  }

  static bool is_buffer(WeightRole kind) { return kind == WeightRole::kBuffer; }

  std::vector<Value> values_of(bool (*kind)(WeightRole)) {
    std::vector<Value> all;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const bool wanted = graph_.tensors[id].kind == TensorKind::kParameter && kind(kinds_[id]) &&
                          value(id).defined();
      if (wanted) all.push_back(value(id));
    }
    return all;
  }

  void begin_forward() {
    if (!machine_.observed()) return;
    const std::vector<Value> weights = values_of(is_weight);
    const std::vector<Value> buffers = trains_ ? values_of(is_buffer) : std::vector<Value>{};
    machine_.tell(&Observer::begin_forward, weights, buffers);
  }

  Result<void> run_forward_pass(const Networks& chain, const Work& work) {
    machine_.enter(Phase::kForward, kNoNode);
    begin_forward();
    if (has_masters()) last_gradients_ = eager::last_gradients(machine_);
    in_flight_[number_of(work)].between.receive(machine_, *forward_, *chain.front());
    run_networks(machine_, *forward_, chain);
    if (chain.back()->sends) {
      in_flight_[number_of(work)].between.send(machine_, *forward_, *chain.back());
      machine_.end_autocast();
      machine_.mark_end_of_forward();
      if (!trains_) in_flight_.clear();
      return {};
    }
    if (has_masters()) widen_outputs(*chain.back(), *recipe_.precision->master);
    if (recipe_.widened_outputs == WidenedOutputs::kFabric)
      widen_outputs(*chain.back(), DType::kFloat32);
    std::ranges::move(machine_.take_returned(), std::back_inserter(held_));
    if (!trains_ && !recipe_.evaluates) {
      machine_.end_autocast();
      machine_.mark_end_of_forward();
      return {};
    }
    if (recipe_.keeps_last_outputs && !forward_->head()) name_outputs(outputs_of(*chain.back()));
    machine_.enter(Phase::kLoss, kNoNode);
    auto loss = TRY(network_loss(machine_, *forward_, *chain.back(), placements_.split,
                                 [&](std::vector<Value> made) { name_outputs(std::move(made)); }));
    machine_.end_autocast();
    if (recipe_.widened_outputs == WidenedOutputs::kAccelerate && recipe_.precision->autocast)
      widen_outputs(*chain.back(), DType::kFloat32);
    if (!recipe_.keeps_outputs && recipe_.score_metrics == 0) {
      for (const TensorId id : chain.back()->outputs) value(id) = {};
    }
    if (!trains_) {
      held_.push_back(std::move(loss));
      machine_.mark_end_of_forward();
      return {};
    }
    MicroBatch& made = in_flight_[number_of(work)];
    made.loss = std::move(loss);
    made.scaled = scale_.defined() ? eager::mul(machine_, made.loss, scale_) : made.loss;
    machine_.mark_end_of_forward();
    return {};
  }

  bool has_masters() const {
    return recipe_.precision->master_gradients && eager::copies_masters(recipe_) &&
           recipe_.mode == Mode::kTrain;
  }

  void run_backward_pass(const Work& work, const PlannedNetwork& network, bool last) {
    if (work.pass == Pass::kBackwardData) return run_backward_of_data(work);
    MicroBatch made = std::move(in_flight_.extract(number_of(work)).mapped());
    machine_.enter(Phase::kBackward, kNoNode);
    if (has_masters()) drop_gradients();
    machine_.tell(&Observer::begin_backward, last);
    if (work.pass == Pass::kBackwardWeights) {
      machine_.finish_backward(std::move(made.put_off));
    } else if (made.scaled.defined()) {
      backward_from(machine_, made.scaled);
    } else {
      made.between.backward(machine_);
    }
    machine_.tell(&Observer::end_backward);
    made.between.send_back(machine_);
    if (has_masters()) eager::add_to_masters(machine_, master_gradients_);
    if (made.loss.defined() && recipe_.score_metrics > 0) {
      machine_.enter(Phase::kLoss, kNoNode);
      take_metrics(machine_, *forward_, network);
    }
    if (!last) {
      machine_.enter(Phase::kForward, kNoNode);
      forward_->release();
      named_.end_pass();
    } else {
      if (made.loss.defined()) made.values.push_back(made.loss);
      std::ranges::move(made.values, std::back_inserter(held_));
    }
  }

  // What the stage before waits for; gradients of weights come later.
  void run_backward_of_data(const Work& work) {
    MicroBatch& made = in_flight_[number_of(work)];
    machine_.enter(Phase::kBackward, kNoNode);
    machine_.tell(&Observer::begin_backward, false);
    if (made.scaled.defined()) {
      backward_from(machine_, std::exchange(made.scaled, {}), nullptr, &made.put_off);
    } else {
      made.between.backward(machine_, &made.put_off);
    }
    machine_.tell(&Observer::end_backward);
    made.between.send_back(machine_);
    made.between = {};
    made.loss = {};
    machine_.enter(Phase::kForward, kNoNode);
    forward_->release();
  }

  // What the model returns is cast: with masters as apex/amp/_initialize.py has it.
  void widen_outputs(const PlannedNetwork& network, DType wide) {
    for (const TensorId id : network.outputs) {
      if (value(id).defined() && is_float(value(id).dtype()))
        value(id) = eager::cast(machine_, value(id), wide);
    }
  }

  std::vector<Value> outputs_of(const PlannedNetwork& network) {
    std::vector<Value> outputs;
    for (const TensorId id : network.outputs) outputs.push_back(value(id));
    return outputs;
  }

  void name_outputs(std::vector<Value> outputs) {
    if (recipe_.keeps_outputs && !is_stage()) named_.hold(std::move(outputs));
  }

  // apex/amp/_process_optimizer.py: gradients of the model's own weights are there, as zeros, from
  // the last step until the backward pass makes others.
  void drop_gradients() {
    last_gradients_.clear();
    for (const auto& leaf : machine_.leaves()) leaf->gradient = {};
  }

  Value& value(TensorId id) { return (*forward_)[id]; }

  const Graph& whole_;
  const Passes written_;
  const TrainingPlan& plan_;
  const Recipe& recipe_;
  Machine machine_;
  std::vector<WeightRole> kinds_;
  Result<void> known_;  // of the rules of training
  parallel::Placements placements_;
  std::optional<Graph> parts_;
  const Graph& graph_;  // of this device
  bool trains_, alike_ = true;
  Forward* forward_ = nullptr;
  std::vector<size_t> begins_;     // of the phase that runs: the first event of each pass
  std::map<TensorId, Value> fed_;  // inputs as the loader brings them
  // Where networks are trained in turn: where weights' gradients go, frozen or not.
  std::vector<eager::GradNodeRef> own_;
  std::vector<std::unique_ptr<Observer>> strategies_;
  std::map<int64_t, MicroBatch> in_flight_;
  std::vector<Value> held_;
  NamedOutputs named_{machine_, recipe_.keeps_last_outputs};
  Value scale_;  // of the loss, in fp16 mixed precision
  // Where the optimizer has copies of weights: gradients of the step before, and of the copies.
  std::vector<Value> last_gradients_, master_gradients_;
};

}  // namespace

Result<Expansion> expand(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe,
                         const Policy& policy, Decider& decider, Passes written) {
  Expander expander(graph, plan, recipe, policy, decider, written);
  auto made = expander.run();
  return expander.alike() ? std::move(made)
                          : expand(graph, plan, recipe, policy, decider, Passes::kAll);
}

}  // namespace plimsoll

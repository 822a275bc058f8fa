// Machine: runs operators on Values and writes down what a framework would have allocated, launched
// and kept: the Step. The autograd engine is here too.
//
//   Machine m(policy, decider);
//   Value x = m.resident(DType::kFloat32, shape, Role::kInput);
//   Value y = relu(m, x);                  // functions of eager/ops.h
//   m.backward(loss);
//   Step step = m.finish();
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/eager/activation_stash.h"
#include "graph/eager/fusion.h"
#include "graph/eager/observer.h"
#include "graph/eager/recompute.h"
#include "graph/eager/repeated_passes.h"
#include "graph/eager/value.h"
#include "graph/ir/recipe.h"

namespace plimsoll::eager {

class Machine {
 public:
  Machine(const Recipe& recipe, const Policy& policy, Decider& decider)
      : recipe_(recipe), policy_(policy), decider_(decider) {
    if (recipe.parallel.offload.activations) activations_.emplace(*this);
  }
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Recipe& recipe() const { return recipe_; }
  const Policy& policy() const { return policy_; }
  // Whether the library may use tensor cores for operands of this type: 16 bits always, 32 bits
  // where the recipe or the framework's habit allows TF32.
  bool tensor_core_matmuls(DType dtype) const {
    return bits(dtype) <= 16 || recipe_.precision->tf32 || policy_.tf32_matmuls;
  }
  bool tensor_core_convolutions(DType dtype) const {
    return bits(dtype) <= 16 || recipe_.precision->tf32 || policy_.tf32_convolutions;
  }
  Decider& decider() { return decider_; }

  // Where events are credited from now on.
  void enter(Phase phase, NodeId node) {
    phase_ = phase;
    node_ = node;
  }
  // What is credited to `node`, its backward pass too, runs in a loop over `symbol`.
  void run_in_loop(NodeId node, std::string symbol) { loops_[node] = std::move(symbol); }
  // What is launched from now on runs so many times, one behind the other.
  void set_turns(Dim turns) { turns_ = std::move(turns); }
  Phase phase() const { return phase_; }
  NodeId node() const { return node_; }

  // Mixed precision holds between these two: the type to cast to, where the recipe says so.
  void begin_autocast();
  void end_autocast();  // drops the weights' casts
  std::optional<DType> autocast() const { return autocast_; }
  void set_autocast(std::optional<DType> type) { autocast_ = type; }
  // Where the cast of a trained weight is kept for the scope (undefined at first); null for others.
  Value* cast_of_weight(const Value& x);

  // What is recorded between these two keeps nothing but `inputs`; `again` runs it once more.
  // `by_operator`: results of products and of attention are kept as well (kept_results()).
  void begin_region(std::span<const Value> inputs, std::function<void(const Region&)> recompute,
                    bool by_operator = false);
  void end_region() { region_.reset(); }
  // Of a block that runs again, what lives until its backward pass is over: use_reentrant=True.
  void give_to_region(std::span<const Value> values);
  // What an operator makes that is dear to make again. In a block that is checkpointed by operator
  // it stays, and is not made when the block runs again; of operators that take `turns`, every
  // second time.
  std::vector<Value> kept_results(bool turns, const std::function<std::vector<Value>()>& make);
  // Whether kernels run now as part of the forward pass: also a block that runs again in backward.
  Pass pass() const {
    return phase_ == Phase::kBackward && !recomputed_ ? Pass::kBackward : Pass::kForward;
  }

  bool grad_enabled() const { return grad_enabled_; }
  void set_grad_enabled(bool enabled) { grad_enabled_ = enabled; }

  // --- storage ---
  // A tensor that lives before and after the step. Images, filters and what belongs to filters lie
  // as the policy's layout says.
  Value resident(DType dtype, const Shape& sizes, Role role);
  // Memory for one that no operator reads: of an optimizer's state.
  void reside(const TensorType& type, Role role) { new_buffer(bytes(type), role, true); }
  // One that takes so many bytes, whatever its type and sizes say: a quantized weight.
  Value packed(DType dtype, const Shape& sizes, Role role, const Dim& bytes);
  // A weight of which this device keeps a part alone: the whole has no memory until it is bound.
  Value unbound(DType dtype, const Shape& sizes);
  // Gradients accumulate at it from now on: a trained parameter.
  Value train(Value weight);
  // A resident one.
  Value parameter(DType dtype, const Shape& sizes) {
    return train(resident(dtype, sizes, Role::kParameter));
  }
  // Whether an operator of the step made it: no weight, and nothing that lives on anyway.
  bool is_made(const Value& value) const;
  // Memory for a weight that has none, and the end of it: the storage stays the same, so that
  // views and what autograd keeps follow.
  void bind(const Value& weight, const Dim& bytes, Stream stream = Stream::kCompute);
  void unbind(const Value& weight);
  // One layout for all contiguous tensors of a type and sizes that are not resident.
  LayoutRef contiguous(DType dtype, Shape sizes);
  // New storage, contiguous; or with given strides, dense in some order.
  Value allocate(DType dtype, const Shape& sizes);
  Value allocate(LayoutRef layout);
  // The same of work in another stream than the kernels'.
  Value allocate_in(Stream stream, DType dtype, const Shape& sizes);
  // Another stream than its own uses it last: its memory is free when the device has come by.
  void free_late(const Value& value);
  // Gradients stay until the next step's forward pass.
  void keep_gradients() { step_.gradients_stay = true; }
  bool keeps_gradients() const { return step_.gradients_stay; }
  // Another window on the same storage. Keeps no autograd edge: view operators record it.
  Value view_of(const Value& base, LayoutRef layout) {
    Value view(std::move(layout), base.storage());
    view.set_view(true);
    return view;
  }
  // What a pass returns beside the network's outputs, until its caller takes it.
  void return_also(Value value) { returned_.push_back(std::move(value)); }
  std::vector<Value> take_returned() { return std::exchange(returned_, {}); }
  // A number or small constant of the host, with a shape but without storage.
  Value host(DType dtype, const Shape& sizes);

  // --- kernels ---
  // `read`, `written`: the tensors it touches, which a compiler goes by. `dispatched`: by a call of
  // its own; else it is one launch more of the last call.
  void launch(Kernel kernel, std::initializer_list<const Value*> read,
              std::initializer_list<const Value*> written, bool dispatched = true);
  // A launch whose problem is plain rows, with the bytes of whole tensors.
  void launch_rows(KernelClass kernel_class, std::string op, const Dim& flop,
                   std::initializer_list<const Value*> read,
                   std::initializer_list<const Value*> written, Dim rows = 1);
  // The same of another problem.
  void launch_tensors(KernelClass kernel_class, std::string op, const Dim& flop,
                      std::initializer_list<const Value*> read,
                      std::initializer_list<const Value*> written, ProblemOf<Dim> problem);
  // The same over whatever list of tensors; of another problem where one is given.
  void launch_over(KernelClass kernel_class, std::string op, const Dim& flop,
                   std::span<const Value> read, const Value& written,
                   std::optional<ProblemOf<Dim>> problem = std::nullopt);

  // --- autograd ---
  // Makes `output` the result of a differentiable operator, unless no input needs a gradient or
  // gradients are off. `kept` is what its backward needs.
  void record(Value& output, std::span<const Value> inputs, std::vector<Kept> kept,
              Backward backward);
  void record(std::vector<Value>& outputs, std::span<const Value> inputs, std::vector<Kept> kept,
              Backward backward);
  // Would record() keep anything for these inputs?
  bool tracks(std::span<const Value> inputs) const;

  // Runs the engine from `roots`, whose own gradients are given. `held`: the graph stays for
  // another backward pass through it and through its gradients, which are put there
  // (create_graph=True).
  // `put_off`: what gradients of weights come of waits there for finish_backward().
  using PutOff = std::vector<std::pair<GradNodeRef, Gradients>>;
  void backward(std::span<const Value> roots, std::span<const Value> gradients,
                std::vector<Value>* held = nullptr, PutOff* put_off = nullptr);
  void finish_backward(PutOff put_off);
  // Makes a value that is no parameter one whose gradient is asked for; it comes to the leaf.
  GradNodeRef require_gradient(Value& value);

  // --- other devices ---
  // Begins a collective beside what is launched; returns its place in Step::collectives. Its buffer
  // is not freed before it has ended.
  uint32_t issue(Collective collective);
  // What comes next waits for it.
  void await(uint32_t collective);
  // --- the host's memory ---
  // A tensor that lives there before and after the step.
  Value keep_on_host(DType dtype, const Shape& sizes, Role role, bool pinned = true);
  // Copies beside what is launched, and work of the host's processors; all are awaited.
  uint32_t copy_to_host(const Dim& bytes);
  uint32_t copy_from_host(const Dim& bytes);
  uint32_t work_on_host(const Dim& bytes);

  // From now on it is told what happens, after those that came before it; it outlives the step.
  void observe(Observer& observer) { observers_.push_back(&observer); }
  template <class... Params, class... Args>
  void tell(void (Observer::*hook)(Params...), Args&&... args) {
    for (Observer* observer : observers_) (observer->*hook)(args...);
  }
  bool observed() const { return !observers_.empty(); }
  // It is a parameter's gradient from now on.
  void become_gradient(const Value& value);

  // Where the next event will be written.
  size_t here() const { return step_.events.size(); }
  // What was written since `begin` runs `times` times. False, and nothing is changed, where it
  // leaves something else than what it frees of a pass before it, and so may not run alike again.
  bool repeat_since(size_t begin, int64_t times);
  // The same of passes whose results wait together (graph/eager/repeated_passes.h).
  bool repeat_apart_since(size_t begin, int64_t times);

  // What was freed since `end` lives on into the next step. This one begins with as much, of the
  // step before, which is freed at the event `until`. The step is written whole by now.
  void carry_over(size_t end, size_t until);

  // Writes down what is saved now, as Step::saved and end_of_forward. Of several passes the last
  // one's stands.
  void mark_end_of_forward();

  const std::vector<GradNodeRef>& leaves() const { return leaves_; }

  // The finished step. All values other than residents must have been dropped; what still lives is
  // freed at the end by the Machine.
  Step finish();

  void free_storage(BufferId id);  // of Storage's destructor

 private:
  LayoutRef layout_of(DType dtype, const Shape& sizes, Role role);
  BufferId new_buffer(const Dim& bytes, Role role, bool resident);
  void write(Event::Kind kind, uint32_t id, bool dispatched = true);
  void write_launch(Kernel kernel, std::span<const Value* const> read,
                    std::span<const Value* const> written, bool dispatched = true);
  void accumulate(GradNode& leaf, Value gradient);
  void add_gradient(GradNode& leaf, Value gradient);
  Value sum(Value older, const Value& newer);
  void keep_for_region(GradNode& node, std::span<const Value> inputs,
                       std::span<const Value> outputs);
  void stop_early(const GradNode& last, std::span<const Value> inputs,
                  std::span<const Value> outputs);
  // `gradients`: of what the block made, where the first of its nodes goes back.
  void recompute(Region& region, std::span<const Value> gradients);
  friend struct Engine;

  const Recipe& recipe_;
  const Policy& policy_;
  Decider& decider_;
  Step step_;
  size_t unfreed_ = 0;  // storages whose end is not written yet
  Phase phase_ = Phase::kForward;
  NodeId node_ = kNoNode;
  std::map<NodeId, std::string> loops_;  // their symbols
  Dim turns_{1};
  bool grad_enabled_ = true;
  bool finished_ = false;
  bool idle_ = false;  // takes no memory and launches nothing: a block has run again far enough
  std::optional<DType> autocast_;
  std::unordered_map<const Layout*, Value> weight_casts_;  // of parameters themselves, not of views
  std::shared_ptr<Region> region_;                         // the block that is being recorded
  Region* recomputed_ = nullptr;                           // or run once more
  uint64_t sequence_ = 0;
  std::vector<std::weak_ptr<GradNode>> grad_nodes_;
  std::vector<GradNodeRef> leaves_;
  std::vector<Observer*> observers_;
  struct Exchanged {
    int collectives = 0;  // that have begun and not ended
    bool let_go = false;
  };
  std::unordered_map<BufferId, Exchanged> exchanged_;
  std::optional<ActivationStash> activations_;
  std::vector<Value> resident_values_;
  std::vector<Value> returned_;
  PassCopies copies_;
  struct SameType {
    size_t operator()(const TensorType& type) const;
    bool operator()(const TensorType& a, const TensorType& b) const;
  };
  std::unordered_map<TensorType, LayoutRef, SameType, SameType> layouts_;
  std::vector<BufferId> ever_saved_;  // over all passes
  std::unordered_multimap<size_t, KernelId> kernel_index_;
  std::vector<Access> accesses_;  // of launches, where they are compiled
};

}  // namespace plimsoll::eager

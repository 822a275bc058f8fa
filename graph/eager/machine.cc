#include "graph/eager/machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace plimsoll::eager {

Storage::~Storage() { machine_->free_storage(id_); }

// Chains of nodes are as long as networks are deep: nodes that nobody else holds are let go one
// after the other, in the order that recursion would take.
GradNode::~GradNode() {
  kept.clear();
  GradNodeRef next;
  const auto take_from = [&](GradNode& from) {
    for (auto edge = from.edges.rbegin(); edge != from.edges.rend(); ++edge) {
      if (!edge->node || edge->node.use_count() != 1) continue;
      edge->node->after = std::move(next);
      next = std::move(edge->node);
    }
  };
  take_from(*this);
  while (next) {
    const GradNodeRef last = std::move(next);
    next = std::move(last->after);
    take_from(*last);
  }
}

Machine::~Machine() {
  finished_ = true;  // no events for what is torn down with the machine
  // Oldest first: what a node lets go has let go of all else before.
  for (const auto& weak : grad_nodes_) {
    const GradNodeRef node = weak.lock();
    if (!node) continue;
    node->edges.clear();
    node->kept.clear();
    node->region.reset();
  }
}

namespace {

// That lives on anyway, or that comes and goes by itself.
bool outlives_values(const Buffer& b) { return b.resident || b.role == Role::kParameter; }

}  // namespace

BufferId Machine::new_buffer(const Dim& bytes, Role role, bool resident) {
  if (idle_) return kNoBuffer;
  const auto id = static_cast<BufferId>(step_.buffers.size());
  step_.buffers.push_back({bytes, role, node_, resident});
  if (!resident) {
    write(Event::Kind::kAllocate, id);
    ++unfreed_;
  }
  return id;
}

void Machine::write(Event::Kind kind, uint32_t id, bool dispatched) {
  std::vector<Event>& events = step_.events;
  // Each storage's end has its place from its beginning: a destructor must not ask for memory.
  const size_t wanted = events.size() + unfreed_ + 2;
  if (wanted > events.capacity()) events.reserve(std::max(wanted, 2 * events.capacity()));
  events.push_back({kind, phase_, id, node_, dispatched});
}

void Machine::free_storage(BufferId id) {
  if (finished_ || id == kNoBuffer || step_.buffers[id].resident) return;
  if (const auto busy = exchanged_.find(id); busy != exchanged_.end()) {
    busy->second.let_go = true;
    return;
  }
  --unfreed_;
  step_.events.push_back({Event::Kind::kFree, phase_, id, node_});
}

LayoutRef Machine::layout_of(DType dtype, const Shape& sizes, Role role) {
  const bool last = policy_.channels_last && sizes.size() == 4 && role != Role::kBuffer;
  return last ? channels_last_layout(dtype, sizes, decider_) : contiguous_layout(dtype, sizes);
}

Value Machine::resident(DType dtype, const Shape& sizes, Role role) {
  auto layout = layout_of(dtype, sizes, role);
  auto storage = std::make_shared<Storage>(this, new_buffer(layout->bytes, role, true));
  Value value(std::move(layout), std::move(storage));
  resident_values_.push_back(value);
  return value;
}

Value Machine::packed(DType dtype, const Shape& sizes, Role role, const Dim& bytes) {
  auto storage = std::make_shared<Storage>(this, new_buffer(bytes, role, true));
  Value value(layout_of(dtype, sizes, role), std::move(storage));
  resident_values_.push_back(value);
  return value;
}

Value Machine::train(Value weight) {
  if (recipe_.precision->autocast) weight_casts_[&weight.layout()] = {};
  if (grad_enabled_) leaves_.push_back(require_gradient(weight));
  return weight;
}

void Machine::begin_autocast() { autocast_ = recipe_.precision->autocast; }

void Machine::end_autocast() {
  autocast_.reset();
  for (auto& [weight, cast] : weight_casts_) cast = {};
}

Value* Machine::cast_of_weight(const Value& x) {
  const auto at = weight_casts_.find(&x.layout());
  return at == weight_casts_.end() ? nullptr : &at->second;
}

GradNodeRef Machine::require_gradient(Value& value) {
  auto leaf = std::make_shared<GradNode>();
  leaf->is_leaf = true;
  leaf->sequence = ~uint64_t{0};  // accumulation runs before all else that is ready
  leaf->leaf = value;
  value.set_grad(leaf, 0);
  return leaf;
}

Value Machine::allocate(LayoutRef layout) {
  const Role role = phase_ == Phase::kBackward ? Role::kTemporary : Role::kFeatureMap;
  auto storage = std::make_shared<Storage>(this, new_buffer(layout->bytes, role, false));
  return {std::move(layout), std::move(storage)};
}

size_t Machine::SameType::operator()(const TensorType& type) const {
  auto hash = static_cast<size_t>(type.dtype);
  const auto mix = [&](int64_t x) { hash = hash * 1099511628211U + static_cast<size_t>(x); };
  for (const Dim& extent : type.shape) {
    mix(extent.constant_term());
    for (const Dim::Term& term : extent.terms()) mix(term.coefficient);
  }
  return hash;
}

bool Machine::SameType::operator()(const TensorType& a, const TensorType& b) const {
  return a.dtype == b.dtype && a.shape == b.shape;
}

LayoutRef Machine::contiguous(DType dtype, Shape sizes) {
  const auto [at, is_new] = layouts_.try_emplace({dtype, std::move(sizes)});
  if (is_new) at->second = contiguous_layout(dtype, at->first.shape);
  return at->second;
}

Value Machine::allocate(DType dtype, const Shape& sizes) {
  return allocate(contiguous(dtype, sizes));
}

Value Machine::host(DType dtype, const Shape& sizes) { return {contiguous(dtype, sizes), nullptr}; }

void Machine::launch(Kernel kernel, std::initializer_list<const Value*> read,
                     std::initializer_list<const Value*> written, bool dispatched) {
  write_launch(std::move(kernel), {read.begin(), read.size()}, {written.begin(), written.size()},
               dispatched);
}

void Machine::write_launch(Kernel kernel, std::span<const Value* const> read,
                           std::span<const Value* const> written, bool dispatched) {
  if (idle_) return;
  if (const auto loop = loops_.find(node_); loop != loops_.end()) take_turns(kernel, loop->second);
  if (turns_ != Dim(1)) {
    for (Dim* all : {&kernel.flop, &kernel.read, &kernel.written, &kernel.turns}) *all *= turns_;
  }
  if (recipe_.compiled) accesses_.push_back({here(), uses_of(read), uses_of(written)});
  const size_t hash = hash_of(kernel);
  const auto [first, last] = kernel_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (step_.kernels[it->second] == kernel) {
      write(Event::Kind::kLaunch, it->second, dispatched);
      return;
    }
  }
  const auto id = static_cast<KernelId>(step_.kernels.size());
  step_.kernels.push_back(std::move(kernel));
  kernel_index_.emplace(hash, id);
  write(Event::Kind::kLaunch, id, dispatched);
}

void Machine::launch_tensors(KernelClass kernel_class, std::string op, const Dim& flop,
                             std::initializer_list<const Value*> read,
                             std::initializer_list<const Value*> written, ProblemOf<Dim> problem) {
  Kernel kernel{.kernel_class = kernel_class,
                .pass = pass(),
                .dtype = (*written.begin())->dtype(),
                .op = std::move(op),
                .flop = flop};
  for (const Value* v : read) {
    if (v->on_device()) kernel.read += v->bytes();
  }
  for (const Value* v : written) kernel.written += v->bytes();
  kernel.problem = std::move(problem);
  launch(std::move(kernel), read, written);
}

void Machine::launch_rows(KernelClass kernel_class, std::string op, const Dim& flop,
                          std::initializer_list<const Value*> read,
                          std::initializer_list<const Value*> written, Dim rows) {
  // What a reduction reads falls into groups, of others what they write.
  const Value& grouped = kernel_class == KernelClass::kReduce ? **read.begin() : **written.begin();
  const Dim per_row = rows == Dim(1) ? grouped.count() : floor_div(grouped.count(), rows);
  launch_tensors(kernel_class, std::move(op), flop, read, written,
                 RowsProblem<Dim>{std::move(rows), per_row});
}

void Machine::launch_over(KernelClass kernel_class, std::string op, const Dim& flop,
                          std::span<const Value> read, const Value& written,
                          std::optional<ProblemOf<Dim>> problem) {
  Kernel kernel{.kernel_class = kernel_class,
                .pass = pass(),
                .dtype = written.dtype(),
                .op = std::move(op),
                .flop = flop};
  for (const Value& v : read) {
    if (v.defined() && v.on_device()) kernel.read += v.bytes();
  }
  kernel.written = written.bytes();
  kernel.problem = problem ? std::move(*problem) : RowsProblem<Dim>{1, written.count()};
  std::vector<const Value*> operands;
  for (const Value& v : read) operands.push_back(&v);
  const Value* const result = &written;
  write_launch(std::move(kernel), operands, {&result, 1});
}

bool Machine::tracks(std::span<const Value> inputs) const {
  return grad_enabled_ && std::any_of(inputs.begin(), inputs.end(), [](const Value& v) {
           return v.defined() && v.requires_grad();
         });
}

void Machine::record(Value& output, std::span<const Value> inputs, std::vector<Kept> kept,
                     Backward backward) {
  std::vector<Value> outputs{std::move(output)};
  record(outputs, inputs, std::move(kept), std::move(backward));
  output = std::move(outputs[0]);
}

void Machine::record(std::vector<Value>& outputs, std::span<const Value> inputs,
                     std::vector<Kept> kept, Backward backward) {
  if (!tracks(inputs)) {
    for (Value& out : outputs) {
      if (out.requires_grad()) out = out.detached();
    }
    return;
  }
  auto node = std::make_shared<GradNode>();
  node->sequence = sequence_++;
  node->node = node_;
  node->outputs = static_cast<uint32_t>(outputs.size());
  node->edges.reserve(inputs.size());
  for (const Value& in : inputs) {
    if (in.defined() && in.requires_grad()) {
      node->edges.push_back({in.grad(), in.grad_output(), in.layout_ref()});
    } else {
      node->edges.emplace_back();
    }
  }
  for (Kept& k : kept) k.value = k.value.detached();
  node->kept = std::move(kept);
  node->backward = std::move(backward);
  if (region_ || recomputed_) keep_for_region(*node, inputs, outputs);
  if (activations_ && phase_ == Phase::kForward) activations_->send(*node);
  grad_nodes_.push_back(node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined()) outputs[i].set_grad(node, static_cast<uint32_t>(i));
  }
}

bool Machine::repeat_since(size_t begin, int64_t times) {
  if (!leaves_what_it_frees(step_, begin)) return false;
  step_.repeats.push_back({begin, step_.events.size(), times});
  return true;
}

bool Machine::repeat_apart_since(size_t begin, int64_t times) {
  std::vector<Event>& events = step_.events;
  const size_t before = events.size();
  if (!copies_.write(step_, begin, times - 1)) return false;
  events.reserve(events.size() + unfreed_ + 2);
  const size_t more = events.size() - before;
  for (Access& access : accesses_) access.event += access.event >= begin ? more : 0;
  step_.repeats.push_back({begin + more, events.size(), times, true});
  return true;
}

void Machine::carry_over(size_t end, size_t until) {
  std::vector<Event> there, freed;
  for (size_t i = end; i < step_.events.size(); ++i) {
    if (step_.events[i].kind != Event::Kind::kFree) continue;
    const auto older = static_cast<BufferId>(step_.buffers.size());
    step_.buffers.push_back(Buffer(step_.buffers[step_.events[i].id]));
    there.push_back({Event::Kind::kAllocate, Phase::kForward, older, kNoNode});
    freed.push_back({Event::Kind::kFree, Phase::kForward, older, kNoNode});
  }
  const auto begin = step_.events.begin();
  step_.events.insert(begin + static_cast<std::ptrdiff_t>(until), freed.begin(), freed.end());
  step_.events.insert(step_.events.begin(), there.begin(), there.end());
  const auto move = [&](size_t& event) {
    event += there.size() + (event >= until ? freed.size() : 0);
  };
  for (Repeat& repeat : step_.repeats) {
    move(repeat.begin);
    move(repeat.end);
  }
  for (Access& access : accesses_) move(access.event);
  move(step_.end_of_forward);
}

void Machine::mark_end_of_forward() {
  step_.end_of_forward = step_.events.size();
  step_.saved.clear();
  std::vector<char> seen(step_.buffers.size(), 0);
  // Those of passes before, which a schedule has by the hundred.
  std::erase_if(grad_nodes_, [](const auto& node) { return node.expired(); });
  const auto save = [&](BufferId id, const GradNode& node, std::string_view rule) {
    step_.saved.push_back({id, node.node, rule});
    ever_saved_.push_back(id);
  };
  for (const auto& weak : grad_nodes_) {
    const auto node = weak.lock();
    if (!node) continue;
    for (const Kept& k : node->kept) {
      if (!k.value.on_device()) continue;
      const BufferId id = k.value.storage()->id();
      if (id == kNoBuffer || seen[id] || outlives_values(step_.buffers[id])) continue;
      seen[id] = 1;
      save(id, *node, k.rule);
      for (const BufferId copy : copies_.of(id)) save(copy, *node, k.rule);
    }
  }
}

Step Machine::finish() {
  if (activations_) activations_->end();
  finished_ = true;
  // Feature maps are what was kept; the rest of forward was temporary.
  std::vector<char> kept(step_.buffers.size(), 0);
  for (const BufferId id : ever_saved_) kept[id] = 1;
  for (size_t i = 0; i < step_.buffers.size(); ++i) {
    Buffer& b = step_.buffers[i];
    if (b.role == Role::kFeatureMap && !kept[i]) b.role = Role::kTemporary;
  }
  step_.guards = decider_.guards();
  step_.parameter_arrays = static_cast<int64_t>(leaves_.size());
  // Where a library composes functions, its compiler makes kernels of these; what XLA fuses beyond
  // them is not counted: NVIDIA's BERT with it takes as long as that.
  if (recipe_.compiled && !policy_.composes_functions) fuse(step_, accesses_);
  return std::move(step_);
}

}  // namespace plimsoll::eager

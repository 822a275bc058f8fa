#include "graph/eager/update.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/among.h"
#include "graph/base/cancel.h"
#include "graph/eager/composed.h"
#include "graph/eager/host_update.h"
#include "graph/eager/masters.h"
#include "graph/eager/ops.h"
#include "graph/ir/list_launches.h"
#include "graph/ir/optimizer.h"

namespace plimsoll::eager {
namespace {

// Gradients are divided by the scale in place; whether one overflowed is known till the update.
Value unscale(Machine& m, const Value& scale) {
  if (!scale.defined() || copies_masters(m.recipe())) return {};
  Value found = fill(m, DType::kFloat32, {});
  const Value inverse = fill(m, DType::kFloat32, {});
  std::vector<Value> gradients;
  for (const auto& leaf : m.leaves()) {
    if (leaf->gradient.defined()) gradients.push_back(leaf->gradient);
  }
  Dim count = 0;
  for (const Value& g : gradients) count += g.count();
  const Value flat = m.host(DType::kFloat32, {count});
  m.launch_over(KernelClass::kPointwise, "unscale", count, gradients, flat);
  return found;
}

std::vector<Value> gradients_of(const Machine& m) {
  std::vector<Value> gradients;
  for (const auto& leaf : m.leaves()) {
    if (leaf->gradient.defined()) gradients.push_back(leaf->gradient);
  }
  return gradients;
}

Dim bytes_of(std::span<const Value> values) {
  Dim sum = 0;
  for (const Value& value : values) sum += value.bytes();
  return sum;
}

// torch/nn/utils/clip_grad.py: a norm of each gradient and one of all, in a few small kernels.
void norm(Machine& m, std::span<const Value> gradients) {
  if (gradients.empty()) return;
  Dim count = 0, largest = 1;
  for (const Value& gradient : gradients) {
    count += gradient.count();
    largest = max(largest, gradient.count());
  }
  const auto tensors = static_cast<int64_t>(gradients.size());
  const DType dtype = gradients.front().dtype();
  const Value norms = m.allocate(dtype, {tensors});
  m.launch({.kernel_class = KernelClass::kReduce,
            .dtype = dtype,
            .op = "foreach_norm",
            .flop = count * Dim(2),
            .read = bytes_of(gradients),
            .written = norms.bytes(),
            .problem = RowsProblem<Dim>{tensors, largest}},
           {}, {&norms});
  const Value total = m.allocate(dtype, {});
  m.launch_rows(KernelClass::kReduce, "norm", tensors * 2, {&norms}, {&total});
  for (const char* op : {"add", "div", "clip"})
    m.launch_rows(KernelClass::kPointwise, op, 1, {&total}, {&total});
}

// Of copies of all gradients, which go when it is known.
void norm_of_copies(Machine& m) {
  std::vector<Value> copies;
  for (const Value& gradient : gradients_of(m))
    copies.push_back(cast(m, gradient, *m.recipe().precision->master));
  norm(m, copies);
}

// All gradients are multiplied in place, whether that is needed or not.
void scale_down(Machine& m) {
  const std::vector<Value> gradients = gradients_of(m);
  if (gradients.empty()) return;
  const Dim all = bytes_of(gradients);
  Dim count = 0;
  for (const Value& gradient : gradients) count += gradient.count();
  m.launch({.kernel_class = KernelClass::kPointwise,
            .dtype = gradients.front().dtype(),
            .op = "foreach_mul",
            .flop = count,
            .read = all,
            .written = all,
            .problem = RowsProblem<Dim>{1, count}},
           {}, {});
}

// Parameters that are updated together: all of one type by lists, or each by itself.
struct Group {
  const UpdateRule* rule;
  std::vector<TensorType> parameters;
};

// What a kernel takes: elements and bytes of the tensors that a pass is over, and bytes of states.
struct Portion {
  Dim count = 0, bytes = 0, states = 0;
};

Dim state_bytes(const UpdateRule& rule, const TensorType& parameter) {
  Dim sum = 0;
  for (const TypeOf state : rule.states) sum += bytes(state(parameter));
  return sum;
}

Portion whole_of(const Group& group, const UpdatePass& pass) {
  Portion all;
  for (const TensorType& parameter : group.parameters) {
    const TensorType over = pass.over ? pass.over(parameter) : parameter;
    all.count += elements(over.shape);
    all.bytes += bytes(over);
    if (pass.states) all.states += state_bytes(*group.rule, parameter);
  }
  return all;
}

// Of one of so many launches.
Portion share_of(const Portion& all, int64_t launches, bool first) {
  const auto share = [&](const Dim& whole) { return share_of_launch(whole, launches, first); };
  return {share(all.count), share(all.bytes), share(all.states)};
}

int64_t launches_of(const Group& group, const UpdatePass& pass) {
  std::vector<Dim> counts;
  for (const TensorType& parameter : group.parameters)
    counts.push_back(elements(pass.over ? pass.over(parameter).shape : parameter.shape));
  return list_launches(counts, static_cast<size_t>(pass.lists), pass.scalars);
}

// Runs an optimizer's passes.
class Updater {
 public:
  Updater(Machine& m, bool scaled)
      : m_(m),
        row_(*m.recipe().optimizer),
        scaled_(scaled),
        joins_(updates_flat_arrays(m.recipe()) &&
               std::ranges::none_of(row_.rules, [](const UpdateRule& r) { return r.applies; })) {}

  void run() {
    if (!m_.policy().foreach_optimizer && is_default()) return run_as_one();
    // PyTorch keeps lists in a map, whose newest entry comes first (libstdc++'s unordered_map); one
    // parameter follows the other as they stand.
    const std::vector<Group> groups = groups_of();
    for (const UpdateForm form : {UpdateForm::kLoop, UpdateForm::kForeach, UpdateForm::kFused}) {
      for (size_t i = 0; i < groups.size(); ++i) {
        const Group& group = groups[form == UpdateForm::kLoop ? i : groups.size() - 1 - i];
        if (group.rule->form == form) run(group);
      }
      names_ = {};
    }
  }

 private:
  // Whether the form is the framework's choice.
  bool is_default() const {
    return std::ranges::all_of(row_.rules,
                               [](const UpdateRule& r) { return r.form == UpdateForm::kForeach; });
  }

  // Frameworks whose update is one operator for each parameter, in place.
  void run_as_one() {
    if (composes(m_) && !row_.has_operator) return run_composed();
    for (Group& group : groups_of()) {
      const auto states = static_cast<int>(group.rule->states.size());
      const UpdatePass pass{.read = 2, .written = 1, .states = true, .flop = 2 + 5 * states};
      launch(pass, group, whole_of(group, pass));
    }
  }

  // Operator by operator for each parameter (google-research/bert, optimization.py). Operators run
  // as they become ready, first come, first served (core/common_runtime/executor.cc): once all
  // gradients are there, the first ones of all parameters before the second ones of any.
  void run_composed() {
    struct Piece {
      int read = 1;
      bool makes = false;  // else over its operand
      bool frees = false;  // the oldest operands that were made
    };
    static constexpr std::array<Piece, 16> kPieces = {{
        {1, true},         // next_m = beta_1 * m
        {1, true},         //   + (1 - beta_1) * gradient
        {1, true},         // next_v = beta_2 * v
        {1, true},         //   + (1 - beta_2) * gradient^2
        {2, false, true},  // the two sums
        {2, false, true},
        {1, true},  // update = next_m / (sqrt(next_v)
        {1},        //   + epsilon)
        {2},
        {1, true},  //   + decay * parameter
        {2, false, true},
        {1},
        {2},
        {1},
        {1},
        {1},  // * rate; parameter - update; three assignments
    }};
    std::deque<std::vector<Value>> made;
    const std::vector<Group> groups = each_of();
    for (const Piece& piece : kPieces) {
      if (piece.makes) made.emplace_back();
      const UpdatePass pass{.read = piece.read, .written = 1, .flop = 1};
      for (const Group& group : groups) {
        const TensorType& type = group.parameters.front();
        if (piece.makes) made.back().push_back(m_.allocate(type.dtype, type.shape));
        launch(pass, group, whole_of(group, pass));
      }
      if (piece.frees) made.pop_front();
    }
  }

  // A group for each parameter.
  std::vector<Group> each_of() {
    std::vector<Group> each;
    for (const Group& group : groups_of()) {
      for (const TensorType& parameter : group.parameters)
        each.push_back({group.rule, {parameter}});
    }
    return each;
  }

  std::vector<Group> groups_of() {
    std::vector<Group> groups;
    for (const auto& leaf : m_.leaves()) {
      if (!leaf->gradient.defined() || is_updated_on_host(m_, *leaf)) continue;
      const TensorType type = updated_type(m_.recipe(), updated_part(*leaf));
      const UpdateRule& rule = rule_of(row_, type, m_.decider());
      const auto same = std::ranges::find_if(groups, [&](const Group& g) {
        return g.rule == &rule && (rule.form != UpdateForm::kLoop || joins_) &&
               g.parameters.front().dtype == type.dtype;
      });
      if (same == groups.end()) {
        groups.push_back({&rule, {type}});
      } else {
        same->parameters.push_back(type);
      }
    }
    if (joins_) std::ranges::for_each(groups, join);
    return groups;
  }

  // Its parameters are one array.
  static void join(Group& group) {
    Dim count = 0;
    for (const TensorType& parameter : group.parameters) count += elements(parameter.shape);
    group.parameters = {{group.parameters.front().dtype, {count}}};
  }

  void run(const Group& group) {
    const bool decays = m_.recipe().weight_decay;
    for (const UpdatePass& pass : group.rule->passes) {
      if (pass.when == (decays ? UpdatePass::When::kDoesNotDecay : UpdatePass::When::kDecays))
        continue;
      check_cancelled();
      run(pass, group);
      for (size_t name = 0; name < kUpdateNames; ++name) {
        if ((pass.frees >> name & 1) != 0) names_[name].clear();
      }
    }
  }

  void run(const UpdatePass& pass, const Group& group) {
    auto& name = names_[static_cast<size_t>(pass.into)];
    if (pass.compute) {
      name = {pass.compute(m_, name.front())};
      return;
    }
    if (pass.made) {
      std::vector<Value> made;
      for (const TensorType& parameter : group.parameters) {
        const TensorType type = pass.made(parameter);
        made.push_back(m_.allocate(type.dtype, type.shape));
      }
      name = std::move(made);
    }
    const Portion all = whole_of(group, pass);
    const bool lists = group.rule->form != UpdateForm::kLoop;
    const int64_t launches = lists ? launches_of(group, pass) : 1;
    if (launches > 0) launch(pass, group, share_of(all, launches, true));
    if (launches < 2) return;
    const Kernel other = kernel_of(pass, group, share_of(all, launches, false));
    for (int64_t i = 1; i < launches; ++i) m_.launch(other, {}, {}, false);  // of the same call
  }

  void launch(const UpdatePass& pass, const Group& group, const Portion& portion) {
    m_.launch(kernel_of(pass, group, portion), {}, {});
  }

  Kernel kernel_of(const UpdatePass& pass, const Group& group, const Portion& portion) const {
    Dim written = portion.bytes * Dim(pass.written + (writes_gradients(pass, group) ? 1 : 0));
    if (pass.made) written += made_bytes(pass, group, portion);
    return {.kernel_class = KernelClass::kUpdate,
            .pass = Pass::kForward,
            .dtype = group.parameters.front().dtype,
            .op = std::string(row_.name),
            .flop = portion.count * Dim(pass.flop),
            .read = portion.bytes * Dim(pass.read) + portion.states,
            .written = written + portion.states,
            .problem = RowsProblem<Dim>{.rows = 1, .columns = portion.count}};
  }

  // A kernel that is told the scale of gradients writes them without it.
  bool writes_gradients(const UpdatePass& pass, const Group& group) const {
    return scaled_ && pass.states && group.rule->form == UpdateForm::kFused;
  }

  // Lists make copies of what they are over; a loop makes tensors of other types too.
  static Dim made_bytes(const UpdatePass& pass, const Group& group, const Portion& portion) {
    return group.rule->form == UpdateForm::kLoop ? bytes(pass.made(group.parameters.front()))
                                                 : portion.bytes;
  }

  Machine& m_;
  const OptimizerRow& row_;
  bool scaled_;
  bool joins_;  // parameters to arrays, unless rules depend on their shapes
  std::array<std::vector<Value>, kUpdateNames> names_;
};

}  // namespace

std::vector<TensorType> kept_of(const Recipe& recipe, const TensorType& parameter,
                                Decider& decider) {
  const TensorType type = updated_type(recipe, parameter);
  std::vector<TensorType> kept;
  if (type.dtype != parameter.dtype && copies_masters(recipe)) kept.push_back(type);
  for (const TypeOf state : rule_of(*recipe.optimizer, type, decider).states)
    kept.push_back(state(type));
  return kept;
}

std::vector<Value> last_gradients(Machine& m) {
  std::vector<Value> gradients;
  for (const auto& leaf : m.leaves()) {
    if (!leaf->gradient.defined())
      gradients.push_back(m.allocate(leaf->leaf.dtype(), leaf->leaf.sizes()));
  }
  return gradients;
}

void make_states(Machine& m) {
  const OptimizerRow& row = *m.recipe().optimizer;
  std::vector<const UpdateRule*> seen;
  for (const auto& leaf : m.leaves()) {
    const TensorType type = updated_type(m.recipe(), updated_part(*leaf));
    if (type.dtype != leaf->leaf.dtype() && copies_masters(m.recipe()))
      keep_state(m, *leaf, type, true);
  }
  for (const auto& leaf : m.leaves()) {
    if (!leaf->reached) continue;
    const TensorType type = updated_type(m.recipe(), updated_part(*leaf));
    const UpdateRule& rule = rule_of(row, type, m.decider());
    const auto make = [&](TypeOf state) { keep_state(m, *leaf, state(type)); };
    if (std::ranges::find(seen, &rule) == seen.end()) {
      std::ranges::for_each(rule.shared, make);
      seen.push_back(&rule);
    }
    std::ranges::for_each(rule.states, make);
  }
}

void update(Machine& m, const Value& scale) {
  m.enter(Phase::kUpdate, kNoNode);
  const bool had_grad = m.grad_enabled();
  m.set_grad_enabled(false);
  if (!updates_all_on_host(m)) {
    const Value found_overflow = unscale(m, scale);
    const bool clips = m.recipe().clip_grad_norm.has_value();
    const bool of_copies = m.recipe().norm_of_copies && casts_gradients(m.recipe());
    if (clips && of_copies) norm_of_copies(m);
    // Those of FSDP's parts stay until they are set to none.
    std::vector<Value> half;
    if (casts_gradients(m.recipe())) half = cast_gradients(m);
    if (!m.recipe().parallel.master_copies) half.clear();
    if (clips && !of_copies) norm(m, gradients_of(m));
    if (clips) scale_down(m);
    Updater(m, scale.defined() && !copies_masters(m.recipe())).run();
    copy_masters(m);
  }
  if (m.recipe().parallel.offload.keeps()) update_on_host(m);
  m.set_grad_enabled(had_grad);
}

}  // namespace plimsoll::eager

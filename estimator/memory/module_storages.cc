#include "estimator/memory/module_storages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

constexpr size_t kNoStorage = static_cast<size_t>(-1);

struct Storage {
  double bytes = 0;
  int64_t born = 0, last = 0;  // written first, read last
  bool given = false;          // to a module, as input or gradient; else it shares with none
};

double all_bytes(const std::vector<Storage>& storages) {
  double sum = 0;
  for (const Storage& s : storages) sum += s.bytes;
  return sum;
}

// Storages in the order of their last use; each joins the first group whose storages are all dead
// when it is born, and a group is as large as its largest.
double shared_bytes(std::vector<Storage> storages) {
  constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
  for (Storage& s : storages) s.last = s.given ? s.last : kAlways;
  std::ranges::stable_sort(storages, {}, &Storage::last);
  std::vector<Storage> groups;
  for (const Storage& s : storages) {
    const auto group =
        std::ranges::find_if(groups, [&](const Storage& g) { return s.given && s.born > g.last; });
    if (group == groups.end()) {
      groups.push_back(s);
      continue;
    }
    group->last = s.last;
    group->bytes = std::max(group->bytes, s.bytes);
  }
  return all_bytes(groups);
}

double sum(const std::vector<double>& list) {
  return std::accumulate(list.begin(), list.end(), 0.0);
}

double largest(const std::vector<double>& list) {
  return list.empty() ? 0 : *std::ranges::max_element(list);
}

class Modules {
 public:
  Modules(const Graph& graph, const Binding& binding, const ModuleHabits& habits)
      : graph_(graph),
        binding_(binding),
        habits_(habits),
        readers_(graph.tensors.size(), 0),
        first_read_(graph.tensors.size(), 0),
        output_(graph.tensors.size(), kNoStorage),
        gradient_(graph.tensors.size(), kNoStorage),
        narrowed_(graph.tensors.size(), false) {
    for (const Node& node : graph.nodes) {
      for (const TensorId id : node.inputs) {
        if (value(id)) ++readers_[id];
      }
    }
  }

  ModuleStorages count() {
    for (const Node& node : graph_.nodes) forward(node);
    if (habits_.backward) {
      for (const TensorId id : graph_.outputs) gradient_[id] = outside();
      for (size_t i = graph_.nodes.size(); i-- > 0;) backward(graph_.nodes[i]);
    }
    const bool outputs_shared = habits_.shared && !habits_.backward;
    const bool gradients_shared = habits_.shared && habits_.backward;
    return {
        .outputs = outputs_shared ? shared_bytes(outputs_) : all_bytes(outputs_),
        .gradients = gradients_shared ? shared_bytes(gradients_) + copies_ : all_bytes(gradients_),
        .buffers = buffers()};
  }

 private:
  // Fed or computed, of numbers with a gradient.
  bool value(TensorId id) const {
    if (id == kNoTensor) return false;
    const Tensor& t = graph_.tensors[id];
    return t.kind != TensorKind::kParameter && !t.contents && is_float(t.dtype) && t.shape;
  }

  double at(const Dim& count) const {
    return static_cast<double>(count.evaluate(binding_).value_or(0));
  }

  double bytes_of(TensorId id) const {
    const Tensor& t = graph_.tensors[id];
    double bytes = bits(t.dtype) / 8.0;
    for (const Dim& extent : *t.shape) bytes *= at(extent);
    return bytes;
  }

  // nn.ReLU(true) follows convolutions; classifiers have nn.Threshold, which has a result of its
  // own (soumith/imagenet-multiGPU.torch, models/*.lua).
  bool in_place(const Node& node) const {
    constexpr size_t kImageRank = 4;
    return node.op == "Relu" && graph_.tensors[node.outputs[0]].shape->size() >= kImageRank;
  }

  // The input whose storage the result takes over, if any.
  TensorId taken(const Node& node) const {
    // nn.View and nn.Identity show their input in another shape; nn.CAddTable adds to its first.
    const bool takes = has(node, OpRow::kInOrder) || is_sum(node) || in_place(node);
    return takes && value(source_of(node)) ? source_of(node) : kNoTensor;
  }

  static TensorId source_of(const Node& node) {
    return node.inputs.empty() ? kNoTensor : node.inputs[0];
  }

  // When the module is called: a container before its branches, which begin where their input has
  // several readers.
  int64_t entered(const Node& node) const {
    if (!has(node, OpRow::kConcatenates)) return now_;
    int64_t first = now_;
    for (TensorId id : node.inputs) {
      while (value(id) && readers_[id] < 2 && graph_.tensors[id].producer != kNoNode)
        id = source_of(graph_.nodes[graph_.tensors[id].producer]);
      if (value(id) && first_read_[id] > 0) first = std::min(first, first_read_[id]);
    }
    return first;
  }

  void forward(const Node& node) {
    if (node.outputs.empty() || !value(node.outputs[0])) return;
    ++now_;
    for (const TensorId id : node.inputs) {
      if (!value(id)) continue;
      if (first_read_[id] == 0) first_read_[id] = now_;
      if (output_[id] == kNoStorage) continue;
      outputs_[output_[id]].last = now_;
      // nn.Concat reads what its branches keep, but is not given it: in evaluation their results
      // share with none. (Inferred from optnet's printed GoogLeNet, not read in its source.)
      outputs_[output_[id]].given = !has(node, OpRow::kConcatenates);
    }
    const TensorId result = node.outputs[0];
    const TensorId source = taken(node);
    if (source != kNoTensor && output_[source] != kNoStorage) {
      output_[result] = output_[source];
    } else {
      output_[result] = outputs_.size();
      outputs_.push_back({.bytes = bytes_of(result), .born = entered(node), .last = now_});
    }
    add_buffers(node);
  }

  void add_buffers(const Node& node) {
    const double result = bytes_of(node.outputs[0]);
    if (habits_.own_layers && node.op == "Conv") {
      const Shape& weight = *graph_.tensors[node.inputs[1]].shape;  // [filters, taps]
      columns_.push_back(result / at(weight[0]) * at(elements(weight, 1, weight.size())));
    }
    if (habits_.own_layers && node.op == "MaxPool") positions_.push_back(result);
    // Running and saved means and deviations.
    if (is_batch_norm(node)) rest_ += 4 * bytes_of(node.inputs[1]);
    if (node.op == "Dropout" && habits_.backward) rest_ += result;
  }

  double buffers() const {
    const bool one = habits_.shared && !habits_.backward;
    double total =
        rest_ + (one ? largest(columns_) + largest(positions_) : sum(columns_) + sum(positions_));
    // The columns' gradients.
    if (habits_.backward) total += habits_.shared ? largest(columns_) : sum(columns_);
    return total;
  }

  // Given to the network from outside: held by no module.
  size_t outside() {
    gradients_.push_back({});
    return gradients_.size() - 1;
  }

  size_t new_gradient(double bytes) {
    gradients_.push_back({.bytes = bytes, .born = now_, .last = now_});
    return gradients_.size() - 1;
  }

  void backward(const Node& node) {
    if (node.outputs.empty() || !value(node.outputs[0])) return;
    const TensorId result = node.outputs[0];
    size_t given = gradient_[result];
    if (given == kNoStorage) return;  // nothing that is trained reads it
    ++now_;
    gradients_[given].last = now_;
    gradients_[given].given = true;
    const bool passed = has(node, OpRow::kConcatenates) || taken(node) != kNoTensor;
    if (narrowed_[result]) given = contiguous(node, given, passed);
    for (const TensorId id : node.inputs) {
      if (!value(id) || (output_[id] == kNoStorage && !habits_.input_gradient)) continue;
      narrowed_[id] = has(node, OpRow::kConcatenates);
      deliver(id, passed ? given : new_gradient(bytes_of(id)));
    }
  }

  // A slice of nn.Concat's gradient is copied by the module that gets it; in place, the copy is its
  // gradient too (soumith/cudnn.torch, Pointwise.lua: _gradOutput). Sharing does not reach it.
  size_t contiguous(const Node& node, size_t given, bool passed) {
    const double bytes = bytes_of(node.outputs[0]);
    rest_ += bytes;
    if (!passed) return given;
    copies_ += bytes;
    return new_gradient(bytes);
  }

  // The container of branches adds their gradients up in one of its own (nn.Concat,
  // nn.ConcatTable).
  void deliver(TensorId id, size_t gradient) {
    if (readers_[id] < 2) {
      gradient_[id] = gradient;
      return;
    }
    if (gradient_[id] == kNoStorage) gradient_[id] = new_gradient(bytes_of(id));
    narrowed_[id] = false;
  }

  const Graph& graph_;
  const Binding& binding_;
  const ModuleHabits& habits_;
  std::vector<int> readers_;         // by tensor
  std::vector<int64_t> first_read_;  // by tensor
  std::vector<size_t> output_;       // by tensor: in outputs_
  std::vector<size_t> gradient_;     // by tensor: in gradients_
  std::vector<bool> narrowed_;       // by tensor: its gradient is a slice
  std::vector<Storage> outputs_, gradients_;
  std::vector<double> columns_, positions_;
  double rest_ = 0, copies_ = 0;
  int64_t now_ = 0;
};

}  // namespace

ModuleStorages module_storages(const Graph& graph, const Binding& binding,
                               const ModuleHabits& habits) {
  return Modules(graph, binding, habits).count();
}

}  // namespace plimsoll

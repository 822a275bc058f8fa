// NetworkBuilder: the Graph that the layers of one network are added to (layer_list.h), and the
// scopes in which they refer to each other. It infers shapes as it goes, so that a layer can see
// what it is given and a mismatch is reported where it is written.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/config/expression.h"
#include "graph/ir/graph.h"
#include "graph/json/object.h"

namespace plimsoll::config {

struct LayerValue {
  std::vector<TensorId> outputs;
  int line = 0;
  bool absent = false;  // its "when" is 0: another layer may have its name
};

// The layers that a list of layers can refer to.
struct Scope {
  const Scope* outer = nullptr;
  std::string path;  // prefix of the paths of its layers
  std::map<std::string, LayerValue, std::less<>> named;
  std::vector<TensorId> previous;           // what a layer without "input" is given
  const JsonValue::List* layers = nullptr;  // all of them, to say "comes later"
};

class NetworkBuilder {
 public:
  static constexpr int64_t kMostLayers = 100'000;
  static constexpr int kMostNested = 64;

  // `root` has the config's parameters; `blocks` may be null. All must outlive the builder.
  NetworkBuilder(std::string_view file, const JsonValue* blocks, const Environment& root,
                 Binder& binder, Diagnostics& faults, Diagnostics& warnings);

  TensorId add_input(std::string name, DType dtype, Shape shape);
  // Expects `count` copies of `layers` to come. False, with E802, where that is beyond the limit.
  bool expect_layers(int64_t count, const JsonValue::List& layers, const JsonValue& at);
  // Around a list of layers, within the layer being built: false, with E803, beyond kMostNested.
  bool open_list();
  void close_list() { --nested_; }
  // False, with E802, beyond kMostLayers.
  bool count_layer(const JsonValue& value);
  // The layer being built from now on, where faults are; returns the one around it, for
  // finish_layer().
  const JsonValue* start_layer(const std::string& path, const JsonValue& value);
  void finish_layer(const JsonValue* around) { at_ = around; }
  // The tensors that `reference` names ("conv1", "lstm:1", "previous"): E341 where it is unknown.
  std::vector<TensorId> resolve(const std::string& reference, const Scope& scope,
                                const JsonValue& at);

  // How the weights made from now on come about. Each returns what held before.
  struct Sharing {
    std::string layer, with;  // what `layer` holds are the weights of the layer `with`
  };
  bool freeze(bool frozen) { return std::exchange(frozen_, frozen); }
  Sharing share(Sharing sharing) { return std::exchange(sharing_, std::move(sharing)); }
  bool frozen() const { return frozen_; }
  // Tensors that the program keeps beside the network's outputs.
  void retain(const std::vector<TensorId>& outputs) {
    retained_.insert(retained_.end(), outputs.begin(), outputs.end());
  }
  const std::vector<TensorId>& retained() const { return retained_; }
  // Tensors that the code of this module has names for (NodeNotes::local_to).
  void keep_local(const std::vector<TensorId>& outputs, const std::string& module) {
    for (const TensorId id : outputs) {
      const NodeId producer = graph_.tensors[id].producer;
      if (producer != kNoNode)
        graph_.nodes[producer].notes.local_to = module.empty() ? "." : module;
    }
  }
  // Stacks of tensors, by name: what goes around a part of the network (skip connections).
  void push(const std::string& stack, TensorId tensor) { stacks_[stack].push_back(tensor); }
  // The last one pushed, or the first one, which goes: kNoTensor where the stack is empty.
  TensorId pop(const std::string& stack, bool first, bool stays);
  const Sharing& sharing() const { return sharing_; }

  // For Layer.
  TensorId add_parameter(std::string name, Shape shape, DType dtype);
  TensorId find_parameter(const std::string& name) const;
  TensorId add_constant(std::vector<Dim> values);
  // A float tensor that nobody trains: it enters the graph as a Constant node does.
  TensorId add_table(Shape shape);
  TensorId add_small(DType dtype, Shape shape, Contents contents);
  // Adds a node of the layer being built and infers its outputs. E342 where it does not fit.
  std::vector<TensorId> add_node(Node node, size_t outputs);
  const JsonValue* block(std::string_view name) const;
  std::vector<std::string> block_names() const;

  // "'pool5' (line 10) f32[batch,256,6,6]"
  std::string describe_tensor(TensorId id) const;

  bool failed() const { return has_error(faults_); }
  void fail(std::string code, std::string message, const JsonValue& at, std::string help = {});
  Diagnostics& faults() { return faults_; }
  Binder& binder() { return binder_; }
  const Environment& root() const { return root_; }
  std::string_view file() const { return file_; }
  // Nanoseconds that a layer works on the host while the device waits for it.
  void wait_for_host(const Dim& ns) { host_ns_ = host_ns_ + ns; }
  const Dim& host_ns() const { return host_ns_; }
  Graph& graph() { return graph_; }

 private:
  TensorId shared_parameter(const std::string& name, const Shape& shape);
  TensorId add_fixed(Tensor tensor);
  std::string describe_inputs(const Node& node) const;

  std::string_view file_;
  const JsonValue* blocks_;
  const Environment& root_;
  Binder& binder_;
  Diagnostics& faults_;
  Diagnostics& warnings_;
  Decider decider_;
  Graph graph_;
  std::map<std::string, TensorId, std::less<>> parameters_;
  std::map<std::string, int, std::less<>> lines_;  // of layers, by path
  int64_t layers_ = 0;
  int64_t constants_ = 0;
  bool frozen_ = false;
  Sharing sharing_;
  Dim host_ns_ = 0;
  std::vector<TensorId> retained_;
  std::map<std::string, std::vector<TensorId>, std::less<>> stacks_;
  int nested_ = 0;                 // lists of layers within lists
  const JsonValue* at_ = nullptr;  // the layer being built
};

}  // namespace plimsoll::config

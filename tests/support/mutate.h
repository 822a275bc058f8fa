// Structure-aware mutations of ONNX models: what a broken exporter, a hand with a hex editor or an
// enemy may make of a sound file, far behind what random bytes reach.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "graph/base/text.h"
#include "tests/support/onnx_tree.h"

namespace plimsoll::test {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // In [0, count); the standard's distributions differ between libraries.
  size_t pick(size_t count) { return static_cast<size_t>(random_() % std::max<size_t>(1, count)); }
  template <class List>
  const auto& one_of(const List& list) {
    return list[pick(std::size(list))];
  }

  // Changes `model` at one to three places; `donor` gives nodes.
  void mutate(Message& model, const Message& donor) {
    for (size_t i = 1 + pick(3); i > 0; --i) once(model, donor);
  }

 private:
  using Change = void (Mutator::*)(Message&);

  void once(Message& model, const Message& donor) {
    static constexpr Change kOfNodes[] = {&Mutator::change_attribute, &Mutator::change_attribute,
                                          &Mutator::change_attribute, &Mutator::own_attribute,
                                          &Mutator::rewire,           &Mutator::rewire,
                                          &Mutator::change_arity,     &Mutator::rename_operator};
    static constexpr Change kOfGraphs[] = {&Mutator::change_extents, &Mutator::change_extents,
                                           &Mutator::change_type,    &Mutator::change_contents,
                                           &Mutator::shuffle_nodes,  &Mutator::nest};
    Message::Field* field = model.find(7);
    if (!field || field->message.empty()) return;
    Message& graph = field->message[0];
    const auto nodes = graph.all(1);
    if (!nodes.empty() && pick(8) == 0) return take_node(graph, donor);
    if (!nodes.empty() && pick(2) == 0) {
      names_ = names_of(graph);
      return (this->*one_of(kOfNodes))(graph.fields[one_of(nodes)].message[0]);
    }
    (this->*one_of(kOfGraphs))(graph);
  }

  int64_t number() {
    static constexpr int64_t kNumbers[] = {-1,
                                           0,
                                           1,
                                           2,
                                           -2,
                                           3,
                                           7,
                                           -7,
                                           64,
                                           65,
                                           4096,
                                           -4096,
                                           int64_t{1} << 31,
                                           int64_t{1} << 32,
                                           -(int64_t{1} << 32),
                                           int64_t{1} << 48,
                                           int64_t{1} << 62,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
    return one_of(kNumbers);
  }

  static std::vector<std::string> names_of(const Message& graph) {
    std::vector<std::string> names = {"", "nobody's"};
    for (const Message::Field& f : graph.fields) {
      if (f.message.empty()) continue;
      const Message& m = f.message[0];
      if (f.number == 11) names.push_back(m.text(1));
      if (f.number == 5) names.push_back(m.text(8));
      for (const size_t out : f.number == 1 ? m.all(2) : std::vector<size_t>())
        names.push_back(m.fields[out].bytes);
    }
    return names;
  }

  // Field 3 is the whole number, 8 the list of them, 2 the real one, 4 the text, 20 the type.
  void change_attribute(Message& node) {
    const auto attributes = node.all(5);
    if (attributes.empty()) return own_attribute(node);
    const size_t at = one_of(attributes);
    Message& attribute = node.fields[at].message[0];
    auto* whole = attribute.find(3);
    const auto list = attribute.all(8);
    switch (pick(8)) {
      case 0:
        node.fields.erase(node.fields.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        attribute.fields.push_back({.number = 8, .value = as_wire(number())});
        return;
      case 2:
        if (!list.empty())
          attribute.fields.erase(attribute.fields.begin() +
                                 static_cast<std::ptrdiff_t>(one_of(list)));
        return;
      case 3:
        if (auto* type = attribute.find(20)) type->value = 1 + pick(14);
        return;
      case 4: {
        Message copy = attribute;
        if (auto* other = copy.find(3)) other->value = as_wire(number());
        node.add(5, std::move(copy));
        return;
      }
      case 5:
        if (auto* text = attribute.find(4)) text->bytes = one_of(names_);
        return;
      default:
        if (whole) whole->value = as_wire(number());
        if (!list.empty()) attribute.fields[one_of(list)].value = as_wire(number());
        return;
    }
  }

  // Names that the tool itself gives to attributes, or that other operators have.
  void own_attribute(Message& node) {
    static const std::vector<std::string_view> kNames = split(
        "in_place of_view plimsoll.pad_merged unbound positions apart layers directions "
        "batch_first skip_input unrolled values_alone causal scaled axis axes perm group "
        "num_groups num_heads q_num_heads kv_num_heads strides dilations pads keepdims "
        "kernel_shape transA transB to split num_outputs hidden_size allowzero layout "
        "ceil_mode output_shape output_padding blocksize batch_dims select_last_index "
        "storage_order noop_with_empty_axes start end",
        ' ');
    Message attribute(Kind::kAttribute);
    attribute.add(1, one_of(kNames));
    if (pick(2) == 0) {
      attribute.add(3, as_wire(number())).add(20, 2);
    } else {
      for (size_t i = pick(5); i > 0; --i) attribute.add(8, as_wire(number()));
      attribute.add(20, 7);
    }
    node.add(5, std::move(attribute));
  }

  void rewire(Message& node) {
    const auto inputs = node.all(1);
    const auto outputs = node.all(2);
    if (!inputs.empty() && pick(8) != 0) {
      node.fields[one_of(inputs)].bytes = one_of(names_);
    } else if (!outputs.empty()) {
      node.fields[one_of(outputs)].bytes = one_of(names_);
    }
  }

  void change_arity(Message& node) {
    const uint32_t side = pick(4) == 0 ? 2 : 1;
    const auto ends = node.all(side);
    if (pick(2) == 0 || ends.empty()) {
      node.add(side, side == 1 ? one_of(names_) : "another");
    } else {
      node.fields.erase(node.fields.begin() + static_cast<std::ptrdiff_t>(one_of(ends)));
    }
  }

  void rename_operator(Message& node) {
    static const std::vector<std::string_view> kOps = split(
        "Add MatMul Gemm Conv ConvTranspose Transpose Reshape Squeeze Unsqueeze Concat Split "
        "Slice Gather ReduceSum ReduceMax Softmax LSTM GRU Attention Einsum Resize Pad "
        "Expand Tile Flatten Where TopK MaxPool AveragePool BatchNormalization "
        "LayerNormalization GroupNormalization InstanceNormalization Range OneHot CumSum "
        "Cast ConstantOfShape ScatterND GatherND DepthToSpace NonZero Dropout If Loop Scan "
        "SequenceConstruct",
        ' ');
    static constexpr std::string_view kDomains[] = {"", "plimsoll", "com.microsoft", "ai.onnx"};
    static const std::vector<std::string_view> kOwn = split(
        "Linear Recurrent RecurrentCell Attention AdditiveScores WeightNorm SpectralNorm "
        "RMSNorm Glu Embedding",
        ' ');
    auto* op = node.find(4);
    if (!op) return;
    op->bytes = pick(4) == 0 ? one_of(kOwn) : one_of(kOps);
    if (pick(3) != 0) return;
    if (auto* domain = node.find(7)) {
      domain->bytes = one_of(kDomains);
    } else {
      node.add(7, one_of(kDomains));
    }
  }

  // Of an input, an initializer or what the file says of a tensor between.
  void change_extents(Message& graph) {
    static constexpr uint32_t kLists[] = {5, 11, 11, 12, 13};
    const auto tensors = graph.all(one_of(kLists));
    if (tensors.empty()) return;
    Message& owner = graph.fields[one_of(tensors)].message[0];
    if (owner.kind == Kind::kTensor) {
      const auto dims = owner.all(1);
      if (dims.empty() || pick(4) == 0) {
        owner.fields.insert(owner.fields.begin(), {.number = 1, .value = as_wire(number())});
      } else if (pick(4) == 0) {
        owner.fields.erase(owner.fields.begin() + static_cast<std::ptrdiff_t>(one_of(dims)));
      } else {
        owner.fields[one_of(dims)].value = as_wire(number());
      }
      return;
    }
    Message* shape = shape_of(owner);
    if (!shape) return;
    Message dim(Kind::kDim);
    if (pick(3) == 0) {
      dim.add(2, "batch");
    } else {
      dim.add(1, as_wire(number()));
    }
    const auto dims = shape->all(1);
    if (dims.empty() || pick(4) == 0) {
      shape->add(1, std::move(dim));
    } else if (pick(4) == 0) {
      shape->fields.erase(shape->fields.begin() + static_cast<std::ptrdiff_t>(one_of(dims)));
    } else {
      shape->fields[one_of(dims)].message[0] = std::move(dim);
    }
  }

  static Message* shape_of(Message& value) {
    auto* type = value.find(2);
    auto* tensor = type && !type->message.empty() ? type->message[0].find(1) : nullptr;
    auto* shape = tensor && !tensor->message.empty() ? tensor->message[0].find(2) : nullptr;
    return shape && !shape->message.empty() ? &shape->message[0] : nullptr;
  }

  void change_type(Message& graph) {
    const auto weights = graph.all(5);
    const auto inputs = graph.all(11);
    if (!weights.empty() && pick(2) == 0) {
      if (auto* type = graph.fields[one_of(weights)].message[0].find(2)) type->value = pick(24);
    } else if (!inputs.empty()) {
      auto* type = graph.fields[one_of(inputs)].message[0].find(2);
      auto* tensor = type && !type->message.empty() ? type->message[0].find(1) : nullptr;
      auto* element = tensor && !tensor->message.empty() ? tensor->message[0].find(1) : nullptr;
      if (element) element->value = pick(24);
    }
  }

  // Whole numbers in an initializer or a Constant: axes, shapes, slices.
  void change_contents(Message& graph) {
    std::vector<Message*> tensors;
    for (Message::Field& f : graph.fields) {
      if (f.message.empty()) continue;
      if (f.number == 5) tensors.push_back(&f.message[0]);
      for (Message::Field& a : f.message[0].fields) {
        if (f.number != 1 || a.number != 5 || a.message.empty()) continue;
        if (auto* t = a.message[0].find(5); t && !t->message.empty())
          tensors.push_back(&t->message[0]);
      }
    }
    std::erase_if(tensors, [](Message* t) {
      const auto* type = t->find(2);
      return !type || type->value != 7;
    });
    if (tensors.empty()) return;
    Message& tensor = *one_of(tensors);
    const int64_t value = number();
    auto* raw = tensor.find(9);
    if (raw && raw->bytes.size() >= 8) {
      const size_t at = 8 * pick(raw->bytes.size() / 8);
      for (size_t i = 0; i < 8; ++i)
        raw->bytes[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    } else if (const auto listed = tensor.all(7); !listed.empty()) {
      auto& field = tensor.fields[one_of(listed)];
      if (field.wire == 0) field.value = as_wire(value);
    }
  }

  void shuffle_nodes(Message& graph) {
    const auto nodes = graph.all(1);
    if (nodes.empty()) return;
    const size_t at = one_of(nodes);
    switch (pick(3)) {
      case 0:
        std::swap(graph.fields[at], graph.fields[one_of(nodes)]);
        return;
      case 1:
        graph.fields.erase(graph.fields.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      default: {  // once more, under names of its own
        Message copy = graph.fields[at].message[0];
        for (const size_t out : copy.all(2)) copy.fields[out].bytes += "'";
        graph.add(1, std::move(copy));
      }
    }
  }

  void take_node(Message& graph, const Message& donor) {
    for (const Message::Field& f : donor.fields) {
      if (f.number != 7 || f.message.empty()) continue;
      const auto nodes = f.message[0].all(1);
      if (nodes.empty()) return;
      Message node = f.message[0].fields[one_of(nodes)].message[0];
      names_ = names_of(graph);
      for (const size_t in : node.all(1)) node.fields[in].bytes = one_of(names_);
      // In the place of another, whose readers get its results.
      Message& old = graph.fields[one_of(graph.all(1))].message[0];
      const auto outputs = node.all(2);
      const auto before = old.all(2);
      for (size_t i = 0; i < outputs.size() && i < before.size(); ++i)
        node.fields[outputs[i]].bytes = old.fields[before[i]].bytes;
      old = std::move(node);
      return;
    }
  }

  // All nodes into the body of an If, a few levels deep, whose condition is a constant, an input of
  // the file or nobody's.
  void nest(Message& graph) {
    const size_t levels = 1 + pick(pick(8) == 0 ? 40 : 3);
    const size_t branches = levels > 3 ? 1 : 2;  // each holds all that is inside
    for (size_t level = 0; level < levels; ++level) {
      Message body(Kind::kGraph);
      Message node(Kind::kNode);
      body.add(2, "body");
      names_ = names_of(graph);
      for (const size_t i : graph.all(1)) body.fields.push_back(graph.fields[i]);
      for (const size_t i : graph.all(12)) {
        node.add(2, graph.fields[i].message[0].text(1));
        body.fields.push_back(graph.fields[i]);
      }
      std::erase_if(graph.fields, [](const Message::Field& f) { return f.number == 1; });
      const bool loop = pick(3) == 0;
      node.add(1, pick(2) ? "condition" : one_of(names_)).add(4, loop ? "Loop" : "If");
      if (loop) node.add(1, "condition");
      for (const std::string_view branch : {"then_branch", "else_branch", "body"}) {
        if (pick(16) == 0 || (branch == "else_branch" && branches == 1)) continue;
        Message attribute(Kind::kAttribute);
        attribute.add(1, branch).add(6, body).add(20, 5);
        if ((branch == "body") == loop) node.add(5, std::move(attribute));
      }
      Message condition(Kind::kTensor);
      condition.add(2, pick(4) == 0 ? 7 : 9)
          .add(9, std::string_view("\1\0\0\0\0\0\0\0", 8))
          .add(8, "condition");
      graph.add(5, std::move(condition)).add(1, std::move(node));
    }
  }

  static uint64_t as_wire(int64_t value) { return static_cast<uint64_t>(value); }

  std::mt19937_64 random_;
  std::vector<std::string> names_;
};

}  // namespace plimsoll::test

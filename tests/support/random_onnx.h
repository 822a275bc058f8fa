// ONNX files by chance: operators on rows, sequences and maps, with weights, in any order that
// fits, and now and then with an attribute that does not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/chance.h"
#include "tests/support/onnx_writer.h"

namespace plimsoll::test {

class RandomOnnx {
 public:
  explicit RandomOnnx(uint64_t seed) : chance_(seed) {}

  std::string bytes() {
    Known x{"x", {}};
    const int64_t axes = chance_.between(1, 3);
    for (int64_t i = 0; i < axes; ++i) x.shape.push_back(4 * chance_.between(1, 6));
    known_.push_back(x);
    const int64_t nodes = chance_.between(2, 14);
    for (int64_t i = 0; i < nodes; ++i) add();
    apply("Tanh", known_.back());  // a kernel at least
    GraphParts parts;
    parts.nodes = nodes_;
    parts.initializers = weights_;
    parts.inputs = {input(x)};
    parts.outputs = {untyped(known_.back().name)};
    return model(graph(parts), chance_.pick<int64_t>({13, 17, 20})).bytes();
  }

 private:
  struct Known {
    std::string name;
    std::vector<int64_t> shape;  // of a sample
  };

  Proto input(const Known& x) {
    const Extent batch = chance_.one_in(3) ? Extent(chance_.between(1, 16)) : Extent("batch");
    if (x.shape.size() == 1) return value("x", {batch, x.shape[0]});
    if (x.shape.size() == 2) return value("x", {batch, x.shape[0], x.shape[1]});
    return value("x", {batch, x.shape[0], x.shape[1], x.shape[2]});
  }

  std::string weight(const std::vector<int64_t>& dims) {
    const std::string name = "w" + std::to_string(weights_.size()) + ".weight";
    weights_.push_back(tensor(name, 1, dims));
    return name;
  }
  std::string numbers(const std::vector<int64_t>& values) {
    const std::string name = "n" + std::to_string(weights_.size());
    weights_.push_back(integers(name, {static_cast<int64_t>(values.size())}, values));
    return name;
  }
  Known& next(std::vector<int64_t> shape) {
    return known_.emplace_back(Known{"v" + std::to_string(known_.size()), std::move(shape)});
  }
  // An attribute as it should be, or hardly ever any other number.
  Proto number(std::string_view name, int64_t value) {
    return attribute(name, chance_.one_in(60)
                               ? chance_.pick<int64_t>({0, -1, -7, 9, 1 << 30, INT64_MIN})
                               : value);
  }
  Proto list(std::string_view name, std::vector<int64_t> values) {
    if (chance_.one_in(60)) values.push_back(chance_.pick<int64_t>({0, -1, 3, INT64_MAX}));
    if (chance_.one_in(60)) values.front() = chance_.pick<int64_t>({0, -2, 99, INT64_MIN});
    return attribute(name, values);
  }

  void add() {
    const Known from = known_[static_cast<size_t>(
        chance_.one_in(3) ? chance_.between(0, static_cast<int64_t>(known_.size()) - 1)
                          : static_cast<int64_t>(known_.size()) - 1)];
    switch (chance_.between(1, 9)) {
      case 1:
      case 2:
        return pointwise(from);
      case 3:
        return together(from);
      case 4:
        return moved(from);
      case 5:
        return norm(from);
      case 6:
        return softmax_or_reduction(from);
      default:
        return from.shape.size() == 3 ? convolution_or_pool(from) : product(from);
    }
  }

  void pointwise(const Known& from) {
    apply(chance_.pick<std::string>({"Relu", "Sigmoid", "Tanh", "Elu", "LeakyRelu", "HardSwish",
                                     "Softplus", "Erf", "Exp", "Neg", "Abs", "Identity", "Dropout",
                                     "Sqrt"}),
          from);
  }
  void apply(const std::string& op, const Known& from) {
    const std::string source = from.name;  // `from` may move
    const Known& to = next(from.shape);
    if (chance_.one_in(10)) {
      nodes_.push_back(node(op, {source}, {to.name}, {attribute("in_place", 1)}));
    } else {
      nodes_.push_back(node(op, {source}, {to.name}));
    }
  }

  void together(const Known& from) {
    for (const Known& other : std::vector<Known>(known_)) {
      if (other.shape != from.shape || other.name == from.name) continue;
      if (chance_.one_in(4)) {
        std::vector<int64_t> sum = from.shape;
        sum[0] *= 2;
        const Known& to = next(sum);
        nodes_.push_back(node("Concat", {from.name, other.name}, {to.name}, {number("axis", 1)}));
        return;
      }
      const Known& to = next(from.shape);
      const std::string op = chance_.pick<std::string>({"Add", "Mul", "Sub", "Div", "Max"});
      nodes_.push_back(node(op, {from.name, other.name}, {to.name}));
      return;
    }
    const std::string scale = weight({from.shape.back()});
    const Known& to = next(from.shape);
    nodes_.push_back(node("Mul", {from.name, scale}, {to.name}));
  }

  void moved(const Known& from) {
    const auto rank = static_cast<int64_t>(from.shape.size());
    if (rank == 1) return pointwise(from);
    if (chance_.one_in(2)) {
      std::vector<int64_t> turned = from.shape, perm{0};
      for (int64_t i = rank; i > 0; --i) perm.push_back(i);
      std::reverse(turned.begin(), turned.end());
      const Known& to = next(turned);
      nodes_.push_back(node("Transpose", {from.name}, {to.name}, {list("perm", perm)}));
      return;
    }
    int64_t all = 1;
    for (const int64_t extent : from.shape) all *= extent;
    const Known& to = next({all});
    if (chance_.one_in(2)) {
      nodes_.push_back(node("Flatten", {from.name}, {to.name}, {number("axis", 1)}));
    } else {
      const std::string shape =
          numbers({chance_.one_in(20) ? -3 : 0, chance_.one_in(2) ? -1 : all});
      nodes_.push_back(node("Reshape", {from.name, shape}, {to.name}));
    }
  }

  void norm(const Known& from) {
    const int64_t channels = from.shape[0];
    if (from.shape.size() == 2 && chance_.one_in(2)) {
      const std::string scale = weight({from.shape[1]}), bias = weight({from.shape[1]});
      const Known& to = next(from.shape);
      nodes_.push_back(
          node("LayerNormalization", {from.name, scale, bias}, {to.name}, {number("axis", -1)}));
      return;
    }
    std::vector<std::string> w;
    for (int i = 0; i < 4; ++i) w.push_back(weight({channels}));
    const Known& to = next(from.shape);
    nodes_.push_back(node("BatchNormalization", {from.name, w[0], w[1], w[2], w[3]}, {to.name},
                          {number("training_mode", chance_.between(0, 1))}));
  }

  void softmax_or_reduction(const Known& from) {
    if (from.shape.size() == 1 || chance_.one_in(2)) {
      const Known& to = next(from.shape);
      const std::string op = chance_.pick<std::string>({"Softmax", "LogSoftmax"});
      nodes_.push_back(node(op, {from.name}, {to.name}, {number("axis", -1)}));
      return;
    }
    std::vector<int64_t> kept = from.shape;
    kept.pop_back();
    const std::string op = chance_.pick<std::string>({"ReduceMean", "ReduceMax"});
    const Known& to = next(kept);
    nodes_.push_back(node(op, {from.name}, {to.name}, {list("axes", {-1}), number("keepdims", 0)}));
  }

  void product(const Known& from) {
    const int64_t in = from.shape.back(), out = 4 * chance_.between(1, 12);
    std::vector<int64_t> shape = from.shape;
    shape.back() = out;
    if (from.shape.size() == 1 && chance_.one_in(2)) {
      const std::string w = weight({out, in}), bias = weight({out});
      const Known& to = next(shape);
      nodes_.push_back(node("Gemm", {from.name, w, bias}, {to.name}, {number("transB", 1)}));
      return;
    }
    const std::string w = weight({in, out});
    const Known& to = next(shape);
    nodes_.push_back(node("MatMul", {from.name, w}, {to.name}));
  }

  void convolution_or_pool(const Known& from) {
    const int64_t channels = from.shape[0];
    if (from.shape[1] >= 4 && from.shape[2] >= 4 && chance_.one_in(3)) {
      const auto half = [](int64_t extent) { return (extent - 2) / 2 + 1; };
      const std::string op = chance_.pick<std::string>({"MaxPool", "AveragePool"});
      const Known& to = next({channels, half(from.shape[1]), half(from.shape[2])});
      nodes_.push_back(node(op, {from.name}, {to.name},
                            {list("kernel_shape", {2, 2}), list("strides", {2, 2})}));
      return;
    }
    const int64_t groups = chance_.one_in(4) ? channels : 1;
    const int64_t out = groups > 1 ? channels : 4 * chance_.between(1, 8);
    const std::string w = weight({out, channels / groups, 3, 3});
    const Known& to = next({out, from.shape[1], from.shape[2]});
    nodes_.push_back(node("Conv", {from.name, w}, {to.name},
                          {number("group", groups), list("pads", {1, 1, 1, 1})}));
  }

  Chance chance_;
  std::vector<Known> known_;
  std::vector<Proto> nodes_, weights_;
};

}  // namespace plimsoll::test

// Configs by chance: mostly sound, sometimes with a size, a rate or a kind that cannot be.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/chance.h"

namespace plimsoll::test {

class RandomConfig {
 public:
  explicit RandomConfig(uint64_t seed) : chance_(seed) {}

  std::string text() {
    json config = {{"schema", "plimsoll.model-config"}, {"version", 1}, {"name", "random"}};
    config["parameters"] = {{"width", 4 * chance_.between(1, 12)},
                            {"batch", chance_.between(1, 64)},
                            {"depth", chance_.between(1, 3)}};
    const auto kind = chance_.pick<std::string>({"row", "sequence", "map", "tokens"});
    json input = {{"name", "x"}};
    if (kind == "row") shape_ = {side()};
    if (kind == "sequence") shape_ = {side(), 4 * chance_.between(1, 12)};
    if (kind == "map") shape_ = {4 * chance_.between(1, 4), side(), side()};
    if (kind == "tokens") shape_ = {side()};
    input["shape"] = {"batch"};
    for (const int64_t extent : shape_) input["shape"].push_back(extent);
    if (kind == "tokens") input["dtype"] = "i64";
    config["inputs"] = json::array({input});
    config["layers"] = json::array();
    if (kind == "tokens") {
      shape_.push_back(4 * chance_.between(1, 12));
      config["layers"].push_back(
          {{"type", "embedding"}, {"vocabulary", chance_.between(2, 1000)}, {"size", shape_[1]}});
    }
    const int64_t layers = chance_.between(1, 8);
    for (int64_t i = 0; i < layers; ++i) config["layers"].push_back(layer(0));
    config["layers"].push_back({{"type", "tanh"}});  // a kernel at least
    if (chance_.one_in(2))
      config["loss"] = chance_.pick<std::string>({"cross_entropy", "mse", "bce", "sum", "none"});
    return config.dump(1);
  }

 private:
  using json = nlohmann::json;

  int64_t side() { return chance_.between(6, 24); }

  // A count as people write it, and now and then as they should not.
  json count(int64_t value) {
    if (chance_.one_in(60)) {
      return chance_.pick<json>({0, -3, "width-100", "0*width", "depth-depth", 1.5, true, nullptr,
                                 "width//0", int64_t{1} << 62, "width*4611686018427387904", "x"});
    }
    if (chance_.one_in(6)) return std::to_string(value) + "+0*width";
    if (chance_.one_in(40)) return static_cast<double>(value);
    return value;
  }
  json rate() {
    return chance_.one_in(40) ? chance_.pick<json>({-0.5, 1, 1.5, "width"}) : json(0.1);
  }

  json layer(int depth) {
    const int64_t which = chance_.between(1, 10);
    if (which <= 3) return pointwise();
    if (which == 4 && depth < 3) return nested(depth);
    if (shape_.size() == 1) return of_row();
    return shape_.size() == 2 ? of_sequence() : of_map();
  }

  json pointwise() {
    if (chance_.one_in(6)) return {{"type", "dropout"}, {"rate", rate()}};
    if (chance_.one_in(8)) return {{"type", "scale"}, {"by", 0.5}};
    if (shape_.back() % 2 == 0 && chance_.one_in(10)) {
      shape_.back() /= 2;
      return {{"type", "glu"}, {"gate", chance_.pick<std::string>({"sigmoid", "silu", "gelu"})}};
    }
    return {{"type", chance_.pick<std::string>({"relu", "silu", "gelu", "tanh", "sigmoid", "elu",
                                                "leaky_relu", "hard_swish", "mish", "softplus",
                                                "softmax", "prelu", "relu6", "identity"})}};
  }

  // Layers that leave the shape as it is.
  json keeping(int64_t most) {
    const std::vector<int64_t> before = shape_;
    json layers = json::array();
    for (int64_t i = chance_.between(1, most); i > 0; --i) layers.push_back(layer(2));
    if (shape_ != before) {
      shape_ = before;
      layers = json::array({pointwise()});
      if (shape_ != before) {
        shape_ = before;
        layers = json::array({{{"type", "relu"}}});
      }
    }
    return layers;
  }

  json nested(int depth) {
    switch (chance_.between(1, 4)) {
      case 1:
        return {{"type", "residual"}, {"layers", keeping(3)}};
      case 2:
        return {{"type", "repeat"},
                {"count", chance_.one_in(2) ? json("depth") : count(2)},
                {"layers", keeping(2)}};
      case 3:
        return {{"type", "branches"},
                {"merge", "add"},
                {"branches", {{"a", keeping(2)}, {"b", keeping(2)}}}};
      default: {
        json layers = json::array();
        for (int64_t i = chance_.between(1, 3); i > 0; --i) layers.push_back(layer(depth + 1));
        return {{"type", "sequence"}, {"layers", layers}, {"frozen", chance_.one_in(4)}};
      }
    }
  }

  json linear() {
    shape_.back() = chance_.between(1, 64);
    return {{"type", "linear"}, {"out", count(shape_.back())}, {"bias", chance_.one_in(2)}};
  }

  json of_row() {
    if (chance_.one_in(3)) return {{"type", "batch_norm"}, {"affine", !chance_.one_in(4)}};
    return linear();
  }

  json of_sequence() {
    const auto heads = [&] { return shape_[1] % 4 == 0 ? 4 : 1; };
    switch (chance_.between(1, 8)) {
      case 1:
        return {{"type", "layer_norm"}, {"bias", chance_.one_in(2)}};
      case 2:
        return {{"type", "rms_norm"}, {"fused", chance_.one_in(2)}};
      case 3:
        return {{"type", "attention"},
                {"heads", count(heads())},
                {"causal", chance_.one_in(2)},
                {"packed", chance_.one_in(2)},
                {"dropout", rate()}};
      case 4:
        return {{"type", "multihead_attention"},
                {"heads", count(heads())},
                {"weights", chance_.one_in(2)},
                {"dropout", rate()}};
      case 5: {
        const bool both = chance_.one_in(3);
        const int64_t hidden = chance_.between(1, 32);
        shape_[1] = hidden * (both ? 2 : 1);
        return {{"type", chance_.pick<std::string>({"lstm", "gru", "rnn"})},
                {"hidden", count(hidden)},
                {"layers", count(chance_.between(1, 2))},
                {"bidirectional", both},
                {"unrolled", chance_.one_in(4)}};
      }
      case 6:
        return {{"type", "position"}, {"kind", chance_.pick<std::string>({"learned", "fixed"})}};
      case 7:
        if (chance_.one_in(2)) {
          shape_ = {shape_[1]};
          return {{"type", "select"}, {"axis", 1}, {"index", 0}};
        }
        std::swap(shape_[0], shape_[1]);
        return {{"type", "transpose"}, {"order", {0, 2, 1}}};
      default:
        return linear();
    }
  }

  json convolution() {
    const int64_t kernel = chance_.pick<int64_t>({1, 3});
    const bool grouped = chance_.one_in(4);
    if (!grouped) shape_[0] = 4 * chance_.between(1, 8);
    return {{"type", "conv2d"},          {"out", count(shape_[0])},
            {"kernel", kernel},          {"padding", count(kernel / 2)},
            {"bias", chance_.one_in(2)}, {"groups", grouped ? shape_[0] : 1}};
  }

  json of_map() {
    const bool halves = shape_[1] >= 4 && shape_[2] >= 4;
    switch (chance_.between(1, 7)) {
      case 1:
        return {{"type", "batch_norm"}};
      case 2:
        return {{"type", "group_norm"}, {"groups", count(shape_[0] % 2 == 0 ? 2 : 1)}};
      case 3:
        if (!halves) return convolution();
        shape_[1] = (shape_[1] - 2) / 2 + 1;
        shape_[2] = (shape_[2] - 2) / 2 + 1;
        return {{"type", chance_.pick<std::string>({"max_pool2d", "average_pool2d"})},
                {"kernel", count(2)}};
      case 4:
        shape_[1] *= 2;
        shape_[2] *= 2;
        return {{"type", "upsample"},
                {"scale", 2},
                {"mode", chance_.pick<std::string>({"nearest", "linear"})}};
      case 5:
        if (!chance_.one_in(2)) return convolution();
        shape_ = {shape_[0] * shape_[1] * shape_[2]};
        return {{"type", "flatten"}};
      case 6:
        return {{"type", "instance_norm"}, {"affine", chance_.one_in(2)}};
      default:
        return convolution();
    }
  }

  Chance chance_;
  std::vector<int64_t> shape_;  // of a sample
};

}  // namespace plimsoll::test

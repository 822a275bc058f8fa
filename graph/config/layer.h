// Layer: one layer while it is built: its arguments, decoded by the keys of its type, its inputs,
// and the graph its nodes go to. Faults are collected and sticky: after the first one every call
// returns something harmless, so that an emitter reads like the formula it stands for.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "graph/config/expression.h"
#include "graph/config/layer_type.h"
#include "graph/config/network_builder.h"
#include "graph/json/object.h"

namespace plimsoll::config {

class Layer {
 public:
  // Decodes `object` by the keys of `type`; unknown and missing keys become faults.
  Layer(NetworkBuilder& builder, const LayerType& type, JsonObject& object,
        const Environment& environment);

  // Arguments. A key that is absent has the default of its row.
  bool has(std::string_view key) const;
  Dim extent(std::string_view key);
  int64_t integer(std::string_view key);
  // One value per axis: a single number serves all.
  std::vector<int64_t> integers(std::string_view key, size_t axes);
  // As many as the list has; one for a single number.
  std::vector<int64_t> integers(std::string_view key);
  Shape shape(std::string_view key);
  Shape shape_at(const JsonValue& value);  // of an object inside a key
  double real(std::string_view key);
  bool flag(std::string_view key);
  std::string text(std::string_view key);  // of choices and names
  const JsonValue* json(std::string_view key) const;

  // Inputs.
  size_t inputs() const { return inputs_.size(); }
  TensorId input(size_t i = 0) const { return i < inputs_.size() ? inputs_[i] : kNoTensor; }
  void set_inputs(std::vector<TensorId> inputs) { inputs_ = std::move(inputs); }
  // The shape of a tensor: empty after a fault.
  Shape shape_of(TensorId tensor) const;
  // One extent, counted from the end where negative: E342 where the rank is too small.
  Dim extent_of(TensorId tensor, int64_t axis);

  // Tensors and nodes. A parameter is named by the layer's path and `name`.
  TensorId parameter(std::string_view name, Shape shape, DType dtype = DType::kFloat32);
  // What a module keeps and nobody trains, named as a parameter is.
  TensorId buffer(std::string_view name, Shape shape, DType dtype = DType::kFloat32);
  TensorId frozen_parameter(std::string_view name, Shape shape);  // a weight that nobody trains
  // The weight of another layer, by that layer's path; E341 where there is none.
  TensorId shared_weight(const std::string& layer);
  TensorId constant(std::vector<Dim> values);
  TensorId table(Shape shape);  // floats that nobody trains
  TensorId constant_scalar(int64_t value);
  TensorId scalar(double value);
  TensorId reals(std::vector<double> values);
  TensorId truth();  // a bool that is true
  struct Attribute {
    const char* name;
    AttributeValue value;
  };
  using AttributeList = std::initializer_list<Attribute>;
  TensorId node(std::string_view op, std::vector<TensorId> inputs, AttributeList attributes = {});
  // A composite of domain "plimsoll": see ops/composites.cc.
  TensorId composite(std::string_view op, std::vector<TensorId> inputs,
                     AttributeList attributes = {});
  std::vector<TensorId> nodes(Node node, size_t outputs);
  // To single precision, and back to the type of the model: nothing where that is single precision.
  enum class Cast : uint8_t { kWidens, kNarrows };
  TensorId cast(TensorId x, Cast way);
  // Says where an optional key "in" does not agree with the extent found: E342.
  void expect_extent(std::string_view key, const Dim& found);

  void fail(std::string code, std::string message, std::string help = {});
  void fail_at(std::string_view key, std::string code, std::string message, std::string help = {});
  bool failed() const { return builder_.failed(); }

  const LayerType& type() const { return type_; }
  NetworkBuilder& builder() { return builder_; }
  const Environment& environment() const { return environment_; }
  JsonObject& object() { return object_; }
  std::string path;  // "encoder.0.attention"
  Scope* scope = nullptr;

 private:
  const Key& key(std::string_view name) const;
  Dim read(const JsonValue& value, const Key& key);
  int64_t number(const Dim& value, std::string_view name);
  std::vector<int64_t> number_list(const Key& key);
  Shape read_shape(const JsonValue& value, const Key& key);

  NetworkBuilder& builder_;
  const LayerType& type_;
  JsonObject& object_;
  const Environment& environment_;
  std::vector<TensorId> inputs_;
};

}  // namespace plimsoll::config

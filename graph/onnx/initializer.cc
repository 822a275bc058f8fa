#include "graph/onnx/initializer.h"

#include <fmt/format.h>

#include "graph/base/checked.h"
#include "graph/base/escape.h"

namespace plimsoll::onnx {

void ParameterNotes::Tally::add(const std::string& name) {
  if (count++ == 0) first = name;
}

void ParameterNotes::look_at(const TensorSpec& spec) {
  if (spec.lacks_data) lacking_.add(spec.name);
  if (spec.data_type == static_cast<int64_t>(DType::kString)) strings_.add(spec.name);
  if (spec.odd_location) odd_locations_.add(spec.name);
  if (spec.odd_entry) odd_entries_.add(spec.name);
}

void ParameterNotes::tell(Diagnostics& warnings) const {
  const auto one = [&](const Tally& tally, const char* code, std::string_view what) {
    if (tally.count == 0) return;
    warnings.push_back(
        warning(code, fmt::format("{} tensor{}, first '{}': {}", tally.count,
                                  tally.count == 1 ? "" : "s", shortened(tally.first), what)));
  };
  one(lacking_, "W205", "the file has less data than the shape needs; the shape is used");
  one(strings_, "W206", "strings have no known size and are not counted");
  one(odd_locations_, "W220",
      "external data outside the model's folder; Plimsoll does not open it, other programs may "
      "refuse it");
  one(odd_entries_, "W221",
      "external data described in a way that ONNX does not define; Plimsoll does not need it");
}

Result<Tensor> parameter(const TensorSpec& spec, const Limits& limits) {
  const Place place{.file = {}, .node = fmt::format("tensor '{}'", shortened(spec.name))};
  const auto dtype = dtype_from_onnx(spec.data_type);
  if (!dtype) {
    return error("E234", fmt::format("element type {} is not one of ONNX's", spec.data_type),
                 place);
  }
  Tensor tensor;
  tensor.name = spec.name;
  tensor.kind = TensorKind::kParameter;
  tensor.dtype = *dtype;
  tensor.shape.emplace();
  int64_t count = bits(*dtype) >= 8 ? bits(*dtype) / 8 : 1;  // bytes must fit 64 bits, too
  for (const int64_t dim : spec.dims) {
    if (dim < 0) return error("E231", fmt::format("an extent of {}", dim), place);
    const auto product = checked_multiply(count, dim);
    if (!product) {
      return error("E232", fmt::format("{} elements overflow 64 bits", fmt::join(spec.dims, " x ")),
                   place);
    }
    if (dim > limits.dim) return over_limit(limits, "dim", place);
    count = *product;
    tensor.shape->push_back(dim);
  }
  if (count > limits.elements) return over_limit(limits, "elements", place);
  tensor.contents = spec.contents;
  return tensor;
}

Tensor integer_constant(std::string name, DType dtype, Shape shape, std::vector<int64_t> values) {
  Contents contents;
  contents.integers = std::move(values);
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.kind = TensorKind::kParameter;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.contents = std::make_shared<Contents>(std::move(contents));
  tensor.origin = Origin::kGenerated;
  return tensor;
}

std::unique_ptr<TensorSpec> constant_value(const NodeSpec& node) {
  if (node.extras) {
    for (const auto& [name, tensor] : node.extras->tensors) {
      if (name == "value" || name == "sparse_value") return std::make_unique<TensorSpec>(tensor);
    }
  }
  auto spec = std::make_unique<TensorSpec>();
  Contents contents;
  const Attributes& attributes = node.attributes;
  if (const auto* one = attributes.get<int64_t>("value_int")) {
    contents.integers = {*one};
  } else if (const auto* list = attributes.get<std::vector<int64_t>>("value_ints")) {
    contents.integers = *list;
    spec->dims = {static_cast<int64_t>(list->size())};
  } else if (const auto* real = attributes.get<double>("value_float")) {
    contents.reals = {*real};
  } else if (const auto* reals = attributes.get<std::vector<double>>("value_floats")) {
    contents.reals = *reals;
    spec->dims = {static_cast<int64_t>(reals->size())};
  } else if (const auto* texts = attributes.get<std::vector<std::string>>("value_strings")) {
    spec->data_type = static_cast<int64_t>(DType::kString);
    spec->dims = {static_cast<int64_t>(texts->size())};
    return spec;
  } else if (attributes.has("value_string")) {
    spec->data_type = static_cast<int64_t>(DType::kString);
    return spec;
  } else {
    return nullptr;
  }
  const bool real = attributes.has("value_float") || attributes.has("value_floats");
  spec->data_type = static_cast<int64_t>(real ? DType::kFloat32 : DType::kInt64);
  spec->contents = std::make_shared<Contents>(std::move(contents));
  return spec;
}

void flatten_tensors(const NodeExtras& extras, const OpRow* row, Attributes& attributes) {
  for (const auto& [name, tensor] : extras.tensors) {
    if (row && !has_attribute(*row, name)) continue;
    attributes.set(name + "_dtype", tensor.data_type);
    if (!tensor.contents) continue;
    const auto& [integers, reals] = *tensor.contents;
    if (reals.size() == 1) {
      attributes.set(name, reals.front());
    } else if (integers.size() == 1) {
      attributes.set(name, integers.front());
    } else if (!reals.empty()) {
      attributes.set(name, reals);
    } else {
      attributes.set(name, integers);
    }
  }
}

}  // namespace plimsoll::onnx

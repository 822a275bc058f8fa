// ai.onnx.ml: what prepares features for a network, or names its answers
// (onnx/docs/Operators-ml.md), as scikit-learn's perceptrons have it around them. Nothing here is
// trained.
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// Elements of the last axis, picked by all indices of input 1.
Result<void> pick_features(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  Shape shape = c.shape(0);
  if (shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  shape.back() = elements(c.shape(1));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> float_features(InferContext& c) {
  c.set(0, DType::kFloat32, c.shape(0));
  return {};
}

// Keys and values are lists of one type each, or tensors.
Result<void> label_encoder(InferContext& c) {
  const auto has = [&](std::string_view name) { return c.attributes().has(name); };
  const bool reals = has("values_floats") ||
                     (has("default_float") && !has("values_int64s") && !has("values_strings"));
  const bool words = has("values_strings") || (has("keys_int64s") && has("classes_strings"));
  c.set(0, reals ? DType::kFloat32 : words ? DType::kString : DType::kInt64, c.shape(0));
  return {};
}

constexpr OpRow kFeatureRows[] = {
    {.name = "ArrayFeatureExtractor",
     .domain = "ai.onnx.ml",
     .inputs = 2,
     .shape = pick_features,
     .lower = lower::no_gradient,
     .example = "i64[10] i64[B] -> i64[1,B] | flop B"},
    {.name = "Binarizer",
     .domain = "ai.onnx.ml",
     .attributes = "threshold",
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B"},
    {.name = "Imputer",
     .domain = "ai.onnx.ml",
     .attributes =
         "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64",
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B"},
    {.name = "LabelEncoder",
     .domain = "ai.onnx.ml",
     .attributes = "classes_strings default_float default_int64 default_string default_tensor "
                   "keys_floats keys_int64s keys_strings keys_tensor values_floats values_int64s "
                   "values_strings values_tensor",
     .shape = label_encoder,
     .lower = lower::no_gradient,
     .example = "i64[B,4] {keys_int64s=[1,2], values_floats=[0.5,1.5]} -> f32[B,4] | flop 4*B"},
    {.name = "Normalizer",
     .domain = "ai.onnx.ml",
     .attributes = "norm",
     .shape = float_features,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B"},
    {.name = "Scaler",
     .domain = "ai.onnx.ml",
     .attributes = "offset scale",
     .shape = float_features,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B"},
    // Scores with a name for each class: the scores themselves.
    {.name = "ZipMap",
     .domain = "ai.onnx.ml",
     .attributes = "classlabels_int64s classlabels_strings",
     .shape = like_first,
     .lower = lower::identity,
     .example = "f32[B,3] -> f32[B,3] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> feature_rows() { return kFeatureRows; }

}  // namespace plimsoll::ops

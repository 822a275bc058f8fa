#include "graph/exporter/origin.h"

#include <array>
#include <set>

#include "graph/base/among.h"

namespace plimsoll {
namespace {

// Words that end the names of weights, and of no operator.
bool is_word_of_weights(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kWords = {"token",  "tokens", "embed", "pos",
                                                              "weight", "bias",   "gamma", "beta",
                                                              "alpha",  "query",  "param", "table"};
  return among(word, kWords);
}

// "val_7", "unsqueeze_14", "onnx::Mul_12": what exporters call results that they folded. (A
// network's own "pos_embed_0" looks much like that.)
bool is_folded_name(std::string_view name) {
  if (name.find("::") != std::string_view::npos) return true;
  if (name.find('.') != std::string_view::npos) return false;
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits == name.npos || digits + 1 >= name.size() || name[digits] != '_') return false;
  const std::string_view own = name.substr(0, digits);
  return !is_word_of_weights(own.substr(own.rfind('_') + 1));
}

// Operators that nobody calls a parameter after.
bool is_operators_name(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"_to_copy", "clone", "new_zeros",
                                                             "ones", "zeros"};
  return among(name, kNames);
}

// The operator of PyTorch's that a folded result is called after: "sub" of "sub" and of "sub_12".
std::string_view folded_by(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "clamp",      "div",     "embedding", "exp", "index",     "neg", "permute",
      "reciprocal", "sigmoid", "softplus",  "sub", "unsqueeze", "view"};
  for (const std::string_view own : kNames) {
    if (is_called_after(name, own)) return own;
  }
  return {};
}

}  // namespace

Exporter exporter_of(std::string_view producer) {
  return producer.starts_with("pytorch") ? Exporter::kPyTorch : Exporter::kOther;
}

bool is_called_after(std::string_view name, std::string_view op) {
  if (!name.starts_with(op)) return false;
  const std::string_view rest = name.substr(op.size());
  return rest.empty() || (rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == rest.npos);
}

bool is_authored_name(std::string_view name) {
  const bool identifier =
      !name.empty() && !(name[0] >= '0' && name[0] <= '9') && name.find_first_of("/:") == name.npos;
  return identifier && !is_operators_name(name) && !is_folded_name(name) && folded_by(name).empty();
}

bool is_parameter_name(std::string_view name, Exporter exporter) {
  if (name.find("::") != name.npos || name.find('/') != name.npos) return false;
  if (exporter == Exporter::kPyTorch && name.find('.') != name.npos) return true;
  std::string_view own = name.substr(name.rfind('.') + 1);
  own = own.substr(0, own.find_last_not_of("0123456789_") + 1);
  return is_word_of_weights(own.substr(own.rfind('_') + 1));
}

void set_origins(Graph& graph) {
  // "arange", where "arange_1" was folded, or is computed.
  std::set<std::string_view> before_folded, before_computed;
  for (const Tensor& t : graph.tensors) {
    const std::string_view name = t.name;
    if (!is_folded_name(name) || !name.ends_with("_1")) continue;
    const bool folded = t.kind == TensorKind::kParameter;
    (folded ? before_folded : before_computed).insert(name.substr(0, name.size() - 2));
  }
  for (Tensor& t : graph.tensors) {
    if (t.kind != TensorKind::kParameter) continue;
    t.folded_by = folded_by(t.name);
    if (t.origin != Origin::kAuthored) continue;
    const bool first =
        before_folded.contains(t.name) || (is_float(t.dtype) && before_computed.contains(t.name));
    if (is_operators_name(t.name) || is_folded_name(t.name) || first) t.origin = Origin::kFolded;
  }
}

}  // namespace plimsoll

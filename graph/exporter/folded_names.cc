#include "graph/exporter/folded_names.h"

#include <array>

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

}  // namespace

bool is_parameter_name(std::string_view name, bool by_pytorch) {
  if (name.find("::") != name.npos || name.find('/') != name.npos) return false;
  if (by_pytorch && name.find('.') != name.npos) return true;
  std::string_view own = name.substr(name.rfind('.') + 1);
  own = own.substr(0, own.find_last_not_of("0123456789_") + 1);
  return is_word_of_weights(own.substr(own.rfind('_') + 1));
}

std::set<std::string_view> folded_names(const Graph& graph) {
  std::set<std::string_view> names, firsts;
  for (const Tensor& t : graph.tensors) {
    const std::string_view name = t.name;
    if (t.kind == TensorKind::kParameter && is_operators_name(name)) names.insert(name);
    if (!is_folded_name(name)) continue;
    const bool folded = t.kind == TensorKind::kParameter;
    if (folded) names.insert(name);
    if (name.ends_with("_1")) (folded ? names : firsts).insert(name.substr(0, name.size() - 2));
  }
  for (const Tensor& t : graph.tensors) {
    if (t.kind == TensorKind::kParameter && is_float(t.dtype) && firsts.count(t.name))
      names.insert(t.name);
  }
  return names;
}

}  // namespace plimsoll

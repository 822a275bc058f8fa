// The explicit list of families. A family file defines its table and is named here.
#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/base/text.h"
#include "graph/ops/families.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

bool before(const OpRow& a, const OpRow& b) {
  return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
}

std::vector<const OpRow*> gather_rows() {
  std::vector<const OpRow*> rows;
  for (const auto family :
       {ops::pointwise_rows(), ops::activation_rows(), ops::matmul_rows(),    ops::conv_rows(),
        ops::pool_rows(),      ops::norm_rows(),       ops::reduce_rows(),    ops::softmax_rows(),
        ops::movement_rows(),  ops::slicing_rows(),    ops::resample_rows(),  ops::index_rows(),
        ops::recurrent_rows(), ops::attention_rows(),  ops::create_rows(),    ops::signal_rows(),
        ops::loss_rows(),      ops::quantize_rows(),   ops::composite_rows(), ops::function_rows(),
        ops::feature_rows(),   ops::logic_rows()}) {
    for (const OpRow& row : family) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return before(*a, *b); });
  return rows;
}

const std::vector<const OpRow*>& rows() {
  static const std::vector<const OpRow*> kRows = gather_rows();
  return kRows;
}

// Passes ask of every node, many times. Few names are in several domains.
using RowsByName = std::unordered_map<std::string_view, std::vector<const OpRow*>>;

RowsByName rows_by_name() {
  RowsByName by_name;
  for (const OpRow* row : rows()) by_name[row->name].push_back(row);
  return by_name;
}

const OpRow* row_of(const Node& node) { return find_op(node.domain, node.op); }

bool is_among(uint32_t slots, size_t input) {
  return ((slots >> std::min<size_t>(input, 31)) & 1) != 0;
}

}  // namespace

bool has(const Node& node, uint32_t traits) {
  const OpRow* row = row_of(node);
  return row && (row->traits & traits) == traits;
}

bool has_any(const Node& node, uint32_t traits) {
  const OpRow* row = row_of(node);
  return row && (row->traits & traits) != 0;
}

bool is_weight_place(const Node& node, size_t input) {
  const OpRow* row = row_of(node);
  return row && is_among(row->weights, input);
}

bool is_statistic_place(const Node& node, size_t input) {
  const OpRow* row = row_of(node);
  return row && is_among(row->statistics, input);
}

bool is_state_place(const Node& node, size_t input) {
  const OpRow* row = row_of(node);
  return row && is_among(row->states, input);
}

std::span<const OpRow* const> all_ops() { return rows(); }

bool has_attribute(const OpRow& row, std::string_view name) {
  std::string_view rest = row.attributes;
  while (!rest.empty()) {
    if (take_part(rest, ' ') == name) return true;
  }
  return false;
}

const OpRow* find_op(std::string_view domain, std::string_view name) {
  static const RowsByName kRows = rows_by_name();
  const auto named = kRows.find(name);
  if (named == kRows.end()) return nullptr;
  if (domain == "ai.onnx") domain = "";
  const auto row = std::ranges::find(named->second, domain, &OpRow::domain);
  return row == named->second.end() ? nullptr : *row;
}

}  // namespace plimsoll

#include "graph/exporter/missing_buffers.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "graph/exporter/library_names.h"
#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Hugging Face's rotary embeddings hold their frequencies twice: inv_freq and original_inv_freq
// (transformers/modeling_rope_utils.py).
bool is_rotary_table(const Tensor& t) {
  if (t.kind != TensorKind::kParameter || !is_float(t.dtype) || !t.shape || t.shape->empty())
    return false;
  if (elements(*t.shape) == Dim(1)) return false;
  return has_role(t.name, NameRole::kFrequencies) || t.name.find("/rotary_emb/") != t.name.npos;
}

// How many modules hold a table of their own: exporters write equal ones once. Modules of one kind
// have the same name in their parents ("blocks.0.attn", "blocks.1.attn").
size_t holders(const Graph& graph, std::span<const NodeId> readers, TensorId table) {
  std::set<std::string_view> modules;
  for (const NodeId reader : readers) {
    const Node& node = graph.nodes[reader];
    // TorchScript's exporter gives each of the others back under its own name.
    if (node.op == "Identity" && node.module.empty()) {
      const std::string& alias = graph.tensors[node.outputs[0]].name;
      if (alias.find('.') != alias.npos) {
        modules.insert(module_of(alias));
        modules.insert(module_of(graph.tensors[table].name));
      }
    }
    const OpRow* row = find_op(node.domain, node.op);
    for (size_t i = 0; row && i < std::min(node.inputs.size(), row->host_from); ++i) {
      const bool alike = modules.empty() || last_part(*modules.begin()) == last_part(node.module);
      if (node.inputs[i] == table && alike && !node.module.empty()) modules.insert(node.module);
    }
  }
  return std::max<size_t>(modules.size(), 1);
}

// Short arrays are extents and axes.
bool is_table(const Tensor& t) {
  const auto count = t.shape ? elements(*t.shape).constant() : std::nullopt;
  return t.kind == TensorKind::kParameter && count && *count >= 16;
}

}  // namespace

std::vector<TensorType> missing_buffers(const Graph& graph, const std::vector<WeightRole>& kinds) {
  std::vector<TensorType> buffers;
  if (graph.told) return buffers;
  for (const Node& node : graph.nodes) {
    // The count of batches, of a norm that tracks its statistics.
    const bool tracks = is_batch_norm(node) && node.inputs.size() > 3 &&
                        graph.tensors[node.inputs[3]].kind == TensorKind::kParameter;
    if (tracks) buffers.push_back({DType::kInt64, {}});
  }
  if (graph.exporter != Exporter::kPyTorch) return buffers;
  const Consumers readers(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool held = kinds[id] == WeightRole::kBuffer || kinds[id] == WeightRole::kConstant;
    if (!held) continue;
    const size_t modules = is_table(t) ? holders(graph, readers[id], id) : 1;
    const size_t copies = modules * (is_rotary_table(t) ? 2 : 1);
    for (size_t i = 1; i < copies; ++i) buffers.push_back({t.dtype, *t.shape});
  }
  return buffers;
}

}  // namespace plimsoll

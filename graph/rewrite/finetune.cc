#include "graph/rewrite/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ir/module_path.h"
#include "graph/rewrite/editor.h"
#include "graph/rewrite/join_projections.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

constexpr std::string_view kAllLinear = "all-linear";
constinit const patterns::Fragment kAdaptedLayer("y = Linear(x)");
// What models do to their scores.
constinit const patterns::Fragment kAfterHead("y = Mul|Div|Tanh|Cast|Identity|Reshape(x)");

class FinetunePass {
 public:
  FinetunePass(Graph& graph, const Finetune& finetune, DType compute, const AdapterNames& names)
      : r_(graph),
        finetune_(finetune),
        names_(names),
        row_(quantization_of(finetune)),
        compute_(compute),
        packed_(finetune.form == AdapterForm::kLitgpt ? litgpt_layers(r_) : PackedWeights{}),
        count_(r_.nodes()) {}

  Result<FinetuneReport> run() {
    freeze();
    const std::vector<std::string_view> names = split(finetune_.targets, ',');
    std::set<std::string_view> unmet;
    for (const std::string_view name : names) unmet.insert(trimmed(name));
    if (finetune_.form == AdapterForm::kLitgpt && unmet.erase(kPackedGates) > 0)
      unmet.insert(kGates.begin(), kGates.end());
    if (finetune_.kind != FinetuneKind::kFull) {
      TRY(adapt_stacked(unmet));
    }
    for (NodeId id = 0; id < count_; ++id) {
      if (!is_linear(id) || is_saved(r_.node(id).module)) continue;
      if (row_ && is_quantized(id)) quantize(id);
      if (finetune_.kind == FinetuneKind::kFull) continue;
      const std::string_view name = last_part(r_.node(id).module);
      if (is_stacked(name)) continue;
      if (is_packed(id)) {
        adapt_packed(id, unmet);
        continue;
      }
      const bool all = unmet.contains(kAllLinear) || met_.contains(kAllLinear);
      if (all && (names_.head || !is_head(id))) {
        meet(unmet, kAllLinear);
        if (!is_unused(name)) adapt(id);
      } else if (unmet.contains(name) || met_.contains(name)) {
        meet(unmet, name);
        if (!is_unused(name)) adapt(id);
      }
    }
    // peft takes names that are met nowhere, unless none is.
    if (done_.adapters + done_.stacked == 0 && finetune_.kind != FinetuneKind::kFull)
      return refuse(*unmet.begin());
    if (row_ && done_.quantized == 0) {
      return error("E264", fmt::format("{}: the model has no linear layer but its head",
                                       setting("quantize", std::string(row_->name))));
    }
    r_.finish();
    return done_;
  }

 private:
  static PackedWeights litgpt_layers(Rewrite& r) {
    part_gates(r);
    return join_projections(r);
  }

  void meet(std::set<std::string_view>& unmet, std::string_view name) {
    const auto at = unmet.find(name);
    if (at == unmet.end()) return;
    met_.insert(*at);
    unmet.erase(at);
  }

  // Of a module that peft saves whole, or of a part of it.
  bool is_saved(std::string_view module) const {
    return std::ranges::any_of(split(module, '.'), [&](std::string_view part) {
      return std::ranges::count(names_.saved, part) > 0;
    });
  }

  bool is_unused(std::string_view name) const {
    return std::ranges::count(names_.unused, name) > 0;
  }

  bool is_packed(NodeId id) const { return packed_.contains(r_.node(id).inputs[1]); }

  // Those of its parts that are named.
  void adapt_packed(NodeId id, std::set<std::string_view>& unmet) {
    std::vector<Dim> parts;
    const auto& sizes = packed_.at(r_.node(id).inputs[1]);
    const bool all = unmet.contains(kAllLinear) || met_.contains(kAllLinear);
    if (all) meet(unmet, kAllLinear);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string_view name = kProjections[i];
      if (!all && !unmet.contains(name) && !met_.contains(name)) continue;
      meet(unmet, name);
      parts.push_back(sizes[i]);
    }
    if (!parts.empty()) adapt(id, parts);
  }

  bool is_stacked(std::string_view layer) const {
    return std::ranges::any_of(names_.stacked, [&](const auto& one) { return one.first == layer; });
  }

  // Each parameter that asked names stand for, with how many times the rank its adapter has.
  Result<void> adapt_stacked(std::set<std::string_view>& unmet) {
    const bool all = unmet.contains(kAllLinear);
    std::map<std::string_view, int64_t> known, asked;
    for (const auto& [layer, parameter] : names_.stacked) {
      ++known[parameter];
      if (!all && !unmet.contains(layer)) continue;
      ++asked[parameter];
      meet(unmet, layer);
    }
    for (const auto& [parameter, times] : asked) {
      if (times != known[parameter]) return refuse_part(parameter);
      if (finetune_.dropout > 0) return refuse_dropout(parameter);
      const std::string end = fmt::format(".{}", parameter);
      const size_t tensors = r_.graph().tensors.size();
      for (TensorId id = 0; id < tensors; ++id) {
        if (r_.tensor(id).kind == TensorKind::kParameter && r_.tensor(id).name.ends_with(end))
          fold_in(id, times * finetune_.rank);
      }
    }
    return {};
  }

  // What reads the weight reads it with its adapter from now on.
  void fold_in(TensorId weight, int64_t rank) {
    const std::vector<NodeId> readers = r_.readers(weight);
    if (readers.empty() || !r_.tensor(weight).shape) return;
    const DType type = adapter_type(weight);
    const NodeId before = r_.first_reader(weight);
    const Shape shape = *r_.tensor(weight).shape;
    const std::string name = r_.tensor(weight).name;
    const Dim rows = shape.size() == 3 ? shape[0] * Dim(rank) : Dim(rank);
    const TensorId a = adapter(fmt::format("{}.lora_A.weight", name), type, {rows, shape.back()});
    const TensorId b =
        adapter(fmt::format("{}.lora_B.weight", name), type, {shape[shape.size() - 2], rows});
    Node node = made("plimsoll", "AdaptedWeight", before, {weight, a, b});
    const TensorId sum = insert(before, std::move(node), r_.tensor(weight).dtype, shape);
    for (const NodeId reader : readers) r_.read_instead(reader, weight, sum);
    ++done_.stacked;
  }

  // Of adapters of a layer with that weight.
  DType adapter_type(TensorId weight) const {
    if (finetune_.adapters_wide) return DType::kFloat32;
    return r_.tensor(weight).quantized ? compute_ : r_.tensor(weight).dtype;
  }

  TensorId adapter(const std::string& name, DType type, Shape shape) {
    const TensorId weight = r_.add_parameter(name, type, std::move(shape));
    r_.graph().tensors[weight].weight = true;
    return weight;
  }

  void freeze() {
    if (finetune_.kind == FinetuneKind::kFull) return;
    const std::vector<WeightRole> roles = classify_parameters(r_.graph());
    for (TensorId id = 0; id < roles.size(); ++id) {
      Tensor& weight = r_.graph().tensors[id];
      if (roles[id] == WeightRole::kTrained && !is_saved(weight.name)) weight.frozen = true;
    }
  }

  bool is_linear(NodeId id) const {
    const Node& node = r_.node(id);
    if (!kAdaptedLayer.at(r_, id) || node.inputs.size() < 2) return false;
    const Tensor& weight = r_.tensor(node.inputs[1]);
    return weight.kind == TensorKind::kParameter && weight.shape && weight.shape->size() == 2;
  }

  // What makes the outputs, or is one with a table. A layer that runs again shares its weight too.
  bool is_head(NodeId id) const {
    const Node& node = r_.node(id);
    const auto runs = [&](NodeId reader) { return kAdaptedLayer.at(r_, reader).has_value(); };
    if (!std::ranges::all_of(r_.readers(node.inputs[1]), runs)) return true;
    const auto& outputs = r_.graph().outputs;
    TensorId t = node.outputs[0];
    for (int steps = 0; steps < 4; ++steps) {
      const auto& readers = r_.readers(t);
      // Features that a program holds beside its scores are outputs too, which something reads.
      if (readers.empty() && std::ranges::find(outputs, t) != outputs.end()) return true;
      if (readers.size() != 1) return false;
      if (!kAfterHead.at(r_, readers.front())) return false;
      t = r_.node(readers.front()).outputs[0];
    }
    return false;
  }

  bool is_quantized(NodeId id) const {
    const bool heads = finetune_.quantizer == Quantizer::kFabric;
    return !is_head(id) || (heads && r_.readers(r_.node(id).inputs[1]).size() == 1);
  }

  void quantize(NodeId id) {
    Tensor& weight = r_.graph().tensors[r_.node(id).inputs[1]];
    if (!weight.quantized) ++done_.quantized;
    weight.quantized = row_;
    weight.frozen = true;
    r_.graph().nodes[id].attributes.set("compute", int64_t{static_cast<int>(compute_)});
  }

  // Of the module of node `of`.
  Node made(const char* domain, const char* op, NodeId of, std::vector<TensorId> inputs) const {
    Node node;
    node.op = op;
    node.domain = domain;
    node.name = r_.node(of).name;
    node.module = r_.node(of).module;
    node.inputs = std::move(inputs);
    return node;
  }
  TensorId insert(NodeId before, Node node, DType dtype, const Shape& shape) {
    return r_.insert_before(before, std::move(node), dtype, shape);
  }

  // x in another type; x itself where it has it, unless `always`.
  TensorId cast(NodeId before, NodeId of, TensorId x, DType to, bool always = false) {
    if (r_.tensor(x).dtype == to && !always) return x;
    Node node = made("", "Cast", of, {x});
    node.attributes.set("to", int64_t{1});
    const Shape shape = *r_.tensor(x).shape;
    return insert(before, std::move(node), to, shape);
  }

  TensorId product(NodeId before, NodeId id, TensorId x, const std::string& part, const Dim& out) {
    Shape shape = *r_.tensor(x).shape;
    const DType type = r_.tensor(x).dtype;
    const auto [at, is_new] = shared_.try_emplace({r_.node(id).inputs[1], part});
    if (is_new)
      at->second =
          adapter(fmt::format("{}.{}.weight", r_.node(id).module, part), type, {out, shape.back()});
    const TensorId weight = at->second;
    shape.back() = out;
    return insert(before, made("plimsoll", "Linear", id, {x, weight}), type, shape);
  }

  // The second products of parts of a layer, each in its columns.
  TensorId parts_of(NodeId before, NodeId id, TensorId x, const std::vector<Dim>& parts) {
    std::vector<TensorId> made_of;
    for (size_t i = 0; i < parts.size(); ++i) {
      const TensorId a = product(before, id, x, fmt::format("lora_A.{}", i), Dim(finetune_.rank));
      made_of.push_back(product(before, id, a, fmt::format("lora_B.{}", i), parts[i]));
    }
    const Shape whole = *r_.tensor(r_.node(id).outputs[0]).shape;
    const DType type = r_.tensor(made_of[0]).dtype;
    Node copied = made("plimsoll", "CopiedColumns", id, std::move(made_of));
    copied.attributes.set("columns", whole.back().constant().value_or(0));
    return insert(before, std::move(copied), type, whole);
  }

  // `parts`: of a layer that is several, those that have an adapter.
  void adapt(NodeId id, const std::vector<Dim>& parts = {}) {
    const Node& node = r_.node(id);
    const size_t known = shared_.size();
    const TensorId x = node.inputs[0], y = node.outputs[0];
    const std::vector<NodeId> readers = r_.readers(y);
    if (readers.empty() && !is_output(y)) return;
    const NodeId before = r_.right_after(y);
    const DType base_type = r_.tensor(y).dtype;
    const Shape shape = *r_.tensor(y).shape;
    const DType adapters = adapter_type(node.inputs[1]);
    // peft asks for the adapter's type also where x has 16 bits under autocast alone, which casts
    // it back: a copy (peft 0.21, tuners/lora/layer.py, _cast_input_dtype()).
    const bool asks = finetune_.form == AdapterForm::kPeft && adapters == DType::kFloat32;
    TensorId branch = cast(before, id, x, adapters, asks);
    if (finetune_.dropout > 0) {
      Node drop = made("", "Dropout", id, {branch});
      drop.attributes.set("ratio", finetune_.dropout);
      const Shape same = *r_.tensor(branch).shape;
      branch = insert(before, std::move(drop), adapters, same);
    }
    if (parts.empty()) {
      branch = product(before, id, branch, "lora_A", Dim(finetune_.rank));
      branch = product(before, id, branch, "lora_B", shape.back());
    } else {
      branch = parts_of(before, id, branch, parts);
    }
    branch = insert(before, made("", "Mul", id, {branch, r_.add_number(1)}), adapters, shape);
    if (row_) branch = cast(before, id, branch, base_type);
    const DType type = row_ ? base_type : adapters;
    TensorId sum = insert(before, made("", "Add", id, {y, branch}), type, shape);
    sum = cast(before, id, sum, base_type);
    for (const NodeId reader : readers) r_.read_instead(reader, y, sum);
    for (TensorId& out : r_.graph().outputs) {
      if (out != y) continue;
      out = sum;
      done_.outputs.emplace_back(y, sum);
    }
    if (shared_.size() > known) ++done_.adapters;
  }

  bool is_output(TensorId t) const {
    return std::ranges::find(r_.graph().outputs, t) != r_.graph().outputs.end();
  }

  std::string layers_of(std::string_view parameter) const {
    std::string all;
    for (const auto& [layer, of] : names_.stacked) {
      if (of == parameter) all += (all.empty() ? "" : ", ") + layer;
    }
    return all;
  }

  tl::unexpected<Diagnostics> refuse_part(std::string_view parameter) const {
    return error("E265",
                 fmt::format("{}: {} are one parameter, {}, which peft adapts as a whole",
                             setting("lora-targets"), layers_of(parameter), parameter),
                 {}, "name all of them, or none");
  }

  tl::unexpected<Diagnostics> refuse_dropout(std::string_view parameter) const {
    return error(
        "E265",
        fmt::format("{}: peft has no dropout for an adapter of {}, which is folded into "
                    "the parameter",
                    setting("lora-dropout", fmt::format("{}", finetune_.dropout)), parameter),
        {}, fmt::format("set {} or name other layers", setting("lora-dropout", "0")));
  }

  tl::unexpected<Diagnostics> refuse(std::string_view name) const {
    std::set<std::string> known;
    for (const auto& [layer, parameter] : names_.stacked) known.insert(layer);
    for (NodeId id = 0; id < count_; ++id) {
      if (is_linear(id)) known.insert(std::string(last_part(r_.node(id).module)));
    }
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string near = nearest(name, names);
    std::string all;
    for (const std::string& one : names) all += (all.empty() ? "" : ", ") + shortened(one, 40);
    return error("E263",
                 fmt::format("{}: no linear layer is called '{}'", setting("lora-targets"),
                             shortened(std::string(name), 60)),
                 {},
                 near.empty() ? fmt::format("those of the model are {}; {} takes them all",
                                            shortened(all, 300), kAllLinear)
                              : fmt::format("did you mean '{}'?", near));
  }

  Rewrite r_;
  const Finetune& finetune_;
  const AdapterNames& names_;
  const QuantizationRow* row_;
  DType compute_;
  PackedWeights packed_;
  size_t count_;
  std::set<std::string_view> met_;
  // By the weight beside which they are, and the part of the adapter: a layer that runs several
  // times has one.
  std::map<std::pair<TensorId, std::string>, TensorId> shared_;
  FinetuneReport done_;
};

}  // namespace

Result<FinetuneReport> add_adapters(Graph& graph, const Finetune& finetune, DType compute,
                                    const AdapterNames& names) {
  return FinetunePass(graph, finetune, compute, names).run();
}

}  // namespace plimsoll

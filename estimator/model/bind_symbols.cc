#include "estimator/model/bind_symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

constexpr int64_t kBuiltinBatch = 32;

// Which inputs a symbol shapes, for the message that asks for its value.
std::string users_of(const Graph& graph, const std::string& symbol) {
  std::vector<std::string> names;
  for (const TensorId id : graph.inputs) {
    std::set<std::string> symbols;
    if (graph.tensors[id].shape) {
      for (const Dim& d : *graph.tensors[id].shape) d.collect_symbols(symbols);
    }
    if (symbols.contains(symbol)) names.push_back(graph.tensors[id].name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<Binding> bind_symbols(const Graph& graph, const ModelRequest& request, bool builtin,
                             std::vector<std::string>& basis) {
  Binding binding = graph.defaults;
  for (const auto& [name, value] : request.dims) binding[name] = value;
  if (request.batch) {
    binding[graph.batch_symbol] = *request.batch;
  } else if (builtin && !binding.contains(graph.batch_symbol)) {
    binding[graph.batch_symbol] = kBuiltinBatch;
    basis.push_back(fmt::format("batch {}, assumed for a built-in model", kBuiltinBatch));
  } else if (graph.baked_batch > 0) {
    basis.push_back(fmt::format("batch {}, as baked into the file", graph.baked_batch));
  }
  if (request.image && !binding.contains("image")) binding["image"] = *request.image;
  if (request.image) binding["image"] = *request.image;
  Diagnostics missing;
  std::string help;
  for (const std::string& symbol : free_symbols(graph)) {
    if (binding.contains(symbol)) continue;
    const std::string value =
        symbol == graph.batch_symbol ? setting("batch", "32") : setting_entry("dim", symbol, "N");
    missing.push_back({.code = "E131",
                       .severity = Severity::kError,
                       .message = fmt::format("dimension '{}' of {} has no value", symbol,
                                              users_of(graph, symbol)),
                       .place = {},
                       .help = "add: " + value});
  }
  for (const auto& [symbol, value] : binding) {
    // A file's own extent may be 0, which makes empty tensors; nobody asks for none.
    const bool asked =
        request.dims.contains(symbol) || (request.batch && symbol == graph.batch_symbol);
    if (value >= (asked ? 1 : 0) && value <= request.limits.dim) continue;
    missing.push_back({.code = "E237",
                       .severity = Severity::kError,
                       .message = fmt::format("dimension '{}' must be from 1 to {}, found {}",
                                              shortened(symbol), request.limits.dim, value),
                       .place = {},
                       .help = {}});
  }
  if (!missing.empty()) return tl::make_unexpected(std::move(missing));
  return binding;
}

}  // namespace plimsoll

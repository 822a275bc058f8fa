#include "estimator/model/bind_symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

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

tl::unexpected<Diagnostics> unlike(const std::string& one, const std::string& other) {
  return error("E114", fmt::format("{} and {} contradict each other", one, other));
}

// Two flags that give one size.
Result<void> check_sizes(const Graph& graph, const ModelRequest& request) {
  const auto requested = [&](const std::string& name) {
    const auto at = request.dims.find(name);
    return at == request.dims.end() ? std::nullopt : std::optional(at->second);
  };
  const auto text_of = [](const std::string& name, int64_t size) {
    return setting_entry("dim", shortened(name, 60), std::to_string(size));
  };
  const auto batch = requested(graph.batch_symbol);
  if (request.batch && batch && *request.batch != *batch)
    return unlike(setting("batch", std::to_string(*request.batch)),
                  text_of(graph.batch_symbol, *batch));
  for (const char* side : {"image", "height", "width"}) {
    const auto size = requested(side);
    if (request.image && size && *request.image != *size)
      return unlike(setting("image", std::to_string(*request.image)), text_of(side, *size));
  }
  return check_longest(graph, request);
}

}  // namespace

Result<void> check_longest(const Graph& graph, const ModelRequest& request) {
  for (const auto& [name, longest] : request.longest) {
    const auto by_default = graph.defaults.find(name);
    const bool given = request.dims.contains(name) || by_default == graph.defaults.end();
    if (given || by_default->second <= longest) continue;
    return error("E114",
                 fmt::format("{} is shorter than the typical {}",
                             setting_entry("longest", shortened(name, 60), std::to_string(longest)),
                             by_default->second),
                 {}, "the typical size is " + setting_entry("dim", shortened(name, 60), "N"));
  }
  return {};
}

Result<Binding> bind_symbols(const Graph& graph, const ModelRequest& request, bool builtin,
                             std::vector<std::string>& basis) {
  TRY(check_sizes(graph, request));
  Binding binding = graph.defaults;
  for (const auto& [name, value] : request.dims) binding[name] = value;
  if (request.batch) {
    binding[graph.batch_symbol] = *request.batch;
  } else if (builtin && !binding.contains(graph.batch_symbol)) {
    binding[graph.batch_symbol] = kBuiltinBatch;
    basis.push_back(fmt::format("batch {}, assumed for a built-in model", kBuiltinBatch));
  } else if (graph.baked_batch > 0) {
    basis.push_back(fmt::format("batch {}, as fixed in the file", graph.baked_batch));
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

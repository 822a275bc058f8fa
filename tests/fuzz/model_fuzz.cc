// Any bytes, from import over shapes and recovery to a training step. What is refused must say why.
#include <cstddef>
#include <cstdint>

#include "graph/onnx/import.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/recover.h"
#include "graph/train/expand.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const ByteSource source = ByteSource::of("fuzz", {bytes, bytes + size});
  ImportOptions options;
  options.limits.nodes = 2000;  // a fuzzer wants many small models
  Diagnostics warnings;
  auto graph = import_onnx(source, options, warnings);
  if (!graph) {
    if (graph.error().empty()) __builtin_trap();
    return 0;
  }
  Binding hints = graph->defaults;
  for (const std::string& symbol : free_symbols(*graph)) hints.try_emplace(symbol, 8);
  Decider decider(hints);
  InferOptions infer_options;
  infer_options.assume["Assumed"] = "ELEMENTWISE";
  const auto done = infer(*graph, decider, warnings, infer_options);
  if (done) {
    graph->exporter = Exporter::kPyTorch;  // whose habits most patterns are
    recover(*graph);
    const auto step = expand(*graph, plan_for(*graph), Recipe{}, Policy{}, decider);
    if (!step && step.error().empty()) __builtin_trap();
  } else if (done.error().empty()) {
    __builtin_trap();
  }
  return 0;
}

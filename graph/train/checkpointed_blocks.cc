#include "graph/train/checkpointed_blocks.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/train/mirror.h"

namespace plimsoll {
namespace {

// 1 of "blocks", 3 of "blocks/3": which of them recompute, counted from one, as torchtitan's
// selective checkpointing of layers counts (torchtitan/distributed/activation_checkpoint.py).
std::optional<size_t> nth_block(std::string_view which) {
  constexpr std::string_view kBlocks = "blocks";
  if (!which.starts_with(kBlocks)) return std::nullopt;
  which.remove_prefix(kBlocks.size());
  if (which.empty()) return 1;
  if (which.front() != '/') return std::nullopt;
  const auto step = parse_number<int64_t>(which.substr(1));
  return step && *step > 0 ? std::optional(static_cast<size_t>(*step)) : std::nullopt;
}

std::vector<parallel::Unit> every(size_t step, const std::vector<parallel::Unit>& all) {
  std::vector<parallel::Unit> chosen;
  for (size_t i = step; i <= all.size(); i += step) chosen.push_back(all[i - 1]);
  return chosen;
}

}  // namespace

Result<CheckpointedBlocks> checkpointed_blocks(const Graph& graph, const std::string& which) {
  CheckpointedBlocks blocks{.by_operator = which == "operators"};
  if (which == "none") return blocks;
  const auto step = blocks.by_operator ? 1 : nth_block(which);
  blocks.units = which == "mirror" ? mirrored_runs(graph)
                 : step            ? every(*step, parallel::units_below(graph, ""))
                                   : parallel::units_called(graph, which);
  if (!blocks.units.empty()) return blocks;
  const std::string help = fmt::format(
      "{} takes none, blocks, blocks/2 for every second one, operators, mirror, or modules' paths, "
      "as 'estimate {}' lists them",
      setting("checkpoint"), setting("json"));
  if (step) return error("E261", "the file names no repeated modules to checkpoint", {}, help);
  return error("E261", fmt::format("no module is called '{}'", shortened(which, 60)), {}, help);
}

}  // namespace plimsoll

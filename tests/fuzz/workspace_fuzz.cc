// Any bytes, as the tables and rules of cuDNN's workspaces, which a user's database may hold: what
// is accepted must answer for any layer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "estimator/library/workspace/rule.h"
#include "estimator/library/workspace/table.h"
#include "tests/support/conv_shape.h"

using namespace plimsoll;

namespace {

constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};

constexpr WorkspaceShape kShape = test::kThreeByThree;

void require(bool sound) {
  if (!sound) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto layers = LayerList::read(text);
  if (layers) {
    require(layers->find(kShape).value_or(0) <= layers->size());
  } else {
    require(!layers.error().empty());
  }
  const auto table = WorkspaceTable::read(std::string(text));
  const auto rule = WorkspaceRule::read(text, "fuzz.json");
  require(table || !table.error().empty());
  require(rule || !rule.error().empty());
  for (const Pass pass : kPasses) {
    if (table && table->layers() > 0) {
      const auto last = static_cast<uint32_t>(table->layers() - 1);
      require(table->find(last, kShape, pass, DType::kFloat32).batch > 0);
    }
    if (!rule) continue;
    for (const auto& guess : {rule->plain(kShape, pass), rule->tensor(kShape, pass)}) {
      if (!guess) continue;
      require(guess->form.engine >= 0);
      require(workspace_bytes(guess->form, pass, kShape, DType::kFloat32).value_or(0) >= 0);
    }
  }
  return 0;
}

#include "graph/record/recorded_lists.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "graph/ir/list_launches.h"

namespace plimsoll {

// In place it writes one of its lists, else one more. Numbers of each tensor's own are not
// recorded.
int64_t launches_of(const RecordedCall& call) {
  constexpr int64_t kMost = 1 << 16;
  constexpr size_t kMostLists = 5;
  const bool over_lists = call.op.starts_with("_foreach_") && call.op != "_foreach_norm";
  const size_t tensors = call.writes.size();
  if (!over_lists || tensors == 0) return 1;
  std::vector<Dim> counts;
  for (const RecordedTensor* t : call.writes) counts.push_back(elements(t->type.shape));
  const size_t lists = call.reads.size() / tensors + (call.op.ends_with('_') ? 0 : 1);
  return std::clamp<int64_t>(list_launches(counts, std::clamp<size_t>(lists, 1, kMostLists), false),
                             1, kMost);
}

Kernel share_of(const Kernel& whole, int64_t launches, bool first) {
  const auto share = [&](const Dim& all) { return share_of_launch(all, launches, first); };
  Kernel part = whole;
  part.flop = share(whole.flop);
  part.read = share(whole.read);
  part.written = share(whole.written);
  if (const auto* const rows = std::get_if<RowsProblem<Dim>>(&whole.problem))
    part.problem = RowsProblem<Dim>{rows->rows, share(rows->columns)};
  return part;
}

}  // namespace plimsoll

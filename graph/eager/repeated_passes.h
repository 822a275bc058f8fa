// What passes need that are alike, of which one is written down. Where each lets go of what the one
// before made, they need what the written one does. Where their results wait together, as of
// micro-batches that all go forward before the first goes back, each has storages of its own:
// PassCopies, in the order in which they would have asked for them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "graph/ir/step.h"

namespace plimsoll::eager {

// Whether the pass that is written from `begin` on frees, of passes before it, as much as it
// leaves, none of it a gradient. Cost: linear in its events.
bool leaves_what_it_frees(const Step& step, size_t begin);

class PassCopies {
 public:
  // `copies` passes before the one that is written from `begin` on: what each allocates and frees
  // is inserted there. Storages of a forward pass's copy are freed by the copy of its backward pass
  // of the same number. False, and nothing is changed, where the pass frees what an earlier one
  // left and leaves nothing alike. Cost: linear in copies and the pass's events.
  bool write(Step& step, size_t begin, int64_t copies);

  // Of a storage that a written pass left: those that its copies did.
  std::span<const BufferId> of(BufferId id) const;

 private:
  using Copies = std::map<BufferId, std::vector<BufferId>>;
  Copies left_;
};

}  // namespace plimsoll::eager

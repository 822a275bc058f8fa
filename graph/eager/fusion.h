// Fusion: what a compiler such as torch.compile's Inductor makes of a step's element-wise work,
// reductions and norms. Products, convolutions, attention, pools and look-ups stay calls of a
// library or of the framework.
//
// A launch joins the kernel that made or read one of its operands where both go over the same
// elements and nothing it waits for waits for that kernel in turn (torch/_inductor/scheduler.py:
// can_fuse_vertical, can_fuse_horizontal, config.max_fusion_size). A fused kernel reads each tensor
// that others made once, and writes what others read. A batch norm's statistics have to be there
// before the first element is scaled: a kernel that reads for them, and one that reads again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/eager/value.h"

namespace plimsoll::eager {

// A tensor as a launch sees it.
struct Use {
  BufferId buffer = kNoBuffer;
  LayoutRef layout;
};

// Those of `values` that have storage.
std::vector<Use> uses_of(std::span<const Value* const> values);

// What the launch at `event` reads and writes.
struct Access {
  size_t event = 0;
  std::vector<Use> read, written;
};

// Replaces launches of the forward and the backward pass, which are compiled each by itself, and
// says so in step.fusion. What is allocated, kept and freed stays as it was. `accesses`: in the
// order of the events. The loss, gradients' accumulation over passes and the update are not the
// module's, and stay as they are. Cost: linear in launches, some ten times that of writing them
// down.
void fuse(Step& step, const std::vector<Access>& accesses);

}  // namespace plimsoll::eager

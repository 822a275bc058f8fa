#include "estimator/library/workspace/reduction.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

Device card(int64_t sms, int major, int minor) {
  Device device;
  device.sms = sms;
  device.compute_capability = {major, minor};
  return device;
}

}  // namespace

// Blocks of the allocator on an H200 (132 multiprocessors), PyTorch 2.11, at the peaks of a
// ViT-B/16 (batch 32 and 64) and a Swin-T (64).
TEST_CASE("a sum over rows takes what PyTorch took on a card") {
  const Device h200 = card(132, 9, 0);
  CHECK(reduction_workspace(6304, 768, h200) == 38928384);
  CHECK(reduction_workspace(12608, 768, h200) == 77463552);
  CHECK(reduction_workspace(3136, 3072, h200) == 77070336);
}

TEST_CASE("blocks share a column only where there are many rows and few columns") {
  const Device h200 = card(132, 9, 0), t4 = card(40, 7, 5);
  CHECK(reduction_workspace(1000, 768, h200) == 0);
  CHECK(reduction_workspace(1, 1, h200) == 0);
  CHECK(reduction_workspace(6304, 1 << 20, h200) == 0);
  // A smaller card has room for fewer.
  CHECK(reduction_workspace(6304, 3072, t4) < reduction_workspace(6304, 3072, h200));
  CHECK(reduction_workspace(6304, 3072, t4) > 0);
  CHECK(reduction_workspace(6304, 768, Device()) == 0);
}

}  // namespace plimsoll

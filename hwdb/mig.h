// mig_slice: a card's part as a device of its own, "h100-sxm-80gb:3g.40gb".
#pragma once

#include <string_view>

#include "hwdb/device.h"

namespace plimsoll {

// The part of `card` that a profile of NVIDIA's Multi-Instance GPU gives: its SMs, its share of
// memory, bandwidth and L2, no NVLink; clocks and PCIe are the card's. "+me" and the like, media
// engines that training does not use, are taken off the name. E148 where the card has no such
// profile, with those that it has.
Result<Device> mig_slice(const Device& card, std::string_view profile);

}  // namespace plimsoll

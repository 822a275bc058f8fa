// Layers in sums, by the parts of their modules' paths.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimator/answer/estimate.h"

namespace plimsoll {

// One entry for each part of a path, before those inside it, in the layers' order: "layer1",
// "layer1.0", "layer1.0.conv1". Entries of depth 1 sum to the layers. Where there would be more
// than `most` the deepest are left out; none at all where those of depth 1 are more.
std::vector<ModuleEstimate> modules_of(std::span<const LayerEstimate> layers, size_t most);

// The path of the innermost entry that a layer is in.
std::string innermost_module(const LayerEstimate& layer);

}  // namespace plimsoll

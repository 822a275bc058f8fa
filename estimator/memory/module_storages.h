// module_storages: what a network made of modules holds between two steps. A module of Torch7 keeps
// its result, the gradient of its input and its own buffers as long as it lives (torch/nn,
// Module.lua), so that their sum, not a peak, is what the network takes.
#pragma once

#include "graph/ir/graph.h"

namespace plimsoll {

struct ModuleHabits {
  bool backward = true;        // else evaluation: no gradients of inputs, no masks of dropouts
  bool input_gradient = true;  // of the network's own input, too
  // nn's convolutions and poolings, which keep columns of the whole batch and positions (THNN,
  // SpatialConvolutionMM.c, SpatialMaxPooling.lua); cuDNN's need neither.
  bool own_layers = false;
  // Storages whose lives do not overlap are one: in evaluation results and buffers of one kind, in
  // training gradients of inputs (fmassa/optimize-net, init.lua).
  bool shared = false;
};

// Bytes, exact below 2^53. A storage that is both a gradient and a buffer counts as both.
struct ModuleStorages {
  double outputs = 0, gradients = 0, buffers = 0;
};

// At a point of an inferred graph, all of whose sizes are known there.
// Activations of images work in place, as do sums: nn.ReLU(true), nn.CAddTable(true). Cost: linear
// in the nodes, with `shared` times the storages.
ModuleStorages module_storages(const Graph& graph, const Binding& binding,
                               const ModuleHabits& habits);

}  // namespace plimsoll

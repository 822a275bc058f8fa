// SplitLayer: a fully connected layer of which each device holds a part of the outputs' weights and
// applies it to the samples of all (Krizhevsky, "One weird trick for parallelizing convolutional
// neural networks", arXiv:1404.5997). Both functions are differentiable; the devices are as many as
// the policy's sharding says.
//
//   x [samples, in] -> gather_samples -> [devices * samples, in]
//     -> the layer's part -> [devices * samples, outputs / devices]
//     -> gather_outputs -> [samples, outputs]
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// The samples of all devices, by an all-gather; backward their gradients are summed and scattered.
Value gather_samples(Machine& m, const Value& x);

// All `outputs` of this device's samples, by an all-to-all, which is what backward does too.
Value gather_outputs(Machine& m, const Value& parts, const Dim& outputs);

// Of this many outputs, how many a device has; the first ones one more where they do not divide.
Dim part_of(const Machine& m, const Dim& outputs);

}  // namespace plimsoll::eager

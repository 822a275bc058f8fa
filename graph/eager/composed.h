// Functions for which a framework has no kernel of its own: plain operators, whose results are
// kept.
#pragma once

#include "graph/eager/value.h"

namespace plimsoll::eager {

class Machine;

// Whether they run so: a compiler makes one kernel of each.
bool composes(const Machine& m);

// x * 0.5 * (1 + erf(x / sqrt(2))): google-research/bert, modeling.py, gelu().
Value composed_gelu(Machine& m, const Value& x);

// Over the axes from `axis` on: tf.nn.moments and tf.nn.batch_normalization, as
// tensorflow/contrib/layers/python/layers/layers.py, layer_norm(), calls them. The reciprocal
// deviation times the scale has the input's size, and is kept with the input.
Value composed_layer_norm(Machine& m, const Value& x, const Value& scale, const Value& bias,
                          size_t axis);

}  // namespace plimsoll::eager

// What eager code's attention reads of the mask that a file adds to its scores.
#pragma once

#include "graph/rewrite/finder.h"

namespace plimsoll::patterns {

struct MaskOperand {
  TensorId data = kNoTensor;  // what the kernel is given; kNoTensor: nothing
  bool causal = false;        // and told to be causal
};

// Of the attention whose last node is `at`. A mask that depends on inputs is data, and so is one
// that the network's own code makes: each call turns it into numbers and keeps them. Two are left
// out: what an exporter wrote for a function that is told to be causal, and what Hugging Face makes
// and gives to nobody where it hides nothing but the future (transformers/masking_utils.py). Who
// made a mask say the source lines beside its nodes; without them the names of the inputs, which
// Hugging Face's own models all share. Cost: at most 64 nodes back.
MaskOperand mask_operand(Finder& finder, NodeId at, TensorId mask);

// Does a mask hide places that something else than the exporter of graphs named?
bool is_written_mask(const Rewrite& r, TensorId mask);

}  // namespace plimsoll::patterns

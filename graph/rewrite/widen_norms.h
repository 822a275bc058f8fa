// widen_norms(): the casts to single precision around norms, where an exporter has dropped them.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// Hand-written RMS norms compute in single precision whatever they are given and go back before
// they scale: weight * norm(x.to(torch.float32)).to(x.dtype), as transformers has it
// (modeling_llama.py), or after it where the weight is a gain beside one (modeling_gemma.py) or the
// line that scales says so (modeling_olmo2.py, modeling_cohere.py: NodeNotes::casts). A line that
// widens what it squares, and no more, is believed too (modeling_t5.py); one that widens what it
// gives to a function that is the whole norm widens both (self._norm(x.float()),
// modeling_gemma3.py). PyTorch's newer exporter drops casts that change nothing, as these do in a
// model in single precision. Such norms get theirs back; returns how many. Those of its older
// exporter, which writes every cast that ran, stay as they are, but for two forms: what widens the
// operand of its square alone, and goes back if its weight is in 16 bits (modeling_t5.py). In
// single precision that branch does not run, and both copies of x are one. Nor does it write
// x.type_as(y) of one type: a norm whose gain is widened goes back behind it (modeling_gemma.py).
// `graph` must have been inferred. Cost: linear.
size_t widen_norms(Graph& graph);

}  // namespace plimsoll

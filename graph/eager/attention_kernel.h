// One kernel of attention: what it makes, and its launch.
#pragma once

#include <initializer_list>

#include "graph/eager/attention_form.h"

namespace plimsoll::eager {

// A tensor of q's sizes, heads as wide as v's. Flash and the library give it q's order in memory,
// the memory-efficient kernel [N,S,H,D] seen as [N,H,S,D].
Value attention_result(Machine& m, const Value& q, const Value& v, AttentionForm form);

// Backward makes five products to forward's two. Bytes are of operands that it reads once, in
// `calls` of the problem.
void launch_attention(Machine& m, Pass pass, const AttentionProblem<Dim>& p, const Dim& bytes_read,
                      const Dim& bytes_written, DType dtype,
                      std::initializer_list<const Value*> read,
                      std::initializer_list<const Value*> written, const Dim& calls = 1);

// By the kernel, or the operators, that take the operands as they are.
Value attention_over(Machine& m, const AttentionOperands& operands,
                     const AttentionOptions& options);

}  // namespace plimsoll::eager

#include "graph/eager/attention_kernel.h"

namespace plimsoll::eager {

Value attention_result(Machine& m, const Value& q, const Value& v, AttentionForm form) {
  const Shape& s = q.sizes();
  if (form != AttentionForm::kMemoryEfficient && s[3] == v.sizes()[3])
    return m.allocate(dense_like(q.layout(), q.dtype(), m.decider()));
  const Value memory = m.allocate(q.dtype(), {s[0], s[2], s[1], v.sizes()[3]});
  return transpose(m, memory, 1, 2);
}

void launch_attention(Machine& m, Pass pass, const AttentionProblem<Dim>& p, const Dim& bytes_read,
                      const Dim& bytes_written, DType dtype,
                      std::initializer_list<const Value*> read,
                      std::initializer_list<const Value*> written, const Dim& calls) {
  const Dim pairs = calls * p.batch * p.heads * p.queries * p.keys;
  const Dim flop = Dim(2) * pairs * (p.head_size + p.value_size);
  m.launch({.kernel_class = KernelClass::kAttention,
            .pass = pass,
            .dtype = dtype,
            .tensor_core = m.tensor_core_matmuls(dtype),
            .op = "attention",
            .flop = pass == Pass::kForward ? flop : floor_div(flop * Dim(5), 2),
            .read = bytes_read,
            .written = bytes_written,
            .turns = calls,
            .problem = p},
           read, written);
}

}  // namespace plimsoll::eager

// How families of operators become kernels: problems of libraries, and bytes that move.
#pragma once

#include <vector>

#include "graph/record/recorded_call_kernel.h"

namespace plimsoll::recorded {

using Kernels = std::vector<Kernel>;
using Lowering = Kernels (*)(const RecordedCall& call, const Priced& priced);

// Operands whose shapes do not fit what the operator takes give the kernel of elementwise().
Kernels product(const RecordedCall& call, const Priced& priced);
Kernels convolution(const RecordedCall& call, const Priced& priced);
Kernels convolution_backward(const RecordedCall& call, const Priced& priced);
Kernels recurrent(const RecordedCall& call, const Priced& priced);
Kernels attention(const RecordedCall& call, const Priced& priced);
Kernels pool(const RecordedCall& call, const Priced& priced);
Kernels norm(const RecordedCall& call, const Priced& priced);  // rows: its statistics
Kernels rows_of_last(const RecordedCall& call,
                     const Priced& priced);                         // rows: all but the last axis
Kernels reduction(const RecordedCall& call, const Priced& priced);  // rows: what it writes
Kernels gather(const RecordedCall& call, const Priced& priced);  // reads of a table what it writes
Kernels norms(const RecordedCall& call, const Priced& priced);   // rows: tensors of a list
Kernels scatter(const RecordedCall& call, const Priced& priced);
Kernels chosen(const RecordedCall& call, const Priced& priced);    // rows: of what is chosen from
Kernels put(const RecordedCall& call, const Priced& priced);       // rows: what is added, sorted
Kernels unique(const RecordedCall& call, const Priced& priced);    // one row
Kernels deformed(const RecordedCall& call, const Priced& priced);  // rows: samples, of columns
Kernels table_gradient(const RecordedCall& call, const Priced& priced);
Kernels into_zeros(const RecordedCall& call, const Priced& priced);  // the gradient of a part
Kernels of_targets(const RecordedCall& call, const Priced& priced);  // reads what is looked up
Kernels ctc(const RecordedCall& call, const Priced& priced);         // rows and states of a label
Kernels boxes(const RecordedCall& call, const Priced& priced);       // a row for each
Kernels filled(const RecordedCall& call, const Priced& priced);      // reads nothing
Kernels copied(const RecordedCall& call, const Priced& priced);      // reads the last operand
Kernels rolled(const RecordedCall& call, const Priced& priced);      // a kernel for each axis
Kernels elementwise(const RecordedCall& call, const Priced& priced);

}  // namespace plimsoll::recorded

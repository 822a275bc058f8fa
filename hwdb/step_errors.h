// StepErrors: how far off whole steps are, beside what the calibrations of their kernels say of
// themselves. From hwdb/step_errors.json, which tests/accuracy/ranges.py measures.
//
// Each is a half width of |ln(measured / predicted)| that holds 90 of 100 steps. Those that apply
// to a step are added in squares.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct StepErrors {
  double step = 0;       // every step
  double inference = 0;  // a forward pass alone: nothing averages out
  // Most of its work was measured on another card of the architecture or with another generation of
  // the library; on another architecture.
  double architecture = 0, transferred = 0;
  double half = 0;  // 16-bit arithmetic
  double fp64 = 0;
  double assumed = 0;  // a framework whose habits nobody measured
  // By which the host's seconds are multiplied and divided, as logarithms: of a machine to which
  // its row was fitted, of one whose single thread is rated, of one that nobody named.
  double host = 0, rated_host = 0, unknown_host = 0;
  double loader = 0;  // the same of the loader's seconds per sample
  // Upwards alone: of a step whose batches the host reads from files and decodes, which is not in
  // its seconds.
  double files = 0;
  // Times the share of the step that the copy of the batch takes; unknown_copy on a machine of
  // which nothing is known.
  double copy = 0, unknown_copy = 0;
  double exchange = 0;  // as host, of the exchange's seconds

  // Of one collective or one layer by itself.
  double all_reduce = 0, layer = 0;
};

// E3xx for a file that is not of this form.
Result<StepErrors> read_step_errors(std::string_view text, std::string_view file);
// The database's own.
Result<StepErrors> open_step_errors(const Hwdb& hwdb);

}  // namespace plimsoll

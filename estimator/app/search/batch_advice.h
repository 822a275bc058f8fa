// advise_batches: where no batch of a request is safe, what makes one fit.
//
//   auto largest = largest_batch(request, *hwdb);
//   advise_batches(request, *hwdb, *largest);
//   largest->advice.front()   // "--finetune qlora --checkpoint blocks", of 15.4 GiB, up to batch 2
#pragma once

#include "estimator/app/search/largest_batch.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

// Nothing where a batch is safe, where something else varies, where several GPUs share the step and
// where nothing is trained. Cost: that of advise() at the smallest batch, and a batch search for
// each combination that fits.
void advise_batches(const Request& request, const Hwdb& hwdb, LargestBatch& largest);

}  // namespace plimsoll

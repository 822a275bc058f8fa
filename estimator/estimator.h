// The front door: a request in, an estimate out.
//
//   auto hwdb = Hwdb::open();
//   Request request;
//   request.model = "builtin:resnet50", request.devices = {"quadro-p4000"}, request.batch = 32;
//   Result<Estimate> e = estimate(request, *hwdb);
#pragma once

#include "estimator/evaluator.h"

namespace plimsoll {

// All of it at once, for request.devices[0]. With --longest or --lengths the memory is that of the
// longest batch; the time is that of the usual one, or the mean over all lengths: the cost of one
// estimate for each. `models`: as of estimate_once(), and half the cost where they have the model.
Result<Estimate> estimate(const Request& request, const Hwdb& hwdb, ModelCache* models = nullptr);

}  // namespace plimsoll

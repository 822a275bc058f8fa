// SweepModel: a compiled model at work in a sweep, among those that share kernels.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "estimator/model/model_cache.h"
#include "estimator/request/request.h"
#include "estimator/step/distinct_kernels.h"
#include "estimator/time/step_conditions.h"

namespace plimsoll {

struct SweepModel {
  explicit SweepModel(ModelCache::Entry& of) : entry(of), bytes(of.model) {}
  ModelCache::Entry& entry;
  StepBytes bytes;
  std::vector<std::vector<Launches>> launches{};  // by number among the distinct kernels
};

// Those whose kernels are priced together.
struct SweepFamily {
  explicit SweepFamily(Request of) : request(std::move(of)) {}
  Request request;
  ModelCache models;
  std::map<const ModelCache::Entry*, SweepModel> compiled;
  DistinctKernels kernels;
};

}  // namespace plimsoll

// EstimateCache: estimates of many requests in a row, which share models, cards and more. What is
// shared is found by whole requests, but for what is known to play no part: the answer to a request
// never depends on those before it. Compiled models are kept up to a bound on memory.
#pragma once

#include <list>
#include <string>
#include <utility>

#include "estimator/app/validate/quantities.h"
#include "estimator/estimator.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

class EstimateCache {
 public:
  explicit EstimateCache(const Hwdb& hwdb) : hwdb_(hwdb) {}

  // One device and a batch are named in the request. The error is why there is no estimate, in
  // words. Cost: a model is compiled once.
  // Of a pipeline the memory of the stage that needs most, the time of the slowest.
  tl::expected<Answer, std::string> answer(const Request& request);

 private:
  template <class T>
  using OrReason = tl::expected<T, std::string>;

  OrReason<Answer> answer_at_rank(const Request& request);
  OrReason<const Evaluator*> evaluator_for(const Request& request);
  OrReason<Evaluator> make_evaluator(const Request& request) const;
  OrReason<ModelCache::Entry*> compiled_for(const Request& request,
                                            const AutogradBehaviour& behaviour);

  const Hwdb& hwdb_;
  ModelCache models_;
  // The latest first: a source's records follow each other.
  std::list<std::pair<Request, OrReason<Evaluator>>> evaluators_;
};

}  // namespace plimsoll

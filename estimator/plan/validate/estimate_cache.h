// EstimateCache: estimates of many requests in a row, which share models, cards and more. What is
// shared is found by whole requests, but for what is known to play no part: the answer to a request
// never depends on those before it. Compiled models are kept up to a bound on memory.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>

#include "estimator/estimator.h"
#include "estimator/model/model_cache.h"
#include "estimator/plan/validate/quantities.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

// Values by the whole request that each is of.
template <class Value>
class RequestMap {
 public:
  Value* find(const Request& request) {
    for (auto& [known, value] : values_[bucket(request)]) {
      if (known == request) return &value;
    }
    return nullptr;
  }
  void clear() { values_.clear(); }
  Value& add(Request request, Value value) {
    auto& values = values_[bucket(request)];
    return values.emplace_back(std::move(request), std::move(value)).second;
  }

 private:
  // Few requests have these in common.
  static std::string bucket(const Request& q) {
    return q.model + "\n" + (q.devices.empty() ? "" : q.devices.front()) + "\n" + q.framework +
           "\n" + std::to_string(q.batch.value_or(0));
  }
  std::map<std::string, std::list<std::pair<Request, Value>>> values_;
};

class EstimateCache {
 public:
  explicit EstimateCache(const Hwdb& hwdb) : hwdb_(hwdb) {}

  // One device and a batch are named in the request. The error is why there is no estimate, in
  // words. Cost: a model is compiled once, a request estimated once.
  tl::expected<Answer, std::string> answer(const Request& request);

 private:
  template <class T>
  using OrReason = tl::expected<T, std::string>;

  OrReason<const Evaluator*> evaluator_for(const Request& request);
  OrReason<Evaluator> make_evaluator(const Request& request) const;
  OrReason<ModelCache::Entry*> compiled_for(const Request& request, const Platform& platform);
  OrReason<Answer> estimate(const Request& request);

  const Hwdb& hwdb_;
  ModelCache models_;
  RequestMap<OrReason<Evaluator>> evaluators_;
  // Sources that measured time and memory ask for the same estimate twice, in two files.
  RequestMap<OrReason<Answer>> answers_;
};

}  // namespace plimsoll

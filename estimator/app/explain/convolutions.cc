#include "estimator/app/explain/convolutions.h"

#include <set>
#include <string>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/lengths.h"
#include "estimator/step/bound_step.h"
#include "graph/base/try.h"

namespace plimsoll {

Result<std::vector<ConvQuestion>> convolutions(const Request& request, const Hwdb& hwdb) {
  std::vector<Request> points = {request};
  if (!request.lengths.empty()) points.clear();
  if (!request.longest.empty() || !request.lengths.empty()) points.push_back(at_longest(request));
  std::vector<ConvQuestion> questions;
  std::set<std::string> seen;
  for (const Request& point : points) {
    const auto platform =
        TRY(find_platform(hwdb, point, point.devices.empty() ? "" : point.devices.front()));
    const auto model = TRY(compile(point, platform));
    const auto bound = TRY(bind_step(model.step, largest_batch(model, model.binding)));
    for (const KernelAt& kernel : bound.kernels) {
      const auto question = conv_question(kernel);
      if (question && seen.insert(text_of(*question)).second) questions.push_back(*question);
    }
  }
  return questions;
}

}  // namespace plimsoll

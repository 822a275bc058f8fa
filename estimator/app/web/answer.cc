#include "estimator/app/web/answer.h"

#include <string>
#include <utility>
#include <vector>

#include "estimator/app/report/document.h"
#include "estimator/app/report/json.h"
#include "estimator/app/search/remedies.h"
#include "estimator/estimator.h"
#include "estimator/settings/request_values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr const char* kQuestion = "the question";

Result<Request> request_of(std::string_view question) {
  const auto document = TRY(read_json(question, kQuestion));
  const auto given = TRY(settings_of_answer(document, kQuestion));
  auto request = to_request(given);
  if (!request) return request;
  if (request->model.empty()) return error("E108", "which model?");
  if (request->devices.empty()) return error("E109", "which GPU?");
  if (request->devices.size() > 1)
    return error("E114", setting("gpu") + " is given more than once");
  request->minimum = true;
  request->detail = true;
  return request;
}

Result<Estimate> estimate_of(const Request& request, WebDepth depth) {
  const auto hwdb = TRY(Hwdb::open(request.hwdb_directory));
  auto estimated = estimate(request, hwdb);
  if (!estimated || estimated->on_host || depth == WebDepth::kAtOnce) return estimated;
  if (estimated->memory.verdict != Verdict::kFits)
    estimated->remedies = remedies(request, hwdb, *estimated);
  return estimated;
}

std::string refusal(const Diagnostics& faults) {
  return described_text(
      [&](Fields& f) {
        f.object([&] {
          describe_head(f, "plimsoll.refusal");
          f("diagnostics", unchanged(faults));
        });
      },
      JsonWriter::Layout::kCompact);
}

}  // namespace

std::string web_answer(std::string_view question, WebDepth depth) {
  const auto request = request_of(question);
  if (!request) return refusal(request.error());
  const auto estimated = estimate_of(*request, depth);
  if (!estimated) return refusal(estimated.error());
  return to_json(*estimated, {.layout = JsonWriter::Layout::kCompact});
}

}  // namespace plimsoll

#include "estimator/app/web/session.h"

#include "estimator/app/report/json.h"
#include "estimator/app/search/remedies.h"
#include "estimator/app/web/question.h"
#include "estimator/app/web/row.h"
#include "estimator/estimator.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr size_t kMostSessionEvents = 200'000;  // of models that are kept: some 60 MB

Result<Estimate> estimate_of(const Request& request, WebDepth depth, ModelCache& models) {
  const auto hwdb = TRY(Hwdb::open(request.hwdb_directory));
  auto estimated = estimate(request, hwdb, &models);
  if (!estimated || estimated->on_host || depth == WebDepth::kAtOnce) return estimated;
  if (estimated->memory.verdict != Verdict::kFits)
    estimated->remedies = remedies(request, hwdb, *estimated, models);
  return estimated;
}

}  // namespace

std::string WebSession::answer(std::string_view question, WebDepth depth) {
  auto read = read_question(question);
  if (!read) return refusal(read.error());
  read->request.minimum = true;
  read->request.detail = true;
  if (models_.events() > kMostSessionEvents) models_.clear();
  const auto estimated = estimate_of(read->request, depth, models_);
  if (!estimated) return refusal(estimated.error());
  return to_json(*estimated, {.layout = JsonWriter::Layout::kCompact});
}

std::string WebSession::row(std::string_view question) {
  const auto read = read_question(question);
  if (!read) return refusal(read.error());
  const auto row = web_row(*read);
  return row ? to_json(*row) : refusal(row.error());
}

}  // namespace plimsoll

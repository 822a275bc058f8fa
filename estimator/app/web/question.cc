#include "estimator/app/web/question.h"

#include <utility>

#include "estimator/app/report/diagnostic_json.h"
#include "estimator/app/report/document.h"
#include "estimator/settings/request_values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll {

Result<WebQuestion> read_question(std::string_view text) {
  constexpr const char* kQuestion = "the question";
  auto document = TRY(read_json(text, kQuestion));
  const auto given = TRY(settings_of_answer(document, kQuestion));
  auto request = TRY(to_request(given));
  if (request.model.empty()) return error("E108", "which model?");
  if (request.devices.empty()) return error("E109", "which GPU?");
  if (request.devices.size() > 1) return error("E114", setting("gpu") + " is given more than once");
  return WebQuestion{std::move(document), std::move(request)};
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

}  // namespace plimsoll

#include "estimator/app/report/document.h"

#include "estimator/app/report/spelling.h"
#include "estimator/app/report/version.h"

namespace plimsoll {

void describe_head(Fields& f, std::string_view form) {
  f.form(form, 1);
  f.object("tool", [&] {
    f("name", "plimsoll");
    f("version", kVersion);
  });
}

JsonFields json_fields(JsonWriter& out) {
  return JsonFields(out, [](std::string_view text) { return spelled(text); });
}

std::string described_text(const Describe& describe, JsonWriter::Layout layout) {
  JsonWriter out(layout);
  JsonFields fields = json_fields(out);
  describe(fields);
  return out.take() + "\n";
}

}  // namespace plimsoll

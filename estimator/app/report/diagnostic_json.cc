#include "estimator/app/report/diagnostic_json.h"

#include <array>

#include "estimator/app/report/document.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"note", "warning", "error"};

}  // namespace

void describe(Fields& f, Diagnostic& d) {
  f("code", d.code);
  f("severity", kSeverities[static_cast<size_t>(d.severity)], {.words = kSeverities});
  f("message", d.message, {.settings = true});
  f("file", d.place.file, {.absent_where = d.place.file.empty()});
  f("line", d.place.line, {.absent_where = d.place.line <= 0});
  f("column", d.place.column, {.absent_where = d.place.column <= 0});
  f("node", d.place.node, {.null_where = d.place.node.empty()});
  f("help", d.help, {.absent_where = d.help.empty(), .settings = true});
}

std::string to_json(const Diagnostic& diagnostic) {
  return described_text([&](Fields& f) { f.visit(unchanged(diagnostic)); },
                        JsonWriter::Layout::kCompact);
}

}  // namespace plimsoll

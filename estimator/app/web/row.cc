#include "estimator/app/web/row.h"

#include <algorithm>
#include <utility>

#include "estimator/app/report/diagnostic_json.h"
#include "estimator/app/report/document.h"
#include "estimator/settings/ineffective_settings.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr const char* kForm =
    R"(a size and its values, such as {"size": "batch", "values": [1, 2]})";

Result<SizeAxis> axis_of(const JsonValue& document) {
  const JsonValue* const sweep = document.find("sweep");
  const auto fault = [&] { return error("E311", std::string("sweep is ") + kForm); };
  const JsonValue* const size = sweep ? sweep->find("size") : nullptr;
  const JsonValue* const values = sweep ? sweep->find("values") : nullptr;
  if (!size || !size->string() || !values || !values->list() || values->list()->empty())
    return fault();
  SizeAxis axis{*size->string(), {}};
  for (const JsonValue& value : *values->list()) {
    const auto whole = value.integer();
    if (!whole || *whole < 1) return fault();
    axis.values.push_back(*whole);
  }
  return axis;
}

struct PointAt {
  int64_t size;
  SweepPoint point;
};

void describe(Fields& f, PointAt& p) {
  f("size", p.size, {.low = 1});
  if (p.point.failure) {
    f("diagnostics", *p.point.failure);
  } else {
    describe(f, p.point, true);
  }
}

}  // namespace

Result<WebRow> web_row(const WebQuestion& question) {
  const Request& request = question.request;
  WebRow row;
  row.axis = TRY(axis_of(question.document));
  const Diagnostics unused = ineffective_settings("sweep", request);
  const auto refused = [](const Diagnostic& d) { return d.severity == Severity::kError; };
  if (std::ranges::any_of(unused, refused)) return tl::make_unexpected(unused);
  const auto hwdb = TRY(Hwdb::open(request.hwdb_directory));
  TRY(sweep({&request, 1}, {&row.axis, 1}, hwdb, {}, [&](const SweepPoint& point) {
    row.points.push_back(point);
    return true;
  }));
  BatchSearch search;
  search.vary = row.axis.symbol;
  search.rounds = 0;
  row.largest = TRY(largest_batch(request, hwdb, search));
  return row;
}

std::string to_json(const WebRow& row) {
  std::vector<PointAt> points;
  for (const SweepPoint& point : row.points)
    points.push_back({row.axis.values[static_cast<size_t>(point.point)], point});
  auto largest = row.largest;
  return described_text(
      [&](Fields& f) {
        f.object([&] {
          describe_head(f, "plimsoll.row");
          f("size", unchanged(row.axis.symbol));
          f("points", points);
          f.object("largest", [&] { describe_sizes(f, largest); });
        });
      },
      JsonWriter::Layout::kCompact);
}

}  // namespace plimsoll

#include "hwdb/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "graph/base/embedded.h"
#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"
#include "hwdb/calibration_terms.h"
#include "hwdb/coefficients.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

namespace {

// A class's terms: those of the tiled multiplication that it contains, then its own.
struct ClassTerms {
  std::string_view name;
  std::span<const CoefficientRow> products, own;
};
const std::array<ClassTerms, 7> kClasses = {{
    {"gemm", kGemmTerms, {}},
    {"conv", kGemmTerms, kConvTerms},
    {"depthwise", {}, kDepthwiseTerms},
    {"grouped", {}, kGroupedTerms},
    {"recurrent", kGemmTerms, kRecurrentTerms},
    {"persistent", {}, kPersistentTerms},
    {"rows", {}, kRowsTerms},
}};

std::vector<std::string_view> class_names() {
  std::vector<std::string_view> names;
  for (const ClassTerms& row : kClasses) names.push_back(row.name);
  return names;
}

}  // namespace

std::vector<CoefficientRow> coefficient_rows(std::string_view kernel_class) {
  std::vector<CoefficientRow> rows;
  const auto* at = std::ranges::find(kClasses, kernel_class, &ClassTerms::name);
  if (at == kClasses.end()) return rows;
  rows.assign(at->products.begin(), at->products.end());
  rows.insert(rows.end(), at->own.begin(), at->own.end());
  return rows;
}

namespace {

struct OfPass {
  PassError figures;
};

void describe(Fields& f, OfPass& of) {
  f("kernels", of.figures.kernels);
  f("error", of.figures.error, {.low = 0});
  f("median", of.figures.median, {.low = 0});
  f("roofline", of.figures.roofline, {.low = 0});
}

void describe_passes(Fields& f, std::vector<PassError>& passes) {
  std::vector<std::pair<std::string, OfPass>> by_name;
  for (const PassError& p : passes) by_name.emplace_back(p.pass, OfPass{p});
  f("passes", by_name);
  for (auto& [name, of] : by_name) of.figures.pass = name;
  if (std::ranges::equal(passes, by_name, {}, {},
                         [](const auto& row) { return row.second.figures; }))
    return;
  passes.clear();
  for (auto& [name, of] : by_name) passes.push_back(std::move(of.figures));
}

// Of those that the fit uses; one that is idle may be left out.
void describe_terms(Fields& f, Fit& fit) {
  const std::vector<CoefficientRow> rows = coefficient_rows(fit.kernel_class);
  for (size_t i = fit.terms.size(); i < rows.size(); ++i)
    fit.terms.push_back(is_used(rows[i], fit) ? 0 : rows[i].initial);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_used(rows[i], fit)) continue;
    FieldNote note{.low = rows[i].low, .high = rows[i].high};
    if (may_be_idle(rows[i])) note.absent_where = fit.terms[i] == 0;
    f(rows[i].name, fit.terms[i], note);
  }
}

void describe_fit(Fields& f, Fit& fit) {
  const std::vector<std::string_view> classes = class_names();
  constexpr FieldNote kVersion{.high = 99999}, kError{.low = 0};
  f("kernel_class", fit.kernel_class, {.words = classes});
  f("arithmetic", fit.arithmetic);
  f("compute_capability", fit.compute_capability, kVersion);
  f("odd_shapes", fit.odd_shapes, {.absent_where = !fit.odd_shapes});
  f("library", fit.library, kVersion);
  f("library_first", fit.library_first, kVersion);
  f("library_last", fit.library_last, kVersion);
  f("measured", fit.measured);
  f("error", fit.error, kError);
  f("median", fit.median, kError);
  f("spread", fit.spread, kError);
  f("correlation", fit.correlation, {.low = -1, .high = 1});
  f("range90", fit.range90, {.low = 0, .high = 5});
  f("in_situ", fit.in_situ, {.low = .5, .high = 2});
  f("queued", fit.queued, {.absent_where = !fit.queued});
  f("note", fit.note, {.absent_where = fit.note.empty()});
  describe_passes(f, fit.passes);
  f.object("terms", [&] { describe_terms(f, fit); });
  f("clocks", fit.clocks, {.low = .5, .high = 2});
}

void describe_calibration(Fields& f, Calibration& calibration) {
  f.form("plimsoll.calibration", 1);
  f("id", calibration.id);
  f("flop_per_sm_clock", calibration.flop_per_sm_clock,
    {.absent_where = calibration.flop_per_sm_clock.empty(), .low = 1, .high = 1e6});
  f.list("files", calibration.files, [&](MeasuredFile& file) {
    f("name", file.name);
    f("sha256", file.sha256);
    f("citation", file.citation);
  });
  f.list("fits", calibration.fits, [&](Fit& fit) { describe_fit(f, fit); });
}

// Every real with five digits: enough for any prediction, and short files.
class FiveDigits final : public Fields {
  bool begin(std::string_view, const FieldNote&, bool) override { return true; }
  void real(double& value) override {
    value = std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
  }
};

}  // namespace

Result<Calibration> parse_calibration(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    Calibration calibration;
    ReadFields fields(root);
    describe_calibration(fields, calibration);
    return calibration;
  });
}

std::string write_calibration(const Calibration& calibration) {
  Calibration rounded = calibration;
  FiveDigits digits;
  describe_calibration(digits, rounded);
  JsonWriter out;
  JsonFields fields(out);
  fields.object([&] { describe_calibration(fields, rounded); });
  return out.take() + "\n";
}

Result<std::vector<Calibration>> shipped_calibrations() {
  std::vector<Calibration> all;
  for (const std::string& name : hwdb_files().names("calibrations/sm_")) {
    const auto text = TRY(hwdb_files().read(name));
    auto calibration = TRY(parse_calibration(text, name));
    all.push_back(std::move(calibration));
  }
  return all;
}

}  // namespace plimsoll

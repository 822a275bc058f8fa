#include "hwdb/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "graph/base/embedded.h"
#include "graph/json/read_object.h"
#include "graph/json/writer.h"
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

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const ClassTerms& row : kClasses) names.emplace_back(row.name);
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

std::vector<double> read_terms(JsonObject object, const Fit& fit) {
  std::vector<double> terms;
  for (const CoefficientRow& row : coefficient_rows(fit.kernel_class)) {
    const RealRange range{.low = row.low, .high = row.high};
    if (!is_used(row, fit)) {
      terms.push_back(row.initial);
    } else if (may_be_idle(row)) {
      terms.push_back(object.optional_real(row.name, range).value_or(0));
    } else {
      terms.push_back(object.required_real(row.name, range));
    }
  }
  object.finish();
  return terms;
}

std::vector<PassError> read_passes(JsonObject object) {
  std::vector<PassError> passes;
  for (const JsonMember& member : object.members()) {
    JsonObject row = object.required_object(member.key);
    PassError p{.pass = member.key};
    p.kernels = row.required_integer("kernels", {.low = 0});
    p.error = row.required_real("error", {.low = 0});
    p.median = row.required_real("median", {.low = 0});
    p.roofline = row.required_real("roofline", {.low = 0});
    row.finish();
    passes.push_back(std::move(p));
  }
  return passes;
}

Fit read_fit(JsonObject object) {
  Fit fit;
  constexpr IntegerRange kVersion{.low = 0, .high = 99999};
  fit.kernel_class = object.required_choice("kernel_class", class_names());
  fit.arithmetic = object.required_string("arithmetic");
  fit.compute_capability =
      static_cast<int>(object.required_integer("compute_capability", kVersion));
  fit.odd_shapes = object.optional_bool("odd_shapes").value_or(false);
  fit.library = static_cast<int>(object.required_integer("library", kVersion));
  fit.library_first = static_cast<int>(object.required_integer("library_first", kVersion));
  fit.library_last = static_cast<int>(object.required_integer("library_last", kVersion));
  fit.measured = object.required_integer("measured", {.low = 0});
  fit.error = object.required_real("error", {.low = 0});
  fit.median = object.required_real("median", {.low = 0});
  fit.spread = object.required_real("spread", {.low = 0});
  fit.correlation = object.required_real("correlation", {.low = -1, .high = 1});
  fit.range90 = object.required_real("range90", {.low = 0, .high = 5});
  fit.in_situ = object.required_real("in_situ", {.low = .5, .high = 2});
  fit.queued = object.optional_bool("queued").value_or(false);
  fit.note = object.optional_string("note").value_or("");
  fit.passes = read_passes(object.required_object("passes"));
  fit.terms = read_terms(object.required_object("terms"), fit);
  JsonObject clocks = object.required_object("clocks");
  for (const JsonMember& member : clocks.members())
    fit.clocks.emplace_back(member.key, clocks.required_real(member.key, {.low = .5, .high = 2}));
  object.finish();
  return fit;
}

// Five digits: enough for any prediction, and short files.
double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

void write_passes(JsonWriter& out, const std::vector<PassError>& passes) {
  out.key("passes").begin_object();
  for (const PassError& p : passes) {
    out.key(p.pass).begin_object().key("kernels").integer(p.kernels);
    out.key("error").real(rounded(p.error)).key("median").real(rounded(p.median));
    out.key("roofline").real(rounded(p.roofline));
    out.end_object();
  }
  out.end_object();
}

void write_fit(JsonWriter& out, const Fit& fit) {
  out.key("kernel_class").string(fit.kernel_class);
  out.key("arithmetic").string(fit.arithmetic);
  out.key("compute_capability").integer(fit.compute_capability);
  if (fit.odd_shapes) out.key("odd_shapes").boolean(true);
  out.key("library").integer(fit.library);
  out.key("library_first").integer(fit.library_first);
  out.key("library_last").integer(fit.library_last);
  out.key("measured").integer(fit.measured);
  out.key("error").real(rounded(fit.error));
  out.key("median").real(rounded(fit.median));
  out.key("spread").real(rounded(fit.spread));
  out.key("correlation").real(rounded(fit.correlation));
  out.key("range90").real(rounded(fit.range90));
  out.key("in_situ").real(rounded(fit.in_situ));
  if (fit.queued) out.key("queued").boolean(true);
  if (!fit.note.empty()) out.key("note").string(fit.note);
  write_passes(out, fit.passes);
  out.key("terms").begin_object();
  const auto rows = coefficient_rows(fit.kernel_class);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool idle = fit.terms[i] == 0 && may_be_idle(rows[i]);
    if (is_used(rows[i], fit) && !idle) out.key(rows[i].name).real(rounded(fit.terms[i]));
  }
  out.end_object();
  out.key("clocks").begin_object();
  for (const auto& [device, clock] : fit.clocks) out.key(device).real(rounded(clock));
  out.end_object();
}

}  // namespace

Result<Calibration> parse_calibration(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    root.schema("plimsoll.calibration", 1);
    Calibration calibration;
    calibration.id = root.required_string("id");
    if (auto rates = root.optional_object("flop_per_sm_clock")) {
      for (const JsonMember& member : rates->members()) {
        calibration.flop_per_sm_clock[member.key] =
            rates->required_real(member.key, {.low = 1, .high = 1e6});
      }
    }
    for (const JsonValue& value : root.required_list("files")) {
      JsonObject object(value, root.file(), root.faults());
      calibration.files.push_back({object.required_string("name"), object.required_string("sha256"),
                                   object.required_string("citation")});
      object.finish();
    }
    for (const JsonValue& value : root.required_list("fits")) {
      calibration.fits.push_back(read_fit(JsonObject(value, root.file(), root.faults())));
    }
    return calibration;
  });
}

std::string write_calibration(const Calibration& calibration) {
  JsonWriter out;
  out.begin_object();
  out.key("schema").string("plimsoll.calibration");
  out.key("version").integer(1);
  out.key("id").string(calibration.id);
  if (!calibration.flop_per_sm_clock.empty()) {
    out.key("flop_per_sm_clock").begin_object();
    for (const auto& [arithmetic, flop] : calibration.flop_per_sm_clock)
      out.key(arithmetic).real(rounded(flop));
    out.end_object();
  }
  out.key("files").objects(calibration.files, [&](const MeasuredFile& file) {
    out.key("name").string(file.name).key("sha256").string(file.sha256);
    out.key("citation").string(file.citation);
  });
  out.key("fits").objects(calibration.fits, [&](const Fit& fit) { write_fit(out, fit); });
  out.end_object();
  return out.take() + "\n";
}

Result<std::vector<Calibration>> shipped_calibrations() {
  std::vector<Calibration> all;
  for (const std::string& name : hwdb_files().names("calibrations/sm_")) {
    const auto text = hwdb_files().read(name);
    if (!text) return tl::unexpected(text.error());
    auto calibration = parse_calibration(*text, name);
    if (!calibration) return tl::unexpected(calibration.error());
    all.push_back(std::move(*calibration));
  }
  return all;
}

}  // namespace plimsoll

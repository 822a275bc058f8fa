#include "estimator/app/validate/tolerance.h"

#include <doctest/doctest.h>

#include "estimator/app/report/validation.h"

using namespace plimsoll;

namespace {

ValidationLine line(const std::string& quantity, double measured, double predicted) {
  ValidationLine l;
  l.quantity = quantity;
  l.measured = measured;
  l.predicted = predicted;
  if (measured != 0) l.error = predicted / measured - 1;
  return l;
}

ValidationLine skipped() {
  ValidationLine l;
  l.quantity = "total_ms";
  l.skipped = "why";
  return l;
}

Judge judged(const std::vector<ValidationLine>& lines, const Tolerances& tolerances,
             bool allow_skipped = false) {
  Judge judge(tolerances, allow_skipped);
  for (const ValidationLine& l : lines) judge.add(l);
  return judge;
}

Gate judge(const std::vector<ValidationLine>& lines, const Tolerances& tolerances,
           bool allow_skipped) {
  return judged(lines, tolerances, allow_skipped).gate();
}

Diagnostics doubted_units(const std::vector<ValidationLine>& lines) {
  return judged(lines, {}).doubted_units();
}

std::string reported(const std::vector<ValidationLine>& lines, const Tolerances& tolerances) {
  std::string text;
  ValidationReport report(ValidationReport::Form::kText,
                          [&](const std::string& more) { text += more; });
  Judge judge(tolerances);
  for (const ValidationLine& l : lines) report.add(l, judge.add(l));
  ValidationNotes notes;
  if (!tolerances.empty()) notes.tolerances = {"memory=10%"};
  report.finish({}, judge.gate(), notes);
  return text;
}

const Tolerances kTen = {{"memory", {.relative = 0.1}}};

std::string last_line(const std::string& text) {
  const size_t end = text.rfind('\n', text.size() - 2);
  return text.substr(end + 1);
}

}  // namespace

TEST_CASE("tolerance: a gate counts what it compared") {
  const std::vector<ValidationLine> lines = {line("nvidia_smi_mb", 100, 109),
                                             line("total_ms", 100, 300)};
  const Gate gate = judge(lines, kTen, false);
  CHECK(gate.passed);
  CHECK(gate.compared == 1);
  CHECK(judge(lines, {}, false).compared == 2);
  CHECK_FALSE(judge({line("nvidia_smi_mb", 100, 111)}, kTen, false).passed);
}

TEST_CASE("tolerance: nothing compared is no pass, nor is a record skipped") {
  CHECK_FALSE(judge({}, {}, true).passed);
  CHECK_FALSE(judge({line("total_ms", 100, 100)}, kTen, false).passed);
  const std::vector<ValidationLine> one_skipped = {line("nvidia_smi_mb", 100, 100), skipped()};
  CHECK_FALSE(judge(one_skipped, kTen, false).passed);
  CHECK(judge(one_skipped, kTen, true).passed);
  // Each tolerance asks for something.
  CHECK_FALSE(judge({line("nvidia_smi_mb", 100, 100)},
                    {{"memory", {.relative = 0.1}}, {"time", {.relative = 0.1}}}, false)
                  .passed);
}

TEST_CASE("tolerance: bytes and seconds in a record's own unit") {
  const Tolerances mib = {{"memory", {.bytes = 1048576}}};
  CHECK(judge({line("nvidia_smi_mb", 100, 101)}, mib, false).passed);
  CHECK_FALSE(judge({line("nvidia_smi_mb", 100, 101.1)}, mib, false).passed);
  const Tolerances ms = {{"time", {.seconds = 2e-3}}};
  CHECK(judge({line("total_ms", 10, 12)}, ms, false).passed);
  CHECK_FALSE(judge({line("total_ms", 10, 12.5)}, ms, false).passed);
}

TEST_CASE("tolerance: a run out of memory is inside where the verdict may be so") {
  ValidationLine fits = line("fits", 0, 1);
  fits.low = 0;
  fits.high = 1;  // may fit
  const Tolerances exact = {{"fits", {.relative = 0}}};
  CHECK(judge({fits}, exact, false).passed);
  fits.low = 1;  // fits
  CHECK_FALSE(judge({fits}, exact, false).passed);
}

TEST_CASE("tolerance: megabytes taken for mebibytes are told") {
  const auto off = [](double by) {
    return std::vector<ValidationLine>{line("nvidia_smi_mb", 100, 100 * by),
                                       line("nvidia_smi_mb", 3000, 3000 * by),
                                       line("nvidia_smi_mb", 500, 500 * by)};
  };
  REQUIRE(doubted_units(off(1.0486)).size() == 1);
  CHECK(doubted_units(off(1.0486)).front().code == "W510");
  CHECK(doubted_units(off(1 / 1.0486)).size() == 1);
  CHECK(doubted_units(off(1.02)).empty());
}

TEST_CASE("tolerance: the last line says what was compared") {
  const std::string text = reported({line("nvidia_smi_mb", 100, 150), skipped()}, kTen);
  CHECK(last_line(text) == "FAILED 1 compared, 1 out of tolerance, 1 skipped\n");
  CHECK(text.find("50.0 %  out of tolerance\n") != std::string::npos);
  CHECK(text.find(": why\n") != std::string::npos);
  const std::vector<ValidationLine> good = {line("nvidia_smi_mb", 100, 105)};
  CHECK(last_line(reported(good, kTen)) == "PASSED 1 compared, all within tolerance\n");
  CHECK(last_line(reported(good, {})) == "PASSED 1 compared, no tolerance given\n");
  CHECK(text.find(" #1 ") != std::string::npos);  // people count from 1
  CHECK(reported({}, kTen) == "FAILED 0 compared\n");
}

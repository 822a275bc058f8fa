// What CI reads of a validation: JUnit's XML, GitHub's annotations and summary; names of a file end
// neither early.
#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/github.h"
#include "estimator/app/report/junit.h"
#include "estimator/app/report/markup_text.h"

namespace plimsoll {
namespace {

ValidationLine line_of(const std::string& file, int64_t index, const std::string& model) {
  ValidationLine line;
  line.file = file;
  line.index = index;
  line.kind = "model";
  line.model = model;
  line.quantity = "nvidia_smi_mb";
  line.measured = 12.3;
  line.predicted = 14.12;
  line.low = 13.0;
  line.high = 15.0;
  line.error = 14.12 / 12.3 - 1;
  return line;
}

}  // namespace

TEST_CASE("junit: a case for each quantity, failures and skipped ones with their reason") {
  JunitReport report;
  report.add(line_of("runs.csv", 0, "resnet50"), LineState::kInside, "10.0 %");
  report.add(line_of("runs.csv", 4, "unet"), LineState::kOutside, "10.0 %");
  ValidationLine skipped = line_of("runs.csv", 5, "x");
  skipped.skipped = "no such model \"x\"";
  report.add(skipped, LineState::kSkipped, "");
  const std::string xml =
      report.to_xml({.passed = false, .compared = 2, .outside = 1, .skipped = 1});
  CHECK(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"));
  CHECK(xml.find("tests=\"3\" failures=\"1\" skipped=\"1\"") != xml.npos);
  CHECK(xml.find("<testcase classname=\"unet\" name=\"runs.csv:4 nvidia_smi_mb\"><failure "
                 "message=\"measured 12.3, predicted 14.12 (13 to 15), allowed 10.0 %\"/>") !=
        xml.npos);
  CHECK(xml.find("<skipped message=\"no such model &quot;x&quot;\"/>") != xml.npos);
}

TEST_CASE("junit: what XML has no form for does not end it") {
  CHECK(escaped_markup("a<b>&\"c\"\n\x1b") == "a&lt;b&gt;&amp;&quot;c&quot;\\n\\x1b");
  JunitReport report;
  report.add(line_of("r.csv", 0, "\"/><evil/>"), LineState::kInside, "");
  CHECK(report.to_xml({}).find("<evil/>") == std::string::npos);
}

TEST_CASE("github: annotations name file and line, nine of them and a count of the rest") {
  GithubReport report;
  for (int64_t i = 0; i < 12; ++i)
    report.add(line_of("runs.csv", i, "unet"), LineState::kOutside, "10.0 %");
  report.add(line_of("runs.csv", 12, "resnet50"), LineState::kInside, "10.0 %");
  const std::string text = report.annotations();
  CHECK(std::ranges::count(text, '\n') == 10);
  CHECK(
      text.starts_with("::error file=runs.csv,line=2,title=plimsoll::nvidia_smi_mb of unet: 14.12 "
                       "predicted, 12.3 measured (+14.8 %25, allowed 10.0 %25)\n"));
  CHECK(text.ends_with("::error title=plimsoll::and 3 more out of tolerance\n"));
  const std::string summary = report.summary({.passed = false, .compared = 13, .outside = 12});
  CHECK(summary.starts_with("### plimsoll validate: FAILED\n\n13 compared, 12 out of tolerance"));
  CHECK(summary.find("resnet50") == summary.npos);
}

TEST_CASE("github: a name of a file ends no command and begins none") {
  CHECK(escaped_for_property("a,b:c%\nd") == "a%2Cb%3Ac%25\\nd");
  GithubReport report;
  report.add(line_of("x,line=9::error\n::warning::y", 0, "m\r\n::set-env"), LineState::kOutside,
             "1 %");
  const std::string text = report.annotations();
  CHECK(std::ranges::count(text, '\n') == 1);
  CHECK(text.find("x%2Cline=9%3A%3Aerror") != text.npos);
}

}  // namespace plimsoll

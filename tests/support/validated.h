// Records held against predictions.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "estimator/app/validate/validate.h"
#include "hwdb/measured/reader.h"
#include "tests/support/requests.h"

namespace plimsoll::test {

inline std::vector<ValidationLine> answer(const std::string& record, const std::string& kind) {
  const std::string text = "{\"kind\": \"" + kind + "\", \"records\": [{" + record + "}]}";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const ByteSource source = ByteSource::of("runs.json", {bytes, bytes + text.size()});
  Validator validator(hwdb(), {});
  std::vector<ValidationLine> lines;
  const auto file = read_measured(source, [&](MeasuredRun&& run) {
    for (ValidationLine& l : validator.answer(run, "runs.json")) lines.push_back(std::move(l));
  });
  REQUIRE_MESSAGE(file, file.error().front().message);
  return lines;
}

inline std::string skipped(const std::string& record, const std::string& kind) {
  const auto lines = answer(record, kind);
  REQUIRE(lines.size() == 1);
  CHECK_FALSE(lines[0].predicted);
  CHECK_FALSE(lines[0].error);
  return lines[0].skipped;
}

}  // namespace plimsoll::test

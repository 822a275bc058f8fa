// Shorthand for tests that ask the estimator.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "estimator/estimator.h"
#include "estimator/request/request.h"

namespace plimsoll::test {

inline Request request(const std::string& model, const std::string& device,
                       std::optional<int64_t> batch = std::nullopt) {
  Request asked;
  asked.model = model;
  asked.devices = {device};
  asked.batch = batch;
  return asked;
}

// The built-in database.
inline const Hwdb& hwdb() {
  static const Hwdb kHwdb = *Hwdb::open();
  return kHwdb;
}

inline Estimate answer(const Request& asked) {
  auto e = estimate(asked, hwdb());
  const std::string why = e ? "" : e.error().front().message;
  CAPTURE(why);
  REQUIRE(e);
  return *e;
}

}  // namespace plimsoll::test

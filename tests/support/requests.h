// Shorthand for tests that ask the estimator.
#pragma once

#include <string>

#include "estimator/request.h"

namespace plimsoll::test {

inline Request request(const std::string& model, const std::string& device,
                       std::optional<int64_t> batch = std::nullopt) {
  Request asked;
  asked.model = model;
  asked.devices = {device};
  asked.batch = batch;
  return asked;
}

}  // namespace plimsoll::test

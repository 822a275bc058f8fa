// Estimates that are called off: anywhere, and nothing of them is left.
#include <doctest/doctest.h>

#include <string>

#include "estimator/app/report/json.h"
#include "graph/base/cancel.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

int64_t asked_still = 0;
bool is_spent() { return asked_still-- <= 0; }

// How often an estimate was called off before it came to its end, each time later.
int times_called_off(const Request& request) {
  for (int times = 0;; ++times) {
    asked_still = (int64_t{1} << times) - 1;
    try {
      const CancelWhen cancel(is_spent);
      test::answer(request);
      return times;
    } catch (const Cancelled&) {
    }
  }
}

}  // namespace

TEST_CASE("an estimate that is called off unwinds wherever it stands, and the next is whole") {
  for (const char* model : {"resnet50", "gpt2", "lstm-lm"}) {
    for (const char* checkpoint : {"none", "blocks"}) {
      CAPTURE(model);
      CAPTURE(checkpoint);
      Request asked = test::request(std::string("builtin:") + model, "t4", 4);
      if (model != std::string("lstm-lm")) asked.recipe.checkpoint = checkpoint;
      const std::string whole = to_json(test::answer(asked));
      CHECK(times_called_off(asked) >= 4);
      CHECK(to_json(test::answer(asked)) == whole);
    }
  }
}

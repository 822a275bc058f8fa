// Our kernels, compiled by the real library where it is: it needs no GPU.
#include "calibrate/nvrtc.h"

#include <doctest/doctest.h>

#include "calibrate/own_kernels.h"
#include "tests/support/not_run.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;

TEST_CASE("our kernels compile for the cards that the library knows") {
  const auto nvrtc = Nvrtc::open(find_nvidia_folders());
  if (!nvrtc) {
    CHECK(nvrtc.error()[0].code == "E701");
    return test::not_run(nvrtc.error()[0].message);
  }
  int known = 0;
  for (const int capability : {52, 61, 70, 75, 80, 86, 89, 90}) {
    const auto code = nvrtc->compile(kOwnKernels, capability);
    if (!code) {
      // Newer ones know no card before Turing.
      CHECK_MESSAGE(capability < 75, code.error()[0].message);
      continue;
    }
    ++known;
    CHECK(
        code->starts_with("\x7f"
                          "ELF"));
    for (const char* name : {"fill", "move", "gather", "gather_narrow", "wait", "nothing"})
      CHECK(code->find(name) != std::string::npos);
  }
  CHECK(known >= 5);
  const auto wrong = nvrtc->compile("this is no program", 80);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error()[0].code == "E722");
  CHECK(wrong.error()[0].message.find("error") != std::string::npos);
}

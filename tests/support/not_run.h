// A test that cannot be run here says why, and ends: it is counted, and has failed where
// PLIMSOLL_REQUIRE_ALL=1.
//
//   if (!chromium()) return not_run("no Chromium");
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::test {

// What the test lacks: something that `./dev test` builds or fetches, or what it never brings (a
// GPU, or that there is none; a framework of several GB), which is counted, but fails nowhere.
enum class Lacks : uint8_t { kBrought, kNeverBrought };

// Prints "not run: WHY | TEST" on a line of its own.
void not_run(const std::string& why, Lacks lacks = Lacks::kBrought);

// Of all tests that this process ran: how many checked nothing and did not say why.
int empty_tests();

}  // namespace plimsoll::test

#include "hwdb/cpu.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

std::string cpu_called(std::string_view asked) {
  const auto cpu = find_cpu(Hwdb(), asked);
  return cpu ? cpu->name : cpu.error().front().help;
}

}  // namespace

TEST_CASE("processors are found as people and the kernel write them") {
  CHECK(cpu_called("Xeon E5-2640 v4") == "Xeon E5-2640 v4");
  CHECK(cpu_called("Intel(R) Xeon(R) CPU E5-2640 v4 @ 2.40GHz") == "Xeon E5-2640 v4");
  CHECK(cpu_called("E5-2640") == "Xeon E5-2640");
  CHECK(cpu_called("2 x EPYC 7742") == "EPYC 7742");
  CHECK(cpu_called("AMD EPYC 7742 64-Core Processor") == "EPYC 7742");
  CHECK(cpu_called("i9-9900K") == "Core i9-9900K");
  CHECK(cpu_called("AMD Ryzen Threadripper PRO 3975WX 32-Cores") ==
        "Ryzen Threadripper PRO 3975WX");
  CHECK(cpu_called("Ryzen 5950X") == "Ryzen 9 5950X");
  CHECK(cpu_called("Xeon Platinum 8480+") == "Xeon Platinum 8480+");
  CHECK(cpu_called("EPYC 7743") == "did you mean 'EPYC 7742'?");
  CHECK(cpu_called("EPYC i9-9900K") != "Core i9-9900K");
}

// 3.4 GHz of 3.7, a Broadwell: Skylake over 1.1.
TEST_CASE("a thread's speed is its clock times what its core does in a clock") {
  const auto cpu = find_cpu(Hwdb(), "Xeon E5-2640 v4");
  REQUIRE(cpu);
  CHECK(cpu->single_thread == doctest::Approx(3.4 / 3.7 * .909));
  CHECK(cpu->cores == 10);
  CHECK(cpu->year == 2016);
  // As the hosts' own files have it, of the same processors.
  struct Machine {
    const char *cpu, *host;
  };
  for (const Machine& machine : {Machine{"2 x Xeon Platinum 8168", "dgx-2"},
                                 {"2 x EPYC 7742", "dgx-a100"},
                                 {"2 x Xeon Platinum 8480C", "dgx-h100"},
                                 {"2 x Xeon E5-2698 v4", "dgx-1"}}) {
    CAPTURE(machine.host);
    const auto found = find_cpu(Hwdb(), machine.cpu);
    REQUIRE(found);
    const auto host = Hwdb().host(machine.host);
    REQUIRE(host);
    CHECK(found->single_thread == doctest::Approx(*host->single_thread).epsilon(.02));
  }
}

// By Intel's, AMD's and PassMark's pages; a W-2275's is without Turbo Boost Max.
TEST_CASE("a processor's clock has a source, or is assumed") {
  struct Known {
    const char* cpu;
    double clock, per_clock;
  };
  for (const Known& known : {Known{"Xeon W-2275", 4.6, 1},
                             {"Xeon Platinum 8275CL", 3.9, 1},
                             {"EPYC 7763", 3.5, 1.27},
                             {"Threadripper 7980X", 5.1, 1.44}}) {
    CAPTURE(known.cpu);
    const auto cpu = find_cpu(Hwdb(), known.cpu);
    REQUIRE(cpu);
    CHECK_FALSE(cpu->assumed);
    CHECK(cpu->single_thread == doctest::Approx(known.clock / 3.7 * known.per_clock));
  }
  for (const char* cloud : {"Xeon Platinum 8488C", "EPYC 7V12", "EPYC 9655"}) {
    CAPTURE(cloud);
    const auto cpu = find_cpu(Hwdb(), cloud);
    REQUIRE(cpu);
    CHECK(cpu->assumed);
  }
}

}  // namespace plimsoll

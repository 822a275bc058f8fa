// Card: a GPU that kernels are run on. Everything between its driver and what is reported goes
// through this; its recorded form is a file (card_recording.h), so that a run on a card can be
// played where there is none.
//
// Codes of a kernel that gives no time, none of which ends a run: E721 memory, E722 it fails and
// the context may be lost, E723 not in the recording, E724 nothing runs it or a library refuses to,
// E725 the process with the card is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/library/workspace/asked.h"
#include "graph/base/diagnostic.h"
#include "graph/ir/kernel.h"
#include "graph/json/fields.h"
#include "hwdb/device.h"

namespace plimsoll::calibrate {

struct CardLibrary {
  std::string name, version, path;
  bool operator==(const CardLibrary&) const = default;
};

inline void describe(Fields& f, CardLibrary& library) {
  f("name", library.name);
  f("version", library.version);
  f("path", library.path);
}

struct CardFacts {
  std::string name;    // as the driver calls it
  std::string driver;  // its version
  std::string source;  // of a recording that was not made by --record: where it is from
  ComputeCapability compute_capability;
  int64_t memory_bytes = 0, free_bytes = 0;
  std::vector<CardLibrary> libraries;

  // "9.19.0"; empty where it was not loaded.
  std::string version_of(std::string_view library) const;
};

inline void describe(Fields& f, CardFacts& facts) {
  f("name", facts.name);
  f("driver", facts.driver);
  f("source", facts.source, {.absent_where = facts.source.empty()});
  ComputeCapability& capability = facts.compute_capability;
  f.pair("compute_capability", capability.major, capability.minor, {.high = 99});
  f("memory_bytes", facts.memory_bytes, {.low = 1});
  f("free_bytes", facts.free_bytes);
  f("libraries", facts.libraries);
}

// While a kernel runs; what is not told is missing, never 0.
struct CardState {
  std::optional<double> sm_clock_hz, memory_clock_hz, temperature_c, power_watts;
  std::vector<std::string> throttled;  // why clocks are lower than they could be
  bool operator==(const CardState&) const = default;
};

inline void describe(Fields& f, CardState& state) {
  f("sm_clock_hz", state.sm_clock_hz, {.absent_where = !state.sm_clock_hz, .low = 0});
  f("memory_clock_hz", state.memory_clock_hz, {.absent_where = !state.memory_clock_hz, .low = 0});
  f("temperature_c", state.temperature_c, {.absent_where = !state.temperature_c});
  f("power_watts", state.power_watts, {.absent_where = !state.power_watts, .low = 0});
  f("throttled", state.throttled, {.absent_where = state.throttled.empty()});
}

// A way to run a kernel.
struct Offer {
  std::string algorithm;
  std::optional<int64_t> workspace_bytes;  // nothing: not told
  std::optional<AskedPlan> plan;           // of cuDNN
  bool operator==(const Offer&) const = default;
};

// A plan's bytes are the offer's.
inline void describe(Fields& f, Offer& offer) {
  f("algorithm", offer.algorithm);
  f.either(
      "engine", offer.plan.has_value(),
      [&] {
        if (!offer.plan) offer.plan.emplace();
        describe(f, *offer.plan);
        if (!offer.workspace_bytes) offer.workspace_bytes = offer.plan->bytes;
      },
      [&] {
        f("workspace_bytes", offer.workspace_bytes, {.absent_where = !offer.workspace_bytes});
      });
}

struct Sample {
  double seconds = 0;  // of one call
  CardState state;
  bool operator==(const Sample&) const = default;
};

inline constexpr double kNanoseconds = 1e9;

inline void describe(Fields& f, Sample& sample) {
  f.scaled("ns", sample.seconds, kNanoseconds, {.low = 1e-3, .high = 1e15});
  describe(f, sample.state);
}

// What is measured of a card beside kernels: "pinned_copy" in "B/s", "context_bytes" in "B".
struct Figure {
  std::string quantity, unit;
  double value = 0;
  bool operator==(const Figure&) const = default;
};

inline void describe(Fields& f, Figure& figure) {
  f("quantity", figure.quantity);
  f("unit", figure.unit);
  f("value", figure.value, {.low = 0});
}

class Card {
 public:
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  virtual ~Card() = default;

  virtual const CardFacts& facts() const = 0;
  // Ways to run a kernel, in the library's order of preference; at least one.
  virtual Result<std::vector<Offer>> offers(const KernelAt& kernel) = 0;
  // Several samples, after warming up; operands in no cache. `offer`: a place in offers().
  virtual Result<std::vector<Sample>> time(const KernelAt& kernel, size_t offer) = 0;
  // Of copies, launches and memory; some seconds.
  virtual Result<std::vector<Figure>> figures() = 0;
};

}  // namespace plimsoll::calibrate

// The range that the estimator gives for a run's memory, and whether the run is within it.
#pragma once

#include <array>
#include <optional>

#include "estimator/answer/estimate.h"
#include "graph/json/fields.h"
#include "monitor/sample.h"

namespace plimsoll::monitor {

struct Predicted {
  int64_t bytes = 0;
  Range range{};
};

// Below is where every run begins: it is told of a peak alone.
enum class BandPlace : uint8_t { kWithin, kAbove, kBelow };
std::string_view name(BandPlace place);
constexpr std::array<BandPlace, 3> values_of(BandPlace) {
  return {BandPlace::kWithin, BandPlace::kAbove, BandPlace::kBelow};
}

BandPlace place_in(const Predicted& predicted, int64_t bytes);

// Of the process on each card; the host's is there where the framework's is known and the request
// says how data are loaded.
// `peak`: what was measured of it.
inline void describe(Fields& f, Predicted& predicted, const std::optional<int64_t>& peak) {
  f("bytes", predicted.bytes);
  f("range_bytes", predicted.range);
  f("peak", peak ? place_in(predicted, *peak) : BandPlace::kWithin,
    {.meaning = "where the measured peak lies; null: not measured", .null_where = !peak});
}

struct Band {
  std::optional<Predicted> device{}, host{};
  std::string device_id{};
  int64_t step_ns = 0;
};
Band band_of(const Estimate& estimate);

// Where the live figures cross the high end.
class BandWatch {
 public:
  explicit BandWatch(Band band) : band_(std::move(band)) {}

  struct Crossing {
    bool of_device = true;
    BandPlace to = BandPlace::kWithin;
    int64_t bytes = 0;
  };
  std::vector<Crossing> take(const Sample& sample);
  const Band& band() const { return band_; }
  bool was_left() const { return was_left_; }

 private:
  void check(const std::optional<Predicted>& predicted, std::optional<int64_t> bytes,
             bool of_device, bool& above, std::vector<Crossing>& crossings);

  Band band_;
  bool device_above_ = false, host_above_ = false, was_left_ = false;
};

}  // namespace plimsoll::monitor

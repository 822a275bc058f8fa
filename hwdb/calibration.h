// Calibration: what measurements taught the time model about one architecture. One file per
// architecture, written by `plimsoll-calibrate fit`, read here and nowhere else.
//
// A fit belongs to a kernel class, an arithmetic and a range of library versions. It has two parts:
// terms (coefficients of the formulas) and clocks (what each measured card sustains relative to its
// printed boost).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "hwdb/fit.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct MeasuredFile {
  std::string name, sha256, citation;
  bool operator==(const MeasuredFile&) const = default;
};

struct Calibration {
  std::string id;  // "sm_61"
  // By arithmetic, what a multiprocessor of the cards measured does in a clock at most, flop.
  std::map<std::string, double, std::less<>> flop_per_sm_clock;
  std::vector<MeasuredFile> files;
  std::vector<Fit> fits;
  bool operator==(const Calibration&) const = default;
};

// A calibration file's text. E4xx and the JSON reader's codes: unknown or missing terms, terms
// outside their bounds (an efficiency above 1 would break the roofline), lists of unequal length.
Result<Calibration> parse_calibration(std::string_view text, std::string_view file);
// The text parse_calibration() reads back to the same value. Numbers keep five digits.
std::string write_calibration(const Calibration& calibration);
// All calibrations inside the binary, by file name. E901 or the
// errors above: a bug of ours. Cost: some 2 ms.
Result<std::vector<Calibration>> shipped_calibrations();

// The calibrations there are, by compute capability, each read when first asked for: an estimate
// needs those of its own card, seldom more. Copies share what was read; safe between threads.
class Calibrations {
 public:
  // The built-in ones, one cache of them for all.
  static Calibrations shipped();
  // `hwdb`'s. Its folder's own are read at once: E3xx for a damaged one.
  static Result<Calibrations> open(const Hwdb& hwdb);
  // None: the roofline alone.
  Calibrations() : Calibrations(std::vector<Calibration>{}) {}
  // These, one per architecture.
  explicit Calibrations(std::vector<Calibration> read);

  // Ascending.
  const std::vector<int>& capabilities() const;
  // Null where there is none, or a built-in file is damaged: a fault of the build that tests would
  // find.
  const Calibration* of(int compute_capability) const;

 private:
  static Result<Calibrations> cached(const Hwdb& hwdb);
  struct Cache;
  std::shared_ptr<Cache> cache_;
};

}  // namespace plimsoll

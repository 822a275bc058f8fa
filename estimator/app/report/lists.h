// What verbs that list show as JSON: entries of the database, operators, versions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/report/version.h"
#include "graph/json/fields.h"
#include "hwdb/figure_note.h"

namespace plimsoll {

// A card, a host, a link or a framework with its figures as its file says them.
struct ListedEntry {
  std::string id;
  std::vector<std::string> aliases;
  std::vector<FigureNote> figures;
};

inline void describe(Fields& f, ListedEntry& entry) {
  f("id", entry.id);
  f("aliases", entry.aliases);
  f("figures", entry.figures);
}

struct ListedOperator {
  std::string name;
  int64_t since = 1;
  std::string example;
};

inline void describe(Fields& f, ListedOperator& op) {
  f("name", op.name);
  f("since", op.since, {.meaning = "the opset in which the operator came", .low = 1});
  f("example", op.example, "input shapes, attributes and what comes out");
}

struct CalibrationVersion {
  int64_t fits = 0, coefficients = 0, kernels = 0;
};

inline void describe(Fields& f, CalibrationVersion& c) {
  f("fits", c.fits);
  f("coefficients", c.coefficients);
  f("measured_kernels", c.kernels);
}

struct ProgramVersion {
  std::vector<std::pair<std::string, DataVersion>> data;
  std::vector<std::pair<std::string, CalibrationVersion>> calibrations;
};

inline void describe(Fields& f, ProgramVersion& v) {
  f("name", "plimsoll");
  f("version", kVersion);
  f("commit", commit());
  f("data", v.data);
  f("calibrations", v.calibrations);
}

}  // namespace plimsoll

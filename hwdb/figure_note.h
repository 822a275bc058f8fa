// FigureNote: what is shown of one figure of a file of the database.
#pragma once

#include <string>

#include "graph/json/fields.h"

namespace plimsoll {

struct FigureNote {
  std::string name;   // "peaks.fp32"
  std::string value;  // as written
  std::string source;
};

inline void describe(Fields& f, FigureNote& note) {
  f("key", note.name);
  f("value", note.value);
  f("source", note.source, {.null_where = false});
}

}  // namespace plimsoll

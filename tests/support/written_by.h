// A graph of a test's own, as if this producer had written its file.
#pragma once

#include <string>

#include "graph/exporter/origin.h"

namespace plimsoll::test {

inline void written_by(Graph& graph, const std::string& producer) {
  graph.producer = producer;
  graph.exporter = exporter_of(producer);
  set_origins(graph);
}

}  // namespace plimsoll::test

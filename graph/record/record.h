// Record: what one training step of a PyTorch program did, operator by operator, as the Python
// package wrote it down (`*.plimsoll.json.gz`): storages with their birth and end, calls with their
// operands, collectives, modules; neither weights nor code. Sizes are polynomials of the named
// dimensions that it was recorded over.
//
//   const auto record = read_record(text, "step.plimsoll.json.gz");
//   record->step  // as any way to a Step gives it
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/limits.h"
#include "graph/ir/mesh.h"
#include "graph/ir/step.h"

namespace plimsoll {

struct Record {
  std::string name;     // of the network
  std::string torch;    // "2.9.0": whose operators these are
  int capability = 80;  // of the card that the program saw: 8.0
  Binding symbols;      // named dimensions, with the sample's sizes
  // Other sizes than these, or than multiples of these, were not looked at.
  Binding only, multiples;
  std::string only_because;         // why no others
  std::vector<std::string> stated;  // what the step was told where it read a value
  // The command's settings that the step was made for, each with its texts.
  std::map<std::string, std::vector<std::string>, std::less<>> settings;
  Mesh mesh;    // of the ranks that it was one of
  Graph graph;  // parameters, inputs and a node for each call; no edges
  Step step;
};

// The name of a record's file.
inline constexpr std::string_view kRecordSuffix = ".plimsoll.json.gz";

// `text`: the JSON, inflated. E3xx for what is no JSON or has other keys and kinds than a record,
// E281 for one that contradicts itself: a storage that ends before it begins, a number that names
// nothing.
// Cost: linear.
Result<Record> read_record(std::string_view text, std::string_view file, const Limits& limits = {});

}  // namespace plimsoll

// What the web page asks, in texts: a question in, an answer out, both JSON. The page computes
// nothing.
//
//   WebSession session;
//   session.answer(R"({"schema": "plimsoll.estimate", "request": ...})", WebDepth::kAtOnce);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "estimator/model/model_cache.h"

namespace plimsoll {

// How much of an answer is computed: what would help takes a search and some estimates of its own.
enum class WebDepth : uint8_t { kAtOnce, kWithRemedies };

// Keeps the models that it has compiled, so that a question which differs in its sizes or its GPU
// alone costs half. A question is what `estimate --from` reads: schema, request and request_given
// of an answer, of which request may be as short as the model and the GPU. One that has no answer
// gets a document "plimsoll.refusal" with `diagnostics` alone. Nothing is thrown.
class WebSession {
 public:
  // That of `estimate --json` with what --html adds to it (the memory over the step, its parts).
  // Cost: an estimate; kWithRemedies: that of remedies(), where the step does not fit.
  std::string answer(std::string_view question, WebDepth depth);
  // A line of a sweep: `sweep` of the question is {"size": "batch", "values": [1, 2, 4]}, of a size
  // of the model. A document "plimsoll.row": each point as `sweep` has it, and the largest size
  // that fits, as max-batch has it. Cost: those of sweep() and largest_batch().
  std::string row(std::string_view question);
  // To be called when a file's contents are others.
  void forget() { models_ = ModelCache(); }

 private:
  ModelCache models_;
};

// What may be asked: models with a line about each, GPUs with their memory, networks between
// machines, and of every setting its words, its default and what help says of it. A document
// "plimsoll.choices".
std::string web_choices();

}  // namespace plimsoll

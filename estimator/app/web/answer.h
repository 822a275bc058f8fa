// What the web page asks, in texts: a question in, an answer out, both JSON. The page computes
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// How much of an answer is computed: what would help takes a search and some estimates of its own.
enum class WebDepth : uint8_t { kAtOnce, kWithRemedies };

// `question` is what `estimate --from` reads: schema, request and request_given of an answer, of
// which request may be as short as the model and the GPU. The answer is that of `estimate --json`
// with what --html adds to it (the memory over the step, its parts); a question that has no answer
// gets a document "plimsoll.refusal" with `diagnostics` alone. Nothing is thrown. Cost: an
// estimate; kWithRemedies: that of remedies(), where the step does not fit.
std::string web_answer(std::string_view question, WebDepth depth);

// What may be asked: models with a line about each, GPUs with their memory, and of every setting
// its words, its default and what help says of it. A document "plimsoll.choices".
std::string web_choices();

}  // namespace plimsoll

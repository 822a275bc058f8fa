// card_wire: what is asked of a Card and what it answers, a line of JSON for each call:
//   {"call": "facts", "facts": {...}}
//   {"call": "offers", "kernel": {...}, "offers": [{"algorithm": "winograd", ...}]}
//   {"call": "time", "kernel": {...}, "offer": 0, "samples": [{"ns": 30667, ...}]}
//   {"call": "figures", "figures": [{"quantity": "pinned_copy", "unit": "B/s", "value": 5e10}]}
// with "error": {"code", "message"} in place of an answer that is none. A question has no answer.
#pragma once

#include <string>

#include "calibrate/card.h"
#include "graph/json/object.h"
#include "graph/json/writer.h"

namespace plimsoll::calibrate {

std::string offers_question(const KernelAt& kernel);
std::string time_question(const KernelAt& kernel, size_t offer);
std::string figures_question();

std::string facts_line(const CardFacts& facts);
std::string facts_line(const Diagnostic& error);  // why there is no card
std::string offers_line(const KernelAt& kernel, const Result<std::vector<Offer>>& answer);
std::string time_line(const KernelAt& kernel, size_t offer,
                      const Result<std::vector<Sample>>& answer);
std::string figures_line(const Result<std::vector<Figure>>& answer);

// A line's call in words that tell one from another: "facts", "offers" and the kernel's key,
// "time", the key and the offer. `kernel` is filled where there is one. Faults are the object's.
struct CardCall {
  std::string call;  // "offers"
  std::optional<KernelAt> kernel;
  size_t offer = 0;
  std::string key() const;
};
CardCall read_call(JsonObject& line);

// The answer in a line; its error where it has one. Faults of the form are E3xx.
Result<CardFacts> read_facts(JsonObject& line);
Result<std::vector<Offer>> read_offers(JsonObject& line);
Result<std::vector<Sample>> read_samples(JsonObject& line);
Result<std::vector<Figure>> read_figures(JsonObject& line);

}  // namespace plimsoll::calibrate

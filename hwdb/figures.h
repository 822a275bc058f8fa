// Figures: every number of the data files is {"value": ..., "source": "..."}. The reader here takes
// figures out of one object, checks unit and plausible range, and keeps where each came from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json/fields.h"
#include "graph/json/object.h"
#include "hwdb/quantity.h"

namespace plimsoll {

// What `plimsoll gpus ID` shows of one figure.
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

// Plausible bounds, as text with units: the same text stands in the message.
struct Plausible {
  std::string_view low;
  std::string_view high;
};

// What is wrong with a quantity that is written under `key`.
tl::unexpected<Diagnostics> named(std::string_view key, Diagnostics wrong);
tl::unexpected<Diagnostics> implausible(std::string_view key, std::string_view text,
                                        Plausible range);

// A quantity that is written as `text`, under `key`: E401 where it is none of this unit, E402
// outside the range, where there is one.
template <class Q>
Result<Q> read_quantity(std::string_view text, std::string_view key, const Plausible* range) {
  Result<Q> value = parse_as(text, static_cast<Q*>(nullptr));
  if (!value) return named(key, std::move(value.error()));
  if (!range) return value;
  const Result<Q> low = parse_as(range->low, static_cast<Q*>(nullptr));
  const Result<Q> high = parse_as(range->high, static_cast<Q*>(nullptr));
  const bool plausible = !low || !high || (*value >= *low && *value <= *high);
  return plausible ? value : implausible(key, text, *range);
}

class Figures {
 public:
  // `prefix` stands before each name in `notes`. `plausible` false leaves out the range checks.
  Figures(JsonObject& object, std::vector<FigureNote>& notes, std::string prefix = {},
          bool plausible = true)
      : object_(object), notes_(notes), prefix_(std::move(prefix)), plausible_(plausible) {}

  // Required figures. E306, E311 and E312 as JsonObject; E401 not a quantity of this unit, E402
  // outside what is plausible, E405 without a source. The result is then a default.
  template <class Q>
  Q quantity(std::string_view key, Plausible range) {
    return parse_figure<Q>(key, text(key), range);
  }
  int64_t integer(std::string_view key, IntegerRange range);
  double real(std::string_view key, RealRange range);
  bool boolean(std::string_view key);
  std::string text(std::string_view key);
  std::string choice(std::string_view key, const std::vector<std::string>& allowed);

  // Figures that may be left out: their places then stay as they are.
  void take(std::string_view key, bool& into);
  void take(std::string_view key, int64_t& into, IntegerRange range);
  template <class Real>
  void take(std::string_view key, Real& into, RealRange range) {
    if (object_.optional(key)) into = real(key, range);
  }
  template <class Q>
  void take(std::string_view key, Q& into, Plausible range) {
    if (object_.optional(key)) into = quantity<Q>(key, range);
  }
  template <class Q>
  void take(std::string_view key, std::optional<Q>& into, Plausible range) {
    if (object_.optional(key)) into = quantity<Q>(key, range);
  }

  // A figure with keys of its own beside value and source: the caller reads and finishes it.
  JsonObject open(std::string_view key);
  // A quantity that stands alone, as text, inside a figure.
  template <class Q>
  Q part(JsonObject& figure, std::string_view key, Plausible range) {
    return parse_in<Q>(figure, key, figure.required_string(key), range);
  }
  template <class Q>
  void take_part(JsonObject& figure, std::string_view key, Q& into, Plausible range) {
    if (figure.optional(key)) into = part<Q>(figure, key, range);
  }
  template <class Q>
  void take_part(JsonObject& figure, std::string_view key, std::optional<Q>& into,
                 Plausible range) {
    if (figure.optional(key)) into = part<Q>(figure, key, range);
  }
  // Notes the source of a figure opened by hand, and consumes it.
  void note(JsonObject& figure, std::string_view key, std::string value);

  bool has(std::string_view key) const { return object_.has(key); }
  JsonObject& object() { return object_; }

 private:
  template <class Q>
  Q parse_figure(std::string_view key, const std::string& text, Plausible range) {
    return text.empty() ? Q{} : parse_in<Q>(object_, key, text, range);
  }
  template <class Q>
  Q parse_in(JsonObject& where, std::string_view key, const std::string& text, Plausible range) {
    if (text.empty()) return {};
    const Result<Q> value = read_quantity<Q>(text, key, plausible_ ? &range : nullptr);
    if (value) return *value;
    fail(where, key, value.error().front());
    return {};
  }
  void fail(JsonObject& where, std::string_view key, const Diagnostic& fault);

  JsonObject& object_;
  std::vector<FigureNote>& notes_;
  std::string prefix_;
  bool plausible_;
};

}  // namespace plimsoll

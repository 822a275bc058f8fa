// What a file of the database may hold, described once: its reader and its schema are visitors of
// it (graph/json/fields.h). Every figure is {"value": ..., "source": "..."}; a quantity
// is a text with its unit.
//
//   FileFigures figures(f, device.figures);
//   figures("sms", device.sms, {.low = 1, .high = 1024}, {.meaning = "streaming multiprocessors"});
//   figures.quantity<Hertz>("base_clock", device.base_clock, {"100 MHz", "10 GHz"});
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"
#include "graph/json/object.h"
#include "hwdb/figure_note.h"
#include "hwdb/quantity.h"
#include "hwdb/version.h"

namespace plimsoll {

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

// Of a member that a file may leave out.
inline FieldNote may_be_absent(std::string_view meaning) {
  return {.meaning = meaning, .absent_where = false};
}

// Consumes what read_identity() has checked.
void describe_identity(Fields& f, std::string_view schema, std::string& id,
                       std::vector<std::string>& aliases, std::string_view of_aliases = {});

// E401 where the text is none. One that is optional may be absent.
void describe_version(Fields& f, std::string_view key, Version& version, std::string_view meaning);
void describe_version(Fields& f, std::string_view key, std::optional<Version>& version,
                      std::string_view meaning);
inline constexpr std::string_view kVersionPattern = "^[0-9]";
std::optional<Diagnostic> read_version(const std::string& text, std::string_view key,
                                       std::optional<Version>& version);

class FileFigures {
 public:
  // `notes` gets each figure that is read. `plausible` false leaves out the range checks; a schema
  // has them as words, for a toy may be of any size.
  FileFigures(Fields& fields, std::vector<FigureNote>& notes, bool plausible = true)
      : fields_(fields), notes_(notes), plausible_(plausible) {}

  // Figures. E401 not a quantity of this unit, E402 outside what is plausible, E405 without a
  // source.
  void operator()(std::string_view key, std::string& text, const FieldNote& note = {});
  void operator()(std::string_view key, bool& flag, const FieldNote& note = {});
  void operator()(std::string_view key, int64_t& whole, IntegerRange range, FieldNote note = {});
  // `Real`: double, or an optional one.
  template <class Real>
  void operator()(std::string_view key, Real& real, RealRange range, FieldNote note = {}) {
    const std::string meaning = with_range(note.meaning, shown(range.low), shown(range.high));
    note.meaning = meaning;
    if (plausible_) note.low = range.low;
    if (plausible_) note.high = range.high;
    figure(key, note, [&](const FieldNote& of_value) {
      double read = 0;
      fields_("value", read, of_value);
      real = read;
      return shown(read);
    });
  }
  // `Into`: Q, or an optional one.
  template <class Q, class Into>
  void quantity(std::string_view key, Into& into, Plausible range, FieldNote note = {}) {
    const std::string meaning = with_range(note.meaning, range.low, range.high);
    note.meaning = meaning;
    figure(key, note, [&](const FieldNote& of_value) {
      return text_of<Q>("value", key, into, range, of_value);
    });
  }
  // The word of an enumerator, or of false and true; `words` are in their order.
  template <class Enum>
  void choice(std::string_view key, Enum& into, std::span<const std::string_view> words,
              FieldNote note = {}) {
    note.words = words;
    figure(key, note, [&](const FieldNote& of_value) {
      std::string word{words[static_cast<size_t>(into)]};
      fields_("value", word, of_value);
      const auto at = std::ranges::find(words, word);
      if (at != words.end()) into = static_cast<Enum>(at - words.begin());
      return word;
    });
  }
  // `Into`: Version, or an optional one. E401 where it is none.
  template <class Into>
  void version(std::string_view key, Into& into, FieldNote note = {}) {
    note.pattern = kVersionPattern;
    parsed(key, note, [&](const std::string& text) {
      std::optional<Version> read;
      const auto wrong = read_version(text, key, read);
      if (read) into = *read;
      return wrong;
    });
  }
  // A text that stands for something else: `take` is told it, and returns what is wrong with it.
  template <class Take>
  void parsed(std::string_view key, const FieldNote& note, Take take) {
    figure(key, note, [&](const FieldNote& of_value) {
      std::string shown;
      fields_.parsed("value", of_value, [&](const std::string& text) {
        shown = text;
        return take(text);
      });
      return shown;
    });
  }

  // A quantity that stands alone, as text, inside another object. As it is written; empty where it
  // is not.
  template <class Q, class Into>
  std::string part(std::string_view key, Into& into, Plausible range, FieldNote note = {}) {
    const std::string meaning = with_range(note.meaning, range.low, range.high);
    note.meaning = meaning;
    return text_of<Q>(key, key, into, range, note);
  }
  // Where an object of such parts is from.
  std::string source(std::string_view name);
  void note(std::string name, std::string shown, std::string source) {
    notes_.push_back({std::move(name), std::move(shown), std::move(source)});
  }

 private:
  static std::string with_range(std::string_view meaning, std::string_view low,
                                std::string_view high);
  static std::string shown(double real);

  template <class Value>
  void figure(std::string_view key, const FieldNote& note, Value value) {
    FieldNote of_value = note;
    of_value.meaning = {};
    of_value.absent_where.reset();
    const auto members = [&] {
      std::string shown = value(of_value);
      this->note(std::string(key), std::move(shown), source(key));
    };
    fields_.object(key, members, {.meaning = note.meaning, .absent_where = note.absent_where});
  }

  template <class Q, class Into>
  std::string text_of(std::string_view key, std::string_view name, Into& into, Plausible range,
                      FieldNote note) {
    const std::string pattern = pattern_of(static_cast<Q*>(nullptr));
    note.pattern = pattern;
    std::string shown;
    fields_.parsed(key, note, [&](const std::string& text) -> std::optional<Diagnostic> {
      shown = text;
      const auto read = read_quantity<Q>(text, name, plausible_ ? &range : nullptr);
      if (!read) return read.error().front();
      into = *read;
      return std::nullopt;
    });
    return shown;
  }

  Fields& fields_;
  std::vector<FigureNote>& notes_;
  bool plausible_;
};

}  // namespace plimsoll

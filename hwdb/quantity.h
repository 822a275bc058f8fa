// hwdb: facts about machines and frameworks, as files, and their readers. It computes nothing but
// validation: no work and no time is estimated here. Every figure carries a unit and a source.
//
// Quantities with units, as text: "243.3 GB/s", "5.3 TFLOP/s", "1480 MHz", "8 GiB", "50 us". SI
// prefixes are decimal, IEC prefixes (Ki, Mi, ...) binary; neither is ever guessed: "24G" is
// refused.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"

namespace plimsoll {

// E401 where the text is not a number and a unit of this kind, is ambiguous or does not fit. Sizes
// are exact to the byte ("0.1 GiB" is rounded to the nearest), at most 2^62.
// Units: B; s; Hz; B/s or bit/s; FLOP/s or OP/s; W. A blank before the unit is
// optional.
Result<Bytes> parse_bytes(std::string_view text);
Result<Seconds> parse_seconds(std::string_view text);
Result<Hertz> parse_hertz(std::string_view text);
Result<BytesPerSecond> parse_bytes_per_second(std::string_view text);
Result<FlopPerSecond> parse_flop_per_second(std::string_view text);
Result<Watts> parse_watts(std::string_view text);

// A size on the command line: as parse_bytes, also in lower case ("24gib"), and "0"; E121.
Result<Bytes> parse_size(std::string_view text);

// A regular expression of the texts that are one.
std::string pattern_of(Bytes*);
std::string pattern_of(Seconds*);
std::string pattern_of(Hertz*);
std::string pattern_of(BytesPerSecond*);
std::string pattern_of(FlopPerSecond*);
std::string pattern_of(Watts*);

// The overloads a template can name.
inline Result<Bytes> parse_as(std::string_view text, Bytes*) { return parse_bytes(text); }
inline Result<Seconds> parse_as(std::string_view text, Seconds*) { return parse_seconds(text); }
inline Result<Hertz> parse_as(std::string_view text, Hertz*) { return parse_hertz(text); }
inline Result<BytesPerSecond> parse_as(std::string_view text, BytesPerSecond*) {
  return parse_bytes_per_second(text);
}
inline Result<FlopPerSecond> parse_as(std::string_view text, FlopPerSecond*) {
  return parse_flop_per_second(text);
}
inline Result<Watts> parse_as(std::string_view text, Watts*) { return parse_watts(text); }

}  // namespace plimsoll

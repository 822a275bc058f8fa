// What is watched, for people: a line, a screen, the summary.
#pragma once

#include <string>

#include "monitor/summary.h"

namespace plimsoll::monitor {

// One line without its end: memory, CPU, cards, and the predicted range beside them.
std::string line(const Sample& sample, const std::optional<Band>& band);

// Some lines that stand in place of the last ones. `head` names what is watched.
std::string screen(const Sample& sample, const Summary& so_far, std::string_view head);

std::string to_text(const BandWatch::Crossing& crossing, double seconds, const Band& band);

// At most this many phases, the last.
std::string to_text(const Summary& summary, size_t phases = 12);

// "exit 0", "killed by signal 9", "ended" where its parent alone knows how, "still running".
std::string end_of(const Summary& summary);

// What DeviceBasis::kCard means.
inline constexpr std::string_view kWholeCard =
    "the memory of the whole GPU: the driver does not report that of these processes (its process "
    "ids are not this container's, or are not listed)";

// "12.4 s", "3 min 20 s", "2 h 14 min".
std::string human_seconds(double seconds);

}  // namespace plimsoll::monitor

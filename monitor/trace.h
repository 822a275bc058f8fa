// The run as a Chrome trace: counters of memory, CPU and cards, phases, and crossings of the
// predicted band. Written as it comes: the format lets the closing bracket be missing, so that a
// run that was cut off can be looked at. Format: "Trace Event Format", Google, section JSON Array.
#pragma once

#include <string>

#include "monitor/band.h"
#include "monitor/phases.h"
#include "monitor/sample.h"

namespace plimsoll::monitor {

std::string trace_begin(std::string_view process_name);
std::string trace_events(const Sample& sample);
std::string trace_event(const Phase& phase);
std::string trace_event(const BandWatch::Crossing& crossing, double seconds);
std::string trace_end();

}  // namespace plimsoll::monitor

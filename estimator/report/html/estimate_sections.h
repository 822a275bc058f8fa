// The parts of an estimate's page, each a section with its heading; sections of nothing are left
// out.
#pragma once

#include <string>

#include "estimator/answer/estimate.h"
#include "estimator/report/html/markup.h"

namespace plimsoll {

// FITS, and the figures that one asks for first.
void write_answer(Markup& out, const Estimate& e);
// Memory over the step, and what fills its peak.
void write_memory_sections(Markup& out, const Estimate& e);
// Where the time goes: the step's parts, modules, kernels below the roofline.
void write_time_sections(Markup& out, const Estimate& e);
// Layers in their modules.
void write_layer_section(Markup& out, const Estimate& e);
// Diagnostics, what was recognised, and where the figures come from.
void write_notes_section(Markup& out, const Estimate& e);

// A section that is open, to be closed by the caller.
void open_section(Markup& out, std::string_view id, std::string_view title, std::string_view about);
// Where charts.js draws the chart of that name.
void write_chart(Markup& out, std::string_view chart, std::string_view variants = "");

}  // namespace plimsoll

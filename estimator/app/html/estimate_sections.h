// The parts of an estimate's page, each a section with its heading; sections of nothing are left
// out.
#pragma once

#include <optional>
#include <string>

#include "estimator/answer/estimate.h"
#include "estimator/app/html/markup.h"
#include "estimator/app/search/largest_batch.h"

namespace plimsoll {

// FITS, and the figures that one asks for first.
void write_answer(Markup& out, const Estimate& e);
// Memory over the step, and what fills its peak.
void write_memory_sections(Markup& out, const Estimate& e);
// Where the time goes: the step's parts, modules, lanes of several GPUs, kernels below the
// roofline.
void write_time_sections(Markup& out, const Estimate& e);
// Of several GPUs: a step of one of them, the stages of a pipeline, and what goes over which link.
void write_lane_section(Markup& out, const std::optional<StepLanes>& step);
// Layers in their modules, or these alone.
void write_layer_section(Markup& out, const Estimate& e, bool with_layers);
// What was assumed, diagnostics, what was recognised, and where the figures come from.
void write_notes(Markup& out, const AnswerNotes& notes,
                 const std::vector<std::string>& recognised = {});

// Single changes that would make it fit; nothing where it fits.
void write_remedies_section(Markup& out, const Estimate& e);
// Memory and throughput against the batch, with what fits.
void write_batch_section(Markup& out, const LargestBatch& largest);

// Of an answer: a term, its value, and a line about it.
void write_fact(Markup& out, std::string_view term, std::string_view value, std::string_view more);
// A section that is open, to be closed by the caller.
void open_section(Markup& out, std::string_view id, std::string_view title, std::string_view about);
// Where charts.js draws the chart of that name; `of`: of which part of the result, where there are
// several.
void write_chart(Markup& out, std::string_view chart, std::string_view variants = "",
                 std::string_view of = "");

}  // namespace plimsoll

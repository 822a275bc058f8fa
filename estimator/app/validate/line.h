// One figure of a measured run beside what is predicted for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "estimator/library/kernel_time.h"
#include "graph/json/fields.h"

namespace plimsoll {

// What a predicted step is made of: what fits of hosts need.
struct StepParts {
  std::string evidence;
  double gpu_ms = 0, host_ms = 0, framework_ms = 0, copy_ms = 0, communication_ms = 0;
  // Launches: dispatches by the host.
  int64_t launches = 0, forward_launches = 0, parameter_arrays = 0, parameter_bytes = 0;
};

inline void describe(Fields& f, StepParts& p) {
  static constexpr std::array<std::string_view, 3> kEvidence = {"card", "architecture", "other"};
  f("evidence", p.evidence,
    {.meaning = "what most of its work was measured on: kernels of this card and library, of its "
                "architecture, of another",
     .words = kEvidence});
  f("gpu_ms", p.gpu_ms, {.low = 0});
  f("host_ms", p.host_ms, {.low = 0});
  f("framework_ms", p.framework_ms, {.low = 0});
  f("copy_ms", p.copy_ms, {.low = 0});
  f("communication_ms", p.communication_ms, {.low = 0});
  f("launches", p.launches);
  f("forward_launches", p.forward_launches);
  f("parameter_bytes", p.parameter_bytes);
  f("parameter_arrays", p.parameter_arrays);
}

// Which algorithm a convolution ran: by the library's choice, and by the time model's.
struct AlgorithmChoice {
  std::string predicted, measured;  // cuDNN's words: "WINOGRAD_NONFUSED"
  bool same = false;
  std::optional<double> ratio{};  // none where the model does not know it for such a problem
};

inline void describe(Fields& f, AlgorithmChoice& c) {
  f("predicted", c.predicted);
  f("measured", c.measured);
  f("same", c.same, "but for precomputed offsets and tiles");
  f("ratio", c.ratio,
    "the formulas' time of the measured algorithm over that of the predicted one");
}

// A part of a figure that is off most, as predicted and as measured.
struct Gap {
  std::string part;                    // "context and libraries"
  double predicted = 0, measured = 0;  // in the record's own unit
};

inline void describe(Fields& f, Gap& of) {
  f("part", of.part);
  f("predicted", of.predicted);
  f("measured", of.measured);
}

struct ValidationLine {
  std::string file;
  int64_t index = 0;
  std::string kind, device, op, pass, model, quantity;
  std::optional<double> measured, predicted, low, high;  // in the record's own unit
  std::optional<double> error;                           // predicted / measured - 1
  std::optional<double> roofline{};
  std::optional<StepParts> parts;            // of whole steps
  std::optional<AlgorithmChoice> algorithm;  // where the record names a convolution's
  std::optional<PricedAs> priced_as{};       // of one kernel
  std::optional<Gap> gap{};                  // where the record measured parts of it too
  std::optional<bool> fits{};                // whether a run of a model is predicted to
  std::string skipped;                       // the reason; empty where predicted
  std::string unit{};                        // of the figures: "ms", "MiB", "B", "%"; may be empty
};

// `inside`: of the tolerance, where one asks for it.
inline void describe(Fields& f, ValidationLine& l, std::optional<bool> inside) {
  f("file", l.file);
  f("index", l.index);
  f("kind", l.kind);
  f("device", l.device, {.null_where = l.device.empty()});
  f("op", l.op, {.null_where = l.op.empty()});
  f("pass", l.pass, {.null_where = l.pass.empty()});
  f("model", l.model, {.null_where = l.model.empty()});
  f("quantity", l.quantity, {.null_where = l.quantity.empty()});
  f("measured", l.measured);
  f("predicted", l.predicted);
  const bool has_range = l.low && l.high;
  f("range", has_range ? std::array{*l.low, *l.high} : std::array<double, 2>{},
    {.null_where = !has_range});
  f("error", l.error);
  f("roofline", l.roofline,
    "the roofline of the datasheet in the same unit; for kernels, and for steps on one GPU");
  f("parts", l.parts);
  f("algorithm", l.algorithm,
    "of a convolution whose record names its algorithm, in cuDNN's words");
  f("gap", l.gap,
    "where the record measured parts of the figure too: the one that is off most, in the "
    "direction of the whole");
  f("fits", l.fits, "of a run of a model: whether it is predicted to fit its GPU");
  f("skipped", l.skipped, {.null_where = l.skipped.empty(), .settings = true});
  f("within_tolerance", inside, "null where no tolerance asks for it");
}

}  // namespace plimsoll

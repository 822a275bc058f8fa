// Machine: what a user's own card was measured to do, in one file that `plimsoll-calibrate fit`
// writes from records of kernels and `--machine FILE` reads: by how much the predicted time of each
// class of kernels is multiplied on that card, what cuDNN listed on it, what a context took of it,
// the machine around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct MachineFactor {
  std::string kernel_class, arithmetic;  // as a calibration's fits name them: "conv", "f16_tensor"
  std::string pass;                      // empty: every pass
  double factor = 1;
  double range90 = 0;  // 0: as without the file
  int64_t kernels = 0;
  double error_before = 0, error_after = 0;

  bool operator==(const MachineFactor&) const = default;
};

inline void describe(Fields& f, MachineFactor& row) {
  // Beyond these a record is wrong, not a card.
  constexpr double kMost = 1e3, kMostError = 1e3;
  f("class", row.kernel_class, "gemm, conv, depthwise, grouped, recurrent, persistent or rows");
  f("arithmetic", row.arithmetic, "f32, tf32_tensor, f16, f16_tensor, bf16_tensor, ...");
  f("pass", row.pass,
    {.meaning = "forward, backward_data or backward_weights; every pass where it is left out",
     .absent_where = row.pass.empty()});
  f("factor", row.factor, {.meaning = "measured over predicted", .low = 1 / kMost, .high = kMost});
  f("range90", row.range90,
    {.meaning = "natural logarithm: 90 of 100 kernels lie within; as without the file where it is "
                "left out",
     .absent_where = row.range90 <= 0,
     .low = 0,
     .high = 5});
  f("kernels", row.kernels, {.low = 1});
  f("error_before", row.error_before,
    {.meaning = "by how much of their measured time kernels are wrong that the factor did not see, "
                "without it",
     .low = 0,
     .high = kMostError});
  f("error_after", row.error_after, {.meaning = "... with it", .low = 0, .high = kMostError});
}

struct Machine {
  std::string gpu, source;
  std::vector<MachineFactor> factors;
  double clock = 0;  // Hz; 0: not known
  std::vector<std::string> workspaces{};
  int64_t context_bytes = 0;  // 0: not known
  std::string host{};         // a host file (hwdb/host.h); empty: nothing is known of the machine

  bool operator==(const Machine&) const = default;
};

inline void describe(Fields& f, Machine& machine) {
  f.form("plimsoll.machine", 1);
  f("gpu", machine.gpu, "id of the card; of another the file tells nothing");
  f("source", machine.source, "the records");
  f("factors", machine.factors, "on the predicted times of kernels");
  f("clock", machine.clock,
    {.meaning = "Hz of the multiprocessors while these kernels ran; the factors hold it already",
     .absent_where = machine.clock <= 0,
     .low = 1e8,
     .high = 1e10});
  f.json("workspaces", machine.workspaces,
         {.meaning = "cuDNN's plans for convolutions on this card, each as a line of "
                     "plimsoll-calibrate ask",
          .absent_where = machine.workspaces.empty()});
  f("context_bytes", machine.context_bytes,
    {.meaning = "what a context took of the card in which nothing had run: in place of the "
                "driver's part of a framework's context",
     .absent_where = machine.context_bytes <= 0,
     .low = 1,
     .high = static_cast<double>(int64_t{1} << 40)});
  f.json("host", machine.host,
         {.meaning = "the machine around the card, as plimsoll schema host has it",
          .absent_where = machine.host.empty()});
}

// E3xx of the JSON reader. `file` is the name in messages.
Result<Machine> read_machine(std::string_view text, std::string_view file);
Result<Machine> open_machine(const std::string& path);  // and E6xx
std::string write_machine(const Machine& machine);

}  // namespace plimsoll

// Cudnn: the real library, asked about convolutions and attention on a GPU that is only described.
// It needs no GPU, no driver and no handle: the description stands in their place (cuDNN 9.8 and
// later).
//
//   auto cudnn = Cudnn::open(device);
//   cudnn->ask(question)->plans;
//
// cuDNN may crash instead of answering: AskingChild asks in a process of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "estimator/library/workspace/asked.h"
#include "graph/ir/kernel.h"
#include "hwdb/device.h"

namespace plimsoll {

struct LoadedLibrary {
  std::string name, version, path;
};

class Cudnn {
 public:
  // Loads cuDNN and cuBLASLt, which it needs as soon as it is asked anything. E701 and E702 for a
  // library that is missing or lacks a function, E703 for a GPU that this version of it does not
  // know, E704 for a cuDNN that is too old, E705 where this program was built without cuDNN's
  // headers.
  static Result<Cudnn> open(const Device& device);
  Cudnn(Cudnn&&) noexcept;
  ~Cudnn();

  const std::string& version() const;  // "9.10.2"
  const std::vector<LoadedLibrary>& libraries() const;

  // The plans that the heuristic of mode "instant" lists, as PyTorch asks it, or where that is none
  // those of "fallback"; `error` where cuDNN takes no such problem. Cost: 0.1 to 2 ms; 0.1 s for
  // the first of a process.
  struct Listed {
    std::string mode;
    std::vector<AskedPlan> plans;
    std::string error;
  };
  Listed ask(const ConvQuestion& question) const;
  // A layer norm or RMS norm in one pass.
  Listed ask_norm(const KernelAt& kernel) const;
  // Fused attention in one pass, of 16 bits.
  Listed ask(const AttentionProblem<int64_t>& problem, Pass pass, DType dtype) const;

 private:
  struct Impl;
  explicit Cudnn(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll

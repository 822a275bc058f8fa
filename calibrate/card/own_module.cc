#include "calibrate/card/own_module.h"

#include <algorithm>

#include "calibrate/own_kernels.h"

namespace plimsoll::calibrate {
namespace {

constexpr unsigned kThreads = 256;    // of a block
constexpr int64_t kBlocksPerSm = 32;  // at most: then threads take several words each
constexpr int64_t kWord = 16;         // bytes that are moved at once
constexpr int64_t kNarrowWord = 2;    // ... of rows of any length

// Bits of sign and fraction that are random, and an exponent of -1: numbers in ±[0.5, 1).
struct Pattern {
  uint64_t mask, base;
};
Pattern pattern_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {0x83FF83FF83FF83FF, 0x3800380038003800};
    case DType::kBFloat16:
      return {0x807F807F807F807F, 0x3F003F003F003F00};
    case DType::kFloat64:
      return {0x800FFFFFFFFFFFFF, 0x3FE0000000000000};
    default:
      return {0x807FFFFF807FFFFF, 0x3F0000003F000000};
  }
}

class MoveWork : public Work {
 public:
  MoveWork(const OwnModule& module, const KernelAt& kernel)
      : module_(module),
        read_(kernel.read),
        written_(kernel.written),
        offers_{{.algorithm = "move", .workspace_bytes = 0, .plan = {}}} {}
  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override { return {read_ + kWord, written_ + kWord}; }
  void launch(size_t, std::span<const DeviceMemory> operands, const DeviceMemory&) override {
    module_.move(operands[0].address(), read_, operands[1].address(), written_);
  }

 private:
  const OwnModule& module_;
  int64_t read_, written_;
  std::vector<Offer> offers_;
};

class GatherWork : public Work {
 public:
  GatherWork(const OwnModule& module, int64_t rows, int64_t row_bytes)
      : module_(module),
        rows_(rows),
        row_bytes_(row_bytes),
        offers_{{.algorithm = "gather", .workspace_bytes = 0, .plan = {}}} {}
  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    const int64_t all = rows_ * row_bytes_;
    return {rows_ * static_cast<int64_t>(sizeof(uint64_t)), all, all};
  }
  void launch(size_t, std::span<const DeviceMemory> at, const DeviceMemory&) override {
    module_.gather(at[0].address(), rows_, at[1].address(), at[2].address(), row_bytes_);
  }

 private:
  const OwnModule& module_;
  int64_t rows_, row_bytes_;
  std::vector<Offer> offers_;
};

}  // namespace

OwnModule::OwnModule(const Driver& driver, const Nvrtc& nvrtc) : driver_(driver) {
  const int capability = 10 * driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                         driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  sms_ = driver.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const auto code = nvrtc.compile(kOwnKernels, capability);
  if (!code) throw CardFault("E722", code.error().front().message);
  CUmodule module = nullptr;
  driver.check(driver.call().load_module(&module, code->data()), "load our kernels");
  fill_ = find(module, "fill");
  move_ = find(module, "move");
  gather_ = find(module, "gather");
  gather_narrow_ = find(module, "gather_narrow");
  wait_ = find(module, "wait");
  nothing_ = find(module, "nothing");
}

CUfunction OwnModule::find(CUmodule module, const char* name) const {
  CUfunction function = nullptr;
  driver_.check(driver_.call().module_function(&function, module, name), name);
  return function;
}

void OwnModule::launch(CUfunction function, int64_t threads, void** arguments) const {
  const int64_t blocks =
      std::clamp<int64_t>((threads + kThreads - 1) / kThreads, 1, kBlocksPerSm * sms_);
  driver_.check(driver_.call().launch(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1,
                                      0, driver_.stream(), arguments, nullptr),
                "launch a kernel");
}

void OwnModule::fill(const DeviceMemory& memory, DType dtype) const {
  Pattern pattern = pattern_of(dtype);
  CUdeviceptr words = memory.address();
  long long count = memory.bytes() / static_cast<int64_t>(sizeof(uint64_t));
  void* arguments[] = {&words, &count, &pattern.mask, &pattern.base};
  if (count > 0) launch(fill_, count, arguments);
}

void OwnModule::wait(double seconds) const {
  unsigned long long nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
  void* arguments[] = {&nanoseconds};
  driver_.check(
      driver_.call().launch(wait_, 1, 1, 1, 1, 1, 1, 0, driver_.stream(), arguments, nullptr),
      "wait");
}

void OwnModule::nothing() const { launch(nothing_, 1, nullptr); }

void OwnModule::move(CUdeviceptr in, int64_t read, CUdeviceptr out, int64_t written) const {
  long long from = (read + kWord - 1) / kWord, to = (written + kWord - 1) / kWord;
  void* arguments[] = {&in, &from, &out, &to};
  launch(move_, std::max(from, to), arguments);
}

void OwnModule::gather(CUdeviceptr indices, int64_t rows, CUdeviceptr table, CUdeviceptr out,
                       int64_t bytes) const {
  const bool wide = bytes % kWord == 0;
  long long count = rows, width = bytes / (wide ? kWord : kNarrowWord);
  void* arguments[] = {&indices, &count, &table, &out, &width};
  launch(wide ? gather_ : gather_narrow_, rows * kThreads, arguments);
}

std::unique_ptr<Work> OwnModule::moving(const KernelAt& kernel) const {
  return std::make_unique<MoveWork>(*this, kernel);
}

std::unique_ptr<Work> OwnModule::gathering(const KernelAt& kernel) const {
  const auto& p = std::get<RowsProblem<int64_t>>(kernel.problem);
  const int64_t row_bytes = p.columns * bits(kernel.dtype) / 8;
  if (p.rows < 2 || row_bytes % kNarrowWord != 0)
    throw CardFault("E724", "the rows that it looks up are unknown");
  return std::make_unique<GatherWork>(*this, p.rows, row_bytes);
}

}  // namespace plimsoll::calibrate

#include "calibrate/cuda_card.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "calibrate/card/copies.h"
#include "calibrate/card/cudnn_work.h"
#include "calibrate/card/gemm_work.h"
#include "calibrate/card/stopwatch.h"
#include "calibrate/cudnn/library.h"
#include "calibrate/kernel_record.h"
#include "calibrate/nvml.h"
#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

// Clocks and memory of one card, by the driver's management library; nothing where there is none.
class Meter {
 public:
  Meter() {
    if (auto opened = open_nvml("libnvidia-ml.so.1", false)) source_ = std::move(*opened);
  }
  // Which of the cards is meant: CUDA counts otherwise than the driver.
  void aim(std::string uuid) { uuid_ = std::move(uuid); }
  std::string driver() const {
    constexpr std::string_view kWords = "NVIDIA driver ";
    const std::string said = source_ ? source_->description() : "";
    return said.starts_with(kWords) ? said.substr(kWords.size()) : said;
  }
  CardState state() const {
    const GpuReading gpu = read();
    CardState state;
    if (gpu.sm_clock_hz) state.sm_clock_hz = static_cast<double>(*gpu.sm_clock_hz);
    if (gpu.memory_clock_hz) state.memory_clock_hz = static_cast<double>(*gpu.memory_clock_hz);
    state.temperature_c = gpu.temperature_c;
    state.power_watts = gpu.power_watts;
    if (gpu.throttled) state.throttled = *gpu.throttled;
    return state;
  }
  // Of all cards, by uuid: the one that is meant is known only once its context is there.
  std::vector<std::pair<std::string, int64_t>> used() const {
    std::vector<std::pair<std::string, int64_t>> all;
    if (!source_) return all;
    for (const GpuReading& gpu : source_->read().gpus) {
      if (gpu.used_bytes) all.emplace_back(gpu.uuid, *gpu.used_bytes);
    }
    return all;
  }

 private:
  GpuReading read() const {
    if (!source_) return {};
    for (GpuReading& gpu : source_->read().gpus) {
      if (gpu.uuid == uuid_) return std::move(gpu);
    }
    return {};
  }
  std::unique_ptr<GpuSource> source_;
  std::string uuid_;
};

// What handles and modules take of the card, step by step, as the memory that is free tells.
class MemorySteps {
 public:
  explicit MemorySteps(const Driver& driver) : driver_(driver), free_(free()) {}
  void add(const char* quantity) {
    const int64_t now = free();
    figures.push_back({quantity, "B", static_cast<double>(std::max<int64_t>(0, free_ - now))});
    free_ = now;
  }
  std::vector<Figure> figures;

 private:
  int64_t free() const { return driver_.free_and_total().first; }
  const Driver& driver_;
  int64_t free_;
};

KernelAt small_product() {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kGemm;
  kernel.op = "gemm";
  kernel.problem = GemmProblem<int64_t>{.m = 256, .n = 256, .k = 256};
  return kernel;
}

KernelAt small_convolution() {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kConv;
  kernel.op = "conv";
  ConvProblem<int64_t> p{.n = 8, .c = 64, .k = 64};
  p.in = p.out = {1, 28, 28};
  p.filter = {1, 3, 3};
  p.pad = {0, 1, 1};
  kernel.problem = p;
  return kernel;
}

class CudaCard : public Card {
 public:
  CudaCard(Driver driver, CublasLt cublas, CudnnHandle cudnn, const Nvrtc& nvrtc, Meter meter,
           CardFacts facts, std::vector<Figure> memory)
      : driver_(std::move(driver)),
        cublas_(std::move(cublas)),
        cudnn_(std::move(cudnn)),
        meter_(std::move(meter)),
        facts_(std::move(facts)),
        memory_(std::move(memory)),
        module_(driver_, nvrtc),
        stopwatch_(driver_, module_, [this] { return meter_.state(); }) {}

  const CardFacts& facts() const override { return facts_; }
  Result<std::vector<Offer>> offers(const KernelAt& kernel) override {
    return guarded([&] { return std::vector<Offer>(work_of(kernel).offers()); });
  }
  Result<std::vector<Sample>> time(const KernelAt& kernel, size_t offer) override {
    return guarded([&] {
      Work& work = work_of(kernel);
      if (offer >= work.offers().size()) throw CardFault("E722", "there is no such offer");
      return stopwatch_.time(work, offer, kernel.dtype);
    });
  }
  Result<std::vector<Figure>> figures() override {
    return guarded([&] {
      std::vector<Figure> all = memory_;
      add_modules(all);
      all.push_back(
          {"host_cores", "cores", static_cast<double>(std::thread::hardware_concurrency())});
      for (Figure& figure : copy_figures(driver_, module_)) all.push_back(std::move(figure));
      return all;
    });
  }

 private:
  // What a library refuses while the context lives is a kernel that is not run; after what ends the
  // context (CUDA_ERROR_ILLEGAL_ADDRESS, ...) every call fails.
  template <class F>
  auto guarded(F work) -> Result<decltype(work())> {
    try {
      return work();
    } catch (const CardFault& fault) {
      const bool lives = driver_.call().stream_synchronize(driver_.stream()) == CUDA_SUCCESS;
      return error(fault.code == "E722" && lives ? "E724" : fault.code, fault.what());
    }
  }

  // What libraries load onto the card with their first kernel. Once: then it is there. What fails
  // is not told.
  void add_modules(std::vector<Figure>& all) {
    if (modules_.empty()) {
      MemorySteps steps(driver_);
      const std::pair<const char*, KernelAt> kernels[] = {
          {"cublas_modules_bytes", small_product()}, {"cudnn_modules_bytes", small_convolution()}};
      for (const auto& [quantity, kernel] : kernels) {
        try {
          run_once(kernel);
          steps.add(quantity);
        } catch (const CardFault&) {
          continue;
        }
      }
      modules_ = std::move(steps.figures);
    }
    all.insert(all.end(), modules_.begin(), modules_.end());
  }
  void run_once(const KernelAt& kernel) const {
    const auto work = make_work(kernel);
    std::vector<DeviceMemory> operands;
    for (const int64_t bytes : work->operand_bytes()) operands.emplace_back(driver_, bytes);
    const DeviceMemory workspace(driver_, work->offers().front().workspace_bytes.value_or(0));
    work->launch(0, operands, workspace);
    driver_.synchronize();
  }

  // Of the kernel that was asked about last: its plans are made once.
  Work& work_of(const KernelAt& kernel) {
    const std::string key = key_of(kernel);
    if (!work_ || key != key_) {
      work_.reset();
      work_ = make_work(kernel);
      key_ = key;
    }
    return *work_;
  }
  std::unique_ptr<Work> convolution(const KernelAt& kernel) const {
    const auto question = conv_question(kernel);
    if (!question) throw CardFault("E724", "cuDNN has no query for such a convolution");
    if (takes_legacy_calls(cudnn_, facts_.compute_capability))
      return legacy_conv_work(cudnn_, kernel, *question);
    return conv_work(cudnn_, *question);
  }
  std::unique_ptr<Work> make_work(const KernelAt& kernel) const {
    switch (kernel.kernel_class) {
      case KernelClass::kConv:
        return convolution(kernel);
      case KernelClass::kGemm:
        return cublas_.product(driver_, kernel);
      case KernelClass::kPointwise:
      case KernelClass::kReduce:
      case KernelClass::kCopy:
      case KernelClass::kUpdate:
        return module_.moving(kernel);
      case KernelClass::kNorm:
        return norm_work(cudnn_, kernel);
      case KernelClass::kSoftmax:
        return softmax_work(cudnn_, kernel);
      case KernelClass::kPool:
        return pool_work(cudnn_, kernel);
      case KernelClass::kGather:
        return module_.gathering(kernel);
      case KernelClass::kRecurrent:
        return recurrent_work(driver_, cudnn_, kernel);
      case KernelClass::kAttention:
        return attention_work(cudnn_, kernel);
      default:
        throw CardFault("E724", fmt::format("no library's kernel of class {} is run",
                                            plimsoll::name(kernel.kernel_class)));
    }
  }

  Driver driver_;
  CublasLt cublas_;
  CudnnHandle cudnn_;
  Meter meter_;
  CardFacts facts_;
  std::vector<Figure> memory_, modules_;
  OwnModule module_;
  Stopwatch stopwatch_;
  std::unique_ptr<Work> work_;
  std::string key_;
};

int64_t used_by(const std::vector<std::pair<std::string, int64_t>>& cards,
                const std::string& uuid) {
  for (const auto& [id, bytes] : cards) {
    if (id == uuid) return bytes;
  }
  return -1;
}

Result<std::unique_ptr<Card>> open_libraries(Driver driver, Meter meter, int64_t used_before) {
  auto cudnn = TRY(find_cudnn());
  auto functions = TRY(CudnnFunctions::versions_of(cudnn.library));
  // cuDNN 7 has no graphs, and convolutions do without.
  const bool graphs = functions.version() >= 8000;
  if (auto loaded = functions.load_backend(cudnn.library); graphs && !loaded)
    return tl::make_unexpected(loaded.error());
  const auto cublas = TRY(find_cublas_lt(cudnn.folders, functions.cuda_version()));
  const auto nvrtc =
      TRY(Nvrtc::open(cudnn.folders, static_cast<int>(functions.cuda_version() / 1000)));
  CardFacts facts;
  facts.name = driver.name();
  facts.driver = meter.driver();
  facts.compute_capability = {driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                              driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  std::tie(facts.free_bytes, facts.memory_bytes) = driver.free_and_total();
  facts.libraries = {{"cuDNN", version_text(functions.version()), cudnn.library.path()},
                     {cublas.loaded.name, cublas.loaded.version, cublas.loaded.path},
                     nvrtc.library()};
  MemorySteps steps(driver);
  const int64_t used_now = used_by(meter.used(), driver.uuid());
  if (used_before >= 0 && used_now >= used_before)
    steps.figures.push_back({"context_bytes", "B", static_cast<double>(used_now - used_before)});
  auto product = TRY(CublasLt::make(cublas.library));
  steps.add("cublas_handle_bytes");
  auto handle = TRY(CudnnHandle::make(cudnn.library, functions, driver));
  steps.add("cudnn_handle_bytes");
  return std::make_unique<CudaCard>(std::move(driver), std::move(product), std::move(handle), nvrtc,
                                    std::move(meter), std::move(facts), std::move(steps.figures));
}

}  // namespace

Result<std::unique_ptr<Card>> open_cuda_card(const CudaCardOptions& options) {
  Meter meter;
  const auto before = meter.used();
  auto driver = TRY(Driver::open(options.index, options.memory));
  try {
    const std::string uuid = driver.uuid();
    meter.aim(uuid);
    return open_libraries(std::move(driver), std::move(meter), used_by(before, uuid));
  } catch (const CardFault& fault) {
    return error("E720", fault.what());
  }
}

}  // namespace plimsoll::calibrate

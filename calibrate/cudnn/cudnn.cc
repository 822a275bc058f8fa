#include "calibrate/cudnn.h"

#include <fmt/format.h>

#include "calibrate/cudnn/attention_graph.h"
#include "calibrate/cudnn/backend.h"
#include "calibrate/cudnn/conv_graph.h"
#include "calibrate/cudnn/library.h"
#include "calibrate/cudnn/norm_graph.h"
#include "calibrate/cudnn/plan_list.h"
#include "calibrate/device_properties.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// Which GPUs a version knows of is not what it says when it is asked (design note in README): 9.11
// and later answer for Maxwell, Pascal and Volta from lists that are no longer theirs.
Result<void> check_version(size_t version, const Device& device) {
  const ComputeCapability c = device.compute_capability;
  if (version < 90800) {
    return error(
        "E704",
        fmt::format("cuDNN {} cannot be queried without a GPU: that needs cuDNN 9.8 or later",
                    version_text(version)),
        {}, kCudnnHelp);
  }
  if (version >= 91100 && c < ComputeCapability{7, 5}) {
    return error("E703",
                 fmt::format("cuDNN {} no longer knows {} (compute capability {}.{}), and would "
                             "answer wrongly: 9.10 is the last that does",
                             version_text(version), device.id, c.major, c.minor),
                 {}, kCudnnHelp);
  }
  return {};
}

}  // namespace

struct Cudnn::Impl {
  CudnnFunctions functions;
  std::string version;
  std::vector<LoadedLibrary> libraries;
  std::unique_ptr<Descriptor> device;
};

Cudnn::Cudnn(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cudnn::Cudnn(Cudnn&&) noexcept = default;
Cudnn::~Cudnn() = default;

Result<Cudnn> Cudnn::open(const Device& device) {
  const auto properties = TRY(device_properties(device));
  const auto found = TRY(find_cudnn());
  auto functions = TRY(CudnnFunctions::versions_of(found.library));
  auto impl = std::make_unique<Impl>();
  const size_t version = functions.version();
  TRY(check_version(version, device));
  TRY(functions.load_backend(found.library));
  impl->functions = functions;
  impl->version = version_text(version);
  impl->libraries.push_back({"cuDNN", impl->version, found.library.path()});
  const auto cublas = TRY(find_cublas_lt(found.folders, functions.cuda_version()));
  impl->libraries.push_back(cublas.loaded);
  try {
    impl->device =
        std::make_unique<Descriptor>(impl->functions, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    impl->device
        ->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
              std::vector<char>(properties.begin(), properties.end()))
        .finalize("the device's properties");
  } catch (const CudnnRefusal& refusal) {
    return error("E703", fmt::format("cuDNN {} does not accept the description of {}: {}",
                                     impl->version, device.id, refusal.what()));
  }
  return Cudnn(std::move(impl));
}

const std::string& Cudnn::version() const { return impl_->version; }
const std::vector<LoadedLibrary>& Cudnn::libraries() const { return impl_->libraries; }

namespace {

Cudnn::Listed told(PlanList list) {
  Cudnn::Listed listed{std::move(list.mode), {}, std::move(list.error)};
  for (ListedPlan& plan : list.plans) listed.plans.push_back(std::move(plan.plan));
  return listed;
}

template <class Impl, class Make>
Cudnn::Listed told(const Impl& impl, const Make& make) {
  try {
    const OperationGraph graph = make();
    return told(list_plans(impl.functions, graph, {.device = impl.device.get()}));
  } catch (const CudnnRefusal& refusal) {
    return {"instant", {}, refusal.what()};
  }
}

}  // namespace

Cudnn::Listed Cudnn::ask(const ConvQuestion& question) const {
  return told(list_plans(impl_->functions, question, {.device = impl_->device.get()}));
}

Cudnn::Listed Cudnn::ask(const AttentionProblem<int64_t>& problem, Pass pass, DType dtype) const {
  return told(*impl_, [&] { return attention_graph(impl_->functions, problem, pass, dtype); });
}

Cudnn::Listed Cudnn::ask_norm(const KernelAt& kernel) const {
  return told(*impl_, [&] { return norm_graph(impl_->functions, kernel); });
}

}  // namespace plimsoll

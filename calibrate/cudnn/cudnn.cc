#include "calibrate/cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/cudnn/backend.h"
#include "calibrate/cudnn/conv_graph.h"
#include "calibrate/device_properties.h"
#include "calibrate/nvidia_library.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostPlans = 64;  // the longest list seen has 41
constexpr const char* kHelp =
    "'./dev calibrate ask ...' fetches cuDNN 9.10.2, which knows all of "
    "Maxwell to Hopper; PLIMSOLL_CUDNN names a folder of your own";

// 9 writes 91002 for 9.10.2, 8 and before 8902 for 8.9.2 (cudnn_version.h).
std::string version_text(size_t v) {
  const size_t scale = v >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", v / scale, v % scale / 100, v % 100);
}

// Names of the two lists of notes, in the order of the header's enumerations.
constexpr std::array kNumericalNotes = {"tensor_core",
                                        "down_convert_inputs",
                                        "reduced_precision_reduction",
                                        "fft",
                                        "nondeterministic",
                                        "winograd",
                                        "winograd_tile_4x4",
                                        "winograd_tile_6x6",
                                        "winograd_tile_13x13",
                                        "strict_nan_prop"};

// Which GPUs a version knows of is not what it says when it is asked (design note in README): 9.11
// and later answer for Maxwell, Pascal and Volta from lists that are no longer theirs.
Result<void> check_version(size_t version, const Device& device) {
  const ComputeCapability c = device.compute_capability;
  if (version < 90800) {
    return error("E704",
                 fmt::format("cuDNN {} cannot be asked without a GPU: 9.8 is the first that takes "
                             "a description of one",
                             version_text(version)),
                 {}, kHelp);
  }
  if (version >= 91100 && c < ComputeCapability{7, 5}) {
    return error("E703",
                 fmt::format("cuDNN {} no longer knows {} (compute capability {}.{}), and would "
                             "answer wrongly: 9.10 is the last that does",
                             version_text(version), device.id, c.major, c.minor),
                 {}, kHelp);
  }
  return {};
}

struct Found {
  SharedLibrary cudnn;
  NvidiaFolders folders;
};

Result<Found> find_cudnn() {
  NvidiaFolders folders = find_nvidia_folders();
  std::vector<std::string> files;
  for (const char* name : {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so.7"}) {
    const auto more = candidates(folders, "cudnn", name, true);
    files.insert(files.end(), more.begin(), more.end());
  }
  if (files.empty()) {
    return error("E701", fmt::format("PLIMSOLL_CUDNN={} has no libcudnn.so", folders.named), {},
                 "it names a folder with lib/, as pip's nvidia/cudnn");
  }
  auto library = SharedLibrary::open(files);
  if (!library) {
    for (Diagnostic& d : library.error()) {
      d.message = "cuDNN is missing: " + d.message;
      d.help = kHelp;
    }
    return tl::make_unexpected(library.error());
  }
  return Found{std::move(*library), std::move(folders)};
}

// cuBLASLt of the CUDA that cuDNN was built for: it ends the process where that is missing.
Result<LoadedLibrary> load_cublas_lt(const NvidiaFolders& folders, size_t cuda) {
  const std::string file = fmt::format("libcublasLt.so.{}", cuda / 1000);
  auto library = SharedLibrary::open(candidates(folders, "cublas", file));
  if (!library) {
    for (Diagnostic& d : library.error()) {
      d.message = fmt::format("cuDNN needs {}: {}", file, d.message);
      d.help = fmt::format("pip install nvidia-cublas-cu{}; {}", cuda / 1000, kHelp);
    }
    return tl::make_unexpected(library.error());
  }
  const auto version = library->function<size_t()>("cublasLtGetVersion");
  if (!version) return tl::make_unexpected(version.error());
  const size_t v = (*version)();  // 120103 for 12.1.3
  const size_t scale = v >= 100000 ? 10000 : 1000;
  return LoadedLibrary{"cuBLASLt", fmt::format("{}.{}.{}", v / scale, v % scale / 100, v % 100),
                       library->path()};
}

}  // namespace

Result<CudnnFunctions> CudnnFunctions::versions_of(const SharedLibrary& library) {
  CudnnFunctions functions;
  const auto version = library.function<decltype(cudnnGetVersion)>("cudnnGetVersion");
  if (!version) return tl::make_unexpected(version.error());
  const auto cuda = library.function<decltype(cudnnGetCudartVersion)>("cudnnGetCudartVersion");
  if (!cuda) return tl::make_unexpected(cuda.error());
  functions.version = *version;
  functions.cuda_version = *cuda;
  return functions;
}

Result<void> CudnnFunctions::load_backend(const SharedLibrary& library) {
  Diagnostics missing;
  const auto load = [&](auto& function, const char* name) {
    const auto found =
        library.function<std::remove_pointer_t<std::decay_t<decltype(function)>>>(name);
    if (found) {
      function = *found;
    } else {
      missing = found.error();
    }
  };
  load(last_error, "cudnnGetLastErrorString");
  load(create, "cudnnBackendCreateDescriptor");
  load(destroy, "cudnnBackendDestroyDescriptor");
  load(set, "cudnnBackendSetAttribute");
  load(get, "cudnnBackendGetAttribute");
  load(finalize, "cudnnBackendFinalize");
  if (!missing.empty()) return tl::make_unexpected(missing);
  return {};
}

struct Cudnn::Impl {
  CudnnFunctions functions;
  std::string version;
  std::vector<LoadedLibrary> libraries;
  std::unique_ptr<Descriptor> device;

  std::vector<AskedPlan> list(const ConvGraph& graph, cudnnBackendHeurMode_t mode) const;
  std::optional<AskedPlan> plan_of(const Descriptor& config) const;
  std::vector<std::pair<std::string, int64_t>> knobs_of(const Descriptor& plan) const;
};

Cudnn::Cudnn(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cudnn::Cudnn(Cudnn&&) noexcept = default;
Cudnn::~Cudnn() = default;

Result<Cudnn> Cudnn::open(const Device& device) {
  const auto properties = device_properties(device);
  if (!properties) return tl::make_unexpected(properties.error());
  const auto found = find_cudnn();
  if (!found) return tl::make_unexpected(found.error());
  auto functions = CudnnFunctions::versions_of(found->cudnn);
  if (!functions) return tl::make_unexpected(functions.error());
  auto impl = std::make_unique<Impl>();
  const size_t version = functions->version();
  if (auto known = check_version(version, device); !known)
    return tl::make_unexpected(known.error());
  if (auto loaded = functions->load_backend(found->cudnn); !loaded)
    return tl::make_unexpected(loaded.error());
  impl->functions = *functions;
  impl->version = version_text(version);
  impl->libraries.push_back({"cuDNN", impl->version, found->cudnn.path()});
  auto cublas = load_cublas_lt(found->folders, functions->cuda_version());
  if (!cublas) return tl::make_unexpected(cublas.error());
  impl->libraries.push_back(std::move(*cublas));
  try {
    impl->device =
        std::make_unique<Descriptor>(impl->functions, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    impl->device
        ->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
              std::vector<char>(properties->begin(), properties->end()))
        .finalize("the device's properties");
  } catch (const CudnnRefusal& refusal) {
    return error("E703", fmt::format("cuDNN {} takes no description of {}: {}", impl->version,
                                     device.id, refusal.what()));
  }
  return Cudnn(std::move(impl));
}

const std::string& Cudnn::version() const { return impl_->version; }
const std::vector<LoadedLibrary>& Cudnn::libraries() const { return impl_->libraries; }

// Of the plan as cuDNN writes it: {..., "knobChoices": {"CUDNN_KNOB_TYPE_TILE_SIZE": 2, ...}}.
std::vector<std::pair<std::string, int64_t>> Cudnn::Impl::knobs_of(const Descriptor& plan) const {
  std::vector<char> text;
  try {
    text = plan.get<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1 << 14);
  } catch (const CudnnRefusal&) {
    return {};  // before 9.9 there is none
  }
  std::string_view json(text.data(), text.size());
  std::vector<std::pair<std::string, int64_t>> knobs;
  const size_t open = json.find('{', json.rfind("\"knobChoices\""));
  if (open == json.npos) return knobs;
  const size_t close = json.find('}', open);
  const auto choices = read_json(json.substr(open, close - open + 1), "knobChoices");
  if (!choices || !choices->members()) return knobs;
  constexpr std::string_view kPrefix = "CUDNN_KNOB_TYPE_";
  for (const JsonMember& choice : *choices->members()) {
    const bool prefixed = choice.key.starts_with(kPrefix);
    knobs.emplace_back(choice.key.substr(prefixed ? kPrefix.size() : 0),
                       choice.value.integer().value_or(-1));
  }
  return knobs;
}

// Nothing where cuDNN refuses the plan of a configuration that it listed itself.
std::optional<AskedPlan> Cudnn::Impl::plan_of(const Descriptor& config) const {
  const auto engine =
      config.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return std::nullopt;
  AskedPlan asked;
  asked.engine = engine[0].get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1).at(0);
  const auto notes = engine[0].get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                CUDNN_TYPE_NUMERICAL_NOTE, 32);
  for (const auto note : notes) {
    const auto number = static_cast<size_t>(note);
    asked.notes.push_back(number < kNumericalNotes.size() ? kNumericalNotes[number]
                                                          : fmt::format("note_{}", number));
  }
  try {
    Descriptor plan(functions, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device)
        .finalize("a plan");
    asked.bytes =
        plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1).at(0);
    asked.knobs = knobs_of(plan);
  } catch (const CudnnRefusal&) {
    return std::nullopt;
  }
  return asked;
}

std::vector<AskedPlan> Cudnn::Impl::list(const ConvGraph& graph,
                                         cudnnBackendHeurMode_t mode) const {
  Descriptor heuristic(functions, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{mode})
      .set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device)
      .finalize("the heuristic");
  std::vector<AskedPlan> plans;
  for (const Descriptor& config : heuristic.get_descriptors(
           CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostPlans)) {
    if (auto plan = plan_of(config)) plans.push_back(std::move(*plan));
  }
  return plans;
}

Cudnn::Listed Cudnn::ask(const ConvQuestion& question) const {
  const ConvProblem<int64_t>& c = question.problem;
  if (c.groups < 1 || c.c % c.groups != 0 || c.k % c.groups != 0)
    return {"instant", {}, "the groups do not divide the channels"};
  try {
    const ConvGraph graph(impl_->functions, question);
    auto plans = impl_->list(graph, CUDNN_HEUR_MODE_INSTANT);
    if (!plans.empty()) return {"instant", std::move(plans), {}};
    plans = impl_->list(graph, CUDNN_HEUR_MODE_FALLBACK);
    if (!plans.empty()) return {"fallback", std::move(plans), {}};
    return {"fallback", {}, "cuDNN lists no plan"};
  } catch (const CudnnRefusal& refusal) {
    return {"instant", {}, refusal.what()};
  }
}

}  // namespace plimsoll

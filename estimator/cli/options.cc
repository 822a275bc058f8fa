#include "estimator/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/cli/lengths.h"
#include "estimator/cli/local_gpu.h"
#include "estimator/cli/values.h"
#include "estimator/cli/verb.h"
#include "estimator/memory/workspace/asked.h"
#include "estimator/model/model_source.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

// Names of a table's rows.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}
template <auto rows>
std::string one_of() {
  return fmt::format("{}", fmt::join(names_of(rows()), ", "));
}

struct ValueFlag {
  const char* name;
  const char* help;
  std::string (*words)() = nullptr;  // what it takes, where a table says so
};

constexpr ValueFlag kValueFlags[] = {
    {"mem", "capacity instead of the GPU's, e.g. 10GiB"},
    {"reserve", "memory to keep free, e.g. 1GiB"},
    {"display", "what a desktop on the card takes of it, e.g. 600MiB; else none is counted"},
    {"batch", "samples per GPU and step"},
    {"image", "height and width of image inputs"},
    {"mode", "train or inference"},
    {"optimizer", "one of ", one_of<optimizers>},
    {"precision", "one of ", one_of<precisions>},
    {"framework", "NAME[-VERSION], e.g. pytorch, tensorflow-1.15"},
    {"cudnn", "cuDNN version, e.g. 7.6"},
    {"cuda", "CUDA version, e.g. 12.8: by default modules are loaded as it does"},
    {"module-loading", "lazy or eager, as CUDA_MODULE_LOADING; else as framework and CUDA do"},
    {"workspace-limit", "most workspace a convolution may use"},
    {"allocator", "PyTorch's settings, e.g. expandable_segments:True,max_split_size_mb:128"},
    {"gpus", "number of GPUs of a data-parallel run"},
    {"link", "what connects them, see 'plimsoll links'"},
    {"checkpoint", "none, blocks, mirror (what MXNet recomputes), or a module path"},
    {"accumulate", "forward-backward passes per update"},
    {"loss", "cross_entropy, mse, bce, sum, ctc or none"},
    {"conv-algo",
     "autotune, heuristic, guess_once, time_once, deterministic, im2col or an algorithm's name"},
    {"layout", "nchw or nhwc"},
    {"attention", "fused or math"},
    {"dropout", "recovered, none, or a ratio to assume"},
    {"recurrent", "library or unrolled: how recurrent layers run; else as model and framework do"},
    {"cudnn-benchmark", "on or off"},
    {"zero-grad", "none, before, after or keep"},
    {"prefetch", "batches that a loader holds on the GPU ahead"},
    {"context", "size of context and libraries, where known"},
    {"epochs", "passes over the data, for the time of a whole run"},
    {"samples", "samples per epoch"},
    {"samples-in-memory", "samples of a data set that the host holds in memory"},
    {"workers",
     "processes that load batches, as PyTorch's num_workers; the loader is then counted"},
    {"loader", "none, memory, convert or transform: how samples get into batches"},
    {"host", "the machine around the GPU, see 'plimsoll hosts', or a host file"},
    {"machine", "what plimsoll-calibrate fit made of kernels measured on this card"},
    {"hwdb", "folder whose files replace the built-in data"},
};

// Reads one flag after the other into a request, remembering the first fault.
class Reader {
 public:
  explicit Reader(const SharedFlags& flags) : flags_(flags) {
    for (const auto& [name, given] : flags.values) {
      for (const std::string& value : given) {
        if (value == given.front() || fault_) continue;
        fault_ = error("E114", fmt::format("--{} is given twice: {} and {}", name,
                                           shortened(given.front(), 60), shortened(value, 60)))
                     .value();
      }
    }
  }

  template <class T, class Parse>
  void read(std::string_view name, T& into, Parse parse) {
    const std::string* text = value_of(flags_, name);
    if (!text || fault_) return;
    auto value = parse(fmt::format("--{}", name), *text);
    if (value) {
      into = *value;
    } else {
      fault_ = value.error();
    }
  }
  template <class T>
  void count(std::string_view name, T& into, int64_t low, int64_t high) {
    read(name, into, [&](std::string_view flag, std::string_view text) {
      return parse_count(flag, text, low, high);
    });
  }
  template <class T>
  void size(std::string_view name, T& into) {
    read(name, into,
         [](std::string_view flag, std::string_view text) { return cli::parse_bytes(flag, text); });
  }
  template <class T>
  void word(std::string_view name, T& into, const std::vector<std::string>& words) {
    read(name, into, [&](std::string_view flag, std::string_view text) -> Result<T> {
      auto index = parse_word(flag, text, words);
      if (!index) return tl::make_unexpected(index.error());
      return static_cast<T>(*index);
    });
  }
  // A row of a table, by its name.
  template <class Row>
  void row(std::string_view name, const Row*& into, std::span<const Row> rows) {
    size_t index = static_cast<size_t>(into - rows.data());
    word(name, index, names_of(rows));
    into = &rows[index];
  }
  void text(std::string_view name, std::string& into) {
    if (const std::string* given = value_of(flags_, name)) into = *given;
  }
  template <class Use>
  void each(const std::vector<std::string>& list, std::string_view flag, Use use) {
    std::map<std::string, std::string> given;
    for (const std::string& item : list) {
      if (fault_) return;
      auto pair = parse_assignment(flag, item);
      if (!pair) {
        fault_ = pair.error();
      } else if (const auto [at, first] = given.insert(*pair);
                 !first && at->second != pair->second) {
        fault_ = error("E114", fmt::format("{} {} is given twice: {} and {}", flag,
                                           shortened(pair->first, 60), shortened(at->second, 60),
                                           shortened(pair->second, 60)))
                     .value();
      } else if (auto used = use(pair->first, pair->second); !used) {
        fault_ = used.error();
      }
    }
  }
  const std::optional<Diagnostics>& fault() const { return fault_; }

 private:
  const SharedFlags& flags_;
  std::optional<Diagnostics> fault_;
};

constexpr int64_t kLargestCount = int64_t{1} << 31;

// Names of the flags that were written.
std::set<std::string, std::less<>> given_in(const SharedFlags& flags) {
  std::set<std::string, std::less<>> given;
  for (const auto& [name, values] : flags.values) {
    if (!values.empty()) given.insert(name);
  }
  const std::pair<const char*, bool> others[] = {{"gpu", !flags.gpus.empty()},
                                                 {"longest", !flags.longest.empty()},
                                                 {"lengths", !flags.lengths.empty()},
                                                 {"weight-decay", flags.weight_decay},
                                                 {"no-recover", flags.no_recover}};
  for (const auto& [name, written] : others) {
    if (written) given.insert(name);
  }
  for (const TrainingRule& rule : flags.training) given.insert(rule.trained ? "train" : "freeze");
  return given;
}

void read_recipe(Reader& reader, const SharedFlags& flags, Recipe& recipe) {
  reader.word("mode", recipe.mode, {"train", "train_no_update", "inference"});
  reader.row("optimizer", recipe.optimizer, optimizers());
  reader.row("precision", recipe.precision, precisions());
  reader.word("loss", recipe.loss, {"cross_entropy", "mse", "bce", "sum", "ctc", "none"});
  reader.word("zero-grad", recipe.zero_grad, {"none", "before", "after", "keep"});
  reader.count("accumulate", recipe.accumulate, 1, 4096);
  reader.text("checkpoint", recipe.checkpoint);
  recipe.weight_decay = flags.weight_decay;
  recipe.training = flags.training;
  reader.word("recurrent", recipe.unrolled, {"library", "unrolled"});
  std::string dropout = "recovered";
  reader.text("dropout", dropout);
  if (dropout == "none") {
    recipe.ignore_dropout = true;
  } else if (dropout != "recovered") {
    reader.read(
        "dropout", recipe.assumed_dropout,
        [](std::string_view flag, std::string_view text) { return parse_real(flag, text, 0, 1); });
  }
}

Result<std::shared_ptr<const AskedWorkspaces>> read_listed(const Machine& machine,
                                                           const std::string& file) {
  if (machine.workspaces.empty()) return nullptr;
  std::string lines;
  for (const std::string& answer : machine.workspaces) lines += answer + "\n";
  auto listed = AskedWorkspaces::read(lines, file + ", workspaces");
  if (!listed) return tl::make_unexpected(listed.error());
  return std::make_shared<const AskedWorkspaces>(std::move(*listed));
}

}  // namespace

const std::string* value_of(const SharedFlags& flags, std::string_view name) {
  const auto at = flags.values.find(std::string(name));
  return at == flags.values.end() || at->second.empty() ? nullptr : &at->second.front();
}

bool is_shared_value(std::string_view name) {
  return std::ranges::any_of(kValueFlags, [&](const ValueFlag& f) { return f.name == name; });
}

void add_value(CLI::App& app, SharedFlags& flags, const std::string& name,
               const std::string& help) {
  app.add_option("--" + name, flags.values[name], help)
      ->allow_extra_args(false)
      ->type_name("VALUE");
}

void add_shared(CLI::App& app, SharedFlags& flags, bool with_model) {
  const auto list = [&](const char* name, std::vector<std::string>& into, const char* help) {
    app.add_option(name, into, help)->allow_extra_args(false)->type_name("");
  };
  if (with_model) app.add_option("model", flags.model, "model.onnx, model.json or builtin:NAME");
  list("--gpu", flags.gpus,
       "a GPU: its id, its name as nvidia-smi prints it, ID:MIG-PROFILE, a device file, or local");
  list("--dim", flags.dims, "NAME=N: value of a symbolic dimension");
  list("--longest", flags.longest,
       "NAME=N: a dimension in the largest batch; memory is read there");
  list("--lengths", flags.lengths,
       "NAME=N:SHARE,...: lengths of batches and how many have each; time is their mean");
  list("--set", flags.settings, "NAME=VALUE: a parameter of a config or built-in");
  list("--shape", flags.shapes, "NAME=1x3x224x224: shape of a graph input");
  list("--trip", flags.trips, "NODE=K: iterations of a loop");
  list("--branch", flags.branches,
       "NODE=then or else: the branch of an If whose condition is data");
  list("--contents", flags.contents, "TENSOR=N,N,...: what a tensor holds that shapes depend on");
  list("--assume", flags.assume, "OP=ELEMENTWISE or FREE: price an unknown operator");
  list("--limit", flags.limits, "NAME=N: raise a limit");
  const auto rule = [&](const char* name, bool trained, const char* help) {
    app.add_option_function<std::string>(
           name,
           [&flags, trained](const std::string& glob) {
             flags.training.push_back({glob, trained});
           },
           help)
        ->trigger_on_parse()  // at once: of --freeze and --train the last match holds
        ->allow_extra_args(false)
        ->type_name("GLOB");
  };
  rule("--freeze", false, "weights that are not trained, e.g. 'backbone.*'; the last match holds");
  rule("--train", true, "weights that are, e.g. 'backbone.layer4.*'");
  for (const ValueFlag& f : kValueFlags)
    add_value(app, flags, f.name, f.help + (f.words ? f.words() : ""));
  app.add_flag("--weight-decay", flags.weight_decay, "the optimizer decays weights");
  app.add_flag("--no-recover", flags.no_recover, "take the graph as it is written");
  app.add_flag("--strict", flags.strict, "warnings about the model are errors");
}

Result<Hwdb> open_database(Request& request, std::string_view verb, Gpus gpus) {
  const std::string example =
      fmt::format("for example: plimsoll {} builtin:resnet50 --gpu quadro-p4000", verb);
  if (request.model.empty())
    return error("E108", "which model? name a file or builtin:NAME", {}, example);
  if (gpus == Gpus::kOne && request.devices.size() > 1) {
    return error("E114", "--gpu is given more than once", {},
                 "'plimsoll compare' takes several; '--gpus N' is how many share the work");
  }
  auto hwdb = Hwdb::open(request.hwdb_directory);
  if (!hwdb) return hwdb;
  report(hwdb->own_faults());
  if (auto found = find_local_gpu(*hwdb, request.devices, example); !found) {
    // The model stands before the card: what is wrong with it is said first.
    auto faults = load_model_inputs(request);
    Diagnostics said = faults ? Diagnostics() : in_model(faults.error(), request.model);
    said.insert(said.end(), found.error().begin(), found.error().end());
    return tl::make_unexpected(std::move(said));
  }
  return hwdb;
}

Diagnostics in_model(Diagnostics diagnostics, const std::string& model) {
  for (Diagnostic& d : diagnostics) {
    const bool about_it =
        d.code.starts_with("E2") || d.code.starts_with("W2") || d.code.starts_with("E8");
    if (d.place.file.empty() && about_it) d.place.file = model;
  }
  return diagnostics;
}

Diagnostics as_strict(Diagnostics diagnostics, bool strict) {
  for (Diagnostic& d : diagnostics) {
    if (strict && d.severity == Severity::kWarning) d.severity = Severity::kError;
  }
  return diagnostics;
}

Result<Request> to_request(const SharedFlags& flags) {
  Request request;
  Reader reader(flags);
  request.model = flags.model;
  request.devices = flags.gpus;
  request.given = given_in(flags);
  request.loss_given = value_of(flags, "loss") != nullptr;
  request.recover = !flags.no_recover;
  request.strict = flags.strict;
  reader.size("mem", request.memory_bytes);
  reader.size("reserve", request.reserve_bytes);
  reader.size("display", request.display_bytes);
  reader.size("workspace-limit", request.workspace_limit);
  reader.size("context", request.context_bytes);
  reader.count("batch", request.batch, 1, kLargestCount);
  reader.count("image", request.image, 1, 65536);
  reader.count("gpus", request.gpu_count, 1, 65536);
  reader.count("prefetch", request.prefetch, 0, 1024);
  reader.count("epochs", request.epochs, 1, kLargestCount);
  reader.count("samples", request.samples, 1, int64_t{1} << 50);
  reader.count("samples-in-memory", request.samples_in_memory, 1, int64_t{1} << 50);
  reader.count("workers", request.workers, 0, 4096);
  reader.text("host", request.host);
  std::string machine;
  reader.text("machine", machine);
  reader.text("allocator", request.allocator);
  reader.text("framework", request.framework);
  reader.text("link", request.link);
  reader.text("conv-algo", request.conv_algorithm);
  reader.text("hwdb", request.hwdb_directory);
  if (const std::string* version = value_of(flags, "cudnn")) request.cudnn = *version;
  if (const std::string* version = value_of(flags, "cuda")) request.cuda = *version;
  read_recipe(reader, flags, request.recipe);
  size_t choice = 0;
  reader.word("layout", choice, {"nchw", "nhwc"});
  if (value_of(flags, "layout")) request.layout = choice == 0 ? "nchw" : "nhwc";
  choice = 0;
  reader.word("attention", choice, {"fused", "math"});
  if (value_of(flags, "attention")) request.attention = choice == 0 ? "fused" : "math";
  choice = 0;
  reader.word("cudnn-benchmark", choice, {"off", "on"});
  if (value_of(flags, "cudnn-benchmark")) request.cudnn_benchmark = choice == 1;
  choice = 0;
  reader.word("loader", choice, {"none", "memory", "convert", "transform"});
  if (value_of(flags, "loader")) request.loader = static_cast<LoaderKind>(choice);
  choice = 0;
  reader.word("module-loading", choice, {"lazy", "eager"});
  if (value_of(flags, "module-loading"))
    request.module_loading = choice == 0 ? ModuleLoading::kLazy : ModuleLoading::kEager;
  const auto sizes = [&](const std::vector<std::string>& list, const std::string& flag,
                         Binding& into) {
    reader.each(list, flag, [&](const std::string& name, const std::string& text) -> Result<void> {
      auto value = parse_count(flag + " " + name, text, 1, kLargestCount);
      if (!value) return tl::make_unexpected(value.error());
      into[name] = *value;
      return {};
    });
  };
  sizes(flags.dims, "--dim", request.dims);
  sizes(flags.longest, "--longest", request.longest);
  reader.each(flags.lengths, "--lengths", [&](const std::string& name, const std::string& text) {
    return add_lengths(name, text, request.lengths);
  });
  reader.each(flags.settings, "--set",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                request.settings[name] = text;
                return {};
              });
  reader.each(flags.shapes, "--shape",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto extents = parse_extents("--shape " + name, text);
                if (!extents) return tl::make_unexpected(extents.error());
                request.shapes[name] = *extents;
                return {};
              });
  reader.each(flags.trips, "--trip",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto value = parse_count("--trip " + name, text, 0, 1 << 20);
                if (!value) return tl::make_unexpected(value.error());
                request.trips[name] = *value;
                return {};
              });
  reader.each(flags.branches, "--branch",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto word = parse_word("--branch " + name, text, {"then", "else"});
                if (!word) return tl::make_unexpected(word.error());
                request.branches[name] = text;
                return {};
              });
  reader.each(flags.contents, "--contents",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto numbers = parse_numbers("--contents " + name, text);
                if (!numbers) return tl::make_unexpected(numbers.error());
                request.contents[name] = std::move(*numbers);
                return {};
              });
  reader.each(flags.assume, "--assume",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto word = parse_word("--assume " + name, text, {"ELEMENTWISE", "FREE"});
                if (!word) return tl::make_unexpected(word.error());
                request.assume[name] = text;
                return {};
              });
  reader.each(flags.limits, "--limit",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto value = parse_count("--limit " + name, text, 1, int64_t{1} << 62);
                if (!value) return tl::make_unexpected(value.error());
                return set_limit(request.limits, name, *value);
              });
  if (reader.fault()) return tl::make_unexpected(*reader.fault());
  if (!machine.empty()) {
    auto opened = open_machine(machine);
    if (!opened) return tl::make_unexpected(opened.error());
    if (auto listed = read_listed(*opened, machine); listed) {
      request.listed = std::move(*listed);
    } else {
      return tl::make_unexpected(listed.error());
    }
    request.machine = std::move(*opened);
  }
  if (request.memory_bytes == 0) return error("E104", "--mem: a capacity of nothing");
  for (const auto& [name, size] : request.dims) {
    if (request.lengths.empty() || !request.lengths.front().sizes.contains(name)) continue;
    return error(
        "E114", fmt::format("--dim {0} and --lengths {0} exclude each other", shortened(name, 60)));
  }
  return request;
}

}  // namespace plimsoll::cli

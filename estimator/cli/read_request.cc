#include "estimator/cli/read_request.h"

#include <fmt/format.h>

#include "estimator/cli/agreement.h"
#include "estimator/cli/lengths.h"
#include "estimator/cli/values.h"
#include "estimator/library/workspace/asked.h"
#include "estimator/time/exchange.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {
namespace {

// Names of a table's rows.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

auto count_from(int64_t low, int64_t high) {
  return [low, high](std::string_view flag, std::string_view text) {
    return parse_count(flag, text, low, high);
  };
}

// Reads one flag after the other into a request, remembering the first fault.
class Reader {
 public:
  explicit Reader(const SharedFlags& flags) : flags_(flags) {
    for (const auto& [name, given] : flags.values) {
      for (const std::string& value : given) {
        if (value == given.front() || fault_) continue;
        fault_ = error("E114", fmt::format("{} is given twice: {} and {}", setting(name),
                                           shortened(given.front(), 60), shortened(value, 60)))
                     .value();
      }
    }
  }

  template <class T, class Parse>
  void read(std::string_view name, T& into, Parse parse) {
    const std::string* text = value_of(flags_, name);
    if (!text || fault_) return;
    auto value = parse(setting(name), *text);
    if (value) {
      into = *value;
    } else {
      fault_ = value.error();
    }
  }
  template <class T>
  void count(std::string_view name, T& into, int64_t low, int64_t high) {
    read(name, into, count_from(low, high));
  }
  template <class T>
  void size(std::string_view name, T& into) {
    read(name, into,
         [](std::string_view flag, std::string_view text) { return cli::parse_bytes(flag, text); });
  }
  // An enumerator by the place of its word; `first` is the first word's.
  template <class T>
  void word(std::string_view name, T& into, const std::vector<std::string>& words,
            size_t first = 0) {
    read(name, into, [&](std::string_view flag, std::string_view text) {
      return parse_word(flag, text, words).map([&](size_t at) {
        return static_cast<T>(first + at);
      });
    });
  }
  template <class T>
  void word(std::string_view name, std::optional<T>& into, const std::vector<std::string>& words) {
    if (value_of(flags_, name)) word(name, into.emplace(), words);
  }
  // A row of a table, by its name.
  template <class Row>
  void row(std::string_view name, const Row*& into, std::span<const Row> rows) {
    size_t index = static_cast<size_t>(into - rows.data());
    word(name, index, names_of(rows));
    into = &rows[index];
  }
  // The name of a scheme of exchange.
  void scheme(std::string_view name, std::string& into) {
    size_t index = 0;
    word(name, index, names_of(exchange_schemes()));
    if (value_of(flags_, name)) into = exchange_schemes()[index].name;
  }
  template <class Text>
  void text(std::string_view name, Text& into) {
    if (const std::string* given = value_of(flags_, name)) into = *given;
  }
  template <class Use>
  void each(const std::vector<std::string>& list, std::string_view name, Use use) {
    std::map<std::string, std::string> given;
    for (const std::string& item : list) {
      if (fault_) return;
      auto pair = parse_assignment(setting(name), item);
      if (!pair) {
        fault_ = pair.error();
      } else if (const auto [at, first] = given.insert(*pair);
                 !first && at->second != pair->second) {
        fault_ = error("E114", fmt::format("{} is given twice: {} and {}",
                                           setting_entry(name, shortened(pair->first, 60)),
                                           shortened(at->second, 60), shortened(pair->second, 60)))
                     .value();
      } else if (auto used = use(pair->first, pair->second); !used) {
        fault_ = used.error();
      }
    }
  }
  // The same into a map, each value as `parse` reads it.
  template <class Map, class Parse>
  void entries(const std::vector<std::string>& list, std::string_view name, Map& into,
               Parse parse) {
    each(list, name, [&](const std::string& key, const std::string& text) -> Result<void> {
      auto value = parse(setting_entry(name, key), text);
      if (!value) return tl::make_unexpected(value.error());
      into[key] = std::move(*value);
      return {};
    });
  }
  const std::optional<Diagnostics>& fault() const { return fault_; }

 private:
  const SharedFlags& flags_;
  std::optional<Diagnostics> fault_;
};

constexpr int64_t kLargestCount = int64_t{1} << 31;

void read_recipe(Reader& reader, const SharedFlags& flags, Recipe& recipe) {
  reader.word("mode", recipe.mode, {"train", "train_no_update", "inference"});
  reader.row("optimizer", recipe.optimizer, optimizers());
  reader.word("recipe", recipe.published, {"usual", "published"});
  if (value_of(flags, "optimizer")) recipe.published = false;  // as asked
  reader.row("precision", recipe.precision, precisions());
  reader.word("loss", recipe.loss, {"cross_entropy", "mse", "bce", "sum", "ctc", "none"});
  reader.word("zero-grad", recipe.zero_grad, {"none", "before", "after", "keep"});
  reader.count("accumulate", recipe.accumulate, 1, 4096);
  reader.text("checkpoint", recipe.checkpoint);
  recipe.weight_decay = flags.weight_decay;
  recipe.compiled = flags.compile;
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

Result<void> read_machine(const std::string& file, PlatformRequest& request) {
  auto machine = open_machine(file);
  if (!machine) return tl::make_unexpected(machine.error());
  auto listed = read_listed(*machine, file);
  if (!listed) return tl::make_unexpected(listed.error());
  request.listed = std::move(*listed);
  request.machine = std::move(*machine);
  return {};
}

void read_model(Reader& reader, const SharedFlags& flags, ModelRequest& model) {
  const auto text = [](std::string_view, const std::string& value) -> Result<std::string> {
    return value;
  };
  const auto one_of = [](const std::vector<std::string>& words) {
    return [words](std::string_view flag, const std::string& value) {
      return parse_word(flag, value, words).map([&](size_t) { return value; });
    };
  };
  model.model = flags.model;
  model.loss_given = value_of(flags, "loss") != nullptr;
  model.recover = !flags.no_recover;
  reader.count("batch", model.batch, 1, kLargestCount);
  reader.count("image", model.image, 1, 65536);
  reader.entries(flags.dims, "dim", model.dims, count_from(1, kLargestCount));
  reader.entries(flags.longest, "longest", model.longest, count_from(1, kLargestCount));
  reader.each(flags.lengths, "lengths", [&](const std::string& name, const std::string& value) {
    return add_lengths(name, value, model.lengths);
  });
  reader.entries(flags.settings, "set", model.settings, text);
  reader.entries(flags.shapes, "shape", model.shapes, parse_extents);
  reader.entries(flags.trips, "trip", model.trips, count_from(0, 1 << 20));
  reader.entries(flags.branches, "branch", model.branches, one_of({"then", "else"}));
  reader.entries(flags.contents, "contents", model.contents, parse_numbers);
  reader.entries(flags.assume, "assume", model.assume, one_of({"ELEMENTWISE", "FREE"}));
  reader.each(flags.limits, "limit", [&](const std::string& name, const std::string& value) {
    return parse_count(setting_entry("limit", name), value, 1, int64_t{1} << 62)
        .and_then([&](int64_t most) { return set_limit(model.limits, name, most); });
  });
}

void read_platform(Reader& reader, const SharedFlags& flags, PlatformRequest& platform) {
  platform.devices = flags.gpus;
  reader.size("mem", platform.memory_bytes);
  reader.size("reserve", platform.reserve_bytes);
  reader.size("display", platform.display_bytes);
  reader.text("framework", platform.framework);
  reader.text("cudnn", platform.cudnn);
  reader.text("cuda", platform.cuda);
  reader.text("allocator", platform.allocator);
  reader.count("gpus", platform.gpu_count, 1, 65536);
  reader.count("nodes", platform.nodes, 1, 65536);
  platform.gpu_count *= platform.nodes;
  reader.scheme("exchange", platform.exchange);
  reader.text("network", platform.network);
  reader.text("link", platform.link);
  reader.text("host", platform.host);
  reader.text("hwdb", platform.hwdb_directory);
}

void read_kernels(Reader& reader, KernelRequest& kernels) {
  reader.size("workspace-limit", kernels.workspace_limit);
  reader.read("conv-algo", kernels.conv_algorithm,
              [](std::string_view, std::string_view text) { return asked_algorithm(text); });
  reader.word("layout", kernels.layout, {"nchw", "nhwc"}, 1);
  reader.word("attention", kernels.attention, {"fused", "math"}, 1);
  reader.word("cudnn-benchmark", kernels.cudnn_benchmark, {"off", "on"});
  reader.word("input-gradient", kernels.input_gradient, {"off", "on"});
}

void read_program(Reader& reader, const SharedFlags& flags, ProgramRequest& program) {
  program.cuda_graphs = flags.cuda_graphs;
  reader.size("context", program.context_bytes);
  reader.word("module-loading", program.module_loading, {"lazy", "eager"});
  reader.count("prefetch", program.prefetch, 0, 1024);
  reader.count("epochs", program.epochs, 1, kLargestCount);
  reader.count("samples", program.samples, 1, int64_t{1} << 50);
  reader.count("samples-in-memory", program.samples_in_memory, 1, int64_t{1} << 50);
  reader.count("workers", program.workers, 0, 4096);
  reader.word("loader", program.loader, {"none", "memory", "convert", "transform"});
}

}  // namespace

std::set<std::string, std::less<>> given_in(const SharedFlags& flags) {
  std::set<std::string, std::less<>> given;
  for (const auto& [name, values] : flags.values) {
    if (!values.empty()) given.insert(name);
  }
  for (const FlagRow& row : shared_flags()) {
    const bool written = (row.list && !(flags.*row.list).empty()) || (row.on && flags.*row.on);
    if (written) given.insert(std::string(row.name));
  }
  for (const TrainingRule& rule : flags.training) given.insert(rule.trained ? "train" : "freeze");
  return given;
}

Result<Request> to_request(const SharedFlags& flags) {
  Request request;
  Reader reader(flags);
  request.given = given_in(flags);
  request.strict = flags.strict;
  read_model(reader, flags, request);
  read_platform(reader, flags, request);
  read_kernels(reader, request);
  read_program(reader, flags, request);
  read_recipe(reader, flags, request.recipe);
  if (reader.fault()) return tl::make_unexpected(*reader.fault());
  if (const std::string* machine = value_of(flags, "machine"); machine && !machine->empty()) {
    if (auto read = read_machine(*machine, request); !read)
      return tl::make_unexpected(read.error());
  }
  if (request.memory_bytes == 0) return error("E104", setting("mem") + ": a capacity of nothing");
  if (auto agree = check_agreement(request); !agree) return tl::make_unexpected(agree.error());
  return request;
}

}  // namespace plimsoll::cli

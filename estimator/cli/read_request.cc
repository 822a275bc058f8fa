#include "estimator/cli/read_request.h"

#include <fmt/format.h>

#include "estimator/cli/lengths.h"
#include "estimator/cli/values.h"
#include "estimator/memory/workspace/asked.h"
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
  // The name of a scheme of exchange.
  void scheme(std::string_view name, std::string& into) {
    size_t index = 0;
    word(name, index, names_of(exchange_schemes()));
    if (value_of(flags_, name)) into = exchange_schemes()[index].name;
  }
  void text(std::string_view name, std::string& into) {
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
  reader.count("nodes", request.nodes, 1, 65536);
  request.gpu_count *= request.nodes;
  reader.scheme("exchange", request.exchange);
  reader.text("network", request.network);
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
  reader.read("conv-algo", request.conv_algorithm,
              [](std::string_view, std::string_view text) { return asked_algorithm(text); });
  reader.text("hwdb", request.hwdb_directory);
  if (const std::string* version = value_of(flags, "cudnn")) request.cudnn = *version;
  if (const std::string* version = value_of(flags, "cuda")) request.cuda = *version;
  read_recipe(reader, flags, request.recipe);
  size_t choice = 0;
  reader.word("layout", choice, {"nchw", "nhwc"});
  if (value_of(flags, "layout"))
    request.layout = choice == 0 ? Layout::kChannelsFirst : Layout::kChannelsLast;
  choice = 0;
  reader.word("attention", choice, {"fused", "math"});
  if (value_of(flags, "attention"))
    request.attention = choice == 0 ? AskedAttention::kFused : AskedAttention::kMath;
  request.cuda_graphs = flags.cuda_graphs;
  choice = 0;
  reader.word("cudnn-benchmark", choice, {"off", "on"});
  if (value_of(flags, "cudnn-benchmark")) request.cudnn_benchmark = choice == 1;
  choice = 0;
  reader.word("input-gradient", choice, {"off", "on"});
  if (value_of(flags, "input-gradient")) request.input_gradient = choice == 1;
  choice = 0;
  reader.word("loader", choice, {"none", "memory", "convert", "transform"});
  if (value_of(flags, "loader")) request.loader = static_cast<LoaderKind>(choice);
  choice = 0;
  reader.word("module-loading", choice, {"lazy", "eager"});
  if (value_of(flags, "module-loading"))
    request.module_loading = choice == 0 ? ModuleLoading::kLazy : ModuleLoading::kEager;
  const auto sizes = [&](const std::vector<std::string>& list, std::string_view entries,
                         Binding& into) {
    reader.each(list, entries,
                [&](const std::string& name, const std::string& text) -> Result<void> {
                  auto value = parse_count(setting_entry(entries, name), text, 1, kLargestCount);
                  if (!value) return tl::make_unexpected(value.error());
                  into[name] = *value;
                  return {};
                });
  };
  sizes(flags.dims, "dim", request.dims);
  sizes(flags.longest, "longest", request.longest);
  reader.each(flags.lengths, "lengths", [&](const std::string& name, const std::string& text) {
    return add_lengths(name, text, request.lengths);
  });
  reader.each(flags.settings, "set",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                request.settings[name] = text;
                return {};
              });
  reader.each(flags.shapes, "shape",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto extents = parse_extents(setting_entry("shape", name), text);
                if (!extents) return tl::make_unexpected(extents.error());
                request.shapes[name] = *extents;
                return {};
              });
  reader.each(flags.trips, "trip",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto value = parse_count(setting_entry("trip", name), text, 0, 1 << 20);
                if (!value) return tl::make_unexpected(value.error());
                request.trips[name] = *value;
                return {};
              });
  reader.each(flags.branches, "branch",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto word = parse_word(setting_entry("branch", name), text, {"then", "else"});
                if (!word) return tl::make_unexpected(word.error());
                request.branches[name] = text;
                return {};
              });
  reader.each(flags.contents, "contents",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto numbers = parse_numbers(setting_entry("contents", name), text);
                if (!numbers) return tl::make_unexpected(numbers.error());
                request.contents[name] = std::move(*numbers);
                return {};
              });
  reader.each(
      flags.assume, "assume",
      [&](const std::string& name, const std::string& text) -> Result<void> {
        auto word = parse_word(setting_entry("assume", name), text, {"ELEMENTWISE", "FREE"});
        if (!word) return tl::make_unexpected(word.error());
        request.assume[name] = text;
        return {};
      });
  reader.each(flags.limits, "limit",
              [&](const std::string& name, const std::string& text) -> Result<void> {
                auto value = parse_count(setting_entry("limit", name), text, 1, int64_t{1} << 62);
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
  if (request.memory_bytes == 0) return error("E104", setting("mem") + ": a capacity of nothing");
  for (const auto& [name, size] : request.dims) {
    if (request.lengths.empty() || !request.lengths.front().sizes.contains(name)) continue;
    return error("E114", fmt::format("{} and {} exclude each other",
                                     setting_entry("dim", shortened(name, 60)),
                                     setting_entry("lengths", shortened(name, 60))));
  }
  return request;
}

}  // namespace plimsoll::cli

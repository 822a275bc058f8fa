#include "graph/onnx/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/onnx/extent_name.h"

namespace plimsoll::onnx {
namespace {

bool starts_symbol(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_symbol(char c) { return starts_symbol(c) || (c >= '0' && c <= '9') || c == '.'; }

bool is_symbol(std::string_view text) {
  return !text.empty() && starts_symbol(text.front()) &&
         std::all_of(text.begin(), text.end(), in_symbol);
}

Place place_of(const ValueSpec& input) {
  return {.file = {}, .node = fmt::format("input '{}'", shortened(input.name))};
}

class Inputs {
 public:
  Inputs(const ImportOptions& options, Graph& graph, Diagnostics& warnings)
      : options_(options), graph_(graph), warnings_(warnings) {}

  Result<void> add(const GraphSpec& main);

 private:
  Result<Tensor> declare(const ValueSpec& input);
  Result<Dim> extent(const ValueSpec& input, size_t k);
  Dim named(const std::string& parameter);
  std::string symbol_for(const std::string& name);
  bool is_nameless(const std::string& symbol) const;
  void choose_batch(std::vector<Tensor>& inputs);
  void tell_of_another(const std::vector<Tensor>& inputs);
  void free_baked_batch(std::vector<Tensor>& inputs);
  Result<void> reshape(Tensor& input, const std::vector<int64_t>& extents);
  Result<void> resize_images(std::vector<Tensor>& inputs);
  Result<void> set_default(const std::string& symbol, int64_t value, const std::string& input);

  const ImportOptions& options_;
  Graph& graph_;
  Diagnostics& warnings_;
  std::map<std::string, std::string> symbols_;  // by the file's name for them
  std::set<std::string> taken_;
  std::set<std::string> nameless_;  // symbols of extents that the file does not call anything
  bool told_of_unknown_ = false;
  std::map<std::string, std::string> forced_by_;  // symbol -> input, for E233
};

// A name of letters, digits, '_' and '.'; two names of the file never become one.
std::string Inputs::symbol_for(const std::string& name) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) return known->second;
  std::string symbol = name.substr(0, 64);
  for (char& c : symbol) {
    if (!in_symbol(c)) c = '_';
  }
  if (symbol.empty() || !starts_symbol(symbol.front())) symbol = "_" + symbol;
  const std::string stem = symbol;
  for (int suffix = 2; !taken_.insert(symbol).second; ++suffix) {
    symbol = fmt::format("{}_{}", stem, suffix);
  }
  symbols_[name] = symbol;
  return symbol;
}

// "batch", or a product as "2*s0"; any other expression is a symbol of its own.
Dim Inputs::named(const std::string& parameter) {
  Dim product = 1;
  for (std::string_view rest = parameter; !rest.empty();) {
    const std::string_view factor = trimmed(take_part(rest, '*'));
    if (const auto number = parse_number<int64_t>(factor); number && *number > 0) {
      product *= *number;
    } else if (is_symbol(factor)) {
      product *= Dim::symbol(symbol_for(std::string(factor)));
    } else {
      return Dim::symbol(symbol_for(parameter));
    }
  }
  return product;
}

Result<Dim> Inputs::extent(const ValueSpec& input, size_t k) {
  const DimSpec& dim = input.dims[k];
  if (dim.kind == DimSpec::Kind::kParameter) return named(dim.parameter);
  if (dim.kind == DimSpec::Kind::kValue && dim.value > 0) {
    if (dim.value > options_.limits.dim) {
      return over_limit(options_.limits, "dim", place_of(input));
    }
    return Dim(dim.value);
  }
  if (dim.kind == DimSpec::Kind::kValue && dim.value < -1) {
    return error("E231", fmt::format("an extent of {}", dim.value), place_of(input));
  }
  if (dim.kind == DimSpec::Kind::kValue && !told_of_unknown_) {
    told_of_unknown_ = true;
    warnings_.push_back(warning("W203",
                                fmt::format("a size of {} is read as unknown{}", dim.value,
                                            dim.value == 0 ? ", 0 unless it is given" : ""),
                                place_of(input)));
  }
  const std::string symbol = symbol_for(k == 0 ? "batch" : fmt::format("{}_dim{}", input.name, k));
  nameless_.insert(symbol);
  // Who writes 0 may mean an empty tensor, until told otherwise.
  if (dim.kind == DimSpec::Kind::kValue && dim.value == 0) graph_.defaults.try_emplace(symbol, 0);
  return Dim::symbol(symbol);
}

Result<Tensor> Inputs::declare(const ValueSpec& input) {
  if (!input.kind.empty() && input.kind != "tensor") {
    return error("E226", fmt::format("is a {}, not a tensor", input.kind), place_of(input),
                 "export the model with tensors as inputs");
  }
  const auto dtype = dtype_from_onnx(input.element_type);
  if (!dtype) {
    return error("E234", fmt::format("element type {} is not one of ONNX's", input.element_type),
                 place_of(input));
  }
  const bool given = options_.shapes.find(input.name) != options_.shapes.end();
  if (!input.has_shape && !given) {
    return error("E235", "the file does not give its shape", place_of(input),
                 "give it with " + setting_entry("shape", input.name, "1x3x224x224"));
  }
  Tensor tensor;
  tensor.name = input.name;
  tensor.kind = TensorKind::kInput;
  tensor.dtype = *dtype;
  tensor.shape.emplace();
  for (size_t k = 0; k < input.dims.size(); ++k) {
    auto dim = TRY(extent(input, k));
    tensor.shape->push_back(std::move(dim));
  }
  if (!input.has_shape) {
    const auto& extents = options_.shapes.find(input.name)->second;
    tensor.shape->assign(extents.begin(), extents.end());
  }
  return tensor;
}

// The symbol an extent is, if it is one.
std::optional<std::string> as_symbol(const Dim& dim) {
  std::set<std::string> names;
  dim.collect_symbols(names);
  if (names.size() != 1 || !(dim == Dim::symbol(*names.begin()))) return std::nullopt;
  return *names.begin();
}

// The first extent of the first input that has a symbol there; matrices before vectors.
std::optional<std::string> first_extent(const std::vector<Tensor>& inputs) {
  for (const size_t least_rank : {size_t{2}, size_t{1}}) {
    for (const Tensor& input : inputs) {
      if (input.shape->size() < least_rank || input.dtype == DType::kString) continue;
      if (auto symbol = as_symbol(input.shape->front())) return symbol;
    }
  }
  return std::nullopt;
}

// An extent that is called the batch, wherever it is.
std::optional<std::string> extent_called(const std::vector<Tensor>& inputs,
                                         bool (*called)(std::string_view)) {
  for (const Tensor& input : inputs) {
    for (const Dim& extent : *input.shape) {
      if (auto symbol = as_symbol(extent); symbol && called(*symbol)) return symbol;
    }
  }
  return std::nullopt;
}

// An extent's name says more than its place.
void Inputs::choose_batch(std::vector<Tensor>& inputs) {
  const auto first = first_extent(inputs);
  std::optional<std::string> named;
  if (!first || !is_called_batch(*first)) named = extent_called(inputs, is_called_batch);
  if (!named && first && is_called_sequence(*first)) named = extent_called(inputs, may_be_batch);
  if (!named && !first) return free_baked_batch(inputs);
  graph_.batch_symbol = named ? *named : *first;
  if (!named) tell_of_another(inputs);
  if (!named || !first) return;
  warnings_.push_back(
      warning("W214",
              fmt::format("the batch is '{}', by its name; '{}', which comes first, is a length",
                          *named, *first),
              {}, "export with the batch as the first extent, or under another name"));
}

bool Inputs::is_nameless(const std::string& symbol) const {
  return nameless_.contains(symbol) || is_numbered(symbol);
}

// Where neither has a name, the second extent of that input may be the batch, and the first of
// another input.
void Inputs::tell_of_another(const std::vector<Tensor>& inputs) {
  const std::string& batch = graph_.batch_symbol;
  if (!is_nameless(batch)) return;
  bool found = false;  // the input whose first extent it is
  for (const Tensor& input : inputs) {
    const Shape& shape = *input.shape;
    if (shape.size() < 2) continue;
    const bool comes_first = shape.front() == Dim::symbol(batch);
    if (comes_first && std::exchange(found, true)) continue;
    const auto other = as_symbol(shape[comes_first ? 1 : 0]);
    if (!other || *other == batch || !is_nameless(*other)) continue;
    warnings_.push_back(warning(
        "W214",
        fmt::format(
            "the batch is '{}', which comes first; '{}' of input '{}' has no name either, and "
            "may be the batch too",
            batch, *other, shortened(input.name)),
        {},
        "give these extents names in the export; " + setting_entry("dim", *other, "N") +
            " sets the other"));
    return;
  }
}

void Inputs::free_baked_batch(std::vector<Tensor>& inputs) {
  std::optional<int64_t> fixed;
  for (const Tensor& input : inputs) {
    if (input.shape->size() < 2) continue;
    const auto first = input.shape->front().constant();
    if (!first || *first < 1 || (fixed && *fixed != *first)) return;
    fixed = first;
  }
  if (!fixed) return;
  const Dim batch = Dim::symbol(symbol_for("batch"));
  graph_.batch_symbol = symbol_for("batch");
  graph_.baked_batch = *fixed;
  graph_.defaults[graph_.batch_symbol] = *fixed;
  for (Tensor& input : inputs) {
    Shape& shape = *input.shape;
    // A vector of one element may as well be a flag.
    const bool batched = shape.size() >= 2 || (shape.size() == 1 && *fixed > 1);
    if (batched && shape.front() == Dim(*fixed)) shape.front() = batch;
  }
}

Result<void> Inputs::set_default(const std::string& symbol, int64_t value,
                                 const std::string& input) {
  const auto [at, fresh] = forced_by_.try_emplace(symbol, input);
  if (!fresh && graph_.defaults[symbol] != value) {
    return error("E233", fmt::format("dimension '{}' is {} in input '{}' and {} in '{}'", symbol,
                                     graph_.defaults[symbol], shortened(at->second), value,
                                     shortened(input)));
  }
  graph_.defaults[symbol] = value;
  return {};
}

Result<void> Inputs::reshape(Tensor& input, const std::vector<int64_t>& extents) {
  const Place place{.file = {}, .node = fmt::format("input '{}'", shortened(input.name))};
  if (extents.size() != input.shape->size()) {
    return error("E236",
                 fmt::format("has {} dimensions; {} gives {}", input.shape->size(),
                             setting("shape"), extents.size()),
                 place);
  }
  for (size_t k = 0; k < extents.size(); ++k) {
    if (extents[k] < 1) return error("E231", fmt::format("an extent of {}", extents[k]), place);
    if (extents[k] > options_.limits.dim) return over_limit(options_.limits, "dim", place);
    Dim& dim = (*input.shape)[k];
    if (const auto symbol = as_symbol(dim)) {
      if (auto set = set_default(*symbol, extents[k], input.name); !set) return set;
    } else {
      dim = extents[k];
    }
  }
  return {};
}

Result<void> Inputs::resize_images(std::vector<Tensor>& inputs) {
  if (!options_.image && !options_.image_symbol) return {};
  if (options_.image && (*options_.image < 1 || *options_.image > options_.limits.dim)) {
    return error("E231", fmt::format("an image side of {}", *options_.image));
  }
  for (Tensor& input : inputs) {
    if (input.shape->size() != 4) continue;
    Shape& shape = *input.shape;
    // Few channels at the end and many rows before them: channels last.
    const auto channels = shape[3].constant();
    const auto rows = shape[1].constant();
    const size_t height = channels && *channels <= 4 && (!rows || *rows > 4) ? 1 : 2;
    for (const size_t k : {height, height + 1}) {
      const auto symbol = as_symbol(shape[k]);
      const auto side = options_.image ? options_.image : shape[k].constant();
      if (options_.image_symbol) {
        shape[k] = Dim::symbol("image");
        if (side) graph_.defaults["image"] = *side;
      } else if (symbol) {
        if (auto set = set_default(*symbol, *side, input.name); !set) return set;
      } else {
        shape[k] = *side;
      }
    }
  }
  return {};
}

Result<void> Inputs::add(const GraphSpec& main) {
  std::unordered_set<std::string_view> initialized;
  for (const TensorSpec& t : main.initializers) initialized.insert(t.name);
  std::vector<Tensor> inputs;
  for (const ValueSpec& input : main.inputs) {
    if (initialized.contains(input.name)) continue;
    auto tensor = TRY(declare(input));
    inputs.push_back(std::move(tensor));
  }
  choose_batch(inputs);
  for (const auto& [given, extents] : options_.shapes) {
    const std::string& name = given;
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& t) { return t.name == name; });
    if (input == inputs.end()) {
      std::vector<std::string> names;
      for (const Tensor& t : inputs) names.push_back(shortened(t.name));
      return error("E112", fmt::format("no input is called '{}'", shortened(name)), {},
                   fmt::format("inputs are: {}", fmt::join(names, ", ")));
    }
    if (auto done = reshape(*input, extents); !done) return done;
  }
  if (auto done = resize_images(inputs); !done) return done;
  for (Tensor& t : inputs) graph_.inputs.push_back(graph_.add_tensor(std::move(t)));
  return {};
}

}  // namespace

Result<void> add_inputs(const GraphSpec& main, const ImportOptions& options, Graph& graph,
                        Diagnostics& warnings) {
  return Inputs(options, graph, warnings).add(main);
}

}  // namespace plimsoll::onnx

#include "graph/family/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/family/config_values.h"
#include "graph/family/family_file.h"
#include "graph/family/head.h"
#include "graph/family/text_part.h"

namespace plimsoll {
namespace {

struct Part {
  std::string name;
  const JsonValue& row;  // of the whole's "parts"
  JsonValue family;
  config::Settings values;

  bool is_around() const { return row.find("after") != nullptr; }
  const JsonValue& model() const { return *family.find("model"); }
  const JsonValue* parameter(std::string_view parameter) const {
    const JsonValue* parameters = model().find("parameters");
    return parameters ? parameters->find(parameter) : nullptr;
  }
};

JsonValue json_text(std::string text) { return {.line = 0, .column = 0, .data = std::move(text)}; }

JsonMember json_entry(std::string key, JsonValue value) {
  return {std::move(key), 0, 0, std::move(value)};
}

JsonValue json_list(JsonValue::List list) {
  return {.line = 0, .column = 0, .data = std::move(list)};
}

JsonValue json_object(JsonValue::Members members) {
  return {.line = 0, .column = 0, .data = std::move(members)};
}

JsonValue json_number(std::string text, double real, bool whole) {
  return {.line = 0, .column = 0, .data = JsonNumber{std::move(text), real, whole}};
}

const JsonValue::List& list_at(const JsonValue& object, std::string_view key) {
  static const JsonValue::List kNone;
  const JsonValue* value = object.find(key);
  return value && value->list() ? *value->list() : kNone;
}

JsonValue::List* list_of(JsonValue* value) {
  return value ? std::get_if<JsonValue::List>(&value->data) : nullptr;
}

// A parameter's value as a block's default is written.
struct ValueWriter {
  JsonValue operator()(const Dim& d) const {
    return json_number(d.text(), static_cast<double>(d.constant_term()), true);
  }
  JsonValue operator()(double real) const {
    return json_number(fmt::format("{}", real), real, false);
  }
  JsonValue operator()(const std::vector<Dim>& dims) const {
    JsonValue::List list;
    for (const Dim& d : dims) list.push_back((*this)(d));
    return json_list(std::move(list));
  }
  JsonValue operator()(const std::string& word) const {
    return json_object({json_entry("one_of", json_list({json_text(word)}))});
  }
};

// What a layer took of `before` it takes of `now`.
void read_from(JsonValue& layer, const std::string& before, const std::string& now) {
  if (text_at(layer, "input") == before) *json_member(layer, "input") = json_text(now);
  if (JsonValue::List* const inputs = list_of(json_member(layer, "inputs")))
    std::ranges::replace_if(
        *inputs, [&](const JsonValue& one) { return one.string() && *one.string() == before; },
        json_text(now));
}

class Whole {
 public:
  Whole(const JsonValue& config, std::string_view file_name, const JsonValue& family,
        const JsonValue& common, config::Settings& set)
      : config_(config), file_name_(file_name), family_(family), common_(common), set_(set) {}

  Result<WholeModel> put_together() {
    model_ = *family_.find("model");
    JsonValue keys = *family_.find("keys");
    JsonValue rest = config_;  // what it says of itself
    JsonValue::Members blocks;
    for (const JsonMember& row : *family_.find("parts")->members()) {
      if (is_left_out(row.value)) {
        leave_out(keys);
        continue;
      }
      const Part part = TRY(read_part(row.key, row.value));
      const std::string key = text_at(row.value, "key");
      const bool inside = part.is_around() && !config_.find(key);
      std::erase_if(std::get<JsonValue::Members>(rest.data),
                    [&](const JsonMember& m) { return m.key == key; });
      if (part.is_around()) {
        if (inside) put_under(keys, *part.family.find("keys"));
        for (const auto& value : part.values) values_.insert(value);
        TRY(stand_inside(part));
      } else {
        blocks.push_back(json_entry(part.name, TRY(block_of(part))));
        const JsonValue* inner = part.model().find("blocks");
        if (inner && inner->members())
          blocks.insert(blocks.end(), inner->members()->begin(), inner->members()->end());
      }
    }
    add_blocks(json_object(std::move(blocks)));
    const JsonValue reads = json_object({json_entry("keys", std::move(keys))});
    for (auto& [name, value] : TRY(config_values(rest, file_name_, reads, common_)))
      values_.insert_or_assign(name, value);
    return WholeModel{.model = std::move(model_), .values = std::move(values_)};
  }

 private:
  bool is_left_out(const JsonValue& row) const {
    const JsonValue* const optional = row.find("optional");
    const JsonValue* const there = config_.find(text_at(row, "key"));
    return optional && optional->boolean().value_or(false) && !(there && there->members());
  }

  // The text model is all there is: no layers of the whole, and nothing for its keys to set.
  void leave_out(JsonValue& keys) {
    for (const char* list : {"layers", "inputs"}) *json_member(model_, list) = json_list({});
    std::erase_if(std::get<JsonValue::Members>(keys.data),
                  [](const JsonMember& row) { return !row.value.is_null(); });
  }

  // Older forms have the text model's keys beside the tower's config: the part's rows read them.
  static void put_under(JsonValue& into, const JsonValue& from) {
    JsonValue both = from;
    put_over(both, into);
    into = std::move(both);
  }

  tl::unexpected<Diagnostics> unknown(const std::string& name, const std::string& type) const {
    return error("E354",
                 fmt::format("has a {} part of model type \"{}\", which is not supported", name,
                             shortened(type)),
                 {.file = std::string(file_name_), .line = config_.line, .node = {}},
                 "in Python: plimsoll.from_torch(lambda: AutoModel.from_config(config), inputs)");
  }

  Result<Part> read_part(const std::string& name, const JsonValue& row) {
    const JsonValue* there = config_.find(text_at(row, "key"));
    JsonValue config = there && there->members() ? *there : json_object({});
    if (row.find("after")) config = text_part(config_).value_or(config);
    std::string part_type = text_at(config, "model_type");
    if (part_type == text_at(config_, "model_type")) part_type.clear();  // older forms repeat it
    const std::string type = part_type.empty() ? text_at(row, "model_type") : part_type;
    const std::string file = family_file_of(type);
    const auto& served = list_at(row, "families");
    const bool fits = served.empty() || std::ranges::any_of(served, [&](const JsonValue& one) {
                        return one.string() && *one.string() + ".json" == file;
                      });
    if (file.empty() || !fits) return unknown(name, type);
    Part part{.name = name, .row = row, .family = TRY(read_family_file(file)), .values = {}};
    JsonValue* const keys = json_member(part.family, "keys");
    const JsonValue* more = row.find("keys");  // that the whole writes into the part's config
    if (keys && more) put_over(*keys, *more);
    if (row.find("head")) {
      config::Settings head{{"head", text_at(row, "head")}};
      Diagnostics warnings;
      TRY(put_head(part.family, common_, config, {}, head, warnings));
    }
    part.values = TRY(config_values(config, file_name_, part.family, common_));
    const JsonValue* defaults = row.find("defaults");
    if (defaults && defaults->members()) {
      for (const JsonMember& one : *defaults->members()) {
        if (one.value.number()) part.values.try_emplace(one.key, one.value.number()->text);
        if (one.value.string()) part.values.try_emplace(one.key, *one.value.string());
      }
    }
    take_settings(part);
    return part;
  }

  // "vision_image" is the parameter "image" of the part "vision"; "image" is too, where the whole
  // has one.
  void take_settings(Part& part) {
    const std::string prefix = part.name + "_";
    for (const auto& [name, value] : set_) {
      if (is_whole(name) && part.parameter(name)) part.values[name] = value;
    }
    std::erase_if(set_, [&](const auto& setting) {
      if (!setting.first.starts_with(prefix)) return false;
      const std::string parameter = setting.first.substr(prefix.size());
      if (!part.parameter(parameter)) return false;
      part.values[parameter] = setting.second;
      return true;
    });
  }

  bool is_whole(std::string_view parameter) const {
    const JsonValue* parameters = family_.find("model")->find("parameters");
    return parameter == "batch" || (parameters && parameters->find(parameter));
  }

  Result<JsonValue> block_of(const Part& part) {
    Diagnostics faults;
    const config::Parameters parameters(part.model().find("parameters"), file_name_, part.values,
                                        faults);
    if (has_error(faults)) return tl::make_unexpected(std::move(faults));
    JsonValue::Members values;
    for (const auto& entry : parameters.entries()) {
      const bool shared = is_whole(entry.name);
      values.push_back(json_entry(
          entry.name, shared ? json_text(entry.name) : std::visit(ValueWriter{}, entry.value)));
      const auto* const number = std::get_if<Dim>(&entry.value);
      if (!number || entry.name == "batch") continue;
      const std::string full = part.name + "_" + entry.name;
      if (shared) values_.try_emplace(entry.name, number->text());
      if (is_whole(full)) values_.try_emplace(full, number->text());
    }
    JsonValue::List inputs;
    for (const JsonValue& input : list_at(part.model(), "inputs"))
      inputs.push_back(json_text(text_at(input, "name")));
    return json_object({json_entry("inputs", json_list(std::move(inputs))),
                        json_entry("parameters", json_object(std::move(values))),
                        json_entry("layers", *part.model().find("layers"))});
  }

  // Beside those that the model has.
  void add_blocks(const JsonValue& blocks) {
    JsonValue* const there = json_member(model_, "blocks");
    if (there) return put_over(*there, blocks);
    if (!blocks.members()->empty()) put_over(model_, json_object({json_entry("blocks", blocks)}));
  }

  // The whole's layers into the part's first list; what else the whole says, over the part's.
  Result<void> stand_inside(const Part& part) {
    JsonValue whole = std::exchange(model_, part.model());
    JsonValue::List* const layers = list_of(json_member(model_, "layers"));
    JsonValue::List* const first =
        layers && !layers->empty() ? list_of(json_member(layers->front(), "layers")) : nullptr;
    const std::string after = text_at(part.row, "after"), under = text_at(part.row, "under");
    const auto named = [&](const JsonValue& layer) { return text_at(layer, "name") == after; };
    if (!first || std::ranges::none_of(*first, named))
      return unknown(part.name, text_at(part.family, "class"));
    const auto& inserted = list_at(whole, "layers");
    auto at = std::next(std::ranges::find_if(*first, named));
    for (auto later = at; later != first->end() && !inserted.empty(); ++later)
      read_from(*later, after, text_at(inserted.back(), "name"));
    first->insert(at, inserted.begin(), inserted.end());
    const std::string path = text_at(layers->front(), "name");
    put_over(layers->front(), json_object({json_entry("under", json_text(under))}));
    for (JsonValue& layer : *layers) {
      const std::string weight = text_at(layer, "weight");
      if (weight.starts_with(path + "."))
        *json_member(layer, "weight") = json_text(under + weight.substr(path.size()));
    }
    const auto& inputs = list_at(whole, "inputs");
    JsonValue::List* const part_inputs = list_of(json_member(model_, "inputs"));
    if (part_inputs) part_inputs->insert(part_inputs->end(), inputs.begin(), inputs.end());
    if (JsonValue* parameters = json_member(model_, "parameters"))
      put_over(*parameters, *whole.find("parameters"));
    if (const JsonValue* blocks = whole.find("blocks")) add_blocks(*blocks);
    std::erase_if(std::get<JsonValue::Members>(whole.data), [](const JsonMember& m) {
      return m.key == "layers" || m.key == "inputs" || m.key == "parameters" || m.key == "blocks";
    });
    put_over(model_, whole);
    return {};
  }

  const JsonValue& config_;
  std::string_view file_name_;
  const JsonValue& family_;
  const JsonValue& common_;
  config::Settings& set_;
  JsonValue model_;
  config::Settings values_;
};

}  // namespace

Result<WholeModel> put_together(const JsonValue& config, std::string_view file_name,
                                const JsonValue& family, const JsonValue& common,
                                config::Settings& set) {
  return Whole(config, file_name, family, common, set).put_together();
}

}  // namespace plimsoll

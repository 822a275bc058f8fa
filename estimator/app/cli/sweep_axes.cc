#include "estimator/app/cli/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/cli/other_words.h"
#include "estimator/app/cli/sweep_trainer.h"
#include "estimator/settings/json_texts.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

constexpr std::string_view kSequence = "sequence";

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

// The setting that a parameter of this name varies; null where it is none of a configuration's.
const SettingRow* setting_of(std::string_view flag) {
  const SettingRow* row = find_setting(flag);
  return row && row->axis != SweepAxis::kNone ? row : nullptr;
}

std::string nearest_flag(const std::string& flag) {
  std::vector<std::string> known = {std::string(kSequence)};
  for (const SettingRow& row : settings()) {
    if (row.axis != SweepAxis::kNone) known.emplace_back(row.name);
  }
  return nearest(flag, known);
}

// The flags of a command with one value of a parameter; of the model's own where there is no row.
Result<void> set(SharedFlags& flags, const SettingRow* row, const std::string& name,
                 const JsonValue& value) {
  if (!row) {
    flags.add(*find_setting("set"), name + "=" + text_of(value));
    return {};
  }
  auto texts = TRY(texts_of(*row, name, value));
  flags.set(row->name, std::move(texts));
  return {};
}

Diagnostics at_value(Diagnostics why, const Place& plan, const JsonValue& value) {
  for (Diagnostic& d : why) {
    if (d.place.file.empty()) d.place = {plan.file, value.line, value.column, {}};
  }
  return why;
}

// Names that hwdb must know.
Result<void> check_known(const Request& request, std::string_view flag, const Hwdb& hwdb) {
  if (flag == "gpu") {
    TRY(hwdb.device(request.devices.front()));
  } else if (flag == "framework") {
    TRY(hwdb.framework(request.framework));
  } else if (flag == "link") {
    TRY(hwdb.link(request.link));
  }
  return {};
}

// Whether a flag such as --dim or --set gives `name` a value.
bool assigns(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::any_of(list,
                             [&](const std::string& item) { return item.starts_with(name + "="); });
}

}  // namespace

std::string flag_of(std::string name) {
  name = dashed(std::move(name));
  const auto same = find_setting(name) ? std::string_view() : setting_for_other("--" + name);
  return same.empty() ? name : std::string(same);
}

// What is a size of one model is one of every other, and so for the models' parameters.
Result<void> SweepAxes::check_models(const SweepParameter& parameter) const {
  const auto has = [&](const SweptModel& model) {
    return model.names.dims.contains(parameter.name)    ? 2
           : model.names.fixed.contains(parameter.name) ? 1
                                                        : 0;
  };
  for (const SweptModel& model : models_) {
    if (has(model) == has(models_.front())) continue;
    const bool here = has(model) > has(models_.front());
    const SweptModel &with = here ? model : models_.front(),
                     &without = here ? models_.front() : model;
    return error("E164",
                 fmt::format("{} is {} of {}, and not of {}", shortened(parameter.name, 60),
                             has(with) == 2 ? "a dimension" : "a parameter",
                             shortened(with.name, 60), shortened(without.name, 60)),
                 parameter.place, "a plan for each of them");
  }
  return {};
}

Result<void> SweepAxes::add(size_t index, const SharedFlags& base) {
  const SweepParameter& parameter = plan_->parameters[index];
  const ModelNames& names = models_.front().names;
  const std::string flag = flag_of(parameter.name);
  for (size_t i = 0; i < index; ++i) {
    if (flag_of(plan_->parameters[i].name) != flag) continue;
    return error(
        "E114",
        fmt::format("{} and {} are names of one parameter",
                    shortened(plan_->parameters[i].name, 60), shortened(parameter.name, 60)),
        parameter.place);
  }
  if (parameter.name == "model") {
    variant_axes_.push_back({.parameter = index, .of_models = true});
    return {};
  }
  if (is_trainer_file(parameter)) {  // which the flags hold: take_trainer()
    inert_parameters_.push_back(index);
    return {};
  }
  if (auto same = check_models(parameter); !same) return same;
  const bool of_model = names.dims.contains(parameter.name) || names.fixed.contains(parameter.name);
  const SettingRow* row =
      of_model && !find_setting(dashed(parameter.name)) ? nullptr : setting_of(flag);
  if ((of_model || row) && parameter.values.empty()) {
    return error("E311",
                 fmt::format("{} is a distribution; sweep needs a list of values",
                             shortened(parameter.name, 60)),
                 parameter.place);
  }
  if (row && base.has(flag)) {
    return error("E114",
                 fmt::format("{} and the plan's {} exclude each other", setting(flag),
                             shortened(parameter.name, 60)),
                 parameter.place);
  }
  if (of_model && (assigns(base.values("dim"), parameter.name) ||
                   assigns(base.values("set"), parameter.name))) {
    return error("E114",
                 fmt::format("{} is a parameter of the plan and given by an option too",
                             shortened(parameter.name, 60)),
                 parameter.place);
  }
  if (row && row->axis == SweepAxis::kSize) return add_size(index, flag);
  if (names.dims.contains(parameter.name)) return add_size(index, parameter.name);
  if (!of_model && !row && flag == kSequence && names.dims.contains(flag))
    return add_size(index, flag);
  if (names.fixed.contains(parameter.name)) {
    variant_axes_.push_back({index, SweepAxis::kOuter});
  } else if (row) {
    variant_axes_.push_back({index, row->axis, row});
  } else {
    const std::string_view help = help_for_parameter("--" + dashed(parameter.name));
    if (!help.empty())
      return error("E101", fmt::format("{} has another name here", shortened(parameter.name, 60)),
                   parameter.place, std::string(help));
    if (!parameter.values.empty()) inert_parameters_.push_back(index);
    const std::string near = nearest_flag(flag);
    notes_.push_back(warning(
        "W120",
        fmt::format("{} is no setting and no dimension: it changes nothing here",
                    shortened(parameter.name, 60)),
        parameter.place,
        near.empty() || near == parameter.name ? "" : fmt::format("did you mean {}?", near)));
  }
  return {};
}

Result<void> SweepAxes::add_size(size_t index, std::string symbol) {
  const SweepParameter& parameter = plan_->parameters[index];
  SizeAxis axis{std::move(symbol), {}};
  for (const JsonValue& value : parameter.values) {
    const auto size =
        parse_count(shortened(parameter.name, 60), text_of(value), 1, int64_t{1} << 31);
    if (!size) return tl::make_unexpected(at_value(size.error(), parameter.place, value));
    axis.values.push_back(*size);
  }
  for (const SizeAxis& other : sizes_) {
    if (other.symbol != axis.symbol) continue;
    return error("E114", fmt::format("{} is a parameter twice", shortened(axis.symbol, 60)),
                 parameter.place);
  }
  sizes_.push_back(std::move(axis));
  size_parameters_.push_back(index);
  return {};
}

Result<void> SweepAxes::check_values(const Axis& axis, const SharedFlags& base,
                                     const Hwdb& hwdb) const {
  const SweepParameter& parameter = plan_->parameters[axis.parameter];
  if (axis.of_models) return {};  // they have been read
  for (const JsonValue& value : parameter.values) {
    SharedFlags flags = base;
    const auto fault = [&]() -> Result<void> {
      if (auto done = set(flags, axis.setting, parameter.name, value); !done) return done;
      const auto request = TRY(to_request(flags));
      return check_known(request, axis.setting ? axis.setting->name : "", hwdb);
    }();
    if (!fault) return tl::make_unexpected(at_value(fault.error(), parameter.place, value));
  }
  return {};
}

Result<void> SweepAxes::add_variants(const SharedFlags& base) {
  size_t variants = 1;
  for (const Axis& axis : variant_axes_) variants *= count(axis);
  variants_.reserve(variants);
  for (size_t variant = 0; variant < variants; ++variant) {
    std::vector<size_t> chosen(variant_axes_.size());
    size_t left = variant;
    for (size_t a = variant_axes_.size(); a-- > 0;) {
      chosen[a] = left % count(variant_axes_[a]);
      left /= count(variant_axes_[a]);
    }
    // In the plan's order: of --freeze and --train the last match holds.
    SharedFlags flags = base;
    for (size_t a = 0; a < chosen.size(); ++a) {
      const SweepParameter& parameter = plan_->parameters[variant_axes_[a].parameter];
      if (variant_axes_[a].of_models) {
        flags.model = models_[chosen[a]].name;
        continue;
      }
      auto done = set(flags, variant_axes_[a].setting, parameter.name, parameter.values[chosen[a]]);
      if (!done) return done;
    }
    auto request = TRY(to_request(flags));
    variants_.push_back(std::move(request));
  }
  return {};
}

Result<SweepAxes> SweepAxes::make(const SweepPlan& plan, const SharedFlags& base,
                                  std::vector<SweptModel> models, const Hwdb& hwdb) {
  SweepAxes axes(plan, std::move(models));
  for (size_t index = 0; index < plan.parameters.size(); ++index) {
    TRY(axes.add(index, base));
  }
  std::ranges::stable_sort(axes.variant_axes_, {}, &Axis::kind);
  for (const Axis& axis : axes.variant_axes_) {
    TRY(axes.check_values(axis, base, hwdb));
  }
  TRY(axes.add_variants(base));
  return axes;
}

std::vector<SweptConfiguration> SweepAxes::at(const SweepPoint& point) const {
  SweptConfiguration one;
  one.values.resize(plan_->parameters.size());
  size_t left = point.variant;
  for (size_t a = variant_axes_.size(); a-- > 0;) {
    one.values[variant_axes_[a].parameter] = left % count(variant_axes_[a]);
    left /= count(variant_axes_[a]);
  }
  const std::vector<size_t> place = place_of(point.point, sizes_);
  for (size_t i = 0; i < place.size(); ++i) one.values[size_parameters_[i]] = place[i];
  std::vector<SweptConfiguration> all = {std::move(one)};
  for (const size_t parameter : inert_parameters_) {
    std::vector<SweptConfiguration> more;
    for (const SweptConfiguration& known : all) {
      for (size_t value = 0; value < plan_->parameters[parameter].values.size(); ++value) {
        more.push_back(known);
        more.back().values[parameter] = value;
      }
    }
    all = std::move(more);
  }
  for (SweptConfiguration& configuration : all) {
    for (size_t i = 0; i < plan_->parameters.size(); ++i) {
      const size_t values = plan_->parameters[i].values.size();
      if (values == 0) continue;
      configuration.number = configuration.number * static_cast<int64_t>(values) +
                             static_cast<int64_t>(configuration.values[i]);
    }
  }
  return all;
}

}  // namespace plimsoll::cli

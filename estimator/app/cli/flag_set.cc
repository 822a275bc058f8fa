#include "estimator/app/cli/flag_set.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace plimsoll::cli {

const Flag& Flag::type_name(const std::string& placeholder) const {
  option_->type_name(placeholder);
  return *this;
}

const Flag& Flag::group(const std::string& name) const {
  option_->group(name);
  return *this;
}

const Flag& Flag::default_str(const std::string& shown) const {
  option_->default_str(shown);
  return *this;
}

const Flag& Flag::required() const {
  option_->required();
  return *this;
}

const Flag& Flag::allow_extra_args(bool allowed) const {
  option_->allow_extra_args(allowed);
  return *this;
}

const Flag& Flag::trigger_on_parse() const {
  option_->trigger_on_parse();
  return *this;
}

const Flag& Flag::check(const std::function<std::string(const std::string&)>& why_not) const {
  option_->check(why_not);
  return *this;
}

const Flag& Flag::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

std::vector<std::string> Flag::long_names() const { return option_->get_lnames(); }
std::vector<std::string> Flag::short_names() const { return option_->get_snames(); }
bool Flag::is_word() const { return option_->get_positional(); }
std::string Flag::word() const { return option_->get_name(true); }
std::string Flag::placeholder() const {
  const std::string name = option_->get_type_name();  // "WORD:{nchw,nhwc}" where one_of() is
  return name.substr(0, name.find(':'));
}
std::string Flag::description() const { return option_->get_description(); }
std::string Flag::default_text() const { return option_->get_default_str(); }
std::string Flag::group_name() const { return option_->get_group(); }
bool Flag::takes_value() const { return option_->get_expected_min() > 0; }
bool Flag::is_switch() const { return option_->get_items_expected_max() == 0; }

Flag FlagSet::add_option(const std::string& name, std::string& into,
                         const std::string& help) const {
  return Flag(app_->add_option(name, into, help));
}

Flag FlagSet::add_option(const std::string& name, std::vector<std::string>& into,
                         const std::string& help) const {
  return Flag(app_->add_option(name, into, help));
}

Flag FlagSet::add_option(const std::string& name, int& into, const std::string& help) const {
  return Flag(app_->add_option(name, into, help));
}

Flag FlagSet::add_option(const std::string& name, int64_t& into, const std::string& help) const {
  return Flag(app_->add_option(name, into, help));
}

Flag FlagSet::add_option(const std::string& name, const std::string& help) const {
  return Flag(app_->add_option(name, help));
}

Flag FlagSet::add_flag(const std::string& name, bool& into, const std::string& help) const {
  return Flag(app_->add_flag(name, into, help));
}

Flag FlagSet::add_option_function(const std::string& name,
                                  const std::function<void(const std::string&)>& use,
                                  const std::string& help) const {
  return Flag(app_->add_option_function<std::string>(name, use, help));
}

Flag FlagSet::add_flag_function(const std::string& name, const std::function<void(int64_t)>& use,
                                const std::string& help) const {
  return Flag(app_->add_flag_function(name, use, help));
}

FlagSet FlagSet::add_subcommand(const std::string& name, const std::string& help) const {
  return FlagSet(app_->add_subcommand(name, help));
}

void FlagSet::allow_extras() const { app_->allow_extras(true); }
std::string FlagSet::name() const { return app_->get_name(); }
std::string FlagSet::description() const { return app_->get_description(); }

std::vector<FlagSet> FlagSet::subcommands() const {
  std::vector<FlagSet> all;
  for (CLI::App* verb : app_->get_subcommands([](CLI::App*) { return true; }))
    all.emplace_back(verb);
  return all;
}

std::vector<Flag> FlagSet::flags() const {
  std::vector<Flag> all;
  for (CLI::Option* option : app_->get_options()) all.emplace_back(option);
  return all;
}

std::optional<Flag> FlagSet::find(const std::string& name) const {
  CLI::Option* option = app_->get_option_no_throw(name);
  return option ? std::optional(Flag(option)) : std::nullopt;
}

bool FlagSet::is_help(const Flag& flag) const {
  return flag.option_ == app_->get_help_ptr() || flag.option_ == app_->get_help_all_ptr();
}

bool FlagSet::parsed() const { return app_->parsed(); }
std::vector<std::string> FlagSet::remaining() const { return app_->remaining(); }

Program::Program(const std::string& description, const std::string& name)
    : owned_(std::make_unique<CLI::App>(description, name)) {
  app_ = owned_.get();
}

Program::~Program() = default;

void Program::set_help_flag(const std::string& names, const std::string& help) const {
  app_->set_help_flag(names, help);
}

void Program::set_help_all_flag(const std::string& names, const std::string& help) const {
  app_->set_help_all_flag(names, help);
}

void Program::set_version_flag(const std::string& names, const std::string& version) const {
  app_->set_version_flag(names, version);
}

void Program::require_subcommand(size_t least, size_t most) const {
  app_->require_subcommand(least, most);
}

Reading Program::read(std::vector<std::string> arguments) const {
  std::ranges::reverse(arguments);
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::CallForVersion& version) {
    return {Reading::Kind::kVersion, version.what()};
  } catch (const CLI::CallForAllHelp&) {
    return {.kind = Reading::Kind::kAllHelp};
  } catch (const CLI::CallForHelp&) {
    return {.kind = Reading::Kind::kHelp};
  } catch (const CLI::ParseError& fault) {
    return {Reading::Kind::kFault, fault.what()};
  }
  return {};
}

FlagSet Program::asked() const {
  for (const FlagSet& verb : subcommands()) {
    if (verb.parsed()) return verb;
  }
  return *this;
}

}  // namespace plimsoll::cli

// What a program takes on its command line: declared here, read by CLI11, of which no other file
// knows.
//
//   Program program("what it does");
//   FlagSet verb = program.add_subcommand("fit", "what that does");
//   verb.add_option("--out", out, "where it goes").type_name("FILE");
//   const Reading reading = program.read({"fit", "--out", "a.json"});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plimsoll::cli {

// A flag, or a word without one. Good as long as its program; as is a FlagSet.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  const Flag& type_name(const std::string& placeholder) const;
  const Flag& group(const std::string& name) const;
  const Flag& default_str(const std::string& shown) const;
  const Flag& required() const;
  const Flag& allow_extra_args(bool allowed) const;  // of one flag more values than one
  const Flag& trigger_on_parse() const;              // what it calls is called in their order
  // `why_not`: of a value; empty where it is good.
  const Flag& check(const std::function<std::string(const std::string&)>& why_not) const;
  const Flag& one_of(const std::vector<std::string>& words) const;

  std::vector<std::string> long_names() const;  // without dashes
  std::vector<std::string> short_names() const;
  bool is_word() const;  // without a flag
  std::string word() const;
  std::string placeholder() const;
  std::string description() const;
  std::string default_text() const;
  std::string group_name() const;
  bool takes_value() const;  // at least one
  bool is_switch() const;    // takes none

 private:
  friend class FlagSet;

  CLI::Option* option_;
};

// Those of a program or of one of its verbs.
class FlagSet {
 public:
  FlagSet() = default;
  explicit FlagSet(CLI::App* app) : app_(app) {}

  // A value, or of a flag that is given several times all of them. `into` outlives the reading;
  // without it somebody else reads the flag.
  Flag add_option(const std::string& name, std::string& into, const std::string& help = {}) const;
  Flag add_option(const std::string& name, std::vector<std::string>& into,
                  const std::string& help = {}) const;
  Flag add_option(const std::string& name, int& into, const std::string& help) const;
  Flag add_option(const std::string& name, int64_t& into, const std::string& help) const;
  Flag add_option(const std::string& name, const std::string& help) const;
  Flag add_flag(const std::string& name, bool& into, const std::string& help) const;
  // `use` is called with each value, or with how often the flag is given.
  Flag add_option_function(const std::string& name,
                           const std::function<void(const std::string&)>& use,
                           const std::string& help) const;
  Flag add_flag_function(const std::string& name, const std::function<void(int64_t)>& use,
                         const std::string& help) const;
  FlagSet add_subcommand(const std::string& name, const std::string& help) const;
  void allow_extras() const;  // what is not declared is remaining(), not refused

  std::string name() const;
  std::string description() const;
  std::vector<FlagSet> subcommands() const;
  std::vector<Flag> flags() const;  // in the order of their declaration, help's among them
  std::optional<Flag> find(const std::string& name) const;  // "--batch"
  bool is_help(const Flag& flag) const;
  bool parsed() const;  // the command line has named it
  std::vector<std::string> remaining() const;

 protected:
  CLI::App* app_ = nullptr;
};

// What a command line asks for.
struct Reading {
  enum class Kind : uint8_t { kRun, kHelp, kAllHelp, kVersion, kFault };
  Kind kind = Kind::kRun;
  std::string text{};  // the version, or what is wrong
};

class Program : public FlagSet {
 public:
  explicit Program(const std::string& description, const std::string& name = {});
  ~Program();

  void set_help_flag(const std::string& names, const std::string& help) const;
  void set_help_all_flag(const std::string& names, const std::string& help) const;
  void set_version_flag(const std::string& names, const std::string& version) const;
  void require_subcommand(size_t least, size_t most) const;
  Reading read(std::vector<std::string> arguments) const;
  // The verb that was named, or the program itself.
  FlagSet asked() const;

 private:
  std::unique_ptr<CLI::App> owned_;
};

}  // namespace plimsoll::cli

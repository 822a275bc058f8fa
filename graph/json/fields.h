// Fields: what the members of a struct are called and mean, said once. describe(), beside the
// struct, names each of them to a visitor; who writes the struct, reads it or prints its schema
// is one.
//
//   struct Step { int64_t step_ns = 0; std::string unit; std::vector<Kernel> kernels; };
//
//   inline void describe(Fields& f, Step& s) {
//     f("step_ns", s.step_ns, "of one batch");
//     f("unit", s.unit, {.meaning = "of a batch", .null_where = s.unit.empty()});
//     f("kernels", s.kernels);   // calls describe(Fields&, Kernel&) of each
//     f("per_second", 1e9 / double(s.step_ns));   // of no member: readers take it and forget it
//   }
//
// A key's ending is its unit: _bytes, _ns.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/range.h"

namespace plimsoll {

class JsonValue;

struct FieldNote {
  std::string_view meaning{};
  // The value is not known there, the member is left out there. It never is unless said here, even
  // if `false`.
  std::optional<bool> null_where{}, absent_where{};
  std::optional<double> low{}, high{};  // of a number; whole ones begin at 0 where nothing is said
  bool any_sign = false;                // a whole number that may be below 0
  std::span<const std::string_view> words{};  // those that a text may be; any where there are none
  // Of a figure by which answers are compared, and the key of the one beside it that it is part of.
  std::string_view title{}, part_of{};
  bool settings = false;  // a text that names settings, to be spelled as its reader writes them
  size_t least = 0;       // elements of a list
  std::string_view pattern{};  // of a text, a regular expression
  // Of what is kept as it is written: its name among the schema's $defs; one that is missing is
  // told with the example.
  std::string_view form{}, example{};
};

// An enumerator's word is its name(); values_of(), beside it, lists all of them.
template <class T>
concept Enumeration = std::is_enum_v<T>;

class Fields {
 public:
  virtual ~Fields() = default;

  template <class T>
  void operator()(std::string_view key, T&& member, const FieldNote& note = {}) {
    if (!begin(key, note, !std::is_lvalue_reference_v<T>)) return;
    if constexpr (std::is_const_v<std::remove_reference_t<T>>) {
      std::decay_t<T> copy = member;
      visit(copy);
    } else {
      visit(member);
    }
    end();
  }
  template <class T>
  void operator()(std::string_view key, T&& member, std::string_view meaning) {
    (*this)(key, std::forward<T>(member), FieldNote{.meaning = meaning});
  }
  // An object of members that no struct of their own holds.
  template <class Members>
  void object(std::string_view key, Members members, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    object(members);
    end();
  }
  template <class Members>
  void object(Members members) {
    open_object();
    members();
    close_object();
  }
  // A list of objects, `each` of which is described with more than itself.
  template <class T, class Each>
  void list(std::string_view key, std::vector<T>& all, Each each, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    elements(all, [&](T& one) { object([&] { each(one); }); });
    end();
  }
  // Members of one of two forms; an object that has `key` is of the first.
  template <class First, class Second>
  void either(std::string_view key, bool first, const First& one, const Second& other) {
    if (begin_form(key, true, first)) one();
    if (begin_form(key, false, !first)) other();
    end_forms();
  }
  // [first, second], of two members.
  template <class T>
  void pair(std::string_view key, T& first, T& second, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    ends(first, second);
    end();
  }
  // A number that is written in another unit: `factor` of it for each of the member's.
  void scaled(std::string_view key, double& member, double factor, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    const double before = member * factor;
    double written = before;
    real(written);
    if (written != before) member = written / factor;
    end();
  }
  // A text that stands for something else, of no member: `take` is told it where it is read, and
  // returns what is wrong with it, if anything is.
  template <class Take>
  void parsed(std::string_view key, const FieldNote& note, Take take) {
    if (!begin(key, note, false)) return;
    if (const std::string* read = quoted()) {
      if (const std::optional<Diagnostic> wrong = take(*read)) fault(*wrong);
    }
    end();
  }
  // A value of some other format, kept as its JSON; a list of them.
  void json(std::string_view key, std::string& text, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    raw(text);
    end();
  }
  void json(std::string_view key, std::vector<std::string>& texts, const FieldNote& note = {}) {
    if (!begin(key, note, false)) return;
    elements(texts, [&](std::string& text) { raw(text); });
    end();
  }
  // What a document begins with: the name of its form, and the form's newest version.
  virtual void form(std::string_view name, int64_t newest) {
    (*this)("schema", name, FieldNote{.words = {&name, 1}});
    (*this)("version", newest, FieldNote{.low = 1, .high = static_cast<double>(newest)});
  }

  template <class T>
  void visit(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      boolean(value);
    } else if constexpr (std::is_integral_v<T>) {
      auto whole = static_cast<int64_t>(value);
      integer(whole);
      if (static_cast<T>(whole) != value) value = static_cast<T>(whole);
    } else if constexpr (std::is_same_v<T, double>) {
      real(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      std::string copy{std::string_view(value)};
      text(copy);
    } else if constexpr (std::is_same_v<T, Range>) {
      ends(value.low, value.high);
    } else if constexpr (std::is_same_v<T, JsonValue>) {
      any(value);
    } else if constexpr (std::is_same_v<T, const JsonValue*>) {
      written(value);
    } else if constexpr (Enumeration<T>) {
      visit_word(value);
    } else {
      visit_compound(value);
    }
  }

 protected:
  // A member: whether its value is visited. The note holds till end(); `derived`: of others.
  virtual bool begin(std::string_view key, const FieldNote& note, bool derived) = 0;
  virtual void end() {}

  // Values. A visitor has no use for some: it leaves them out.
  virtual void boolean(bool&) {}
  virtual void integer(int64_t&) {}
  virtual void real(double&) {}
  virtual void text(std::string&) {}
  // A text that a reader has; nothing where none is read.
  virtual const std::string* quoted() { return nullptr; }
  virtual void fault(const Diagnostic&) {}  // in the member that is read
  virtual void raw(std::string&) {}         // JSON
  virtual void any(JsonValue&) {}
  virtual void written(const JsonValue*&) {}  // where it is in what is read, by who reads it on
  // Of the words, the one that is there; `word` where there is none.
  virtual std::string_view word(std::string_view word, std::span<const std::string_view>) {
    return word;
  }
  // Whether the members of the form with the key (`with_key`), or without it, are visited; `there`:
  // the value is of that form.
  virtual bool begin_form(std::string_view, bool, bool there) { return there; }
  virtual void end_forms() {}
  // Whether there is a value, where it is null otherwise.
  virtual bool some(bool has) { return has; }

  virtual void open_object() {}
  virtual void close_object() {}
  // How many elements are visited; `fixed`: no other number of them is allowed.
  virtual size_t open_list(size_t size, bool) { return size; }
  virtual void element(size_t) {}
  virtual void close_list() {}
  // An object of any keys, all with the same kind of value; those that are to be read.
  virtual std::vector<std::string> open_map() { return {}; }
  virtual void close_map() {}
  virtual bool of_samples() const { return false; }  // lists and maps have one element each

 private:
  template <class T>
  void visit_compound(std::optional<T>& value) {
    if (!some(value.has_value())) {
      if (value) value.reset();
      return;
    }
    if (!value) value.emplace();
    visit(*value);
  }
  template <class T>
  void visit_compound(std::array<T, 2>& pair) {
    ends(pair[0], pair[1]);
  }
  template <class T>
  void ends(T& low, T& high) {
    const size_t size = open_list(2, true);
    for (size_t i = 0; i < size; ++i) {
      element(i);
      visit(i == 0 ? low : high);
    }
    close_list();
  }
  template <class T>
  void visit_compound(std::vector<T>& all) {
    elements(all, [&](T& one) { visit(one); });
  }
  template <class T>
  void visit_compound(std::vector<std::pair<std::string, T>>& all) {
    entries(all);
  }
  template <class T, class Less>
  void visit_compound(std::map<std::string, T, Less>& all) {
    entries(all);
  }
  template <class T>
  void visit_compound(T& value) {
    object([&] { describe(*this, value); });
  }

  template <class T, class Each>
  void elements(std::vector<T>& all, Each each) {
    const size_t size = open_list(all.size(), false);
    if (size != all.size()) all.resize(size);
    for (size_t i = 0; i < size; ++i) {
      element(i);
      each(all[i]);
    }
    close_list();
  }
  template <class Entries>
  void entries(Entries& all) {
    using Value = typename Entries::value_type::second_type;
    const std::vector<std::string> keys = open_map();
    if (of_samples()) {
      Value one{};
      visit(one);
    } else {
      for (auto& [key, value] : all) entry(key, value);
    }
    for (const std::string& key : keys) {
      Value one{};
      entry(key, one);
      all.insert(all.end(), {key, std::move(one)});
    }
    close_map();
  }
  template <class T>
  void entry(std::string_view key, T& value) {
    if (!begin(key, {}, false)) return;
    visit(value);
    end();
  }
  template <Enumeration E>
  void visit_word(E& value) {
    constexpr auto kValues = values_of(E{});
    std::string_view words[kValues.size()];
    for (size_t i = 0; i < kValues.size(); ++i) words[i] = name(kValues[i]);
    const std::string_view now = name(value), chosen = word(now, words);
    if (chosen == now) return;
    for (const E each : kValues) {
      if (name(each) == chosen) value = each;
    }
  }
};

// What is only written, for a describe(): that takes what may be changed, for readers, and writers
// change nothing.
template <class T>
T& unchanged(const T& value) {
  return const_cast<T&>(value);
}

}  // namespace plimsoll

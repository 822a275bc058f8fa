#include "graph/ops/einsum_equation.h"

#include <algorithm>
#include <map>

namespace plimsoll::ops {
namespace {

constexpr std::string_view kDots = "...";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Labels that are no dots.
size_t count_letters(std::string_view labels) {
  return labels.size() - (labels.find(kDots) == std::string_view::npos ? 0 : kDots.size());
}

std::string implied_labels(const std::map<char, int>& counts) {
  std::string broadcast, once;
  for (const auto& [label, count] : counts) {
    if (!is_letter(label)) {
      broadcast.insert(broadcast.begin(), label);
    } else if (count == 1) {
      once += label;
    }
  }
  return broadcast + once;
}

}  // namespace

EinsumEquation split_equation(std::string text) {
  std::erase(text, ' ');
  EinsumEquation equation;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    equation.operands.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return equation;
}

std::optional<std::string> spell_labels(std::string_view labels, size_t rank) {
  const size_t dots = labels.find(kDots);
  const size_t letters = count_letters(labels);
  const bool any_rank = dots != std::string_view::npos;
  if (letters > rank || (!any_rank && letters != rank) || rank - letters > 9) return {};
  std::string spelled;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i == dots) {
      for (size_t d = rank - letters; d > 0; --d) spelled += static_cast<char>('0' + d);
      i += kDots.size() - 1;
    } else if (is_letter(labels[i])) {
      spelled += labels[i];
    } else {
      return {};
    }
  }
  return spelled;
}

std::optional<std::string> result_labels(const EinsumEquation& equation,
                                         std::span<const std::string> spelled) {
  std::map<char, int> counts;
  size_t broadcast = 0;
  for (const std::string& labels : spelled) {
    for (const char label : labels) {
      ++counts[label];
      if (!is_letter(label)) broadcast = std::max(broadcast, static_cast<size_t>(label - '0'));
    }
  }
  if (!equation.result) return implied_labels(counts);
  const std::string& result = *equation.result;
  const bool any_rank = result.find(kDots) != std::string::npos;
  auto labels = spell_labels(result, count_letters(result) + (any_rank ? broadcast : 0));
  if (!labels) return {};
  for (size_t i = 0; i < labels->size(); ++i) {
    const char label = (*labels)[i];
    if (!counts.contains(label) || labels->find(label) != i) return {};
  }
  return labels;
}

}  // namespace plimsoll::ops

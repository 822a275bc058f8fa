#include "calibrate/card_child.h"

#include <fmt/format.h>

#include "calibrate/card_wire.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll::calibrate {
namespace {

std::string greeting(const Result<std::unique_ptr<Card>>& card) {
  return card ? facts_line((*card)->facts()) : facts_line(card.error().front());
}

// Whether the context may be lost with it.
template <class T>
bool is_lost(const Result<T>& answer) {
  return !answer && answer.error().front().code == "E722";
}

// The answer to a line, and whether there may be another.
std::pair<std::string, bool> answer_to(Card& card, const CardCall& call) {
  if (call.call == "offers") {
    const auto offers = card.offers(*call.kernel);
    return {offers_line(*call.kernel, offers), !is_lost(offers)};
  }
  if (call.call == "time") {
    const auto samples = card.time(*call.kernel, call.offer);
    return {time_line(*call.kernel, call.offer, samples), !is_lost(samples)};
  }
  const auto figures = card.figures();
  return {figures_line(figures), !is_lost(figures)};
}

void answer_questions(LineLink& link, const CardChild::Open& open) {
  const auto card = open();
  if (!link.send(greeting(card)) || !card) return;
  while (const auto line = link.receive()) {
    const auto value = read_json(*line, "question");
    if (!value) return;
    Diagnostics faults;
    JsonObject object(*value, "question", faults, true);
    const CardCall call = read_call(object);
    if (has_error(faults)) return;
    const auto [answer, goes_on] = answer_to(**card, call);
    if (!link.send(answer) || !goes_on) return;
  }
}

}  // namespace

Result<std::unique_ptr<Card>> CardChild::start(Open open) {
  std::unique_ptr<CardChild> card(new CardChild(std::move(open)));
  TRY(card->begin());
  return card;
}

Result<void> CardChild::begin() {
  child_.reset();
  auto child = TRY(LineChild::start([&](LineLink& link) { answer_questions(link, open_); }));
  child_.emplace(std::move(child));
  const auto line = child_->listen();
  if (!line) {
    return error("E707", fmt::format("the process that uses the GPU {}", child_->how_it_ended()));
  }
  const auto value = TRY(read_json(*line, "greeting"));
  Diagnostics faults;
  JsonObject object(value, "greeting", faults, true);
  auto facts = TRY(read_facts(object));
  facts_ = std::move(facts);
  return {};
}

template <class T>
Result<T> CardChild::ask(const std::string& question, Result<T> (*read)(JsonObject& line)) {
  if (!child_) {
    TRY(begin());
  }
  const auto line = child_->ask(question);
  if (!line) {
    const std::string how = child_->how_it_ended();
    child_.reset();
    return error("E725", fmt::format("the process that uses the GPU {}", how));
  }
  const auto value = TRY(read_json(*line, "answer"));
  Diagnostics faults;
  JsonObject object(value, "answer", faults, true);
  Result<T> answer = read(object);
  if (is_lost(answer)) child_.reset();
  return answer;
}

Result<std::vector<Offer>> CardChild::offers(const KernelAt& kernel) {
  return ask(offers_question(kernel), calibrate::read_offers);
}

Result<std::vector<Sample>> CardChild::time(const KernelAt& kernel, size_t offer) {
  return ask(time_question(kernel, offer), read_samples);
}

Result<std::vector<Figure>> CardChild::figures() { return ask(figures_question(), read_figures); }

}  // namespace plimsoll::calibrate

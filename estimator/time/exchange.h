// Exchange of gradients between devices, by scheme: who sends what to whom, and what of it a step
// waits for. A scheme is a row; which one a framework uses, and whether it begins while the
// backward pass runs, is in its profile.
//
//   bytes b of gradients on each of n devices, B a link's rate as a ring sees it, h the latency of
//   one hop, C a card's copies to and from the host, S what a host adds up of gradients with all
//   its threads, M what processes exchange through its memory
//
//   ring                    2 (n - 1) / n b / B
//   tree                    the same, in 2 log2 n hops (NCCL's double binary trees)
//   sequential              2 (n - 1) b / B: one card gathers, adds, updates and sends, in turn
//   logarithmic             2 ceil(log2 n) b / B: pairs, then pairs of those (Caffe's tree)
//   device                  2 (n - 1) / n b / B: each card serves its share of the arrays
//   parameter-server        2 b / C + (n - 1) b / S: the host holds the parameters
//   cpu                     2 b / C + 2 (n - 1) / n b / M: an all-reduce in the host's memory
//   one-bit                 as cpu with a bit for a number, and three passes over gradients each
//   way
//   fp16                    (n - 1) / n b / B, and four passes' traffic of the card's own memory
//   split-layers            ring, of what layers other than fully connected ones have; those are
//   split over the devices, whose collectives are events of the step
//   data-parallel           2 b / B: parameters out, gradients back, by one process, which issues
//   the work of all devices; B in one direction
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "estimator/time/collective.h"

namespace plimsoll {

// What a machine gives an exchange; bytes per second.
struct ExchangeRates {
  LinkRates link{};        // among the devices of one machine
  LinkRates network{};     // among machines, by the ring; used where there are several
  double copy = 0;         // of a card to or from the host
  double host_sum = 0;     // of gradients that the host adds with all its threads
  double messages = 0;     // of an all-reduce among processes in the host's memory
  double card_memory = 0;  // of a card's own memory: passes that quantise
  double host_memory = 0;  // of the host's memory, this card's share
  // Of a card's multiprocessors, the share on which a collective's kernel runs: one for each
  // channel.
  double multiprocessors = 0;
};

struct ExchangeScheme {
  std::string_view name;
  std::string_view help;
  // Seconds of exchanging `bytes` between n > 1 devices of one machine.
  double (*seconds)(double bytes, double n, const ExchangeRates& rates);
  // One process feeds all devices: it makes a replica on each, dispatches the forward passes one
  // after the other (Python's interpreter lock), backward passes have threads; half of the exchange
  // is of parameters.
  bool one_process = false;
  bool by_kernels = false;  // NCCL's, which run on multiprocessors; else copies alone
};

std::span<const ExchangeScheme> exchange_schemes();
// Null for a word that names none.
const ExchangeScheme* find_exchange_scheme(std::string_view name);

// Who takes part: `per_node` devices in each of `nodes` machines.
struct ExchangeGroup {
  int64_t per_node = 1, nodes = 1;
};

// The devices that differ along one axis of the mesh alone, where machines of so many devices each
// take ranks in their order: the inner axes are within a machine.
ExchangeGroup group_along(Axis axis, const Mesh& mesh, int64_t per_node);

// Within each machine by the scheme, then between machines by a ring of one port each.
double exchange_seconds(const ExchangeScheme& scheme, double bytes, const ExchangeGroup& group,
                        const ExchangeRates& rates);

// A group and what it has to exchange with.
struct GroupExchange {
  ExchangeGroup group;
  ExchangeRates rates;
  // Of each collective. The step waits for one of them; the others go on beside the work behind it.
  int64_t pieces = 1;
};
// By axis; behind them by axis where ranks that share sequences and experts join (Mesh::joined());
// then what a device has of its host.
inline constexpr size_t kHostGroup = 2 * kAxisCount;
using ExchangeByAxis = std::array<GroupExchange, kHostGroup + 1>;

// Where a step begins a collective, or waits for its end.
struct ExchangePoint {
  size_t collective = 0;  // its place in Step::collectives
  bool awaited = false;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Axis axis = Axis::kData;
  int64_t bytes = 0;
  int64_t times = 1;  // in a step
  bool joined = false;

  size_t group() const {
    if (is_of_host(kind)) return kHostGroup;
    return static_cast<size_t>(axis) + (joined ? kAxisCount : 0);
  }
};

// Seconds that one collective takes alone, of all its group.
double collective_seconds(const ExchangePoint& point, const ExchangeScheme& scheme,
                          const GroupExchange& among);

// When a collective runs, in seconds of the devices' work and of waiting for exchanges.
struct ExchangeSpan {
  size_t point = 0;  // that begins it
  double begin = 0, end = 0;
  double waited = 0;  // by the step, in all its passes
};
struct ExchangeCourse {
  std::vector<ExchangeSpan> spans;  // in the order in which they are begun
  std::vector<double> waits;        // by point: seconds that the step waits there
};

// Seconds that a step waits, for other devices and for its host.
struct ExchangeWaits {
  double exchange = 0, host = 0;
  double all() const { return exchange + host; }
};

// What a step waits, of all its points in order. `work[i]`: seconds that its devices work
// before point i and behind the one before. Collectives along one axis run one after the other,
// beside that work and beside those along other axes, as if links were their own. Work beside them
// has fewer multiprocessors, and what it takes longer counts as waiting. Copies to the host, copies
// from it and work of its processors are one after the other each, beside all else: a card has an
// engine for each way, which takes no multiprocessor. `slower`: times as long as the rates say.
// `course`: filled in where it is not null.
ExchangeWaits exposed_exchange(const ExchangeScheme& scheme, std::span<const ExchangePoint> points,
                               std::span<const double> work, const ExchangeByAxis& axes,
                               double slower = 1, ExchangeCourse* course = nullptr);

}  // namespace plimsoll
